# SPDX-License-Identifier: GPL-2.0-only
"""From the samples of a case to its rows: medians, ratios, intervals and verdicts.

Everything that is shown of a record follows from `rows`. No number is in a row whose memory was
not seen to be that of base in the same run.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from mmbatch.bench import statistics
from mmbatch.bench.record import Case, Record, Samples
from mmbatch.bench.statistics import Ratio, Verdict
from mmbatch.core.errors import ExitCode
from mmbatch.hosted.events import AUTO, BASE, CONTROL, ONE_CPU, CaseOutcome

CHOSEN_WELL = 0.95
"""Another method is named if it takes less than this part of the time of `auto`."""

_BEYOND = 0.97  # a variant that takes less of its limit's time shows that the limit is none
_COUNTED = {Verdict.FASTER: Verdict.FEWER, Verdict.SLOWER: Verdict.MORE}


@dataclass(eq=False)
class Row:
    """One variant or limit of a case; what takes time to compute is computed when it is read.

    `equal` is None if memory was not compared; without proof there are no `samples`.
    """

    table: Table
    name: str
    equal: bool | None
    samples: Samples

    @functools.cached_property
    def times(self) -> tuple[int, ...]:
        """The samples in order."""
        return tuple(time for start in self.samples for block in start for time in block)

    @functools.cached_property
    def median(self) -> float | None:
        """Of the samples."""
        return float(median(self.times)) if self.times else None

    @property
    def each(self) -> float | None:
        """The median by item."""
        return None if self.median is None else self.median / self.table.case.items

    @functools.cached_property
    def ratio(self) -> Ratio | None:
        """Base's time by its own: above 1 it is faster."""
        return paired(self.table.base.samples, self.samples) if self.name != BASE else None

    @functools.cached_property
    def fill(self) -> float | None:
        """Its own time by that of the limit that bounds the case: 1 can't be beaten."""
        pairs = _pairs(self.samples, self.table.bound.samples) if self.table.bound else ()
        logs = [math.log(own / limit) for own, limit, *_ in pairs]  # an interval takes time
        return math.exp(median(logs)) if logs else None

    @functools.cached_property
    def one_cpu(self) -> Ratio | None:
        """The time of the same on one CPU by its own, in a case for several."""
        one = self.table.on_one_cpu(self)
        return paired(one.samples, self.samples) if one else None

    @functools.cached_property
    def verdict(self) -> Verdict:
        """What the ratio shows."""
        if self.equal is False or self.table.base.equal is False:
            return Verdict.NOT_EQUAL
        if self.name == BASE:
            return Verdict.BASE
        if self.equal is None:
            return Verdict.NOT_CHECKED
        found = statistics.verdict(self.ratio, self.table.band)
        return found if self.table.case.unit == "ns" else _COUNTED.get(found, found)

    @property
    def outcome(self) -> tuple[ExitCode, str]:
        """The exit code that it stands for, and why.

        It fails if its memory was not seen to be equal. Only what a user gets, or posted code, may
        not be slower: a method that nothing chooses may well be.
        """
        if not self.equal:
            other = "it produced other memory than the kernel"
            return ExitCode.FAILED, "not checked" if self.equal is None else other
        if self.slower and self.name in (AUTO, *self.table.case.posted):
            return ExitCode.SLOWER, "it is slower than the kernel"
        if self.verdict == Verdict.TOO_NOISY and self in self.table.judged:
            return ExitCode.INCONCLUSIVE, "noise hides the result"
        return ExitCode.GOOD, ""

    @property
    def slower(self) -> bool:
        """Whether it is shown to be worse than base."""
        return self.verdict in (Verdict.SLOWER, Verdict.MORE)

    @property
    def faster(self) -> bool:
        """Whether it is shown to be better than base."""
        return self.verdict in (Verdict.FASTER, Verdict.FEWER)


