# SPDX-License-Identifier: GPL-2.0-only
"""The support matrix: what fits which kernel, by the manifests and by runs of the tests."""

from __future__ import annotations

import json
import platform
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from mmbatch.core import disk, paths, process
from mmbatch.core.errors import MmbatchError
from mmbatch.core.interval import release_numbers
from mmbatch.core.load import from_json_file
from mmbatch.core.outcomes import CaseOutcome
from mmbatch.hosted.check import Tally
from mmbatch.splice.manifest import Manifest, suites_of

SCHEMA = 3
GUESTS = "guests"
"""The stage that boots kernels; a run with no other one is of `mmbatch guest test`."""


@dataclass(frozen=True)
class Stage:
    """One stage of `mmbatch test`, or its guests alone, and whether it passed."""

    name: str
    passed: bool


@dataclass(frozen=True)
class Checked:
    """What `mmbatch check` verified of a speed-up on a kernel.

    Attributes:
        speedup: its name.
        kernel: the release.
        arch: what the kernel's objects were made for.
        passed: builds that produced identical memory, and mutants that were killed.
        failed: those that did not.
        skipped: mutants of code that the kernel does not have, and fuzzing without clang.
        combinations: inputs that were compared.
        mutants: how many were killed.
    """

    speedup: str
    kernel: str
    arch: str
    passed: int
    failed: int
    skipped: int
    combinations: int
    mutants: int


@dataclass(frozen=True)
class Boot:
    """What one booted kernel showed of a speed-up.

    Attributes:
        speedup: its name.
        kernel: the release.
        arch: the guest's.
        kind: of the kernel: plain, debug, kasan or kcsan.
        good: whether nothing at all failed in that guest.
        suites: the speed-up's KUnit suites that ran to their end.
        passed: KUnit cases of theirs that passed.
        skipped: those that the guest's CPU has no instruction for.
    """

    speedup: str
    kernel: str
    arch: str
    kind: str
    good: bool
    suites: tuple[str, ...]
    passed: int
    skipped: int


@dataclass(frozen=True)
class Live:
    """What a distribution's kernel showed that loaded speed-ups while it ran.

    Attributes:
        kernel: the release, as the distribution names it.
        speedups: that it loaded.
        good: whether nothing at all failed.
        passed: checks that passed, of all boots.
        rounds: how often all were loaded and unloaded under load, at most.
    """

    kernel: str
    speedups: tuple[str, ...]
    good: bool
    passed: int
    rounds: int


@dataclass(frozen=True)
class Run:
    """What one run of tests verified.

    Attributes:
        commit: the project's, short; with "-dirty" when the checkout had more in it.
        date: when it ended, in UTC.
        stages: those that ran.
        checked: results of checks.
        booted: results of guests.
        lived: results of distributions' kernels.
    """

    commit: str
    date: str
    stages: tuple[Stage, ...]
    checked: tuple[Checked, ...]
    booted: tuple[Boot, ...]
    lived: tuple[Live, ...]

    @property
    def whole(self) -> bool:
        """Whether it was a run of all tests, not of guests alone."""
        return [stage.name for stage in self.stages] != [GUESTS]

    def replaces(self, other: Run) -> bool:
        """Return whether it ran the same tests on the same kernels as an earlier run."""
        if self.whole or other.whole:
            return self.whole and other.whole
        return {boot.kernel for boot in self.booted} == {boot.kernel for boot in other.booted}


@dataclass(frozen=True)
class _File:
    schema: int
    runs: tuple[Run, ...]


@dataclass
class Log:
    """A run of all tests in the making; every stage adds its results.

    Guests add the outcome of each of their tests too, which `write` does not keep.
    """

    stages: list[Stage] = field(default_factory=list)
    checks: list[Checked] = field(default_factory=list)
    boots: list[Boot] = field(default_factory=list)
    lives: list[Live] = field(default_factory=list)
    outcomes: list[CaseOutcome] = field(default_factory=list)

    def checked(self, speedup: str, release: str, tally: Tally) -> None:
        """Keep how the checks of a speed-up on a kernel ended."""
        counts = (tally.passed, len(tally.failed), len(tally.skipped))
        more = (tally.combinations, tally.killed)
        self.checks.append(Checked(speedup, release, platform.machine(), *counts, *more))

    def booted(
        self,
        manifests: Sequence[Manifest],
        release: str,
        arch: str,
        kind: str,
        suites: Collection[str],
        cases: Sequence[tuple[str, str]],
        *,
        good: bool,
    ) -> None:
        """Keep what a guest showed of each speed-up that is in its kernel.

        Suites are the KUnit suites that came to their end. A case is ("suite.case", its state).
        """
        for manifest in manifests:
            ended = tuple(suite for suite in suites_of(manifest) if suite in suites)
            states = [state for name, state in cases if name.split(".")[0] in ended]
            counts = (states.count("ok"), states.count("skipped"))
            self.boots.append(Boot(manifest.speedup, release, arch, kind, good, ended, *counts))

    def write(self, path: Path) -> None:
        """Put this run into a file that `read` reads.

        Other runs in the file stay, but for an earlier one of the same tests on the same kernels.

        Raises:
            MmbatchError: the file holds something else.
        """
        latest = Run(
            _commit(),
            datetime.now(UTC).strftime("%Y-%m-%d"),
            tuple(self.stages),
            tuple(self.checks),
            tuple(self.boots),
            tuple(self.lives),
        )
        others = [run for run in _there(path) if not latest.replaces(run)]
        runs = sorted([*others, latest], key=lambda run: (not run.whole, _releases(run)))
        file = _File(SCHEMA, tuple(runs))
        disk.atomic_write(path, json.dumps(asdict(file), indent=1) + "\n")


def check_place(path: Path) -> None:
    """Raise unless a run that takes long can be kept there when it ends.

    Raises:
        MmbatchError: its directory takes no file, or the file holds something else.
    """
    disk.require_file(path, "--json")
    _there(path)


def read(path: Path) -> tuple[Run, ...]:
    """Read the runs of tests, that of all tests first.

    Raises:
        MmbatchError: it can't be read, or is no such file.
    """
    hint = "give a file that --json of `mmbatch test` or `mmbatch guest test` wrote"
    file = from_json_file(_File, path, hint)
    if file.schema != SCHEMA:
        raise MmbatchError(f"read {path}", f"schema: must be {SCHEMA}, not {file.schema}", hint)
    return file.runs


def _there(path: Path) -> tuple[Run, ...]:
    return read(path) if path.is_file() else ()


def _releases(run: Run) -> list[list[int]]:
    """Return the kernels of a run's guests as numbers."""
    return sorted(release_numbers(name) for name in {boot.kernel for boot in run.booted})


def _commit() -> str:
    words = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    done = process.run(words, action="name the commit", cwd=paths.ROOT, check=False)
    return done.stdout.strip() or "unknown"
