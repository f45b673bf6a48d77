# SPDX-License-Identifier: GPL-2.0-only
"""Several runs put side by side: speed-up by speed-up, case by case, with who loses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mmbatch.bench.record import Control, Limit, Row
from mmbatch.bench.statistics import NOISE, Verdict
from mmbatch.bench.store import Stored
from mmbatch.hosted.events import AUTO, BASE

COPY = "copy"
_FEW = 3
_LOST = (Verdict.SLOWER, Verdict.MORE)
_WON = (Verdict.FASTER, Verdict.FEWER)


@dataclass(frozen=True)
class Entry:
    """What one run says about one case."""

    run: Stored
    rows: tuple[Row, ...]
    control: Control | None
    limits: tuple[Limit, ...]

    @property
    def base(self) -> Row:
        """The kernel as it is."""
        return next(row for row in self.rows if row.variant == BASE)

    @property
    def chosen(self) -> Row:
        """What a user gets: `auto`, or the last step where nothing chooses."""
        return next((row for row in self.rows if row.variant == AUTO), self.rows[-1])


@dataclass(frozen=True)
class CaseGroup:
    """One case in all runs that have it."""

    name: str
    regime: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Section:
    """One speed-up in all runs that have it."""

    speedup: str
    cases: tuple[CaseGroup, ...]


@dataclass(frozen=True)
class Loss:
    """A row that loses: against base, shown; or against the plain copy, by its median."""

    run: Stored
    row: Row
    factor: float
    than: str
    interval: tuple[float, float] | None = None

    @property
    def words(self) -> str:
        """How much it loses by, in a few words."""
        text = f"takes {self.factor:.2f} times what {self.than} takes"
        return (
            f"{text} ({self.interval[0]:.2f} to {self.interval[1]:.2f})" if self.interval else text
        )


@dataclass(frozen=True)
class Losses:
    """What one variant of a speed-up loses against the same in one run; never empty."""

    each: tuple[Loss, ...]

    @property
    def few(self) -> bool:
        """Whether each of them is told by itself."""
        return len(self.each) <= _FEW

    @property
    def words(self) -> str:
        """All of them in a few words."""
        factors = [loss.factor for loss in self.each]
        return (
            f"in {len(self.each)} cases takes {min(factors):.2f} to {max(factors):.2f} times "
            f"what {self.each[0].than} takes"
        )

    @property
    def cases(self) -> str:
        """Each case and its factor, the worst first."""
        worst = sorted(self.each, key=lambda loss: -loss.factor)
        return ", ".join(f"{loss.row.case} {loss.factor:.2f}" for loss in worst)


def sections(runs: Sequence[Stored]) -> list[Section]:
    """Put runs side by side, in the order in which speed-ups and cases first appear."""
    cases: dict[str, dict[tuple[str, str], list[Entry]]] = {}
    for run in runs:
        for entry in _entries(run):
            key = (entry.rows[0].case, entry.rows[0].regime)
            cases.setdefault(entry.rows[0].speedup, {}).setdefault(key, []).append(entry)
    return [
        Section(
            speedup,
            tuple(CaseGroup(*key, tuple(entries)) for key, entries in groups.items()),
        )
        for speedup, groups in cases.items()
    ]


def losses(groups: Sequence[Section]) -> list[Loss]:
    """Return every row that loses, those against base first."""
    entries = [entry for one in groups for case in one.cases for entry in case.entries]
    return [
        *(loss for entry in entries for loss in _against_base(entry)),
        *(loss for entry in entries for loss in _against_copy(entry)),
    ]


def by_variant(found: Sequence[Loss]) -> list[Losses]:
    """Put together what one variant loses, in the order in which variants first appear."""
    groups: dict[tuple[str, str, str, str], list[Loss]] = {}
    for loss in found:
        key = (loss.than, loss.run.label, loss.row.speedup, loss.row.variant)
        groups.setdefault(key, []).append(loss)
    return [Losses(tuple(each)) for each in groups.values()]


def lost(row: Row) -> bool:
    """Tell whether a row is shown to be worse than base."""
    return row.verdict in _LOST


def won(row: Row) -> bool:
    """Tell whether a row is shown to be better than base."""
    return row.verdict in _WON


def slower_than_copy(entry: Entry) -> list[tuple[Row, float]]:
    """Return the rows of a case whose median is above the plain copy's, and how many times."""
    copy = next((row for row in entry.rows if row.variant == COPY), None)
    if copy is None or copy.median is None:
        return []
    times = [
        (row, row.median / copy.median)
        for row in entry.rows
        if row.median is not None and row.variant not in (BASE, COPY)
    ]
    return [(row, factor) for row, factor in times if factor > 1 + NOISE]


def _entries(run: Stored) -> Iterator[Entry]:
    rows: dict[tuple[str, str], list[Row]] = {}
    for row in run.record.rows:
        rows.setdefault((row.speedup, row.case), []).append(row)
    for key, mine in rows.items():
        controls = [one for one in run.record.controls if (one.speedup, one.case) == key]
        limits = [one for one in run.record.limits if (one.speedup, one.case) == key]
        yield Entry(run, tuple(mine), controls[0] if controls else None, tuple(limits))


def _against_base(entry: Entry) -> Iterator[Loss]:
    for row in entry.rows:
        if lost(row) and row.ratio:
            ci95 = row.ratio.ci95
            interval = (1 / ci95[1], 1 / ci95[0]) if ci95 else None
            yield Loss(entry.run, row, 1 / row.ratio.median, "base", interval)


def _against_copy(entry: Entry) -> Iterator[Loss]:
    for row, factor in slower_than_copy(entry):
        if not lost(row):
            yield Loss(entry.run, row, factor, "the plain copy")
