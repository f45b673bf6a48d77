# SPDX-License-Identifier: GPL-2.0-only
"""A record as text: what a person reads of it, and of two of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from fake_run import EVERY, FSDAX, SMALL, broken, case_events, record_of, run_events, with_posted
from mmbatch.bench import record
from mmbatch.core import paths
from mmbatch.core.errors import MmbatchError
from mmbatch.hosted.events import Sample
from mmbatch.report import compare, text
from mmbatch.report.markdown import who_benefits


@pytest.mark.parametrize(("cover", "width"), [(False, 80), (True, 72)])
def test_lines_keep_to_their_width(cover: bool, width: int) -> None:
    for events in EVERY:
        printed = text.report(record_of(events()), every=True, cover=cover)
        assert max(map(len, printed.splitlines())) <= width, events


def test_no_number_of_an_unproven_variant_is_printed() -> None:
    events = [
        dataclasses.replace(event, ns=77_770_000)
        if isinstance(event, Sample) and event.variant == "wide"
        else event
        for event in broken()
    ]
    printed = text.report(record_of(events), every=True)
    assert "77.77" not in printed and "NOT EQUAL" in printed
    assert "memory identical" not in printed
    assert "wide in fsdax-100G" in printed


def test_posted_code_has_a_column_for_each_series() -> None:
    times = {**SMALL, "v1": 500e3, "v2": 200e3}
    events = with_posted(case_events("small", times), "v1", "v2")
    printed = text.report(record_of(run_events(events), posted=["v1", "v2"]))
    (row,) = (line for line in printed.splitlines() if line.startswith("small "))
    assert row.split() == ["small", "400.0", "us", "~", "0.80!", "2.00"]
    assert "Slower: v1 in small (0.80, 0.80 to 0.80)." in printed


def _ratios(*changes: tuple[str, float]) -> record.Record:
    return record_of(run_events(case_events(times={**FSDAX, **dict(changes)})))


def test_rows_that_changed() -> None:
    found = compare.changes(_ratios(), _ratios(("auto", 110e6), ("copy", 120e6)))
    assert {change.variant: change.verdict for change in found} == {
        "copy": compare.FASTER,
        "wide": compare.SAME,
        "auto": compare.SLOWER,
    }
    (auto,) = (change for change in found if change.variant == "auto")
    assert auto.factor and auto.factor.median == pytest.approx(0.8, rel=0.01)
    assert "fsdax-100G auto   2.50  2.00    0.80" in compare.text(_ratios(), _ratios(), found)


def test_a_slower_machine_is_no_change() -> None:
    slow = record_of(run_events(case_events(times={k: 3 * ms for k, ms in FSDAX.items()})))
    assert {change.verdict for change in compare.changes(_ratios(), slow)} == {compare.SAME}


def test_what_two_runs_differ_in_is_named() -> None:
    assert compare.differences(_ratios(), _ratios()) == []
    of = _ratios().machine
    flags = {**of.flags, "fsrm": True}
    other = dataclasses.replace(of, stepping=2, cores=4, load=9, hypervisor="", flags=flags)
    found = compare.differences(_ratios(), dataclasses.replace(_ratios(), machine=other))
    assert found == [
        "CPU Example CPU 9000 25/1/1, now Example CPU 9000 25/1/2",
        "flags rep_good erms, now rep_good erms fsrm",
        "cores 2, now 4",
        "hypervisor kvm, now none",
        "load 0.2, now 9.0",
    ]
    busy = dataclasses.replace(of, load=0.5)
    assert not compare.differences(_ratios(), dataclasses.replace(_ratios(), machine=busy))


def test_what_is_gone_is_told() -> None:
    times = {name: ms for name, ms in FSDAX.items() if name != "wide"}
    found = compare.changes(_ratios(), record_of(run_events(case_events(times=times))))
    assert [change.variant for change in found if change.verdict == compare.GONE] == ["wide"]


def test_runs_that_can_not_be_compared() -> None:
    other = dataclasses.replace(_ratios().machine, model=17)
    with pytest.raises(MmbatchError, match="one is of Zen 3, the other of Zen 4"):
        compare.changes(_ratios(), dataclasses.replace(_ratios(), machine=other))
    with pytest.raises(MmbatchError, match="no row in common"):
        compare.changes(_ratios(), record_of(run_events(case_events("other"))))


def test_who_benefits(tmp_path: Path) -> None:
    head = "# x\n\n## Why, and who benefits\n\nThose with [a `pmem`](https://b.org/)\ndisk.\n\n**All**.\n\n"
    (tmp_path / "README.md").write_text(f"{head}## How\n\nNo.\n")
    assert who_benefits(tmp_path) == ["Those with a pmem disk.", "All."]
    for path in paths.SPEEDUPS.glob("*/bench.c"):
        assert who_benefits(path.parent), path
