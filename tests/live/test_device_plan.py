# SPDX-License-Identifier: GPL-2.0-only
"""plan.toml, and what is worked out from a record and the devices."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import pytest

import real_kernel
from mmbatch.bench import record
from mmbatch.bench.record import Record
from mmbatch.cli import bench
from mmbatch.core import paths
from mmbatch.core.errors import MmbatchError
from mmbatch.hosted import run
from mmbatch.live import plan
from mmbatch.live.devices import Device, Memmap
from mmbatch.live.plan import Match, Plan, Rate

GIB, MIB = 1 << 30, 1 << 20
RECORDS = sorted((paths.ROOT / "results").glob("zone_device-7.3-*.json"))


def device(mode: str = "fsdax", size: int = 100 * GIB, **changes: Any) -> Device:
    return Device("it", mode, size, **{"memmap": Memmap.DEVICE, **changes})


def toys(*matches: Match) -> Plan:
    return Plan("do_it", 64, (), matches)


def made(case: str, base: float, ratio: float, variants: tuple[str, ...] = ("auto",)) -> Record:
    """Return a record with one case, whose variants have the same ratio."""
    read = record.read(RECORDS[0])
    rows = [dataclasses.replace(read.rows[0], case=case, per_item=base, variant="base")]
    model = next(row for row in read.rows if row.ratio is not None)
    assert model.ratio is not None
    for number, variant in enumerate(variants):
        known = dataclasses.replace(model.ratio, median=ratio + number)
        rows.append(dataclasses.replace(model, case=case, variant=variant, ratio=known))
    return dataclasses.replace(read, rows=tuple(rows))


def test_an_item_for_each_page() -> None:
    (found,) = plan.estimate("toy", toys(Match("fsdax", "one")), made("one-25G", 4, 2), [device()])
    assert (found.now, found.then) == (4 * 26214400, 2 * 26214400)
    assert found.memmap_bytes == 64 * 26214400
    assert (found.speedup, found.function) == ("toy", "do_it")


def test_compounds_that_share_their_tails() -> None:
    match = Match("devdax", "one", most_items=128)
    compound = device("devdax", align=2 * MIB)
    assert match.items(compound) == 100 * 512 * 128
    assert match.items(dataclasses.replace(compound, align=4096)) == 100 * GIB // 4096
    assert match.items(dataclasses.replace(compound, align=GIB)) == 100 * 128


def test_memory_blocks() -> None:
    """Twice the memory in blocks half as large is scanned eight times as long."""
    match = Match("system-ram", "plug-@-block128M", block=128 * MIB)
    rate = Rate(3, 1, "ns", 1000)
    known = device("system-ram", 1000 * 4096, block=128 * MIB)
    assert match.times(known, rate) == (3000, 1000)
    larger = device("system-ram", 2000 * 4096, block=64 * MIB)
    assert match.times(larger, rate) == (2000 + 8 * 2000, 2000)
    assert match.times(dataclasses.replace(known, block=0), rate) == (3000, 1000)


def test_the_interval_of_what_is_saved() -> None:
    read = made("one", 4, 2)
    model = read.rows[1]
    assert model.ratio is not None
    known = dataclasses.replace(model.ratio, ci95=(1.0, 4.0))
    rows = (read.rows[0], dataclasses.replace(model, ratio=known))
    toy, single = toys(Match("fsdax", "one")), [device(size=4096)]
    (found,) = plan.estimate("toy", toy, dataclasses.replace(read, rows=rows), single)
    assert found.less == (0, 3)
    without = dataclasses.replace(model, ratio=dataclasses.replace(known, ci95=None))
    rows = (read.rows[0], without)
    (found,) = plan.estimate("toy", toy, dataclasses.replace(read, rows=rows), single)
    assert found.less is None


def test_small_devices() -> None:
    toy = toys(Match("fsdax", "small", most_size=GIB), Match("fsdax", "large"))
    assert plan.cases(toy, [device(size=GIB), device(size=2 * GIB)]) == ("small", "large")


def test_devices_too_small_for_a_case() -> None:
    toy = toys(Match("fsdax", "large", least_size=GIB + 1))
    assert toy.match(device(size=GIB)) is None
    assert toy.match(device(size=GIB + 1)) is not None


def test_the_first_that_fits() -> None:
    toy = toys(
        Match("devdax", "huge", memmap="ram", least_align=2 * MIB),
        Match("devdax", "other"),
        Match("fsdax", "fs", memmap="device"),
    )
    huge = device("devdax", memmap=Memmap.RAM, align=2 * MIB)
    assert plan.cases(toy, [huge, device("devdax"), huge]) == ("huge", "other")
    assert toy.match(device("fsdax", memmap=Memmap.RAM)) is None
    assert toy.match(device("raw")) is None


@pytest.mark.parametrize(
    ("case", "name", "same"),
    [
        ("fsdax", "fsdax-100G", True),
        ("fsdax", "fsdax", True),
        ("fsdax", "fsdax-12345", True),
        ("fsdax", "fsdax-2M-100G", False),
        ("devdax-2M", "devdax-2M-25G", True),
        ("devdax", "devdax-2M-25G", False),
        ("plug-@-block128M", "plug-64G-block128M", True),
        ("plug-@-block128M", "unplug-64G-block128M", False),
    ],
)
def test_names_of_cases(case: str, name: str, same: bool) -> None:
    assert Match("any", case).is_case(name) == same


def test_the_variant_that_users_get() -> None:
    toy = toys(Match("fsdax", "one"))
    several = made("one", 4, 2, ("memcpy", "auto", "wide"))
    assert plan.estimate("toy", toy, several, [device()])[0].then == 4 / 3 * 26214400
    without = made("one", 4, 2, ("memcpy", "wide"))
    assert plan.estimate("toy", toy, without, [device()])[0].then == 4 / 3 * 26214400


def test_a_record_that_lacks_the_better_case() -> None:
    toy = toys(Match("fsdax", "better"), Match("fsdax", "one", most_items=1))
    assert plan.cases(toy, [device()]) == ("better",)
    (found,) = plan.estimate("toy", toy, made("one", 4, 2), [device()])
    assert found.now == 4 * 26214400


def test_a_record_without_the_case() -> None:
    with pytest.raises(MmbatchError, match="no measured case one") as caught:
        plan.estimate("toy", toys(Match("fsdax", "one")), made("two", 4, 2), [device()])
    assert caught.value.code == 2


def test_fresh_memory() -> None:
    assert 0 <= plan.fresh_ns_per_byte(16 << 20) < 1000


@pytest.mark.parametrize("name", plan.known(paths.SPEEDUPS))
def test_plans_of_the_speedups(name: str) -> None:
    """Each case is in bench.c, by the name that it has there."""
    read = plan.load(paths.SPEEDUPS, name)
    bench = (paths.SPEEDUPS / name / "bench.c").read_text(encoding="utf-8")
    assert read.matches
    assert all(f'"{match.case}"' in bench for match in read.matches)
    assert read.function in (paths.SPEEDUPS / name / "live/live.toml").read_text(encoding="utf-8")


def test_a_speedup_without_a_plan(tmp_path: Path) -> None:
    with pytest.raises(MmbatchError, match="no device is bound faster with it") as caught:
        plan.load(tmp_path, "toy")
    assert caught.value.code == 2


@pytest.mark.kernel
@pytest.mark.skipif(shutil.which("spatch") is None, reason="lacks spatch")
@pytest.mark.parametrize("name", plan.known(paths.SPEEDUPS))
def test_each_case_of_a_plan_is_there_in_the_size_of_a_quick_run(name: str) -> None:
    program = real_kernel.hosted_program(name)
    matches = plan.load(paths.SPEEDUPS, name).matches
    wanted = bench.quick(tuple(dict.fromkeys(match.case for match in matches)))

    smaller = run.resized(program, wanted, 1 << 20)

    assert len(run.plan(program, smaller)) == len(wanted.cases)
