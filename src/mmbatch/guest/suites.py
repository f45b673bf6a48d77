# SPDX-License-Identifier: GPL-2.0-only
"""The stages of `mmbatch guest test`, and how they ended."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import click

from mmbatch.core.cache import Cache
from mmbatch.core.console import Console
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.debian import guestneeds
from mmbatch.guest import bench as guestbench
from mmbatch.guest import boot as guest
from mmbatch.guest import moves as guestmoves
from mmbatch.guest import qemu
from mmbatch.guest import vmalloc as guestvmalloc
from mmbatch.guest.boot import Workshop
from mmbatch.guest.build import GuestKernel
from mmbatch.guest.moves import Amount
from mmbatch.guest.qemu import Booted
from mmbatch.kernel import sources as kernels
from mmbatch.report import seen

KINDS = {"plain": "", "debug": "debug", "kasan": "kasan"}
"""Of x86-64 kernels: what users call them, and what `guestbuild.Wanted` does."""

_METHODS = {"kasan": ("base", "auto")}  # under KASAN all are base
_SLOWER = {"": 1.0, "debug": 4.0, "kasan": 6.0}
_ALL = ("x86_64", "arm64")
_COMPLAINING = {"": (), "debug": ("page_poison=1",), "kasan": ("page_poison=1",)}
_SMALL = ("nohugevmalloc", "nohugeiomap")
_USUAL_GIB = 13  # enough for auto to try the methods
_COUNTED_GIB = 4
_USUAL_REBINDS = 30
_USUAL_ROUNDS = 6
_DEBUG_REBINDS = 5
_MOST_GIB = {"debug": 13, "kasan": 4}
_MOVED = {"": Amount(1024, 32), "debug": Amount(128, 32, erms=True), "kasan": Amount(128, 32)}


def size_gib(text: str) -> int:
    """Return a size such as 100G in GiB; a usage error when it is none."""
    match = re.fullmatch(r"(\d+)G?", text, re.I)
    if match is None or not 1 <= int(match[1]) <= 1024:
        raise click.BadParameter(f"{text} is no size from 1G to 1024G")
    return int(match[1])


@dataclass(frozen=True)
class Stage:
    """One guest that is built and booted.

    Attributes:
        name: for people and for its files.
        arch: its architecture.
        kind: of the kernel, see `guestbuild.Wanted`.
        size_gib: of its NVDIMM; 0 for the suites alone.
        rebinds: of each driver.
        methods: of zone_device.
        cmdline: more of the kernel's, where nothing but the kernel runs.
        only: the one KUnit suite that runs; all when empty.
        moved: how much memory is moved, in a guest that does only that.
    """

    name: str
    arch: str
    kind: str
    size_gib: int
    rebinds: int
    methods: tuple[str, ...] = guest.METHODS
    cmdline: tuple[str, ...] = ()
    only: str = ""
    moved: Amount | None = None

    @property
    def vmalloc(self) -> bool:
        """Whether the kernel's test_vmalloc runs in it: built in, or loaded by a script."""
        return guestvmalloc.ON[0] in self.cmdline or self.size_gib > 0


def stages(
    arches: Iterable[str],
    kinds: Sequence[str],
    size_gib: int,
    rebinds: int,
    names: Sequence[str] = (),
) -> list[Stage]:
    """Return what `guest test` does.

    Args:
        arches: which architectures.
        kinds: of x86-64 kernels, see `KINDS`; all when empty.
        size_gib: of the NVDIMM of the plain kernel.
        rebinds: of each driver there.
        names: those of them that are wanted; all when empty.
    """
    chosen: list[Stage] = []
    for arch in arches:
        if arch == "arm64":
            if kinds:
                raise click.BadParameter(f"arm64 has no {kinds[0]} kernel here; leave out one")
            every = guestvmalloc.ON
            slow = (*every, "vmap.method=base", *_SMALL, "kunit.filter_glob=vmap")
            chosen.append(Stage("arm64", arch, "", 0, 0, cmdline=every))
            chosen.append(Stage("arm64-base", arch, "", 0, 0, cmdline=slow, only="vmap"))
            continue
        for kind in (KINDS[name] for name in kinds or KINDS):
            name = f"{arch}-{kind}" if kind else arch
            gib = min(size_gib, _MOST_GIB.get(kind, size_gib))
            times = min(rebinds, _DEBUG_REBINDS) if kind else rebinds
            methods = _METHODS.get(kind, guest.METHODS)
            chosen.append(Stage(name, arch, kind, gib, times, methods))
            chosen.append(Stage(f"{name}-moves", arch, kind, 0, 0, moved=_MOVED[kind]))
    known = [stage.name for stage in chosen]
    for name in names:
        if name not in known:
            raise click.BadParameter(f"there is no {name} among {', '.join(known)}")
    return [stage for stage in chosen if not names or stage.name in names]


