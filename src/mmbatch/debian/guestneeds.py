# SPDX-License-Identifier: GPL-2.0-only
"""What booting guests needs of this machine, besides what `doctor` asks for."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.debian import packages

_BY_ARCH: dict[str, dict[str, str]] = {
    "x86_64": {
        "qemu-system-x86_64": "qemu-system-x86",
        "busybox": "busybox-static",
        "ndctl": "ndctl",
        "daxctl": "daxctl",
        "mke2fs": "e2fsprogs",
        "openssl": "openssl",
    },
    "arm64": {"qemu-system-aarch64": "qemu-system-arm"},
}
_CROSS = {"aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu"}
_FOLDERS = "/usr/sbin:/sbin:/usr/bin:/bin"


def programs(arch: str) -> Mapping[str, str]:
    """Return the programs that guests of an architecture need, with their Debian packages."""
    cross = _CROSS if arch == "arm64" and platform.machine() != "aarch64" else {}
    return {**_BY_ARCH[arch], **cross}


def find(program: str) -> Path | None:
    """Return where a program is; the folders of root's programs are looked into as well."""
    found = shutil.which(program) or shutil.which(program, path=_FOLDERS)
    return None if found is None else Path(found)


def missing(arches: Iterable[str]) -> dict[str, str]:
    """Return the programs that are not here, with their packages."""
    return {
        program: package
        for arch in arches
        for program, package in programs(arch).items()
        if find(program) is None
    }


def ensure(
    arches: Iterable[str], say: Callable[[str], None], *, install: bool, log: Path | None = None
) -> None:
    """Make sure that guests of some architectures can be built and booted.

    Args:
        arches: "x86_64", "arm64".
        say: told what is being installed.
        install: may use apt to install what is missing.
        log: where apt's output goes.

    Raises:
        MmbatchError: something is missing and could not be, or must not be, installed.
    """
    arches = tuple(arches)
    if "x86_64" in arches and platform.machine() != "x86_64":
        raise MmbatchError(
            "boot x86-64 guests",
            f"this machine is {platform.machine()}, and its programs go into them",
            "use an x86-64 machine, or --arch arm64",
            ExitCode.NOT_APPLICABLE,
        )
    lacking = missing(arches)
    if lacking and install:
        packages.install(sorted(set(lacking.values())), say, log)
        lacking = missing(arches)
    if lacking:
        command = packages.install_command(sorted(set(lacking.values())))
        raise MmbatchError(
            "find what guests need on this machine",
            f"no {' and no '.join(lacking)}",
            f"run: {command}" if install else f"give --install, or run: {command}",
        )
