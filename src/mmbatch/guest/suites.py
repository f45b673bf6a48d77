# SPDX-License-Identifier: GPL-2.0-only
"""The stages of `mmbatch guest test`, and how they ended."""

from __future__ import annotations

import contextlib
import functools
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import click

from mmbatch.core.cache import Cache
from mmbatch.core.console import Console
from mmbatch.core.errors import ExitCode, MmbatchError, message, suggestion
from mmbatch.core.outcomes import CaseOutcome
from mmbatch.core.process import cpus, side_by_side
from mmbatch.debian import packages
from mmbatch.guest import boots, counts, qemu
from mmbatch.guest.boots import GuestSetup
from mmbatch.guest.build import GuestKernel
from mmbatch.guest.plan import KINDS, ON_REQUEST, PLAIN, Arch, ExtraBoot, Plan, load_plans
from mmbatch.guest.qemu import Boot, Booted, Outcome
from mmbatch.hosted.events import AUTO
from mmbatch.kernel import sources
from mmbatch.report import matrix

ARCHES = ("x86_64", "arm64")
"""The architectures of guests."""

_WITH_PROGRAMS = "x86_64"  # the arm64 guest has KUnit suites only, and one kind of kernel
_USUAL_GIB = 13  # enough for every test that depends on the size
_COUNTED_GIB = 4
_USUAL_REBINDS = 30
_USUAL_ROUNDS = 6
_DEBUG_REBINDS = 5
_MOST_GIB = {"debug": 6, "kasan": 4, "kcsan": 4}
_IN_KASAN = "debug"  # the kind whose options the kernel with KASAN has, too


def size_gib(text: str) -> int:
    """Return a size such as 100G in GiB.

    Raises:
        click.BadParameter: the text is not a size from 1G to 1024G.
    """
    match = re.fullmatch(r"(\d+)G?", text, re.I)
    if match is None or not 1 <= int(match[1]) <= 1024:
        raise click.BadParameter(f"{text} is not a size from 1G to 1024G")
    return int(match[1])


@dataclass(frozen=True)
class Stage:
    """One guest that is built and booted.

    Attributes:
        name: name for people and for its files.
        arch: its architecture.
        kind: kind of the kernel, see `build.Wanted`.
        size_gib: size of its NVDIMM in GiB; 0 if it runs no programs, or has no NVDIMM.
        rebinds: how often a driver is bound again.
        speedup: the speed-up that asks for it, if one does.
        extra: the boot that this speed-up or the user asks for; None if it runs everything of
            all speed-ups.
    """

    name: str
    arch: str
    kind: str
    size_gib: int
    rebinds: int
    speedup: str = ""
    extra: ExtraBoot | None = None

    @property
    def by_name(self) -> bool:
        """Whether it boots only if somebody names it."""
        return self.extra is not None and self.kind in [KINDS[k] for k in self.extra.by_name]


def stages(
    arches: Iterable[str],
    kinds: Sequence[str],
    size_gib: int,
    rebinds: int,
    names: Sequence[str] = (),
) -> list[Stage]:
    """Return the boots of `guest test`.

    Args:
        arches: the architectures.
        kinds: kinds of x86-64 kernels, see `plan.KINDS`; if empty, all but those on request.
        size_gib: size in GiB of the NVDIMM of the plain kernel.
        rebinds: how often each driver is bound again there.
        names: the boots to return; if empty, all but those that boot by name only.

    Raises:
        click.BadParameter: there is no such kind of an architecture's kernel.
        MmbatchError: there is no such boot.
    """
    extras = [(plan.speedup, boot) for plan in load_plans().values() for boot in plan.boots]
    known: list[Stage] = []
    for arch in arches:
        if arch != _WITH_PROGRAMS and kinds:
            raise click.BadParameter(f"{arch} has no {kinds[0]} kernel here; leave out one")
        for kind in (KINDS[name] for name in kinds or KINDS):
            if arch != _WITH_PROGRAMS and kind:
                continue
            name = f"{arch}-{kind}" if kind else arch
            gib = min(size_gib, _MOST_GIB.get(kind, size_gib)) if arch == _WITH_PROGRAMS else 0
            times = min(rebinds, _DEBUG_REBINDS) if kind else rebinds
            known.append(Stage(name, arch, kind, gib, times if gib else 0))
            known += [
                Stage(f"{name}-{boot.name}", arch, kind, 0, 0, speedup, boot)
                for speedup, boot in extras
                if boot.arch == arch
            ]
    for name in names:
        if name not in [stage.name for stage in known]:
            every = [stage.name for stage in known]
            raise MmbatchError(
                f"boot '{name}'",
                "there is no boot of this name",
                suggestion(name, every, "boots"),
                ExitCode.USAGE,
            )
    if names:
        return [stage for stage in known if stage.name in names]
    unasked = () if kinds else ON_REQUEST
    return [stage for stage in known if not stage.by_name and stage.kind not in unasked]


