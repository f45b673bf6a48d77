# SPDX-License-Identifier: GPL-2.0-only
"""Markdown: records as tables in pages, and what the README of a speed-up says, for mails."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mmbatch.bench.record import Record
from mmbatch.bench.statistics import Verdict
from mmbatch.bench.table import Row, Table, tables
from mmbatch.core import paths
from mmbatch.core.cache import STDOUT
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.load import release_numbers
from mmbatch.hosted.events import BASE
from mmbatch.report import compare
from mmbatch.report.text import ascii_only, duration
from mmbatch.splice.manifest import load_with_needs

BEGIN = "<!-- results -->"
AGES = "<!-- ages -->"
END = "<!-- /results -->"
OLD = " (old)"
"""Follows figures of older code, and of records that do not name theirs."""

Records = Mapping[Path, Record]


def into(path: Path, records: Records) -> str:
    """Return what a file holds with the tables of some records between its two marks.

    STDOUT holds nothing, so only the tables are returned for it.
    """
    if path == STDOUT:
        return page(records)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        problem, hint = error.strerror or str(error), "name a page that has marks for tables"
        raise MmbatchError(f"read {path}", problem, hint, ExitCode.USAGE) from None
    if MARK in text:
        return fill(text, list(records.values()))
    begin, table = (AGES, ages) if AGES in text else (BEGIN, page)
    head, begun, after = text.partition(begin)
    _, end, tail = after.partition(END)
    if not begun or not end:
        problem = f"it has no {BEGIN} followed by {END}"
        hint = "write both where the tables belong"
        raise MmbatchError(f"put the tables into {path}", problem, hint, ExitCode.USAGE)
    return f"{head}{begin}\n{table(records, path.parent)}{END}{tail}"


def page(records: Records, place: Path = Path()) -> str:
    """Return the tables of some records; links to them are relative to `place`."""
    kinds: dict[tuple[bool, str], dict[Path, Record]] = {}
    for path, record in sorted(records.items(), key=_newest):
        kinds.setdefault((not record.timed, record.speedup), {})[path] = record
    lines: list[str] = []
    for is_count, speedup in sorted(kinds):
        lines += ["", f"## {speedup}{', instructions counted' if is_count else ''}", ""]
        lines += _speedup(kinds[is_count, speedup], place)
    return "\n".join(lines) + "\n"


def ages(records: Records, place: Path = Path()) -> str:
    """Return a table that says which records are of today's code, and how to list the commits."""
    cells: dict[str, dict[str, str]] = {}
    since: dict[str, None] = {}
    for path, record in sorted(records.items(), key=lambda item: (item[1].speedup, *_newest(item))):
        relative = os.path.relpath(path, place)
        what = f"{record.speedup}, {'.'.join(record.kernel.release.split('.')[:2])}"
        what += "".join(f", {part}" for part in Path(relative).parts[:-1])
        found = compare.age(record)
        cell = f"[{found.words}]({relative}) {record.started[:10]}"
        row_of = cells.setdefault(what, {})
        row_of[record.where] = "; ".join(filter(None, (row_of.get(record.where), cell)))
        if found.commits:
            held = load_with_needs(paths.SPEEDUPS, record.speedup)
            places = " ".join(f"speedups/{each.speedup}" for each in held)
            since[f"    git log --oneline {record.code.commit[:8]}.. -- {places}"] = None
    cpus = sorted({cpu for held in cells.values() for cpu in held})
    lines = ["", row("records of", *cpus), row("---", *["---"] * len(cpus))]
    lines += [row(what, *(held.get(cpu, "") for cpu in cpus)) for what, held in cells.items()]
    if since:
        lines += ["", "The commits since:", "", *since]
    return "\n".join(lines) + "\n"


