# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch live plan`: what the devices of this machine would gain from the speed-ups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from mmbatch.bench import record, store
from mmbatch.bench.record import Record
from mmbatch.cli import answers, live_state, options
from mmbatch.cli.usage import Misuse
from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.console import Console, output_options
from mmbatch.core.errors import ExitCode, MmbatchError, suggestion
from mmbatch.core.interval import SERIES
from mmbatch.live import asked, manifest, plan
from mmbatch.live import kernel as kernels
from mmbatch.live.devices import Device
from mmbatch.live.load import Kernel
from mmbatch.live.plan import Estimate, Plan

_UNITS = ((40, "TiB"), (30, "GiB"), (20, "MiB"))


@dataclass(frozen=True)
class Measured:
    """Records by speed-up, the file of each, and what a fresh byte costs, None if unknown."""

    records: Mapping[str, Record]
    files: Mapping[str, str]
    fresh: float | None


@click.command("plan", short_help="Tell what the devices of this machine would gain")
@options.planned_speedups
@click.option(
    "--record",
    "files",
    type=click.Path(dir_okay=False, path_type=Path),
    multiple=True,
    metavar="FILE",
    help="Use the times of this record of bench and measure nothing",
)
@options.kernel
@options.sysfs
@options.jobs
@options.install
@options.json_file
@output_options
def run_plan(
    console: Console,
    /,
    speedups: tuple[str, ...],
    files: tuple[Path, ...],
    kernel: str | None,
    sysfs: Path,
    jobs: int,
    install: bool,
    json_file: Path | None,
) -> int:
    """Tell what the devices of this machine would gain from SPEEDUPs, by default from all.

    It reads which NVDIMM namespaces, DAX devices, CXL regions and GPUs there are, measures what
    they need with a quick bench, and says in seconds what binding each device takes in the
    kernel's own functions and with the speed-ups. Nothing is changed.
    """
    options.require_writable(("--json", json_file))
    plans = _plans(speedups)
    given = _given(files, plans)
    found = asked.find(sysfs)
    running = Kernel(kernels.running(), sysfs)
    lives = [manifest.load(paths.SPEEDUPS, name) for name in plans]
    states = live_state.speedups(lives, running)
    wanted = {name: plan.cases(each, found) for name, each in plans.items()}
    wanted = {name: cases for name, cases in wanted.items() if cases}
    if not wanted:
        console.result(_nothing(found))
        measured = Measured({}, {}, None)
    elif files:
        measured = given
    else:
        measured = measure(console, wanted, kernel, running.release, jobs, install=install)
    gained = [
        estimate
        for name in wanted
        for estimate in plan.estimate(name, plans[name], _record_of(name, measured), found)
    ]
    answer = _answer(running.release, plans, found, gained, measured, states)
    _show(console, answer, measured)
    options.write_answer(json_file, "live plan", answer)
    return ExitCode.GOOD


def _plans(names: tuple[str, ...]) -> dict[str, Plan]:
    """Return the plans of some speed-ups, by default of all that devices gain from."""
    known = plan.known(paths.SPEEDUPS)
    for name in names:
        manifest.load(paths.SPEEDUPS, name, "plan with")
    return {name: plan.load(paths.SPEEDUPS, name) for name in dict.fromkeys(names or known)}


def _given(files: Sequence[Path], plans: Mapping[str, Plan]) -> Measured:
    """Return the records that the user gave."""
    found, names = {}, {}
    for file in files:
        read = record.read(file)
        if not read.rows:
            raise Misuse(f"--record {file} has no rows", "give one that `mmbatch bench` wrote")
        name = read.rows[0].speedup
        if name not in plans:
            raise Misuse(
                f"--record {file} is of '{name}'", suggestion(name, list(plans), "speed-ups")
            )
        found[name], names[name] = read, str(file)
    return Measured(found, names, None)


def _record_of(name: str, measured: Measured) -> Record:
    if name not in measured.records:
        raise Misuse(
            f"no --record is of '{name}', which devices here gain from",
            f"add one, or name other speed-ups than {name}",
        )
    return measured.records[name]


def measure(
    console: Console,
    wanted: Mapping[str, tuple[str, ...]],
    series: str | None,
    release: str,
    jobs: int,
    *,
    install: bool,
) -> Measured:
    """Measure the cases that devices need, and what fresh memory costs, on this machine."""
    from mmbatch.bench.session import Session
    from mmbatch.cli import bench, requirements
    from mmbatch.kernel import sources

    cache = Cache.open()
    requirements.ensure(console.say, install=install)
    own = next((each for each in SERIES if release.startswith(f"{each}.")), None)
    source = sources.resolve(cache, series or own, None, console.say)
    session = Session(console, cache, None, (), jobs)
    prepared = [
        session.prepare(source, name, bench.quick(cases), bench.QUICK_PART)
        for name, cases in wanted.items()
    ]
    found, files = {}, {}
    for work, directory in zip(prepared, session.measure(prepared, {}), strict=True):
        files[work.speedup] = str(directory / store.RECORD)
        found[work.speedup] = record.read(directory / store.RECORD)
    virtual = any(each.machine.hypervisor for each in found.values())
    return Measured(found, files, plan.fresh_ns_per_byte() if virtual else 0.0)


