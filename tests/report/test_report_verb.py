# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch report`: several runs side by side, as text and as one page."""

from __future__ import annotations

import dataclasses
import itertools
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from fake_run import FSDAX, SMALL, broken, case_events, few, mixed, noisy, record_of, run_events
from mmbatch.bench import record
from mmbatch.bench import store as stored
from mmbatch.bench.statistics import Verdict
from mmbatch.bench.store import Raw, Stored
from mmbatch.cli import main as cli
from mmbatch.core import paths as checkout
from mmbatch.core.errors import MmbatchError
from mmbatch.hosted.events import Event, digest, write_events
from mmbatch.report import compare, narrow, page, plot
from mmbatch.report.benefits import who_benefits

RESULTS = sorted((checkout.ROOT / "results").glob("*.json"))
LOSING = {**SMALL, "auto": 500e3}


def _losing() -> list[Event]:
    return run_events(
        list(case_events()),
        list(case_events("small-hot", LOSING, regime="hot", items=131_072)),
    )


def _save(folder: Path, events: list[Event], started: str, cpu: str = "Example CPU 9000") -> Path:
    folder.mkdir(parents=True)
    write_events(folder / "samples.jsonl", events)
    made = record_of(events)
    machine = dataclasses.replace(made.machine, cpu=cpu)
    made = dataclasses.replace(made, machine=machine, started=started)
    record.write(folder / "bench.json", made)
    return folder


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    """Runs of two machines: the first wins, the second loses a case."""
    return [
        _save(tmp_path / "one", mixed(), "2026-01-02T03:04:05+00:00"),
        _save(tmp_path / "two", _losing(), "2026-02-03T04:05:06+00:00", "Other <b>CPU</b> & Co"),
    ]


@pytest.fixture
def runs(two: list[Path]) -> list[Stored]:
    return stored.load(two)


