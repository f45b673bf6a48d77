# SPDX-License-Identifier: GPL-2.0-only
"""Tables of at most 72 columns of ASCII, for cover letters, mails and terminals side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from mmbatch.bench.record import Control, Limit, Record, Row
from mmbatch.bench.statistics import Verdict
from mmbatch.bench.store import Raw, Stored
from mmbatch.report import ascii, compare
from mmbatch.report.ascii import ascii_only
from mmbatch.report.benefits import who_benefits
from mmbatch.report.compare import CaseGroup, Entry, Losses
from mmbatch.report.lines import COLUMNS, caveats, closing, duration, head, sentence

WIDTH = 72
_WIDTHS = (16, 8, 5, 12, 4, 22)
_LEFT = (0, 5)
_HEADINGS = ("variant", "median", "ratio", "95 % interv.", "xlim", "verdict")
_SHORTER = {
    Verdict.TOO_NOISY: "TOO NOISY",
    Verdict.NOT_EQUAL: "NOT EQUAL",
    Verdict.NOT_CHECKED: "NOT CHECKED",
}
_NOWHERE = Path()
Cells = tuple[str, str, str, str, str, str]


def cover(record: Record) -> str:
    """The result of one run, fit for a cover letter.

    Args:
        record: what was measured.

    Returns:
        The command that repeats it, machine and kernel, a table for each case, the verdicts.
    """
    lines = [*command(record.command)]
    for one in head(record):
        lines += paragraph(one)
    for section in compare.sections([Stored("", _NOWHERE, record, Raw.ABSENT)]):
        for case in section.cases:
            lines += ["", *_case(section.speedup, case)]
    lines.append("")
    for one in closing(record):
        lines += paragraph(one)
    return "\n".join(lines) + "\n"


def report(runs: Sequence[Stored], rooms: Path) -> str:
    """Several runs side by side as text.

    Args:
        runs: what was measured.
        rooms: where the speed-ups are, whose READMEs say who benefits.

    Returns:
        What each run was, who loses, and a table for each case with the runs beneath each other.
    """
    groups = compare.sections(runs)
    lines = ["Runs", "", *paragraph(COLUMNS), ""]
    for run in runs:
        lines += _run(run)
    lines += ["Rows that lose", ""]
    losses = compare.by_variant(compare.losses(groups))
    lines += [line for one in losses for line in _losses(one)] or ["None is shown to."]
    for section in groups:
        lines += ["", section.speedup, "-" * len(section.speedup)]
        for words in who_benefits(rooms / section.speedup):
            lines += ["", *paragraph(words, "")]
        for case in section.cases:
            lines += ["", *_case(section.speedup, case)]
            for entry in case.entries:
                lines += paragraph(f"{entry.run.label}: {sentence(entry.chosen)}.")
    lines.append("")
    for run in runs:
        for one in caveats(run.record):
            lines += paragraph(f"{run.label}: {one}")
    return "\n".join(lines) + "\n"


def command(text: str) -> list[str]:
    """A command in lines of at most 72 columns, ready to be pasted; see `ascii.command`."""
    return ascii.command(text, WIDTH)


def paragraph(text: str, indent: str = "  ") -> list[str]:
    """Text in lines of at most 72 columns, those after the first indented."""
    return textwrap.wrap(ascii_only(text), WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def _run(run: Stored) -> Iterator[str]:
    record = run.record
    yield from paragraph(f"{run.label}  {', '.join(run.speedups)}, Linux {record.kernel.release}")
    for one in list(head(record))[:2]:
        yield from paragraph(one)
    yield from paragraph(f"engine: {record.engine}, started {record.started}")
    yield f"config  {record.kernel.config_sha256}"
    yield f"samples {record.samples_sha256}"
    yield from paragraph(f"  {run.raw}")
    yield from command(record.command)
    yield ""


def _losses(losses: Losses) -> Iterator[str]:
    first = losses.each[0]
    if not losses.few:
        what = f"{first.row.speedup} {first.row.variant} {losses.words}"
        yield from paragraph(f"{first.run.label}  {what}: {losses.cases}.")
        return
    for loss in losses.each:
        what = f"{loss.row.speedup} {loss.row.case}: {loss.row.variant} {loss.words}"
        yield from paragraph(f"{loss.run.label}  {what}.")


def _case(speedup: str, case: CaseGroup) -> Iterator[str]:
    base = case.entries[0].base
    yield from paragraph(
        f"{speedup} {case.name} ({case.regime}): {base.items:,} {base.item}s"
        + ("" if base.unit == "ns" else f"; medians in {base.unit}")
    )
    labelled = any(entry.run.label for entry in case.entries)
    yield _line(_HEADINGS, "  " if labelled else "")
    for entry in case.entries:
        for cells in _cells(entry):
            yield _line(cells, entry.run.label)


def _cells(entry: Entry) -> Iterator[Cells]:
    for row in entry.rows:
        yield _row(row)
        if row is entry.base and entry.control is not None:
            yield _control(entry.control)
    for limit in entry.limits:
        yield _limit(limit)


def _row(row: Row) -> Cells:
    return (
        row.variant,
        _median(row.median, row.unit),
        _number(row.ratio.median, 5) if row.ratio else "-",
        _interval(row.ratio.ci95) if row.ratio else "-",
        _number(row.of_limit.median, 4) if row.of_limit else "",
        _SHORTER.get(row.verdict, str(row.verdict)),
    )


def _control(control: Control) -> Cells:
    word = "NOT EQUAL" if control.image_equal is False else "NOT CHECKED"
    if control.image_equal:
        word = "too few pairs" if control.band is None else f"noise +-{control.band:.1%}"
    return (
        "control (= base)",
        _median(control.median, control.unit),
        "-" if control.ratio is None else _number(control.ratio, 5),
        _interval(control.ci95),
        "",
        word.replace("%", " %"),
    )


def _limit(limit: Limit) -> Cells:
    return (f"limit: {limit.name}", _median(limit.median, limit.unit), "", "", "1.00", "")


def _median(median: float | None, unit: str) -> str:
    if median is None or unit == "ns":
        return duration(median, unit)
    return f"{median:.4g}"


def _interval(ci95: tuple[float, float] | None) -> str:
    return f"{_number(ci95[0], 5)}..{_number(ci95[1], 5)}" if ci95 else "-"


def _number(value: float, width: int) -> str:
    """A number with as many digits behind the point, three at most, as a width allows."""
    texts = (f"{value:.{digits}f}" for digits in (3, 2, 1, 0))
    return next((text for text in texts if len(text) <= width), f"{value:.0e}")


def _line(cells: Iterable[str], label: str) -> str:
    parts = [label.ljust(2)] if label else []
    widths = list(_WIDTHS)
    if label:
        widths[-1] -= 3
    for index, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        text = ascii_only(cell)
        if len(text) > width:
            text = text[: width - 1] + "~"
        parts.append(text.ljust(width) if index in _LEFT else text.rjust(width))
    return " ".join(parts).rstrip()
