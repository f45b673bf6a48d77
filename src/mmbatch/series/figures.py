# SPDX-License-Identifier: GPL-2.0-only
"""What a series and each of its patches gain, from a run that measured every step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from mmbatch.bench import machine
from mmbatch.bench.record import Record
from mmbatch.bench.statistics import Verdict, beside_band
from mmbatch.bench.table import paired, tables
from mmbatch.hosted.events import BASE
from mmbatch.report import text
from mmbatch.splice.apply import Applied
from mmbatch.splice.posted import digest

Runs = Mapping[str, Sequence[Record]]
"""Speed-up to the runs of it, newest last."""


def of_steps(steps: Sequence[Applied], runs: Runs) -> Iterator[str]:
    """Yield for each step what it gains, as text for its commit message.

    Only a run of the very code counts, which is known by the hash of all files that were written
    up to the step. The text is empty where there is none, and for a step that changes nothing
    that is measured.
    """
    contents: dict[str, bytes | None] = {}
    labels: dict[str, list[str]] = {}
    for step in steps:
        contents |= step.contents
        speedup = step.speedup
        own = labels.setdefault(speedup, [BASE])
        own.append(f"{len(own)} {step.name}")
        found = [run for run in runs.get(speedup, ()) if _measured(run, own[-1], contents)]
        yield "\n".join(_lines(found[-1], own, "patch")) if found else ""


def of_series(steps: Sequence[Applied], record: Record) -> str:
    """Return what a series gains, as text, from a run that measured its code.

    That is a row for the code after its last step. If the run has none, the last step that it
    measured counts, and the text names it. As in `of_steps`, the code is known by the hash of all
    files. The text is empty if that step was measured with other code, or if no step was measured.
    """
    rows = {code.sha256: code.label for code in record.posted}
    sources = {code.source for code in record.posted}
    contents: dict[str, bytes | None] = {}
    found = ""
    for step in steps:
        contents |= step.contents
        name, speedup = step.name, step.speedup
        if speedup != steps[-1].speedup:
            continue
        label = rows.get(digest(contents))
        if label is not None:
            what = "series" if step is steps[-1] else f"series up to its step {name}"
            found = "\n".join(_lines(record, (BASE, label), what))
        elif f"step '{name}' of {speedup}" in sources:
            found = ""
    return found


def for_cover(steps: Sequence[Applied], runs: Sequence[Record]) -> Record | None:
    """Return the run that the cover letter of a series shows.

    It is the last one that measured the code of the series, or else the last one that measured
    the speed-up as a whole. A run of steps whose code is other code is never shown.
    """
    of_code = [run for run in runs if of_series(steps, run)]
    whole = [run for run in runs if not _is_of_steps(run, steps[-1].speedup)]
    found = of_code or whole
    return found[-1] if found else None


def _is_of_steps(record: Record, speedup: str) -> bool:
    """Whether a run has rows of the steps of a speed-up of ours."""
    source = re.compile(rf"step '.+' of {re.escape(speedup)}")
    return any(source.fullmatch(code.source) for code in record.posted)


def _measured(record: Record, label: str, contents: Mapping[str, bytes | None]) -> bool:
    posted = {code.label: code.sha256 for code in record.posted}
    return posted.get(label) == digest(contents)


def _lines(record: Record, labels: Sequence[str], what: str) -> Iterator[str]:
    """Yield the lines of what the last of some labels gains over the one before it.

    If no case shows a difference, a sentence takes the place of the table. There are no lines if
    no case was measured.
    """
    table: list[tuple[str, ...]] = []
    alike = []
    for case, found in tables(record).items():
        rows = {row.name: row for row in found.rows}
        of_case = [rows[label] for label in labels if label in rows]
        if len(of_case) < 2 or of_case[-1].name != labels[-1]:
            continue
        before, after = of_case[-2:]
        ratio = paired(before, after)
        if before.median is None or after.median is None or ratio is None:
            continue
        band = found.band
        is_alike = band is not None and beside_band(ratio, band) == Verdict.NO_DIFFERENCE
        if is_alike or (ratio.interval and ratio.lo <= 1 <= ratio.hi):
            alike.append(case)
            continue
        old, new = (text.duration(each.median, found.case.unit) for each in (before, after))
        table.append((case, old, new, f"{ratio.median:.2f}", text.between(ratio)))
    where = f"{machine.line(record.machine)}; Linux {record.kernel.release}"
    if not table:
        if alike:
            cases = "1 case that was" if len(alike) == 1 else f"{len(alike)} cases that were"
            words = f"In {cases} measured before and after this {what}, no difference is shown"
            yield from text.paragraph(f"{words} ({where}).", "")
        return
    words = (
        f"Median times of the kernel's objects, linked into a process, before and after this "
        f"{what} ({where}):"
    )
    yield from text.paragraph(words, "")
    table.insert(0, ("case", "before", "after", "ratio", "95 % interval"))
    width = max(len(row[0]) for row in table)
    yield ""
    for case, old, new, factor, interval in table:
        yield f"  {case:{width}} {old:>9} {new:>9} {factor:>6}  {interval}"
    if alike:
        yield ""
        yield from text.paragraph(f"No difference is shown in: {', '.join(alike)}.", "")
