# SPDX-License-Identifier: GPL-2.0-only
"""Rows of somebody else's code: judged like ours, and never shown as equal when they are not."""

from dataclasses import replace
from pathlib import Path

import pytest

from fake_run import COMMAND, FSDAX, case_events, kernel, machine, run_events
from mmbatch.bench import record, store
from mmbatch.bench.record import PostedInfo, Record
from mmbatch.bench.results import build_record, exit_code, hidden, outcomes
from mmbatch.bench.runs import collect
from mmbatch.bench.statistics import Verdict
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.hosted.events import Case, Equal, Event, Sample
from mmbatch.report import compare, html, markdown, text

POSTED = PostedInfo("v2 1/2", "series.mbox", "cd" * 32, ("toys: faster", "more"), ("mm/toys.o",))
STARTED = "2026-01-02T03:04:05+00:00"


def posted_record(ns: float, *, equal: bool = True, timed: bool = True) -> Record:
    """Return a record with a posted row that takes so long."""
    events: list[Event] = []
    for event in case_events(times={**FSDAX, POSTED.label: ns}):
        if isinstance(event, Case):
            events.append(replace(event, posted=(POSTED.label,)))
        elif isinstance(event, Equal) and event.variant == POSTED.label:
            events.append(replace(event, equal=equal, detail="" if equal else "toy 7, byte 3"))
            if not equal:  # another start found it too
                events.append(replace(event, equal=False, detail="toy 7, byte 4"))
        elif timed or not (isinstance(event, Sample) and event.variant == POSTED.label):
            events.append(event)
    run = collect(run_events(events))
    return build_record(run, machine(), kernel(), COMMAND, STARTED, posted=[POSTED])


@pytest.mark.parametrize(
    ("ns", "verdict", "code"),
    [
        (110e6, Verdict.FASTER, ExitCode.GOOD),
        (220e6, Verdict.NO_DIFFERENCE, ExitCode.GOOD),
        (330e6, Verdict.SLOWER, ExitCode.FAILED),
    ],
)
def test_a_posted_row_is_judged_like_ours(ns: float, verdict: Verdict, code: ExitCode) -> None:
    found = posted_record(ns)
    (row,) = (row for row in found.rows if row.variant == POSTED.label)
    assert (row.verdict, exit_code(found)) == (verdict, code)
    printed = text.run(found)
    assert "v2 1/2: series.mbox, 2 patches, changes mm/toys.o, sha256" in " ".join(printed.split())
    assert POSTED.sha256 in printed
    assert "fsdax-100G: v2 1/2 " in " ".join(printed.split())


def test_auto_could_not_have_chosen_it() -> None:
    found = posted_record(11e6)
    (auto,) = (row for row in found.rows if row.variant == "auto")
    assert auto.of_best is not None
    assert auto.of_best.vs == "wide"
    (entry,) = compare.entries_of(found)
    assert entry.chosen is auto


@pytest.mark.parametrize("timed", [False, True])
def test_other_memory_gets_no_row_of_numbers(timed: bool) -> None:
    found = posted_record(110e6, equal=False, timed=timed)
    (row,) = (row for row in found.rows if row.variant == POSTED.label)
    assert (row.verdict, row.samples, row.ratio) == (Verdict.NOT_EQUAL, (), None)
    assert exit_code(found) == ExitCode.FAILED
    differences = [note for note in found.notes if "left other bytes" in note]
    assert differences == ["fsdax-100G: v2 1/2 left other bytes than base: toy 7, byte 3"]
    assert "fsdax-100G: v2 1/2: NOT EQUAL, not shown." in text.run(found).splitlines()
    shown = [note for note in found.notes if "does other work than base" in note]
    assert len(shown) == timed
    assert all("takes 110" in note and "ratio 2.00" in note for note in shown)


def test_noise_that_hides_a_posted_row() -> None:
    found = posted_record(220e6)
    rows = [
        replace(row, verdict=Verdict.TOO_NOISY) if row.variant == POSTED.label else row
        for row in found.rows
    ]
    assert hidden(found) == []
    assert hidden(replace(found, rows=tuple(rows))) == ["fsdax-100G"]


def test_reports_name_the_file_and_its_hash(tmp_path: Path) -> None:
    found = posted_record(180e6)  # slower than our plain copy, which is no regression
    again = replace(POSTED, label="v2 2/2", objects=("mm/more.o",))
    found = replace(found, posted=(POSTED, again))
    record.write(tmp_path / store.RECORD, found)
    runs = store.load([tmp_path])
    line = f"v2 1/2 to v2 2/2: series.mbox, 2 patches, changes mm/more.o, sha256 {POSTED.sha256}"
    assert line in " ".join(text.report(runs, tmp_path).split())
    assert f"\n{line}.\n" in markdown.tables(runs)
    assert line in html.render(runs, tmp_path)
    assert list(compare.regressions(compare.sections(runs))) == []


def test_other_memory_stands_out_on_the_page(tmp_path: Path) -> None:
    record.write(tmp_path / store.RECORD, posted_record(110e6, equal=False))
    page = html.render(store.load([tmp_path]), tmp_path)
    assert 'class="verdict slower">NOT EQUAL<' in page


def test_base_alone_is_reported_beside_its_limit(tmp_path: Path) -> None:
    times = {name: FSDAX[name] for name in ("base", "control", "limit:rep stosq")}
    run = collect(run_events(list(case_events(times=times))))
    found = build_record(run, machine(), kernel(), COMMAND, STARTED)
    record.write(tmp_path / store.RECORD, found)
    runs = store.load([tmp_path])
    assert exit_code(found) == ExitCode.GOOD
    assert "base takes 2.68 times as long as the limit" in " ".join(
        text.report(runs, tmp_path).split()
    )
    page = html.render(runs, tmp_path)
    assert "Nothing is compared with the kernel" in page
    assert "base only" in page


def test_outcomes_are_those_of_the_exit_code() -> None:
    slower = outcomes(posted_record(330e6))
    assert [outcome.case for outcome in slower if outcome.problem] == [
        f"fsdax-100G: {POSTED.label}"
    ]
    unequal = outcomes(posted_record(110e6, equal=False))
    assert [outcome.problem for outcome in unequal if outcome.problem] == [
        "it left other memory than base"
    ]
    good = list(outcomes(posted_record(110e6)))
    assert all(outcome.passed for outcome in good)
    assert {outcome.suite for outcome in good} == {"zone_device on 7.3.1"}
    (auto,) = (outcome for outcome in good if outcome.case == "fsdax-100G: auto")
    assert auto.detail.startswith("faster: 2.500 times as fast as base, 95 % interval 2.4")
    found = posted_record(220e6)
    noisy = [
        replace(row, verdict=Verdict.TOO_NOISY) if row.variant == POSTED.label else row
        for row in found.rows
    ]
    (skipped,) = (
        outcome for outcome in outcomes(replace(found, rows=tuple(noisy))) if outcome.skipped
    )
    assert skipped.case == f"fsdax-100G: {POSTED.label}"


def test_the_record_keeps_label_and_hash(tmp_path: Path) -> None:
    found = posted_record(110e6)
    record.write(tmp_path / "bench.json", found)
    assert record.read(tmp_path / "bench.json").posted == (POSTED,)
    fields = record.to_dict(found)
    fields["posted"][0]["sha256"] = "abc"
    with pytest.raises(MmbatchError, match="is no SHA-256"):
        record.validate(fields)