class _Page(HTMLParser):
    """Tags with their attributes, and text outside of <style>."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["style"]:
            self.text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass


def _parse(html: str) -> _Page:
    parser = _Page()
    parser.feed(html)
    return parser


def _words(html: str) -> str:
    return " ".join(" ".join(_parse(html).text).split())


def test_raw_samples_are_compared(two: list[Path]) -> None:
    assert [run.raw for run in stored.load(two)] == [Raw.SAME, Raw.SAME]
    with (two[1] / "samples.jsonl").open("a") as samples:
        samples.write("\n")
    (two[0] / "samples.jsonl").unlink()
    assert [run.raw for run in stored.load(two)] == [Raw.ABSENT, Raw.DIFFERS]


def test_one_run_twice_is_refused(two: list[Path]) -> None:
    with pytest.raises(MmbatchError, match="same run"):
        stored.load([two[0], two[0] / "bench.json"])


def test_letters() -> None:
    assert [stored.letters(number) for number in (0, 25, 26, 701, 702)] == [
        "A", "Z", "AA", "ZZ", "AAA",
    ]  # fmt: skip


def test_newest_of_each_speedup(tmp_path: Path) -> None:
    _save(tmp_path / "2026-01-zone_device", mixed(), "2026-01-02T03:04:05+00:00")
    last = _save(tmp_path / "2026-02-zone_device", mixed(), "2026-02-02T03:04:05+00:00")
    (tmp_path / "2026-03-broken").mkdir()
    (tmp_path / "2026-03-broken/bench.json").write_text("{")
    assert stored.newest(tmp_path) == {"zone_device": last}
    assert stored.newest(tmp_path, "7.3.1") == {"zone_device": last}
    assert stored.newest(tmp_path, "7.3.2") == {}


def test_losses_against_base_come_before_those_against_the_copy(runs: list[Stored]) -> None:
    losses = compare.losses(compare.sections(runs))
    shown = [(loss.run.label, loss.row.case, loss.row.variant) for loss in losses]
    assert shown == [
        ("A", "small-hot", "wide"),
        ("B", "small-hot", "wide"),
        ("B", "small-hot", "auto"),
    ]
    assert losses[-1].words.startswith("takes 1.25 times what base takes (1.2")
    copy_only = {**SMALL, "base": 600e3, "control": 600e3}
    events = run_events(list(case_events("small-hot", copy_only)))
    run = Stored("A", Path(), record_of(events), Raw.ABSENT)
    (loss,) = compare.losses(compare.sections([run]))
    assert (loss.row.variant, loss.words) == ("wide", "takes 1.10 times what the plain copy takes")


def test_text_is_narrow_ascii_with_every_fact(runs: list[Stored]) -> None:
    text = narrow.report(runs, checkout.SPEEDUPS)
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= narrow.WIDTH
    flat = " ".join(text.split())
    for run in runs:
        assert run.record.samples_sha256 in text
        assert run.record.kernel.config_sha256 in text
        assert run.record.command in flat
        assert run.raw in flat
    assert "Other <b>CPU</b> & Co" in flat
    assert "B zone_device small-hot: auto takes 1.25 times what base takes" in flat
    assert re.search(r"^B +auto +500\.0 us 0\.8\d\d 0\.\d{3}\.\.0\.\d{3} .* slower$", text, re.M)


@pytest.mark.parametrize("events", [mixed(), broken(), noisy(), few()], ids=str)
def test_cover_is_narrow_ascii_with_every_row(events: list[Event]) -> None:
    made = record_of(events)
    text = narrow.cover(made)
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 72
    assert text.startswith(f"$ {made.command}\n")
    for row in made.rows:
        short = {
            Verdict.NOT_EQUAL: "NOT EQUAL",
            Verdict.NOT_CHECKED: "NOT CHECKED",
            Verdict.TOO_NOISY: "TOO NOISY",
        }.get(row.verdict, row.verdict)
        assert re.search(rf"^{row.variant} .* {short}$", text, re.M), row.variant
        if row.ratio:
            assert f" {row.ratio.median:.3f} " in text
    assert text.count("\nlimit: rep stosq ") == len(made.limits)


def test_cover_says_too_few() -> None:
    rows = [line for line in narrow.cover(record_of(few())).splitlines() if line[:1] != " "]
    assert sum(line.endswith(" too few pairs") for line in rows) == 4  # three and the control


def test_numbers_never_outgrow_their_column() -> None:
    times = {"base": 2.2e12, "control": 2.2e12, "auto": 1.1e9, "limit:rep stosq": 1e9}
    text = narrow.cover(record_of(run_events(list(case_events("x", times)))))
    assert max(map(len, text.splitlines())) <= 72
    assert re.search(r"^base +2200\.0 s ", text, re.M)
    assert re.search(r"^auto +1\.10 s +\d{4} ", text, re.M)
    assert "~" not in text.split("variant", 1)[1].split("\n\n")[0]


def test_page_loads_nothing_and_runs_nothing(runs: list[Stored]) -> None:
    tags = _parse(page.render(runs, checkout.SPEEDUPS)).tags
    assert not {"script", "iframe", "img", "object", "embed"} & {tag for tag, _ in tags}
    for tag, attributes in tags:
        for name, value in attributes.items():
            assert name not in ("src", "srcset", "action") and not name.startswith("on")
            assert name != "href" or value == "data:,", tag
    (policy,) = [a["content"] for t, a in tags if t == "meta" and "http-equiv" in a]
    assert policy is not None and policy.startswith("default-src 'none'")


def test_page_holds_every_fact(runs: list[Stored]) -> None:
    html = page.render(runs, checkout.SPEEDUPS)
    words = _words(html)
    assert "<b>CPU</b>" not in html
    assert "Other <b>CPU</b> & Co" in words
    for run in runs:
        for fact in (
            run.record.command,
            run.record.samples_sha256,
            run.record.kernel.config_sha256,
            run.record.kernel.source,
        ):
            assert fact in words
        for row in run.record.rows:
            if row.ratio:
                assert f"{row.ratio.median:.3f} {row.verdict}" in words
    assert "auto is SLOWER: it takes 1.25 times as long as base" in words
    for paragraph in who_benefits(checkout.SPEEDUPS / "zone_device"):
        assert paragraph in words


def test_many_losses_of_one_variant_are_one_line_with_each_case(runs: list[Stored]) -> None:
    def rows(count: int) -> list[str]:
        row = next(row for row in runs[1].record.rows if compare.lost(row))
        more = [dataclasses.replace(row, case=f"case-{number}") for number in range(count)]
        losses = [compare.Loss(runs[1], one, 1.5 + at, "base") for at, one in enumerate(more)]
        (group,) = compare.by_variant(losses)
        return [str(group.few), group.words, group.cases]

    assert rows(3)[0] == "True"
    assert rows(4) == [
        "False",
        "in 4 cases takes 1.50 to 4.50 times what base takes",
        "case-3 4.50, case-2 3.50, case-1 2.50, case-0 1.50",
    ]


def test_many_cases_are_counted_and_folded(
    runs: list[Stored], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "<summary>all" not in page.render(runs, checkout.SPEEDUPS)
    monkeypatch.setattr(page, "_GLANCE", 1)
    assert "<summary>all 2 cases</summary>" in page.render(runs, checkout.SPEEDUPS)


def test_losing_rows_are_drawn_as_strongly_as_winning_ones(runs: list[Stored]) -> None:
    html = page.render(runs, checkout.SPEEDUPS)
    rules = dict(re.findall(r"^svg ([^{]+?) \{ (.*) \}$", html, re.M))
    for mark in (".mark.m-{}", "text.m-{}"):
        won, lost = rules[mark.format("won")], rules[mark.format("lost")]
        assert won.replace("--won", "--lost") == lost
    glance = html[html.index("At a glance") : html.index("Rows that lose")]
    assert glance.count('<td class="lost"') == 1  # auto in small-hot of B
    assert glance.count('<td class="won"') == 2  # auto in fsdax of both
    assert '<span class="won">1 faster</span>; <span class="lost">1 slower</span>' in glance


def test_plot_puts_things_where_they_belong(runs: list[Stored]) -> None:
    (section,) = compare.sections(runs)
    small = next(case for case in section.cases if case.name == "small-hot")
    axis = plot.scale(small.entries)
    first, second = (plot.plot(entry, axis) for entry in small.entries)
    assert (first.one, first.ticks) == (second.one, second.ticks)  # one axis for both
    assert first.limit is not None and first.limit > first.one
    assert first.limit_words == "limit 2.35"
    for one in (first, second):
        assert one.band is not None and one.band[0] < one.one < one.band[1]
        for mark in one.marks:
            assert mark.x is not None and 0 <= mark.x <= 100
            if mark.lo is not None and mark.hi is not None:
                assert 0 <= mark.lo <= mark.x <= mark.hi <= 100
    marks = {mark.name: mark for mark in second.marks}
    assert marks["auto"].kind == "lost"
    x = marks["auto"].x
    assert x is not None and x < second.one
    assert [mark.name for mark in second.marks][:2] == ["base", "control (= base)"]
    places = [place for place, _ in first.ticks]
    assert all(b - a >= 13 for a, b in itertools.pairwise(places))
    assert "1" in [text for _, text in first.ticks]


def test_a_tick_is_whole_on_the_axis() -> None:
    assert plot.Scale(0.5, 2.1).ticks()[0] == 0.75  # a part of "0.5" would be cut off
    assert plot.Scale(0.45, 2.1).ticks()[0] == 0.5
    assert plot.Scale(1, 2.1).ticks()[0] == 1  # one character has room at the end


def test_unproven_rows_have_no_mark() -> None:
    run = Stored("A", Path(), record_of(broken()), Raw.ABSENT)
    (section,) = compare.sections([run])
    entry = section.cases[0].entries[0]
    marks = {mark.name: mark for mark in plot.plot(entry, plot.scale([entry])).marks}
    assert marks["wide"].x is None
    assert marks["wide"].words == Verdict.NOT_EQUAL


def test_cases_without_control_or_limit() -> None:
    times = {name: FSDAX[name] for name in ("base", "copy")}
    run = Stored("A", Path(), record_of(run_events(list(case_events("x", times)))), Raw.ABSENT)
    html = page.render([run], checkout.SPEEDUPS)
    assert 'class="band"' not in html and 'class="limit"' not in html
    assert "control" not in narrow.cover(run.record)


def test_who_benefits(tmp_path: Path) -> None:
    assert who_benefits(tmp_path) == []
    text = "# x\n\n## Why, and who benefits\n\nThose with [a `pmem`](b.md)\ndisk.\n\n**All**.\n\n"
    (tmp_path / "README.md").write_text(f"{text}## How\n\nNo.\n")
    assert who_benefits(tmp_path) == ["Those with a pmem disk.", "All."]
    (tmp_path / "README.md").write_text("# x\n\n## How\n\nNo.\n")
    assert who_benefits(tmp_path) == []


@pytest.mark.parametrize("room", [path.parent.name for path in checkout.SPEEDUPS.glob("*/bench.c")])
def test_every_speedup_says_who_benefits(room: str) -> None:
    assert who_benefits(checkout.SPEEDUPS / room)


def test_verb(two: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new folder/report.html"
    assert cli.main(["report", *map(str, two), "-o", str(out)]) == 0
    said = capsys.readouterr()
    assert said.out == narrow.report(stored.load(two), checkout.SPEEDUPS)
    assert out.read_text() == page.render(stored.load(two), checkout.SPEEDUPS)
    assert str(out) in said.err
    assert cli.main(["report", str(two[0]), "--cover"]) == 0
    assert capsys.readouterr().out == narrow.cover(stored.load(two)[0].record)
    (two[0] / "samples.jsonl").write_text("")
    assert cli.main(["report", str(two[0]), "--text"]) == 1
    assert "DOES NOT MATCH" in capsys.readouterr().err


def test_verb_without_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MMBATCH_CACHE", str(tmp_path / "cache"))
    assert cli.main(["report", "--text"]) == 2
    assert "measure first" in capsys.readouterr().err.lower()
    _save(tmp_path / "cache/runs/1", mixed(), "2026-01-02T03:04:05+00:00")
    assert cli.main(["report"]) == 0
    assert len(list((tmp_path / "cache/runs").glob("report-*.html"))) == 1
    assert "A zone_device, Linux 7.3.1" in capsys.readouterr().out


def test_usage(two: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", str(two[0]), "--text", "-o", "x"]) == 2
    assert cli.main(["report", "there-is-none"]) == 1
    assert "error: cannot read" in capsys.readouterr().err


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_results_of_this_checkout(path: Path) -> None:
    runs = stored.load([path])
    assert max(map(len, narrow.report(runs, checkout.SPEEDUPS).splitlines())) <= 72
    assert _parse(page.render(runs, checkout.SPEEDUPS)).tags


def test_digest_is_that_of_the_file(two: list[Path]) -> None:
    assert stored.load(two)[0].record.samples_sha256 == digest(mixed())
