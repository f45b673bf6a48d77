# SPDX-License-Identifier: GPL-2.0-only
"""A session of `bench`: one or several speed-ups prepared, measured and kept."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from mmbatch.bench import machine, record, results, runs
from mmbatch.bench.store import RECORD, SAMPLES
from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.console import Console
from mmbatch.core.disk import new_dir
from mmbatch.hosted import build, run
from mmbatch.hosted.build import Program
from mmbatch.hosted.events import Case, Event, write_events
from mmbatch.hosted.run import Request
from mmbatch.kernel.sources import Source
from mmbatch.splice import manifest, trees


@dataclass(frozen=True)
class Prepared:
    """A speed-up that only has to be run.

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


@dataclass(frozen=True)
class Session:
    """What all speed-ups of a session share.

    Attributes:
        console: where progress is shown.
        cache: where all is built and kept.
        tree: the user's own tree, as named on the command line.
        options: configuration, "CONFIG_X=y" each.
        jobs: how many compilers at a time.
    """

    console: Console
    cache: Cache
    tree: Path | None
    options: tuple[str, ...]
    jobs: int

    def all_of(self, source: Source) -> tuple[str, ...]:
        """Return the names of the speed-ups that can be measured on a kernel."""
        names = manifest.known(paths.SPEEDUPS)
        speedups = [manifest.load(paths.SPEEDUPS / name) for name in names]
        return tuple(m.speedup for m in speedups if m.hosted and source.series in m.kernels)

    def prepare(self, source: Source, speedup: str, request: Request, part: int) -> Prepared:
        """Build a speed-up's program and see that there is room to run it.

        Args:
            source: the kernel.
            speedup: its name.
            request: what to run.
            part: divide the size of the large cases by this.
        """
        manifests = manifest.load_with_needs(paths.SPEEDUPS, speedup)
        say = self.console.say
        spliced = trees.splice(self.cache, source, manifests, paths.MACROS, say)
        program = build.build(
            self.cache,
            source,
            spliced,
            manifests[-1],
            paths.HOSTED,
            self.options,
            self.jobs,
            say,
        )
        cases = run.plan(program.path, request)
        sizes = [case.items for case in cases if not case.fixed]
        if part > 1 and sizes:
            request = replace(request, items=max(sizes) // part)
            cases = run.plan(program.path, request)
        return Prepared(speedup, source, program, request, cases)

    def measure(
        self, prepared: Sequence[Prepared], places: Mapping[str, Path], *, interleave: bool
    ) -> list[Path]:
        """Measure speed-ups, and keep samples and record of each.

        Args:
            prepared: the speed-ups.
            places: speed-up to the directory that the user wants; others get one in the cache.
            interleave: take turns, so that what changes during the session is in all alike.

        Returns:
            The directories, in the same order.
        """
        started = datetime.now().astimezone().isoformat(timespec="seconds")
        here = machine.describe()
        for work in prepared:
            run.require_memory(work.cases, run.available_memory(here.available_bytes))
        folders = [places.get(work.speedup) or self._folder(work, started) for work in prepared]
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        if interleave:
            measured = self._in_turns(prepared, folders)
        else:
            measured = [
                self._run(work, work.request, folder / "hosted.log")
                for work, folder in zip(prepared, folders, strict=True)
            ]
        for work, folder, events in zip(prepared, folders, measured, strict=True):
            write_events(folder / SAMPLES, events)
            result = results.build_record(
                runs.collect(events),
                replace(here, compiler=work.program.compiler),
                record.KernelInfo(
                    work.source.release, work.source.origin, work.program.config_sha256
                ),
                self._reproducer(prepared if interleave else [work], interleave=interleave),
                started,
            )
            record.write(folder / RECORD, result)
        return folders

    def _in_turns(self, prepared: Sequence[Prepared], folders: Sequence[Path]) -> list[list[Event]]:
        parts: dict[str, list[list[Event]]] = {work.speedup: [] for work in prepared}
        logs = {work.speedup: place for work, place in zip(prepared, folders, strict=True)}
        for number in range(runs.ROUNDS):
            turn = prepared if number % 2 == 0 else prepared[::-1]
            for work in turn:
                pairs = runs.share(work.request.pairs, number)
                if pairs:
                    self.console.say(f"round {number + 1} of {runs.ROUNDS}: {work.speedup}")
                    seed = runs.round_seed(work.request.seed, number)
                    budget_s = work.request.budget_s and -(-work.request.budget_s // runs.ROUNDS)
                    request = replace(work.request, pairs=pairs, seed=seed, budget_s=budget_s)
                    log = logs[work.speedup] / f"hosted-{number + 1}.log"
                    parts[work.speedup].append(self._run(work, request, log))
        return [runs.join(parts[work.speedup]) for work in prepared]

    def _run(self, work: Prepared, request: Request, log: Path) -> list[Event]:
        return run.run(work.program.path, request, work.cases, self.console, log)

    def _folder(self, work: Prepared, started: str) -> Path:
        name = f"{started[:19].replace(':', '')}-{work.speedup}-{work.source.release}"
        return new_dir(self.cache.runs, name)

    def _reproducer(self, prepared: Sequence[Prepared], *, interleave: bool) -> str:
        """Return the command that repeats a run, with nothing left to defaults that move."""
        request = prepared[0].request
        words = ["./mmbatch", "bench", *(work.speedup for work in prepared)]
        words += ["--interleave"] if interleave else []
        if self.tree is None:
            words += ["--kernel", prepared[0].source.series]
        else:
            words += ["--tree", os.fspath(self.tree)]
        words += [word for option in self.options for word in ("-K", option)]
        words += [word for case in request.cases for word in ("--case", case)]
        words += [word for feature in request.features for word in ("--cpu", feature)]
        if request.items is not None:
            words += ["--pfns", str(request.items)]
        words += ["--repeats", str(request.pairs), "--seed", str(request.seed)]
        return shlex.join(words)
