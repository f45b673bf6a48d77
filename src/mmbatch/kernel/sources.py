# SPDX-License-Identifier: GPL-2.0-only
"""What `kernel.source` has, by older names, for callers that are not converted yet."""

from __future__ import annotations

from pathlib import Path

from mmbatch.core.errors import MmbatchError
from mmbatch.kernel import source
from mmbatch.kernel.source import SERIES, SOURCE_PARTS, Source, check_tree, read_release

__all__ = ["SERIES", "SOURCE_PARTS", "Source", "check_tree", "read_release"]


def resolve(
    cache: object,
    kernel: str | None,
    tree: Path | None,
    say: object = None,
    progress: object = None,
    *,
    every_file: bool = False,
) -> Source:
    """See `source.get`."""
    return source.get(kernel, tree)


def find_cached(
    cache: object, series: str, say: object = None, *, every_file: bool = False
) -> Source | None:
    """See `source.find_cached`."""
    return source.find_cached(series)


def name_unchecked(error: MmbatchError, source: Source) -> MmbatchError:
    """Return the error as it is."""
    return error
