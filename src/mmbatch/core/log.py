# SPDX-License-Identifier: GPL-2.0-only
"""What a person sees while we work: phase lines and progress on stderr, results on stdout."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import sys
import threading
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import rich.console

logger = logging.getLogger("mmbatch")
_GROWTH_PERIOD_S = 0.2
_results_to_stderr = False


class Progress(Protocol):
    """Counted work in progress."""

    def advance(self, amount: float = 1) -> None:
        """Count some of the work as done."""

    def update(self, done: float, text: str | None = None) -> None:
        """Set how much is done, and what is being done now."""


class _Handler(logging.Handler):
    """Prints each line with the seconds since the start."""

    def __init__(self) -> None:
        super().__init__()
        self._start = time.monotonic()

    def emit(self, record: logging.LogRecord) -> None:
        elapsed = time.monotonic() - self._start
        text = f"[{elapsed:3.0f} s] {record.getMessage()}"
        err().print(text, markup=False, highlight=False, soft_wrap=True)


def start(verbosity: int = 0, *, results_to_stderr: bool = False) -> None:
    """Begin the output of one verb.

    Args:
        verbosity: -1 prints results only, 0 phases, 1 details too.
        results_to_stderr: print results to standard error, because a file goes to standard output.
    """
    global _results_to_stderr  # noqa: PLW0603 (standard output is global, too)
    _results_to_stderr = results_to_stderr
    logger.handlers = [_Handler()]
    logger.propagate = False
    logger.setLevel({-1: logging.ERROR, 0: logging.INFO}.get(verbosity, logging.DEBUG))


def say(text: str) -> None:
    """Print one phase line, unless -q is given."""
    logger.info("%s", text)


def is_verbose() -> bool:
    """Return whether -v is given."""
    return logger.isEnabledFor(logging.DEBUG)


def detail(text: str) -> None:
    """Print a line that only -v shows."""
    logger.debug("%s", text)


def out() -> rich.console.Console:
    """Return the console for results: standard output, in colour only on a terminal."""
    return _console(sys.stderr if _results_to_stderr else sys.stdout)


def err() -> rich.console.Console:
    """Return the console for everything else: standard error."""
    return _console(sys.stderr)


def result(text: str = "") -> None:
    """Print a line of the result on standard output, as it is."""
    out().print(text, markup=False, highlight=False, soft_wrap=True)


def table(rows: Sequence[Sequence[str]], styles: Sequence[str] = ()) -> None:
    """Print rows of a result in columns, wrapped to the terminal where there is one.

    Args:
        rows: cells, as many in each; only the last one is wrapped where there is room.
        styles: for each row rich's style of its first cell; none by default.
    """
    if not rows:
        return
    if not out().is_terminal:
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            result("  ".join(cells).rstrip())
        return
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    for _ in rows[0]:
        grid.add_column(overflow="fold")
    for row, style in zip(rows, styles or [""] * len(rows), strict=True):
        grid.add_row(Text(row[0], style=style), *(Text(cell) for cell in row[1:]))
    out().print(grid)


@contextlib.contextmanager
def progress(title: str, total: float | None, unit: str = "") -> Generator[Progress, None, None]:
    """Show counted work: the title's line, and below it a bar where there is a terminal.

    Args:
        title: what is going on.
        total: how much there is in all; None when that is not known.
        unit: what is counted, for the bar's end ("files").
    """
    if not logger.isEnabledFor(logging.INFO) or not err().is_terminal or err().is_dumb_terminal:
        say(title if total is None else f"{title} ({total:.0f} {unit})")
        yield _Silent()
        return
    from rich import progress as bars

    say(title)
    with bars.Progress(
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TextColumn(unit, markup=False),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
        console=err(),
        transient=True,
    ) as bar:
        yield _Bar(bar, bar.add_task("", total=total))


class _Silent:
    """Counted work that nobody watches."""

    def advance(self, amount: float = 1) -> None:
        """Print nothing."""

    def update(self, done: float, text: str | None = None) -> None:
        """Print nothing."""


class _Bar:
    def __init__(self, bar: Any, task: Any) -> None:
        self._bar = bar
        self._task = task

    def advance(self, amount: float = 1) -> None:
        self._bar.advance(self._task, amount)

    def update(self, done: float, text: str | None = None) -> None:
        more = {} if text is None else {"description": text}
        self._bar.update(self._task, completed=done, **more)


@contextlib.contextmanager
def growth(directory: Path, watched: Progress) -> Generator[None, None, None]:
    """Keep a progress at the size of a directory's files, in MB, while the block runs.

    For programs that show no progress of their own.
    """
    over = threading.Event()

    def follow() -> None:
        while not over.wait(_GROWTH_PERIOD_S):
            watched.update(directory_bytes(directory) / 1e6)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def directory_bytes(directory: Path) -> int:
    """Return the bytes of the files below a directory, whose files may come and go meanwhile."""
    total = 0
    for path in directory.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size
    return total


@functools.lru_cache(maxsize=4)
def _console(stream: Any) -> rich.console.Console:
    """Return a console on a standard stream, which is plain when that is not a terminal."""
    from rich.console import Console as RichConsole

    plain = not stream.isatty() or os.environ.get("TERM", "dumb") == "dumb"
    return RichConsole(
        file=stream,
        force_terminal=not plain,
        no_color=True if plain or os.environ.get("NO_COLOR") else None,
        width=None if stream.isatty() else 160,
        highlight=False,
    )
