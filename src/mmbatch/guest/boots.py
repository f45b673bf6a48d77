# SPDX-License-Identifier: GPL-2.0-only
"""Boot what the table says, one row after the other, and report how each ended."""

from __future__ import annotations

import contextlib
import functools
import shlex
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from mmbatch.core import cache, log, paths
from mmbatch.core.errors import MmbatchError, message
from mmbatch.core.process import run, side_by_side
from mmbatch.guest import initramfs, plan, qemu
from mmbatch.guest.console import Outcome
from mmbatch.guest.kernel import ARCHES, Wanted, build
from mmbatch.guest.plan import ALL, STOCK, Boot, Plan
from mmbatch.guest.qemu import Booted, Guest
from mmbatch.hosted.events import AUTO, BASE, CONTROL, CaseOutcome
from mmbatch.kernel.sources import Source
from mmbatch.splice import apply
from mmbatch.splice.manifest import known, load_with_needs, suites_of

Prepare = Callable[[Boot], Guest]
"""Makes a guest for a boot, and builds its kernel if that takes one."""

PATCHED = "patched"
_APART = 0.01  # the share by which counts before loading and after unloading may differ
_SUITES_ON = ("kunit.enable=1", "kunit.autorun=1")
_CHECKS: dict[str, tuple[str, ...]] = {
    "debug": ("page_poison=1",),
    # identify_cpu() forgets for a moment that there are five levels of page tables. KASAN
    # then takes every address that an interrupt uses for a wild one.
    "kasan": ("page_poison=1", "no5lvl"),
}


@dataclass(frozen=True)
class Spliced:
    """Guests whose kernels are built with every speed-up that is made for them.

    `options` are added to the configuration, CONFIG_X=y each, and `jobs` compilers run at a time.
    """

    source: Source
    options: tuple[str, ...]
    jobs: int

    def prepare(self, boot: Boot) -> Guest:
        """Return a guest that can be booted, whose kernel is built unless the cache has it."""
        every = load_with_needs(paths.SPEEDUPS, *known(paths.SPEEDUPS))
        speedups = [each for each in every if self.source.series in each.kernels]
        fragments = (plan.COMMON, *(each.directory / "guest" for each in speedups))
        wanted = Wanted(ARCHES[boot.arch], boot.kernel, self.options, fragments)
        kernel = build(self.source, apply.splice(self.source, speedups), wanted, self.jobs)
        filesystem = None
        if boot.scripts:
            settings = {"KIND": boot.kernel, "NVDIMM_GIB": str(boot.pmem_gib), **boot.settings}
            names = [each.speedup for each in speedups]
            plans = [each for name, each in plan.plans().items() if name in names]
            modules = kernel.image.parent.glob("*.ko")
            files = {f"modules/{path.name}": path.read_bytes() for path in modules}
            filesystem = initramfs.make(files | files_of(plans, boot.scripts, settings))
        if boot.suites == (ALL,):
            own = (each for each in speedups if each.hosted or boot.arch == "arm64")
            boot = replace(boot, suites=tuple(chain.from_iterable(map(suites_of, own))))
        emulated = boot.counted or boot.one_thread or boot.without
        words = (*(_SUITES_ON if boot.suites else ()), *_CHECKS.get(boot.kernel, ()))
        kvm = not emulated and qemu.kvm_works(kernel)
        return Guest(boot, kernel, filesystem, words, kvm=kvm)


def files_of(
    plans: Sequence[Plan], scripts: Iterable[str], settings: Mapping[str, str]
) -> dict[str, bytes]:
    """Return the files that every guest has, by name: all scripts and programs, and what runs."""
    files = {"scripts": " ".join(scripts).encode()}
    files["settings"] = "".join(f"{k}={shlex.quote(v)}\n" for k, v in settings.items()).encode()
    files["init"] = (plan.COMMON / "init").read_bytes()
    for each in (plan.common(), *plans):
        for folder in each.folders:
            for path in folder.glob("*.sh"):
                files[f"{each.speedup}/{path.name}".lstrip("/")] = path.read_bytes()
        for name in each.programs:
            files[f"bin/{name}"] = compiled(each.find(f"{name}.c"))
    return files


@functools.cache
def compiled(source: Path) -> bytes:
    """Return a program for guests, made from one C file."""
    with cache.temporary_dir(source.stem) as directory:
        program = directory / source.stem
        argv = ["gcc", "-static", "-O2", "-Wall", "-o", f"{program}", f"{source}"]
        run(argv, action=f"compile {source.name} for the guest")
        return program.read_bytes()


