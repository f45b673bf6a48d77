# SPDX-License-Identifier: GPL-2.0-only
"""What `kernel.apt` has, by older names, for callers that are not converted yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mmbatch.core.process import package_of
from mmbatch.kernel import apt
from mmbatch.kernel.apt import find_program, install_command, missing

__all__ = ["find_program", "install_command", "missing"]


def install(packages: Sequence[str], say: object = None, log: object = None) -> None:
    """See `apt.install`."""
    apt.install(packages)


def ensure_guests(
    arches: Iterable[str], say: object = None, *, may_install: bool, log: object = None
) -> None:
    """See `apt.require_guests`."""
    apt.require_guests(arches, may_install=may_install)


def missing_for_guests(arches: Iterable[str]) -> dict[str, str]:
    """Return the programs that are not here, with their packages."""
    programs = (program for arch in arches for program in apt.GUEST_PROGRAMS[arch])
    return {program: package_of(program) for program in programs if not find_program(program)}
