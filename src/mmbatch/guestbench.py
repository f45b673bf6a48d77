# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch guest bench`: instructions of base and patched code, counted in one boot.

Counted, not timed: caches, bandwidth and streaming stores do not show in it, and each round of a
`rep` instruction counts as one. It is the same on every machine, which makes it a gate.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from mmbatch import guest, machine, qemu, record, report, runs, samples
from mmbatch.console import Console
from mmbatch.errors import ExitCode, MmbatchError
from mmbatch.guest import CONTROL, Workshop
from mmbatch.guestlog import Heard
from mmbatch.qemu import Booted
from mmbatch.statistics import Verdict

SPEEDUP = "zone_device"
UNIT = "instructions"
_PAGE_BYTES = 64
_CASES = {
    "fsdax": "memmap_init_zone_device(), nd_pmem bound again",
    "devdax-2m": "memmap_init_zone_device(), dax_pmem bound again, align 2M",
    "hmm": "memremap_pages(), test_hmm loaded again, DEVICE_PRIVATE",
}
_LEAST = {"fsdax": 3.0}
_PROOF = f"{SPEEDUP}.zone_device_same_image."


@dataclass(frozen=True)
class Request:
    """What is to be counted: size of the NVDIMM, rounds, and the kernel as the user named it."""

    size_gib: int
    rounds: int
    kernel: str | None
    tree: Path | None


def run(console: Console, workshop: Workshop, request: Request, json_file: Path | None) -> int:
    """Build, boot, count, print, and write the result.

    Raises:
        MmbatchError: the guest did not come to its end, or counted nothing.
    """
    started = datetime.now().astimezone().isoformat(timespec="seconds")
    kernel = workshop.kernel("x86_64")
    console.say(f"booting Linux {kernel.release} to count instructions ({request.size_gib} GB)")
    booted = guest.bench(workshop, kernel, request.size_gib, request.rounds)
    _require_result(workshop, booted)
    said = list(events(booted.heard))
    judged = report.build_record(
        runs.collect(said),
        machine.describe(),
        record.KernelInfo(kernel.release, kernel.origin, kernel.config_sha256),
        _reproducer(workshop, request),
        started,
        engine="guest-icount",
    )
    result = counted(judged)
    name = f"{started[:19].replace(':', '')}-guest-{kernel.release}"
    folder = workshop.cache.runs / name
    folder.mkdir(parents=True, exist_ok=True)
    samples.write_events(folder / "samples.jsonl", said)
    for path in (folder / "bench.json", json_file):
        if path is not None:
            record.write(path, result)
    for line in table(result):
        console.result(line)
    console.say(f"samples.jsonl and bench.json are in {folder}")
    short = list(too_many(result))
    for sentence in short:
        console.result(f"FAILED {sentence}")
    return ExitCode.FAILED if short else report.exit_code(judged)


def events(heard: Heard) -> Iterator[samples.Event]:
    """Yield what a guest counted as the events of an engine."""
    yield samples.Engine(SPEEDUP, ("base", CONTROL, "patched"), _PAGE_BYTES, {})
    proofs = {
        case.name.removeprefix(_PROOF): case
        for case in heard.cases
        if case.name.startswith(_PROOF) and case.state != "skipped"
    }
    for name, regime in _CASES.items():
        numbers: dict[str, list[int]] = {}
        items = 0
        for key, number in heard.values:
            case, _, variant = key.partition(" ")
            if case == name and variant == "items":
                items = int(number)
            elif case == name:
                numbers.setdefault(variant, []).append(int(number))
        if not items or not numbers:
            continue
        rounds = min(map(len, numbers.values()))
        yield samples.Case(
            name, regime, UNIT, "page", items, items * _PAGE_BYTES, tuple(numbers), rounds
        )
        for variant in numbers:
            proof = proofs.get("base" if variant == CONTROL else variant)
            if proof is not None:
                equal = proof.state == "ok"
                yield samples.Equal(name, variant, equal, items * _PAGE_BYTES, proof.detail)
        for position, (variant, counts) in enumerate(numbers.items()):
            for block, count in enumerate(counts):
                yield samples.Sample(name, variant, block, 0, position, count)
    yield samples.Done()


def counted(result: record.Record) -> record.Record:
    """Return a record whose verdicts speak of instructions and not of time."""
    words = {Verdict.FASTER: Verdict.FEWER, Verdict.SLOWER: Verdict.MORE}
    rows = (replace(row, verdict=words.get(row.verdict, row.verdict)) for row in result.rows)
    return replace(result, rows=tuple(rows))


def table(result: record.Record) -> Iterator[str]:
    """Yield the lines of the result for people."""
    yield f"$ {result.command}"
    yield f"Linux {result.kernel.release}; instructions, counted by QEMU: no time, no speed"
    case = ""
    for row in result.rows:
        if row.case != case:
            case = row.case
            yield ""
            yield f"{case}: {row.regime}, {row.items} {row.item}s"
        if row.per_item is None:
            yield f"  {row.variant:10} not shown: {row.verdict}"
        elif row.ratio is None:
            yield f"  {row.variant:10} {row.per_item:8.2f} instructions a {row.item}"
        else:
            fewer = f"{row.ratio.median:.2f} times fewer"
            yield f"  {row.variant:10} {row.per_item:8.2f} instructions a {row.item}, {fewer}"
    for control in result.controls:
        if control.ratio is not None:
            yield f"control, {control.case}: base / base = {control.ratio:.5f}"


def _require_result(workshop: Workshop, booted: Booted) -> None:
    found = booted.trouble or "; ".join(booted.heard.failed)
    if found or not booted.heard.values:
        raise MmbatchError(
            "count instructions in a guest",
            (found or "it counted nothing") + "; the last lines of its console:\n"
            f"{qemu.last_lines(booted)}\n",
            f"see {workshop.cache.logs / 'guest-bench.console'}",
        )


def _reproducer(workshop: Workshop, request: Request) -> str:
    words: list[str] = ["./mmbatch", "guest", "bench"]
    if request.tree is None:
        words += ["--kernel", workshop.source.series]
    else:
        words += ["--tree", str(request.tree)]
    words += [word for option in workshop.options for word in ("-K", option)]
    words += ["--size", f"{request.size_gib}G", "--rounds", str(request.rounds)]
    return shlex.join(words)


def too_many(result: record.Record) -> Iterator[str]:
    """Yield a sentence for each case in which `auto` saves less than it has to."""
    for row in result.rows:
        least = _LEAST.get(row.case)
        if row.variant != samples.AUTO or least is None:
            continue
        if row.ratio is None or row.ratio.median < least:
            shown = "no ratio" if row.ratio is None else f"{row.ratio.median:.2f} times fewer"
            yield f"{row.case}: auto takes {shown}, and {least:.0f} times fewer is asked for"
