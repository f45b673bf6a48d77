# SPDX-License-Identifier: GPL-2.0-only
"""Several runs side by side as one HTML page that needs nothing but itself, or as one SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mmbatch.bench.machine import machine_line
from mmbatch.bench.record import Row
from mmbatch.bench.store import Stored
from mmbatch.hosted.events import BASE
from mmbatch.report import compare, plot, words
from mmbatch.report.compare import CaseGroup, Entry, Section
from mmbatch.report.plot import Plot, Scale
from mmbatch.report.words import who_benefits

_SVG_WIDTH = 600  # pixels, so that a telephone shows the text of an overview
_SVG_TALLEST = 26  # pixels
_SHOWN = 10
"""How many cases of a speed-up are open; those that follow can be unfolded."""
_BESIDE = 3
"""How many runs of a case are beside each other at most."""


@dataclass(frozen=True)
class _Figures:
    """A row of a card's table: cells, whether it is not a build of ours, and its distribution."""

    cells: tuple[str, ...]
    aside: bool
    path: str


@dataclass(frozen=True)
class _Card:
    """One case in one run: its plot, and the table of the same rows."""

    plot: Plot
    figures: tuple[_Figures, ...]
    samples: tuple[str, str]


@dataclass(frozen=True)
class _Case:
    """One case: a card for each run, and the names of their rows, alike in all cards.

    Attributes:
        anchor: its place in the page.
        name: of the case.
        regime: what is cold or warm, in words.
        rows: names of the rows.
        cards: a card for each run.
        wide: whether it takes the whole width of the page.
    """

    anchor: str
    name: str
    regime: str
    rows: tuple[str, ...]
    cards: tuple[_Card, ...]
    wide: bool

    @property
    def columns(self) -> int:
        """As many as fit, but lines that are as full as each other: four cards are two by two."""
        lines = math.ceil(len(self.cards) / _BESIDE)
        return math.ceil(len(self.cards) / lines)


@dataclass(frozen=True)
class _Section:
    speedup: str
    who: tuple[str, ...]
    shown: tuple[_Case, ...]
    folded: tuple[_Case, ...]
    runs: tuple[Stored, ...]


def render(runs: Sequence[Stored], speedups_at: Path) -> str:
    """Make the page. The READMEs in the directory of all speed-ups say who benefits.

    Returns:
        HTML with its style and pictures in it; it loads nothing and runs no script.
    """
    groups = compare.sections(runs)
    return _fill(
        "page.html",
        title=f"mmbatch: {', '.join(group.speedup for group in groups)}",
        summary=_summary(groups),
        overview=plot.overview(groups),
        runs=runs,
        sections=[_section(group, speedups_at) for group in groups],
        regressions=compare.by_variant(compare.regressions(groups)),
        anchor=_anchor,
        caveats=words.caveats,
        machine_line=machine_line,
        by_cpus=compare.by_cpus,
        posted=words.posted,
        sentence=words.sentence,
        shapes=plot.SHAPES,
        tone=_tone,
    )


def svg(runs: Sequence[Stored]) -> str:
    """Return an overview as an SVG file, for light and dark pages.

    It has the newest kernel of each speed-up and machine only, so that it fits on a screen.
    """
    overview = plot.overview(compare.sections(compare.newest(runs)), _SVG_TALLEST)
    return _fill(
        "overview.svg",
        overview=overview,
        bottom=overview.bottom,
        lines=plot.LINES,
        width=_SVG_WIDTH,
        shapes=plot.SHAPES,
    )


def _fill(template: str, **values: object) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**values)


def _summary(groups: Sequence[Section]) -> str:
    """Say in a sentence or two what users get in all cases."""
    every = (entry.chosen for part in groups for case in part.cases for entry in case.entries)
    rows = [row for row in every if row.variant != BASE]
    if not rows:
        return "Nothing is compared with the kernel's own code."
    faster = sum(map(compare.is_faster, rows))
    slower = [row for row in rows if compare.is_slower(row)]
    text = f"What users get beats the kernel's own code in {faster} of {len(rows)} cases"
    if slower:
        speedups = ", ".join(dict.fromkeys(row.speedup for row in slower))
        text += f", and is slower in {len(slower)} ({speedups})."
    else:
        text += ", and is slower in none."
    unclear = len(rows) - faster - len(slower)
    if unclear:
        text += f" In the other {unclear}, no difference could be shown."
    return text


