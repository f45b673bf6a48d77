# SPDX-License-Identifier: GPL-2.0-only
"""Read which mirror of the Debian archive this system uses, and with which keys.

apt itself tells this only through `apt-get indextargets`, which lists nothing before the
first `apt-get update` (so in every fresh container) and leaves the keys out.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from mmbatch.core.errors import ExitCode, MmbatchError

CODENAMES = ("bullseye", "bookworm", "trixie", "forky", "duke", "sid")
_ROLES = ("oldoldstable", "oldstable", "stable", "testing", "unstable", "experimental")
_SIDE_SUITES = ("-backports", "-proposed-updates", "-backports-sloppy")
_REMOTE = ("http://", "https://", "mirror://", "mirror+", "tor+", "ftp://", "file:", "copy:")


@dataclass(frozen=True)
class Mirror:
    """Where this system gets the Debian archive from.

    Attributes:
        uris: its addresses, most preferred first.
        suite: the suite that the system follows ("trixie", "stable").
        signed_by: keyring paths, fingerprints or a whole armoured key, as apt's Signed-By
            takes them; empty for apt's default keyrings.
    """

    uris: tuple[str, ...]
    suite: str
    signed_by: str


@dataclass(frozen=True)
class _Entry:
    uris: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]
    signed_by: str


def find_mirror(files: Iterable[Path]) -> Mirror:
    """Return the first entry that carries Debian's own suites.

    Args:
        files: apt's source files, *.list and *.sources.

    Raises:
        MmbatchError: no entry carries them, so this is no Debian system.
    """
    side: Mirror | None = None
    for path in sorted(files):
        try:
            text = path.read_text(errors="replace")
        except OSError:
            continue
        parse = _deb822_entries if path.suffix == ".sources" else _one_line_entries
        for entry in parse(text):
            uris = tuple(uri for uri in entry.uris if uri.startswith(_REMOTE))
            if not uris or "main" not in entry.components:
                continue
            for suite in entry.suites:
                if suite in CODENAMES or suite in _ROLES:
                    return Mirror(uris, suite, entry.signed_by)
                base = _without_side(suite)
                if base in CODENAMES or base in _ROLES:
                    side = side or Mirror(uris, base, entry.signed_by)
    if side is not None:
        return side
    raise MmbatchError(
        "find the mirror that carries the Debian archive",
        "apt's sources on this system name no Debian suite",
        "give an unpacked kernel with --tree DIR",
        ExitCode.NOT_APPLICABLE,
    )


def _without_side(suite: str) -> str:
    for side in _SIDE_SUITES:
        suite = suite.removesuffix(side)
    return suite


def _one_line_entries(text: str) -> Iterator[_Entry]:
    """Yield the entries of a sources.list ("deb [signed-by=K] URI SUITE COMPONENT...")."""
    for line in text.splitlines():
        match = re.match(r"\s*deb\s+(?:\[([^\]]*)\]\s*)?([^#]*)", line)
        if match is None:
            continue
        try:
            words = shlex.split(match[2])
        except ValueError:
            continue
        if len(words) < 3:
            continue
        signed_by = ""
        for option in (match[1] or "").split():
            name, _, value = option.partition("=")
            if name.lower() == "signed-by":
                signed_by = value.replace(",", " ")
        yield _Entry((words[0],), (words[1].rstrip("/"),), tuple(words[2:]), signed_by)


def _deb822_entries(text: str) -> Iterator[_Entry]:
    """Yield the enabled stanzas of a .sources file."""
    for stanza in re.split(r"\n[ \t]*\n", text):
        fields: dict[str, str] = {}
        last = ""
        for line in stanza.splitlines():
            if line.startswith("#"):
                continue
            if line[:1] in (" ", "\t") and last:
                fields[last] += "\n" + line.strip()
            elif ":" in line:
                name, _, value = line.partition(":")
                last = name.strip().lower()
                fields[last] = value.strip()
        if "deb" not in fields.get("types", "").split():
            continue
        if fields.get("enabled", "yes").lower() in ("no", "false", "off", "0", "without"):
            continue
        yield _Entry(
            tuple(fields.get("uris", "").split()),
            tuple(fields.get("suites", "").split()),
            tuple(fields.get("components", "").split()),
            fields.get("signed-by", "").strip(),
        )


def write_sources(mirror: Mirror, suites: Iterable[str], architecture: str) -> str:
    """Return a deb822 file that gets only the package indexes of some suites, signatures checked.

    Args:
        mirror: where from.
        suites: which suites; one stanza each, so that one that is missing spoils no other.
        architecture: whose index.
    """
    signed_by = ""
    lines = mirror.signed_by.splitlines()
    if len(lines) == 1:
        signed_by = f"Signed-By: {lines[0]}\n"
    elif lines:  # a whole key, folded
        signed_by = "Signed-By:\n" + "".join(f" {line or '.'}\n" for line in lines)
    return "\n".join(
        f"Types: deb\nURIs: {' '.join(mirror.uris)}\nSuites: {suite}\nComponents: main\n"
        f"Architectures: {architecture}\nTargets: Packages\nPDiffs: no\n{signed_by}"
        for suite in suites
    )


def with_keyring(mirror: Mirror, keyring: Path) -> Mirror:
    """Return the mirror with Debian's own keyring added where it names other keyring files.

    An entry may name the key of its own release alone; the archive keyring of the same
    system carries the other releases' keys.
    """
    names_files = mirror.signed_by.startswith("/") and "\n" not in mirror.signed_by
    if not names_files or not keyring.exists() or str(keyring) in mirror.signed_by.split():
        return mirror
    return replace(mirror, signed_by=f"{mirror.signed_by} {keyring}")
