# SPDX-License-Identifier: GPL-2.0-only
"""The compiler that built a kernel: an installed one, or Debian's packages of it, unpacked.

An unpacked compiler runs as `foreign` describes, and so do the programs that it starts.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mmbatch.core.cache import Cache
from mmbatch.core.disk import require_space
from mmbatch.core.errors import MmbatchError
from mmbatch.debian import foreign
from mmbatch.debian.apt import Apt

_BYTES = 300_000_000
_INSTALL = "install it"
_KERNELVARIABLES = ".kernelvariables"
"""The file with which Debian's headers name the compiler to make."""

Say = Callable[[str], None]


class Headers(Protocol):
    """The part of a kernel's headers that names its compiler."""

    @property
    def release(self) -> str:
        """Release of the kernel, as printed by `uname -r`."""

    @property
    def path(self) -> Path:
        """The directory in which make runs."""

    @property
    def config(self) -> Mapping[str, str]:
        """The options of the kernel that are set, with their values."""


@dataclass(frozen=True)
class Compiler:
    """A compiler for a kernel's modules.

    Attributes:
        program: name or path of the program.
        arguments: of make, to use it; none if the headers name it themselves.
    """

    program: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wanted:
    """The compiler that a kernel's configuration names.

    Attributes:
        program: its name, "x86_64-linux-gnu-gcc-14".
        package: Debian's package of it, "gcc-14".
        version: of that package; empty if the configuration does not name it.
    """

    program: str
    package: str
    version: str


def wanted(headers: Headers) -> Wanted | None:
    """Return the compiler that built a kernel, None if its configuration does not name it."""
    text = headers.config.get("CONFIG_CC_VERSION_TEXT", "").strip('"')
    number = re.search(r"(\d+)\.\d+\.\d+$", text)
    if number is None or len(text.split()) < 2:
        return None
    program = text.split()[0]
    short = re.sub(r"-\d+$", "", program.removeprefix(f"{foreign.TUPLE}-"))
    version = re.search(r"\(Debian ([^()\s]+)\)", text)
    return Wanted(program, f"{short}-{number[1]}", version[1] if version else "")


def installed(headers: Headers) -> Compiler:
    """Return the compiler of a kernel, which must be installed.

    Raises:
        MmbatchError: it is not installed.
    """
    want = wanted(headers)
    found = _look(headers, want)
    if found is None:
        assert want is not None
        raise _lacking(headers, want, "that is not installed here")
    return found


def find(cache: Cache, headers: Headers, say: Say) -> Compiler:
    """Return the compiler of a kernel. Fetch Debian's packages if it is not installed.

    Args:
        cache: keeps a fetched compiler; nothing is installed.
        headers: of the kernel.
        say: told of each phase.

    Raises:
        MmbatchError: it is not installed and can't be fetched.
    """
    want = wanted(headers)
    found = _look(headers, want)
    if found is not None:
        return found
    assert want is not None
    place = cache.live / f"compiler-{want.package}-{want.version or 'newest'}"

    def fill(root: Path) -> None:
        require_space(cache.live, _BYTES, f"unpack {want.package}")
        try:
            _fetch(cache, want, root, say)
        except MmbatchError as error:
            found_there = f"that is not installed here, and fetching it failed: {error.problem}"
            other = "" if error.hint == _INSTALL else f"; or {error.hint}"
            raise _lacking(headers, want, found_there, other) from error

    cache.provide(place, fill, f"fetches {want.package}", say)
    program = str(place / "bin" / want.package)
    return Compiler(program, (f"CC={program}",))


def _look(headers: Headers, want: Wanted | None) -> Compiler | None:
    """Return the compiler if it is installed, and None if not."""
    if want is None:
        return Compiler("gcc")
    if shutil.which(want.program):
        named = (headers.path / _KERNELVARIABLES).exists()
        return Compiler(want.program, () if named else (f"CC={want.program}",))
    if shutil.which(want.package):
        return Compiler(want.package, (f"CC={want.package}",))
    return None


def _fetch(cache: Cache, want: Wanted, root: Path, say: Say) -> None:
    apt = Apt(cache, say)
    found = apt.madison(want.package, want.version)
    if not found:
        raise MmbatchError(f"fetch {want.package}", "no configured suite has it", _INSTALL)
    versions = dict(reversed(found))
    version = want.version if want.version in versions else found[0][0]
    say(f"fetching {want.package} {version}, which is not installed, and its dependencies")
    needed = foreign.closure(apt, want.package, version, versions[version])
    for name, one in needed.items():
        foreign.unpack(cache, apt, name, one, root)
    wrap(root, want)


def wrap(root: Path, want: Wanted) -> None:
    """Write bin/ into a directory of unpacked packages: a compiler that runs on this machine.

    Args:
        root: the directory, which may be moved later.
        want: the compiler in it.

    Raises:
        MmbatchError: the packages lack a part of it.
    """
    number = want.package.rpartition("-")[2]
    (root / "bin").mkdir()
    for name, places, first in (
        # It looks there for the programs that it starts.
        (want.package, [f"usr/bin/{foreign.TUPLE}-{want.package}"], ['-B"${0%/*}/"']),
        ("cc1", [f"usr/{one}/gcc/{foreign.TUPLE}/{number}/cc1" for one in ("libexec", "lib")], []),
        ("as", [f"usr/bin/{foreign.TUPLE}-as"], []),
    ):
        foreign.wrap(root, _one(root, want, places), root / "bin" / name, first)


def _one(root: Path, want: Wanted, names: list[str]) -> str:
    for name in names:
        if (root / name).is_file():
            return name
    raise MmbatchError(f"unpack {want.package}", f"it has no {names[0]}", _INSTALL)


def _lacking(headers: Headers, want: Wanted, found: str, other: str = "") -> MmbatchError:
    return MmbatchError(
        f"make a module for Linux {headers.release}",
        f"it was built with {want.package}, and {found}",
        f"install it: apt-get install {want.package}{other}",
    )
