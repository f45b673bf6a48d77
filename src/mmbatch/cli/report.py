# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch report`: runs that were measured, side by side, as text and as one HTML page."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from mmbatch.bench import record
from mmbatch.cli import options
from mmbatch.cli.options import argument, file, flag, value
from mmbatch.cli.usage import Misuse
from mmbatch.core import cache, log
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.report import compare as comparison
from mmbatch.report import html, text
from mmbatch.report import markdown as tables


@options.verb("report")
def command(
    runs: tuple[Path, ...] = argument(nargs=-1, metavar="[RECORD]...", type=options.PATH),
    output: Path | None = file("-o, --html", "Write the page to FILE, by default beside the runs"),
    svg: Path | None = file(
        "--svg", "Write an overview of the newest kernels to FILE, and no page"
    ),
    markdown: Path | None = file(
        "--markdown", "Write the tables between the two marks of FILE, and no page"
    ),
    text_only: bool = flag("--text", "Print every method and write no page"),
    cover: bool = flag("--cover", "Print tables of 72 columns for a cover letter"),
    compare: bool = flag("--compare", "Print what changed from the first RECORD to the second"),
    fail_on: str | None = value(
        "--fail-on VERDICT",
        "End with 5 if --compare finds a slower row, with 1 if a row is gone",
        type=click.Choice([comparison.SLOWER]),
    ),
) -> int:
    """Show RECORDs side by side: files that bench --record wrote.

    Without a RECORD, the last one of each speed-up on this machine. The page is one file: it loads
    nothing, and can be mailed.
    """
    if compare or fail_on:
        if not compare or len(runs) != 2:
            hint = "write it as in --compare OLD NEW --fail-on slower"
            raise Misuse("--compare takes two records, and --fail-on belongs to it", hint)
        return _compare(*runs, fail_on)
    records = {path: record.read(path) for path in runs or record.newest(cache.runs()).values()}
    if not records:
        hint = "measure first with `mmbatch bench`, or name records"
        action = "find the last runs on this machine"
        raise MmbatchError(action, "there is none", hint, ExitCode.USAGE)
    named = record.named(list(records.values()))
    ages = {} if markdown or svg else {name: comparison.age(held) for name, held in named.items()}
    notes = {name: "" if held.is_today else held.sentence for name, held in ages.items()}
    if cover and (old := next(filter(None, notes.values()), None)):
        hint = "measure again with ./mmbatch bench --cover"
        raise MmbatchError("make a table for a mail", old, hint, ExitCode.NOT_APPLICABLE)
    if svg is None and markdown is None:
        every = text_only or log.is_verbose()
        if len(named) > 5:  # which takes seconds
            log.say(f"computing the intervals of {len(named)} records")
        shown = (text.report(named[n], every=every, cover=cover, age=notes[n]) for n in named)
        text.show("\n".join(shown))
    if svg is not None:
        options.write_page(svg, html.svg(named), "overview")
    if markdown is not None:
        options.write_page(markdown, tables.into(markdown, records), "file with the tables")
    if output is not None or not (svg or markdown or text_only or cover):
        name = datetime.now().astimezone().strftime("report-%Y-%m-%dT%H%M%S.html")
        options.write_page(output or cache.runs() / name, html.render(named, notes), "page")
    return ExitCode.GOOD


def _compare(older: Path, newer: Path, fail_on: str | None) -> int:
    """Print what changed between two runs, and return the exit code."""
    old, new = record.read(older), record.read(newer)
    found = comparison.changes(old, new)
    text.show(comparison.text(old, new, found))
    verdicts = {change.verdict for change in found}
    if fail_on and comparison.GONE in verdicts:
        return ExitCode.FAILED
    return ExitCode.SLOWER if fail_on in verdicts else ExitCode.GOOD