def _answer(
    release: str,
    plans: Mapping[str, Plan],
    found: Sequence[Device],
    gained: Sequence[Estimate],
    measured: Measured,
    states: list[answers.LiveSpeedup],
) -> answers.LivePlan:
    units = {estimate.unit for estimate in gained}
    if len(units) > 1:
        raise MmbatchError(
            "add up what devices gain",
            f"the records are in {' and '.join(sorted(units))}",
            "give records of one engine",
            ExitCode.USAGE,
        )
    fresh = measured.fresh
    rows = [row for device in found for row in _rows(device, gained, fresh)]
    firsts = [row.first for row in rows if row.first is not None]
    cpus = [each.machine.cpu for each in measured.records.values()]
    return answers.LivePlan(
        release=release,
        gains=bool(gained),
        unit=next(iter(units), None),
        now=sum(each.now for each in gained) if gained else None,
        then=sum(each.then for each in gained) if gained else None,
        less=_less(gained),
        first=sum(firsts) if firsts else None,
        devices=rows,
        unchanged=[
            text
            for name, each in plans.items()
            if any(estimate.speedup == name for estimate in gained)
            for text in each.unchanged
        ],
        speedups=states,
        records=dict(measured.files),
        cpu=next(iter(cpus), None),
    )


def _less(gained: Sequence[Estimate]) -> tuple[float, float] | None:
    """Return the sums of the ends of all intervals, which are at most this far apart."""
    intervals = [each.less for each in gained if each.less is not None]
    if not gained or len(intervals) < len(gained):
        return None
    return sum(low for low, _ in intervals), sum(high for _, high in intervals)


def _rows(
    device: Device, gained: Sequence[Estimate], fresh: float | None
) -> list[answers.PlannedDevice]:
    """Return a row for each function that binding a device calls, or one for the device alone."""
    facts = (device.name, device.mode, device.size, str(device.memmap), device.node)
    own = [each for each in gained if each.device == device]
    return [
        answers.PlannedDevice(
            *facts,
            device.bound,
            device.source,
            each.speedup,
            each.function,
            each.now,
            each.then,
            None if fresh is None else fresh * each.memmap_bytes,
        )
        for each in own
    ] or [answers.PlannedDevice(*facts, device.bound, device.source)]


def _nothing(found: Sequence[Device]) -> str:
    if not found:
        return (
            "Nothing to gain: this machine has no NVDIMM namespace, DAX device or CXL region, "
            "and no GPU whose driver tells its memory."
        )
    return "Nothing to gain: no device of this machine gets a memmap that a speed-up writes."


def _show(console: Console, answer: answers.LivePlan, measured: Measured) -> None:
    if answer.gains:
        assert answer.now is not None
        assert answer.then is not None
        now, then = _amount(answer.now, answer.unit), _amount(answer.then, answer.unit)
        less = _amount(answer.now - answer.then, answer.unit)
        ends = [_amount(end, answer.unit) for end in answer.less or ()]
        noise = f" (noise: {ends[0]} to {ends[1]})" if ends else ""
        console.result(f"To gain: {less} of {now} each time all of these devices are bound{noise}.")
        console.result(f"That is in the functions below, which would take {then}.")
        console.result()
    if answer.devices:
        head = ("device", "mode", "size", "memmap", "node", "now", "then", "less", "speed-up")
        console.table([head, *(_cells(row, answer.unit) for row in answer.devices)])
        console.result()
    if answer.gains:
        console.result(_first(answer, measured))
        console.result(f"Unchanged: {'; '.join(answer.unchanged)}.")
        console.result(_source(answer, measured))
    for row in answer.speedups:
        if row.loaded:
            console.result(f"{row.speedup} is loaded, so its functions take the shorter time now.")
    live_state.show_support(console, answer.release, answer.speedups)


def _cells(row: answers.PlannedDevice, unit: str | None) -> tuple[str, ...]:
    node = "-" if row.node < 0 else str(row.node)
    facts = (row.device, row.mode, _size(row.size), row.memmap, node)
    if row.now is None or row.then is None or row.speedup is None:
        return (*facts, "-", "-", "-", "none")
    return (
        *facts,
        _amount(row.now, unit),
        _amount(row.then, unit),
        _amount(row.now - row.then, unit),
        f"{row.speedup}: {row.function}()",
    )


def _first(answer: answers.LivePlan, measured: Measured) -> str:
    if answer.first is None:
        return "First bind: not measured, because --record was given."
    if not answer.first:
        return "First bind: as every other, because this is no virtual machine."
    return (
        f"First bind: about {_amount(answer.first, 'ns')} more, with or without the speed-ups, "
        "because the host of this virtual machine provides fresh memory page by page."
    )


def _source(answer: answers.LivePlan, measured: Measured) -> str:
    how = "just now" if measured.fresh is not None else "before"
    return f"Measured {how} on {answer.cpu}: {', '.join(answer.records.values())}"


def _amount(value: float, unit: str | None) -> str:
    """Return a time in seconds, or a count."""
    if unit != "ns":
        return f"{value:.3g} {unit}"
    seconds = value / 1e9
    return f"{seconds:.3f} s" if seconds >= 0.01 else f"{seconds:.2g} s"


def _size(count: int) -> str:
    for shift, unit in _UNITS:
        if count >= 1 << shift:
            return f"{count / (1 << shift):.4g} {unit}"
    return f"{count} bytes"
