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


@dataclass(frozen=True)
class GuestBuild:
    """Written by `guest build`.

    Attributes:
        release: of the kernel.
        arch: the architecture that it was built for.
        kind: plain, debug, kasan or kcsan.
        image: its file.
    """

    release: str
    arch: str
    kind: str
    image: str


@dataclass(frozen=True)
class LiveModule:
    """One livepatch module.

    Attributes:
        speedup: the speed-up.
        name: of the module.
        file: where it is.
        release: of the kernel that it fits, as printed by `uname -r`.
    """

    speedup: str
    name: str
    file: str
    release: str


@dataclass(frozen=True)
class LiveBuild:
    """Written by `live build`.

    Attributes:
        modules: one for each speed-up.
    """

    modules: list[LiveModule]


@dataclass(frozen=True)
class LivePackages:
    """Written by `live dkms`.

    Attributes:
        packages: the file of each Debian package.
    """

    packages: list[str]


@dataclass(frozen=True)
class LiveFit:
    """Whether an installed kernel gets the module of a speed-up.

    Attributes:
        release: of the kernel, as printed by `uname -r`.
        speedup: the speed-up.
        problem: why not, or empty.
    """

    release: str
    speedup: str
    problem: str


@dataclass(frozen=True)
class LiveInstall:
    """Written by `live install`.

    Attributes:
        root: the root directory of the system.
        dry_run: whether nothing was changed.
        changed: the packages that were, or would be, installed.
        speedups: all that are installed then, those that were there before among them.
        kernels: one for each installed kernel and speed-up.
        drivers: the drivers that find modules loaded, each with these modules.
        files: what is installed, without the sources of modules.
    """

    root: str
    dry_run: bool
    changed: list[str]
    speedups: list[str]
    kernels: list[LiveFit]
    drivers: dict[str, list[str]]
    files: list[str]


@dataclass(frozen=True)
class LiveUninstall:
    """Written by `live uninstall`.

    Attributes:
        root: the root directory of the system.
        dry_run: whether nothing was changed.
        removed: the packages that were, or would be, removed.
    """

    root: str
    dry_run: bool
    removed: list[str]


@dataclass(frozen=True)
class LiveTest:
    """Written by `live test`.

    Attributes:
        release: of the kernel that was booted.
        speedups: the speed-ups that it loaded.
        good: whether nothing failed.
        passed: how many checks passed.
        rounds: how often all modules were loaded and unloaded under load.
    """

    release: str
    speedups: list[str]
    good: bool
    passed: int
    rounds: int


@dataclass(frozen=True)
class Left:
    """Calls that a speed-up left to the kernel's own function.

    Attributes:
        reason: why.
        calls: how many.
        pages: how many pages they were for.
    """

    reason: str
    calls: int
    pages: int


@dataclass(frozen=True)
class Function:
    """One function that a speed-up replaces.

    Attributes:
        speedup: the speed-up.
        function: its name.
        runs: what the kernel runs for it now.
        active: whether every task runs the speed-up for it.
        calls: how many calls the speed-up handled since its module was loaded, or null if it is
            not loaded.
        pages: how many pages these calls were for, or null.
        left: one for each reason for which it left calls to the kernel.
    """

    speedup: str
    function: str
    runs: str
    active: bool = False
    calls: int | None = None
    pages: int | None = None
    left: list[Left] = field(default_factory=list)


@dataclass(frozen=True)
class LiveSpeedup:
    """One speed-up, and the running kernel.

    Attributes:
        speedup: its name.
        loaded: whether its module is loaded.
        method: the method that it uses, or null if it is not loaded or has only one.
        proof: of a speed-up that compares its results with the kernel's before it is used:
            `passed`, `failed`, or `none` before the first use; else null.
        supported: whether this kernel can take it, as far as can be told without building it.
        problem: why not, or empty.
        remedy: what would make it so, or empty.
    """

    speedup: str
    loaded: bool
    method: str | None
    proof: str | None
    supported: bool
    problem: str
    remedy: str


@dataclass(frozen=True)
class LiveStatus:
    """Written by `live status`, and by `live load` and `live unload` when they have finished.

    Attributes:
        release: of the running kernel, as printed by `uname -r`.
        functions: one for each function that a speed-up replaces, as it is now.
        speedups: one for each speed-up.
    """

    release: str
    functions: list[Function]
    speedups: list[LiveSpeedup]


@dataclass(frozen=True)
class PlannedDevice:
    """Memory of a device that a driver binds.

    Attributes:
        device: its name in sysfs.
        mode: fsdax, devdax, system-ram, private (memory of a GPU), raw or sector.
        size: bytes that get a memmap.
        memmap: where that is: device, ram or none.
        node: its NUMA node, or -1.
        bound: whether a driver is bound to it.
        source: who described it: sysfs, or the name of a program.
        speedup: what it gains from, or null.
        function: what the kernel calls for it, or null.
        now: what that takes now, in `unit`, or null.
        then: what it would take with the speed-up, or null.
        first: what its first bind adds, in nanoseconds; null if nobody measured that.
    """

    device: str
    mode: str
    size: int
    memmap: str
    node: int
    bound: bool
    source: str
    speedup: str | None = None
    function: str | None = None
    now: float | None = None
    then: float | None = None
    first: float | None = None


@dataclass(frozen=True)
class LivePlan:
    """Written by `live plan`.

    Attributes:
        release: of the running kernel, as printed by `uname -r`.
        gains: whether a device here gains.
        unit: of `now` and `then`, "ns" or "instructions", or null if nothing gains.
        now: what binding all devices takes now in the functions, or null.
        then: what it would take with the speed-ups, or null.
        less: the least and the most that this saves, by the 95 % intervals of the measurement, or
            null.
        first: what the first bind of all devices adds, in nanoseconds, or null.
        devices: one for each device that was found.
        unchanged: what binding takes beside and does not change.
        speedups: one for each speed-up that devices can gain from.
        records: for each of these the file with what was measured, empty if nothing was.
        cpu: what was measured on, or null.
    """

    release: str
    gains: bool
    unit: str | None
    now: float | None
    then: float | None
    less: tuple[float, float] | None
    first: float | None
    devices: list[PlannedDevice]
    unchanged: list[str]
    speedups: list[LiveSpeedup]
    records: dict[str, str]
    cpu: str | None


ALL = (
    *(Apply, Step, BenchList, Case, Check, Doctor, Export, Series, GuestBuild),
    *(LiveBuild, LiveModule, LivePackages, LiveInstall, LiveFit, LiveUninstall),
    *(LivePlan, PlannedDevice),
    *(LiveStatus, Function, Left, LiveSpeedup, LiveTest),
)
"""In the order of docs/reference.md."""
