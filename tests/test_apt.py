# SPDX-License-Identifier: GPL-2.0-only
import os
from pathlib import Path

import pytest

from fake_archive import FakeArchive, lacks
from mmbatch import apt as apt_module
from mmbatch import packages
from mmbatch.apt import Apt, source_files
from mmbatch.apt_sources import Mirror, find_mirror, with_keyring, write_sources
from mmbatch.apt_state import parse_madison
from mmbatch.cache import Cache
from mmbatch.errors import ExitCode, MmbatchError

needs_archive = pytest.mark.skipif(bool(lacks()), reason=f"lacks {' '.join(lacks())}")

DEB822 = """\
# A comment
Types: deb deb-src
# URIs: http://old.example/debian
URIs: http://mirror.example/debian
Suites: trixie trixie-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://security.example/debian-security
Suites: trixie-security
Components: main
"""
EMBEDDED_KEY = """\
Types: deb
URIs: https://mirror.example/debian
Suites: bookworm
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 bWFkZSB1cA==
 -----END PGP PUBLIC KEY BLOCK-----
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_mirror_of_deb822(tmp_path: Path) -> None:
    found = find_mirror([write(tmp_path, "debian.sources", DEB822)])
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    assert found == Mirror(("http://mirror.example/debian",), "trixie", keyring)


@pytest.mark.parametrize(
    ("line", "suite", "signed_by"),
    [
        ("deb http://mirror.example/debian bookworm main", "bookworm", ""),
        ("deb [signed-by=/k.gpg] http://mirror.example/debian stable main", "stable", "/k.gpg"),
        (
            "deb [ arch=amd64 signed-by=/a.gpg,/b.gpg ] http://mirror.example/debian sid main # x",
            "sid",
            "/a.gpg /b.gpg",
        ),
        ("deb http://mirror.example/debian trixie-backports main", "trixie", ""),
    ],
)
def test_mirror_of_one_line_lists(tmp_path: Path, line: str, suite: str, signed_by: str) -> None:
    found = find_mirror([write(tmp_path, "sources.list", f"# none\n{line}\n")])
    assert found == Mirror(("http://mirror.example/debian",), suite, signed_by)


@pytest.mark.parametrize(
    "line",
    [
        "deb http://security.example/debian-security trixie-security main",
        "deb http://mirror.example/debian trixie-updates main",
        "deb http://other.example/node nodistro main",
        "deb http://mirror.example/debian trixie contrib",
        "deb http://ubuntu.example/ubuntu noble main",
        "deb-src http://mirror.example/debian trixie main",
        "# deb http://mirror.example/debian trixie main",
        "deb cdrom:[Debian]/ trixie main",
        "deb",
    ],
)
def test_entries_that_are_not_the_archive(tmp_path: Path, line: str) -> None:
    with pytest.raises(MmbatchError) as caught:
        find_mirror([write(tmp_path, "sources.list", line)])
    assert caught.value.code == ExitCode.NOT_APPLICABLE
    assert "--tree" in caught.value.todo


def test_disabled_stanzas_are_passed_over(tmp_path: Path) -> None:
    text = "Enabled: no\n" + DEB822.replace("mirror.example", "off.example") + "\n" + DEB822
    assert find_mirror([write(tmp_path, "a.sources", text)]).uris[0].count("mirror.example")


def test_the_archive_itself_wins_over_its_side_suites(tmp_path: Path) -> None:
    files = [
        write(tmp_path, "a.list", "deb http://side.example/debian trixie-backports main"),
        write(tmp_path, "b.list", "deb http://mirror.example/debian trixie main"),
    ]
    assert find_mirror(files).uris == ("http://mirror.example/debian",)


def test_an_embedded_key_is_carried_over_whole(tmp_path: Path) -> None:
    mirror = find_mirror([write(tmp_path, "a.sources", EMBEDDED_KEY)])
    again = find_mirror(
        [write(tmp_path, "b.sources", write_sources(mirror, ["bookworm"], "amd64"))]
    )
    assert again == mirror
    assert "bWFkZSB1cA==" in mirror.signed_by
    assert write_sources(mirror, ["sid"], "amd64").endswith(
        "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n bWFkZSB1cA==\n"
        " -----END PGP PUBLIC KEY BLOCK-----\n"
    )


def test_written_sources_never_trust_without_signature(tmp_path: Path) -> None:
    line = "deb [trusted=yes allow-insecure=yes] http://mirror.example/debian trixie main"
    mirror = find_mirror([write(tmp_path, "sources.list", line)])
    text = write_sources(mirror, ["trixie", "sid"], "arm64").lower()
    assert "trusted" not in text
    assert "insecure" not in text
    assert text.count("types: deb") == 2
    assert text.count("targets: packages") == 2


def test_debians_keyring_joins_only_other_keyring_files(tmp_path: Path) -> None:
    keyring = write(tmp_path, "debian.gpg", "")

    def joined(signed_by: str) -> str:
        return with_keyring(Mirror(("http://mirror.example",), "sid", signed_by), keyring).signed_by

    assert joined("/one.gpg") == f"/one.gpg {keyring}"
    assert joined(str(keyring)) == str(keyring)
    assert joined("") == ""
    assert joined("0123456789ABCDEF") == "0123456789ABCDEF"


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
    made = FakeArchive(tmp_path / "archive", gpg_home)
    made.add_kernel("trixie-backports", "7.3", "7.3.4-1~bpo13+1")
    made.add_kernel("sid", "7.2", "7.2.9-1")
    listed = write(tmp_path, "debian.sources", made.sources)
    monkeypatch.setattr(apt_module, "source_files", lambda: [listed])
    return made


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
    said: list[str] = []
    assert Apt(cache, said.append).madison("linux-source-7.3")
    assert said == []


@needs_archive
def test_indexes_of_yesterday_are_fetched_again(filled: FakeArchive, cache: Cache) -> None:
    Apt(cache, print).madison("linux-source-7.3")
    for stamp in cache.apt.glob("*/updated"):
        os.utime(stamp, (1, 1))
    filled.clear("trixie-backports")
    filled.add_kernel("trixie-backports", "7.3", "7.3.5-1~bpo13+1")
    said: list[str] = []
    assert Apt(cache, said.append).madison("linux-source-7.3")[0][0] == "7.3.5-1~bpo13+1"
    assert "package lists" in said[0]


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
        assert "linux-source-7.3" in error.tried
    assert found == []


@needs_archive
def test_no_network_is_said_once_and_soon(
    filled: FakeArchive, cache: Cache, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = filled.sources.replace(f"copy:{filled.root}", "http://127.0.0.1:9/debian")
    listed = write(tmp_path, "dead.sources", text)
    monkeypatch.setattr(apt_module, "source_files", lambda: [listed])
    said: list[str] = []
    apt = Apt(cache, said.append)
    for package in ("linux-source-7.3", "linux-source-7.2"):
        with pytest.raises(MmbatchError) as caught:
            apt.madison(package)
        assert "127.0.0.1" in caught.value.found
        assert "check the network" in caught.value.todo
    assert len(said) == 1


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
        pytest.skip(f"no network: {error.found}")
    assert any(versions)


@pytest.mark.skipif("dpkg" in lacks(), reason="no dpkg")
def test_missing_packages() -> None:
    assert packages.missing(["dpkg", "no-such-package-here", "dpkg"]) == ["no-such-package-here"]


@pytest.mark.skipif("apt-get" in lacks(), reason="no apt")
def test_source_files_are_apts_own() -> None:
    for path in source_files():
        assert path.suffix in (".list", ".sources")


def fake_program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_install_says_what_and_runs_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = tmp_path / "calls"
    fake_program(tmp_path, "apt-get", f'echo "$DEBIAN_FRONTEND $@" >> "{calls}"')
    fake_program(tmp_path, "sudo", 'shift; exec "$@"')
    fake_program(tmp_path, "dpkg-query", "exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    said: list[str] = []
    packages.install(["flex", "bison"], said.append)
    assert said[0] == "installing Debian packages: flex bison"
    call = calls.read_text().splitlines()[-1]
    assert call.startswith("noninteractive ")
    assert call.endswith("install --no-install-recommends -y flex bison")


def test_install_without_root_or_sudo_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_program(tmp_path, "sudo", "exit 1")
    fake_program(tmp_path, "dpkg-query", "exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(MmbatchError) as caught:
        packages.install(["flex"], print)
    assert "sudo apt-get install --no-install-recommends flex" in caught.value.todo
