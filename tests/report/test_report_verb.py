# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch report`: the verb, and several runs as text."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from fake_run import (
    case_events,
    mixed,
    record_of,
    run_events,
    save_run,
)
from mmbatch.bench import store
from mmbatch.bench.store import Raw
from mmbatch.cli import main as cli
from mmbatch.core import paths as checkout
from mmbatch.core.errors import MmbatchError
from mmbatch.hosted.events import digest
from mmbatch.report import text
from mmbatch.report.words import who_benefits


def test_raw_samples_are_compared(two_runs: list[Path]) -> None:
    assert [run.raw for run in store.load(two_runs)] == [Raw.SAME, Raw.SAME]
    with (two_runs[1] / "samples.jsonl").open("a") as samples:
        samples.write("\n")
    (two_runs[0] / "samples.jsonl").unlink()
    assert [run.raw for run in store.load(two_runs)] == [Raw.ABSENT, Raw.DIFFERS]


def test_a_comparison_says_why_it_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = [
        save_run(tmp_path / f"{day}", mixed(), f"2026-01-0{day}T03:04:05+00:00") for day in (1, 2)
    ]
    with (pair[1] / "samples.jsonl").open("a") as samples:
        samples.write("\n")
    assert cli.main(["report", "--compare", *map(str, pair)]) == 1
    assert f"{pair[1]}/bench.json: its record {Raw.DIFFERS}" in capsys.readouterr().err


def test_one_run_twice_is_refused(two_runs: list[Path]) -> None:
    with pytest.raises(MmbatchError, match="same run"):
        store.load([two_runs[0], two_runs[0] / "bench.json"])


def test_newest_of_each_speedup(tmp_path: Path) -> None:
    save_run(tmp_path / "2026-01-zone_device", mixed(), "2026-01-02T03:04:05+00:00")
    last = save_run(tmp_path / "2026-02-zone_device", mixed(), "2026-02-02T03:04:05+00:00")
    (tmp_path / "2026-03-broken").mkdir()
    (tmp_path / "2026-03-broken/bench.json").write_text("{")
    assert store.newest(tmp_path) == {"zone_device": last}
    assert store.newest(tmp_path, "7.3.1") == {"zone_device": last}
    assert store.newest(tmp_path, "7.3.2") == {}


@pytest.mark.parametrize("length", [0, 1, 1000])
def test_a_truncated_run_is_named(tmp_path: Path, length: int) -> None:
    whole = save_run(tmp_path / "2026-01-zone_device", mixed(), "2026-01-02T03:04:05+00:00")
    torn = save_run(tmp_path / "2026-02-zone_device", mixed(), "2026-02-02T03:04:05+00:00")
    (tmp_path / "2026-03-other-version").mkdir()
    (tmp_path / "2026-03-other-version/bench.json").write_text('{"format": 0}')
    os.truncate(torn / "bench.json", length)
    lines: list[str] = []
    assert store.newest(tmp_path, say=lines.append) == {"zone_device": whole}
    (line,) = lines
    assert line.startswith(f"left out {torn}/bench.json: it is not JSON")


def test_numbers_never_outgrow_their_column() -> None:
    times = {"base": 2.2e12, "control": 2.2e12, "auto": 1.1e9, "limit:rep stosq": 1e9}
    printed = text.run(record_of(run_events(list(case_events("x", times)))))
    assert max(map(len, printed.splitlines())) <= 72
    assert re.search(r"^base +2200\.0 s ", printed, re.M)
    assert re.search(r"^auto +1\.10 s +\d+\.\d\d +\d{4} ", printed, re.M)
    assert "~" not in printed.split("variant", 1)[1].split("\n\n")[0]


def test_who_benefits(tmp_path: Path) -> None:
    assert who_benefits(tmp_path) == []
    head = "# x\n\n## Why, and who benefits\n\nThose with [a `pmem`](b.md)\ndisk.\n\n**All**.\n\n"
    (tmp_path / "README.md").write_text(f"{head}## How\n\nNo.\n")
    assert who_benefits(tmp_path) == ["Those with a pmem disk.", "All."]
    (tmp_path / "README.md").write_text("# x\n\n## How\n\nNo.\n")
    assert who_benefits(tmp_path) == []


@pytest.mark.parametrize(
    "speedup", [path.parent.name for path in checkout.SPEEDUPS.glob("*/bench.c")]
)
def test_every_speedup_says_who_benefits(speedup: str) -> None:
    assert who_benefits(checkout.SPEEDUPS / speedup)


def test_digest_is_that_of_the_file(two_runs: list[Path]) -> None:
    assert store.load(two_runs)[0].record.samples_sha256 == digest(mixed())
