# SPDX-License-Identifier: GPL-2.0-only
"""Records as ASCII of at most 72 columns: for a terminal, a cover letter and a report alike."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mmbatch.bench.record import Control, Limit, Record, Row, RowRatio
from mmbatch.bench.store import Stored
from mmbatch.report import compare
from mmbatch.report.compare import Entry, Regressions, Section
from mmbatch.report.words import (
    COLUMNS,
    caveats,
    closing,
    duration,
    each,
    head,
    noise,
    posted,
    sentence,
    short,
    who_benefits,
)

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 72
_WIDTHS = (16, 8, 7, 5, 12, 4, 14)
_LEFT = (0, 6)
_STYLES = {  # of words at the end of a table's line, and of its whole lines
    r"(?m) (faster|fewer)$": "green",
    r"(?m) (slower|more|NOT EQUAL|NOT CHECKED)$": "bold red",
    r"(?m) (TOO NOISY|inconclusive|too few pairs)$": "yellow",
    r"(?m)^(control \(= base\)|limit: |.* best / auto$).*$": "dim",
}
Cells = tuple[str, str, str, str, str, str, str]


def run(record: Record) -> str:
    """Return a run: the command that repeats it, machine, kernel, a table a case, the verdicts."""
    lines = [*command(record.command)]
    for words in head(record):
        lines += paragraph(words)
    for entry in compare.entries_of(record):
        lines += ["", *_title(entry), *_table(entry)]
    lines.append("")
    for words in closing(record):
        lines += paragraph(words)
    for words in filter(None, map(compare.by_cpus, compare.entries_of(record))):
        lines += paragraph(f"{words}.")
    return "\n".join(lines) + "\n"


def print_run(record: Record, console: Console) -> None:
    """Print the result of one run, its verdicts in colour on a terminal."""
    if not console.is_terminal:
        console.file.write(run(record))
        return
    from rich.text import Text

    text = Text(run(record))
    for pattern, style in _STYLES.items():
        text.highlight_regex(pattern, style)
    console.print(text, soft_wrap=True, end="")


def report(runs: Sequence[Stored], speedups_at: Path) -> str:
    """Return several runs side by side, with who benefits by the READMEs of the speed-ups.

    Returns:
        What each run was, its regressions, and a table for each case with the runs beneath each
        other.
    """
    groups = compare.sections(runs)
    lines = ["Runs", "", *paragraph(COLUMNS), ""]
    for stored in runs:
        lines += _run(stored)
    lines += ["Regressions", ""]
    found = compare.by_variant(compare.regressions(groups))
    lines += [line for group in found for line in _regressions(group)] or [
        "No row is shown slower."
    ]
    for section in groups:
        lines += ["", section.speedup, "-" * len(section.speedup)]
        for words in who_benefits(speedups_at / section.speedup):
            lines += ["", *paragraph(words, "")]
        lines += _cases(section)
    return "\n".join(lines) + "\n"


def ascii_only(text: str) -> str:
    """Printable ASCII on one line: anything else, control characters too, is a question mark."""
    return "".join(char if " " <= char <= "~" else "?" for char in " ".join(text.split()))


def command(text: str) -> list[str]:
    """A command in lines of at most 72 columns, each a word or more, ready to be pasted.

    A single word that is longer stands on a line of its own.
    """
    lines = ["$"]
    try:
        words = [shlex.quote(word) for word in shlex.split(text)]
    except ValueError:
        words = text.split()
    for word in map(ascii_only, words):
        if len(lines[-1]) + 1 + len(word) + 2 > WIDTH and lines[-1] != "$":
            lines[-1] += " \\"
            lines.append("     " + word)
        else:
            lines[-1] += " " + word
    return lines


def paragraph(text: str, indent: str = "  ") -> list[str]:
    """Text in lines of at most 72 columns, those after the first indented."""
    return textwrap.wrap(ascii_only(text), WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def _run(run: Stored) -> Iterator[str]:
    record = run.record
    yield from paragraph(f"{', '.join(run.speedups)}: {run.name}")
    for words in list(head(record))[:2]:
        yield from paragraph(words)
    yield from paragraph(f"engine: {record.engine}, started {record.started}")
    yield f"config  {record.kernel.config_sha256}"
    yield f"samples {record.samples_sha256}"
    yield from paragraph(f"  {run.raw}")
    for words in posted(record):
        yield from paragraph(words)
    yield from command(record.command)
    for words in caveats(record):
        yield from paragraph(words)
    yield ""


def _regressions(group: Regressions) -> Iterator[str]:
    first = group.each[0]
    if not group.few:
        slower = f"{first.row.speedup} {first.row.variant} {group.words}"
        yield from paragraph(f"- {slower} ({first.run.name}): {group.cases}.")
        return
    for regression in group.each:
        row = regression.row
        slower = f"{row.speedup} {row.case}: {row.variant} {regression.words}"
        yield from paragraph(f"- {slower} ({regression.run.name}).")


def _cases(section: Section) -> Iterator[str]:
    for case in section.cases:
        yield ""
        yield from _title(case.entries[0])
        for entry in case.entries:
            if len(section.runs) > 1:
                yield from paragraph(f"{entry.run.name}:")
            yield from _table(entry)
            yield from paragraph(f"{sentence(entry.chosen)}.")
            if words := compare.by_cpus(entry):
                yield from paragraph(f"{words}.")


def _title(entry: Entry) -> list[str]:
    base = entry.base
    return paragraph(
        f"{base.speedup} {base.case} ({base.regime}): {base.items:,} {base.item}s, "
        f"{entry.pairs} pairs" + ("" if base.unit == "ns" else f"; medians in {base.unit}")
    )


def _table(entry: Entry) -> Iterator[str]:
    per_item = "ns each" if entry.base.unit == "ns" else "each"
    yield _line(("variant", "median", per_item, "ratio", "95 % interv.", "xlim", "verdict"))
    for row in entry.rows:
        yield _line(_row(row))
        if row is entry.base and entry.control is not None:
            yield _line(_control(entry.control))
    for row in entry.rows:
        if row.of_best:
            yield _line(_quotient(f"{row.of_best.vs} / auto", row.of_best, "best / auto"))
    if entry.limit is not None:
        yield _line(_limit(entry.limit))
    parts = [(row.variant, row.of_one_cpu) for row in entry.rows]
    parts += [("limit", limit.of_one_cpu) for limit in entry.limits]
    for name, ratio in parts:
        if ratio:
            yield _line(_quotient(f"1 CPU / {name}", ratio, "1 CPU / all"))


def _row(row: Row) -> Cells:
    return (
        row.variant,
        _median(row.median, row.unit),
        each(row.per_item),
        _number(row.ratio.median, 5) if row.ratio else "-",
        _interval(row.ratio.ci95) if row.ratio else "-",
        _number(row.of_limit.median, 4) if row.of_limit else "",
        short(row.verdict),
    )


def _quotient(name: str, ratio: RowRatio, of: str) -> Cells:
    return (name, "", "", _number(ratio.median, 5), _interval(ratio.ci95), "", of)


def _control(control: Control) -> Cells:
    return (
        "control (= base)",
        _median(control.median, control.unit),
        each(control.per_item),
        "-" if control.ratio is None else _number(control.ratio, 5),
        _interval(control.ci95),
        "",
        noise(control),
    )


def _limit(limit: Limit) -> Cells:
    median = _median(limit.median, limit.unit)
    return (f"limit: {limit.name}", median, each(limit.per_item), "", "", "1.00", "")


def _median(median: float | None, unit: str) -> str:
    if median is None or unit == "ns":
        return duration(median, unit)
    return f"{median:.0f}" if median < 1e8 else f"{median:.2e}"


def _interval(ci95: tuple[float, float] | None) -> str:
    return f"{_number(ci95[0], 5)}..{_number(ci95[1], 5)}" if ci95 else "-"


def _number(value: float, width: int) -> str:
    """A number with as many digits after the point, three at most, as a width allows."""
    texts = (f"{value:.{digits}f}" for digits in (3, 2, 1, 0))
    return next((text for text in texts if len(text) <= width), f"{value:.0e}")


def _line(cells: Iterable[str]) -> str:
    parts = []
    for index, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True)):
        text = ascii_only(cell)
        if len(text) > width:
            text = text[: width - 1] + "~"
        parts.append(text.ljust(width) if index in _LEFT else text.rjust(width))
    return " ".join(parts).rstrip()