def row(*cells: str) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(ascii_only(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def _newest(item: tuple[Path, Record]) -> tuple[list[int], str]:
    """Sort newer kernels first, and CPUs by name."""
    return [-number for number in series(item[1])], item[1].where


def series(record: Record) -> list[int]:
    """Return the numbers of a record's kernel series, which order it: 6.12 before 7.2."""
    return release_numbers(record.kernel.release)[:2]


def _speedup(records: Records, place: Path) -> Iterator[str]:
    newest = max(map(series, records.values()))
    heads = []
    for record in records.values():
        release = "" if series(record) == newest else f", {record.kernel.release}"
        heads.append(f"{record.where}{release}{'' if compare.age(record).is_today else OLD}")
    columns = list(map(tables, records.values()))
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


MARK = "<!-- results\n"
"""Begins a small table, between two marks of which one lists its rows:

    <!-- results
    SPEEDUP CASE METHOD: what is timed
    -->
    <!-- /results -->

A line has the speed-up, or a link to it, the case, the method if it is not what users get, and
what the row is called.
"""

_BLOCK = re.compile(MARK + r"(.+?)-->\n.*?(?=<!-- /results -->)", re.DOTALL)
_LINE = re.compile(r"(\[?(\w+)\S*) (\S+?)(?: (\w+))?: (.+)")
_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (0.0, "ns"))


def fill(text: str, records: Sequence[Record]) -> str:
    """Return a page with the tables that its marks ask for."""
    timed = [record for record in records if record.timed]
    return _BLOCK.sub(lambda block: f"{MARK}{block[1]}-->\n{_small_table(block[1], timed)}", text)


def _small_table(lines: str, records: Sequence[Record]) -> str:
    """Return a table with a row for each line, and a column for each CPU that has a third."""
    asked = [found.groups() for line in lines.splitlines() if (found := _LINE.fullmatch(line))]
    cells = [_small_cells(records, *names) for _, *names, _ in asked]
    known = sorted(set().union(*cells))
    cpus = [cpu for cpu in known if 3 * sum(cpu in row for row in cells) >= len(cells)]
    heads = ["series", "what is timed", *cpus]
    rows = [
        [link, words, *(row.get(cpu, "-") for cpu in cpus)]
        for (link, *_, words), row in zip(asked, cells, strict=True)
    ]
    if not any(link.startswith("[") for link, *_ in rows):
        heads, rows = heads[1:], [row[1:] for row in rows]
    ruler = ["---:" if head in cpus else "---" for head in heads]
    return "".join(f"| {' | '.join(row)} |\n" for row in (heads, ruler, *rows))


def _small_cells(records: Sequence[Record], speedup: str, case: str, method: str) -> dict[str, str]:
    """Return what each CPU shows of a case on the newest kernel."""
    cells: dict[str, str] = {}
    for record in sorted(records, key=lambda record: release_numbers(record.kernel.release)):
        table = tables(record).get(case) if record.speedup == speedup else None
        for row in table.rows if table else ():
            if table and row.name == (method or table.chosen.name):
                mark = "" if compare.age(record).is_today else OLD
                cells[record.where] = _small_cell(table, row) + mark
    return cells


def _small_cell(table: Table, row: Row) -> str:
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


_SECTION = re.compile(r"^##+ (.*)\n+", re.MULTILINE)
_NO_PARAGRAPH = re.compile(r"^(#|\||- |```|    |<!--)", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\[(])")
_OF_THIS_TOOL = re.compile(r"mmbatch|\]\((?!https?:|#)")


def who_benefits(directory: Path) -> list[str]:
    """Return what a speed-up's README says about who benefits: paragraphs for a mail."""
    return list(_paragraphs(_section(directory, "who benefits")))


def compared(directory: Path) -> Iterator[str]:
    """Yield how a speed-up differs from a posted series, as its README says, for a mail.

    These are the paragraphs before the table of that section, and an item for each of its rows.
    """
    section = _section(directory, "compared with the ")
    yield from _paragraphs(section)
    rows = [line.strip("| ").split("|") for line in section.split("\n") if line.startswith("|")]
    for cells in rows[2:]:
        posted_way, here, *why = map(_plain, cells)
        reason = f" Why: {why[0]}." if why and why[0] else ""
        yield f"- Posted: {posted_way}. Here: {here}.{reason}"


def _section(directory: Path, words: str) -> str:
    """Return the section of a speed-up's README with some words in its heading, or nothing."""
    path = directory / "README.md"
    _, *parts = _SECTION.split(path.read_text(encoding="utf-8") if path.exists() else "")
    sections = zip(parts[::2], parts[1::2], strict=True)
    return next((section for heading, section in sections if words in heading.lower()), "")


def _paragraphs(section: str) -> Iterator[str]:
    """Yield the first paragraphs of a section, without Markdown and what only makes sense here.

    Left out are the sentences that name mmbatch or link to a file of ours: "It helps. See [our
    results](../results/README.md). So do not wait." becomes "It helps. So do not wait."
    """
    for paragraph in _NO_PARAGRAPH.split(section, 1)[0].split("\n\n"):
        sentences = _BETWEEN_SENTENCES.split(paragraph.strip())
        kept = " ".join(words for words in sentences if not _OF_THIS_TOOL.search(words))
        if plain := _plain(kept):
            yield plain


def _plain(paragraph: str) -> str:
    words = " ".join(_LINK.sub(r"\1", paragraph).split())
    return words.replace("**", "").replace("`", "")