def usual_stages() -> list[Stage]:
    """Return the boots of `make test`.

    The kernel with debugging options is left out, because that with KASAN has them, too. Moves
    of folios under these options are left to `guest test`, for time.
    """
    every = stages(ARCHES, (), _USUAL_GIB, _USUAL_REBINDS)
    return [stage for stage in every if stage.kind != _IN_KASAN]


def suite_stages(arches: Iterable[Arch], names: Sequence[str]) -> list[Stage]:
    """Return boots that run one KUnit suite each and nothing else.

    Raises:
        MmbatchError: no speed-up brings a suite of this name.
    """
    known = boots.known_suites()
    for name in names:
        if name not in known:
            raise MmbatchError(
                f"run the KUnit suite '{name}'",
                "no speed-up has a suite of this name",
                suggestion(name, known, "suites"),
                ExitCode.USAGE,
            )
    return [
        Stage(
            f"{arch}-{name}",
            arch,
            "",
            0,
            0,
            extra=ExtraBoot(name, arch, suites=(name,), cmdline=(f"kunit.filter_glob={name}",)),
        )
        for arch in arches
        for name in names
    ]


def run_all(console: Console, cache: Cache, *, install: bool, log: matrix.Log | None = None) -> int:
    """Run all guest tests of `make test`, on the newest kernel that is available."""
    packages.ensure_guests(
        ARCHES, console.say, may_install=install, log=cache.logs / "apt-install.log"
    )
    source = sources.resolve(cache, None, None, console.say, console.progress, every_file=True)
    manifests = boots.choose_speedups(source)
    setup = GuestSetup(cache, source, manifests, (), cpus(), console.say)
    ended = run_stages(console, setup, usual_stages(), log)
    requests = [request for plan in load_plans().values() for request in gates(plan)]
    jobs = [
        # The kernel is made here, because a lock of the cache is for one thread of ours.
        functools.partial(counts.count, console, setup, request, setup.kernel(request.arch))
        for request in requests
    ]
    with contextlib.closing(side_by_side(jobs, qemu.at_once())) as every:
        for counted in every:
            ended = counts.report(console, setup, counted, None) or ended
    return ended


def gates(plan: Plan) -> list[counts.Request]:
    """Return what `make test` counts of a speed-up: everything that has a least gain."""
    if plan.count is None:
        return []
    return [
        counts.Request(plan.count, arch, _COUNTED_GIB, _USUAL_ROUNDS, None, plan.count.twice)
        for arch in plan.count.least
    ]


def run_stages(
    console: Console, setup: GuestSetup, chosen: Iterable[Stage], log: matrix.Log | None = None
) -> int:
    """Boot one guest after the other, while the next kernels are built.

    Returns:
        FAILED if anything failed in any of them, else GOOD.
    """
    totals = [0, 0, 0]
    log = matrix.Log() if log is None else log
    chosen = list(chosen)
    jobs = [functools.partial(_build, setup, stage) for stage in chosen]
    with contextlib.closing(side_by_side(jobs, 1)) as kernels:
        for stage, kernel in zip(chosen, kernels, strict=True):
            try:
                if isinstance(kernel, MmbatchError):
                    raise kernel
                ended = _run_stage(console, setup, stage, kernel, log)
            except MmbatchError as error:
                console.result(f"FAILED {stage.name}:\n{message(error)}")
                ended = (0, 1, 0)
                log.outcomes.append(CaseOutcome(stage.name, "boot", problem=str(error)))
            totals = [total + number for total, number in zip(totals, ended, strict=True)]
    console.result("{} passed, {} failed, {} skipped".format(*totals))
    return ExitCode.FAILED if totals[1] else ExitCode.GOOD


def _build(setup: GuestSetup, stage: Stage) -> tuple[GuestKernel, float] | MmbatchError | None:
    """Return a guest's kernel and the seconds it took, or None if it lacks the speed-up.

    What went wrong is returned, too, so that the other kernels are built nevertheless.
    """
    if stage.speedup and stage.speedup not in [plan.speedup for plan in setup.plans]:
        return None
    start = time.monotonic()
    try:
        kernel = setup.kernel(stage.arch, stage.kind)
    except MmbatchError as error:
        return error
    return kernel, time.monotonic() - start


