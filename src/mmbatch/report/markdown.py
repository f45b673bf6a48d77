# SPDX-License-Identifier: GPL-2.0-only
"""Records as Markdown, as in results/README.md: a row for each case, a column for each CPU."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from mmbatch.bench.record import Record
from mmbatch.bench.statistics import Verdict
from mmbatch.bench.table import Row, Table, tables
from mmbatch.core.cache import STDOUT
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.load import release_numbers
from mmbatch.hosted.events import BASE
from mmbatch.report import excerpt
from mmbatch.report.text import ascii_only, duration

BEGIN = "<!-- results -->"
END = "<!-- /results -->"

Records = Mapping[Path, Record]


def into(path: Path, records: Records) -> str:
    """Return what a file holds with the tables of some records between its two marks.

    STDOUT holds nothing, so only the tables are returned for it.

    Raises:
        MmbatchError: it has no place for them.
    """
    if path == STDOUT:
        return page(records)
    text = path.read_text(encoding="utf-8")
    if excerpt.BEGIN in text:
        return excerpt.into(text, list(records.values()))
    head, begin, after = text.partition(BEGIN)
    _, end, tail = after.partition(END)
    if not begin or not end:
        problem = f"it has no {BEGIN} followed by {END}"
        hint = "write both where the tables belong"
        raise MmbatchError(f"put the tables into {path}", problem, hint, ExitCode.USAGE)
    return f"{head}{BEGIN}\n{page(records, path.parent)}{END}{tail}"


def page(records: Records, place: Path = Path()) -> str:
    """Return the tables of some records; links to them are relative to `place`."""
    speedups = dict.fromkeys((record.speedup, record.timed) for record in records.values())
    lines: list[str] = []
    for speedup, timed in sorted(speedups, key=lambda key: (not key[1], key[0])):
        found = {
            path: record
            for path, record in records.items()
            if (record.speedup, record.timed) == (speedup, timed)
        }
        lines += ["", f"## {speedup}" + ("" if timed else ", instructions counted"), ""]
        lines += _speedup(dict(sorted(found.items(), key=_newest)), place)
    return "\n".join(lines) + "\n"


def row(*cells: str) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(ascii_only(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def _newest(item: tuple[Path, Record]) -> tuple[list[int], str]:
    """Sort newer kernels first, and CPUs by name."""
    release = release_numbers(item[1].kernel.release)
    return [-number for number in release[:2]], item[1].where


def _speedup(records: Records, place: Path) -> Iterator[str]:
    newest = max(release_numbers(record.kernel.release)[:2] for record in records.values())
    heads, columns = [], []
    for record in records.values():
        old = release_numbers(record.kernel.release)[:2] != newest
        heads.append(record.where + (f", {record.kernel.release}" if old else ""))
        columns.append(tables(record))
    cases = dict.fromkeys(name for column in columns for name in column)
    yield row("case", f"kernel, {heads[0]}", *heads)
    yield row("---", "---:", *["---:"] * len(heads))
    for case in cases:
        cells = [column.get(case) for column in columns]
        base = duration(cells[0].base.median, cells[0].case.unit) if cells[0] else ""
        yield row(case, base, *map(_cell, cells))
    yield ""
    links = (
        f"[{head}]({os.path.relpath(path, place)}) {record.started[:10]}"
        for head, (path, record) in zip(heads, records.items(), strict=True)
    )
    yield f"Records: {'; '.join(links)}."


def _cell(table: Table | None) -> str:
    """The ratio of what a user gets: "~" if it is no difference, bold if it is slower."""
    if table is None or table.chosen.name == BASE:
        return ""
    chosen: Row = table.chosen
    if chosen.ratio is None:
        return f"**{chosen.verdict}**"
    number = f"{chosen.ratio.median:.2f}"
    if chosen.slower:
        return f"**{number}**"
    if chosen.verdict == Verdict.NO_DIFFERENCE:
        return "~"
    return number if chosen.faster else f"{number}?"