def run_all(prepare: Prepare, boots: Sequence[Boot]) -> list[CaseOutcome]:
    """Boot guests, as many at a time as this machine can, and report them in their order.

    While one runs, the next is prepared, and its kernel built.
    """
    one = threading.Lock()  # a lock of the cache is for one thread of a process

    def job(boot: Boot) -> Booted | MmbatchError:
        try:
            with one:
                guest = prepare(boot)
            log.say(f"booting {boot.title} (Linux {guest.kernel.release})")
            return qemu.run(guest)
        except MmbatchError as error:  # the others are booted nevertheless
            return error

    outcomes: list[CaseOutcome] = []
    jobs = [functools.partial(job, boot) for boot in boots]
    with contextlib.closing(side_by_side(jobs, qemu.at_once())) as every:
        for boot, ended in zip(boots, every, strict=True):
            if isinstance(ended, MmbatchError):
                log.result(f"FAILED {boot.title}:\n{message(ended)}")
                outcomes.append(CaseOutcome(boot.title, "boot", problem=str(ended)))
            else:
                outcomes += report(ended)
    failed = sum(outcome.problem is not None for outcome in outcomes)
    skipped = sum(outcome.skipped is not None for outcome in outcomes)
    passed = len(outcomes) - failed - skipped
    log.result(f"{passed} passed, {failed} failed, {skipped} skipped")
    return outcomes


def report(booted: Booted) -> list[CaseOutcome]:
    """Print how a boot ended, and return how each of its tests did."""
    boot, outcome = booted.guest.boot, booted.outcome
    passed, failed, skipped = outcome.verdicts(boot.suites)
    for option, names in boot.passes.items():
        if booted.guest.kernel.has(option, "ym" if boot.scripts else "y"):
            failed += [f"{name} did not pass" for name in names if name not in passed]
        else:
            skipped.append(f"{option}: this kernel can't have it built in")
    failed += [*absent(outcome, boot), *too_many(outcome, boot)]
    if booted.trouble:
        failed.append(f"{booted.trouble}; the last lines of its console:\n{booted.last_lines}")
    for name in failed:
        log.result(f"FAILED {boot.title}: {name}")
    for name in passed:
        log.detail(f"passed {boot.title}: {name}")
    for row in rows(outcome):
        log.result(f"{boot.title}: {row}")
    log.result(
        f"{boot.title}: {len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped "
        f"({booted.wall_s:.0f} s, console in {booted.guest.console_file})"
    )
    return [
        *(CaseOutcome(boot.title, name.partition(": ")[0]) for name in passed),
        *(CaseOutcome(boot.title, name.partition(": ")[0], problem=name) for name in failed),
        *(CaseOutcome(boot.title, name.partition(": ")[0], skipped=name) for name in skipped),
    ]


def rows(outcome: Outcome) -> Iterator[str]:
    """Yield what was measured, a line for each row.

    Scripts print "ROW: COLUMN NUMBER". What is counted is named "ROW COLUMN", and interrupts
    only add to it, so the fewest of several samples is shown.
    """
    found: dict[str, dict[str, float]] = {}
    for key, number in outcome.values:
        name, colon, column = key.partition(": ")
        if not colon:
            name, _, column = key.rpartition(" ")
        columns = found.setdefault(name, {})
        columns[column] = min(number, columns.get(column, number))
    for name, columns in found.items():
        cells = [f"{number:.10g} {column}" for column, number in columns.items()]
        ours = columns.get(PATCHED) or columns.get(AUTO)
        if ours and BASE in columns:
            cells.append(f"{columns[BASE] / ours:.2f} times fewer")
        yield f"{name}: {', '.join(cells)}"


def absent(outcome: Outcome, boot: Boot) -> Iterator[str]:
    """Yield a sentence for each number that a boot should have measured and did not."""
    measured = {key for key, _ in outcome.values}
    for row in boot.rows:
        for column in boot.columns:
            if not measured & {f"{row}: {column}", f"{row} {column}"}:
                yield f"{row}: no number of {column}"


def too_many(outcome: Outcome, boot: Boot) -> Iterator[str]:
    """Yield a sentence for each row in which the patched code saves less than it must.

    A livepatch is counted before it is loaded, while it is, and after it is unloaded, when the
    count must be as before.
    """
    patched = PATCHED if boot.kernel == STOCK else AUTO
    mark = f" {patched}"
    counted = {key.removesuffix(mark) for key, _ in outcome.values if key.endswith(mark)}
    for row in boot.least.keys() | (counted if boot.kernel == STOCK else set()):
        least = boot.least.get(row)
        base, ours, control = (
            min(outcome.numbers(f"{row} {name}"), default=0) for name in (BASE, patched, CONTROL)
        )
        if least is None:
            yield f"{row}: no guest.toml says how many times fewer it must take"
        elif min(base, ours) <= 0 or base / ours < least:
            yield f"{row}: {ours:g} {patched}, {base:g} base; it must take {least:g} times fewer"
        elif boot.kernel == STOCK and abs(control / base - 1) > _APART:
            yield f"{row}: after unload it takes {control:g}, and {base:g} before"
