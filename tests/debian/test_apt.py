# SPDX-License-Identifier: GPL-2.0-only
import os
from pathlib import Path

import pytest

from fake_archive import FakeArchive, lacks
from mmbatch.core.cache import Cache
from mmbatch.core.errors import MmbatchError
from mmbatch.debian import apt as apt_module
from mmbatch.debian.apt import Apt, parse_madison

needs_archive = pytest.mark.skipif(bool(lacks()), reason=f"lacks {' '.join(lacks())}")


def test_madison_output() -> None:
    text = (
        "linux-source-7.3 | 7.3.4-1 | http://mirror.example/debian sid/main amd64 Packages\n"
        "linux-source-7.3 | 7.3.4-1~bpo13+1 | http://mirror.example/debian"
        " trixie-backports/main amd64 Packages\n"
        "linux-source-7.3 | 7.3.4-1 | http://mirror.example/debian sid/main Sources\n"
        "N: Unable to locate something\n"
    )
    assert parse_madison(text) == [("7.3.4-1", "sid"), ("7.3.4-1~bpo13+1", "trixie-backports")]


@pytest.fixture
def filled(tmp_path: Path, gpg_home: Path, monkeypatch: pytest.MonkeyPatch) -> FakeArchive:
    """An archive that the system seems to follow, with a kernel in two of its suites."""
    fake = FakeArchive(tmp_path / "archive", gpg_home)
    fake.add_kernel("trixie-backports", "7.3", "7.3.4-1~bpo13+1")
    fake.add_kernel("sid", "7.2", "7.2.9-1")
    listed = tmp_path / "debian.sources"
    listed.write_text(fake.sources)
    monkeypatch.setattr(apt_module, "source_files", lambda: [listed])
    return fake


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@needs_archive
def test_suites_that_are_missing_spoil_no_other(filled: FakeArchive, cache: Cache) -> None:
    apt = Apt(cache, print)
    assert apt.madison("linux-source-7.3") == [("7.3.4-1~bpo13+1", "trixie-backports")]
    assert apt.madison("linux-source-7.2") == [("7.2.9-1", "sid")]


@needs_archive
def test_a_package_that_no_suite_has(filled: FakeArchive, cache: Cache) -> None:
    assert Apt(cache, print).madison("linux-source-9.9") == []


@needs_archive
def test_a_damaged_list_is_fetched_again(filled: FakeArchive, cache: Cache) -> None:
    assert Apt(cache, print).madison("linux-source-7.3")
    (listing,) = cache.apt.glob("*/state/lists/*trixie-backports*_Packages*")
    listing.unlink()
    listing.write_bytes(b"Package")  # what a full disk or a crash may leave of it
    messages: list[str] = []
    found = Apt(cache, messages.append).madison("linux-source-7.3")
    assert found == [("7.3.4-1~bpo13+1", "trixie-backports")]
    assert not [line for line in messages if "doing without" in line]


@needs_archive
def test_download_puts_one_verified_file(filled: FakeArchive, cache: Cache, tmp_path: Path) -> None:
    dest = tmp_path / "dest"
    dest.mkdir()
    apt = Apt(cache, print)
    path = apt.download("linux-source-7.2", "7.2.9-1", dest)
    assert apt.size("linux-source-7.2", "7.2.9-1") == path.stat().st_size
    assert list(dest.iterdir()) == [path]
    assert path.read_bytes() == (filled.root / "pool" / path.name).read_bytes()


@needs_archive
def test_fresh_indexes_are_not_fetched_again(filled: FakeArchive, cache: Cache) -> None:
    Apt(cache, print).madison("linux-source-7.3")
    messages: list[str] = []
    assert Apt(cache, messages.append).madison("linux-source-7.3")
    assert messages == []


@needs_archive
def test_indexes_of_yesterday_are_fetched_again(filled: FakeArchive, cache: Cache) -> None:
    Apt(cache, print).madison("linux-source-7.3")
    for stamp in cache.apt.glob("*/updated"):
        os.utime(stamp, (1, 1))
    filled.clear("trixie-backports")
    filled.add_kernel("trixie-backports", "7.3", "7.3.5-1~bpo13+1")
    messages: list[str] = []
    assert Apt(cache, messages.append).madison("linux-source-7.3")[0][0] == "7.3.5-1~bpo13+1"
    assert "package lists" in messages[0]


@needs_archive
def test_a_truncated_package_is_refused_and_leaves_nothing(
    filled: FakeArchive, cache: Cache, tmp_path: Path
) -> None:
    deb = next((filled.root / "pool").glob("linux-source-7.2*"))
    deb.write_bytes(deb.read_bytes()[:-10])
    dest = tmp_path / "dest"
    dest.mkdir()
    with pytest.raises(MmbatchError, match="fetch linux-source"):
        Apt(cache, print).download("linux-source-7.2", "7.2.9-1", dest)
    assert not list(dest.iterdir())


@needs_archive
def test_a_point_release_that_moved_meanwhile(
    filled: FakeArchive, cache: Cache, tmp_path: Path
) -> None:
    apt = Apt(cache, print)
    version, _ = apt.madison("linux-source-7.3")[0]
    next((filled.root / "pool").glob("linux-source-7.3*")).unlink()
    filled.clear("trixie-backports")
    filled.add_kernel("trixie-backports", "7.3", "7.3.5-1~bpo13+1")
    path = apt.download("linux-source-7.3", version, tmp_path)
    assert "7.3.5-1" in path.name


