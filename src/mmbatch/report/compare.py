# SPDX-License-Identifier: GPL-2.0-only
"""Select what a report shows: runs side by side, speed-up by speed-up, and their regressions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.bench.machine import with_model
from mmbatch.bench.record import Control, Limit, Record, Row
from mmbatch.bench.statistics import NOISE, Verdict, claimed_from
from mmbatch.bench.store import Raw, Stored, guest_arch
from mmbatch.core.load import release_numbers
from mmbatch.hosted.events import AUTO, BASE, LIMIT_PREFIX

COPY = "copy"
CHOSEN_WELL = 0.95
"""`auto` is listed if another method's time is less than this part of its own."""

_FEW = 3
_SLOWER = (Verdict.SLOWER, Verdict.MORE)
_FASTER = (Verdict.FASTER, Verdict.FEWER)


@dataclass(frozen=True)
class Entry:
    """One case in one run."""

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
        posted = {code.label for code in self.run.record.posted}
        built = [row for row in self.rows if row.variant not in posted]
        rows = self.rows if len(built) == 1 else built  # base alone chooses nothing
        return next((row for row in built if row.variant == AUTO), rows[-1])

    @property
    def limit(self) -> Limit | None:
        """The limit row that bounds the case, of all that were timed."""
        vs = next((row.of_limit.vs for row in self.rows if row.of_limit), None)
        return next((limit for limit in self.limits if LIMIT_PREFIX + limit.name == vs), None)

    @property
    def pairs(self) -> int:
        """How many pairs of samples were compared, at most."""
        return max((row.detail.pairs for row in self.rows if row.detail), default=0)


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

    @property
    def runs(self) -> list[Stored]:
        """The runs of this speed-up, in the order in which they were given."""
        found = {id(entry.run): entry.run for case in self.cases for entry in case.entries}
        return list(found.values())


@dataclass(frozen=True)
class Regression:
    """A slower row: against base or the best method, shown; or the plain copy, by its median."""

    run: Stored
    row: Row
    factor: float
    than: str
    interval: tuple[float, float] | None = None

    @property
    def words(self) -> str:
        """How much slower it is, in a few words."""
        return _compared(f"{self.factor:.2f}", self) + self._between

    @property
    def figures(self) -> str:
        """How much slower it is, as a number with its interval."""
        return f"{self.factor:.2f}{self._between}"

    @property
    def _between(self) -> str:
        return f" ({self.interval[0]:.2f} to {self.interval[1]:.2f})" if self.interval else ""


@dataclass(frozen=True)
class Regressions:
    """The slower rows of one variant of a speed-up against the same in one run; never empty."""

    each: tuple[Regression, ...]

    @property
    def few(self) -> bool:
        """Whether each of them is listed with its interval and a link."""
        return len(self.each) <= _FEW

    @property
    def words(self) -> str:
        """All of them in a few words."""
        factors = [regression.factor for regression in self.each]
        much = _compared(f"{min(factors):.2f} to {max(factors):.2f}", self.each[0])
        return f"{much} in {len(self.each)} cases"

    @property
    def cases(self) -> str:
        """Each case and its factor, the worst first."""
        worst = sorted(self.each, key=lambda regression: -regression.factor)
        return ", ".join(f"{regression.row.case} {regression.factor:.2f}" for regression in worst)


def sections(runs: Sequence[Stored]) -> list[Section]:
    """Put runs side by side, in the order in which speed-ups and cases first appear.

    Runs that measure time come before those that count, and newer kernels before older ones.
    """
    cases: dict[str, dict[tuple[str, str], list[Entry]]] = {}
    newest = sorted(runs, key=_release, reverse=True)
    for run in sorted(newest, key=lambda run: run.record.engine == "guest-icount"):
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


def entries_of(record: Record) -> list[Entry]:
    """Return the cases of one record, in the order of the run."""
    return list(_entries(Stored("", Path(), record, Raw.ABSENT)))


def regressions(groups: Sequence[Section]) -> list[Regression]:
    """Return every slower row: against base, then the plain copy, then what `auto` left out."""
    entries = [entry for section in groups for case in section.cases for entry in case.entries]
    return [
        *(regression for entry in entries for regression in _against_base(entry)),
        *(regression for entry in entries for regression in _against_copy(entry)),
        *(regression for entry in entries for regression in _against_best(entry)),
    ]


def by_machine(runs: Sequence[Stored]) -> list[list[Stored]]:
    """Group the runs of the same speed-ups on one machine.

    Returns:
        Groups, those that counted instructions last; in each, the newest kernel first.
    """
    groups: dict[tuple[bool, tuple[str, ...], str, int, str], list[Stored]] = {}
    for run in runs:
        record, machine = run.record, run.record.machine
        place = (with_model(machine.cpu, machine), machine.cores, guest_arch(record))
        groups.setdefault((not timed(record), _speedups(record), *place), []).append(run)
    return [sorted(groups[key], key=_release)[::-1] for key in sorted(groups)]