class Table:
    """The rows of one case: base and what is compared with it.

    The ratio of the control, base's second copy, is noise. The limits are plain fills and reads of
    the same memory, of which one is the bound of the case.
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        whole = case.variants[BASE].equal is not False
        found = {
            name: Row(self, name, held.equal, held.samples if whole and held.equal else ())
            for name, held in case.variants.items()
        }
        self.base = found[BASE]
        self.control = found.pop(CONTROL, None)
        self.rows = tuple(found.values())
        self.checked = (*([self.control] if self.control else []), *self.rows)
        limits = case.limits if whole else {}
        self.limits = tuple(Row(self, name, None, held) for name, held in limits.items())
        self.bound = self._bound([row for row in self.limits if not row.name.endswith(ONE_CPU)])

    @property
    def chosen(self) -> Row:
        """What a user gets: `auto`, or the last method where nothing chooses."""
        ours = [row for row in self.rows if row.name not in self.case.posted]
        if len(ours) == 1:  # base alone chooses nothing
            return self.rows[-1]
        return next((row for row in ours if row.name == AUTO), ours[-1])

    @property
    def judged(self) -> list[Row]:
        """What is asked for: what a user gets, and posted code."""
        posted = [row for row in self.rows if row.name in self.case.posted]
        return [self.chosen, *(row for row in posted if row is not self.chosen)]

    @functools.cached_property
    def band(self) -> float | None:
        """How far base differs from its own second copy; see `statistics.control_band`."""
        return statistics.control_band(self.control.ratio if self.control else None)

    @functools.cached_property
    def better(self) -> tuple[str, Ratio] | None:
        """A method that is clearly faster than `auto`, which could choose it, and by how much."""
        beside = (BASE, AUTO, *self.case.posted)
        others = [row for row in self.rows if row.name not in beside and row.times]
        auto = next((row for row in self.rows if row.name == AUTO), None)
        best = min(others, key=_median, default=None)
        ratio = paired(best.samples, auto.samples) if best and auto else None
        clear = ratio and ratio.interval and ratio.median < CHOSEN_WELL and ratio.hi < 1
        return (best.name, ratio) if best and ratio and clear else None

    def on_one_cpu(self, row: Row) -> Row | None:
        """Return what does the same as a row on one CPU, in a case for several."""
        if row is self.bound:
            return self._bound([each for each in self.limits if each.name.endswith(ONE_CPU)])
        return next((each for each in self.rows if each.name == row.name + ONE_CPU), None)

    def _bound(self, limits: Sequence[Row]) -> Row | None:
        """Return which of some limits bounds the case.

        Any plain fill would do for the work, so the fastest bounds it. What only reads does, too,
        because nothing is copied without being read. The slower of the two counts. A fill that is
        slow here is timed in few blocks, so one with less than half of the samples is left out.
        """
        most = max((len(row.times) for row in limits), default=0)
        timed = [row for row in limits if 2 * len(row.times) >= most > 0]
        reads = [row for row in timed if row.name in self.case.reads]
        fills = [row for row in timed if row.name not in self.case.reads]
        fastest = [min(group, key=_median) for group in (fills, reads) if group]
        return max(fastest, key=_median, default=None)


def _median(row: Row) -> float:
    return row.median or 0.0


def tables(record: Record) -> dict[str, Table]:
    """Return the rows of each case of a record."""
    return {name: rows(case) for name, case in record.cases.items()}


@functools.cache
def rows(case: Case) -> Table:
    """Derive the rows of a case from its samples, once."""
    return Table(case)


def paired(first: Samples, second: Samples) -> Ratio | None:
    """Divide the time of one row by that of another, in the same block and half."""
    pairs = list(_pairs(first, second))
    return statistics.paired_ratio(*zip(*pairs, strict=True)) if pairs else None


def _pairs(first: Samples, second: Samples) -> Iterator[tuple[int, int, int, int]]:
    """Yield the pairs of two rows: both times, and the numbers of their block and start."""
    number = itertools.count()
    for start, starts in enumerate(zip(first, second, strict=False)):
        for blocks, block in zip(zip(*starts, strict=False), number, strict=False):
            yield from ((one, other, block, start) for one, other in zip(*blocks, strict=False))


def answer(record: Record) -> Iterator[dict[str, object]]:
    """Yield each row of a record as data, for scripts."""
    digits = 9  # the last ones depend on the machine that computes
    for name, table in tables(record).items():
        for row in table.rows:
            ratio = row.ratio
            ends = [round(end, digits) for end in (ratio and ratio.interval) or ()]
            yield {
                "speedup": record.speedup,
                "case": name,
                "variant": row.name,
                "median": row.median,
                "unit": table.case.unit,
                "ratio": round(ratio.median, digits) if ratio else None,
                "interval": ends or None,
                "verdict": str(row.verdict),
            }


def notes(record: Record) -> Iterator[str]:
    """Yield the notes of a record, and what its samples show besides."""
    yield from record.notes
    for name, table in tables(record).items():
        beyond = []
        for row in table.rows:
            if table.bound and row.fill and row.fill < _BEYOND:
                fill = paired(row.samples, table.bound.samples)
                if fill and fill.interval and fill.hi < _BEYOND:
                    beyond.append(f"{row.name} ({row.fill:.2f})")
            variant = table.case.variants[row.name]
            if row.equal is False and row.name in table.case.posted and variant.samples:
                ratio = paired(table.base.samples, variant.samples)
                if ratio:
                    yield (
                        f"{name}: {row.name} is {ratio.median:.2f} times as fast as the kernel, "
                        "but it is NOT EQUAL, so it does other work"
                    )
        if table.bound and beyond:
            part = f"a part of the time of '{table.bound.name}' is enough for {', '.join(beyond)}"
            yield f"{name}: {part}, so that fill is not a limit here"


def hidden(record: Record) -> list[str]:
    """Return the cases in which noise hides what is asked for."""
    found = tables(record).items()
    return [name for name, table in found if ExitCode.INCONCLUSIVE in _codes(table)]


def exit_code(*records: Record) -> ExitCode:
    """Return the worst of the exit codes that the rows of some records stand for."""
    every = [code for each in records for table in tables(each).values() for code in _codes(table)]
    order = (ExitCode.FAILED, ExitCode.SLOWER, ExitCode.INCONCLUSIVE, ExitCode.GOOD)
    return next(code for code in order if code in every)


def _codes(table: Table) -> list[ExitCode]:
    return [row.outcome[0] for row in table.checked]


def outcomes(record: Record) -> Iterator[CaseOutcome]:
    """Yield how each variant fared in each case, as tests for KTAP and JUnit."""
    suite = f"{record.speedup} on {record.kernel.release}"
    for name, table in tables(record).items():
        for row in table.checked:
            code, why = row.outcome
            skipped = why if code == ExitCode.INCONCLUSIVE else None
            problem = None if skipped else why or None
            detail = str(row.verdict)
            if row.ratio is not None:
                detail += f": {row.ratio.median:.3f} times as fast as the kernel"
                if row.ratio.interval:
                    detail += f", 95 % interval {row.ratio.lo:.3f} to {row.ratio.hi:.3f}"
            yield CaseOutcome(suite, f"{name}: {row.name}", problem, skipped, detail)
