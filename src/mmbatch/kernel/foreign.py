# SPDX-License-Identifier: GPL-2.0-only
"""Programs of other releases of Debian, made to run here; compilers of kernels among them.

A program may need a newer C library than this machine has. It is started by the dynamic loader
that is unpacked beside it, with that loader's libraries; all else that runs here keeps its own.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import cache, log
from mmbatch.core.errors import MmbatchError
from mmbatch.core.process import run
from mmbatch.kernel import apt

TUPLE = "x86_64-linux-gnu"
"""What Debian calls this kind of machine in the names of directories and programs."""

_LIBRARIES = (f"usr/lib/{TUPLE}", f"lib/{TUPLE}", "usr/lib")
_LOADER = "ld-linux-x86-64.so.2"
_WRAPPER = """\
#!/bin/sh
# Made by mmbatch: runs a program of another release by that release's loader and libraries.
root=${{0%/*}}/{up}
exec "$root"/{loader} --library-path {libraries} --argv0 "$0" "$root"/{program} {first}"$@"
"""
_COMPILER_BYTES = 300_000_000


def wrap(root: Path, program: str, wrapper: Path, first: Sequence[str] = ()) -> None:
    """Write a script that runs a program of the packages that are unpacked below a root.

    The script is below the root as well, which may go elsewhere later, and gives the program
    some arguments `first`, as a shell has them.
    """
    loader = next(
        name for directory in _LIBRARIES if (root / (name := f"{directory}/{_LOADER}")).exists()
    )
    text = _WRAPPER.format(
        up=os.path.relpath(root, wrapper.parent),
        loader=loader,
        libraries=":".join(f'"$root"/{directory}' for directory in _LIBRARIES),
        program=shlex.quote(program),
        first="".join(f"{argument} " for argument in first),
    )
    wrapper.write_text(text, encoding="utf-8")
    wrapper.chmod(0o755)


def make_runnable(root: Path, directory: Path, package: str) -> None:
    """Let the programs of a package run here that this machine's own libraries are too old for.

    Scripts take their places; the programs lie beside them, hidden. The directory with them is
    below the root, where the package is unpacked, and the libraries that it needs will be.
    """
    files = [path for path in directory.rglob("*") if path.is_file() and not path.is_symlink()]
    programs = [path for path in files if os.access(path, os.X_OK) and _lacks_library(path)]
    if not programs:
        return
    version, _ = apt.need(package)
    log.say(f"fetching the libraries that programs of {package} need here")
    apt.unpack(package, version, root, needs=True)
    for path in programs:
        hidden = path.with_name(f".{path.name}")
        path.rename(hidden)
        wrap(root, str(hidden.relative_to(root)), path)


def _lacks_library(program: Path) -> bool:
    printed = run(["ldd", program], action=f"see what {program.name} needs", check=False)
    return " not found" in printed.stdout + printed.stderr


@dataclass(frozen=True)
class WantedCompiler:
    """The compiler that a kernel's configuration names."""

    program: str  # "x86_64-linux-gnu-gcc-14"
    package: str  # Debian's, "gcc-14"
    version: str  # of that package; empty if the configuration does not name it


def wanted_compiler(config: Mapping[str, str]) -> WantedCompiler | None:
    """Return the compiler that built a kernel, None if its configuration does not name it."""
    text = config.get("CONFIG_CC_VERSION_TEXT", "").strip('"')
    number = re.search(r" (\d+)\.\d+\.\d+$", text)
    if number is None:
        return None
    program = text.split()[0]
    short = re.sub(r"-\d+$", "", program.removeprefix(f"{TUPLE}-"))
    version = re.search(r"\(Debian ([^()\s]+)\)", text)
    return WantedCompiler(program, f"{short}-{number[1]}", version[1] if version else "")


def find_compiler(release: str, config: Mapping[str, str]) -> str:
    """Return the compiler of a kernel; if it is not installed, fetch and unpack Debian's packages.

    The configuration has the kernel's options with their values.
    """
    wanted = wanted_compiler(config)
    if wanted is None:
        return "gcc"
    for program in (wanted.program, wanted.package):
        if shutil.which(program):
            return program
    place = cache.live() / f"compiler-{wanted.package}-{wanted.version or 'newest'}"

    def fill(root: Path) -> None:
        cache.require_space(place, _COMPILER_BYTES, f"unpack {wanted.package}")
        try:
            version, _ = apt.need(wanted.package, wanted.version)
            log.say(f"fetching {wanted.package} {version}, which is not installed, and its needs")
            apt.unpack(wanted.package, version, root, needs=True)
        except MmbatchError as error:
            problem = (
                f"it was built with {wanted.package}, and that is not installed here, "
                f"and fetching it failed: {error.problem}"
            )
            hint = f"install it: apt-get install {wanted.package}"
            raise MmbatchError(f"make a module for Linux {release}", problem, hint) from error
        wrap_compiler(root, wanted.package)

    cache.provide(place, fill, f"fetches {wanted.package}")
    return str(place / "bin" / wanted.package)


def wrap_compiler(root: Path, package: str) -> None:
    """Write bin/ into a directory of unpacked packages: a compiler that runs on this machine."""
    number = package.rpartition("-")[2]
    (root / "bin").mkdir()
    # It looks beside itself for the programs that it starts. cc1 is in lib up to gcc 12.
    for name, place, first in (
        (package, f"usr/bin/{TUPLE}-{package}", ['-B"${0%/*}/"']),
        ("cc1", f"usr/lib*/gcc/{TUPLE}/{number}/cc1", []),
        ("as", f"usr/bin/{TUPLE}-as", []),
    ):
        program = next(root.glob(place))
        wrap(root, str(program.relative_to(root)), root / "bin" / name, first)
