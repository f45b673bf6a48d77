# SPDX-License-Identifier: GPL-2.0-only
"""`Console`, which is passed around, for whoever does not call `core.log` itself yet."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

import click

from mmbatch.core import log
from mmbatch.core.log import Progress

if TYPE_CHECKING:
    import rich.console

RESULTS_TO_STDERR = "mmbatch.results_to_stderr"
"""Key of click's `Context.meta`, true where a file that was asked for is standard output."""

P = ParamSpec("P")
R = TypeVar("R")


class Console:
    """The functions of `core.log`, as methods."""

    def __init__(self, verbosity: int = 0, *, to_stderr: bool = False) -> None:
        self.verbosity = verbosity
        self.to_stderr = to_stderr
        log.start(verbosity, results_to_stderr=to_stderr)

    @property
    def out(self) -> rich.console.Console:
        """The console for results."""
        return log.out()

    @property
    def err(self) -> rich.console.Console:
        """The console for everything else."""
        return log.err()

    def say(self, text: str) -> None:
        """See `log.say`."""
        log.say(text)

    def detail(self, text: str) -> None:
        """See `log.detail`."""
        log.detail(text)

    def result(self, text: str = "") -> None:
        """See `log.result`."""
        log.result(text)

    def table(self, rows: Sequence[Sequence[str]], styles: Sequence[str] = ()) -> None:
        """See `log.table`."""
        log.table(rows, styles)

    def progress(
        self, title: str, total: float | None, unit: str = ""
    ) -> AbstractContextManager[Progress]:
        """See `log.progress`."""
        return log.progress(title, total, unit)


def output_options(function: Callable[Concatenate[Console, P], R]) -> Callable[P, R]:
    """Give a verb -q and -v, and its Console as the first argument."""

    @click.option("-q", "--quiet", is_flag=True, help="Print results only")
    @click.option("-v", "--verbose", is_flag=True, help="Print details too")
    @functools.wraps(function)
    def verb(*args: Any, quiet: bool, verbose: bool, **kwargs: Any) -> R:
        if quiet and verbose:
            raise click.UsageError("-q and -v exclude each other")
        to_stderr = click.get_current_context().meta.get(RESULTS_TO_STDERR, False)
        return function(Console(verbose - quiet, to_stderr=to_stderr), *args, **kwargs)

    return cast("Callable[P, R]", verb)
