# SPDX-License-Identifier: GPL-2.0-only
"""Which Debian packages this system has, and installing more of them with its own apt.

What booting guests needs is here too, besides what `doctor` asks for.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.process import PROGRAM_PACKAGES, Result, run

_LISTS = Path("/var/lib/apt/lists")
_LIMIT_S = 1800
_GUEST_PROGRAMS = {
    "x86_64": ("qemu-system-x86_64", "busybox", "ndctl", "daxctl", "mke2fs", "openssl"),
    "arm64": ("qemu-system-aarch64",),
}
_CROSS = "aarch64-linux-gnu-gcc"
_ROOT_DIRECTORIES = "/usr/sbin:/sbin:/usr/bin:/bin"


def missing(packages: Iterable[str]) -> list[str]:
    """Return those packages that are not installed, in the order given.

    Raises:
        MmbatchError: this system has no dpkg.
    """
    wanted = list(dict.fromkeys(packages))
    printed = run(
        ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Abbrev}\n", *wanted],
        action="ask dpkg what is installed",
        check=False,
    ).stdout
    present = {
        words[0]
        for line in printed.splitlines()
        if (words := line.split())[1:] and words[1] == "ii"
    }
    return [name for name in wanted if name not in present]


def install_command(packages: Sequence[str]) -> str:
    """Return the one command that a person types to install packages."""
    sudo = "" if os.geteuid() == 0 else "sudo "
    return f"{sudo}apt-get install --no-install-recommends {' '.join(packages)}"


def install(packages: Sequence[str], say: Callable[[str], None], log: Path | None = None) -> None:
    """Install packages with the system's apt, as root or through sudo, after saying which.

    Raises:
        MmbatchError: there is no way to become root, or apt failed.
    """
    names = missing(packages)
    if not names:
        return
    action = f"install {' '.join(names)}"
    prefix, foreground = _become_root(action, names)
    say(f"installing Debian packages: {' '.join(names)}")

    def apt(*arguments: str, check: bool) -> Result:
        return run(
            [
                *(*prefix, "env", "DEBIAN_FRONTEND=noninteractive"),
                *("apt-get", "-q", "-o", "DPkg::Lock::Timeout=120", *arguments),
            ],
            action=action,
            log=log,
            timeout_s=_LIMIT_S,
            check=check,
            foreground=foreground,
            finish=True,
        )

    order = ("install", "--no-install-recommends", "-y", *names)
    if any(_LISTS.glob("*_Packages*")) and apt(*order, check=False).rc == 0:
        return
    say("fetching the system's package lists (apt-get update)")
    apt("update", check=False)
    apt(*order, check=True)


def _become_root(action: str, names: Sequence[str]) -> tuple[list[str], bool]:
    """Return (words before a command, whether it needs the terminal for a password)."""
    if os.geteuid() == 0:
        return [], False
    if shutil.which("sudo") is not None:
        without_password = run(["sudo", "-n", "true"], action=action, check=False)
        if without_password.rc == 0:
            return ["sudo", "-n"], False
        if sys.stdin is not None and sys.stdin.isatty():
            return ["sudo"], True
    raise MmbatchError(
        action, "we are not root and sudo can't be used here", f"run: {install_command(names)}"
    )


def guest_programs(arch: str) -> Mapping[str, str]:
    """Return the programs that guests of an architecture need, with their Debian packages."""
    cross = [_CROSS] if arch == "arm64" and platform.machine() != "aarch64" else []
    return {program: PROGRAM_PACKAGES[program] for program in (*_GUEST_PROGRAMS[arch], *cross)}


def find_program(program: str) -> Path | None:
    """Return where a program is; the directories of root's programs are looked into as well."""
    found = shutil.which(program) or shutil.which(program, path=_ROOT_DIRECTORIES)
    return None if found is None else Path(found)


def missing_for_guests(arches: Iterable[str]) -> dict[str, str]:
    """Return the programs that are not here, with their packages."""
    return {
        program: package
        for arch in arches
        for program, package in guest_programs(arch).items()
        if find_program(program) is None
    }


def ensure_guests(
    arches: Iterable[str], say: Callable[[str], None], *, may_install: bool, log: Path | None = None
) -> None:
    """Make sure that guests of some architectures ("x86_64", "arm64") can be built and booted.

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
    lacking = missing_for_guests(arches)
    if lacking and may_install:
        install(sorted(set(lacking.values())), say, log)
        lacking = missing_for_guests(arches)
    if lacking:
        command = install_command(sorted(set(lacking.values())))
        raise MmbatchError(
            "find what guests need on this machine",
            f"no {' and no '.join(lacking)}",
            f"run: {command}" if may_install else f"give --install, or run: {command}",
        )
