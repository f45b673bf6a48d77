# SPDX-License-Identifier: GPL-2.0-only
"""What a run of the tests saw of each speed-up: on which kernel, how often, and how it ended."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from mmbatch.core import disk, process
from mmbatch.core import paths as checkout
from mmbatch.core.errors import MmbatchError
from mmbatch.core.load import from_json_file
from mmbatch.hosted.check import Tally
from mmbatch.splice.manifest import Manifest, suites_of

SCHEMA = 2
KEPT = checkout.ROOT / "docs" / "support-matrix.json"
"""The run of all tests that the support matrix shows."""

_GUESTS = "support-matrix-*.json"  # beside it: of guests with other kernels


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
        passed: builds that left the same bytes, with mistakes that were caught.
        failed: those that did not.
        skipped: mistakes in code that the kernel does not have, and fuzzing without clang.
        combinations: inputs that were compared.
        mistakes: how many were caught.
    """

    speedup: str
    kernel: str
    arch: str
    passed: int
    failed: int
    skipped: int
    combinations: int
    mistakes: int


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
    """All of it.

    Attributes:
        schema: of the file.
        commit: the project's, short; with "-dirty" when the checkout had more in it.
        date: when it ended, in UTC.
        stages: those that ran.
        checked: what checks saw.
        booted: what guests saw.
        lived: what distributions' kernels saw.
    """

    schema: int
    commit: str
    date: str
    stages: tuple[Stage, ...]
    checked: tuple[Checked, ...]
    booted: tuple[Boot, ...]
    lived: tuple[Live, ...]


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
        """Keep what a guest said of each speed-up that is in its kernel."""
        for one in manifests:
            ended = tuple(suite for suite in suites_of(one) if suite in heard.suites)
            states = [case.state for case in heard.cases if case.name.split(".")[0] in ended]
            counts = (states.count("ok"), states.count("skipped"))
            self.boots.append(Boot(one.speedup, release, arch, kind, good, ended, *counts))

    def write(self, path: Path) -> None:
        """Write the file that `read` reads."""
        seen = Seen(
            SCHEMA,
            _commit(),
            datetime.now(UTC).strftime("%Y-%m-%d"),
            tuple(self.stages),
            tuple(self.checks),
            tuple(self.boots),
            tuple(self.lives),
        )
        disk.atomic_write(path, json.dumps(asdict(seen), indent=1) + "\n")


def kept() -> tuple[Path, ...]:
    """Return the runs that the support matrix shows, that of all tests first."""
    return (KEPT, *sorted(KEPT.parent.glob(_GUESTS)))


def check_place(path: Path) -> None:
    """Raise unless a run that takes long can be kept there when it ends.

    Raises:
        MmbatchError: its folder takes no file.
    """
    if not disk.is_special(path):
        disk.require_place(path.parent, "--json")


def read(path: Path) -> Seen:
    """Read what a run saw.

    Raises:
        MmbatchError: it can't be read, or is no such file.
    """
    hint = "give a file that --json of `mmbatch test` or `mmbatch guest test` wrote"
    seen = from_json_file(Seen, path, hint)
    if seen.schema != SCHEMA:
        raise MmbatchError(f"read {path}", f"schema: must be {SCHEMA}, not {seen.schema}", hint)
    return seen


def _commit() -> str:
    words = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    done = process.run(words, action="name the commit", cwd=checkout.ROOT, check=False)
    return done.stdout.strip() or "unknown"
