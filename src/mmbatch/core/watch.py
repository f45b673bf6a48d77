# SPDX-License-Identifier: GPL-2.0-only
"""Follow how a folder grows, to show progress of a program that shows none."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator
from pathlib import Path

from mmbatch.core.console import Progress

_PERIOD_S = 0.2


@contextlib.contextmanager
def growth(folder: Path, progress: Progress) -> Generator[None, None, None]:
    """Keep a progress at the size of a folder's files, in MB, while the block runs.

    Args:
        folder: looked at with its subfolders.
        progress: updated from a thread of our own.
    """
    over = threading.Event()

    def follow() -> None:
        while not over.wait(_PERIOD_S):
            progress.update(folder_bytes(folder) / 1e6)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def folder_bytes(folder: Path) -> int:
    """Return the bytes of the files below a folder, whose files may come and go meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size
    return total
