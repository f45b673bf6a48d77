# SPDX-License-Identifier: GPL-2.0-only
"""Which limit row bounds a case, with made-up times of several CPUs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import pytest

from fake_run import FSDAX, case_events, record_of, run_events
from mmbatch.bench.limits import choose, defects, on_one_cpu
from mmbatch.bench.record import Limit, Record
from mmbatch.hosted.events import Case, Event, Sample

SLOW_STOSQ = {"rep stosq": 202.0, "mov 8": 210.0, "movnt 8": 82.0, "movnt 16": 77.0}
FAST_STOSQ = {"rep stosq": 48.0, "mov 8": 60.0, "movnt 8": 52.0, "movnt 16": 51.0}


def limits(times: Mapping[str, float], timed: Mapping[str, int] | None = None) -> list[Limit]:
    return [
        Limit("s", "c", name, "ns", (round(ms * 1e6),) * (timed or {}).get(name, 20), ms * 1e6, ms)
        for name, ms in times.items()
    ]


@pytest.mark.parametrize(
    ("times", "reads", "expected"),
    [
        ({}, (), None),
        (SLOW_STOSQ, (), "movnt 16"),
        (FAST_STOSQ, (), "rep stosq"),
        ({**SLOW_STOSQ, "read": 132.0}, ("limit:read",), "read"),
        ({**SLOW_STOSQ, "read": 60.0}, ("limit:read",), "movnt 16"),
        ({"read": 60.0}, ("limit:read",), "read"),
        ({"read the array": 60.0, "nothing": 1.0}, (), "nothing"),
    ],
)
def test_limit_is_the_fastest_fill_or_what_must_be_read(
    times: Mapping[str, float], reads: Sequence[str], expected: str | None
) -> None:
    chosen = choose(limits(times), reads)
    assert (chosen.name if chosen else None) == expected


def test_fill_of_the_first_block_alone_is_no_limit() -> None:
    lucky = {**SLOW_STOSQ, "mov 8": 50.0}
    chosen = choose(limits(lucky, {"mov 8": 2}), ())
    assert chosen is not None and chosen.name == "movnt 16"
    chosen = choose(limits(lucky, {"mov 8": 10}), ())
    assert chosen is not None and chosen.name == "mov 8"


def test_limit_of_several_cpus_is_none_that_runs_on_one() -> None:
    alone = {f"{name}, 1 CPU": ms / 2 for name, ms in SLOW_STOSQ.items()}
    found = limits({**SLOW_STOSQ, **alone})
    several, one = choose(found, ()), on_one_cpu(found, ())
    assert several is not None and several.name == "movnt 16"
    assert one is not None and one.name == "movnt 16, 1 CPU"
    assert on_one_cpu(limits(SLOW_STOSQ), ()) is None


def with_reads(events: Sequence[Event]) -> list[Event]:
    """Fills that left after the first block, and a row that only reads."""
    kept: list[Event] = []
    for event in events:
        if isinstance(event, Sample) and event.variant == "limit:mov 8" and event.block:
            continue
        if isinstance(event, Case):
            kept.append(dataclasses.replace(event, reads=("limit:read",)))
        else:
            kept.append(event)
    return kept


def of(times: Mapping[str, float]) -> Record:
    return record_of(with_reads(run_events(list(case_events(times=times)))))


@pytest.mark.parametrize(("read", "limit"), [(40e6, "movnt 16"), (86e6, "read")])
def test_record_names_the_limit_and_keeps_all_rows(read: float, limit: str) -> None:
    times = {**FSDAX, "limit:mov 8": 90e6, "limit:movnt 16": 76e6, "limit:read": read}
    measured = of(times)
    assert {row.of_limit.vs for row in measured.rows if row.of_limit} == {f"limit:{limit}"}
    assert [row.name for row in measured.limits] == ["rep stosq", "mov 8", "movnt 16", "read"]
    assert [len(row.samples) for row in measured.limits] == [20, 2, 20, 20]
    assert measured.notes == ()


def test_variant_that_beats_its_limit_is_a_defect_of_the_limit() -> None:
    measured = of({**FSDAX, "limit:rep stosq": 202e6})
    (copy, wide, auto) = measured.notes
    assert copy.startswith("fsdax-100G: copy takes 0.74 (0.7")
    assert wide.startswith("fsdax-100G: wide takes 0.44 (0.4")
    assert "of the time of 'limit:rep stosq', so that row is not a limit here" in auto


@pytest.mark.parametrize(("limit", "noise"), [(90e6, 0.004), (96e6, 0.2)])
def test_variant_near_its_limit_is_none(limit: float, noise: float) -> None:
    times = {**FSDAX, "limit:rep stosq": limit}
    measured = record_of(run_events(list(case_events(times=times, noise=noise))))
    assert defects(measured.rows) == []
