# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from fake_run import case_events, mixed, run_events
from mmbatch.bench import runs
from mmbatch.bench.runs import CaseRun, collect
from mmbatch.core.errors import MmbatchError
from mmbatch.hosted import events as samples
from mmbatch.hosted.events import Case, Check, Done, Engine, Equal, Event, Note, Sample

LINES = {
    Engine: '{"event":"engine","speedup":"zone_device","sides":["base","control","patched"],'
    '"page_bytes":64,"cpu_flags":{"erms":true,"fsrm":0},"llc_bytes":272629760,'
    '"cached_bytes":46137344}',
    Check: '{"event":"check","good":true,"combinations":3,"runs":12,"bytes":768,"stepped":2,'
    '"streamed":9,"text":""}',
    Case: '{"event":"case","case":"fsdax-100G","regime":"cold, altmap","unit":"ns",'
    '"item":"descriptor","items":26214400,"bytes":1677721600,'
    '"variants":["base","control","wide","limit:rep stosq"],"pairs":20,"memory":3355443200,'
    '"fixed":true,"reads":["limit:read"],"posted":[]}',
    Equal: '{"event":"equal","case":"fsdax-100G","variant":"wide","equal":true,'
    '"bytes":1677721600,"detail":""}',
    Sample: '{"event":"sample","case":"fsdax-100G","variant":"wide","block":3,"half":0,"pos":4,'
    '"ns":91234567,"layout":2,"start":1}',
    Note: '{"event":"note","case":"fsdax-100G","text":"arena moved"}',
    Done: '{"event":"done"}',
}


@pytest.mark.parametrize("kind", LINES)
def test_every_event_is_read_and_written_back(kind: type[Event]) -> None:
    event = samples.parse(LINES[kind])
    assert type(event) is kind
    assert json.loads(samples.dump(event)) == json.loads(LINES[kind])
    assert samples.parse(samples.dump(event)) == event


def test_values_arrive_in_their_fields() -> None:
    assert samples.parse(LINES[Sample]) == Sample("fsdax-100G", "wide", 3, 0, 4, 91234567, 2, 1)
    without = LINES[Sample].replace(',"layout":2,"start":1', "")
    assert samples.parse(without) == Sample("fsdax-100G", "wide", 3, 0, 4, 91234567, 0, 0)
    engine = samples.parse(LINES[Engine])
    assert isinstance(engine, Engine)
    assert engine.cpu_flags == {"erms": True, "fsrm": False}
    assert engine.cpu_flags["fsrm"] is False


def test_unknown_fields_are_ignored() -> None:
    line = LINES[Sample].replace('"ns"', '"mhz":3200,"ns"')
    assert samples.parse(line) == samples.parse(LINES[Sample])


@pytest.mark.parametrize(
    ("kind", "old", "new", "found"),
    [
        (Sample, "{", "", "not JSON"),
        (Sample, '"sample"', '"simple"', "not an event of an engine"),
        (Sample, '"ns":91234567', '"time":91234567', "'ns' is missing"),
        (Sample, "91234567", '"91234567"', "ns: must be a whole number, not '91234567'"),
        (Sample, "91234567", "-5", "ns: must be at least 1, not -5"),
        (Sample, "91234567", "1.5", "ns: must be a whole number, not 1.5"),
        (Sample, "91234567", "0", "ns: must be at least 1, not 0"),
        (Sample, "91234567", "true", "ns: must be a whole number, not true"),
        (Sample, '"half":0', '"half":2', "half: must be 0 or 1, not 2"),
        (Equal, "true", '"yes"', "equal: must be true or false, not 'yes'"),
        (Equal, "true", "null", "equal: must be true or false, not nothing"),
        (Check, "true", "2", "good: must be true or false, not 2"),
        (Check, '"runs":12,', "", "'runs' is missing"),
        (Case, '"base",', "", "variants: lacks 'base'"),
        (Case, "26214400", "0", "items: must be at least 1, not 0"),
        (Case, '"wide"', "7", "variants 3: must be a string, not 7"),
        (Engine, '"erms":true', '"erms":3', "cpu_flags: erms: must be true or false, not 3"),
        (Engine, '{"event"', '[{"event"', "not JSON"),
    ],
)
def test_malformed_lines_are_refused(kind: type[Event], old: str, new: str, found: str) -> None:
    line = LINES[kind].replace(old, new, 1)
    assert line != LINES[kind]
    with pytest.raises(MmbatchError, match="event 12 of the engine") as caught:
        samples.parse(line, 12)
    assert found in caught.value.problem


def test_json_that_is_no_object_is_refused() -> None:
    with pytest.raises(MmbatchError, match="not an event of an engine"):
        samples.parse("[1, 2]")


def test_file_gives_back_the_run_with_the_digest_of_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    samples.write_events(path, mixed())
    run = runs.read(path)
    assert run == collect(mixed())
    assert run.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert run.complete
    assert not run.notes


def test_line_cut_short_is_noted_and_the_rest_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    samples.write_events(path, mixed()[:-1])
    path.write_text(path.read_text()[:-9])
    run = runs.read(path)
    assert not run.complete
    assert any("cut short" in note.text for note in run.notes)
    assert run.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    kept = sum(len(places) for places in run.cases["small-hot"].samples.values())
    assert kept == 20 * 6 - 1


