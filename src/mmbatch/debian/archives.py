# SPDX-License-Identifier: GPL-2.0-only
"""Read which archives of Debian this system uses, and with which keys.

apt itself lists them only through `apt-get indextargets`, which lists nothing before the
first `apt-get update` (so in every fresh container) and leaves the keys out.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mmbatch.core.errors import ExitCode, MmbatchError

_REMOTE = ("http://", "https://", "mirror://", "mirror+", "tor+", "ftp://", "file:", "copy:")
_SUITE = re.compile(
    r"(bullseye|bookworm|trixie|forky|duke|sid|experimental|"
    r"(?:old){0,2}stable|testing|unstable)(?:[-/](.+))?"
)
# What we look for besides the suites that the system follows, of its main and its security
# archive: the releases that carry a kernel which we support.
_MAIN = ("{own}", "trixie", "{own}-backports", "trixie-backports", "bookworm-backports")
_SECURITY = ("{own}-security", "trixie-security")
_UNSTABLE = ("forky", "sid", "experimental")
_ROLLING = (*_UNSTABLE, "testing", "unstable")


@dataclass(frozen=True)
class Suite:
    """A suite of Debian's and where this system gets it from.

    Attributes:
        name: its name ("trixie", "stable-security").
        uris: addresses of the archive that has it, most preferred first.
        signed_by: keyring paths, fingerprints or a whole armoured key, as apt's Signed-By
            takes them; empty for apt's default keyrings.
    """

    name: str
    uris: tuple[str, ...]
    signed_by: str

    @property
    def release(self) -> str:
        """The release that it is or adds to: "trixie" of "trixie-security"."""
        return base(self.name)

    @property
    def is_security(self) -> bool:
        """Whether it has the security updates of a release."""
        return self.name.endswith(("-security", "/updates"))


@dataclass(frozen=True)
class _Entry:
    uris: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]
    signed_by: str


def base(suite: str) -> str:
    """Return the release that a suite is or adds to; of "experimental", which adds to all, sid."""
    match = _SUITE.fullmatch(suite)
    found = match[1] if match else suite
    return "sid" if found == "experimental" else found


def configured(files: Iterable[Path]) -> list[Suite]:
    """Return the suites of Debian's that apt's source files (*.list, *.sources) name, each once."""
    found: dict[str, Suite] = {}
    for path in sorted(files):
        try:
            text = path.read_text(errors="replace")
        except OSError:
            continue
        parse = _deb822_entries if path.suffix == ".sources" else _one_line_entries
        for entry in parse(text):
            uris = tuple(uri for uri in entry.uris if uri.startswith(_REMOTE))
            if uris and "main" in entry.components:
                for name in filter(_SUITE.fullmatch, entry.suites):
                    found.setdefault(name, Suite(name, uris, entry.signed_by))
    return list(found.values())


def main_suite(suites: Iterable[Suite]) -> Suite:
    """Return the release that a system follows, of the suites that `configured` found.

    Raises:
        MmbatchError: there is none, so this is not a Debian system.
    """
    own = [suite for suite in suites if not suite.is_security]
    for suite in own:
        if suite.name == suite.release:
            return suite
    for suite in own:
        if "backports" in suite.name or suite.name.endswith("-proposed-updates"):
            return replace(suite, name=suite.release)
    raise MmbatchError(
        "find the mirror that carries the Debian archive",
        "apt's sources on this system name no Debian suite",
        "give an unpacked kernel with --tree DIR",
        ExitCode.NOT_APPLICABLE,
    )


def stages(suites: Sequence[Suite]) -> tuple[list[Suite], list[Suite]]:
    """Return the suites to look in: the stable ones, and those for what these don't have.

    The release that the system follows is among the stable ones, whichever it is. Suites that
    an archive may not have are named too.

    Raises:
        MmbatchError: the system follows no release of Debian.
    """
    main = main_suite(suites)
    stable = {
        suite.name: suite
        for suite in suites
        if suite.name not in _ROLLING or suite.name == main.name
    }
    security = next((suite for suite in suites if suite.is_security), None)
    for archive, patterns in ((main, _MAIN), (security, _SECURITY)):
        if archive is not None:
            for name in (pattern.format(own=main.name) for pattern in patterns):
                stable.setdefault(name, replace(archive, name=name))
    unstable = {suite.name: suite for suite in suites if suite.name not in stable}
    for name in _UNSTABLE:
        if name not in stable:
            unstable.setdefault(name, replace(main, name=name))
    return list(stable.values()), list(unstable.values())


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


def write_sources(suites: Iterable[Suite], architecture: str) -> str:
    """Return a deb822 file that gets only the package indexes of some suites, signatures checked.

    Each suite has a stanza, so that one that is missing spoils no other.
    """
    return "\n".join(
        f"Types: deb\nURIs: {' '.join(suite.uris)}\nSuites: {suite.name}\nComponents: main\n"
        f"Architectures: {architecture}\nTargets: Packages\nPDiffs: no\n"
        f"{_signed_by(suite.signed_by.splitlines())}"
        for suite in suites
    )


def _signed_by(lines: list[str]) -> str:
    if len(lines) < 2:
        return "".join(f"Signed-By: {line}\n" for line in lines)
    return "Signed-By:\n" + "".join(f" {line or '.'}\n" for line in lines)  # a whole key, folded


def with_keyring(suite: Suite, keyring: Path) -> Suite:
    """Return the suite with Debian's own keyring added where it names other keyring files.

    An entry may name the key of its own release alone; the archive keyring of the same
    system carries the other releases' keys.
    """
    names_files = suite.signed_by.startswith("/") and "\n" not in suite.signed_by
    if not names_files or not keyring.exists() or str(keyring) in suite.signed_by.split():
        return suite
    return replace(suite, signed_by=f"{suite.signed_by} {keyring}")
