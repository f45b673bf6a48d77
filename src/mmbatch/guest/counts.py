# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch guest bench`: instructions of base and patched code, counted in one boot.

Counted, not timed: caches, bandwidth and streaming stores do not show in it, and each round of a
`rep` instruction counts as one. It is the same on every machine, which makes it a gate.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from mmbatch.bench import machine, record, results, runs
from mmbatch.bench.statistics import Verdict
from mmbatch.core.console import Console
from mmbatch.core.disk import new_dir
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.guest import boots, qemu
from mmbatch.guest.boots import BASE, CONTROL, GuestSetup
from mmbatch.guest.build import GuestKernel
from mmbatch.guest.plan import Count
from mmbatch.guest.qemu import Booted, Outcome
from mmbatch.hosted import events as bench_events
from mmbatch.report import text

UNIT = "instructions"
_ALIKE = 0.001  # how far the medians of two boots may be apart


@dataclass(frozen=True)
class Request:
    """What to count.

    Attributes:
        count: the cases of a speed-up.
        arch: architecture of the guest.
        size_gib: size of the NVDIMM in GiB, where a script counts.
        rounds: how often each method is counted.
        tree: the kernel tree as given by the user, if any.
        twice: whether to boot twice and compare.
    """

    count: Count
    arch: str
    size_gib: int
    rounds: int
    tree: Path | None
    twice: bool = False


@dataclass(frozen=True)
class Counted:
    """What was counted for a request.

    Attributes:
        request: the request.
        judged: the record, with verdicts as if it were about time.
        again: the record of a second boot, if one was asked for.
        events: what `judged` is made from.
    """

    request: Request
    judged: record.Record
    again: record.Record | None
    events: Sequence[bench_events.Event]


def run(console: Console, setup: GuestSetup, request: Request, json_file: Path | None) -> int:
    """Build, boot, count, print, and write the result.

    Raises:
        MmbatchError: the guest did not finish, or counted nothing.
    """
    found = count(console, setup, request, setup.kernel(request.arch))
    return report(console, setup, found, json_file)


def count(console: Console, setup: GuestSetup, request: Request, kernel: GuestKernel) -> Counted:
    """Boot once or twice, and count. Several requests may be counted at a time.

    Raises:
        MmbatchError: the guest did not finish, or counted nothing.
    """
    judged, counted_events = _count(console, setup, request, kernel)
    again = _count(console, setup, request, kernel)[0] if request.twice else None
    return Counted(request, judged, again, counted_events)


def report(console: Console, setup: GuestSetup, found: Counted, json_file: Path | None) -> int:
    """Print what was counted, write it, and return the exit code."""
    result = counted(found.judged)
    name = f"{result.started[:19].replace(':', '')}-guest-{result.kernel.release}"
    directory = new_dir(setup.cache.runs, name)
    bench_events.write_events(directory / "samples.jsonl", found.events)
    for path in (directory / "bench.json", json_file):
        if path is not None:
            record.write(path, result)
    text.print_run(result, console.out)
    console.say(f"samples.jsonl and bench.json are in {directory}")
    wrong = [*absent(result, found.request.count), *too_many(result, found.request)]
    if found.again is not None:
        wrong += unlike(result, found.again)
        apart = 100 * _distance(result, found.again)
        console.result(f"two boots: counts at most {apart:.4f} % apart")
    for sentence in wrong:
        console.result(f"FAILED {sentence}")
    return ExitCode.FAILED if wrong else results.exit_code(found.judged)


def _count(
    console: Console, setup: GuestSetup, request: Request, kernel: GuestKernel
) -> tuple[record.Record, list[bench_events.Event]]:
    """Boot once; return the record, and the events that it is made from."""
    started = datetime.now().astimezone().isoformat(timespec="seconds")
    console.say(f"booting Linux {kernel.release} to count instructions of {request.count.speedup}")
    count = request.count
    if count.script:
        booted = boots.count_by_script(setup, kernel, count, request.size_gib, request.rounds)
    else:
        booted = boots.count_at_boot(setup, kernel, count, request.rounds)
    _require_result(setup, booted, count.suites or setup.suites, count)
    counted_events = list(events(booted.outcome, count))
    judged = results.build_record(
        runs.collect(counted_events),
        replace(machine.describe(), compiler=kernel.compiler, binutils=kernel.binutils),
        record.KernelInfo(kernel.release, kernel.origin, kernel.config_sha256),
        _reproducer(setup, request),
        started,
        engine="guest-icount",
    )
    return judged, counted_events


