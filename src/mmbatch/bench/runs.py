# SPDX-License-Identifier: GPL-2.0-only
"""A run: an engine's events put in order, with untrusted times kept out of reach.

A number may only be printed for a build whose equality check passed in the same run. That rule
is kept here, once: `CaseRun.times` and `CaseRun.pairs` are empty for a variant that isn't proven.

A program is started several times, and `join` makes one run of these.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mmbatch.core.errors import MmbatchError
from mmbatch.hosted.events import (
    BASE,
    Case,
    Check,
    Done,
    Engine,
    Equal,
    Event,
    Note,
    Sample,
    digest,
    is_limit,
    read_events,
)

STARTS = 4
"""How many times a program is started, so that its samples show what a start decides by chance."""

_SEEDS = 1 << 64


@dataclass(frozen=True)
class Pairs:
    """Paired times in ns: `first[i]` and `second[i]` are of one half of block `blocks[i]`.

    The program was started for the time `starts[i]`, from 0.
    """

    first: tuple[int, ...]
    second: tuple[int, ...]
    blocks: tuple[int, ...]
    starts: tuple[int, ...]


@dataclass
class CaseRun:
    """What one run measured of one case.

    Attributes:
        case: the workload.
        samples: all samples by variant and (block, half), in the case's order of variants;
            raw, whether proven or not: for numbers use `times` and `pairs`.
        checks: the equality checks by variant.
        void: whether the bench's own check failed, so that nothing here counts.
    """

    case: Case
    samples: dict[str, dict[tuple[int, int], Sample]] = field(default_factory=dict)
    checks: dict[str, list[Equal]] = field(default_factory=dict)
    void: bool = False

    def __post_init__(self) -> None:
        """Give every variant of the case its place."""
        for variant in self.case.variants:
            self.samples.setdefault(variant, {})
            self.checks.setdefault(variant, [])

    def equality(self, variant: str) -> bool | None:
        """Whether every check of a variant passed; None where there was none."""
        if self.void:
            return False
        checks = self.checks[variant]
        return all(check.equal for check in checks) if checks else None

    def trusted(self, variant: str) -> bool:
        """Whether numbers of a variant may be printed.

        Base is the oracle and limits do other work, so neither needs a check; everything else,
        the control too, needs one that passed. If base failed against itself, nothing counts.
        """
        if self.equality(BASE) is False:
            return False
        return is_limit(variant) or variant == BASE or self.equality(variant) is True

    def times(self, variant: str) -> list[int]:
        """Times of a trusted variant in ns, by block and half; empty for any other."""
        if not self.trusted(variant):
            return []
        return [sample.ns for _, sample in sorted(self.samples[variant].items())]

    def pairs(self, first: str, second: str) -> Pairs:
        """Times of two trusted variants in the same block and half; empty for any other."""
        if not (self.trusted(first) and self.trusted(second)):
            return Pairs((), (), (), ())
        return self.unproven_pairs(first, second)

    def unproven_pairs(self, first: str, second: str) -> Pairs:
        """Times of two variants in the same block and half, which may do different work."""
        own, other = self.samples[first], self.samples[second]
        places = sorted(own.keys() & other.keys())
        return Pairs(
            tuple(own[place].ns for place in places),
            tuple(other[place].ns for place in places),
            tuple(block for block, _ in places),
            tuple(own[place].start for place in places),
        )


@dataclass(frozen=True)
class Run:
    """An engine's whole output.

    Attributes:
        engine: the engine's first event.
        cases: the cases in the order of the run.
        notes: sentences for the reader.
        complete: whether the engine ran to its end.
        sha256: of the bytes of `samples.jsonl`, hex.
    """

    engine: Engine
    cases: dict[str, CaseRun]
    notes: tuple[Note, ...]
    complete: bool
    sha256: str


def _inconsistent(problem: str) -> MmbatchError:
    return MmbatchError(
        "put the engine's events in order", problem, "run `bench` again; keep the samples for a bug"
    )


def _place(cases: dict[str, CaseRun], event: Equal | Sample) -> None:
    case = cases.get(event.case)
    if case is None or event.variant not in case.samples:
        raise _inconsistent(f"{event.event} of {event.variant!r} in unknown case {event.case!r}")
    if isinstance(event, Equal):
        case.checks[event.variant].append(event)
        return
    place = (event.block, event.half)
    if place in case.samples[event.variant]:
        raise _inconsistent(f"{event.variant!r} in {event.case!r} has two samples at {place}")
    case.samples[event.variant][place] = event


def _note(check: Check) -> Note:
    if not check.good:
        return Note("", f"CHECK FAILED, so nothing was timed: {check.text}")
    return Note(
        "",
        f"checked first: {check.runs:,} runs over {check.combinations:,} combinations of inputs, "
        f"{check.stepped:,} of them instruction by instruction",
    )


def collect(events: Iterable[Event]) -> Run:
    """Put events in order.

    Args:
        events: those of the engine, in its order. The engine event may come again (an engine
            that runs one process a case), if it says the same.

    Returns:
        The run; `sha256` is that of the file that `events.write_events` makes of the events.

    Raises:
        MmbatchError: no engine event or two different ones, a case twice, or a sample or check
            of a case or variant that was not announced.
    """
    events = list(events)
    engine: Engine | None = None
    cases: dict[str, CaseRun] = {}
    notes: list[Note] = []
    failed = False
    for event in events:
        if isinstance(event, Engine):
            if engine not in (None, event):
                raise _inconsistent("two different engines in one run")
            engine = event
        elif isinstance(event, Case):
            if event.case in cases:
                raise _inconsistent(f"case {event.case!r} comes twice")
            cases[event.case] = CaseRun(event)
        elif isinstance(event, Note):
            notes.append(event)
        elif isinstance(event, Check):
            failed = failed or not event.good
            notes.append(_note(event))
        elif not isinstance(event, Done):
            _place(cases, event)
    if engine is None:
        raise _inconsistent("no engine event")
    for case in cases.values():
        case.void = failed
    complete = isinstance(events[-1], Done)
    if not complete:
        notes.append(Note("", "the engine did not run to its end"))
    return Run(engine, cases, tuple(notes), complete, digest(events))


def read(path: Path) -> Run:
    """Read `samples.jsonl` as a run, whose `sha256` is that of the file's bytes.

    Raises:
        MmbatchError: see `events.read_events` and `collect`.
    """
    events, notes = read_events(path)
    run = collect(events)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return Run(run.engine, run.cases, (*run.notes, *notes), run.complete and not notes, sha256)


def share(pairs: int, number: int) -> int:
    """Return how many of all pairs start `number`, from 0, gets: whole blocks of two."""
    blocks, odd = divmod(pairs, 2)
    own_blocks = blocks // STARTS + (number < blocks % STARTS)
    return 2 * own_blocks + (odd if number == STARTS - 1 else 0)


def start_seed(first: int, number: int) -> int:
    """Return a start's seed, another for each, and the user's own for the first.

    The program begins with the layout of the code that the seed gives, modulo the number of
    layouts. Each start adds 1 to that, so that few blocks in each reach all of them.
    """
    return (first + number * 0x9E3779B97F4A7C15) % _SEEDS


def join(runs: Sequence[Sequence[Event]]) -> list[Event]:
    """Make one run of several starts of the same program: its blocks are numbered on.

    Args:
        runs: the program's events of each start.

    Returns:
        The events of one run. A case comes once, with all of its pairs; an event that came before
        is left out; it ends with `Done` if all did.
    """
    pairs: dict[str, int] = {}
    for event in (event for run in runs for event in run):
        if isinstance(event, Case):
            pairs[event.case] = pairs.get(event.case, 0) + event.pairs
    joined: list[Event] = []
    known: set[str] = set()
    for event in _numbered_on(runs):
        if isinstance(event, (Engine, Case, Note, Check, Equal)):
            words = f"case {event.case}" if isinstance(event, Case) else repr(event)
            if words in known:
                continue
            known.add(words)
        whole = replace(event, pairs=pairs[event.case]) if isinstance(event, Case) else event
        joined.append(whole)
    if all(run and isinstance(run[-1], Done) for run in runs):
        joined.append(Done())
    return joined


def _numbered_on(runs: Iterable[Iterable[Event]]) -> Iterator[Event]:
    """Yield all events but `Done`, each run's blocks after those of the run before."""
    after: dict[str, int] = {}
    for start, run in enumerate(runs):
        before = dict(after)
        for event in run:
            if isinstance(event, Sample):
                block = event.block + before.get(event.case, 0)
                after[event.case] = max(after.get(event.case, 0), block + 1)
                yield replace(event, block=block, start=start)
            elif not isinstance(event, Done):
                yield event
