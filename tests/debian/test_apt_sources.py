# SPDX-License-Identifier: GPL-2.0-only
from pathlib import Path

import pytest

from fake_archive import lacks
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.debian.apt import source_files
from mmbatch.debian.archives import Mirror, find_mirror, with_keyring, write_sources

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
    assert "--tree" in caught.value.hint


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


@pytest.mark.skipif("apt-get" in lacks(), reason="no apt")
def test_source_files_are_apts_own() -> None:
    for path in source_files():
        assert path.suffix in (".list", ".sources")
