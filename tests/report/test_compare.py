# SPDX-License-Identifier: GPL-2.0-only
"""What a report selects: names of runs, order, and regressions."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from fake_run import (
    FSDAX,
    SMALL,
    case_events,
    mixed,
    record_of,
    run_events,
)
from mmbatch.bench import store
from mmbatch.bench.record import EngineName
from mmbatch.bench.store import Raw, Stored
from mmbatch.core import paths as checkout
from mmbatch.report import compare, markdown, text
from mmbatch.report import html as page


def test_runs_are_named_by_machine_and_kernel(runs: list[Stored]) -> None:
    assert [run.name for run in runs] == [
        "Example CPU 9000, Linux 7.3.1",
        "Other <b>CPU</b> & Co, Linux 7.3.1",
    ]


def test_runs_of_one_speedup_never_share_a_name() -> None:
    first = record_of(mixed())
    machine = dataclasses.replace(first.machine, cpu="Intel(R) Xeon(R) 8481C CPU @ 2.70GHz")
    first = dataclasses.replace(first, machine=machine)
    later = dataclasses.replace(first, started="2026-02-03T04:05:06+00:00")
    rows = tuple(dataclasses.replace(row, speedup="vmap") for row in first.rows)
    other = dataclasses.replace(first, rows=rows)
    guest = dataclasses.replace(first, engine="guest-icount", command="./mmbatch x --arch arm64")
    assert list(store.run_names([first, later, first, other, guest])) == [
        "Intel Xeon 8481C, Linux 7.3.1, 2026-01-02 03:04 (run 1)",
        "Intel Xeon 8481C, Linux 7.3.1, 2026-02-03 04:05",
        "Intel Xeon 8481C, Linux 7.3.1, 2026-01-02 03:04 (run 2)",
        "Intel Xeon 8481C, Linux 7.3.1",
        "emulated arm64, Linux 7.3.1",
    ]


def test_machines_whose_cpus_have_one_name_are_told_apart() -> None:
    first = record_of(mixed())
    machine = dataclasses.replace(first.machine, cpu="AMD EPYC", family=25, model=17)
    first = dataclasses.replace(first, machine=machine)
    newer = dataclasses.replace(first, machine=dataclasses.replace(machine, family=26, model=2))
    unknown = dataclasses.replace(first, machine=dataclasses.replace(machine, family=None))
    assert list(store.run_names([first, newer, unknown])) == [
        "AMD EPYC (family 25 model 17), Linux 7.3.1",
        "AMD EPYC (family 26 model 2), Linux 7.3.1",
        "AMD EPYC, Linux 7.3.1",
    ]


def test_regressions_against_base_come_before_those_against_the_copy(runs: list[Stored]) -> None:
    found = compare.regressions(compare.sections(runs))
    shown = [
        (regression.run.name, regression.row.case, regression.row.variant) for regression in found
    ]
    first, second = (run.name for run in runs)
    assert shown == [
        (first, "small-hot", "wide"),
        (second, "small-hot", "wide"),
        (second, "small-hot", "auto"),
    ]
    assert found[-1].words.startswith("takes 1.25 times as long as base (1.2")
    copy_only = {**SMALL, "base": 600e3, "control": 600e3}
    events = run_events(list(case_events("small-hot", copy_only)))
    run = Stored("A", Path(), record_of(events), Raw.ABSENT)
    (regression,) = compare.regressions(compare.sections([run]))
    assert (regression.row.variant, regression.words) == (
        "wide",
        "takes 1.10 times as long as the plain copy",
    )


def test_newer_kernels_come_first_and_counts_last() -> None:
    first = record_of(mixed())
    records = []
    engines: dict[str, EngineName] = {
        "6.12.95": "hosted",
        "7.10.1": "guest-icount",
        "7.9.2": "hosted",
    }
    for release, engine in engines.items():
        kernel = dataclasses.replace(first.kernel, release=release)
        records.append(dataclasses.replace(first, kernel=kernel, engine=engine))
    runs = [Stored(measured.kernel.release, Path(), measured, Raw.ABSENT) for measured in records]
    (section,) = compare.sections(runs)
    assert [run.name for run in section.runs] == ["7.9.2", "6.12.95", "7.10.1"]


@pytest.mark.parametrize(
    ("control", "auto", "named"),
    [
        (400e3, 412e3, True),  # 3 % with a quiet control
        (400e3, 406e3, False),  # code layout can do that
        (424e3, 412e3, False),  # within the band of 6 % that base shows against itself
        (424e3, 440e3, True),
        (480e3, 440e3, False),  # noise voids the case, and `auto` may be that copy
        (None, 440e3, False),  # nobody knows the noise
    ],
)
def test_noise_is_no_regression(control: float | None, auto: float, named: bool) -> None:
    times = {"base": 400e3, "control": control, "copy": 400e3, "wide": 300e3, "auto": auto}
    known = {name: time for name, time in times.items() if time is not None}
    measured = record_of(run_events(list(case_events("small-hot", known))))
    (section,) = compare.sections([Stored("A", Path(), measured, Raw.ABSENT)])
    found = compare.slower_than_copy(section.cases[0].entries[0])
    assert [row.variant for row, _ in found] == (["auto"] if named else [])
    assert ("Slower than `copy`" in "\n".join(markdown.table(measured))) is named


def test_cases_without_control_or_limit() -> None:
    times = {name: FSDAX[name] for name in ("base", "copy")}
    run = Stored("A", Path(), record_of(run_events(list(case_events("x", times)))), Raw.ABSENT)
    html = page.render([run], checkout.SPEEDUPS)
    assert 'class="band"' not in html and 'class="limit-line"' not in html
    assert "control" not in text.run(run.record)
