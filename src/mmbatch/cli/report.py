# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch report`: runs that were measured, side by side, as text and as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import click

from mmbatch.bench import store
from mmbatch.bench.store import Stored
from mmbatch.cli import options
from mmbatch.cli.usage import Misuse
from mmbatch.core import paths
from mmbatch.core.cache import STDOUT, Cache, atomic_write
from mmbatch.core.console import Console, output_options
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.report import change, html, markdown, text


@click.command("report")
@click.argument("runs", nargs=-1, metavar="[RUN]...", type=click.Path(path_type=Path))
@options.output_file(
    "-o",
    "--output",
    help_text="Write the page to FILE, - for standard output; by default beside the runs",
)
@options.output_file(
    "--svg",
    help_text="Write an overview of the newest kernels to this SVG file instead of a page",
)
@options.output_file(
    "--markdown",
    "markdown_file",
    help_text="Write the tables between the two marks of this Markdown file, "
    "- for standard output, instead of a page",
)
@click.option("--text", "text_only", is_flag=True, help="Print the text only and write no page")
@click.option("--cover", is_flag=True, help="Print each run's table for a cover letter instead")
@click.option(
    "--compare",
    "compared",
    is_flag=True,
    help="Print what changed from the first RUN to the second, by their ratios to base, instead",
)
@click.option(
    "--fail-on",
    type=click.Choice([change.SLOWER]),
    help="End with 1 if --compare finds a slower row, or misses one",
)
@output_options
def command(
    console: Console,
    runs: tuple[Path, ...],
    output: Path | None,
    svg: Path | None,
    markdown_file: Path | None,
    text_only: bool,
    cover: bool,
    compared: bool,
    fail_on: str | None,
) -> int:
    """Show RUNs side by side: directories that bench made, or files that bench --json wrote.

    Without a RUN, the last one of each speed-up on this machine. The page is one file: it loads
    nothing, and can be mailed.
    """
    files = output or svg or markdown_file
    if (text_only or cover) and files is not None:
        raise Misuse("--text and --cover write no file", "leave out the file")
    if compared or fail_on:
        if files is not None or text_only or cover or not compared or len(runs) != 2:
            raise Misuse(
                "--compare takes two runs, and --fail-on belongs to it",
                "write it as in --compare OLD NEW --fail-on slower",
            )
        return _compare(console, runs, fail_on)
    options.require_writable(("-o", output), ("--svg", svg), ("--markdown", markdown_file))
    chosen = store.load(runs or _newest(console))
    if cover:
        console.out.file.write("\n".join(text.run(run.record) for run in chosen))
    elif svg is None and markdown_file is None:
        console.out.file.write(text.report(chosen, paths.SPEEDUPS))
    if svg is not None:
        _write(console, svg, html.svg(chosen), "overview")
    if markdown_file is not None:
        content = markdown.into(markdown_file, chosen)
        _write(console, markdown_file, content, "file with the tables")
    if output is not None or not (files or text_only or cover):
        _write(console, output or _default(), html.render(chosen, paths.SPEEDUPS), "page")
    return ExitCode.FAILED if _any_wrong(console, chosen) else ExitCode.GOOD


def _any_wrong(console: Console, runs: Sequence[Stored]) -> bool:
    """Name the runs whose record is not of their samples, and return whether there are any."""
    wrong = [run for run in runs if run.raw.wrong]
    for run in wrong:
        console.say(f"{run.path}: its record {run.raw}")
    return bool(wrong)


def _compare(console: Console, runs: tuple[Path, ...], fail_on: str | None) -> int:
    """Print what changed between two runs, and return the exit code."""
    old, new = store.load(runs)
    found = change.changes(old.record, new.record)
    console.out.file.write(change.text(old, new, found))
    bad = fail_on is not None and any(
        change_found.verdict in (fail_on, change.GONE) for change_found in found
    )
    wrong = _any_wrong(console, (old, new))
    return ExitCode.FAILED if bad or wrong else ExitCode.GOOD


def _write(console: Console, path: Path, content: str, kind: str) -> None:
    atomic_write(path, content)
    if path != STDOUT:
        console.say(f"the {kind} is {path}")


def _newest(console: Console) -> list[Path]:
    found = list(store.newest(Cache.open().runs, say=console.say).values())
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
