# SPDX-License-Identifier: GPL-2.0-only
"""The report's page: its facts, links and plots, also in a browser."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from expect import printed
from fake_run import EVERY, SMALL, broken, case_events, record_of, run_events
from mmbatch.bench import record
from mmbatch.report import html

CHROMIUM = shutil.which("chromium")


@pytest.fixture
def page(two_runs: list[Path]) -> str:
    return html.render(record.named([record.read(path) for path in two_runs]))


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_page_loads_nothing_and_runs_nothing(page: str) -> None:
    tags = _Page(page).tags
    assert not {"script", "iframe", "img", "object", "embed"} & {tag for tag, _ in tags}
    for _, attributes in tags:
        for name, value in attributes.items():
            assert name not in ("src", "srcset", "action") and not name.startswith("on")
            assert name != "href" or value == "data:," or (value or "").startswith("#")
    (policy,) = [a["content"] for t, a in tags if t == "meta" and "http-equiv" in a]
    assert policy is not None and policy.startswith("default-src 'none'")


def test_every_link_leads_to_a_place_in_the_page(page: str) -> None:
    tags = _Page(page).tags
    places = [attributes["id"] for _, attributes in tags if "id" in attributes]
    links = {a["href"] for tag, a in tags if tag == "a"}
    assert len(places) == len(set(places))
    assert {"#slower", "#zone_device", "#runs", "#zone-device-small-hot"} <= links
    assert links <= {f"#{place}" for place in places}


def test_cases_after_ten_are_folded() -> None:
    events = run_events(*(list(case_events(f"case-{n}", SMALL)) for n in range(12)))
    text = html.render({"zone_device: A": record_of(events)})
    shown, _, folded = text.partition("<summary>2 more cases</summary>")
    assert [part.count('id="zone-device-case-') for part in (shown, folded)] == [10, 2]


def test_unproven_rows_have_no_mark() -> None:
    text = html.render({"zone_device: A": record_of(broken())})
    (row,) = re.findall(r"<tr><td>copy</td>.*?</tr>", text[text.index("small-hot") :], re.DOTALL)[
        -1:
    ]
    assert "mark" not in row and "NOT CHECKED" in row


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium, or make test")
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_cut_off_in_a_browser(tmp_path: Path, width: int) -> None:
    """Only cards scroll, and only on a telephone."""
    runs = [record_of(events()) for events in EVERY]
    records = {f"zone_device: run {number}": run for number, run in enumerate(runs)}
    (tmp_path / "page.html").write_text(html.render(records))
    frame = f'<iframe id="f" src="page.html" style="width:{width}px;height:844px"></iframe>'
    probe = (
        frame
        + """<pre id="out"></pre><script>onload = () => {
const d = document.getElementById("f").contentDocument, root = d.documentElement;
const cards = [...d.querySelectorAll(".card")].filter(c => c.scrollWidth > c.clientWidth + 1);
const marks = d.querySelectorAll("circle"), out = document.getElementById("out");
out.textContent = `${root.scrollWidth <= root.clientWidth} ${cards.length} ${marks.length}`;
};</script>"""
    )
    (tmp_path / "probe.html").write_text(f"<!DOCTYPE html>{probe}")
    words = [CHROMIUM or "", "--headless", "--disable-gpu", "--no-sandbox", "--dump-dom"]
    words += ["--allow-file-access-from-files", f"--user-data-dir={tmp_path / 'profile'}"]
    words += ["--window-size=1400,1000", (tmp_path / "probe.html").as_uri()]
    shown = printed(*words, timeout=600)
    fits, scrolled, marks = re.findall(r'<pre id="out">(\w+) (\d+) (\d+)</pre>', shown)[0]
    assert fits == "true"
    assert int(marks) > 20
    assert width < 1000 or int(scrolled) == 0
