# SPDX-License-Identifier: GPL-2.0-only
"""All that is asked of the livepatches: count, compare, and load again and again, in guests."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from mmbatch.core import paths as checkout
from mmbatch.core.cache import Cache
from mmbatch.core.console import Console
from mmbatch.guest import boots
from mmbatch.live import build as livebuild
from mmbatch.live import compiler as livecompiler
from mmbatch.live import fit as livefit
from mmbatch.live import guest as liveguest
from mmbatch.live import kernel as livekernel
from mmbatch.live import manifest as livemanifest
from mmbatch.live import sign as livesign
from mmbatch.live.build import Module
from mmbatch.live.compiler import Compiler
from mmbatch.live.guest import Cargo, Plan, Stock
from mmbatch.live.kernel import Headers
from mmbatch.live.manifest import LiveManifest
from mmbatch.report import seen

SERIES = "6.12"
"""Whose newest packaged kernel is tested unless another is named."""

_RIVALLED = "vmap"

QUICK = Plan(size_gib=1, rounds=3, samples=3)
"""What takes part in the tests of the project."""

Say = Callable[[str], None]


def build(cache: Cache, lives: list[LiveManifest], release: str, say: Say) -> list[Module]:
    """Return the modules of some speed-ups for one kernel."""
    for live in lives:
        livefit.of_series(live, livekernel.series_of(release), release)
    headers = livekernel.find(cache, release, say)

    def compilers(chosen: Headers) -> Compiler:
        return livecompiler.find(cache, chosen, say)

    modules = []
    for live in lives:
        name = f"{live.module}-{headers.release}"
        with cache.lock(name, f"builds {live.module}", say):
            place, log = cache.live / name, cache.logs / f"{name}.log"
            modules.append(
                livebuild.build(live, checkout.LIVE, headers, compilers, place, log, say)
            )
    return modules


def lives(names: tuple[str, ...]) -> list[LiveManifest]:
    """Return the manifests of some speed-ups, by default of all that have one."""
    rooms = checkout.SPEEDUPS
    return [livemanifest.load(rooms, name) for name in names or livemanifest.known(rooms)]


def run_all(
    console: Console, cache: Cache, release: str, plan: Plan, log: seen.Log | None = None
) -> bool:
    """Boot a distribution's kernel three times, and tell whether all was good.

    Args:
        console: told of each phase and of what was found.
        cache: for packages, builds and consoles.
        release: which kernel.
        plan: what is asked.
        log: told what the kernel showed.
    """
    modules = build(cache, lives(()), release, console.say)
    stock = Stock(release, livekernel.fetch_image(cache, release, console.say))
    cargo = _cargo(cache, livekernel.find(cache, release, console.say), modules)
    console.say(f"booting Debian's {release}, to count instructions")
    counted = liveguest.count(cache, stock, cargo, plan)
    good = liveguest.report_count(counted, console.result)
    console.say(f"booting Debian's {release}, to compare what both leave behind")
    compared = liveguest.functional(cache, stock, cargo, plan)
    good = liveguest.report(compared, console.result) and good
    console.say(f"booting Debian's {release}, to load and unload {plan.rounds} times")
    loaded = liveguest.rounds(cache, stock, cargo, plan)
    good = liveguest.report(loaded, console.result) and good
    if log is not None:
        passed = [len(one.heard.verdicts(())[0]) for one in (counted, compared, loaded)]
        names = tuple(cargo.modules)
        log.lives.append(seen.Live(release, names, good, sum(passed), plan.rounds))
    return good


def _cargo(cache: Cache, headers: Headers, modules: list[Module]) -> Cargo:
    compiler = livecompiler.find(cache, headers, lambda _: None)
    observers = {
        name: livebuild.plain(
            cache, boots.FILES / f"{name}.c", headers, compiler, cache.logs / f"{name}.log"
        )
        for name in liveguest.OBSERVERS
    }
    speedups = {module.speedup: module for module in modules}
    rival = dataclasses.replace(livemanifest.load(checkout.SPEEDUPS, _RIVALLED), speedup="rival")
    return Cargo(
        speedups,
        observers,
        livesign.signed(cache, headers, modules[0].path),
        *build(cache, [rival], headers.release, lambda _: None),
    )
