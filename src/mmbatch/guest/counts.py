# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch guest bench`: instructions of base and patched code, counted in one boot.

Counted, not timed: caches, bandwidth and streaming stores do not show in it, and each round of a
`rep` instruction counts as one. It is the same on every machine, which makes it a gate.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from mmbatch.bench import machine, record, table
from mmbatch.core import cache, log
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.guest import boots, plan, qemu
from mmbatch.guest.boots import Spliced
from mmbatch.guest.console import Outcome
from mmbatch.guest.plan import Boot, Count
from mmbatch.guest.qemu import Booted
from mmbatch.hosted import events as bench_events
from mmbatch.hosted.events import BASE, CONTROL
from mmbatch.report import text

UNIT = "instructions"
_ALIKE = 0.001  # how far the medians of two boots may be apart


def run(
    setup: Spliced, speedup: str, boot: Boot, json_file: Path | None, *, twice: bool
) -> ExitCode:
    """Boot once or twice, count, print, and write the result."""
    count = plan.plans()[speedup].count
    assert count is not None
    found, outcome = _count(setup, speedup, count, boot)
    name = f"{found.started[:19].replace(':', '')}-guest-{found.kernel.release}.json"
    for path in (cache.runs() / name, json_file):
        if path is not None:
            record.write(path, found)
    text.show(text.report(found, every=True))
    log.say(f"the record is {cache.runs() / name}")
    wrong = [*absent(found, count), *boots.too_many(outcome, boot)]
    if twice:
        again, _ = _count(setup, speedup, count, boot)
        wrong += unlike(found, again)
    for sentence in wrong:
        log.result(f"FAILED {sentence}")
    return ExitCode.FAILED if wrong else table.exit_code(found)


def _count(setup: Spliced, speedup: str, count: Count, boot: Boot) -> tuple[record.Record, Outcome]:
    """Boot once, and return the record, and what it was made of."""
    started = datetime.now().astimezone().isoformat(timespec="seconds")
    guest = setup.prepare(boot)
    kernel = guest.kernel
    log.say(f"booting Linux {kernel.release} to count instructions of {speedup}")
    booted = qemu.run(guest)
    _require_result(booted, count)
    config_sha256 = hashlib.sha256(kernel.config.read_bytes()).hexdigest()
    cases, notes = record.cases_of([list(events(booted.outcome, speedup, count))])
    found = record.Record(
        schema=record.SCHEMA,
        speedup=speedup,
        command=_reproducer(setup, speedup, boot),
        started=started,
        code=record.Code(*record.checkout()),
        machine=replace(machine.describe(), compiler=kernel.compiler, binutils=kernel.binutils),
        kernel=record.Kernel(kernel.release, kernel.origin, config_sha256),
        engine="guest-icount",
        cases=cases,
        notes=notes,
    )
    return found, booted.outcome


def _reproducer(setup: Spliced, speedup: str, boot: Boot) -> str:
    words = ["./mmbatch", "guest", "bench", speedup, "--arch", boot.arch]
    words += ["--kernel", setup.source.series]
    return shlex.join([*words, *(word for option in setup.options for word in ("-K", option))])


def events(outcome: Outcome, speedup: str, count: Count) -> Iterator[bench_events.Event]:
    """Yield the counts of a guest as the events of a bench program."""
    yield bench_events.Engine(speedup, (BASE, CONTROL, "patched"), count.item_bytes, {})
    proofs = {
        case.name.removeprefix(count.proof): case
        for case in outcome.cases
        if case.name.startswith(count.proof) and case.state != "skipped"
    }
    for name, regime in count.cases.items():
        numbers: dict[str, list[int]] = {}
        for key, number in outcome.values:
            case, _, variant = key.partition(" ")
            if case == name:
                numbers.setdefault(variant, []).append(int(number))
        items = numbers.pop("items", [0])[0]
        if not items or not numbers:
            continue
        nbytes = items * count.item_bytes
        rounds = min(map(len, numbers.values()))
        yield bench_events.Case(name, regime, UNIT, "page", items, nbytes, tuple(numbers), rounds)
        for variant in numbers:
            proof = proofs.get(BASE if variant == CONTROL else variant)
            if proof is not None:
                equal = proof.state == "ok"
                yield bench_events.Equal(name, variant, equal, nbytes, proof.detail)
        for position, (variant, counts) in enumerate(numbers.items()):
            for block, number in enumerate(counts):
                yield bench_events.Sample(name, variant, block, 0, position, number)
    yield bench_events.Done()


def _require_result(booted: Booted, count: Count) -> None:
    _, failed, _ = booted.outcome.verdicts(booted.guest.boot.suites)
    # A method whose proof fails has a row without numbers, and does not stop the others.
    others = [failure for failure in failed if not failure.startswith(count.proof)]
    found = booted.trouble or "; ".join(others)
    if found or not booted.outcome.values:
        last = f"the last lines of its console:\n{booted.last_lines}\n"
        problem = f"{found or 'it counted nothing'}; {last}"
        hint = f"see {booted.guest.console_file}"
        raise MmbatchError("count instructions in a guest", problem, hint)


def absent(result: record.Record, count: Count) -> Iterator[str]:
    """Yield a sentence for each case that lacks base, its control or `auto`."""
    found = {
        (case, row.name)
        for case, each in table.tables(result).items()
        for row in each.checked
        if row.median is not None
    }
    for case in count.cases:
        lacking = [name for name in (BASE, CONTROL, bench_events.AUTO) if (case, name) not in found]
        if lacking:
            yield f"{case}: no count of {' and '.join(lacking)}"


def unlike(result: record.Record, again: record.Record) -> Iterator[str]:
    """Yield a sentence for each row whose count differs between two boots."""
    for case, each in table.tables(result).items():
        others = {row.name: row.median for row in table.tables(again)[case].rows}
        for row in each.rows:
            other = others.get(row.name)
            if row.median and other and abs(other / row.median - 1) > _ALIKE:
                counts = f"{row.median:.0f} {UNIT}, and {other:.0f} in another boot"
                yield f"{case}, {row.name}: {counts}"
