# SPDX-License-Identifier: GPL-2.0-only
"""Packages of a made-up archive that the system seems to follow, and packages to install."""

import os
from pathlib import Path

import pytest

from expect import fails
from fake_archive import FakeArchive, needs_archive
from fake_program import before_others, script
from mmbatch.core import cache
from mmbatch.core.errors import MmbatchError
from mmbatch.kernel import apt

pytestmark = [needs_archive, pytest.mark.usefixtures("own_cache")]


@pytest.fixture
def filled(tmp_path: Path, gpg_home: Path, monkeypatch: pytest.MonkeyPatch) -> FakeArchive:
    """An archive with a kernel in two of its suites."""
    fake = FakeArchive.followed(tmp_path, gpg_home, monkeypatch)
    fake.add_kernel("trixie-backports", "7.3", "7.3.4-1~bpo13+1")
    fake.add_kernel("sid", "7.2", "7.2.9-1")
    return fake


def again() -> None:
    """Forget what this process knows, as another one does."""
    apt._states_at.cache_clear()


def test_suites_that_are_missing_spoil_no_other(filled: FakeArchive) -> None:
    assert apt.find("linux-source-7.3") == [("7.3.4-1~bpo13+1", "trixie-backports")]
    assert apt.find("linux-source-7.2") == [("7.2.9-1", "sid")]
    assert apt.find("linux-source-9.9") == []
    with pytest.raises(MmbatchError, match="no suite there carries it"):
        apt.need("linux-source-9.9")


def test_download_puts_one_verified_file(filled: FakeArchive, tmp_path: Path) -> None:
    (tmp_path / "dest").mkdir()
    (path,) = apt.download("linux-source-7.2", "7.2.9-1", tmp_path / "dest")
    assert path.read_bytes() == (filled.root / "pool" / path.name).read_bytes()


def test_lists_are_fetched_again_after_a_day(filled: FakeArchive, said: list[str]) -> None:
    apt.find("linux-source-7.3")
    said.clear()
    again()
    assert apt.find("linux-source-7.3")
    assert said == []
    for stamp in cache.root().glob("apt/*/updated"):
        os.utime(stamp, (1, 1))
    filled.clear("trixie-backports")
    filled.add_kernel("trixie-backports", "7.3", "7.3.5-1~bpo13+1")
    again()
    assert apt.find("linux-source-7.3")[0][0] == "7.3.5-1~bpo13+1"


def test_a_truncated_package_is_refused(filled: FakeArchive, tmp_path: Path) -> None:
    deb = next((filled.root / "pool").glob("linux-source-7.2*"))
    deb.write_bytes(deb.read_bytes()[:-10])
    with pytest.raises(MmbatchError, match="fetch linux-source"):
        apt.download("linux-source-7.2", "7.2.9-1", tmp_path)


def test_a_point_release_that_moved_meanwhile(filled: FakeArchive, tmp_path: Path) -> None:
    version, _ = apt.need("linux-source-7.3")
    next((filled.root / "pool").glob("linux-source-7.3*")).unlink()
    filled.clear("trixie-backports")
    filled.add_kernel("trixie-backports", "7.3", "7.3.5-1~bpo13+1")
    (path,) = apt.download("linux-source-7.3", version, tmp_path)
    assert "7.3.5-1" in path.name


@pytest.mark.parametrize("how", ["unsigned", "tampered", "other key"])
def test_nothing_is_taken_without_a_good_signature(filled: FakeArchive, how: str) -> None:
    index = next((filled.root / "dists" / "trixie-backports").glob("main/*/Packages"))
    if how == "unsigned":
        filled.publish("trixie-backports", sign=False)
    elif how == "tampered":
        index.write_text(index.read_text().replace("made by", "made  by"))
    else:
        filled.keyring.write_bytes(b"")
    try:
        assert apt.find("linux-source-7.3") == []
    except MmbatchError as error:
        assert "linux-source-7.3" in error.action


