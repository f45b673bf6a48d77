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

    Raises:
        MmbatchError: it has no place for them.
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
    lines: list[str] = []
    for speedup, timed in sorted({_kind(each) for each in records.values()}, key=_timed_first):
        lines += ["", f"## {speedup}" + ("" if timed else ", instructions counted"), ""]
        found = {path: each for path, each in records.items() if _kind(each) == (speedup, timed)}
        lines += _speedup(dict(sorted(found.items(), key=_newest)), place)
    return "\n".join(lines) + "\n"


def _kind(record: Record) -> tuple[str, bool]:
    return record.speedup, record.timed


def _timed_first(kind: tuple[str, bool]) -> tuple[bool, str]:
    return not kind[1], kind[0]


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
    release = release_numbers(item[1].kernel.release)
    return [-number for number in release[:2]], item[1].where


def _speedup(records: Records, place: Path) -> Iterator[str]:
    newest = max(release_numbers(record.kernel.release)[:2] for record in records.values())
    heads, columns = [], []
    for record in records.values():
        old = release_numbers(record.kernel.release)[:2] != newest
        release = f", {record.kernel.release}" if old else ""
        heads.append(f"{record.where}{release}{'' if compare.age(record).is_today else OLD}")
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
    """Return a table with a row for each line, and a column for each CPU that has all of them."""
    asked = [found.groups() for line in lines.splitlines() if (found := _LINE.fullmatch(line))]
    cells = [_small_cells(records, *names) for _, *names, _ in asked]
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


_HEADING = re.compile(r"^##+ .*who benefits.*$", re.IGNORECASE | re.MULTILINE)
_COMPARED = re.compile(r"^## Compared with the .*$", re.MULTILINE)
_SECTION_END = re.compile(r"^(#|\||- |```|    |<!--)", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\[(])")
_OF_THIS_TOOL = re.compile(r"mmbatch|\]\((?!https?:|#)")


def who_benefits(directory: Path, *, for_mail: bool = False) -> list[str]:
    """Return what a speed-up's README says about who benefits, paragraphs without Markdown.

    Args:
        directory: of the speed-up.
        for_mail: leave out sentences that only make sense beside this tool.
    """
    try:
        text = (directory / "README.md").read_text(encoding="utf-8")
    except OSError:
        return []
    heading = _HEADING.search(text)
    if heading is None:
        return []
    section = text[heading.end() :].lstrip("\n")
    end = _SECTION_END.search(section)
    paragraphs = section[: end.start() if end else None].split("\n\n")
    if for_mail:
        paragraphs = list(map(_for_mail, paragraphs))
    return [plain for paragraph in paragraphs if (plain := _plain(paragraph))]


def compared(directory: Path) -> Iterator[str]:
    """Yield how a speed-up differs from a posted series, as its README says, without Markdown.

    Yields:
        The paragraphs before the table of that section, without sentences that only make sense
        beside this tool, and an item for each of its rows.
    """
    try:
        text = (directory / "README.md").read_text(encoding="utf-8")
    except OSError:
        return
    heading = _COMPARED.search(text)
    if heading is None:
        return
    section = text[heading.end() :].partition("\n## ")[0]
    before, _, table = section.partition("\n|")
    paragraphs = map(_for_mail, before.split("\n\n"))
    yield from (plain for paragraph in paragraphs if (plain := _plain(paragraph)))
    rows = [line.strip().strip("|").split("|") for line in table.split("\n")[2:] if "|" in line]
    for cells in rows:
        posted_way, here, *why = (_plain(cell) for cell in cells)
        reason = f" Why: {why[0]}." if why and why[0] else ""
        yield f"- Posted: {posted_way}. Here: {here}.{reason}"


def _for_mail(paragraph: str) -> str:
    """Return a paragraph without the sentences that name mmbatch or link to a file of ours.

    "It helps. See [our results](../results/README.md). So do not wait." becomes "It helps. So do
    not wait."
    """
    sentences = _BETWEEN_SENTENCES.split(paragraph.strip())
    return " ".join(words for words in sentences if not _OF_THIS_TOOL.search(words))


def _plain(paragraph: str) -> str:
    words = " ".join(_LINK.sub(r"\1", paragraph).split())
    return words.replace("**", "").replace("`", "")
