# SPDX-License-Identifier: GPL-2.0-only
"""Which programs we call: their packages, the environment they get, and their tie to us."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from mmbatch.core.errors import MmbatchError

PROGRAM_PACKAGES: Mapping[str, str] = {
    "apt-cache": "apt",
    "apt-config": "apt",
    "apt-get": "apt",
    "as": "binutils",
    "bc": "bc",
    "bison": "bison",
    "clang": "clang",
    "cpio": "cpio",
    "dpkg": "dpkg",
    "dpkg-deb": "dpkg",
    "dpkg-query": "dpkg",
    "flex": "flex",
    "gcc": "gcc",
    "git": "git",
    "ld": "binutils",
    "make": "make",
    "nm": "binutils",
    "objcopy": "binutils",
    "objdump": "binutils",
    "openssl": "openssl",
    "perl": "perl",
    "qemu-system-aarch64": "qemu-system-arm",
    "qemu-system-x86_64": "qemu-system-x86",
    "readelf": "binutils",
    "rsync": "rsync",
    "spatch": "coccinelle",
    "sudo": "sudo",
    "tar": "tar",
    "xz": "xz-utils",
}
"""The Debian package that carries each program we call."""

# A calling make's flags and a calling git hook's paths would change what our own children do.
# So would the variables by which a kernel's makefiles choose programs and flags: a cached build
# is found again by the programs that made it, which must be those that we know of.
_NOT_INHERITED = (
    "ARCH",
    "CROSS_COMPILE",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_WORK_TREE",
    "GNUMAKEFLAGS",
    "KAFLAGS",
    "KBUILD_AFLAGS",
    "KBUILD_CFLAGS",
    "KBUILD_CPPFLAGS",
    "KBUILD_OUTPUT",
    "KCFLAGS",
    "KCPPFLAGS",
    "LANGUAGE",
    "LLVM",
    "LLVM_IAS",
    "MAKEFLAGS",
    "MAKELEVEL",
    "MAKEOVERRIDES",
    "MFLAGS",
    "TAR_OPTIONS",
)


def child_env(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment every child gets: ours in plain English, less a calling make's.

    Args:
        extra: variables to add, which win over all others.
    """
    env = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    env.setdefault("HOME", "/nonexistent")  # or spatch dies of an exception
    env |= {"LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    return env | dict(extra or {})


@functools.cache
def _setpriv() -> str | None:
    return shutil.which("setpriv")


def guarded(argv: Sequence[str | Path], action: str, *, die_with_us: bool = True) -> list[str]:
    """Return argv with its program found, and made to die with us even at kill -9.

    Args:
        argv: program and arguments.
        action: what it is for, as a phrase for the error message.
        die_with_us: leave it untied when false.

    Raises:
        MmbatchError: there is no such program; names its Debian package where we know it.
    """
    words = [os.fspath(word) for word in argv]
    found = shutil.which(words[0])
    if found is None:
        name = Path(words[0]).name
        package = PROGRAM_PACKAGES.get(name)
        hint = f"install it: apt-get install {package}" if package else "install it"
        raise MmbatchError(action, f"there is no program {name} here", hint)
    guard = _setpriv() if die_with_us else None
    prefix = [guard, "--pdeathsig", "KILL", "--"] if guard else []
    return [*prefix, found, *words[1:]]
