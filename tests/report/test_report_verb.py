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
from mmbatch.bench import record, store
from mmbatch.bench.record import EngineName
from mmbatch.bench.statistics import Verdict
from mmbatch.bench.store import Raw, Stored
from mmbatch.cli import main as cli
from mmbatch.core import paths as checkout
from mmbatch.core.errors import MmbatchError
from mmbatch.hosted.events import Event, digest, write_events
from mmbatch.report import compare, markdown, plot, text
from mmbatch.report import html as page
from mmbatch.report.words import short, who_benefits

RESULTS = sorted((checkout.ROOT / "results").glob("*.json"))
LOSING = {**SMALL, "auto": 500e3}


def _losing() -> list[Event]:
    return run_events(
        list(case_events()),
        list(case_events("small-hot", LOSING, regime="hot", items=131_072)),
    )


def _save(
    directory: Path, events: list[Event], started: str, cpu: str = "Example CPU 9000"
) -> Path:
    directory.mkdir(parents=True)
    write_events(directory / "samples.jsonl", events)
    saved = record_of(events)
    machine = dataclasses.replace(saved.machine, cpu=cpu)
    saved = dataclasses.replace(saved, machine=machine, started=started)
    record.write(directory / "bench.json", saved)
    return directory


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    """Runs of two machines: the first wins, the second loses a case."""
    return [
        _save(tmp_path / "one", mixed(), "2026-01-02T03:04:05+00:00"),
        _save(tmp_path / "two", _losing(), "2026-02-03T04:05:06+00:00", "Other <b>CPU</b> & Co"),
    ]


@pytest.fixture
def runs(two: list[Path]) -> list[Stored]:
    return store.load(two)


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
    assert [run.raw for run in store.load(two)] == [Raw.SAME, Raw.SAME]
    with (two[1] / "samples.jsonl").open("a") as samples:
        samples.write("\n")
    (two[0] / "samples.jsonl").unlink()
    assert [run.raw for run in store.load(two)] == [Raw.ABSENT, Raw.DIFFERS]


def test_one_run_twice_is_refused(two: list[Path]) -> None:
    with pytest.raises(MmbatchError, match="same run"):
        store.load([two[0], two[0] / "bench.json"])


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


def test_newest_of_each_speedup(tmp_path: Path) -> None:
    _save(tmp_path / "2026-01-zone_device", mixed(), "2026-01-02T03:04:05+00:00")
    last = _save(tmp_path / "2026-02-zone_device", mixed(), "2026-02-02T03:04:05+00:00")
    (tmp_path / "2026-03-broken").mkdir()
    (tmp_path / "2026-03-broken/bench.json").write_text("{")
    assert store.newest(tmp_path) == {"zone_device": last}
    assert store.newest(tmp_path, "7.3.1") == {"zone_device": last}
    assert store.newest(tmp_path, "7.3.2") == {}


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


def test_page_loads_nothing_and_runs_nothing(runs: list[Stored]) -> None:
    tags = _parse(page.render(runs, checkout.SPEEDUPS)).tags
    assert not {"script", "iframe", "img", "object", "embed"} & {tag for tag, _ in tags}
    for tag, attributes in tags:
        for name, value in attributes.items():
            assert name not in ("src", "srcset", "action") and not name.startswith("on")
            assert name != "href" or value == "data:," or (value or "").startswith("#"), tag
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
                assert f"{row.ratio.median:.3f} {short(row.verdict)}" in words
    assert "auto is SLOWER: it takes 1.25 times as long as base" in words
    for paragraph in who_benefits(checkout.SPEEDUPS / "zone_device"):
        assert paragraph in words


def test_many_regressions_of_one_variant_are_one_line_with_each_case(runs: list[Stored]) -> None:
    def rows(count: int) -> list[str]:
        row = next(row for row in runs[1].record.rows if compare.is_slower(row))
        more = [dataclasses.replace(row, case=f"case-{number}") for number in range(count)]
        found = [compare.Regression(runs[1], row, 1.5 + at, "base") for at, row in enumerate(more)]
        (group,) = compare.by_variant(found)
        return [str(group.few), group.words, group.cases]

    assert rows(3)[0] == "True"
    assert rows(4) == [
        "False",
        "takes 1.50 to 4.50 times as long as base in 4 cases",
        "case-3 4.50, case-2 3.50, case-1 2.50, case-0 1.50",
    ]


def test_cases_after_ten_are_folded_but_regressions_of_users_are_not() -> None:
    slow = {**SMALL, "auto": 500e3}
    events = [list(case_events(f"case-{n}", SMALL if n < 11 else slow)) for n in range(12)]
    run = Stored("A", Path(), record_of(run_events(*events)), Raw.ABSENT)
    html = page.render([run], checkout.SPEEDUPS)
    assert '<summary class="more">2 more cases</summary>' in html
    shown, _, folded = html.partition('<summary class="more">')
    found = [re.findall(r'<div class="case[^>]*id="([^"]+)"', part) for part in (shown, folded)]
    names = [
        [f"zone_device-case-{n}" for n in numbers] for numbers in ([*range(9), 11], range(9, 11))
    ]
    assert found == names
    few = Stored("A", Path(), record_of(run_events(*events[:10])), Raw.ABSENT)
    assert 'class="more"' not in page.render([few], checkout.SPEEDUPS)