@needs_archive
@pytest.mark.parametrize("how", ["unsigned", "tampered", "other key"])
def test_nothing_is_taken_without_a_good_signature(
    filled: FakeArchive, cache: Cache, how: str
) -> None:
    index = next((filled.root / "dists" / "trixie-backports").glob("main/*/Packages"))
    if how == "unsigned":
        filled.publish("trixie-backports", sign=False)
    elif how == "tampered":
        index.write_text(index.read_text().replace("made by", "made  by"))
    else:
        filled.keyring.write_bytes(b"")
    try:
        found = Apt(cache, print).madison("linux-source-7.3")
    except MmbatchError as error:
        found = []
        assert "linux-source-7.3" in error.action
    assert found == []


@needs_archive
def test_no_network_is_said_once_and_soon(
    filled: FakeArchive, cache: Cache, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = filled.sources.replace(f"copy:{filled.root}", "http://127.0.0.1:9/debian")
    listed = tmp_path / "dead.sources"
    listed.write_text(text)
    monkeypatch.setattr(apt_module, "source_files", lambda: [listed])
    messages: list[str] = []
    apt = Apt(cache, messages.append)
    for package in ("linux-source-7.3", "linux-source-7.2"):
        with pytest.raises(MmbatchError) as caught:
            apt.madison(package)
        assert "127.0.0.1" in caught.value.problem
        assert "check the network" in caught.value.hint
    assert len(messages) == 1


@needs_archive
def test_a_version_that_only_an_unstable_suite_has(filled: FakeArchive, cache: Cache) -> None:
    filled.add_kernel("sid", "7.3", "7.3.6-1")
    apt = Apt(cache, print)
    stable = [("7.3.4-1~bpo13+1", "trixie-backports")]
    assert apt.madison("linux-source-7.3") == stable
    assert apt.madison("linux-source-7.3", "7.3.6-1") == [("7.3.6-1", "sid")]
    assert apt.madison("linux-source-7.3", "7.3.5-1") == stable


def add_security(filled: FakeArchive, tmp_path: Path, uri: str) -> None:
    """Let the system follow security updates too."""
    listed = tmp_path / "debian.sources"
    listed.write_text(
        f"{filled.sources}\nTypes: deb\nURIs: {uri}\nSuites: trixie-security\n"
        f"Components: main\nSigned-By: {filled.keyring}\n"
    )


@needs_archive
def test_the_newest_of_all_stable_archives(
    filled: FakeArchive, cache: Cache, tmp_path: Path, gpg_home: Path
) -> None:
    security = FakeArchive(tmp_path / "security" / "archive", gpg_home)
    filled.add_kernel("trixie", "6.12", "6.12.107-1")
    filled.add_kernel("bookworm-backports", "6.12", "6.12.95-1~bpo12+1")
    filled.add_kernel("sid", "6.12", "6.12.118-1")
    security.add_kernel("trixie-security", "6.12", "6.12.117-1")
    messages: list[str] = []
    assert Apt(cache, messages.append).madison("linux-source-6.12")[0] == ("6.12.107-1", "trixie")
    assert not any("security" in line for line in messages)  # this system does not follow it

    add_security(filled, tmp_path, f"copy:{security.root}")
    apt = Apt(cache, print)
    assert apt.madison("linux-source-6.12") == [
        ("6.12.117-1", "trixie-security"),
        ("6.12.107-1", "trixie"),
        ("6.12.95-1~bpo12+1", "bookworm-backports"),
    ]
    path = apt.download("linux-source-6.12", "6.12.117-1", tmp_path)
    assert path.read_bytes() == (security.root / "pool" / path.name).read_bytes()


@needs_archive
def test_a_security_archive_that_can_not_be_reached(
    filled: FakeArchive, cache: Cache, tmp_path: Path
) -> None:
    add_security(filled, tmp_path, "http://127.0.0.1:9/debian-security")
    messages: list[str] = []
    apt = Apt(cache, messages.append)
    assert apt.madison("linux-source-7.3") == [("7.3.4-1~bpo13+1", "trixie-backports")]
    assert [line for line in messages if "127.0.0.1" in line and "doing without" in line]
    assert apt.madison("linux-source-7.2") == [("7.2.9-1", "sid")]
    with pytest.raises(MmbatchError, match=r"127\.0\.0\.1"):  # which may have it
        apt.madison("linux-source-9.9")


@needs_archive
def test_known_indexes_serve_without_network(filled: FakeArchive, cache: Cache) -> None:
    Apt(cache, print).madison("linux-source-7.3")
    filled.root.rename(filled.root.with_name("gone"))
    assert Apt(cache, print).madison("linux-source-7.3")


@pytest.mark.network
def test_the_real_mirror_has_a_kernel_that_we_support(cache: Cache) -> None:
    apt = Apt(cache, print)
    try:
        versions = [apt.madison(f"linux-source-{series}") for series in ("7.3", "7.2", "6.12")]
    except MmbatchError as error:
        pytest.skip(f"no network: {error.problem}")
    assert any(versions)
