# SPDX-License-Identifier: GPL-2.0-only
"""What a run of the tests saw of each speed-up: on which kernel, how often, and how it ended."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from mmbatch.core import disk, paths, process
from mmbatch.core.errors import MmbatchError
from mmbatch.core.load import from_json_file
from mmbatch.hosted.check import Tally
from mmbatch.splice.manifest import Manifest, suites_of

SCHEMA = 3
GUESTS = "guests"
"""The stage that boots kernels; a run with no other one is of `mmbatch guest test`."""

KEPT = paths.ROOT / "docs" / "support-matrix.json"
"""The runs that the support matrix shows: one of all tests, and those of other guests."""


class Case(Protocol):
    """A KUnit case: "suite.case", and "ok", "not ok" or "skipped"."""

    @property
    def name(self) -> str:
        """suite.case."""

    @property
    def state(self) -> str:
        """How it ended."""


class Heard(Protocol):
    """What a guest printed: the suites that came to their end, and their cases."""

    @property
    def suites(self) -> Mapping[str, bool]:
        """Suite to whether it passed."""

    @property
    def cases(self) -> Sequence[Case]:
        """All cases."""


@dataclass(frozen=True)
class Stage:
    """One stage of `mmbatch test`, or its guests alone, and whether it passed."""

    name: str
    passed: bool


@dataclass(frozen=True)
class Checked:
    """What `mmbatch check` saw of a speed-up on a kernel.

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
        kind: of the kernel: plain, debug or kasan.
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
class Seen:
    """What one run of tests saw.

    Attributes:
        commit: the project's, short; with "-dirty" when the checkout had more in it.
        date: when it ended, in UTC.
        stages: those that ran.
        checked: what checks saw.
        booted: what guests saw.
        lived: what distributions' kernels saw.
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

    def replaces(self, other: Seen) -> bool:
        """Tell whether it ran the same tests on the same kernels as an earlier run."""
        if self.whole or other.whole:
            return self.whole and other.whole
        return {boot.kernel for boot in self.booted} == {boot.kernel for boot in other.booted}


@dataclass(frozen=True)
class _File:
    schema: int
    runs: tuple[Seen, ...]


@dataclass
class Log:
    """A run of all tests in the making; every stage adds what it sees."""

    stages: list[Stage] = field(default_factory=list)
    checks: list[Checked] = field(default_factory=list)
    boots: list[Boot] = field(default_factory=list)
    lives: list[Live] = field(default_factory=list)

    def checked(self, speedup: str, release: str, tally: Tally) -> None:
        """Keep how the checks of a speed-up on a kernel ended."""
        counts = (tally.passed, len(tally.failed), len(tally.skipped))
        more = (tally.combinations, len(tally.killed))
        self.checks.append(Checked(speedup, release, platform.machine(), *counts, *more))

    def booted(
        self,
        manifests: Sequence[Manifest],
        release: str,
        arch: str,
        kind: str,
        heard: Heard,
        *,
        good: bool,
    ) -> None:
        """Keep what a guest printed about each speed-up that is in its kernel."""
        for one in manifests:
            ended = tuple(suite for suite in suites_of(one) if suite in heard.suites)
            states = [case.state for case in heard.cases if case.name.split(".")[0] in ended]
            counts = (states.count("ok"), states.count("skipped"))
            self.boots.append(Boot(one.speedup, release, arch, kind, good, ended, *counts))

    def write(self, path: Path) -> None:
        """Put this run into a file that `read` reads.

        Other runs in the file stay, but for an earlier one of the same tests on the same kernels.

        Raises:
            MmbatchError: the file holds something else.
        """
        mine = Seen(
            _commit(),
            datetime.now(UTC).strftime("%Y-%m-%d"),
            tuple(self.stages),
            tuple(self.checks),
            tuple(self.boots),
            tuple(self.lives),
        )
        others = [run for run in _there(path) if not mine.replaces(run)]
        runs = sorted([*others, mine], key=lambda run: (not run.whole, _releases(run)))
        file = _File(SCHEMA, tuple(runs))
        disk.atomic_write(path, json.dumps(asdict(file), indent=1) + "\n")


def check_place(path: Path) -> None:
    """Raise unless a run that takes long can be kept there when it ends.

    Raises:
        MmbatchError: its directory takes no file, or the file holds something else.
    """
    if not disk.is_special(path):
        disk.require_place(path.parent, "--json")
    _there(path)


def read(path: Path) -> tuple[Seen, ...]:
    """Read what runs of tests saw, that of all tests first.

    Raises:
        MmbatchError: it can't be read, or is no such file.
    """
    hint = "give a file that --json of `mmbatch test` or `mmbatch guest test` wrote"
    file = from_json_file(_File, path, hint)
    if file.schema != SCHEMA:
        raise MmbatchError(f"read {path}", f"schema: must be {SCHEMA}, not {file.schema}", hint)
    return file.runs


def _there(path: Path) -> tuple[Seen, ...]:
    return read(path) if path.is_file() else ()


def _releases(run: Seen) -> list[list[int]]:
    """Return the kernels of a run's guests as numbers, so that 6.12 comes before 7.2."""
    names = {boot.kernel for boot in run.booted}
    return sorted([int(part) for part in re.findall(r"\d+", name)] for name in names)


def _commit() -> str:
    words = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    done = process.run(words, action="name the commit", cwd=paths.ROOT, check=False)
    return done.stdout.strip() or "unknown"
