# SPDX-License-Identifier: GPL-2.0-only
"""Made-up runs of an engine, the same on every machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from mmbatch.bench import record
from mmbatch.bench.machine import Machine
from mmbatch.bench.record import Code, Kernel, Posted, Record
from mmbatch.hosted.events import LIMIT_PREFIX, Case, Done, Engine, Equal, Event, Note, Sample

ENGINE = Engine("zone_device", ("base", "control", "patched"), 64, {"erms": True, "fsrm": False})
FSDAX = {"base": 220e6, "control": 220e6, "copy": 150e6, "wide": 88e6, "auto": 88e6}
FSDAX |= {"limit:rep stosq": 82e6}
SMALL = {"base": 400e3, "control": 400e3, "copy": 400e3, "wide": 440e3, "auto": 404e3}
SMALL |= {"limit:rep stosq": 170e3}
COMMAND = "./mmbatch bench zone_device --kernel 7.3 --seed 1"


def machine() -> Machine:
    return Machine(
        cpu="Example CPU 9000",
        arch="x86_64",
        family=25,
        model=1,
        stepping=1,
        flags={"rep_good": True, "erms": True, "fsrm": False, "movdir64b": False},
        cores=2,
        llc_bytes=32 << 20,
        mem_bytes=8 << 30,
        available_bytes=7 << 30,
        hypervisor="kvm",
        load=0.25,
        governor="",
        thp="madvise",
        host_kernel="6.12.9",
        compiler="gcc (Debian) 14.2.0",
    )


def kernel() -> Kernel:
    return Kernel("7.3.1", "linux-source-7.3 7.3.1-1", "ab" * 32)


def case_events(
    name: str = "fsdax-100G",
    times: Mapping[str, float] = FSDAX,
    *,
    blocks: int = 10,
    noise: float = 0.004,
    regime: str = "cold, altmap",
    items: int = 26_214_400,
    unit: str = "ns",
) -> Iterator[Event]:
    """Events of a case: noise takes the five steps of +-`noise`, differently for each variant."""
    variants = tuple(times)
    yield Case(name, regime, unit, "struct page", items, items * 64, variants, blocks * 2)
    for variant in variants:
        if not variant.startswith(LIMIT_PREFIX) and variant != "base":
            yield Equal(name, variant, True, items * 64, "")
    for block in range(blocks):
        turn = variants[block % len(variants) :] + variants[: block % len(variants)]
        for half, order in enumerate((turn, turn[::-1])):
            for pos, variant in enumerate(order):
                step = (7 * block + 3 * half + (1 + variants.index(variant)) * (block + 2)) % 5 - 2
                ns = round(times[variant] * (1 + noise * step / 2))
                yield Sample(name, variant, block, half, pos, ns)


def run_events(*cases: Iterable[Event]) -> list[Event]:
    return [ENGINE, *(event for case in cases for event in case), Done()]


def record_of(
    *starts: Sequence[Event],
    posted: Sequence[str] = (),
    cpu: str = "Example CPU 9000",
    started: str = "2026-01-02T03:04:05+00:00",
) -> Record:
    """Return the record of the events of each start of a program."""
    cases, notes = record.cases_of(starts)
    return Record(
        schema=record.SCHEMA,
        speedup="zone_device",
        command=COMMAND,
        started=started,
        code=Code(),
        machine=dataclasses.replace(machine(), cpu=cpu),
        kernel=kernel(),
        engine="hosted",
        cases=cases,
        posted=tuple(Posted(label, "v2.mbox", "cd" * 32, ("mm: faster",), ()) for label in posted),
        notes=notes,
    )


def counted_by(events: Sequence[Event]) -> Record:
    """Return the record that `mmbatch guest bench` makes of what a guest counted."""
    command = "./mmbatch guest bench toys --arch x86_64"
    return dataclasses.replace(record_of(list(events)), engine="guest-icount", command=command)


def with_posted(events: Iterable[Event], *labels: str) -> list[Event]:
    """Mark variants of every case as posted code."""
    return [
        dataclasses.replace(event, posted=labels) if isinstance(event, Case) else event
        for event in events
    ]


def mixed(small: Mapping[str, float] = SMALL, large: Mapping[str, float] = FSDAX) -> list[Event]:
    """A case that wins, and one that loses."""
    hot = case_events("small-hot", small, regime="hot", items=131_072)
    return run_events(case_events(times=large), hot)


def broken() -> list[Event]:
    """`wide` leaves other bytes behind, nobody checked `copy`, and the engine was killed."""
    events: list[Event] = []
    for event in mixed()[:-1]:
        if isinstance(event, Equal) and event.variant == "copy" and event.case == "small-hot":
            continue
        if isinstance(event, Equal) and event.variant == "wide":
            events.append(Equal(event.case, "wide", False, 64, "byte 40 of descriptor 7"))
        else:
            events.append(event)
    return [*events, Note("small-hot", "the arena was moved once")]


def noisy() -> list[Event]:
    """The control alone is 15 % off in one case of two, which hides what `auto` does there."""
    off = {**FSDAX, "control": 220e6 * 1.15, "auto": 195e6}
    return mixed({**SMALL, "auto": 300e3}, off)


def few() -> list[Event]:
    """Two blocks, four pairs."""
    return run_events(case_events(blocks=2))


def losing() -> list[Event]:
    """A run whose `auto` is slower than base in a case."""
    return mixed({**SMALL, "auto": 500e3})


EVERY = (mixed, losing, broken, noisy, few)


def save_run(path: Path, events: list[Event], started: str, cpu: str = "Example CPU 9000") -> Path:
    record.write(path, record_of(events, started=started, cpu=cpu))
    return path
