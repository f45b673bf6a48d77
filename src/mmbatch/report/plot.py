# SPDX-License-Identifier: GPL-2.0-only
"""Where the marks of a case's plot go: ratios on a logarithmic axis, in per cent of its width.

The page draws them as SVG of its own. Its text keeps the size of the page's text on every
screen, since only x is relative, and its colours follow the page's light and dark style; a
plotting library's picture does neither, and would bring 35 MB along.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mmbatch.bench.record import Row
from mmbatch.hosted.events import BASE
from mmbatch.report import compare
from mmbatch.report.compare import Entry
from mmbatch.report.lines import duration

ROW_PX = 46
HEAD_PX = 22
AXIS_PX = 26
_MARGIN = 0.06
_EDGE = 3.0  # per cent on each side, so that a mark at the end is whole
_APART = 13.0
_DIGIT = 1.1  # per cent: half of a character of the axis, on the narrowest page
_NICE = (1, 2, 0.5, 4, 0.25, 1.5, 3, 0.75, 1.25, 8, 0.125, 6, 1.1, 0.9, 1.75, 2.5, 16, 32, 64, 1.05)


@dataclass(frozen=True)
class Scale:
    """A logarithmic axis of ratios, the same for all plots of a case."""

    low: float
    high: float

    def x(self, ratio: float) -> float:
        """Return a ratio's place in per cent of the width."""
        part = (math.log(ratio) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return _EDGE + (100 - 2 * _EDGE) * min(1.0, max(0.0, part))

    def ticks(self) -> list[float]:
        """Return round numbers that are whole on the axis, and can be read beside each other."""
        chosen: list[float] = []
        for ratio in _NICE:
            half = _DIGIT * len(f"{ratio:g}")
            inside = self.low <= ratio <= self.high and half <= self.x(ratio) <= 100 - half
            if inside and all(abs(self.x(ratio) - self.x(one)) >= _APART for one in chosen):
                chosen.append(ratio)
        return sorted(chosen)


@dataclass(frozen=True)
class Mark:
    """A row of a plot.

    Attributes:
        name: the variant.
        words: ratio and verdict, or why there is none.
        kind: "won", "lost", "base", "control" or "open": how it is drawn.
        y: its top in pixels.
        x: the median's place; None where nothing is shown.
        lo: the interval's lower end; None without one.
        hi: its upper end.
    """

    name: str
    words: str
    kind: str
    y: int
    x: float | None = None
    lo: float | None = None
    hi: float | None = None


@dataclass(frozen=True)
class Plot:
    """One case in one run.

    Attributes:
        entry: what it shows.
        marks: its rows.
        ticks: (place, text) on the axis.
        one: the place of 1.
        band: places of the control band's ends; None without one.
        limit: the place of what the limit's time would be as a ratio; None without one.
        limit_words: that ratio, in words.
        height: in pixels.
    """

    entry: Entry
    marks: tuple[Mark, ...]
    ticks: tuple[tuple[float, str], ...]
    one: float
    band: tuple[float, float] | None
    limit: float | None
    limit_words: str
    height: int

    @property
    def bottom(self) -> int:
        """Where the rows end, in pixels."""
        return self.height - AXIS_PX

    @property
    def summary(self) -> str:
        """All of it in words, for who can't see it."""
        return "; ".join(f"{mark.name}: {mark.words}" for mark in self.marks)


def scale(entries: Sequence[Entry]) -> Scale:
    """Return the axis on which everything in some entries of one case has room."""
    values = [1.0, *(value for entry in entries for value in _values(entry))]
    low, high = math.log(min(values)), math.log(max(values))
    if high - low < 0.1:
        low, high = low - 0.05, high + 0.05
    more = _MARGIN * (high - low)
    return Scale(math.exp(low - more), math.exp(high + more))


def plot(entry: Entry, axis: Scale) -> Plot:
    """Place one entry's rows on an axis."""
    marks = tuple(_marks(entry, axis))
    limit = entry.base.of_limit.median if entry.base.of_limit else None
    band = entry.control.band if entry.control else None
    return Plot(
        entry,
        marks,
        tuple((axis.x(ratio), f"{ratio:g}") for ratio in axis.ticks()),
        axis.x(1),
        None if band is None else (axis.x(1 - min(band, 0.99)), axis.x(1 + band)),
        None if limit is None else axis.x(limit),
        "" if limit is None else f"limit {limit:.2f}",
        HEAD_PX + ROW_PX * len(marks) + AXIS_PX,
    )


def _values(entry: Entry) -> Iterator[float]:
    for row in entry.rows:
        if row.ratio:
            yield row.ratio.median
            yield from row.ratio.ci95 or ()
    if entry.base.of_limit:
        yield entry.base.of_limit.median
    if entry.control:
        yield from entry.control.ci95 or ()
        if entry.control.band is not None:
            yield from (1 - min(entry.control.band, 0.99), 1 + entry.control.band)


def _marks(entry: Entry, axis: Scale) -> Iterator[Mark]:
    y = HEAD_PX
    for row in entry.rows:
        yield _mark(row, axis, y)
        y += ROW_PX
        if row is entry.base and entry.control is not None:
            control = entry.control
            words = "not equal or not checked" if control.ratio is None else f"{control.ratio:.3f}"
            if control.band is not None:
                words += f", noise band \N{PLUS-MINUS SIGN}{control.band:.1%}".replace("%", " %")
            x = None if control.ratio is None else axis.x(control.ratio)
            yield Mark("control (= base)", words, "control", y, x, *_ends(control.ci95, axis))
            y += ROW_PX


def _mark(row: Row, axis: Scale, y: int) -> Mark:
    if row.variant == BASE and row.median is not None:
        words = f"{row.per_item:.3g} {row.unit} a {row.item}"
        if row.unit == "ns":
            words = f"{duration(row.median, row.unit)}, {words}"
        return Mark(row.variant, words, "base", y, axis.x(1))
    if row.ratio is None:
        return Mark(row.variant, row.verdict, "open", y)
    kind = "won" if compare.won(row) else "lost" if compare.lost(row) else "open"
    words = f"{row.ratio.median:.3f} {row.verdict}"
    return Mark(row.variant, words, kind, y, axis.x(row.ratio.median), *_ends(row.ratio.ci95, axis))


def _ends(ci95: tuple[float, float] | None, axis: Scale) -> tuple[float | None, float | None]:
    return (axis.x(ci95[0]), axis.x(ci95[1])) if ci95 else (None, None)