def run_all(console: Console, cache: Cache, *, install: bool, log: seen.Log | None = None) -> int:
    """Do what `make test` asks of guests, on the newest kernel that can be had.

    Args:
        console: told of each stage and how it ended.
        cache: where kernels are built and kept.
        install: may use apt to install what is missing.
        log: told what each guest showed of each speed-up.
    """
    guestneeds.ensure(_ALL, console.say, install=install, log=cache.logs / "apt-install.log")
    source = kernels.resolve(cache, None, None, console.say, console.progress)
    manifests = guest.choose_speedups(source)
    workshop = Workshop(cache, source, manifests, (), guest.cpus(), console.say)
    ended = run_stages(console, workshop, stages(_ALL, (), _USUAL_GIB, _USUAL_REBINDS), log)
    request = guestbench.Request(_COUNTED_GIB, _USUAL_ROUNDS, None, None, twice=True)
    ended = guestbench.run(console, workshop, request, None) or ended
    mapped = replace(request, twice=False, speedup="vmap", arch="arm64")
    return guestbench.run(console, workshop, mapped, None) or ended


def run_stages(
    console: Console, workshop: Workshop, chosen: Iterable[Stage], log: seen.Log | None = None
) -> int:
    """Build and boot one guest after the other.

    Args:
        console: told of each stage and how it ended.
        workshop: where they are made.
        chosen: the stages.
        log: told what each guest showed of each speed-up.

    Returns:
        FAILED when anything failed in any of them, else GOOD.
    """
    totals = [0, 0, 0]
    for stage in chosen:
        try:
            counts = _run_stage(console, workshop, stage, log)
        except MmbatchError as error:
            console.result(f"FAILED {stage.name}: {error}")
            counts = (0, 1, 0)
        totals = [total + one for total, one in zip(totals, counts, strict=True)]
    console.result("{} passed, {} failed, {} skipped".format(*totals))
    return ExitCode.FAILED if totals[1] else ExitCode.GOOD


def _run_stage(
    console: Console, workshop: Workshop, stage: Stage, log: seen.Log | None
) -> tuple[int, int, int]:
    """Build and boot a guest, tell what it did, and return (passed, failed, skipped)."""
    start = time.monotonic()
    kernel = workshop.kernel(stage.arch, stage.kind)
    built_s = time.monotonic() - start
    console.say(f"booting {stage.name} (Linux {kernel.release}, built in {built_s:.0f} s)")
    booted = _boot(workshop, stage, kernel)
    only = [stage.only] if stage.only else workshop.suites
    passed, failed, skipped = booted.heard.verdicts(() if stage.moved else only)
    if stage.vmalloc and not stage.size_gib and guestvmalloc.only_a_module(workshop.source.path):
        skipped.append("test_vmalloc: a module in this kernel, and this guest loads none")
    elif stage.vmalloc:
        failed += guestvmalloc.absent(workshop.source.path, passed)
    if stage.moved:
        failed += guestmoves.absent(booted.heard)
    if booted.trouble:
        failed.append(f"{booted.trouble}; the last lines of its console:")
    if log is not None and not stage.moved and not stage.only:
        where = (kernel.release, stage.arch, stage.kind or "plain")
        log.booted(workshop.manifests, *where, booted.heard, good=not failed)
    for name in failed:
        console.result(f"FAILED {stage.name}: {name}")
    if booted.trouble:
        console.result(qemu.last_lines(booted))
    for name in passed:
        console.detail(f"passed {stage.name}: {name}")
    for row in guestmoves.rows(booted.heard):
        console.result(f"{stage.name}: {row}")
    console.result(
        f"{stage.name}: {len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped "
        f"({booted.wall_s:.0f} s, console in "
        f"{workshop.cache.logs / f'guest-{stage.name}.console'})"
    )
    return len(passed), len(failed), len(skipped)


def _boot(workshop: Workshop, stage: Stage, kernel: GuestKernel) -> Booted:
    slow, complaining = _SLOWER[stage.kind], _COMPLAINING[stage.kind]
    if stage.moved:
        return guestmoves.boot(workshop, kernel, stage.name, stage.moved, slow, complaining)
    if not stage.size_gib:
        return guest.suites(workshop, kernel, stage.name, stage.cmdline)
    return guest.drivers(
        workshop,
        kernel,
        stage.name,
        stage.size_gib,
        stage.rebinds,
        slow,
        stage.methods,
        complaining,
    )
