# SPDX-License-Identifier: GPL-2.0-only
"""What verbs write with --json."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Step:
    """One commit.

    Attributes:
        subject: its subject line.
        changed: lines that it changes in files of the kernel.
        new_files: files that it adds.
        diff: the whole diff, with `-n` only.
    """

    subject: str
    changed: int
    new_files: int
    diff: str = ""


@dataclass(frozen=True)
class Apply:
    """Written by `apply`.

    Attributes:
        release: of the kernel tree, such as "7.3.4".
        speedups: the speed-ups and what they need, in the order in which they are applied.
        branch: the branch in a git tree, or null.
        base: the commit that the branch is on top of, or null.
        output: the directory of the copy, for a tree without git, or null.
        dry_run: whether nothing was written.
        already: what has all of the speed-ups already, or null.
        undone: with `--undo`, the commit that the deleted branch ended at, or null.
        steps: the commits.
    """

    release: str
    speedups: list[str]
    branch: str | None = None
    base: str | None = None
    output: str | None = None
    dry_run: bool = False
    already: str | None = None
    undone: str | None = None
    steps: list[Step] = field(default_factory=list)


@dataclass(frozen=True)
class Case:
    """One case of a speed-up.

    Attributes:
        speedup: the speed-up.
        case: its name, as `--case` takes it.
        regime: what distinguishes it.
        size: how much it works on, in words.
    """

    speedup: str
    case: str
    regime: str
    size: str


@dataclass(frozen=True)
class BenchList:
    """Written by `bench --list`.

    Attributes:
        release: of the kernel.
        cases: one for each case.
    """

    release: str
    cases: list[Case]


@dataclass(frozen=True)
class Check:
    """Written by `check`.

    Attributes:
        passed: how many stages passed.
        failed: a line for each stage that failed.
        skipped: a line for each stage that was skipped.
        mutants_killed: how many deliberately broken copies of the code were caught.
        combinations: how many combinations of inputs were compared.
    """

    passed: int
    failed: list[str]
    skipped: list[str]
    mutants_killed: int
    combinations: int


@dataclass(frozen=True)
class Doctor:
    """Written by `doctor`.

    Attributes:
        checks: for each check its `name`, its `state` (ok, missing or note), what was found as
            `detail`, and what to do as `remedy`, which is empty where there is nothing to do.
        missing: the names of the checks whose state is missing.
        fix: the command that installs what is missing, or null.
    """

    checks: list[dict[str, str]]
    missing: list[str]
    fix: str | None


@dataclass(frozen=True)
class Series:
    """One series of mails.

    Attributes:
        speedup: its speed-up.
        directory: where its mails are.
        mails: the names of their files, the cover letter first.
        measured: whether the cover letter shows a measured run.
        measured_patches: how many patches have figures of their own.
    """

    speedup: str
    directory: str
    mails: list[str]
    measured: bool
    measured_patches: int


@dataclass(frozen=True)
class Export:
    """Written by `export`.

    Attributes:
        release: of the kernel.
        author: of the patches.
        signed_off: whether the mails carry your Signed-off-by line.
        base_commit: that the cover letters name, or null.
        series: one for each speed-up.
        passed: with `--check`, how many checks passed.
        failed: with `--check`, a line for each check that failed.
    """

    release: str
    author: str
    signed_off: bool
    base_commit: str | None
    series: list[Series]
    passed: int
    failed: list[str]


ALL = (Apply, Step, BenchList, Case, Check, Doctor, Export, Series)
"""In the order of docs/reference.md."""