def _section(group: Section, speedups_at: Path) -> _Section:
    shown = [case for case in group.cases if any(compare.is_slower(e.chosen) for e in case.entries)]
    for case in group.cases:
        if case not in shown and len(shown) < _SHOWN:
            shown.append(case)
    first = [case for case in group.cases if case in shown]
    folded = [case for case in group.cases if case not in shown]
    cases = [*_cases(group.speedup, first), *_cases(group.speedup, folded)]
    anchors: set[str] = set()
    for at, case_shown in enumerate(cases):
        if case_shown.anchor in anchors:  # another case has this name, with another regime
            cases[at] = replace(case_shown, anchor=f"{case_shown.anchor}-{at}")
        anchors.add(case_shown.anchor)
    return _Section(
        group.speedup,
        tuple(who_benefits(speedups_at / group.speedup)),
        tuple(cases[: len(first)]),
        tuple(cases[len(first) :]),
        tuple(group.runs),
    )


def _cases(speedup: str, groups: Sequence[CaseGroup]) -> Iterator[_Case]:
    """Yield cases: two of a single run beside each other, and all others alone in their line."""
    left = False  # whether the left half of a line is taken
    for at, group in enumerate(groups):
        single = len(group.entries) == 1
        after = groups[at + 1] if at + 1 < len(groups) else None
        fills = left or (after is not None and len(after.entries) == 1)
        yield _case(speedup, group, wide=not (single and fills))
        left = single and fills and not left


def _case(speedup: str, group: CaseGroup, *, wide: bool) -> _Case:
    axis = plot.scale(group.entries)
    cards = tuple(_card(entry, axis) for entry in group.entries)
    names = dict.fromkeys(name for card in cards for name in card.plot.marks)
    limit = [plot.LIMIT] if plot.LIMIT in names else []
    rows = (*(name for name in names if name != plot.LIMIT), *limit)
    return _Case(_anchor(speedup, group.name), group.name, group.regime, rows, cards, wide)


def _card(entry: Entry, axis: Scale) -> _Card:
    every = [
        sample for part in (entry.rows, entry.limits) for row in part for sample in row.samples
    ]
    every += entry.control.samples if entry.control else ()
    low, high = max(1, min(every, default=1)), max(2, max(every, default=2))
    ends = (words.duration(low, entry.base.unit), words.duration(high, entry.base.unit))
    return _Card(plot.plot(entry, axis), tuple(_figures(entry, low, high)), ends)


def _figures(entry: Entry, low: int, high: int) -> Iterator[_Figures]:
    for row in entry.rows:
        cells = (
            row.variant,
            words.duration(row.median, row.unit),
            words.each(row.per_item),
            f"{row.ratio.median:.3f}" if row.ratio else "-",
            words.interval(row.ratio.ci95) if row.ratio else "-",
            f"{row.of_limit.median:.2f}" if row.of_limit else "",
            str(row.verdict),
        )
        yield _Figures(cells, False, plot.histogram(row.samples, low, high))
        if row is entry.base and entry.control is not None:
            control = entry.control
            cells = (
                "control (= base)",
                words.duration(control.median, control.unit),
                words.each(control.per_item),
                "-" if control.ratio is None else f"{control.ratio:.3f}",
                words.interval(control.ci95),
                "",
                words.noise(control),
            )
            yield _Figures(cells, True, plot.histogram(control.samples, low, high))
    for limit in sorted(entry.limits, key=lambda limit: limit is not entry.limit):
        median = words.duration(limit.median, limit.unit)
        times = f"{limit.median / entry.limit.median:.2f}" if entry.limit else ""
        name = f"{'limit' if limit is entry.limit else 'not the limit'}: {limit.name}"
        cells = (name, median, words.each(limit.per_item), "", "", times, "")
        yield _Figures(cells, True, plot.histogram(limit.samples, low, high))


def _anchor(speedup: str, case: str) -> str:
    """Return the place of a case in the page, of letters that an address may hold."""
    return "".join(char if char.isalnum() or char == "_" else "-" for char in f"{speedup}-{case}")


def _tone(row: Row) -> str:
    """Return the page's class for a row: faster and slower ones are coloured alike strongly."""
    return "faster" if compare.is_faster(row) else "slower" if compare.is_slower(row) else ""
