# SPDX-License-Identifier: GPL-2.0-only
"""Runs side by side as one HTML page that needs nothing but itself, or as one SVG.

Places on an axis are per cent of its width, so that the page can draw the same plot on every
screen while its text keeps its size.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from mmbatch.bench import machine, table
from mmbatch.bench.record import Record
from mmbatch.bench.table import Row, Table, tables
from mmbatch.core.load import release_numbers
from mmbatch.hosted.events import BASE
from mmbatch.report import text
from mmbatch.report.markdown import series

_NICE = (1, 2, 0.5, 4, 0.25, 1.5, 3, 0.75, 1.25, 8, 0.125, 6, 1.1, 0.9, 1.75, 2.5, 16, 32, 64, 1.05)
_EDGE = 3.0  # per cent on each side, so that a mark at the end is whole
_MOST = 20.0  # an overview ends there, since few cases would take most of its width
_LEAST = 0.25
_APART = 1.1  # per cent: from one dot of an overview to the next, on the narrowest page
_RISE = 7.0  # pixels from a dot of an overview to the one above it
_TALLEST = 45.0  # pixels: where many dots lie above each other, they overlap
_HEAD = 36  # pixels for the words of a strip
_SHOWN = 10
"""How many cases of a speed-up are open; those that follow can be unfolded."""


@dataclass(frozen=True)
class Scale:
    """A logarithmic axis of ratios, whose numbers are `apart` per cent of the width apart."""

    low: float
    high: float
    apart: float

    def x(self, ratio: float) -> float:
        """Return a ratio's place in per cent of the width."""
        part = math.log(ratio / self.low) / math.log(self.high / self.low)
        return _EDGE + (100 - 2 * _EDGE) * min(1.0, max(0.0, part))

    @functools.cached_property
    def ticks(self) -> list[tuple[float, str]]:
        """Places and texts of round numbers that can be read beside each other."""
        chosen: list[float] = []
        for ratio in _NICE:
            inside = self.low <= ratio <= self.high and 4 <= self.x(ratio) <= 96
            if inside and all(abs(self.x(ratio) - self.x(tick)) >= self.apart for tick in chosen):
                chosen.append(ratio)
        return [(self.x(ratio), f"{ratio:g}") for ratio in sorted(chosen)]


@dataclass(frozen=True)
class CaseGroup:
    """One case: its tables by the names of the runs that have it, and the axis of them all."""

    anchor: str
    name: str
    axis: Scale
    tables: dict[str, Table]


Runs = Mapping[str, Record]
"""Runs by the names that a report calls them."""

_Placed = tuple[float, str, Row, bool]
"""A row of an overview: its ratio, its run and case, and whether no user gets it."""


def render(runs: Runs, ages: Mapping[str, str] = MappingProxyType({})) -> str:
    """Make the page: HTML with its style and pictures in it, which loads nothing.

    `ages` say of runs that are not of today's code what to know of theirs.
    """
    runs = dict(sorted(runs.items(), key=_order))
    speedups = dict.fromkeys(record.speedup for record in runs.values())
    sections = {name: list(_groups(name, runs)) for name in speedups}
    chosen = [each.chosen for record in runs.values() for each in tables(record).values()]
    chosen = [row for row in chosen if row.name != BASE]
    faster, slower, others = _counts(chosen)
    return _fill(
        "page.html",
        title=f"mmbatch: {', '.join(speedups)}",
        summary=f"What users get is faster than the kernel's own code in {faster} of {len(chosen)} "
        f"cases, slower in {slower}, and not shown to differ in {others}.",
        overview=overview(runs),
        sections=sections,
        shown=_SHOWN,
        runs=runs,
        ages={name: ages[name] for name in runs if ages.get(name)},
        kind=kind,
        text=text,
        machine=machine,
        notes=table.notes,
    )


def svg(runs: Runs) -> str:
    """Return an overview of the newest kernel of each speed-up as an SVG file."""
    timed = {name: record for name, record in runs.items() if record.timed}
    by_age = sorted(timed.values(), key=series)
    newest = {record.speedup: series(record) for record in by_age}
    shown = {name: each for name, each in timed.items() if series(each) == newest[each.speedup]}
    return _fill("overview.svg", overview=overview(shown), standalone=True)


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


