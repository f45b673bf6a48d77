# SPDX-License-Identifier: GPL-2.0-only
"""What `kernel.apt` has, by older names, for callers that are not converted yet."""

from __future__ import annotations

from mmbatch.kernel import apt


class Apt:
    """The functions of `kernel.apt`, as methods."""

    def __init__(self, cache: object, say: object) -> None:
        pass

    def madison(self, package: str, version: str = "") -> list[tuple[str, str]]:
        """See `apt.find`."""
        return apt.find(package, version)

    def depends(self, package: str, version: str) -> list[str]:
        """See `apt.depends`."""
        return apt.depends(package, version)

    def names(self, prefix: str) -> list[str]:
        """See `apt.names`."""
        return apt.names(prefix)
