# SPDX-License-Identifier: GPL-2.0-only
"""What compares a speed-up with its own exported series, on made-up records."""

from __future__ import annotations

from dataclasses import replace

import pytest

import as_posted
from fake_run import COMMAND, FSDAX, SMALL, case_events, kernel, machine, run_events
from mmbatch.bench import record
from mmbatch.bench.record import PostedInfo
from mmbatch.bench.results import build_record
from mmbatch.bench.runs import collect
from mmbatch.hosted.events import Case, Equal, Event


@pytest.mark.parametrize(("ns", "alike"), [(88e6, True), (90e6, True), (100e6, False)])
def test_the_same_code_has_the_same_ratios(ns: float, alike: bool) -> None:
    label = as_posted.LABEL
    events: list[Event] = []
    for case, times, own in (("fsdax", FSDAX, ns), ("small", SMALL, 404e3)):
        for event in case_events(case, {**times, label: own}):
            events.append(replace(event, posted=(label,)) if isinstance(event, Case) else event)
    posted = [PostedInfo(label, "series", "cd" * 32, (), ())]
    run = collect(run_events(events))
    fields = record.to_dict(
        build_record(run, machine(), kernel(), COMMAND, "2026-01-02T03:04:05+00:00", posted=posted)
    )
    both = list(as_posted.compare(fields))
    assert [(case.case, case.alike) for case in both] == [("fsdax", alike), ("small", True)]
    assert both[0].own == pytest.approx(2.5, rel=0.01)
    assert as_posted.unequal(fields) == []


def test_other_memory_is_told() -> None:
    label = as_posted.LABEL
    events: list[Event] = []
    for event in case_events("fsdax", {**FSDAX, label: 88e6}):
        if isinstance(event, Case):
            events.append(replace(event, posted=(label,)))
        elif isinstance(event, Equal) and event.variant == label:
            events.append(replace(event, equal=False, detail="toy 7"))
        else:
            events.append(event)
    posted = [PostedInfo(label, "series", "cd" * 32, (), ())]
    run = collect(run_events(events))
    fields = record.to_dict(
        build_record(run, machine(), kernel(), COMMAND, "2026-01-02T03:04:05+00:00", posted=posted)
    )
    assert as_posted.unequal(fields) == ["fsdax"]
    assert list(as_posted.compare(fields)) == []