def test_last_line_without_newline_counts_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    samples.write_events(path, mixed())
    path.write_text(path.read_text()[:-1])
    assert runs.read(path).complete


def test_malformed_line_in_the_middle_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_text(f"{LINES[Engine]}\n{LINES[Case][:40]}\n{LINES[Done]}\n")
    with pytest.raises(MmbatchError, match="event 2 "):
        runs.read(path)


def test_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(MmbatchError, match="bench"):
        runs.read(tmp_path / "none.jsonl")


def _changed(variant: str, equal: bool | None) -> CaseRun:
    """One case whose check of `variant` is replaced, or taken away for None."""
    events: list[Event] = []
    for event in run_events(list(case_events())):
        if not isinstance(event, Equal) or event.variant != variant:
            events.append(event)
    if equal is not None:
        events.append(Equal("fsdax-100G", variant, equal, 64, ""))
    return collect(events).cases["fsdax-100G"]


def test_cases_and_variants_keep_their_order() -> None:
    run = collect(mixed())
    assert list(run.cases) == ["fsdax-100G", "small-hot"]
    assert list(run.cases["fsdax-100G"].samples) == [
        "base",
        "control",
        "copy",
        "wide",
        "auto",
        "limit:rep stosq",
    ]


def test_pairs_are_of_one_block_and_half() -> None:
    case = collect(run_events(list(case_events(blocks=3)))).cases["fsdax-100G"]
    pairs = case.pairs("base", "wide")
    assert pairs.blocks == (0, 0, 1, 1, 2, 2)
    for at, place in enumerate((block, half) for block in range(3) for half in (0, 1)):
        assert pairs.first[at] == case.samples["base"][place].ns
        assert pairs.second[at] == case.samples["wide"][place].ns
    del case.samples["wide"][(1, 0)]
    assert case.pairs("base", "wide").blocks == (0, 0, 1, 2, 2)
    del case.samples["base"][(0, 1)]
    pairs = case.pairs("base", "wide")
    kept = [(0, 0), (1, 1), (2, 0), (2, 1)]
    assert pairs.first == tuple(case.samples["base"][place].ns for place in kept)
    assert pairs.second == tuple(case.samples["wide"][place].ns for place in kept)


@pytest.mark.parametrize("equal", [False, None])
@pytest.mark.parametrize("variant", ["wide", "auto", "control"])
def test_unproven_times_are_out_of_reach(variant: str, equal: bool | None) -> None:
    case = _changed(variant, equal)
    assert case.equality(variant) is equal
    assert case.times(variant) == []
    assert case.pairs("base", variant).blocks == ()
    assert case.pairs(variant, "limit:rep stosq").blocks == ()
    assert len(case.times("copy")) == 20


def test_one_failed_check_outweighs_passed_ones() -> None:
    case = collect(
        [*run_events(list(case_events())), Equal("fsdax-100G", "wide", False, 64, "")]
    ).cases["fsdax-100G"]
    assert case.equality("wide") is False
    assert case.times("wide") == []


def test_base_and_limits_need_no_check() -> None:
    case = _changed("wide", True)
    assert len(case.times("base")) == 20
    assert len(case.times("limit:rep stosq")) == 20


def test_nothing_counts_when_base_differs_from_itself() -> None:
    case = _changed("base", False)
    for variant in case.samples:
        assert case.times(variant) == []


def test_nothing_counts_when_the_benchs_own_check_failed() -> None:
    events = mixed()
    for good in (True, False):
        run = collect([events[0], Check(good, 3, 12, 768, 2, 9, "byte 4"), *events[1:]])
        output = run.notes[-1].text
        assert ("12 runs" in output, "FAILED" in output and "byte 4" in output) == (good, not good)
        for case in run.cases.values():
            assert bool(case.times("limit:rep stosq")) == good
            assert bool(case.times("base")) == good
            assert case.equality("wide") == good


@pytest.mark.parametrize(
    ("extra", "found"),
    [
        (Engine("vmap", (), 64, {}), "two different engines"),
        (Case("fsdax-100G", "", "ns", "x", 1, 1, ("base",), 2), "comes twice"),
        (Sample("other", "wide", 0, 0, 0, 5), "unknown case 'other'"),
        (Sample("fsdax-100G", "new", 0, 0, 0, 5), "'new'"),
        (Sample("fsdax-100G", "wide", 0, 0, 0, 5), "two samples"),
        (Equal("fsdax-100G", "new", True, 0, ""), "'new'"),
    ],
)
def test_inconsistent_events_are_refused(extra: Event, found: str) -> None:
    events = run_events(list(case_events()))
    with pytest.raises(MmbatchError, match=found):
        collect([*events[:-1], extra, Done()])


def test_engine_may_repeat_itself_but_must_be_there() -> None:
    events = run_events(list(case_events()))
    assert collect([events[0], *events]).complete
    with pytest.raises(MmbatchError, match="no engine"):
        collect(events[1:])


def test_engine_that_stopped_early_is_noted() -> None:
    run = collect(mixed()[:-1])
    assert not run.complete
    assert any("did not run to its end" in note.text for note in run.notes)
