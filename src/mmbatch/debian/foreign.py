# SPDX-License-Identifier: GPL-2.0-only
"""Packages of other releases of Debian, unpacked, and programs in them made to run here.

A program may need a newer C library than this machine has. It is started by the dynamic loader
that is unpacked beside it, with that loader's libraries; all else that runs here keeps its own.

The compiler that built a kernel is found among the installed ones, or unpacked in this way, and so
are the programs that it starts.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mmbatch.core.cache import Cache
from mmbatch.core.disk import atomic_write, require_space, temporary_dir
from mmbatch.core.errors import MmbatchError
from mmbatch.core.process import run
from mmbatch.debian import archives
from mmbatch.debian.apt import Apt

TUPLE = "x86_64-linux-gnu"
"""What Debian calls this kind of machine in the names of directories and programs."""

Say = Callable[[str], None]

_LIBRARIES = (f"usr/lib/{TUPLE}", f"lib/{TUPLE}", "usr/lib")
_LOADER = "ld-linux-x86-64.so.2"
# What a program needs to run: parts of it, and libraries that are no plug-ins nor for linking.
_TAKEN = re.compile(
    r"(cpp|gcc)-\d+(-x86-64-linux-gnu)?|binutils(-x86-64-linux-gnu)?|lib\S+|zlib1g|minisat"
)
_LEFT = re.compile(r".*-(dev|base|common|extra)")
_WRAPPER = """\
#!/bin/sh
# Made by mmbatch: runs a program of another release by that release's loader and libraries.
root=${{0%/*}}/{up}
exec "$root"/{loader} --library-path {libraries} --argv0 "$0" "$root"/{program} {first}"$@"
"""
_COMPILER_BYTES = 300_000_000
_INSTALL_IT = "install it"
_KERNELVARIABLES = ".kernelvariables"
"""The file with which Debian's headers name the compiler to make."""


def unpack(cache: Cache, apt: Apt, package: str, version: str, directory: Path) -> None:
    """Fetch a package and unpack its files into a directory."""
    with temporary_dir(cache.downloads, package) as downloads:
        archive = apt.download(package, version, downloads)
        run(["dpkg-deb", "--extract", archive, directory], action=f"unpack {package}")


def closure(apt: Apt, package: str, version: str, suite: str) -> dict[str, str]:
    """Return a package and all that its programs need to run, each with its version.

    Version and suite are as `madison` returns them.
    """
    suites = dict.fromkeys((suite, archives.base(suite)))
    versions = {package: version}
    waiting = [package]
    while waiting:
        name = waiting.pop()
        for need in apt.depends(name, versions[name]):
            if need in versions or not _TAKEN.fullmatch(need) or _LEFT.fullmatch(need):
                continue
            found = next(
                (newest for place in suites if (newest := apt.in_suite(need, place))),
                None,
            )
            if found is not None:
                versions[need] = found
                waiting.append(need)
    return versions


def unrunnable(directory: Path) -> list[Path]:
    """Return the programs in a directory that this machine's own libraries are too old for."""
    return [path for path in _programs(directory) if _lacks_library(path)]


def wrap(root: Path, program: str, wrapper: Path, first: Sequence[str] = ()) -> None:
    """Write a script that runs a program.

    Args:
        root: a directory in which packages are unpacked, its loader and libraries among them. It
            may go elsewhere later.
        program: its path in there.
        wrapper: the script, in there too.
        first: arguments before those of the caller, as a shell has them.

    Raises:
        MmbatchError: there is no loader.
    """
    loader = next(
        (
            f"{directory}/{_LOADER}"
            for directory in _LIBRARIES
            if (root / directory / _LOADER).exists()
        ),
        "",
    )
    if not loader:
        raise MmbatchError(f"run {program}", f"no {_LOADER} was unpacked with it", "install it")
    text = _WRAPPER.format(
        up=os.path.relpath(root, wrapper.parent),
        loader=loader,
        libraries=":".join(f'"$root"/{directory}' for directory in _LIBRARIES),
        program=shlex.quote(program),
        first="".join(f"{argument} " for argument in first),
    )
    atomic_write(wrapper, text, 0o755)


def wrap_in_place(root: Path, programs: Sequence[Path]) -> None:
    """Put scripts that run programs into their places; they lie beside them, hidden."""
    for path in programs:
        hidden = path.with_name(f".{path.name}")
        hidden.unlink(missing_ok=True)  # of a run that was ended here
        hidden.hardlink_to(path)
        wrap(root, str(hidden.relative_to(root)), path)


def _programs(directory: Path) -> Iterator[Path]:
    for path in sorted(directory.rglob("*")):
        if path.is_file() and not path.is_symlink() and not path.name.startswith("."):
            with path.open("rb") as file:
                if os.access(path, os.X_OK) and file.read(4) == b"\x7fELF":
                    yield path


def _lacks_library(program: Path) -> bool:
    printed = run(["ldd", program], action=f"see what {program.name} needs", check=False)
    return " not found" in printed.stdout + printed.stderr


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
class WantedCompiler:
    """The compiler that a kernel's configuration names.

    Attributes:
        program: its name, "x86_64-linux-gnu-gcc-14".
        package: Debian's package of it, "gcc-14".
        version: of that package; empty if the configuration does not name it.
    """

    program: str
    package: str
    version: str


def wanted_compiler(headers: Headers) -> WantedCompiler | None:
    """Return the compiler that built a kernel, None if its configuration does not name it."""
    text = headers.config.get("CONFIG_CC_VERSION_TEXT", "").strip('"')
    number = re.search(r"(\d+)\.\d+\.\d+$", text)
    if number is None or len(text.split()) < 2:
        return None
    program = text.split()[0]
    short = re.sub(r"-\d+$", "", program.removeprefix(f"{TUPLE}-"))
    version = re.search(r"\(Debian ([^()\s]+)\)", text)
    return WantedCompiler(program, f"{short}-{number[1]}", version[1] if version else "")


def installed_compiler(headers: Headers) -> Compiler:
    """Return the compiler of a kernel, which must be installed.

    Raises:
        MmbatchError: it is not installed.
    """
    wanted = wanted_compiler(headers)
    found = _find_installed(headers, wanted)
    if found is None:
        assert wanted is not None
        raise _no_compiler(headers, wanted, "that is not installed here")
    return found


def find_compiler(cache: Cache, headers: Headers, say: Say) -> Compiler:
    """Return the compiler of a kernel. Unpack Debian's packages if it is not installed.

    Raises:
        MmbatchError: it is not installed and can't be fetched.
    """
    wanted = wanted_compiler(headers)
    found = _find_installed(headers, wanted)
    if found is not None:
        return found
    assert wanted is not None
    place = cache.live / f"compiler-{wanted.package}-{wanted.version or 'newest'}"

    def fill(root: Path) -> None:
        require_space(cache.live, _COMPILER_BYTES, f"unpack {wanted.package}")
        try:
            _fetch_compiler(cache, wanted, root, say)
        except MmbatchError as error:
            found_there = f"that is not installed here, and fetching it failed: {error.problem}"
            other = "" if error.hint == _INSTALL_IT else f"; or {error.hint}"
            raise _no_compiler(headers, wanted, found_there, other) from error

    cache.provide(place, fill, f"fetches {wanted.package}", say)
    program = str(place / "bin" / wanted.package)
    return Compiler(program, (f"CC={program}",))


def _find_installed(headers: Headers, wanted: WantedCompiler | None) -> Compiler | None:
    """Return the compiler if it is installed, and None if not."""
    if wanted is None:
        return Compiler("gcc")
    if shutil.which(wanted.program):
        named = (headers.path / _KERNELVARIABLES).exists()
        return Compiler(wanted.program, () if named else (f"CC={wanted.program}",))
    if shutil.which(wanted.package):
        return Compiler(wanted.package, (f"CC={wanted.package}",))
    return None


def _fetch_compiler(cache: Cache, wanted: WantedCompiler, root: Path, say: Say) -> None:
    apt = Apt(cache, say)
    found = apt.madison(wanted.package, wanted.version)
    if not found:
        raise MmbatchError(f"fetch {wanted.package}", "no configured suite has it", _INSTALL_IT)
    versions = dict(reversed(found))
    version = wanted.version if wanted.version in versions else found[0][0]
    say(f"fetching {wanted.package} {version}, which is not installed, and its dependencies")
    needed = closure(apt, wanted.package, version, versions[version])
    for name, needed_version in needed.items():
        unpack(cache, apt, name, needed_version, root)
    wrap_compiler(root, wanted)


def wrap_compiler(root: Path, wanted: WantedCompiler) -> None:
    """Write bin/ into a directory of unpacked packages: a compiler that runs on this machine.

    The directory may be moved later.

    Raises:
        MmbatchError: the packages lack a part of it.
    """
    number = wanted.package.rpartition("-")[2]
    (root / "bin").mkdir()
    for name, places, first in (
        # It looks there for the programs that it starts.
        (wanted.package, [f"usr/bin/{TUPLE}-{wanted.package}"], ['-B"${0%/*}/"']),
        (
            "cc1",
            [f"usr/{directory}/gcc/{TUPLE}/{number}/cc1" for directory in ("libexec", "lib")],
            [],
        ),
        ("as", [f"usr/bin/{TUPLE}-as"], []),
    ):
        wrap(root, _first_file(root, wanted, places), root / "bin" / name, first)


def _first_file(root: Path, wanted: WantedCompiler, names: list[str]) -> str:
    for name in names:
        if (root / name).is_file():
            return name
    raise MmbatchError(f"unpack {wanted.package}", f"it has no {names[0]}", _INSTALL_IT)


def _no_compiler(
    headers: Headers, wanted: WantedCompiler, found: str, other: str = ""
) -> MmbatchError:
    return MmbatchError(
        f"make a module for Linux {headers.release}",
        f"it was built with {wanted.package}, and {found}",
        f"install it: apt-get install {wanted.package}{other}",
    )
