# SPDX-License-Identifier: GPL-2.0-only
"""What `kernel.foreign` has, by older names, for callers that are not converted yet."""

from __future__ import annotations

from pathlib import Path

from mmbatch.kernel import apt, foreign
from mmbatch.kernel.foreign import TUPLE, Compiler, WantedCompiler, wanted_compiler, wrap

__all__ = ["TUPLE", "Compiler", "WantedCompiler", "wanted_compiler", "wrap"]


def unpack(cache: object, its: object, package: str, version: str, directory: Path) -> None:
    """See `apt.unpack`."""
    apt.unpack(package, version, directory)


def find_compiler(cache: object, headers: foreign.Headers, say: object) -> Compiler:
    """See `foreign.find_compiler`."""
    return foreign.find_compiler(headers)


def installed_compiler(headers: foreign.Headers) -> Compiler:
    """See `foreign.find_compiler`."""
    return foreign.find_compiler(headers, fetch=False)
