# SPDX-License-Identifier: GPL-2.0-only
"""The report's page in headless Chromium, at the width of a phone and of a desk."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from fake_run import broken, few, mixed, noisy, record_of
from mmbatch.bench import store
from mmbatch.bench.store import Raw, Stored, run_names
from mmbatch.core import paths as checkout
from mmbatch.hosted.events import Event
from mmbatch.report import html as page

CHROMIUM = shutil.which("chromium")
PHONE = 390

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium: apt-get install chromium, or make test"
)

PROBE = """<!DOCTYPE html><title>probe</title>
<iframe id="f" src="page.html" style="width:%dpx;height:844px;border:0"></iframe>
<pre id="out"></pre>
<script>
onload = () => {
  const d = document.getElementById("f").contentDocument;
  const view = d.defaultView, root = d.documentElement;
  const height = root.scrollHeight;
  d.querySelectorAll("details").forEach(element => { element.open = true; });
  const box = element => {
    const r = element.getBoundingClientRect();
    return [r.left, r.top, r.right, r.bottom];
  };
  const texts = [...d.querySelectorAll("svg.axis, body > svg")].map(plot => ({
    box: box(plot),
    texts: [...plot.querySelectorAll("text")].map(element => ({
      text: element.textContent, box: box(element),
      size: parseFloat(view.getComputedStyle(element).fontSize),
    })),
  }));
  const colour = (rule, name) => {
    const element = d.querySelector(rule);
    return element && view.getComputedStyle(element)[name];
  };
  const broken = [], range = d.createRange();
  const nodes = d.createTreeWalker(d.body, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) {
    const node = nodes.currentNode;
    if (node.parentElement.closest("svg, .hash, style, script")) continue;
    for (const word of node.data.matchAll(/[^\\s-]{2,}/g)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const tops = [...range.getClientRects()].map(r => Math.round(r.top));
      if (new Set(tops).size > 1) broken.push(word[0]);
    }
  }
  document.getElementById("out").textContent = JSON.stringify({
    height, broken, wide: root.scrollWidth, available: root.clientWidth, plots: texts,
    back: colour("body", "backgroundColor"), text: colour("body", "color"),
    won: colour(".faster", "color"), lost: colour(".slower", "color"),
  });
};
</script>
"""


@dataclass(frozen=True)
class Seen:
    """What the browser made of a page: figures, and what it said on its console."""

    figures: dict[str, Any]
    console: list[str]


def _look(tmp_path: Path, content: str, width: int = PHONE, *, dark: bool = False) -> Seen:
    assert CHROMIUM is not None
    (tmp_path / "page.html").write_text(content, encoding="utf-8")
    (tmp_path / "probe.html").write_text(PROBE % width, encoding="utf-8")
    words = [CHROMIUM, "--headless", "--disable-gpu", "--dump-dom", "--enable-logging=stderr"]
    words += ["--allow-file-access-from-files", f"--user-data-dir={tmp_path / 'profile'}"]
    # The page is ours, and many machines refuse the namespaces that a sandbox is made of.
    words += ["--no-sandbox"]
    words += [f"--blink-settings=preferredColorScheme={0 if dark else 1}"]
    words += ["--window-size=1400,1000", (tmp_path / "probe.html").as_uri()]
    env = dict(os.environ, HOME=str(tmp_path))
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False, env=env)
    assert done.returncode == 0, done.stderr[-2000:]
    found = re.search(r'<pre id="out">(.*?)</pre>', done.stdout, re.S)
    assert found, done.stderr[-2000:]
    assert found[1], "the page can't be looked into"
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return Seen(json.loads(unescape(found[1])), console)


def _problems(seen: Seen) -> list[str]:
    """What is wrong with a page at the width that it was seen at."""
    found = [f"console: {line}" for line in seen.console]
    figures = seen.figures
    if figures["wide"] > figures["available"]:
        found.append(f"scrolls: {figures['wide']} px in {figures['available']}")
    found += [f"broken: {word}" for word in figures["broken"]]
    for plot in figures["plots"]:
        for text in plot["texts"]:
            if text["size"] < 12:
                found.append(f"small: {text['text']} has {text['size']} px")
            if text["box"][0] < plot["box"][0] - 1 or text["box"][2] > plot["box"][2] + 1:
                found.append(f"cut off: {text['text']}")
        for number, text in enumerate(plot["texts"]):
            for other in plot["texts"][number + 1 :]:
                a, b = text["box"], other["box"]
                if min(a[2], b[2]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[1], b[1]) > 3:
                    found.append(f"on each other: {text['text']} and {other['text']}")
    return found


def _runs(*each: list[Event]) -> list[Stored]:
    records = [record_of(events) for events in each]
    names = run_names(records)
    return [
        Stored(name, Path(), record, Raw.SAME) for name, record in zip(names, records, strict=True)
    ]


def _results(pattern: str = "*.json") -> str:
    paths = sorted((checkout.ROOT / "results").glob(pattern))
    return page.render(store.load(paths), checkout.SPEEDUPS)


@pytest.mark.parametrize("width", [PHONE, 1200])
def test_the_results_of_this_checkout(tmp_path: Path, width: int) -> None:
    seen = _look(tmp_path, _results(), width)
    assert seen.figures["plots"]
    assert _problems(seen) == []


_MACHINES = sorted(
    path.stem.removeprefix("zone_device-7.3-")
    for path in (checkout.ROOT / "results").glob("zone_device-7.3-*-2c.json")
)


@pytest.mark.parametrize("machine", _MACHINES)
def test_the_results_of_a_machine_fit_9_screens(tmp_path: Path, machine: str) -> None:
    """As `make report` writes them: all speed-ups on one kernel."""
    content = _results(f"*-7.3-{machine}.json")
    assert _look(tmp_path, content, 1280).figures["height"] <= 9 * 800


def test_every_kind_of_row_on_a_phone(tmp_path: Path) -> None:
    content = page.render(_runs(mixed(), broken(), noisy(), few()), checkout.SPEEDUPS)
    seen = _look(tmp_path, content)
    assert len(seen.figures["plots"]) == 2 + 7  # the overview's axes, and one of each case and run
    assert _problems(seen) == []


def _luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark_can_be_read(tmp_path: Path, dark: bool) -> None:
    figures = _look(tmp_path, _results(), dark=dark).figures
    back = _luminance(figures["back"])
    assert (back < 0.1) is dark
    for name in ("text", "won", "lost"):
        light, low = sorted((_luminance(figures[name]), back), reverse=True)
        assert (light + 0.05) / (low + 0.05) >= 4.5, name  # WCAG 2, level AA


def test_what_is_wrong_is_seen(tmp_path: Path) -> None:
    bad = """<!DOCTYPE html><meta charset="utf-8">
<div style="width:500px">wide</div>
<p style="width:3em; overflow-wrap:anywhere">inseparable well-known</p>
<svg class="axis" width="100" height="20"><text style="font-size:9px" y="9">tiny</text>
<text x="90" y="18">cut off on the right</text>
<text x="0" y="10" style="font-size:14px">over</text></svg>
<script>console.error("oh no")</script>"""
    found = "\n".join(_problems(_look(tmp_path, bad)))
    for words in (
        "console:",
        "scrolls: 5",
        "small: tiny has 9 px",
        "cut off: cut",
        "on each other: tiny",
        "broken: inseparable",
    ):
        assert words in found
    assert "well" not in found  # a hyphen is where a line may end
