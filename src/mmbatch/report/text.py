# SPDX-License-Identifier: GPL-2.0-only
"""Records as ASCII: a line a case for a terminal or a mail, and every method on request."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mmbatch.bench import machine, table
from mmbatch.bench.record import Record
from mmbatch.bench.statistics import WIDE, Ratio, Verdict, claimed_from
from mmbatch.bench.table import Row, Table, tables
from mmbatch.core import log
from mmbatch.hosted.events import AUTO, BASE

WIDTH = 80
COVER = 72
"""Columns of a mail."""

_FEW = 4  # so many cases are named, unless every method is shown

_SHORT = {
    Verdict.FEWER: "fewer",
    Verdict.MORE: "more",
    Verdict.NO_DIFFERENCE: "no difference",
    Verdict.TOO_NOISY: "too noisy",
    Verdict.NOT_EQUAL: "NOT EQUAL",
    Verdict.NOT_CHECKED: "NOT CHECKED",
}
_STYLES = {
    r"(?m) (faster|fewer)( \[1\])?$": "green",
    r"(?m) (slower|more|NOT EQUAL|NOT CHECKED)( \[1\])?$": "bold red",
    r"(?m) (too noisy|inconclusive|too few pairs)( \[1\])?$": "yellow",
}
_MARKS = {Verdict.FASTER: "", Verdict.FEWER: "", Verdict.NO_DIFFERENCE: "~"}


def duration(median: float | None, unit: str = "ns") -> str:
    """Return a median with about four digits, "-" for None; a count keeps its unit for itself."""
    if median is None:
        return "-"
    if unit != "ns":
        return f"{median:.0f}" if median < 1e7 else f"{median:.2e}"
    units = ((1e3, "us"), (1e6, "ms"), (1e9, "s"))
    scale, name = next((each for each in units if median < 999.95 * each[0]), units[-1])
    return f"{median / scale:.{1 if median / scale >= 99.995 else 2}f} {name}"


def between(ratio: Ratio | None, digits: int = 2) -> str:
    """Return the interval of a ratio, "-" where there is none."""
    if ratio is None or ratio.interval is None:
        return "-"
    return f"{ratio.lo:.{digits}f} to {ratio.hi:.{digits}f}"


def result(row: Row) -> str:
    """Return what a row shows, in at most 13 characters."""
    return _SHORT.get(row.verdict, str(row.verdict))


def noise(found: Table) -> str:
    """Return how far the control differs from base, or why that is not known."""
    if found.control is None or found.band is None:
        return result(found.control) if found.control and not found.control.equal else "no control"
    return f"noise {100 * found.band:.1f} %"


def ascii_only(text: str) -> str:
    """Printable ASCII on one line: anything else, control characters too, is a question mark."""
    return "".join(char if " " <= char <= "~" else "?" for char in " ".join(text.split()))


def command(text: str, width: int = COVER) -> list[str]:
    """A command in lines of limited width, each a word or more, ready to be pasted."""
    lines = ["$"]
    for word in map(ascii_only, map(shlex.quote, shlex.split(text))):
        if len(lines[-1]) + len(word) + 3 > width and lines[-1] != "$":
            lines[-1] += " \\"
            lines.append("     " + word)
        else:
            lines[-1] += " " + word
    return lines


def paragraph(text: str, indent: str = "  ", width: int = COVER) -> list[str]:
    """Text in lines of limited width, those after the first indented."""
    return textwrap.wrap(ascii_only(text), width, subsequent_indent=indent, break_on_hyphens=False)


def columns(rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> list[str]:
    """Lay cells out in columns; those with a number in `left` begin at the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    space = "  " if sum(widths) + 2 * len(widths) <= COVER else " "
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if at in left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(map(ascii_only, row), widths, strict=True))
        ]
        lines.append(space.join(cells).rstrip())
    return lines


