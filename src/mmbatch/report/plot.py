# SPDX-License-Identifier: GPL-2.0-only
"""Where the marks of a report's plots go.

Places are per cent of a plot's width, so that the page can draw the same plot on every screen
while its text keeps its size, and its colours follow the light or dark style. A plotting library's
picture does neither, and would bring 35 MB along.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from mmbatch.bench.record import Row
from mmbatch.bench.statistics import Verdict
from mmbatch.hosted.events import BASE, CONTROL, LIMIT_PREFIX
from mmbatch.report import compare
from mmbatch.report.compare import Entry, Section
from mmbatch.report.words import each, noise, short

LIMIT = "limit"
SHAPES = {
    "faster": "M-5 4 L0 -5 L5 4 Z",
    "slower": "M-5 -4 L0 5 L5 -4 Z",
    "base": "M-4 -4 H4 V4 H-4 Z",
    "control": "M-4 -4 H4 V4 H-4 Z",
    "open": "M0 -5 L5 0 L0 5 L-5 0 Z",
    "limit": "M-1 -6 H1 V6 H-1 Z",
}
"""Each kind of mark as a path around its place, in pixels."""

_MARGIN = 0.06
_EDGE = 3.0  # per cent on each side, so that a mark at the end is whole
_NICE = (1, 2, 0.5, 4, 0.25, 1.5, 3, 0.75, 1.25, 8, 0.125, 6, 1.1, 0.9, 1.75, 2.5, 16, 32, 64, 1.05)
_APART = 1.1  # per cent: from one dot of an overview to the next, on the narrowest page
_BEYOND = (0.25, 20.0)  # an overview ends there, since few cases would take most of its width
_BINS = 48
_RISE = 7.0  # pixels from a dot of an overview to the one above it
_TALLEST = 45.0  # pixels: where many dots lie above each other, they overlap
_APART_RUNS = 2  # so many runs of a speed-up have a strip each, and more share one
LINES = {True: 34, False: 17}
"""How high the text of a strip is in a file, in pixels, with a title and without."""


@dataclass(frozen=True)
class Scale:
    """A logarithmic axis of ratios.

    Attributes:
        low: the ratio at its left end.
        high: the ratio at its right end.
        apart: how far apart its numbers are at least, in per cent of the width.
        digit: half of a character of its numbers on the narrowest page, in per cent.
    """

    low: float
    high: float
    apart: float = 34.0
    digit: float = 4.4

    def x(self, ratio: float) -> float:
        """Return a ratio's place in per cent of the width."""
        part = (math.log(ratio) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return _EDGE + (100 - 2 * _EDGE) * min(1.0, max(0.0, part))

    def ticks(self) -> list[float]:
        """Return round numbers that are whole on the axis, and can be read beside each other."""
        chosen: list[float] = []
        for ratio in _NICE:
            half = self.digit * len(f"{ratio:g}")
            inside = self.low <= ratio <= self.high and half <= self.x(ratio) <= 100 - half
            if inside and all(abs(self.x(ratio) - self.x(tick)) >= self.apart for tick in chosen):
                chosen.append(ratio)
        return sorted(chosen)


@dataclass(frozen=True)
class Mark:
    """A row of a plot.

    Attributes:
        name: the variant.
        number: its ratio, or base's time; empty where nothing is shown.
        words: its verdict.
        kind: a key of `SHAPES`: how it is drawn.
        x: the median's place; None where nothing is shown.
        lo: the interval's lower end; None without one.
        hi: its upper end.
    """

    name: str
    number: str
    words: str
    kind: str
    x: float | None = None
    lo: float | None = None
    hi: float | None = None


@dataclass(frozen=True)
class Plot:
    """One case in one run.

    Attributes:
        entry: what it shows.
        marks: its rows by name.
        ticks: (place, text) on the axis.
        base: the place of 1, which is base.
        band: places of the control band's ends; None without one.
        limit: the place of what the limit's time would be as a ratio; None without one.
    """

    entry: Entry
    marks: dict[str, Mark]
    ticks: tuple[tuple[float, str], ...]
    base: float
    band: tuple[float, float] | None
    limit: float | None


@dataclass(frozen=True)
class Dot:
    """A case in an overview: its place, its level above the strip's ground, kind, and words."""

    x: float
    level: int
    kind: str
    words: str


@dataclass(frozen=True)
class Strip:
    """A line of an overview.

    Attributes:
        title: what it is about; empty where it goes on with the strip above.
        words: what its dots say, counted.
        dots: its cases.
        aside: whether its dots are of variants that users do not get.
        y: its top in pixels, in a file.
        tallest: how high its dots may be together, in pixels.
    """

    title: str
    words: str
    dots: tuple[Dot, ...]
    aside: bool
    y: int = 0
    tallest: float = _TALLEST

    @property
    def rise(self) -> float:
        """How far apart the dots are that lie above each other, in pixels."""
        return min(_RISE, self.tallest / self._levels)

    @property
    def height(self) -> int:
        """How high its dots are together, in pixels."""
        return math.ceil(self.rise * self._levels) + 6

    @property
    def _levels(self) -> int:
        return 1 + max((dot.level for dot in self.dots), default=0)


@dataclass(frozen=True)
class Overview:
    """All cases of all runs on one axis.

    Attributes:
        strips: its lines.
        ticks: (place, text) on the axis.
        base: the place of 1, which is base.
        bottom: where the strips end in a file, in pixels.
    """

    strips: tuple[Strip, ...]
    ticks: tuple[tuple[float, str], ...]
    base: float
    bottom: int


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
    limit = entry.base.of_limit.median if entry.base.of_limit else None
    band = entry.control.band if entry.control else None
    return Plot(
        entry,
        {mark.name: mark for mark in _marks(entry, axis)},
        _ticks(axis),
        axis.x(1),
        None if band is None else (axis.x(1 / (1 + band)), axis.x(1 + band)),
        None if limit is None else axis.x(limit),
    )


def overview(groups: Sequence[Section], tallest: float = _TALLEST) -> Overview:
    """Place a dot for each case and run, and one for each slower row of other variants.

    The dots of a strip may be `tallest` pixels high together.
    """
    chosen = [
        entry.chosen for section in groups for case in section.cases for entry in case.entries
    ]
    others = [
        row
        for section in groups
        for run in section.runs
        for row in _other_slower(section, run.name)
    ]
    shown = [1.0, *(row.ratio.median for row in [*chosen, *others] if row.ratio)]
    low, high = max(min(shown), _BEYOND[0]), min(max(shown), _BEYOND[1])
    if high / low < 2:
        low, high = low / 1.4, high * 1.4
    axis = Scale(low, high, apart=8.0, digit=1.1)
    strips: list[Strip] = []
    y = 26
    for section in groups:
        for strip in _strips(section, axis):
            strips.append(replace(strip, y=y, tallest=tallest))
            y += LINES[bool(strip.title)] + strips[-1].height
    return Overview(tuple(strips), _ticks(axis), axis.x(1), y)


def histogram(samples: Sequence[int], low: float, high: float) -> str:
    """Return the distribution of samples as an SVG path.

    Args:
        samples: times or counts, each at least 1.
        low: where the axis begins, in the same unit; it is logarithmic.
        high: where it ends.

    Returns:
        Steps in a box of 48 by 20, the fullest of the bins 20 high.
    """
    span = math.log(high / low) or 1.0
    places = (math.log(max(sample, low) / low) / span for sample in samples)
    counts = Counter(min(_BINS - 1, max(0, int(_BINS * part))) for part in places)
    most = max(counts.values(), default=1)
    steps = [f"M{at} 20V{20 - 20 * counts[at] / most:.3g}h1V20Z" for at in sorted(counts)]
    return "".join(steps)


def _ticks(axis: Scale) -> tuple[tuple[float, str], ...]:
    return tuple((axis.x(ratio), f"{ratio:g}") for ratio in axis.ticks())


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
            yield from (1 / (1 + entry.control.band), 1 + entry.control.band)


def _marks(entry: Entry, axis: Scale) -> Iterator[Mark]:
    for row in entry.rows:
        yield _mark(row, axis)
        if row is entry.base and entry.control is not None:
            control = entry.control
            number = "" if control.ratio is None else f"{control.ratio:.3f}"
            x = None if control.ratio is None else axis.x(control.ratio)
            words = noise(control).replace("+-", "\N{PLUS-MINUS SIGN}")
            yield Mark(CONTROL, number, words, "control", x, *_ends(control.ci95, axis))
    fastest = entry.base.of_limit
    if fastest:
        name = fastest.vs.removeprefix(LIMIT_PREFIX)
        yield Mark(LIMIT, f"{fastest.median:.3f}", name, "limit", axis.x(fastest.median))


def _mark(row: Row, axis: Scale) -> Mark:
    if row.variant == BASE and row.median is not None:
        number = f"{each(row.per_item)} {'ns' if row.unit == 'ns' else ''}".rstrip()
        return Mark(row.variant, number, short(row.verdict), "base", axis.x(1))
    if row.ratio is None:
        kind = "slower" if row.verdict == Verdict.NOT_EQUAL else "open"  # as bad as that
        return Mark(row.variant, "", short(row.verdict), kind)
    number, x = f"{row.ratio.median:.3f}", axis.x(row.ratio.median)
    return Mark(
        row.variant, number, short(row.verdict), _kind(row), x, *_ends(row.ratio.ci95, axis)
    )


def _kind(row: Row) -> str:
    return "faster" if compare.is_faster(row) else "slower" if compare.is_slower(row) else "open"


def _ends(ci95: tuple[float, float] | None, axis: Scale) -> tuple[float | None, float | None]:
    return (axis.x(ci95[0]), axis.x(ci95[1])) if ci95 else (None, None)


def _strips(section: Section, axis: Scale) -> Iterator[Strip]:
    names = [run.name for run in section.runs]
    if len(names) <= _APART_RUNS:
        for name in names:
            yield from _strips_of(section, f"{section.speedup}, {name}", [name], axis)
    else:
        yield from _strips_of(section, f"{section.speedup}, {len(names)} runs", names, axis)


def _strips_of(section: Section, title: str, names: Sequence[str], axis: Scale) -> Iterator[Strip]:
    """Yield the strip of some runs, and that of the slower rows that users do not get."""
    entries = [entry for case in section.cases for entry in case.entries]
    named = [(entry.run.name, entry.chosen) for entry in entries if entry.run.name in names]
    rows = [row for _, row in named]
    counts = Counter(short(row.verdict) for row in rows)
    words = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    beyond = [
        row.ratio.median
        for row in rows
        if row.ratio and not axis.low <= row.ratio.median <= axis.high
    ]
    if beyond:
        texts = [f"{end:.{0 if end >= 1 else 2}f}" for end in (min(beyond), max(beyond))]
        ends = dict.fromkeys(texts)
        words += f" ({len(beyond)} beyond the axis: {' to '.join(ends)})"
    variants = " or ".join(dict.fromkeys(row.variant for row in rows))
    if any(row.unit != "ns" for row in rows):
        title += f": {rows[0].unit}, no time"
    words = "base only" if variants == BASE else f"{variants}: {words}"
    yield Strip(title, words, _dots(named, len(names) > 1, axis), aside=False)
    others = [(name, row) for name in names for row in _other_slower(section, name)]
    if others:
        slower = Counter(row.variant for _, row in others)
        words = ", ".join(f"{name} in {count}" for name, count in slower.items())
        dots = _dots(others, len(names) > 1, axis)
        yield Strip("", f"other variants, slower: {words}", dots, aside=True)


def _other_slower(section: Section, name: str) -> Iterator[Row]:
    """Yield the slower rows of a run that users do not get."""
    for case in section.cases:
        for entry in case.entries:
            if entry.run.name == name:
                yield from (
                    row for row in entry.rows if compare.is_slower(row) and row is not entry.chosen
                )


def _dots(rows: Iterable[tuple[str, Row]], shared: bool, axis: Scale) -> tuple[Dot, ...]:
    """Place dots as low as they fit beside those that are there.

    Each row has the name of its run, which its words begin with if runs share the strip.
    """
    placed: list[Dot] = []
    held = [(name, row) for name, row in rows if row.ratio]
    for name, row in sorted(held, key=lambda pair: _ratio(pair[1])):
        x = axis.x(_ratio(row))
        near = {dot.level for dot in placed if abs(dot.x - x) < _APART}
        level = next(number for number in range(len(placed) + 1) if number not in near)
        words = f"{row.case}: {row.variant} {_ratio(row):.3f} {row.verdict}"
        words = f"{name}, {words}" if shared else words
        placed.append(Dot(x, level, _kind(row), words))
    return tuple(placed)


def _ratio(row: Row) -> float:
    return row.ratio.median if row.ratio else 1.0