def _order(item: tuple[str, Record]) -> tuple[bool, list[int]]:
    """Runs that measure time come before those that count, and newer kernels before older ones."""
    record = item[1]
    return not record.timed, [-number for number in release_numbers(record.kernel.release)]


def kind(row: Row) -> str:
    """Return how a row is drawn."""
    return "faster" if row.faster else "slower" if row.slower or row.equal is False else "open"


def _counts(rows: Sequence[Row]) -> tuple[int, int, int]:
    """Return how many rows are faster, slower, and neither."""
    faster, slower = (sum(kind(row) == name for row in rows) for name in ("faster", "slower"))
    return faster, slower, len(rows) - faster - slower


def _groups(speedup: str, runs: Runs) -> Iterator[CaseGroup]:
    held: dict[str, dict[str, Table]] = {}
    for run, record in runs.items():
        if record.speedup == speedup:
            for name, each in tables(record).items():
                held.setdefault(name, {})[run.partition(": ")[2]] = each
    for name, found in held.items():
        values = [1.0, *(value for each in found.values() for value in _values(each))]
        low, high = math.log(min(values)), math.log(max(values))
        more = max(0.05, 0.06 * (high - low))
        axis = Scale(math.exp(low - more), math.exp(high + more), apart=30)
        anchor = "".join(char if char.isalnum() else "-" for char in f"{speedup}-{name}")
        yield CaseGroup(anchor, name, axis, found)


def _values(found: Table) -> Iterator[float]:
    """Yield everything that must have room on the axis of a case."""
    for row in found.checked:
        if row.ratio:
            yield row.ratio.median
            yield from row.ratio.interval or ()
    if found.base.fill:
        yield found.base.fill
    if found.band is not None:
        yield from (1 / (1 + found.band), 1 + found.band)


def overview(runs: Runs) -> dict[str, object]:
    """Place a dot for each case and run, and a hollow one for each slower row of other methods."""
    rows: dict[tuple[str, bool], list[_Placed]] = {}
    for run, record in runs.items():
        held = rows.setdefault((record.speedup, record.timed), [])
        for name, each in tables(record).items():
            others = [row for row in each.rows if row.slower and row is not each.chosen]
            held += [
                (row.ratio.median, f"{run}: {name}", row, row is not each.chosen)
                for row in (each.chosen, *others)
                if row.ratio
            ]
    ratios = [1.0, *(ratio for held in rows.values() for ratio, *_ in held)]
    low, high = max(min(ratios), _LEAST), min(max(ratios), _MOST)
    axis = Scale(low / 1.1, high * 1.1, apart=8)
    strips: list[dict[str, object]] = []
    top = 26.0
    for (speedup, timed), held in rows.items():
        dots, height = _dots(held, axis)
        counts = _counts([row for _, _, row, is_aside in held if not is_aside])
        words = "{} faster, {} slower, {} others".format(*counts)
        words = words if timed else f"instructions: {words}"
        place = {"top": top + _HEAD - 10, "height": height}
        strips.append({"title": speedup, "words": words, "dots": dots, **place})
        top += _HEAD + height
    return {"strips": strips, "axis": axis, "bottom": top}


def _dots(held: list[_Placed], axis: Scale) -> tuple[list[tuple[float, float, str, str]], float]:
    """Return where dots are, their pixels above the ground, kinds and words, and the height."""
    placed: list[tuple[float, int, str, str]] = []
    for ratio, name, row, is_aside in sorted(held, key=lambda each: each[0]):
        x = axis.x(ratio)
        near = {level for other, level, _, _ in placed if abs(other - x) < _APART}
        level = next(number for number in range(len(placed) + 1) if number not in near)
        shape = kind(row) + (" aside" if is_aside else "")
        placed.append((x, level, shape, f"{name}: {row.name} {ratio:.2f} {row.verdict}"))
    levels = 1 + max((level for _, level, _, _ in placed), default=0)
    rise = min(_RISE, _TALLEST / levels)
    dots = [(x, rise * level, shape, words) for x, level, shape, words in placed]
    return dots, rise * levels + 10