def test_every_link_leads_to_a_place_in_the_page(runs: list[Stored]) -> None:
    tags = _parse(page.render(runs, checkout.SPEEDUPS)).tags
    places = [attributes["id"] for _, attributes in tags if "id" in attributes]
    links = {a["href"] for tag, a in tags if tag == "a"}
    assert len(places) == len(set(places))
    assert {"#regressions", "#zone_device", "#runs", "#zone_device-small-hot"} <= links
    assert links <= {f"#{place}" for place in places}


def test_the_page_begins_with_a_summary_and_the_overview(runs: list[Stored]) -> None:
    words = _words(page.render(runs, checkout.SPEEDUPS))
    summary = "What users get beats the kernel's own code in 2 of 4 cases, and is slower in 1"
    assert summary in words
    assert words.index(summary) < words.index("Every case") < words.index("Runs and machines")


def test_runs_of_a_case_have_the_same_rows() -> None:
    other = {name: time for name, time in FSDAX.items() if name != "copy"} | {"extra": 90e6}
    records = [record_of(run_events(list(case_events("x", times)))) for times in (FSDAX, other)]
    runs = [
        Stored(name, Path(), measuredwn, Raw.ABSENT)
        for name, measuredwn in zip("AB", records, strict=True)
    ]
    html = page.render(runs, checkout.SPEEDUPS)
    plots = html.split('<div class="plot">')[1:]
    names = [re.findall(r'<span class="name[^>]*>([^<]+)<', shown) for shown in plots]
    assert names[0] == names[1] == [
        "base", "control", "copy", "wide", "auto", "extra", "limit: rep stosq",
    ]  # fmt: skip
    assert ["not in this run" in shown for shown in plots] == [True, True]


def test_two_single_cases_share_a_line_and_none_leaves_a_hole() -> None:
    stored = Stored(
        "A", Path(), record_of(run_events(*(list(case_events(n)) for n in "abc"))), Raw.ABSENT
    )
    two = Stored("B", Path(), record_of(run_events(list(case_events("b")))), Raw.ABSENT)
    widths = re.findall(
        r'<div class="case( whole)?" id="zone_device-(\w)"', page.render([stored], Path())
    )
    assert widths == [("", "a"), ("", "b"), (" whole", "c")]
    html = page.render([stored, two], Path())
    assert html.count('class="case whole"') == 3


def test_slower_rows_are_drawn_as_strongly_as_faster_ones(runs: list[Stored]) -> None:
    html = page.render(runs, checkout.SPEEDUPS)
    rules = dict(re.findall(r"^([^{\n]+?) \{ (.*) \}$", html, re.M))
    for mark in ("svg .mark.m-{}", ".{}"):
        faster, slower = rules[mark.format("faster")], rules[mark.format("slower")]
        assert faster.replace("--faster", "--slower") == slower
    overview = html[html.index("Every case") : html.index('id="regressions"')]
    assert overview.count('"mark m-slower"') == 1  # auto in small-hot of the second
    assert overview.count('"mark m-slower aside"') == 2  # wide in small-hot of both
    assert overview.count('"mark m-faster"') == 2  # auto in fsdax of both
    assert "auto: 1 faster, 1 slower" in overview
    assert "other variants, slower: wide in 1" in overview


def test_samples_are_drawn_where_they_are() -> None:
    assert plot.histogram([1, 10, 10, 100], 1, 100) == "M0 20V10h1V20ZM24 20V0h1V20ZM47 20V10h1V20Z"
    assert plot.histogram([], 1, 2) == ""
    assert plot.histogram([5, 5], 5, 5) == "M0 20V0h1V20Z"


def test_plot_puts_things_where_they_belong(runs: list[Stored]) -> None:
    (section,) = compare.sections(runs)
    small = next(case for case in section.cases if case.name == "small-hot")
    axis = plot.scale(small.entries)
    first, second = (plot.plot(entry, axis) for entry in small.entries)
    assert (first.base, first.ticks) == (second.base, second.ticks)  # one axis for both
    assert first.limit is not None and first.limit > first.base
    assert first.marks["limit: rep stosq"].number == "2.353"
    for drawn in (first, second):
        assert drawn.band is not None and drawn.band[0] < drawn.base < drawn.band[1]
        for mark in drawn.marks.values():
            assert mark.x is not None and 0 <= mark.x <= 100
            if mark.lo is not None and mark.hi is not None:
                assert 0 <= mark.lo <= mark.x <= mark.hi <= 100
    auto = second.marks["auto"]
    assert auto.kind == "slower"
    assert auto.x is not None and auto.x < second.base
    assert list(second.marks)[:2] == ["base", "control"]
    places = [place for place, _ in first.ticks]
    assert all(b - a >= 34 for a, b in itertools.pairwise(places))
    assert "1" in [tick for _, tick in first.ticks]


