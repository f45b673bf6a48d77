# SPDX-License-Identifier: GPL-2.0-only
"""Small tables of a few cases in a Markdown page, each between two marks of which one lists them.

    <!-- results
    SPEEDUP CASE METHOD: what is timed
    -->
    <!-- /results -->

A line has the speed-up, or a link to it, the case, the method if it is not what users get, and what
the row is called.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mmbatch.bench.record import Record
from mmbatch.bench.statistics import Verdict
from mmbatch.bench.table import Row, Table, tables
from mmbatch.core.load import release_numbers

BEGIN = "<!-- results\n"
_BLOCK = re.compile(BEGIN + r"(.+?)-->\n.*?(?=<!-- /results -->)", re.DOTALL)
_LINE = re.compile(r"(\[?(\w+)\S*) (\S+?)(?: (\w+))?: (.+)")
_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (0.0, "ns"))


def into(text: str, records: Sequence[Record]) -> str:
    """Return a page with the tables that its marks ask for."""
    timed = [record for record in records if record.timed]
    return _BLOCK.sub(lambda block: f"{BEGIN}{block[1]}-->\n{_table(block[1], timed)}", text)


def _table(lines: str, records: Sequence[Record]) -> str:
    """Return a table with a row for each line, and a column for each CPU that has all of them."""
    asked = [found.groups() for line in lines.splitlines() if (found := _LINE.fullmatch(line))]
    cells = [_cells(records, *names) for _, *names, _ in asked]
    cpus = [cpu for cpu in sorted(set().union(*cells)) if all(cpu in row for row in cells)]
    heads = ["series", "what is timed", *cpus]
    rows = [
        [link, words, *(row[cpu] for cpu in cpus)]
        for (link, *_, words), row in zip(asked, cells, strict=True)
    ]
    if not any(link.startswith("[") for link, *_ in rows):
        heads, rows = heads[1:], [row[1:] for row in rows]
    ruler = ["---:" if head in cpus else "---" for head in heads]
    return "".join(f"| {' | '.join(row)} |\n" for row in (heads, ruler, *rows))


def _cells(records: Sequence[Record], speedup: str, case: str, method: str) -> dict[str, str]:
    """Return what each CPU shows of a case on the newest kernel."""
    cells: dict[str, str] = {}
    for record in sorted(records, key=lambda record: release_numbers(record.kernel.release)):
        table = tables(record).get(case) if record.speedup == speedup else None
        for row in table.rows if table else ():
            if table and row.name == (method or table.chosen.name):
                cells[record.where] = _cell(table, row)
    return cells


def _cell(table: Table, row: Row) -> str:
    if row.ratio is None or row.median is None or table.base.median is None:
        return str(row.verdict)
    if row.verdict == Verdict.NO_DIFFERENCE:
        return "no difference"
    if not row.faster and not row.slower:
        return "no gain shown"
    (before, unit), (after, other) = _time(table.base.median), _time(row.median)
    digits = 0 if row.ratio.median >= 100 else 1 if row.faster else 2
    times = f"{before}{'' if unit == other else f' {unit}'} → {after} {other}"
    text = f"{times}, {row.ratio.median:.{digits}f} \N{MULTIPLICATION SIGN}"
    return f"**{text}, slower**" if row.slower else text


def _time(ns: float) -> tuple[str, str]:
    scale, unit = next((size, name) for size, name in _UNITS if ns >= size)
    number = ns / (scale or 1)
    return f"{number:.{0 if number >= 9.95 else 1}f}", unit
