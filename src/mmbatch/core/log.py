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
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import rich.console

logger = logging.getLogger("mmbatch")
_GROWTH_PERIOD_S = 0.2
_results_to_stderr = False


class _Handler(logging.Handler):
    """Prints each line with the seconds since the start."""

    def __init__(self) -> None:
        super().__init__()
        self._start = time.monotonic()

    def emit(self, record: logging.LogRecord) -> None:
        elapsed = time.monotonic() - self._start
        text = f"[{elapsed:3.0f} s] {record.getMessage()}"
        _console(sys.stderr).print(text, markup=False, soft_wrap=True)


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


def result(text: str = "") -> None:
    """Print a line of the result on standard output, as it is."""
    out().print(text, markup=False, soft_wrap=True)


def table(rows: Sequence[Sequence[str]], styles: Sequence[str] = ()) -> None:
    """Print rows of a result in columns, wrapped to the terminal where there is one.

    `styles` has for each row rich's style of its first cell.
    """
    if not out().is_terminal:
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            result("  ".join(cells).rstrip())
        return
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    for row, style in zip(rows, styles or [""] * len(rows), strict=True):
        grid.add_row(Text(row[0], style=style), *map(Text, row[1:]))
    for column in grid.columns:
        column.overflow = "fold"
    out().print(grid)


class Progress:
    """Counted work in progress; `bar` is one of rich's, or None where nobody watches."""

    def __init__(self, bar: Any = None) -> None:
        self._bar = bar

    def advance(self) -> None:
        """Count one more as done."""
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0])

    def update(self, done: float, text: str = "") -> None:
        """Set how much is done, and what is being done now."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, description=text)


@contextlib.contextmanager
def progress(
    title: str, total: float, unit: str, above: Sequence[str] = ()
) -> Generator[Progress, None, None]:
    """Show counted work: the title's line, and below it a bar where there is a terminal.

    The lines `above` the bar may change meanwhile, and are erased with it.
    """
    console = _console(sys.stderr)
    if not logger.isEnabledFor(logging.INFO) or not console.is_terminal:
        say(f"{title} ({total:.0f} {unit})")
        yield Progress()
        return
    from rich import progress as bars

    class Bars(bars.Progress):
        def get_renderables(self) -> Iterable[Any]:
            yield from above[-max(1, console.height - 4) :]
            yield from super().get_renderables()

    say(title)
    with Bars(
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TextColumn(unit, markup=False),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
        console=console,
        transient=True,
    ) as bar:
        bar.add_task("", total=total)
        yield Progress(bar)


@contextlib.contextmanager
def growth(directory: Path, watched: Progress) -> Generator[None, None, None]:
    """Keep a progress at the size of a directory's files, in MB, while the block runs."""
    over = threading.Event()

    def follow() -> None:
        while not over.wait(_GROWTH_PERIOD_S):
            total = 0
            for path in directory.rglob("*"):
                with contextlib.suppress(OSError):  # files come and go meanwhile
                    total += path.stat().st_size
            watched.update(total / 1e6)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@functools.lru_cache(maxsize=4)
def _console(stream: Any) -> rich.console.Console:
    """Return a console on a standard stream, which is plain when that is not a terminal."""
    from rich.console import Console

    plain = not stream.isatty() or os.environ.get("TERM", "dumb") == "dumb"
    return Console(
        file=stream,
        force_terminal=not plain,
        no_color=True if plain or os.environ.get("NO_COLOR") else None,
        width=None if stream.isatty() else 160,
        highlight=False,
    )
