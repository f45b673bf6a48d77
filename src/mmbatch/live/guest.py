# SPDX-License-Identifier: GPL-2.0-only
"""Patch a distribution's kernel while it runs in guests, and report what happened."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.console import Console
from mmbatch.core.process import side_by_side
from mmbatch.debian import foreign
from mmbatch.guest import qemu
from mmbatch.guest.qemu import Booted, Outcome
from mmbatch.live import build, guests, kernel, manifest, payload
from mmbatch.live.build import Module
from mmbatch.live.kernel import Headers, Stock
from mmbatch.live.payload import Payload
from mmbatch.report import matrix

_SERIES, _SUITE = "6.12", "bookworm-backports"
"""Where the kernel is from that is tested unless another one is named.

All machines test the same kernel, whichever newer ones their own release has.
"""

_CONTROL = 0.01  # the share by which counts before loading and after unload may differ


def default_release() -> str:
    """Return the release of the kernel that is tested unless another one is named."""
    return kernel.newest(_SERIES, _SUITE)


def ratios(outcome: Outcome) -> Iterator[tuple[str, float, float, float]]:
    """Yield (case, base, patched, control), the fewest instructions per item of each.

    They are the code's own: an interrupt while it runs adds to a count, and nothing subtracts.
    """
    counts: dict[str, dict[str, list[float]]] = {}
    for key, number in outcome.values:
        case, _, variant = key.partition(" ")
        counts.setdefault(case, {}).setdefault(variant, []).append(number)
    for case, found in counts.items():
        if {"items", "base", "patched", "control"} <= set(found):
            base, patched, control = (
                min(found[variant]) / max(found["items"][0], 1)
                for variant in ("base", "patched", "control")
            )
            if min(base, patched, control) > 0:
                yield case, base, patched, control


def report_count(booted: Booted, least: Mapping[str, float], show: Callable[[str], None]) -> bool:
    """Print what was counted, and return whether every case saves what it must at least."""
    good = report(booted, show)
    found = list(ratios(booted.outcome))
    for case, base, patched, control in found:
        show(
            f"{case}: {base:.2f} instructions a page, patched {patched:.2f}, "
            f"after unload {control:.2f}: {base / patched:.2f} times fewer"
        )
        if case not in least:
            show(f"FAILED {case}: no guest.toml says how many times fewer it must take")
            good = False
        elif base / patched < least[case]:
            show(f"FAILED {case}: it must take {least[case]} times fewer")
            good = False
        if abs(control / base - 1) > _CONTROL:
            show(f"FAILED {case}: after unload it differs from before by more than {_CONTROL:.0%}")
            good = False
    for case in least.keys() - {case for case, *_ in found}:
        show(f"FAILED {case} was not counted")
        good = False
    return good


def report(booted: Booted, show: Callable[[str], None]) -> bool:
    """Print what a guest found, and return whether all of it was good."""
    passed, failed, _ = booted.outcome.verdicts(())
    if booted.trouble:
        failed.append(f"{booted.trouble}; its last lines:\n{qemu.last_lines(booted)}")
    for failure in failed:
        show(f"FAILED {failure}")
    show(f"{len(passed)} passed, {len(failed)} failed ({booted.wall_s:.0f} s)")
    return not failed


def run_all(console: Console, cache: Cache, release: str, plan: guests.Plan) -> matrix.Live:
    """Boot a distribution's kernel three times and more, and return what it showed.

    Guests run two at a time, and are reported in the order in which they began.
    """
    stock, load = _stock(cache, release)
    purposes = ["to count instructions", "to compare results"]
    purposes.append(f"to load and unload {plan.rounds} times")
    three = (guests.count, guests.functional, guests.rounds)
    jobs = [functools.partial(boot, cache, stock, load, plan) for boot in three]
    for test in load.tests:
        for wanted in test.boots:
            purposes.append(f"for {test.speedup}'s {wanted.name}")
            jobs.append(functools.partial(guests.extra, cache, stock, load, test.speedup, wanted))
    most = qemu.at_once()
    console.say(f"booting Debian's {release} {len(jobs)} times, {most} at a time")
    good, passed = True, 0
    with contextlib.closing(side_by_side(jobs, most)) as ended:
        for number, booted in enumerate(ended):
            console.say(f"Debian's {release} was booted {purposes[number]}")
            if number:
                good = report(booted, console.result) and good
            else:
                good = report_count(booted, load.least, console.result) and good
            passed += len(booted.outcome.verdicts(())[0])
    return matrix.Live(release, tuple(load.modules), good, passed, plan.rounds)


def run_plugs(
    console: Console,
    cache: Cache,
    release: str,
    gib: int,
    kinds: Sequence[str] = tuple(guests.PLUGS),
) -> matrix.Live:
    """Boot a distribution's kernel for each way in which memory comes to it."""
    stock, load = _stock(cache, release)
    good, passed = True, 0
    for kind in kinds:
        console.say(f"booting Debian's {release}, to plug {gib} GiB ({kind})")
        booted = guests.plugged(cache, stock, load, kind, gib)
        good = report(booted, console.result) and good
        passed += len(booted.outcome.verdicts(())[0])
        for key, number in booted.outcome.values:
            console.result(f"{kind}: {key} {number:,.0f}")
    return matrix.Live(release, tuple(load.modules), good, passed, 0)


