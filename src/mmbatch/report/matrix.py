# SPDX-License-Identifier: GPL-2.0-only
"""The support matrix: what fits which kernel, by the manifests and by runs of the tests."""

from __future__ import annotations

import json
import platform
import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from mmbatch.core import disk, paths, process
from mmbatch.core.errors import MmbatchError
from mmbatch.core.interval import Interval, release_numbers
from mmbatch.core.load import from_json_file
from mmbatch.core.outcomes import CaseOutcome
from mmbatch.hosted.check import Tally
from mmbatch.kernel.sources import SERIES
from mmbatch.report.markdown import table_row
from mmbatch.splice.manifest import Manifest, Step, known, load_with_needs, suites_of

_HEAD = """\
<!-- SPDX-License-Identifier: GPL-2.0-only -->
<!-- Made from speedups/*/speedup.toml and docs/support-matrix.json:
     ./mmbatch apply --matrix > docs/support-matrix.md -->
# Support matrix

The hooks of each speed-up, the kernels that they are made for, and how often
each must match. `mmbatch apply` and `mmbatch bench` count the matches in your
tree, and stop with exit code 3 if one differs. Files that are added to some
releases only say which ones.
"""

_ARCHES = ("x86_64", "arm64")
SCHEMA = 3
GUESTS = "guests"
"""The stage that boots kernels; a run with no other one is of `mmbatch guest test`."""

RUNS = paths.ROOT / "docs" / "support-matrix.json"
"""The runs that the support matrix shows: one of all tests, and those of other guests."""


@dataclass(frozen=True)
class Row:
    """One place where a speed-up meets the tree.

    Attributes:
        step: the commit that it belongs to.
        hook: what is done there.
        file: path in the tree.
        function: the function it is in; empty where it is in none.
        matches: how often it must match; None for a new file.
        kernels: on which kernels.
    """

    step: str
    hook: str
    file: str
    function: str
    matches: int | None
    kernels: Interval


def rows(manifest: Manifest) -> Iterator[Row]:
    """Yield the rows of a speed-up, step by step."""
    for step in manifest.steps:
        yield from _step_rows(step, manifest.kernels & step.kernels)


def page(speedups_at: Path, runs_file: Path = RUNS) -> str:
    """Return the whole page, in Markdown."""
    manifests = load_with_needs(speedups_at, *known(speedups_at))
    lines = [_HEAD]
    lines.append(table_row("speed-up", *reversed(SERIES), "kernels", "needs"))
    lines.append(table_row(*["---"] * (len(SERIES) + 3)))
    for manifest in manifests:
        marks = ["yes" if series in manifest.kernels else "no" for series in reversed(SERIES)]
        needs = ", ".join(manifest.needs)
        lines.append(table_row(manifest.speedup, *marks, _code(str(manifest.kernels)), needs))
    lines += _tested(manifests, read(runs_file) if runs_file.exists() else ())
    for manifest in manifests:
        lines.append(f"\n## {manifest.speedup}: {manifest.title}\n")
        lines.append(table_row("step", "hook", "file", "function", "matches", "kernels"))
        lines.append(table_row(*["---"] * 6))
        for row in rows(manifest):
            count = "" if row.matches is None else str(row.matches)
            function = f"{row.function}()" if row.function else ""
            cells = (row.hook, _code(row.file), _code(function), count, _code(str(row.kernels)))
            lines.append(table_row(row.step, *cells))
    return "\n".join(lines) + "\n"


def _tested(manifests: Sequence[Manifest], runs: Sequence[Run]) -> Iterator[str]:
    """Yield what runs of the tests verified, and what none tried."""
    yield "\n## What was built, checked and booted\n"
    if not runs:
        yield "No run of all tests is kept: `docs/support-matrix.json` is missing."
        return
    yield textwrap.fill(
        f"`make test` of {_when(runs[0])}, showed this. *Checked*: for how many inputs base and "
        "patched objects produced identical memory, and how many mutants were killed "
        "([check.md](check.md)). *Booted*: how many KUnit cases of the speed-up passed, in each "
        "kind of kernel ([guest.md](guest.md)). *Skipped*: mutants of code that the release does "
        "not have, fuzzing without clang, and cases whose instruction the guest's CPU lacks.",
        80,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for run in runs[1:]:
        releases = ", ".join(sorted({boot.kernel for boot in run.booted}))
        yield f"\nGuests of {releases}: `mmbatch guest test`\nof {_when(run)}."
    failed = [stage.name for run in runs for stage in run.stages if not stage.passed]
    if failed:
        yield f"\nOf the stages these failed: {', '.join(failed)}."
    yield "\n" + table_row("speed-up", "kernel", "arch", "checked", "booted")
    yield table_row(*["---"] * 5)
    for manifest in manifests:
        for series in reversed(SERIES):
            if series in manifest.kernels:
                for arch in _ARCHES:
                    yield _tested_row(runs, manifest.speedup, series, arch)
    yield "\nLoaded into a distribution's kernel while it ran ([live.md](live.md)):\n"
    lived = [live for run in runs for live in run.lived]
    yield from map(_lived, lived) if lived else ["- not tried"]


def _when(run: Run) -> str:
    return f"commit {run.commit}, which ended on {run.date}"


def _tested_row(runs: Sequence[Run], speedup: str, series: str, arch: str) -> str:
    def here(result: Checked | Boot) -> bool:
        release = (result.kernel + ".").startswith(f"{series}.")
        return release and (result.speedup, result.arch) == (speedup, arch)

    checks = [check for run in runs for check in run.checked if here(check)]
    boots = [boot for run in runs for boot in run.booted if here(boot)]
    releases = dict.fromkeys([check.kernel for check in checks] + [boot.kernel for boot in boots])
    checked = "; ".join(map(_checked, checks)) or "not tried"
    booted = "; ".join(map(_booted, boots)) or "not tried"
    return table_row(speedup, ", ".join(releases) or series, arch, checked, booted)


def _checked(check: Checked) -> str:
    if check.failed:
        return f"**{check.failed} failed**"
    mutants = f", {check.mutants} mutants" if check.mutants else ""
    skipped = f", {check.skipped} skipped" if check.skipped else ""
    return f"{check.combinations:,} inputs{mutants}{skipped}"


def _booted(boot: Boot) -> str:
    word = f"{boot.passed} cases" if boot.suites else "no suite"
    if boot.skipped:
        word += f", {boot.skipped} skipped"
    return f"{boot.kind}: {word}" if boot.good else f"{boot.kind}: **failed**"


def _lived(live: Live) -> str:
    loaded = f"- {', '.join(live.speedups)} into {live.kernel}: "
    if not live.good:
        return loaded + "**failed**"
    return (
        loaded + f"{live.passed} checks passed, loaded and unloaded {live.rounds} times under load"
    )


def _step_rows(step: Step, kernels: Interval) -> Iterator[Row]:
    for file in step.files:
        hook = "new file"
        if file.fold:
            hook += f", with the content of {Path(file.target).name}"
        yield Row(step.name, hook, file.place, "", None, kernels & file.kernels)
    for rule in step.rules:
        for hook, count in rule.matches.items():
            name = f"{rule.cocci.name}: {hook}"
            yield Row(step.name, name, rule.file, rule.function, count, kernels & rule.kernels)
    for edit in step.edits:
        name = "lines replaced" if edit.op == "replace" else f"edit: {edit.op}"
        if edit.when:
            name += f", if {edit.when.function}() has {edit.when.line}"
        function = edit.function or ""
        yield Row(step.name, name, edit.file, function, edit.matches, kernels & edit.kernels)


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


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
        more = (tally.combinations, len(tally.killed))
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