def events(outcome: Outcome, count: Count) -> Iterator[bench_events.Event]:
    """Yield the counts of a guest as the events of a bench program."""
    yield bench_events.Engine(count.speedup, (BASE, CONTROL, "patched"), count.item_bytes, {})
    proofs = {
        case.name.removeprefix(count.proof): case
        for case in outcome.cases
        if case.name.startswith(count.proof) and case.state != "skipped"
    }
    for name, regime in count.cases.items():
        numbers: dict[str, list[int]] = {}
        items = 0
        for key, number in outcome.values:
            case, _, variant = key.partition(" ")
            if case == name and variant == "items":
                items = int(number)
            elif case == name:
                numbers.setdefault(variant, []).append(int(number))
        if not items or not numbers:
            continue
        rounds = min(map(len, numbers.values()))
        yield bench_events.Case(
            name, regime, UNIT, "page", items, items * count.item_bytes, tuple(numbers), rounds
        )
        for variant in numbers:
            proof = proofs.get(BASE if variant == CONTROL else variant)
            if proof is not None:
                equal = proof.state == "ok"
                yield bench_events.Equal(
                    name, variant, equal, items * count.item_bytes, proof.detail
                )
        for position, (variant, counted_numbers) in enumerate(numbers.items()):
            for block, number in enumerate(counted_numbers):
                yield bench_events.Sample(name, variant, block, 0, position, number)
    yield bench_events.Done()


def counted(result: record.Record) -> record.Record:
    """Return a record whose verdicts are about instructions and not time."""
    words = {Verdict.FASTER: Verdict.FEWER, Verdict.SLOWER: Verdict.MORE}
    rows = (replace(row, verdict=words.get(row.verdict, row.verdict)) for row in result.rows)
    return replace(result, rows=tuple(rows))


def _require_result(setup: GuestSetup, booted: Booted, suites: Sequence[str], count: Count) -> None:
    _, failed, _ = booted.outcome.verdicts(suites)
    # A method whose proof fails has a row without numbers, and does not stop the others.
    found = booted.trouble or "; ".join(
        failure for failure in failed if not failure.startswith(count.proof)
    )
    if found or not booted.outcome.values:
        raise MmbatchError(
            "count instructions in a guest",
            (found or "it counted nothing") + "; the last lines of its console:\n"
            f"{qemu.last_lines(booted)}\n",
            f"see {setup.cache.logs / 'guest-bench*.console'}",
        )


def _reproducer(setup: GuestSetup, request: Request) -> str:
    words: list[str] = ["./mmbatch", "guest", "bench"]
    words.append(request.count.speedup)
    if len(request.count.arches) > 1:
        words += ["--arch", request.arch]
    if request.tree is None:
        words += ["--kernel", setup.source.series]
    else:
        words += ["--tree", str(request.tree)]
    words += [word for option in setup.options for word in ("-K", option)]
    if request.count.script:
        words += ["--size", f"{request.size_gib}G"]
    words += ["--rounds", str(request.rounds)]
    return shlex.join(words)


def absent(result: record.Record, count: Count) -> Iterator[str]:
    """Yield a sentence for each case that lacks base, its control or `auto`."""
    counted_rows = {(row.case, row.variant) for row in result.rows if row.per_item is not None}
    counted_rows |= {
        (control.case, CONTROL) for control in result.controls if control.per_item is not None
    }
    for case in count.cases:
        lacking = [
            name for name in (BASE, CONTROL, bench_events.AUTO) if (case, name) not in counted_rows
        ]
        if lacking:
            yield f"{case}: no count of {' and '.join(lacking)}"


def too_many(result: record.Record, request: Request) -> Iterator[str]:
    """Yield a sentence for each case in which `auto` saves less than it must."""
    every = request.count.least.get(request.arch, {})
    for row in result.rows:
        least = every.get(row.case)
        if row.variant != bench_events.AUTO or least is None or row.ratio is None:
            continue
        if row.ratio.median < least:
            shown = f"{row.ratio.median:.2f} times fewer"
            yield f"{row.case}: auto takes {shown}, but must take {least:g} times fewer"


def unlike(result: record.Record, again: record.Record) -> Iterator[str]:
    """Yield a sentence for each row whose count differs between two boots."""
    for name, first, second in _pairs(result, again):
        if abs(second / first - 1) > _ALIKE:
            yield f"{name}: {first:.0f} instructions, and {second:.0f} in another boot"


def _distance(result: record.Record, again: record.Record) -> float:
    """Return the largest difference of two boots in any row, as a fraction of its count."""
    return max(abs(second / first - 1) for _, first, second in _pairs(result, again))


def _pairs(result: record.Record, again: record.Record) -> Iterator[tuple[str, float, float]]:
    medians = {(row.case, row.variant): row.median for row in again.rows}
    for row in result.rows:
        median = medians.get((row.case, row.variant))
        if row.median is not None and median is not None:
            yield f"{row.case}, {row.variant}", row.median, median
