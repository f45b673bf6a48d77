# SPDX-License-Identifier: GPL-2.0-only
"""The report's page: its facts, links, folds and plots."""

from __future__ import annotations

import dataclasses
import itertools
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from fake_run import (
    FSDAX,
    SMALL,
    broken,
    case_events,
    record_of,
    run_events,
)
from mmbatch.bench import store
from mmbatch.bench.store import Raw, Stored
from mmbatch.core import paths as checkout
from mmbatch.report import compare, plot, text
from mmbatch.report import html as page

RESULTS = sorted((checkout.ROOT / "results").glob("*.json"))


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


def test_page_loads_nothing_and_runs_nothing(runs: list[Stored]) -> None:
    tags = _parse(page.render(runs, checkout.SPEEDUPS)).tags
    assert not {"script", "iframe", "img", "object", "embed"} & {tag for tag, _ in tags}
    for tag, attributes in tags:
        for name, value in attributes.items():
            assert name not in ("src", "srcset", "action") and not name.startswith("on")
            assert name != "href" or value == "data:," or (value or "").startswith("#"), tag
    (policy,) = [a["content"] for t, a in tags if t == "meta" and "http-equiv" in a]
    assert policy is not None and policy.startswith("default-src 'none'")


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


def test_few_regressions_of_one_variant_are_one_line_with_a_link_each() -> None:
    slow = {**SMALL, "auto": 500e3}
    events = run_events(*(list(case_events(name, slow)) for name in ("big", "small")))
    html = page.render([Stored("A", Path(), record_of(events), Raw.ABSENT)], checkout.SPEEDUPS)
    found = html[html.index('id="regressions"') :].partition("</ul>")[0]
    (item,) = [part for part in found.split("<li>") if ">zone_device auto<" in part]
    linked = r'([\d.]+) (?:times as long as base )?\([^)]+\) in <a href="#zone_device-([^"]+)"'
    assert re.findall(linked, item) == [("1.25", "big"), ("1.25", "small")]


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
        "base", "control", "copy", "wide", "auto", "extra", "limit",
    ]  # fmt: skip
    assert ["not in this run" in shown for shown in plots] == [True, True]


def test_two_single_cases_share_a_line_and_none_leaves_a_hole() -> None:
    stored = Stored(
        "A", Path(), record_of(run_events(*(list(case_events(n)) for n in "abc"))), Raw.ABSENT
    )
    second = Stored("B", Path(), record_of(run_events(list(case_events("b")))), Raw.ABSENT)
    widths = re.findall(
        r'<div class="case( whole)?[^"]*" id="zone_device-(\w)"', page.render([stored], Path())
    )
    assert widths == [("", "a"), ("", "b"), (" whole", "c")]
    html = page.render([stored, second], Path())
    assert html.count('class="case whole labelled"') == 3


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
    assert (first.marks["limit"].number, first.marks["limit"].words) == ("2.353", "rep stosq")
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
    assert "(1 beyond the axis: 699)" in strip.words
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


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_results_of_this_checkout(path: Path) -> None:
    runs = store.load([path])
    assert max(map(len, text.report(runs, checkout.SPEEDUPS).splitlines())) <= 72
    assert _parse(page.render(runs, checkout.SPEEDUPS)).tags


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