def test_dots_of_an_overview_lie_apart_and_stay_on_the_axis() -> None:
    times = {name: FSDAX[name] for name in ("base", "control")}
    events = [
        list(case_events(f"case-{n}", {**times, "auto": 220e6 / ratio}))
        for n, ratio in enumerate((0.9, 1.5, 1.5, 1.5, 1.51, 700))
    ]
    run = Stored("A", Path(), record_of(run_events(*events)), Raw.ABSENT)
    drawn = plot.overview(compare.sections([run]))
    (strip,) = drawn.strips
    assert len(strip.dots) == 6
    assert len({(round(dot.x), dot.level) for dot in strip.dots}) == 6
    assert max(dot.level for dot in strip.dots) == 3
    assert all(3 <= dot.x <= 97 for dot in strip.dots)
    assert "(beyond the axis: 699)" in strip.words
    assert [dot.kind for dot in strip.dots] == ["slower", *["faster"] * 5]


def test_many_dots_above_each_other_overlap_instead_of_making_a_tower() -> None:
    few = plot.Strip(
        "", "", tuple(plot.Dot(50, level, "open", "") for level in range(4)), aside=False
    )
    many = plot.Strip(
        "", "", tuple(plot.Dot(50, level, "open", "") for level in range(80)), aside=False
    )
    assert (few.rise, few.height) == (7, 34)
    assert many.rise < 2 and 50 < many.height < 80


def test_a_tick_is_whole_on_the_axis() -> None:
    assert 0.5 not in plot.Scale(0.5, 4).ticks()  # a part of "0.5" would be cut off
    assert plot.Scale(0.3, 0.9).ticks() == [0.5, 0.75]
    assert 2 not in plot.Scale(0.9, 2).ticks()
    assert plot.Scale(0.9, 2.1).ticks()[0] == 1


def test_unproven_rows_have_no_mark() -> None:
    run = Stored("A", Path(), record_of(broken()), Raw.ABSENT)
    (section,) = compare.sections([run])
    entry = section.cases[0].entries[0]
    marks = plot.plot(entry, plot.scale([entry])).marks
    assert marks["wide"].x is None
    assert (marks["wide"].number, marks["wide"].words) == ("", "NOT EQUAL")


def test_cases_without_control_or_limit() -> None:
    times = {name: FSDAX[name] for name in ("base", "copy")}
    run = Stored("A", Path(), record_of(run_events(list(case_events("x", times)))), Raw.ABSENT)
    html = page.render([run], checkout.SPEEDUPS)
    assert 'class="band"' not in html and 'class="limit-line"' not in html
    assert "control" not in text.run(run.record)


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


def test_verb(two: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a directory/report.html"
    out.parent.mkdir()
    assert cli.main(["report", *map(str, two), "-o", str(out)]) == 0
    output = capsys.readouterr()
    assert output.out == text.report(store.load(two), checkout.SPEEDUPS)
    assert out.read_text() == page.render(store.load(two), checkout.SPEEDUPS)
    assert str(out) in output.err
    assert cli.main(["report", str(two[0]), "--cover"]) == 0
    assert capsys.readouterr().out == text.run(store.load(two)[0].record)
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
    assert "zone_device: Example CPU 9000, Linux 7.3.1" in capsys.readouterr().out


def test_usage(two: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", str(two[0]), "--text", "-o", "x"]) == 2
    assert cli.main(["report", "there-is-none"]) == 1
    assert "error: cannot read" in capsys.readouterr().err


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_results_of_this_checkout(path: Path) -> None:
    runs = store.load([path])
    assert max(map(len, text.report(runs, checkout.SPEEDUPS).splitlines())) <= 72
    assert _parse(page.render(runs, checkout.SPEEDUPS)).tags


def test_digest_is_that_of_the_file(two: list[Path]) -> None:
    assert store.load(two)[0].record.samples_sha256 == digest(mixed())


def test_only_the_limit_is_in_the_table_and_all_fills_are_on_the_page() -> None:
    times = {**FSDAX, "limit:movnt 16": 71e6, "limit:mov 8": 99e6}
    measured = record_of(run_events(list(case_events("x", times))))
    printed = text.run(measured)
    assert re.findall(r"^limit: .*$", printed, re.M) == [
        "limit: movnt 16  71.00 ms    2.71                    1.00"
    ]
    html = page.render([Stored("A", Path(), measured, Raw.ABSENT)], checkout.SPEEDUPS)
    cells = re.findall(r"<td>(limit|not the limit): ([^<]+)</td>", html)
    assert cells == [
        ("limit", "movnt 16"),
        ("not the limit", "rep stosq"),
        ("not the limit", "mov 8"),
    ]