def newest(runs: Sequence[Stored]) -> list[Stored]:
    """Return the run of the newest kernel of each speed-up and machine.

    Runs that counted instructions are left out where the same speed-up was timed.
    """
    found = [group[0] for group in by_machine(runs)]
    measured = {_speedups(run.record) for run in found if timed(run.record)}
    return [run for run in found if timed(run.record) or _speedups(run.record) not in measured]


def timed(record: Record) -> bool:
    """Return whether a run measured time, and did not count something."""
    return all(row.unit == "ns" for row in record.rows)


def _release(run: Stored) -> list[int]:
    return release_numbers(run.record.kernel.release)


def _speedups(record: Record) -> tuple[str, ...]:
    return tuple(sorted({row.speedup for row in record.rows}))


def by_variant(found: Sequence[Regression]) -> list[Regressions]:
    """Group the slower rows of each variant, in the order in which variants first appear."""
    groups: dict[tuple[str, int, str, str], list[Regression]] = {}
    for regression in found:
        key = (regression.than, id(regression.run), regression.row.speedup, regression.row.variant)
        groups.setdefault(key, []).append(regression)
    return [Regressions(tuple(each)) for each in groups.values()]


def is_slower(row: Row) -> bool:
    """Return whether a row is shown to be worse than base."""
    return row.verdict in _SLOWER


def is_faster(row: Row) -> bool:
    """Return whether a row is shown to be better than base."""
    return row.verdict in _FASTER


def slower_than_copy(entry: Entry) -> list[tuple[Row, float]]:
    """Return the rows of a case that take longer than the plain copy of the same case.

    A median must exceed the copy's by more than code layout alone can do, and by more than base
    differs from its own second copy: `auto` may be the plain copy, and a difference within that
    band means nothing. A case that has no control claims nothing at all. Posted code is not ours
    to compare with our copy.

    Returns:
        Each such row, and how many times as long as the copy it takes.
    """
    copy = next((row for row in entry.rows if row.variant == COPY), None)
    control = entry.control
    if copy is None or copy.median is None or control is None:
        return []
    if control.band is None:
        return []
    least = 1 + max(NOISE, claimed_from(control.band))
    posted = {code.label for code in entry.run.record.posted}
    times = [
        (row, row.median / copy.median)
        for row in entry.rows
        if row.median is not None and row.variant not in {BASE, COPY, *posted}
    ]
    return [(row, factor) for row, factor in times if factor > least]


def by_cpus(entry: Entry) -> str:
    """Say how much faster what a user gets, and the limit, are by several CPUs than by one.

    Returns:
        A sentence without a full stop, empty for a case on one CPU.
    """
    parts = [(entry.chosen.variant, entry.chosen.of_one_cpu)]
    if entry.limit is not None:
        parts.append((f"the limit, {entry.limit.name},", entry.limit.of_one_cpu))
    texts = []
    for name, ratio in parts:
        if ratio:
            ci95 = ratio.ci95
            between = f" ({ci95[0]:.2f} to {ci95[1]:.2f})" if ci95 else ""
            texts.append(f"{name} is {ratio.median:.2f}{between} times as fast as on one CPU")
    return f"{entry.base.case}: {' and '.join(texts)}" if texts else ""


def _compared(factor: str, regression: Regression) -> str:
    if regression.row.unit == "ns":
        return f"takes {factor} times as long as {regression.than}"
    return f"needs {factor} times the {regression.row.unit} of {regression.than}"


def _entries(run: Stored) -> Iterator[Entry]:
    rows: dict[tuple[str, str], list[Row]] = {}
    for row in run.record.rows:
        rows.setdefault((row.speedup, row.case), []).append(row)
    for key, case_rows in rows.items():
        controls = [
            control for control in run.record.controls if (control.speedup, control.case) == key
        ]
        limits = [limit for limit in run.record.limits if (limit.speedup, limit.case) == key]
        yield Entry(run, tuple(case_rows), controls[0] if controls else None, tuple(limits))


def _against_base(entry: Entry) -> Iterator[Regression]:
    for row in entry.rows:
        if is_slower(row) and row.ratio:
            ci95 = row.ratio.ci95
            interval = (1 / ci95[1], 1 / ci95[0]) if ci95 else None
            yield Regression(entry.run, row, 1 / row.ratio.median, "base", interval)


def _against_copy(entry: Entry) -> Iterator[Regression]:
    for row, factor in slower_than_copy(entry):
        if not is_slower(row):
            yield Regression(entry.run, row, factor, "the plain copy")


def _against_best(entry: Entry) -> Iterator[Regression]:
    listed = [row for row, _ in slower_than_copy(entry)]
    for row in entry.rows:
        best = row.of_best
        if best is None or best.ci95 is None or is_slower(row) or row in listed:
            continue
        if best.median < CHOSEN_WELL and best.ci95[1] < 1:
            interval = (1 / best.ci95[1], 1 / best.ci95[0])
            yield Regression(entry.run, row, 1 / best.median, f"'{best.vs}'", interval)
