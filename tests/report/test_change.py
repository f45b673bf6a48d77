# SPDX-License-Identifier: GPL-2.0-only
"""Two runs of one machine: what changed by their ratios to base, never by their times."""

import math
from dataclasses import replace

import pytest

from fake_run import FSDAX, case_events, few, record_of, run_events
from mmbatch.bench.record import Record, RowRatio
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.report import change


def run_of(factor: float = 1.0, **times: float) -> Record:
    """Return a record in which the whole machine is slower by a factor."""
    times_ns = {name: ns * factor for name, ns in {**FSDAX, **times}.items()}
    return record_of(run_events(list(case_events(times=times_ns))))


def verdicts(old: Record, new: Record) -> dict[str, str]:
    return {row.variant: row.verdict for row in change.changes(old, new)}


def test_a_slower_machine_is_no_change() -> None:
    expected = dict.fromkeys(("copy", "wide", "auto"), change.SAME)
    assert verdicts(run_of(), run_of(3.0)) == expected


def test_rows_that_changed() -> None:
    found = verdicts(run_of(), run_of(2.0, auto=110e6, copy=100e6))
    assert found == {"copy": change.FASTER, "wide": change.SAME, "auto": change.SLOWER}
    (auto,) = (row for row in change.changes(run_of(), run_of(auto=110e6)) if row.variant == "auto")
    assert auto.factor == pytest.approx(0.8, rel=0.01)
    assert auto.factor is not None
    assert auto.interval is not None
    assert auto.interval[0] < auto.factor < auto.interval[1] < 0.85


def test_errors_of_both_runs_add_in_squares() -> None:
    runs = []
    for error in (1.03, 1.04):
        ratio = RowRatio("base", 2.0, (2.0 / error, 2.0 * error))
        rows = tuple(replace(row, ratio=ratio) for row in run_of().rows if row.variant == "auto")
        runs.append(replace(run_of(), rows=rows))
    (auto,) = change.changes(*runs)
    reach = math.exp(math.hypot(math.log(1.03), math.log(1.04)))
    assert auto.interval == pytest.approx((1 / reach, reach))


def test_what_can_not_be_told() -> None:
    assert set(verdicts(record_of(few()), run_of()).values()) == {change.TOO_FEW}
    new = run_of()
    rows = tuple(row for row in new.rows if row.variant != "wide")
    assert verdicts(run_of(), replace(new, rows=rows))["wide"] == change.GONE


def test_runs_that_can_not_be_compared() -> None:
    other = replace(run_of(), machine=replace(run_of().machine, model=99))
    renamed = tuple(replace(row, case="other") for row in run_of().rows)
    for new in (other, replace(run_of(), rows=renamed)):
        with pytest.raises(MmbatchError) as caught:
            change.changes(run_of(), new)
        assert caught.value.code == ExitCode.USAGE
