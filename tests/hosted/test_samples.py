# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

import pytest

from expect import fails
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
    '"ns":91234567,"layout":2}',
    Note: '{"event":"note","case":"fsdax-100G","text":"arena moved"}',
    Done: '{"event":"done"}',
}


@pytest.mark.parametrize("kind", LINES)
def test_every_event_is_read(kind: type[Event]) -> None:
    assert type(samples.parse(LINES[kind])) is kind


def test_values_arrive_in_their_fields() -> None:
    assert samples.parse(LINES[Sample]) == Sample("fsdax-100G", "wide", 3, 0, 4, 91234567, 2)
    without = LINES[Sample].replace(',"layout":2', "")
    assert samples.parse(without) == Sample("fsdax-100G", "wide", 3, 0, 4, 91234567, 0)
    engine = samples.parse(LINES[Engine])
    assert isinstance(engine, Engine)
    assert engine.cpu_flags == {"erms": True, "fsrm": False}


def test_unknown_fields_are_ignored() -> None:
    line = LINES[Sample].replace('"ns"', '"mhz":3200,"ns"')
    assert samples.parse(line) == samples.parse(LINES[Sample])


@pytest.mark.parametrize(
    ("kind", "old", "new", "found"),
    [
        (Sample, "{", "", "Extra data"),
        (Sample, '"sample"', '"simple"', "not an event of an engine"),
        (Sample, '"ns":91234567', '"time":91234567', "'ns' is missing"),
        (Sample, "91234567", '"91234567"', "ns: must be a whole number, not '91234567'"),
        (Sample, "91234567", "-5", "ns: must be at least 1, not -5"),
        (Equal, "true", '"yes"', "equal: must be true or false, not 'yes'"),
        (Check, '"runs":12,', "", "'runs' is missing"),
        (Case, "26214400", "0", "items: must be at least 1, not 0"),
        (Case, '"wide"', "7", "variants 3: must be a string, not 7"),
        (Engine, '"erms":true', '"erms":3', "cpu_flags: erms: must be true or false, not 3"),
    ],
)
def test_malformed_lines_are_refused(kind: type[Event], old: str, new: str, found: str) -> None:
    line = LINES[kind].replace(old, new, 1)
    assert line != LINES[kind]
    with fails("event 12 of the engine", found):
        samples.parse(line, 12)