def run_once(console: Console, cache: Cache, release: str) -> matrix.Live:
    """Boot a distribution's kernel, load, use and unload each speed-up; return what it showed.

    Speed-ups whose drivers the kernel lacks are left out, and named.
    """
    stock, load = _stock(cache, release)
    load = usable(stock, load, console.result)
    console.say(f"booting Debian's {release}, to load, use and unload each speed-up")
    booted = guests.once(cache, stock, load)
    good = report(booted, console.result)
    passed = len(booted.outcome.verdicts(())[0])
    return matrix.Live(release, tuple(load.modules), good, passed, 0)


def usable(stock: Stock, load: Payload, show: Callable[[str], None]) -> Payload:
    """Return a payload without the speed-ups that a kernel lacks the drivers to use; name them."""
    tests = []
    for test in load.tests:
        if lacking := [name for name in test.drivers if not stock.has(name)]:
            show(f"not {test.speedup}: Linux {stock.release} has no {' and no '.join(lacking)}")
        else:
            tests.append(test)
    modules = {test.speedup: load.modules[test.speedup] for test in tests}
    return dataclasses.replace(load, tests=tuple(tests), modules=modules)


def _stock(cache: Cache, release: str) -> tuple[Stock, Payload]:
    """Return a distribution's kernel, and what its guests load."""
    tests = tuple(payload.load(paths.SPEEDUPS, name) for name in manifest.known(paths.SPEEDUPS))
    modules = build.build_all(manifest.load_all(()), release)
    return kernel.fetch_image(release), _load(cache, kernel.find(release), modules, tests)


def _load(
    cache: Cache, headers: Headers, modules: list[Module], tests: tuple[payload.GuestTest, ...]
) -> Payload:
    """Return what the guests are given to load, built for one kernel."""
    chosen = foreign.find_compiler(cache, headers, lambda _: None)

    def built(sources: Iterable[Path]) -> dict[str, bytes]:
        return {path.stem: build.plain(path, headers, chosen) for path in sources}

    observers = dict.fromkeys(name for test in tests for name in test.observers)
    unfit = {}
    for module in modules:
        live = manifest.load(paths.SPEEDUPS, module.speedup)
        for name, variant in build.misfits(live, module.path).items():
            unfit[f"{module.speedup}_{name}"] = variant
    subject = manifest.load(paths.SPEEDUPS, payload.subject(tests)[0])
    rival = dataclasses.replace(subject, speedup="rival")
    return Payload(
        {module.speedup: module for module in modules},
        tests,
        built([payload.source(name) for name in observers]),
        built(payload.FAULTS),
        unfit,
        payload.sign(cache, headers, modules[0].path),
        build.build_all([rival], headers.release)[0],
        subject.speedup,
        subject.replaced(headers.series)[0].name,
    )
