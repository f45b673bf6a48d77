# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch report`: the verb, and several runs as text."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from fake_run import (
    broken,
    case_events,
    few,
    mixed,
    noisy,
    record_of,
    run_events,
    save_run,
)
from mmbatch.bench import store
from mmbatch.bench.statistics import Verdict
from mmbatch.bench.store import Raw, Stored
from mmbatch.cli import main as cli
from mmbatch.core import paths as checkout
from mmbatch.core.errors import MmbatchError
from mmbatch.hosted.events import Event, digest
from mmbatch.report import html as page
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


def test_text_is_narrow_ascii_with_every_fact(runs: list[Stored]) -> None:
    printed = text.report(runs, checkout.SPEEDUPS)
    assert printed.isascii()
    assert max(map(len, printed.splitlines())) <= text.WIDTH
    flat = " ".join(printed.split())
    for run in runs:
        assert run.record.samples_sha256 in printed
        assert run.record.kernel.config_sha256 in printed
        assert run.record.command in flat
        assert run.raw in flat
    assert "Other <b>CPU</b> & Co" in flat
    assert "- zone_device small-hot: auto takes 1.25 times as long as base" in flat
    row = r"^auto +500\.0 us +3\.81 0\.8\d\d 0\.\d{3}\.\.0\.\d{3} .* slower$"
    assert re.search(row, printed, re.M)


@pytest.mark.parametrize("events", [mixed(), broken(), noisy(), few()], ids=str)
def test_cover_is_narrow_ascii_with_every_row(events: list[Event]) -> None:
    measured = record_of(events)
    printed = text.run(measured)
    assert printed.isascii()
    assert max(map(len, printed.splitlines())) <= 72
    assert printed.startswith(f"$ {measured.command}\n")
    for row in measured.rows:
        short = {
            Verdict.NOT_EQUAL: "NOT EQUAL",
            Verdict.NOT_CHECKED: "NOT CHECKED",
            Verdict.TOO_NOISY: "TOO NOISY",
            Verdict.NO_DIFFERENCE: "no difference",
        }.get(row.verdict, row.verdict)
        assert re.search(rf"^{row.variant} .* {short}$", printed, re.M), row.variant
        if row.ratio:
            assert f" {row.ratio.median:.3f} " in printed
    assert printed.count("\nlimit: rep stosq ") == len(measured.limits)


def test_cover_says_too_few() -> None:
    rows = [line for line in text.run(record_of(few())).splitlines() if line[:1] != " "]
    assert sum(line.endswith(" too few pairs") for line in rows) == 4  # three and the control


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


def test_verb(two_runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a directory/report.html"
    out.parent.mkdir()
    assert cli.main(["report", *map(str, two_runs), "-o", str(out)]) == 0
    output = capsys.readouterr()
    assert output.out == text.report(store.load(two_runs), checkout.SPEEDUPS)
    assert out.read_text() == page.render(store.load(two_runs), checkout.SPEEDUPS)
    assert str(out) in output.err
    assert cli.main(["report", str(two_runs[0]), "--cover"]) == 0
    assert capsys.readouterr().out == text.run(store.load(two_runs)[0].record)
    (two_runs[0] / "samples.jsonl").write_text("")
    assert cli.main(["report", str(two_runs[0]), "--text"]) == 1
    assert "DOES NOT MATCH" in capsys.readouterr().err


def test_verb_without_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MMBATCH_CACHE", str(tmp_path / "cache"))
    assert cli.main(["report", "--text"]) == 2
    assert "measure first" in capsys.readouterr().err.lower()
    save_run(tmp_path / "cache/runs/1", mixed(), "2026-01-02T03:04:05+00:00")
    assert cli.main(["report"]) == 0
    assert len(list((tmp_path / "cache/runs").glob("report-*.html"))) == 1
    assert "zone_device: Example CPU 9000, Linux 7.3.1" in capsys.readouterr().out


def test_usage(two_runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", str(two_runs[0]), "--text", "-o", "x"]) == 2
    assert cli.main(["report", "there-is-none"]) == 1
    assert "error: cannot read" in capsys.readouterr().err


def test_digest_is_that_of_the_file(two_runs: list[Path]) -> None:
    assert store.load(two_runs)[0].record.samples_sha256 == digest(mixed())
