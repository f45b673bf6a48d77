# SPDX-License-Identifier: GPL-2.0-only
"""What a person sees while we work: phase lines and progress on stderr, results on stdout."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import rich.console

logger = logging.getLogger("mmbatch")
say = logger.info  # one phase line, unless -q is given
detail = logger.debug  # a line that only -v shows
_results_to_stderr = False


class _Handler(logging.Handler):
    """Prints each line with the seconds since the start, above a bar if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        text = f"[{record.relativeCreated / 1000:3.0f} s] {record.getMessage()}"
        _console(sys.stderr).print(text, markup=False, soft_wrap=True)


def start(verbosity: int = 0, *, results_to_stderr: bool = False) -> None:
    """Begin the output of one verb: -1 prints results only, 0 phases, 1 details too.

    Results go to standard error where a file goes to standard output.
    """
    global _results_to_stderr  # noqa: PLW0603 (standard output is global, too)
    _results_to_stderr = results_to_stderr
    logger.handlers = [_Handler()]
    logger.propagate = False
    logger.setLevel({-1: logging.ERROR, 0: logging.INFO}.get(verbosity, logging.DEBUG))


def is_verbose() -> bool:
    """Return whether -v is given."""
    return logger.isEnabledFor(logging.DEBUG)


def out() -> rich.console.Console:
    """Return the console for results: standard output, in colour only on a terminal."""
    return _console(sys.stderr if _results_to_stderr else sys.stdout)


def result(text: str = "") -> None:
    """Print a line of the result on standard output, as it is."""
    out().print(text, markup=False, soft_wrap=True)


def table(rows: Sequence[Sequence[str]], styles: Sequence[str] = ()) -> None:
    """Print rows of a result in columns, the first cell of each in rich's style of `styles`."""
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


@contextlib.contextmanager
def progress(
    title: str, total: float, unit: str, above: Sequence[str] = ()
) -> Generator[Callable[..., None], None, None]:
    """Show counted work: the title's line, and below it a bar where there is a terminal.

    Yields what counts: rich's `Progress.update()` of this work, with `advance` or `completed`. The
    lines `above` the bar may change meanwhile, and are erased with it.
    """
    from rich import progress as bars

    class Bars(bars.Progress):
        def get_renderables(self) -> Iterable[Any]:
            yield from above[-max(1, console.height - 4) :]
            yield from super().get_renderables()

    console = _console(sys.stderr)
    watched = logger.isEnabledFor(logging.INFO) and console.is_terminal
    say(title if watched else f"{title} ({total:.0f} {unit})")
    bar = Bars(
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TextColumn(unit, markup=False),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
        console=console,
        transient=True,
        redirect_stderr=False,  # or our own lines would not know of the bar
    )
    with bar if watched else contextlib.nullcontext():
        yield functools.partial(bar.update, bar.add_task("", total=total))


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
