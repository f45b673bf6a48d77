# SPDX-License-Identifier: GPL-2.0-only
"""A session of `bench`: one or several speed-ups prepared, measured and kept."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from mmbatch.bench import machine, record, results, runs
from mmbatch.bench.store import RECORD, SAMPLES
from mmbatch.core import paths
from mmbatch.core.cache import Cache, new_dir
from mmbatch.core.console import Console
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.hosted import run
from mmbatch.hosted.events import Case, Check, Equal, Event, Note, write_events
from mmbatch.hosted.program import Program
from mmbatch.hosted.run import Request
from mmbatch.kernel.sources import Source
from mmbatch.splice import manifest
from mmbatch.splice.posted import PostedTree

AGAIN_S = 60
"""Seconds that the cases of a session may take which are measured again, because of noise."""


@dataclass(frozen=True)
class Prepared:
    """A speed-up that is built and ready to run.

    Attributes:
        speedup: its name.
        source: the kernel.
        program: the hosted program.
        request: what to run.
        cases: what the program says that it will do.
    """

    speedup: str
    source: Source
    program: Program
    request: Request
    cases: Sequence[Case]

    @property
    def posted(self) -> tuple[str, ...]:
        """The labels of posted code."""
        return tuple(side.label for side in self.program.sides)


@dataclass(frozen=True, eq=False)
class _Measured:
    """A speed-up that is measured: where its files go, and the events of each start."""

    work: Prepared
    directory: Path
    parts: list[list[Event]]


@dataclass(frozen=True)
class Session:
    """What all speed-ups of a session share.

    Attributes:
        console: where progress is shown.
        cache: where all is built and kept.
        tree: the user's own tree, as named on the command line.
        options: configuration, "CONFIG_X=y" each.
        jobs: how many compilers at a time.
        repeated: more words of the command that repeats a run.
        renamed: function of the harness to the name that it has in posted code.
    """

    console: Console
    cache: Cache
    tree: Path | None
    options: tuple[str, ...]
    jobs: int
    repeated: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)

    def all_of(self, source: Source, *, harnesses: bool) -> tuple[str, ...]:
        """Return the names of the speed-ups that can be measured on a kernel.

        Args:
            source: the kernel.
            harnesses: also those of harnesses, which show nothing but base without posted code.
        """
        names = (manifest.measured if harnesses else manifest.known)(paths.SPEEDUPS)
        speedups = [manifest.load(paths.SPEEDUPS / name) for name in names]
        return tuple(m.speedup for m in speedups if m.hosted and source.series in m.kernels)

    def prepare(
        self,
        source: Source,
        speedup: str,
        request: Request,
        part: int,
        posted: Sequence[PostedTree] = (),
    ) -> Prepared:
        """Build a speed-up's program and see that there is room to run it.

        Args:
            source: the kernel.
            speedup: its name.
            request: what to run.
            part: divide the size of the large cases by this.
            posted: somebody else's code, to be measured beside ours.
        """
        manifests = manifest.load_with_needs(paths.SPEEDUPS, speedup)
        program = Program(
            source, manifests, self.options, self.jobs, posted=posted, renamed=self.renamed
        )
        request = run.with_cache(program.path, request)
        cases = run.plan(program.path, request)
        _refuse_taken(cases)
        sizes = [case.items for case in cases if not case.fixed]
        if part > 1 and sizes:
            request = run.resized(program.path, request, max(sizes) // part)
            cases = run.plan(program.path, request)
        return Prepared(speedup, source, program, request, cases)

    def measure(self, prepared: Sequence[Prepared], places: Mapping[str, Path]) -> list[Path]:
        """Measure speed-ups in turns, and keep samples and record of each.

        Each program is started several times, so that what it draws by lot at its start is in the
        result, and so that what changes during the session is in all speed-ups alike. Cases in
        which noise hides the result are measured once again.

        Args:
            prepared: the speed-ups.
            places: speed-up to the directory that the user wants; others get one in the cache.

        Returns:
            The directories, in the same order.
        """
        started = datetime.now().astimezone().isoformat(timespec="seconds")
        here = machine.describe()
        for work in prepared:
            run.require_memory(work.cases, run.available_memory(here.available_bytes))
        directories = [
            places.get(work.speedup) or self._directory(work, started) for work in prepared
        ]
        for directory in directories:
            directory.mkdir(parents=True, exist_ok=True)
        if all(work.request.budget_s for work in prepared):
            seconds = sum(len(work.cases) * (work.request.budget_s or 0) for work in prepared)
            self.console.say(f"measuring takes at most about {max(1, round(seconds / 60))} min")
        measured = [
            _Measured(work, directory, [])
            for work, directory in zip(prepared, directories, strict=True)
        ]
        self._in_turns(measured, 0)

        def record_of(measurement: _Measured) -> record.Record:
            return results.build_record(
                runs.collect(runs.join(measurement.parts)),
                replace(
                    here,
                    compiler=measurement.work.program.objects.compiler,
                    binutils=measurement.work.program.objects.binutils,
                ),
                record.KernelInfo(
                    measurement.work.source.release,
                    measurement.work.source.origin,
                    measurement.work.program.objects.config_sha256,
                ),
                self._reproducer(prepared),
                started,
                posted=[
                    record.PostedInfo(
                        side.label,
                        side.posted.source,
                        side.posted.sha256,
                        side.posted.patches,
                        tuple(side.compiled),
                    )
                    for side in measurement.work.program.sides
                ],
            )

        found = [record_of(measurement) for measurement in measured]
        again = self._measure_again(measured, [results.hidden(result) for result in found])
        for measurement, result in zip(measured, found, strict=True):
            write_events(measurement.directory / SAMPLES, runs.join(measurement.parts))
            record.write(
                measurement.directory / RECORD,
                record_of(measurement) if measurement.work.speedup in again else result,
            )
        return directories

    def _in_turns(self, measured: Sequence[_Measured], first: int) -> None:
        """Start the programs in turns, and the first of them again in the order of a mirror."""
        for number in range(runs.STARTS):
            for measurement in measured if number % 2 == 0 else measured[::-1]:
                request = measurement.work.request
                pairs = runs.share(request.pairs, number)
                before = [event for part in measurement.parts for event in part]
                if not pairs or any(_differs(event, measurement.work.posted) for event in before):
                    continue
                # Only the start that compares knows which posted variants to leave out.
                compared = bool(before) and not any(_differs(event, ()) for event in before)
                self.console.say(f"start {number + 1} of {runs.STARTS}: {measurement.work.speedup}")
                budget_s = request.budget_s and -(-request.budget_s // runs.STARTS)
                seed = runs.start_seed(request.seed, first + number)
                cases = [
                    replace(case, pairs=case.pairs * pairs // request.pairs)
                    for case in measurement.work.cases
                ]
                request = replace(
                    request, pairs=pairs, seed=seed, budget_s=budget_s, compared=compared
                )
                log = measurement.directory / f"hosted-{first + number + 1}.log"
                events = run.run(measurement.work.program.path, request, cases, log)
                measurement.parts.append(events)

    def _measure_again(
        self, measured: Sequence[_Measured], hidden: Sequence[Sequence[str]]
    ) -> set[str]:
        """Measure the cases again in which noise hides the result, within `AGAIN_S`.

        That is done once, and all samples count: whoever measured until something shows would find
        differences that are none. If the user chose the number of pairs, it stays as it is.

        Returns:
            The names of the speed-ups that have more samples now.
        """
        count = sum(map(len, hidden))
        again = []
        for measurement, names in zip(measured, hidden, strict=True):
            work, request = measurement.work, measurement.work.request
            if not names or request.budget_s is None:
                continue
            budget_s = max(runs.STARTS, min(request.budget_s, AGAIN_S // count))
            self.console.say(
                f"noise hides the result in {len(names)} of {len(work.cases)} cases of "
                f"{work.speedup}, so they are measured again, for about {budget_s * len(names)} s"
            )
            cases = [case for case in work.cases if case.case in names]
            request = replace(request, cases=tuple(names), budget_s=budget_s)
            again.append(replace(measurement, work=replace(work, request=request, cases=cases)))
        self._in_turns(again, runs.STARTS)
        for measurement in again:
            text = "measured again, since noise hid the result"
            measurement.parts[-1][-1:-1] = [
                Note(name, text) for name in measurement.work.request.cases
            ]
        return {measurement.work.speedup for measurement in again}

    def _directory(self, work: Prepared, started: str) -> Path:
        name = f"{started[:19].replace(':', '')}-{work.speedup}-{work.source.release}"
        return new_dir(self.cache.runs, name)

    def _reproducer(self, prepared: Sequence[Prepared]) -> str:
        """Return the command that repeats a run: as it was given, with the kernel and the seed."""
        request = prepared[0].request
        words = ["./mmbatch", "bench", *(work.speedup for work in prepared)]
        if self.tree is None:
            words += ["--kernel", prepared[0].source.series]
        else:
            words += ["--tree", os.fspath(self.tree)]
        words += [word for option in self.options for word in ("-K", option)]
        words += [word for case in request.cases for word in ("--case", case)]
        words += ["--all"] if request.extra else []
        words += self.repeated
        words += ["--only-posted"] if request.only_posted else []
        words += ["--show-unequal"] if request.show_unequal else []
        words += [word for feature in request.features for word in ("--cpu", feature)]
        if request.items is not None:
            words += ["--pfns", str(request.items)]
        words += ["--seed", str(request.seed)]
        return shlex.join(words)


def _differs(event: Event, posted: Sequence[str]) -> bool:
    """Whether an event says that a variant, but not a posted one, differs from base."""
    return (isinstance(event, Equal) and not event.equal and event.variant not in posted) or (
        isinstance(event, Check) and not event.good
    )


def _refuse_taken(cases: Sequence[Case]) -> None:
    """Raise MmbatchError if a label is the name of another variant."""
    for case in cases:
        for label in case.posted:
            if case.variants.count(label) > 1:
                raise MmbatchError(
                    f"measure '{label}'",
                    f"{case.case} has a variant of this name",
                    "choose another label, as in --patch LABEL=FILE",
                    ExitCode.USAGE,
                )
