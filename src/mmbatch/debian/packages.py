# SPDX-License-Identifier: GPL-2.0-only
"""Which Debian packages this system has, and installing more of them with its own apt."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from mmbatch.core.errors import MmbatchError
from mmbatch.core.process import Result, run

_LISTS = Path("/var/lib/apt/lists")
_LIMIT_S = 1800


def missing(packages: Iterable[str]) -> list[str]:
    """Return those packages that are not installed, in the order given.

    Raises:
        MmbatchError: this system has no dpkg.
    """
    wanted = list(dict.fromkeys(packages))
    said = run(
        ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Abbrev}\n", *wanted],
        action="ask dpkg what is installed",
        check=False,
    ).stdout
    present = {
        words[0] for line in said.splitlines() if (words := line.split())[1:] and words[1] == "ii"
    }
    return [name for name in wanted if name not in present]


def install_command(packages: Sequence[str]) -> str:
    """Return the one command that a person types to install packages."""
    sudo = "" if os.geteuid() == 0 else "sudo "
    return f"{sudo}apt-get install --no-install-recommends {' '.join(packages)}"


def install(packages: Sequence[str], say: Callable[[str], None], log: Path | None = None) -> None:
    """Install packages with the system's apt, as root or through sudo, after saying which.

    Args:
        packages: their names; those that are there already are left alone.
        say: told what is being installed.
        log: where apt's output goes.

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
        asked = run(["sudo", "-n", "true"], action=action, check=False)
        if asked.rc == 0:
            return ["sudo", "-n"], False
        if sys.stdin is not None and sys.stdin.isatty():
            return ["sudo"], True
    raise MmbatchError(
        action, "we are not root and sudo can't be used here", f"run: {install_command(names)}"
    )
