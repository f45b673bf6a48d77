# SPDX-License-Identifier: GPL-2.0-only
"""What a person sees while we work: phase lines and progress on stderr, results on stdout."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

import click

from mmbatch.core.disk import require_working_directory

if TYPE_CHECKING:
    import rich.console

RESULTS_TO_STDERR = "mmbatch.results_to_stderr"
"""Key of click's `Context.meta`, true where a file that was asked for is standard output."""

_GROWTH_PERIOD_S = 0.2

P = ParamSpec("P")
R = TypeVar("R")


class Progress(Protocol):
    """Counted work in progress."""

    def advance(self, amount: float = 1) -> None:
        """Count some of the work as done."""

    def update(self, done: float, text: str | None = None) -> None:
        """Set how much is done, and what is being done now."""


Progressing = Callable[[str, float | None, str], contextlib.AbstractContextManager[Progress]]
"""Shows counted work: title, how much there is or None, and what is counted."""


class Console:
    """The output of one verb: `say` for phases, `progress` for counted work, `out` for results.

    Args:
        verbosity: -1 prints results only, 0 phases, 1 details too.
        to_stderr: print results to standard error, because a file goes to standard output.
    """

    def __init__(self, verbosity: int = 0, *, to_stderr: bool = False) -> None:
        """Start the clock of the phase lines."""
        self.verbosity = verbosity
        self.to_stderr = to_stderr
        self._start = time.monotonic()

    @functools.cached_property
    def out(self) -> rich.console.Console:
        """The console for results: standard output, in colour only on a terminal."""
        return _rich_console(stderr=self.to_stderr)

    @functools.cached_property
    def err(self) -> rich.console.Console:
        """The console for everything else: standard error."""
        return _rich_console(stderr=True)

    def say(self, text: str) -> None:
        """Print one phase line with the seconds since the start, unless it is quiet."""
        if self.verbosity >= 0:
            self._line(text)

    def detail(self, text: str) -> None:
        """Print a line that only -v shows."""
        if self.verbosity >= 1:
            self._line(text)

    def result(self, text: str = "") -> None:
        """Print a line of the result on standard output, as it is."""
        self.out.print(text, markup=False, highlight=False, soft_wrap=True)

    def table(self, rows: Sequence[Sequence[str]], styles: Sequence[str] = ()) -> None:
        """Print rows of a result in columns, wrapped to the terminal where there is one.

        Args:
            rows: cells, as many in each; only the last one is wrapped where there is room.
            styles: for each row rich's style of its first cell; none by default.
        """
        if not rows:
            return
        if not self.out.is_terminal:
            widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
            for row in rows:
                cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
                self.result("  ".join(cells).rstrip())
            return
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
        for _ in rows[0]:
            table.add_column(overflow="fold")
        for row, style in zip(rows, styles or [""] * len(rows), strict=True):
            table.add_row(Text(row[0], style=style), *(Text(cell) for cell in row[1:]))
        self.out.print(table)

    def _line(self, text: str) -> None:
        elapsed = time.monotonic() - self._start
        self.err.print(f"[{elapsed:3.0f} s] {text}", markup=False, highlight=False, soft_wrap=True)

    @contextlib.contextmanager
    def progress(
        self, title: str, total: float | None, unit: str = ""
    ) -> Generator[Progress, None, None]:
        """Show counted work: the title's line, and below it a bar where there is a terminal.

        Args:
            title: what is going on.
            total: how much there is in all; None when that is not known.
            unit: what is counted, for the bar's end ("files").
        """
        if self.verbosity < 0 or not self.err.is_terminal or self.err.is_dumb_terminal:
            with spoken(self.say)(title, total, unit) as silent:
                yield silent
            return
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as RichProgress

        self.say(title)
        with RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(unit, markup=False),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self.err,
            transient=True,
        ) as bar:
            yield _Bar(bar, bar.add_task("", total=total))


class _Silent:
    """Counted work that nobody watches."""

    def advance(self, amount: float = 1) -> None:
        """Print nothing."""

    def update(self, done: float, text: str | None = None) -> None:
        """Print nothing."""


def spoken(say: Callable[[str], None]) -> Progressing:
    """Return a stand-in for `Console.progress` which only prints the titles."""

    @contextlib.contextmanager
    def progress(title: str, total: float | None, unit: str) -> Generator[Progress, None, None]:
        say(title if total is None else f"{title} ({total:.0f} {unit})")
        yield _Silent()

    return progress


class _Bar:
    def __init__(self, bar: Any, task: Any) -> None:
        self._bar = bar
        self._task = task

    def advance(self, amount: float = 1) -> None:
        self._bar.advance(self._task, amount)

    def update(self, done: float, text: str | None = None) -> None:
        more = {} if text is None else {"description": text}
        self._bar.update(self._task, completed=done, **more)


def output_options(function: Callable[Concatenate[Console, P], R]) -> Callable[P, R]:
    """Give a verb -q and -v, and its Console as the first argument."""

    @click.option("-q", "--quiet", is_flag=True, help="Print results only")
    @click.option("-v", "--verbose", is_flag=True, help="Print details too")
    @functools.wraps(function)
    def verb(*args: Any, quiet: bool, verbose: bool, **kwargs: Any) -> R:
        if quiet and verbose:
            raise click.UsageError("-q and -v exclude each other")
        require_working_directory()
        to_stderr = click.get_current_context().meta.get(RESULTS_TO_STDERR, False)
        return function(Console(verbose - quiet, to_stderr=to_stderr), *args, **kwargs)

    return cast("Callable[P, R]", verb)


def _rich_console(stderr: bool) -> rich.console.Console:
    """Return a console on a standard stream, which is plain when that is not a terminal."""
    from rich.console import Console as RichConsole

    stream = sys.stderr if stderr else sys.stdout
    plain = not stream.isatty() or os.environ.get("TERM", "dumb") == "dumb"
    return RichConsole(
        file=stream,
        force_terminal=not plain,
        no_color=True if plain or os.environ.get("NO_COLOR") else None,
        width=None if stream.isatty() else 160,
        highlight=False,
    )


@contextlib.contextmanager
def growth(directory: Path, progress: Progress) -> Generator[None, None, None]:
    """Keep a progress at the size of a directory's files, in MB, while the block runs.

    For programs that show no progress of their own.
    """
    over = threading.Event()

    def follow() -> None:
        while not over.wait(_GROWTH_PERIOD_S):
            progress.update(directory_bytes(directory) / 1e6)

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