def report(record: Record, *, every: bool = False, cover: bool = False, age: str = "") -> str:
    """Return a record as text: what was measured, a line a case, and what to know of it.

    With `every`, a table of every method follows for each case. For a `cover` letter, lines have
    72 columns. The `age` is what to know of its code, if that is not today's.
    """
    width = COVER if cover else WIDTH
    found = tables(record)
    whole = all(row.equal for each in found.values() for row in each.rows)
    lines = paragraph(_title(record, found), width=width)
    about = machine.line(record.machine) if record.timed else record.where
    about += "; memory identical" if whole else ""
    note = f"Note: {age}." if age else ""
    lines += [*paragraph(about, width=width), *paragraph(note, width=width), ""]
    lines += _grid(found) if record.posted else _cases(found, cover=cover)
    for words in ("", *_closing(record, found, 1000 if every else _FEW)):
        lines += paragraph(words, width=width) or [""]
    if every:
        for name, each in found.items():
            lines += ["", *paragraph(_about(name, each), width=width), *_methods(each)]
    lines += ["", *_legend(record, cover=cover), *command(record.command, width)]
    return "\n".join(lines) + "\n"


def show(content: str) -> None:
    """Print a report, on a terminal with its results in colour."""
    out = log.out()
    if not out.is_terminal:
        out.file.write(content)
        return
    from rich.text import Text

    styled = Text(content)
    for pattern, style in _STYLES.items():
        styled.highlight_regex(pattern, style)
    out.print(styled, soft_wrap=True, end="")


def posted(record: Record) -> Iterator[str]:
    """Yield a line for each posted series: its rows, where it is from, and its SHA-256."""
    for code in record.posted:
        patches = f", {len(code.patches)} patches" if len(code.patches) > 1 else ""
        yield f"{code.label}: {code.source}{patches}, sha256 {code.sha256[:12]}"


def _title(record: Record, found: dict[str, Table]) -> str:
    names = dict.fromkeys(each.chosen.name for each in found.values())
    ours = [name for name in names if name not in {*(c.label for c in record.posted), BASE, AUTO}]
    what = f" (method {' or '.join(ours)})" if ours else ""
    counted = "" if record.timed else ", instructions and not time"
    against = f"the patched code{what} against the kernel's own{counted}"
    return f"{record.speedup} on Linux {record.kernel.release}: {against}"


def provisional(found: Mapping[str, Table]) -> list[str]:
    """Return the lines of cases that one start of several measured."""
    return _cases(found, cover=False, verdict="provisional")


def _cases(found: Mapping[str, Table], *, cover: bool, verdict: str = "") -> list[str]:
    rows = [["case", "kernel", "patched", "ratio", "95 % interval", "fill", "result"]]
    for name, each in found.items():
        row, unit = each.chosen, each.case.unit
        rows.append(
            [
                name,
                duration(each.base.median, unit),
                duration(row.median, unit),
                f"{row.ratio.median:.2f}" if row.ratio else "-",
                between(row.ratio),
                f"{row.fill:.2f}" if row.fill else "",
                verdict or result(row) + (" [1]" if each.better else ""),
            ]
        )
    if cover or not any(row[5] for row in rows[1:]):
        rows = [[*row[:5], row[6]] for row in rows]
    return columns(rows, (0, len(rows[0]) - 1))


def _grid(found: dict[str, Table]) -> list[str]:
    """A column for each posted variant, and for ours."""
    labels = list(dict.fromkeys(row.name for each in found.values() for row in each.judged))
    names = ["ours" if label == AUTO else label for label in labels if label != BASE]
    rows = [["case", "kernel", *names]]
    for name, each in found.items():
        cells = {row.name: _cell(row) for row in each.judged}
        shown = [cells.get(label, "-") for label in labels if label != BASE]
        rows.append([name, duration(each.base.median, each.case.unit), *shown])
    return columns(rows)


def _cell(row: Row) -> str:
    """A ratio: alone if faster, with a mark if slower or unclear, "~" if alike."""
    if row.ratio is None:
        return result(row)
    if row.verdict in _MARKS:
        return _MARKS[row.verdict] or f"{row.ratio.median:.2f}"
    return f"{row.ratio.median:.2f}{'!' if row.slower else '?'}"


