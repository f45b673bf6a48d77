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
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.interval import SERIES
from mmbatch.core.process import side_by_side
from mmbatch.debian import foreign
from mmbatch.guest import qemu
from mmbatch.guest.qemu import Booted, Outcome
from mmbatch.live import build, guests, kernel, manifest, payload, refused
from mmbatch.live.build import Module
from mmbatch.live.kernel import Headers
from mmbatch.live.payload import Payload, Planned
from mmbatch.live.stock import Stock
from mmbatch.report import matrix

_SERIES, _SUITE = "6.12", "bookworm-backports"
"""Where the kernel is from that is tested unless another one is named.

All machines test the same kernel, whichever newer ones their own release has.
"""

_CONTROL = 0.01  # the share by which counts before loading and after unload may differ

_PLANNED = 0.2  # the share by which `live plan` and the counts may differ
_ALL = "all"  # devices together


def default_release(cache: Cache, say: Callable[[str], None]) -> str:
    """Return the release of the kernel that is tested unless another one is named."""
    return kernel.newest(cache, _SERIES, say, _SUITE)


def newest_release(cache: Cache, say: Callable[[str], None]) -> str:
    """Return the release of the kernel in which `live plan` is tested.

    Nobody has counted the instructions of that of `default_release`.
    """
    return kernel.newest(cache, SERIES[0], say)


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


def report_planned(booted: Booted, show: Callable[[str], None]) -> bool:
    """Print what `live plan` said of each device and of all, beside what was counted.

    The plan knows the function from a record of another build of the kernel. The fewest
    instructions of all samples count, as in `ratios`.

    Returns:
        Whether all went well, and no plan is further from the count than it may be.
    """
    good = report(booted, show)
    found: dict[str, list[float]] = {}
    for key, number in booted.outcome.values:
        found.setdefault(key, []).append(number)
    devices = [key.removesuffix(" base") for key in found if key.endswith(" base")]
    if not devices:
        show("FAILED no bind of a device was counted")
        return False
    for variant in ("base", "patched"):
        counts = {device: min(found.get(f"{device} {variant}", [0])) for device in devices}
        counts[_ALL] = sum(counts.values())
        for device, count in counts.items():
            said = found.get(f"{device} planned-{variant}", [0])[0]
            share = said / count - 1 if count else -1
            show(
                f"{device}, {variant}: live plan says {said:,.0f} instructions, and "
                f"{count:,.0f} were counted: {share:+.1%}"
            )
            if abs(share) > _PLANNED:
                show(f"FAILED {device}: live plan is off by more than {_PLANNED:.0%}")
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
    stock, load = _stock(console, cache, release)
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
    stock, load = _stock(console, cache, release)
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
    stock, load = _stock(console, cache, release)
    load = usable(stock, load, console.result)
    console.say(f"booting Debian's {release}, to load, use and unload each speed-up")
    booted = guests.once(cache, stock, load)
    good = report(booted, console.result)
    passed = len(booted.outcome.verdicts(())[0])
    return matrix.Live(release, tuple(load.modules), good, passed, 0)


def run_planned(console: Console, cache: Cache, release: str) -> matrix.Live:
    """Boot a distribution's kernel, and compare `live plan` with the instructions of binding.

    Raises:
        MmbatchError: results/ has no record of instructions on a kernel of this series.
    """
    series = kernel.series_of(release)
    records = payload.counted_records(manifest.known(paths.SPEEDUPS), series)
    if not records:
        raise MmbatchError(
            f"compare `live plan` with Linux {release}",
            f"results/ has no record of instructions on Linux {series}",
            f"leave the kernel out, to use the newest {SERIES[0]}",
            ExitCode.USAGE,
        )
    tests = tuple(payload.load(paths.SPEEDUPS, name) for name in records)
    modules = build.build_all(cache, manifest.load_all(tuple(records)), release, console.say)
    stock = Stock(release, kernel.fetch_image(cache, release, console.say))
    load = Planned({module.speedup: module for module in modules}, tests, records)
    console.say(f"booting Debian's {release}, to compare live plan with what is counted")
    booted = guests.planned(cache, stock, load)
    good = report_planned(booted, console.result)
    passed = len(booted.outcome.verdicts(())[0])
    return matrix.Live(release, tuple(records), good, passed, 0)


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


def _stock(console: Console, cache: Cache, release: str) -> tuple[Stock, Payload]:
    """Return a distribution's kernel, and what its guests load."""
    tests = tuple(payload.load(paths.SPEEDUPS, name) for name in manifest.known(paths.SPEEDUPS))
    modules = build.build_all(cache, manifest.load_all(()), release, console.say)
    stock = Stock(release, kernel.fetch_image(cache, release, console.say))
    return stock, _load(cache, kernel.find(cache, release, console.say), modules, tests)


def _load(
    cache: Cache, headers: Headers, modules: list[Module], tests: tuple[payload.GuestTest, ...]
) -> Payload:
    """Return what the guests are given to load, built for one kernel."""
    chosen = foreign.find_compiler(cache, headers, lambda _: None)

    def built(sources: Iterable[Path]) -> dict[str, bytes]:
        return {
            path.stem: build.plain(cache, path, headers, chosen, cache.logs / f"{path.stem}.log")
            for path in sources
        }

    observers = dict.fromkeys(name for test in tests for name in test.observers)
    unfit = {}
    for module in modules:
        misfits = refused.load_misfits(paths.SPEEDUPS, module.speedup)
        for name, variant in refused.variants(misfits, module.path).items():
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
        build.build_all(cache, [rival], headers.release, lambda _: None)[0],
        subject.speedup,
        subject.of(headers.series).replaces[0].name,
    )
