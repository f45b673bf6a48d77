# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

import copy
import dataclasses
import json
import os
import statistics as plain_statistics
import threading
from pathlib import Path
from typing import Any

import pytest

from fake_run import ENGINE, broken, few, mixed, noisy, record_of
from mmbatch.bench import record
from mmbatch.bench.record import Record
from mmbatch.core.errors import MmbatchError


def _fields() -> Any:
    return record.to_dict(record_of(mixed()))


@pytest.mark.parametrize("events", [mixed, broken, noisy, few])
def test_file_gives_back_the_record(events: Any, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    written = record_of(events())
    record.write(path, written)
    assert record.read(path) == written


def test_samples_of_a_row_are_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    odd = "[\n 1,\n 2\n]"  # a string that looks like a list stays as it is
    written = dataclasses.replace(record_of(mixed()), notes=(odd,))
    record.write(path, written)
    text = path.read_text()
    for row in written.rows:
        assert f'"samples": {json.dumps(list(row.samples))},\n' in text
    assert record.read(path).notes == (odd,)


def test_keys_of_the_design_are_there_in_order(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    record.write(path, record_of(mixed()))
    fields = json.loads(path.read_text())
    assert list(fields) == [
        "schema",
        "command",
        "started",
        "machine",
        "kernel",
        "engine",
        "rows",
        "limits",
        "controls",
        "notes",
        "samples_sha256",
        "posted",
    ]
    assert fields["schema"] == 1
    designed = {
        "machine": "cpu family model flags cores llc_bytes mem_bytes hypervisor load",
        "kernel": "release source config_sha256",
        "rows": "speedup case regime variant unit samples median items per_item ratio verdict "
        "image_equal",
        "limits": "speedup case name median",
        "controls": "speedup case ratio ci95",
    }
    for key, names in designed.items():
        part = fields[key][0] if isinstance(fields[key], list) else fields[key]
        assert [name for name in part if name in names.split()] == names.split()
    wide = next(row for row in fields["rows"] if row["variant"] == "wide")
    assert list(wide["ratio"]) == ["vs", "median", "ci95"]
    assert wide["ratio"]["vs"] == "base"


def test_numbers_are_those_of_the_samples() -> None:
    wide = next(row for row in _fields()["rows"] if row["variant"] == "wide")
    assert len(wide["samples"]) == 20
    assert wide["median"] == plain_statistics.median(wide["samples"])
    assert wide["per_item"] == pytest.approx(wide["median"] / 26_214_400)
    assert wide["detail"]["minimum"] == min(wide["samples"])
    assert wide["detail"]["pairs"] == 20
    assert wide["detail"]["p"] <= wide["detail"]["p_holm"] <= 1
    assert wide["ratio"]["median"] == pytest.approx(2.5, rel=0.01)
    assert wide["of_limit"]["vs"] == "limit:rep stosq"
    assert wide["of_limit"]["median"] == pytest.approx(88 / 82, rel=0.01)


def test_written_twice_is_the_same_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        record.write(tmp_path / name, record_of(mixed()))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.json"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fchmod", full)
    with pytest.raises(MmbatchError, match="No space left"):
        record.write(path, record_of(mixed()))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_unwritable_place_is_said(tmp_path: Path) -> None:
    with pytest.raises(MmbatchError, match="--json"):
        record.write(tmp_path / "none" / "out.json", record_of(mixed()))


def test_record_that_breaks_the_schema_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    wrong = dataclasses.replace(record_of(mixed()), samples_sha256="")
    with pytest.raises(MmbatchError, match="samples_sha256"):
        record.write(path, wrong)
    assert not path.exists()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"[]", "must be a table, not a list"),
        (b'"\xff"', "is not UTF-8 text"),
        (b"[" * 99_999, "is nested too deeply"),
        (b'{"a":' * 99_999, "is nested too deeply"),
        (b"1" * 9999, "too many digits"),
    ],
)
def test_file_that_is_no_record(content: bytes, found: str, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_bytes(content)
    with pytest.raises(MmbatchError) as caught:
        record.read(path)
    assert str(path) in caught.value.action
    assert found in caught.value.problem


BASE, WIDE = 0, 2
CHANGES: list[tuple[list[Any], Any, str]] = [
    (["schema"], 2, "schema: must be 1, not 2"),
    (["schema"], True, "schema: must be a whole number, not true"),
    (["started"], "yesterday", "started"),
    (["started"], "2026-01-02T03:04:05", "started"),
    (["engine"], "tcg", "engine: must be one of"),
    (["samples_sha256"], "AB" * 32, "samples_sha256"),
    (["samples_sha256"], "ab" * 31, "samples_sha256"),
    (["command"], 5, "command: must be a string"),
    (["command"], None, "command: must be a string"),
    (["machine", "flags", "erms"], "yes", "machine: flags: erms: must be true or false"),
    (["machine", "flags"], [], "machine: flags: must be a table"),
    (["machine", "cores"], 2.5, "machine: cores: must be a whole number"),
    (["machine", "cores"], True, "machine: cores: must be a whole number"),
    (["machine", "load"], float("nan"), "finite"),
    (["machine", "surprise"], 1, "machine: unknown key 'surprise'"),
    (["kernel"], None, "kernel: must be a table, not nothing"),
    (["rows"], {}, "rows: must be a list, not a table"),
    (["rows", WIDE, "verdict"], "much faster", "verdict"),
    (["rows", WIDE, "samples", 3], 1.5, "rows 3: samples 4: must be a whole number, not 1.5"),
    (["rows", WIDE, "samples"], [], "without samples"),
    (["rows", WIDE, "median"], None, "half empty"),
    (["rows", WIDE, "image_equal"], False, "no passed equality check"),
    (["rows", WIDE, "image_equal"], None, "no passed equality check"),
    (["rows", WIDE, "image_equal"], 1, "image_equal"),
    (["rows", WIDE, "items"], 0, "no items"),
    (["rows", WIDE, "ratio", "ci95"], [1.0], "ratio: ci95: must have 2 items, not 1"),
    (["rows", WIDE, "ratio", "ci95"], [2.0, 1.0], "lo <= hi"),
    (["rows", WIDE, "ratio", "ci95", 0], 0.0, "ratio: ci95 1: must be from 1e-18"),
    (["rows", WIDE, "of_limit", "ci95"], [2.0, 1.0], "lo <= hi"),
    (["rows", WIDE, "ratio", "median"], "2.5", "ratio: median: must be a number, not '2.5'"),
    (["controls", 0, "ci95"], [2.0, 1.0], "lo <= hi"),
    (["controls", 0, "too_noisy"], None, "too_noisy"),
    (["limits", 0, "median"], None, "limits 1: median: must be a number"),
    (["notes"], ["\ud800"], "notes 1: has a character that can't be used: '\\ud800'"),
    (["rows", WIDE, "items"], 10**20, "items: is a number out of range"),
    (["rows", WIDE, "median"], 10**400, "median: is a number out of range"),
    (["notes"], "a note", "notes: must be a list"),
    (["rows", WIDE, "speedup"], "", "'' is not the name of a speed-up"),
    (["rows", WIDE, "speedup"], "../x", "'../x' is not the name of a speed-up"),
    (["rows", WIDE, "case"], "", "no case"),
    (["rows", WIDE, "variant"], "base", "row base of fsdax-100G comes twice"),
    (["rows", BASE, "variant"], "other", "fsdax-100G has no row of base"),
    (["rows", WIDE, "samples", 3], 0, "a sample of fsdax-100G is below 1"),
    (["rows", WIDE, "median"], 0.0, "rows 3: median: must be from 1e-18 to 1e+18, not 0"),
    (["rows", WIDE, "ratio", "median"], -1, "ratio: median: must be from 1e-18"),
    (["rows", WIDE, "ratio", "ci95", 1], 1e300, "ci95 2: must be from 1e-18"),
    (["rows", WIDE, "of_limit", "median"], 5e-324, "of_limit: median: must be from 1e-18"),
    (["rows", WIDE, "detail", "p"], -0.5, "detail: p: must be from 0 to"),
    (["controls", 0, "band"], -3.0, "controls 1: band: must be from 0 to"),
    (["machine", "llc_bytes"], -1, "machine: llc_bytes: must be at least 0, not -1"),
    (["machine", "cores"], 0, "machine: cores: must be at least 1, not 0"),
    (["kernel", "release"], "9" * 65, "kernel: release: is longer than 64 characters"),
]


@pytest.mark.parametrize(("place", "value", "found"), CHANGES)
def test_every_breach_is_named(place: list[Any], value: Any, found: str) -> None:
    fields = _fields()
    record.validate(copy.deepcopy(fields))
    part = fields
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    with pytest.raises(MmbatchError) as caught:
        record.validate(fields)
    assert found in caught.value.problem


KEYS = [entry.name for entry in dataclasses.fields(Record) if entry.default is dataclasses.MISSING]


@pytest.mark.parametrize("name", KEYS)
def test_no_key_may_be_missing(name: str) -> None:
    fields = _fields()
    del fields[name]
    with pytest.raises(MmbatchError, match=f"'{name}' is missing"):
        record.validate(fields)


def test_what_is_no_plain_file_is_written_into(tmp_path: Path) -> None:
    target, link, pipe = tmp_path / "target", tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(target)
    record.write(link, record_of(mixed()))
    assert link.is_symlink()
    assert record.read(target) == record_of(mixed())
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: target.write_bytes(pipe.read_bytes()))
    reader.start()
    record.write(pipe, record_of(few()))
    reader.join()
    assert pipe.is_fifo()
    assert record.read(target) == record_of(few())


def test_record_keeps_what_stays_in_the_cache_and_older_ones_lack_it(tmp_path: Path) -> None:
    events = [dataclasses.replace(ENGINE, cached_bytes=44 << 20), *mixed()[1:]]
    path = tmp_path / "out.json"
    record.write(path, record_of(events))
    assert record.read(path).machine.cached_bytes == 44 << 20
    fields = json.loads(path.read_text())
    del fields["machine"]["cached_bytes"]
    assert record.validate(fields).machine.cached_bytes is None
    assert record_of(mixed()).machine.cached_bytes is None