def _closing(record: Record, found: dict[str, Table], most: int) -> Iterator[str]:
    """Yield what to know of a record, in sentences that name `most` cases."""
    judged = [(name, row) for name, each in found.items() for row in each.judged]
    judged = [(name, row) for name, row in judged if row.name != BASE]
    words = ("faster", "no difference", "slower") if record.timed else ("fewer", "more")
    counts = {word: sum(result(row) == word for _, row in judged) for word in words}
    others = len(judged) - sum(counts.values())
    if judged:
        told = (f"{count} {word}" for word, count in counts.items())
        yield f"{', '.join(told)}, {others} unclear."
    slower: dict[str, list[str]] = {}
    for name, row in judged:
        if row.slower and row.ratio:
            shown = f"{name} ({row.ratio.median:.2f}, {between(row.ratio)})"
            slower.setdefault(row.name, []).append(shown)
    yield from (f"Slower: {variant} in {', '.join(cases)}." for variant, cases in slower.items())
    rows = [(name, each, row) for name, each in found.items() for row in each.rows]
    unused = [(name, row) for name, each, row in rows if row not in each.judged]
    if where := _where((row.name, row.ratio, name) for name, row in unused if row.slower):
        yield f"Slower methods that are not used: {where}."
    if where := _where((*each.better, name) for name, each in found.items() if each.better):
        yield f"[1] another method needs only this part of the time: {where}."
    if unproven := [f"{row.name} in {name}" for name, _, row in rows if not row.equal]:
        yield f"Not shown, because identical memory was not verified: {', '.join(unproven)}."
    noisy = {name: each.band for name, each in found.items() if each.band and each.band > WIDE}
    if noisy:
        limits = [f"{100 * claimed_from(band):.0f} % in {name}" for name, band in noisy.items()]
        yield f"Noisy: differences count from {_first(limits, most)}."
    yield from filter(None, (by_cpus(name, each) for name, each in found.items()))
    yield from posted(record)
    notes: dict[str, list[str]] = {}
    for note in table.notes(record):
        case, _, rest = note.partition(": ")
        notes.setdefault(rest if case in found else note, []).extend([case] * (case in found))
    for note, noted in notes.items():
        yield f"Note: {_first(noted, most)}{': ' if noted else ''}{note}."


def _first(names: Sequence[str], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _where(found: Iterable[tuple[str, Ratio | None, str]]) -> str:
    """Name the cases in which methods have some ratios, or only count them if they are many."""
    methods: dict[str, dict[str, float]] = {}
    for name, ratio, case in found:
        if ratio:
            methods.setdefault(name, {})[case] = ratio.median
    parts = []
    for name, cases in methods.items():
        words = ", ".join(f"{case} ({ratio:.2f})" for case, ratio in cases.items())
        if len(cases) > _FEW:
            low, high = min(cases.values()), max(cases.values())
            words = f"{len(cases)} cases ({low:.2f} to {high:.2f})"
        parts.append(f"{name} in {words}")
    return "; ".join(parts)


def by_cpus(name: str, found: Table) -> str:
    """Say how much faster the work and its limit are on several CPUs, if a case has several."""
    parts = [(row.name, row.one_cpu) for row in (found.chosen, found.bound) if row]
    times = [f"{what} is {ratio.median:.2f} times as fast" for what, ratio in parts if ratio]
    return f"{name}: {' and '.join(times)} as on one CPU." if times else ""


def _about(name: str, found: Table) -> str:
    case = found.case
    plural = "" if case.items == 1 else "s"
    pairs = f"{len(found.base.times)} pairs" + ("" if case.unit == "ns" else f"; {case.unit}")
    return f"{name}: {case.items:,} {case.item}{plural}, {case.regime}; {pairs}"


def _methods(found: Table) -> list[str]:
    rows = [["", "time", "each", "ratio", "95 % interval", "fill", "result"]]
    unit = found.case.unit
    for row in found.rows:
        rows.append(
            [
                "kernel" if row.name == BASE else row.name,
                duration(row.median, unit),
                f"{row.each:.2f}" if row.each is not None else "-",
                f"{row.ratio.median:.3f}" if row.ratio else "-",
                between(row.ratio, 3),
                f"{row.fill:.2f}" if row.fill else "",
                noise(found) if row.name == BASE else result(row),
            ]
        )
    if found.bound:
        each = f"{found.bound.each:.2f}" if found.bound.each is not None else "-"
        name = f"fill: {found.bound.name}"
        rows.append([name, duration(found.bound.median, unit), each, "", "", "1.00", ""])
    return columns(rows, (0, 6))


def _legend(record: Record, *, cover: bool) -> Iterable[str]:
    what, better = ("times", "faster") if record.timed else ("instructions", "fewer")
    yield f"ratio  kernel's / patched {what}, median of pairs: above 1 is {better}"
    if record.posted:
        yield "       ~ no difference, ! slower, ? not clear beside the noise"
    elif record.timed and not cover:
        yield "fill   patched time / time of the fastest plain fill: 1.00 cannot be beaten"
