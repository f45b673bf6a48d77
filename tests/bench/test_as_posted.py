# SPDX-License-Identifier: GPL-2.0-only
"""What compares a speed-up with its own exported series, and base with itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import against_itself
import as_posted
from fake_run import FSDAX, case_events, record_of, run_events, with_posted
from mmbatch.bench import record
from mmbatch.bench.statistics import Ratio
from mmbatch.hosted.events import Equal


@pytest.mark.parametrize(
    ("ns", "equal", "alike"),
    [(88e6, True, True), (90e6, True, True), (100e6, True, False), (88e6, False, False)],
)
def test_the_same_code_has_the_same_ratios(ns: float, equal: bool, alike: bool) -> None:
    label = as_posted.LABEL
    events = [
        replace(event, equal=equal)
        if isinstance(event, Equal) and event.variant == label
        else event
        for event in with_posted(list(case_events(times={**FSDAX, label: ns})), label)
    ]
    ((_, found),) = as_posted.compare(record_of(run_events(events), posted=[label]))
    assert found is alike


def _controls(place: Path, time: float) -> dict[str, Ratio]:
    times = {**FSDAX, "control": time}
    record.write(place, record_of(run_events(list(case_events("fsdax-100G", times)))))
    return against_itself.controls(place)


def test_each_run_is_judged_by_the_band_of_the_one_before(tmp_path: Path) -> None:
    runs = [_controls(tmp_path / "a.json", time) for time in (220e6, 221e6, 150e6, 220e6)]
    assert against_itself.verdicts(runs) == {"no difference shown": 2, "faster": 1}
