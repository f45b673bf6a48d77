# SPDX-License-Identifier: GPL-2.0-only
"""Packages of other releases of Debian, unpacked, and programs in them made to run here.

A program may want a newer C library than this machine has. It is started by the dynamic loader
that is unpacked beside it, with that loader's libraries; all else that runs here keeps its own.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from mmbatch.core.cache import Cache
from mmbatch.core.disk import atomic_write, temporary_dir
from mmbatch.core.errors import MmbatchError
from mmbatch.core.process import run
from mmbatch.debian import archives
from mmbatch.debian.apt import Apt

TUPLE = "x86_64-linux-gnu"
"""What Debian calls this kind of machine in the names of directories and programs."""

Say = Callable[[str], None]

_LIBRARIES = tuple(f"{top}lib/{TUPLE}" for top in ("usr/", ""))
_LOADER = "ld-linux-x86-64.so.2"
# What a program needs to run: parts of it, and libraries that are no plug-ins nor for linking.
_TAKEN = re.compile(r"(cpp|gcc)-\d+(-x86-64-linux-gnu)?|binutils(-x86-64-linux-gnu)?|lib\S+|zlib1g")
_LEFT = re.compile(r".*-(dev|base|common|extra)")
_WRAPPER = """\
#!/bin/sh
# Made by mmbatch: runs a program of another release by that release's loader and libraries.
root=${{0%/*}}/{up}
exec "$root"/{loader} --library-path {libraries} --argv0 "$0" "$root"/{program} {first}"$@"
"""


def unpack(cache: Cache, apt: Apt, package: str, version: str, folder: Path) -> None:
    """Fetch a package and unpack its files into a directory."""
    with temporary_dir(cache.downloads, package) as downloads:
        archive = apt.download(package, version, downloads)
        run(["dpkg-deb", "--extract", archive, folder], action=f"unpack {package}")


def closure(apt: Apt, package: str, version: str, suite: str) -> dict[str, str]:
    """Return a package and all that its programs need to run, each with its version.

    Args:
        apt: where it is.
        package: its name.
        version: as `madison` returns it.
        suite: in which it is, likewise.
    """
    suites = dict.fromkeys((suite, archives.base(suite)))
    versions = {package: version}
    waiting = [package]
    while waiting:
        name = waiting.pop()
        for need in apt.depends(name, versions[name]):
            if need in versions or not _TAKEN.fullmatch(need) or _LEFT.fullmatch(need):
                continue
            found = next((one for where in suites if (one := apt.in_suite(need, where))), None)
            if found is not None:
                versions[need] = found
                waiting.append(need)
    return versions


def strangers(folder: Path) -> list[Path]:
    """Return the programs in a directory that this machine's own libraries are too old for."""
    return [path for path in _programs(folder) if _is_stranger(path)]


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
    loader = next((f"{one}/{_LOADER}" for one in _LIBRARIES if (root / one / _LOADER).exists()), "")
    if not loader:
        raise MmbatchError(f"run {program}", f"no {_LOADER} was unpacked with it", "install it")
    text = _WRAPPER.format(
        up=os.path.relpath(root, wrapper.parent),
        loader=loader,
        libraries=":".join(f'"$root"/{one}' for one in _LIBRARIES),
        program=shlex.quote(program),
        first="".join(f"{one} " for one in first),
    )
    atomic_write(wrapper, text, 0o755)


def adopt(root: Path, programs: Sequence[Path]) -> None:
    """Put scripts that run programs into their places; they lie beside them, hidden.

    Args:
        root: see `wrap`.
        programs: in there.
    """
    for path in programs:
        hidden = path.with_name(f".{path.name}")
        hidden.unlink(missing_ok=True)  # of a run that was ended here
        hidden.hardlink_to(path)
        wrap(root, str(hidden.relative_to(root)), path)


def _programs(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and not path.name.startswith("."):
            with path.open("rb") as file:
                if os.access(path, os.X_OK) and file.read(4) == b"\x7fELF":
                    yield path


def _is_stranger(program: Path) -> bool:
    said = run(["ldd", program], action=f"see what {program.name} needs", check=False)
    return " not found" in said.stdout + said.stderr
