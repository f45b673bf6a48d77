# SPDX-License-Identifier: GPL-2.0-only
"""What `cache` and `errors` have, by older names, for callers that are not converted yet."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from mmbatch.core import cache
from mmbatch.core.cache import DONE as MARK
from mmbatch.core.cache import (
    STDOUT,
    atomic_dir,
    atomic_write,
    free_bytes,
    new_dir,
    require_space,
)
from mmbatch.core.cache import remove as remove_unused
from mmbatch.core.cache import require_writable as require_file
from mmbatch.core.errors import error_from_os, full_hint

__all__ = [
    "MARK",
    "STDOUT",
    "atomic_dir",
    "atomic_write",
    "error_from_os",
    "free_bytes",
    "new_dir",
    "remove_unused",
    "require_file",
    "require_space",
]


def temporary_dir(directory: Path, name: str) -> contextlib.AbstractContextManager[Path]:
    """See `cache.temporary_dir`."""
    return cache.temporary_dir(name)


def cache_remedy(*, full: bool) -> str:
    """See `full_hint`."""
    return full_hint()


def real_path(path: Path, action: str) -> Path:
    """Return a path as absolute and without links."""
    return path.resolve()


def require_place(directory: Path, option: str) -> None:
    """See `cache.require_writable`."""
    require_file(directory / "x", option)


def require_no_loop(path: Path, option: str) -> None:
    """Do nothing."""


def require_working_directory() -> None:
    """Do nothing."""


def write_mark(directory: Path, parts: object = None, name: str = MARK) -> None:
    """See `cache.finish`."""
    cache.finish(directory)


def is_whole(directory: Path, say: object = None, mark_name: str = MARK) -> bool:
    """Return whether a directory is finished."""
    return (directory / MARK).exists()


def use(directory: Path) -> None:
    """See `cache.use`."""
    cache.use(directory)


def sweep(directory: Path, name: str = "") -> None:
    """Do nothing."""


def forget_oldest(directories: Iterable[Path]) -> None:
    """Keep the last three."""
    for path in sorted(directories, key=lambda path: path.stat().st_mtime)[:-3]:
        cache.remove(path)