def test_no_network_is_said_once_and_soon(
    filled: FakeArchive, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    text = filled.sources.replace(f"copy:{filled.root}", "http://127.0.0.1:9/debian")
    filled.follow(monkeypatch, text)
    for package in ("linux-source-7.3", "linux-source-7.2"):
        with pytest.raises(MmbatchError, match=r"127\.0\.0\.1.*check the network"):
            apt.find(package)
    assert len(said) == 1


def test_known_lists_serve_without_network(filled: FakeArchive) -> None:
    apt.find("linux-source-7.3")
    filled.root.rename(filled.root.with_name("gone"))
    again()
    assert apt.find("linux-source-7.3")


def with_security(filled: FakeArchive, uri: str) -> str:
    return f"{filled.sources}\nTypes: deb\nURIs: {uri}\nSuites: trixie-security\nComponents: main\n"


def test_the_newest_of_all_stable_archives(
    filled: FakeArchive, tmp_path: Path, gpg_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    security = FakeArchive(tmp_path / "security" / "archive", gpg_home)
    filled.add_kernel("trixie", "6.12", "6.12.107-1")
    filled.add_kernel("bookworm-backports", "6.12", "6.12.95-1~bpo12+1")
    filled.add_kernel("sid", "6.12", "6.12.118-1")
    security.add_kernel("trixie-security", "6.12", "6.12.117-1")
    assert apt.need("linux-source-6.12") == ("6.12.107-1", "trixie")

    filled.follow(monkeypatch, with_security(filled, f"copy:{security.root}"))
    assert apt.find("linux-source-6.12") == [
        ("6.12.117-1", "trixie-security"),
        ("6.12.107-1", "trixie"),
        ("6.12.95-1~bpo12+1", "bookworm-backports"),
    ]
    (path,) = apt.download("linux-source-6.12", "6.12.117-1", tmp_path)
    assert path.read_bytes() == (security.root / "pool" / path.name).read_bytes()


def test_a_security_archive_that_can_not_be_reached(
    filled: FakeArchive, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    filled.follow(monkeypatch, with_security(filled, "http://127.0.0.1:9/debian-security"))
    assert apt.find("linux-source-7.3") == [("7.3.4-1~bpo13+1", "trixie-backports")]
    assert [line for line in said if "127.0.0.1" in line and "doing without" in line]
    assert apt.find("linux-source-7.2") == [("7.2.9-1", "sid")]


def test_names_are_those_of_the_first_suites_that_have_any(filled: FakeArchive) -> None:
    filled.add("trixie-backports", "headers-7.2.12", "1", {}, "libc6 (>= 2) | it")
    filled.add("forky", "headers-7.2.13", "1", {})
    filled.add("forky", "headers-6.1.1", "1", {})
    apt.find("headers-7.9")
    assert apt.names("headers-7.2.") == ["headers-7.2.12"]
    assert apt.names("headers-6.1.") == ["headers-6.1.1"]
    assert apt.depends("headers-7.2.12", "1") == ["libc6", "it"]


def test_install_says_what_and_runs_apt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    calls = tmp_path / "calls"
    script(tmp_path / "apt-get", f'echo "$DEBIAN_FRONTEND $@" >> "{calls}"')
    script(tmp_path / "sudo", '[ "$1" != -n ] || shift; exec "$@"')
    script(tmp_path / "dpkg-query", "exit 1")
    before_others(tmp_path, monkeypatch)
    apt.install(["flex", "bison"])
    assert said[0] == "installing Debian packages: flex bison"
    call = calls.read_text().splitlines()[-1]
    assert call.startswith("noninteractive ")
    assert call.endswith("install --no-install-recommends -y flex bison")


def test_install_without_root_or_sudo_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "sudo", "exit 1")
    script(tmp_path / "dpkg-query", "exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)
    command = "sudo apt-get install --no-install-recommends"
    with fails(f"{command} flex"):
        apt.install(["flex"])
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    with fails(f"give --install, or run: {command} coccinelle"):
        apt.require("splice", ["spatch"], may_install=False)
