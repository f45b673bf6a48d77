# SPDX-License-Identifier: GPL-2.0-only
"""What mmbatch needs of this machine, for everything but guests and livepatches."""

from __future__ import annotations

import re
from pathlib import Path

from mmbatch.core.errors import MmbatchError
from mmbatch.core.process import package_of, run
from mmbatch.kernel import apt

PROGRAMS = (
    *("gcc", "make", "git", "spatch", "flex", "bison", "bc", "perl", "xz", "ld", "objcopy", "nm"),
)
HEADERS = {"stdio.h": "libc6-dev", "libelf.h": "libelf-dev", "gelf.h": "libelf-dev"}
"""Headers of C and the Debian packages that bring them."""

SPATCH_FLOOR = (1, 1, 1)
"""The oldest Coccinelle whose parser takes the kernels that we splice."""

_INCLUDES = Path("/usr/include")


def lacking() -> dict[str, str]:
    """Return the programs and headers that are not here, and their Debian packages."""
    programs = {name: package_of(name) for name in PROGRAMS if apt.find_program(name) is None}
    headers = {name: package for name, package in HEADERS.items() if not _header_exists(name)}
    return programs | headers


def ensure(_: object = None, *, install: bool, log: object = None) -> None:
    """Make sure that everything required is here, which apt may `install`.

    Raises:
        MmbatchError: something is missing, or spatch is too old.
    """
    found = lacking()
    if found and install:
        apt.install(sorted(set(found.values())))
        found = lacking()
    if found:
        command = apt.install_command(sorted(set(found.values())))
        hint = f"run: {command}" if install else f"give --install, or run: {command}"
        problem = f"there is no {' and no '.join(found)}"
        raise MmbatchError("find what mmbatch needs on this machine", problem, hint)
    version = spatch_version()
    if version < SPATCH_FLOOR:
        shown, floor = (".".join(map(str, numbers)) for numbers in (version, SPATCH_FLOOR))
        problem = f"spatch {shown} is older than {floor}"
        hint = f"install a newer one: {apt.install_command(['coccinelle'])}"
        raise MmbatchError("find what mmbatch needs on this machine", problem, hint)


def ensure_sparse(_: object = None, *, install: bool) -> None:
    """Make sure that sparse is here, which only `export --check` needs."""
    apt.require("check a series with sparse", ["sparse"], may_install=install)


def spatch_version() -> tuple[int, ...]:
    """Return the version of spatch."""
    printed = run(["spatch", "--version"], action="ask spatch for its version").stdout
    match = re.search(r"spatch version (\d+(?:\.\d+)*)", printed)
    return tuple(map(int, match[1].split("."))) if match else ()


def _header_exists(header: str) -> bool:
    return (_INCLUDES / header).exists() or any(_INCLUDES.glob(f"*-linux-gnu/{header}"))
