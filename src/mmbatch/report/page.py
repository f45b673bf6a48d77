# SPDX-License-Identifier: GPL-2.0-only
"""Several runs side by side as one HTML page that needs nothing but itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.bench.machine import machine_line
from mmbatch.bench.record import Row
from mmbatch.bench.store import Raw, Stored
from mmbatch.report import compare, lines, plot
from mmbatch.report.benefits import who_benefits
from mmbatch.report.compare import CaseGroup, Entry, Section
from mmbatch.report.lines import Line
from mmbatch.report.plot import Plot, Scale

_TEMPLATE = "page.html"
_GLANCE = 30
_SHAPES = {
    "won": "M-6 5 L0 -6 L6 5 Z",
    "lost": "M-6 -5 L0 6 L6 -5 Z",
    "base": "M-5 -5 H5 V5 H-5 Z",
    "control": "M-4 -4 H4 V4 H-4 Z",
    "open": "M0 -6 L6 0 L0 6 L-6 0 Z",
}


@dataclass(frozen=True)
class _Card:
    """One case in one run: its plot and the table of the same rows."""

    plot: Plot
    pairs: int
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class _Case:
    """One case: a card for each run, and what a user gets, by the run's letter."""

    name: str
    regime: str
    cards: tuple[_Card, ...]
    chosen: Mapping[str, Row]


@dataclass(frozen=True)
class _Section:
    speedup: str
    who: tuple[str, ...]
    cases: tuple[_Case, ...]
    runs: tuple[Stored, ...]

    @property
    def long(self) -> bool:
        """Whether a table of all cases is too long to be seen at a glance."""
        return len(self.cases) > _GLANCE

    def counts(self, run: Stored) -> list[tuple[str, str]]:
        """Return how often each verdict came out for users in a run, and its class."""
        rows = [case.chosen[run.label] for case in self.cases if run.label in case.chosen]
        numbers = Counter((str(row.verdict), _tone(row)) for row in rows)
        return [(f"{number} {word}", tone) for (word, tone), number in numbers.most_common()]


def render(runs: Sequence[Stored], rooms: Path) -> str:
    """Make the page.

    Args:
        runs: what was measured.
        rooms: where the speed-ups are, whose READMEs say who benefits.

    Returns:
        HTML with its style and pictures in it; it loads nothing and runs no script.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    groups = compare.sections(runs)
    return environment.get_template(_TEMPLATE).render(
        title=_title(groups),
        columns=lines.COLUMNS,
        runs=runs,
        sections=[_section(group, rooms) for group in groups],
        losses=compare.by_variant(compare.losses(groups)),
        caveats=lines.caveats,
        differs=Raw.DIFFERS,
        head_px=plot.HEAD_PX,
        machine_line=machine_line,
        sentence=lines.sentence,
        shapes=_SHAPES,
        tone=_tone,
    )


def _title(groups: Sequence[Section]) -> str:
    return f"mmbatch: {', '.join(group.speedup for group in groups)}"


def _section(group: Section, rooms: Path) -> _Section:
    cases = tuple(_case(case) for case in group.cases)
    runs = {id(one.run): one.run for case in group.cases for one in case.entries}
    return _Section(
        group.speedup, tuple(who_benefits(rooms / group.speedup)), cases, tuple(runs.values())
    )


def _case(group: CaseGroup) -> _Case:
    axis = plot.scale(group.entries)
    return _Case(
        group.name,
        group.regime,
        tuple(_card(entry, axis) for entry in group.entries),
        {entry.run.label: entry.chosen for entry in group.entries},
    )


def _card(entry: Entry, axis: Scale) -> _Card:
    controls = [entry.control] if entry.control else []
    return _Card(
        plot.plot(entry, axis),
        max((row.detail.pairs for row in entry.rows if row.detail), default=0),
        lines.case_lines(entry.rows, controls, entry.limits),
    )


def _tone(row: Row) -> str:
    """Return the page's class for a row: winning and losing ones are coloured alike strongly."""
    return "won" if compare.won(row) else "lost" if compare.lost(row) else ""
