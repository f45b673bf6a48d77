# SPDX-License-Identifier: GPL-2.0-only
"""What compares base with itself."""

from __future__ import annotations

from pathlib import Path

import against_itself
from fake_run import FSDAX, case_events, record_of, run_events
from mmbatch.bench import record
from mmbatch.bench.statistics import Ratio


def _controls(place: Path, time: float) -> dict[str, Ratio]:
    times = {**FSDAX, "control": time}
    record.write(place, record_of(run_events(list(case_events("fsdax-100G", times)))))
    return against_itself.controls(place)


def test_each_run_is_judged_by_the_band_of_the_one_before(tmp_path: Path) -> None:
    runs = [_controls(tmp_path / "a.json", time) for time in (220e6, 221e6, 150e6, 220e6)]
    assert against_itself.verdicts(runs) == {"no difference shown": 2, "faster": 1}
