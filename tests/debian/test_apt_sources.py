# SPDX-License-Identifier: GPL-2.0-only
from pathlib import Path

import pytest

from fake_archive import lacks
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.debian.apt import source_files
from mmbatch.debian.archives import (
    Suite,
    base,
    configured,
    main_suite,
    stages,
    with_keyring,
    write_sources,
)

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
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
MAIN = ("http://mirror.example/debian",)
SECURITY = ("http://security.example/debian-security",)
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


def write(directory: Path, name: str, text: str) -> Path:
    path = directory / name
    path.write_text(text)
    return path


def test_suites_of_deb822(tmp_path: Path) -> None:
    found = configured([write(tmp_path, "debian.sources", DEB822)])
    assert found == [
        Suite("trixie", MAIN, KEYRING),
        Suite("trixie-updates", MAIN, KEYRING),
        Suite("trixie-security", SECURITY, KEYRING),
    ]
    assert main_suite(found) == found[0]


@pytest.mark.parametrize(
    ("line", "name", "signed_by"),
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
def test_the_release_of_one_line_lists(
    tmp_path: Path, line: str, name: str, signed_by: str
) -> None:
    found = main_suite(configured([write(tmp_path, "sources.list", f"# none\n{line}\n")]))
    assert found == Suite(name, MAIN, signed_by)


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
        main_suite(configured([write(tmp_path, "sources.list", line)]))
    assert caught.value.code == ExitCode.NOT_APPLICABLE
    assert "--tree" in caught.value.hint


def test_disabled_stanzas_are_passed_over(tmp_path: Path) -> None:
    text = "Enabled: no\n" + DEB822.replace("mirror.example", "off.example") + "\n" + DEB822
    found = {suite.name: suite for suite in configured([write(tmp_path, "a.sources", text)])}
    assert found["trixie"].uris == MAIN


def test_the_archive_itself_wins_over_its_side_suites(tmp_path: Path) -> None:
    files = [
        write(tmp_path, "a.list", "deb http://side.example/debian trixie-backports main"),
        write(tmp_path, "b.list", "deb http://mirror.example/debian trixie main"),
    ]
    assert main_suite(configured(files)).uris == MAIN


def looked_into(tmp_path: Path, *lines: str) -> tuple[dict[str, str], dict[str, str]]:
    """The stable and the other suites that are looked into, with the hosts that have them."""
    listed = write(tmp_path, "sources.list", "".join(f"deb {line} main\n" for line in lines))
    stable, unstable = (
        {suite.name: suite.uris[0].split("/")[2] for suite in suites}
        for suites in stages(configured([listed]))
    )
    return stable, unstable


@pytest.mark.parametrize(
    ("lines", "security"),
    [
        (["http://s.example/debian-security bookworm-security"], "s.example"),
        (["http://s.example/ bookworm/updates"], "s.example"),
        (["http://mirror.example/debian bookworm-security"], "mirror.example"),
        ([], None),
    ],
)
def test_security_updates_come_from_where_the_system_gets_them(
    tmp_path: Path, lines: list[str], security: str | None
) -> None:
    stable, unstable = looked_into(tmp_path, "http://mirror.example/debian bookworm", *lines)
    wanted = ("bookworm-security", "trixie-security") if security else ()
    assert {name: stable[name] for name in wanted} == dict.fromkeys(wanted, security)
    assert any("security" in name for name in stable) == bool(security)
    releases = ("bookworm", "trixie", "bookworm-backports", "trixie-backports")
    assert {stable[name] for name in releases} == {"mirror.example"}
    assert unstable == dict.fromkeys(("forky", "sid", "experimental"), "mirror.example")


def test_all_that_the_system_follows_is_looked_into(tmp_path: Path) -> None:
    stable, unstable = looked_into(
        tmp_path,
        "http://mirror.example/debian stable",
        "http://mirror.example/debian stable-updates",
        "http://more.example/debian stable-backports-sloppy",
        "http://s.example/security stable-security",
        "http://new.example/debian sid",
    )
    assert stable["stable-updates"] == stable["stable-backports"] == "mirror.example"
    assert stable["stable-backports-sloppy"] == "more.example"
    assert stable["stable-security"] == "s.example"
    assert unstable["sid"] == "new.example"  # followed, and yet no stable release


def test_a_system_that_follows_an_unstable_release(tmp_path: Path) -> None:
    stable, unstable = looked_into(tmp_path, "http://mirror.example/debian sid")
    assert "sid" in stable
    assert set(unstable) == {"forky", "experimental"}


@pytest.mark.parametrize(
    ("suite", "release"),
    [
        ("trixie-security", "trixie"),
        ("buster/updates", "buster/updates"),
        ("bookworm/updates", "bookworm"),
        ("oldstable-backports-sloppy", "oldstable"),
        ("experimental", "sid"),
        ("sid", "sid"),
    ],
)
def test_the_release_that_a_suite_adds_to(suite: str, release: str) -> None:
    assert base(suite) == release


def test_an_embedded_key_is_carried_over_whole(tmp_path: Path) -> None:
    suites = configured([write(tmp_path, "a.sources", EMBEDDED_KEY)])
    text = write_sources(suites, "amd64")
    assert configured([write(tmp_path, "b.sources", text)]) == suites
    assert "bWFkZSB1cA==" in suites[0].signed_by
    assert text.endswith(
        "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n bWFkZSB1cA==\n"
        " -----END PGP PUBLIC KEY BLOCK-----\n"
    )


def test_written_sources_never_trust_without_signature(tmp_path: Path) -> None:
    line = "deb [trusted=yes allow-insecure=yes] http://mirror.example/debian {} main\n"
    lines = line.format("trixie") + line.format("sid")
    suites = configured([write(tmp_path, "sources.list", lines)])
    text = write_sources(suites, "arm64").lower()
    assert "trusted" not in text
    assert "insecure" not in text
    assert text.count("types: deb") == 2
    assert text.count("targets: packages") == 2


def test_debians_keyring_joins_only_other_keyring_files(tmp_path: Path) -> None:
    keyring = write(tmp_path, "debian.gpg", "")

    def joined(signed_by: str) -> str:
        return with_keyring(Suite("sid", MAIN, signed_by), keyring).signed_by

    assert joined("/one.gpg") == f"/one.gpg {keyring}"
    assert joined(str(keyring)) == str(keyring)
    assert joined("") == ""
    assert joined("0123456789ABCDEF") == "0123456789ABCDEF"


@pytest.mark.skipif("apt-get" in lacks(), reason="no apt")
def test_source_files_are_apts_own() -> None:
    for path in source_files():
        assert path.suffix in (".list", ".sources")