def _run_stage(
    console: Console,
    setup: GuestSetup,
    stage: Stage,
    built: tuple[GuestKernel, float] | None,
    log: matrix.Log,
) -> tuple[int, int, int]:
    """Boot a guest, print its results, and return (passed, failed, skipped)."""
    if built is None:
        lacking = f"not booted, this kernel has no {stage.speedup}"
        console.result(f"{stage.name}: {lacking}")
        log.outcomes.append(CaseOutcome(stage.name, "boot", skipped=lacking))
        return 0, 0, 1
    kernel, built_s = built
    plans = setup.plans
    console.say(f"booting {stage.name} (Linux {kernel.release}, built in {built_s:.0f} s)")
    booted = _boot(setup, stage, kernel, plans)
    if booted.ran_stale_code:
        console.say(
            f"{stage.name} panicked at a breakpoint, which QEMU's threads can cause; "
            "booting it again with one thread"
        )
        booted = qemu.run(setup.cache, again_with_one_thread(booted.boot))
    outcome = booted.outcome
    passed, failed, skipped = outcome.verdicts(
        setup.suites if stage.extra is None else stage.extra.suites
    )
    for test in (plan.kernel_test for plan in plans if _runs_kernel_test(stage, plan)):
        assert test is not None
        if not stage.size_gib and test.only_a_module(setup.source.path):
            skipped.append(f"{test.module}: a module in this kernel, and this guest loads none")
        else:
            failed += test.absent(setup.source.path, stage.kind or PLAIN, passed)
    if stage.extra is not None:
        failed += [*absent(outcome, stage.extra), *too_many(outcome, stage.extra)]
    if booted.trouble:
        failed.append(f"{booted.trouble}; the last lines of its console:")
    if stage.extra is None:
        where = (kernel.release, stage.arch, stage.kind or PLAIN)
        cases = [(case.name, case.state) for case in outcome.cases]
        log.booted(setup.manifests, *where, outcome.suites, cases, good=not failed)
    log.outcomes += _outcomes(stage.name, passed, failed, skipped)
    for name in failed:
        console.result(f"FAILED {stage.name}: {name}")
    if booted.trouble:
        console.result(qemu.last_lines(booted))
    for name in passed:
        console.detail(f"passed {stage.name}: {name}")
    for row in rows(outcome):
        console.result(f"{stage.name}: {row}")
    console.result(
        f"{stage.name}: {len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped "
        f"({booted.wall_s:.0f} s, console in "
        f"{qemu.console_file(setup.cache, booted.boot)})"
    )
    return len(passed), len(failed), len(skipped)


def again_with_one_thread(boot: Boot) -> Boot:
    """Return a boot whose one thread emulates all CPUs, in more time and with its own console."""
    return replace(boot, name=f"{boot.name}-again", one_thread=True, limit_s=2 * boot.limit_s)


def _outcomes(
    boot: str, passed: Sequence[str], failed: Sequence[str], skipped: Sequence[str]
) -> Iterator[CaseOutcome]:
    """Yield the tests of a boot, each of which is named "TEST" or "TEST: MORE"."""
    for name in passed:
        yield CaseOutcome(boot, name.partition(": ")[0])
    for name in failed:
        yield CaseOutcome(boot, name.partition(": ")[0], problem=name)
    for name in skipped:
        yield CaseOutcome(boot, name.partition(": ")[0], skipped=name)


def _runs_kernel_test(stage: Stage, plan: Plan) -> bool:
    """Return whether a boot runs a plan's kernel test: built in, or loaded by a script."""
    if plan.kernel_test is None:
        return False
    if stage.extra is not None:
        return stage.speedup == plan.speedup and stage.extra.kernel_test
    return bool(plan.scripts) or not stage.size_gib


def _boot(setup: GuestSetup, stage: Stage, kernel: GuestKernel, plans: Sequence[Plan]) -> Booted:
    kind = stage.kind or PLAIN
    cmdline = boots.cmdline_of(kind)
    if stage.extra is not None and not stage.speedup:
        return boots.suites(setup, kernel, stage.name, (*stage.extra.cmdline, *cmdline))
    if stage.extra is not None:
        (plan,) = (plan for plan in plans if plan.speedup == stage.speedup)
        return boots.extra(setup, kernel, stage.name, kind, plan, stage.extra)
    if not stage.size_gib:
        tests = [plan.kernel_test for plan in plans if plan.kernel_test is not None]
        words = [word for test in tests for word in test.cmdline]
        return boots.suites(setup, kernel, stage.name, (*words, *cmdline))
    return boots.programs(setup, kernel, stage.name, kind, stage.size_gib, stage.rebinds)


def rows(outcome: Outcome) -> Iterator[str]:
    """Yield what was measured, a line for each row.

    Scripts print "ROW: COLUMN NUMBER". What the kernel itself counts is named "ROW COLUMN".
    """
    found: dict[str, list[str]] = {}
    for key, number in outcome.values:
        name, colon, column = key.partition(": ")
        if not colon:
            name, _, column = key.rpartition(" ")
        found.setdefault(name, []).append(f"{number:g} {column}")
    for name, columns in found.items():
        yield f"{name}: {', '.join(columns)}"


def absent(outcome: Outcome, boot: ExtraBoot) -> Iterator[str]:
    """Yield a sentence for each number that a boot should have measured and did not."""
    measured = {key for key, _ in outcome.values}
    for row in boot.rows:
        for column in boot.columns:
            if not measured & {f"{row}: {column}", f"{row} {column}"}:
                yield f"{row}: no number of {column}"


def too_many(outcome: Outcome, boot: ExtraBoot) -> Iterator[str]:
    """Yield a sentence for each row in which `auto` saves less than it must."""
    measured = dict(outcome.values)
    for row, least in boot.least.items():
        base, auto = (measured.get(f"{row} {name}", 0.0) for name in (boots.BASE, AUTO))
        if not auto or base / auto < least:
            yield f"{row}: auto takes {auto:g}, base {base:g}, but must take {least:g} times fewer"
