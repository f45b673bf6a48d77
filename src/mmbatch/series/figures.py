# SPDX-License-Identifier: GPL-2.0-only
"""What a series and each of its patches gain, from a run that measured every step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from mmbatch.bench import statistics
from mmbatch.bench.machine import machine_line
from mmbatch.bench.record import Record, Row
from mmbatch.bench.statistics import MIN_PAIRS, Ratio, Verdict
from mmbatch.hosted.events import BASE
from mmbatch.report import text
from mmbatch.report.words import duration
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
    rows: dict[str, list[Row]] = {}
    for row in sorted(
        (row for row in record.rows if row.variant in labels),
        key=lambda row: labels.index(row.variant),
    ):
        rows.setdefault(row.case, []).append(row)
    table: list[tuple[str, ...]] = []
    alike = []
    for case, of_case in rows.items():
        if len(of_case) < 2 or of_case[-1].variant != labels[-1]:
            continue
        before, after = of_case[-2:]
        if before.median is None or after.median is None:
            continue
        ratio = _ratio(before, after)
        is_open = ratio is not None and ratio.lo <= 1 <= ratio.hi
        if is_open or _verdict(record, case, ratio) == Verdict.NO_DIFFERENCE:
            alike.append(case)
            continue
        interval = f"{ratio.lo:.3f} .. {ratio.hi:.3f}" if ratio else "-"
        quotient = ratio.median if ratio else before.median / after.median
        old, new = (duration(each.median, each.unit) for each in (before, after))
        table.append((case, old, new, f"{quotient:.3f}", interval))
    where = f"{machine_line(record.machine)}; Linux {record.kernel.release}"
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


def _ratio(before: Row, after: Row) -> Ratio | None:
    """Compare two variants that took turns; None where their samples can't be paired."""
    pairs = len(after.samples)
    if pairs < MIN_PAIRS or len(before.samples) != pairs or before.starts != after.starts:
        return None
    blocks = [number // 2 for number in range(pairs)]  # samples are sorted by block and half
    starts = [start for start, count in enumerate(after.starts) for _ in range(count)]
    return statistics.paired_ratio(before.samples, after.samples, blocks, starts or None)


def _verdict(record: Record, case: str, ratio: Ratio | None) -> Verdict | None:
    bands = [control.band for control in record.controls if control.case == case]
    if ratio is None or not bands or bands[0] is None:
        return None
    return statistics.beside_band(ratio, bands[0])
