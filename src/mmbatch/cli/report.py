# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch report`: runs that were measured, side by side, as text and as one HTML page."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from mmbatch.bench import store as stored
from mmbatch.bench.store import Raw
from mmbatch.core import paths as checkout
from mmbatch.core.cache import Cache
from mmbatch.core.console import Console, output_options
from mmbatch.core.disk import atomic_write
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.report import narrow, page


@click.command("report", short_help="Show runs side by side, as text and as an HTML page.")
@click.argument("runs", nargs=-1, metavar="[RUN]...", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where the page goes; by default into the cache's folder of runs.",
)
@click.option("--text", "text_only", is_flag=True, help="Print the text only, write no page.")
@click.option("--cover", is_flag=True, help="Print each run's table for a cover letter instead.")
@output_options
def command(
    console: Console, runs: tuple[Path, ...], output: Path | None, text_only: bool, cover: bool
) -> int:
    """Show RUNs side by side: folders that bench made, or files that bench --json wrote.

    Without a RUN, the last one of each speed-up on this machine. The page is one file: it loads
    nothing, and can be mailed.
    """
    if (text_only or cover) and output is not None:
        raise click.UsageError("--text and --cover write no page, so -o has no meaning.")
    chosen = stored.load(runs or _newest())
    if cover:
        console.out.file.write("\n".join(narrow.cover(run.record) for run in chosen))
    else:
        console.out.file.write(narrow.report(chosen, checkout.SPEEDUPS))
    if not (text_only or cover):
        path = output or _default()
        atomic_write(path, page.render(chosen, checkout.SPEEDUPS))
        console.say(f"the page is {path}")
    differing = [run for run in chosen if run.raw is Raw.DIFFERS]
    for run in differing:
        console.say(f"{run.path}: its record {Raw.DIFFERS}")
    return ExitCode.FAILED if differing else ExitCode.GOOD


def _newest() -> list[Path]:
    found = list(stored.newest(Cache.open().runs).values())
    if not found:
        raise MmbatchError(
            "find the last runs on this machine",
            "there is none",
            "measure first with `mmbatch bench`, or name runs",
            ExitCode.USAGE,
        )
    return found


def _default() -> Path:
    name = datetime.now().astimezone().strftime("report-%Y-%m-%dT%H%M%S.html")
    return Cache.open().runs / name
