# SPDX-License-Identifier: GPL-2.0-only
"""The short table of a record for the README, and what is said of the cases that it leaves out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mmbatch.bench.record import Record, Row
from mmbatch.bench.statistics import NOISE, Verdict
from mmbatch.hosted.events import AUTO, BASE

Case = Mapping[str, Row]
"""The rows of a case, by variant."""

_COPY = "copy"
_LONG = 20  # cases; more are hard to read
_FEW = 3
_READ = "read back"  # a case of its own, where others do the same on another CPU
_LOST = (Verdict.SLOWER, Verdict.MORE)
_WON = (Verdict.FASTER, Verdict.FEWER)


def table(record: Record) -> Iterator[str]:
    """Yield a table with a row for each case, or for each that matters where there are many."""
    cases: dict[str, dict[str, Row]] = {}
    for row in record.rows:
        cases.setdefault(row.case, {})[row.variant] = row
    variants = list(dict.fromkeys(row.variant for row in record.rows if row.variant != BASE))
    last = variants[-1]
    item = record.rows[0].item
    shown, varied, alike = _choose(list(cases.values()), last)
    head = ["case", f"base, per {item}", *variants, f"95 % interval of {last}"]
    if limited := any(row.of_limit for row in record.rows):
        head.append(f"{last}, x limit")
    yield _line(*head)
    yield _line("---", *["---:"] * (len(head) - 1))
    for rows in shown:
        yield _case(rows, variants, limited=limited)
    if alike:
        names = ", ".join(map(_name, alike))
        yield f"\n{len(alike)} more cases, no difference shown in any: {names}."
    if varied:
        words = dict.fromkeys(_regime(rows).rpartition(", ")[2] for rows in varied)
        yield (
            f"\n{len(varied)} more cases are some of these again ({'; '.join(words)}): "
            f"{_summary(varied, last)}."
        )
    losses = [loss for rows in cases.values() for loss in _losses(rows)]
    if losses and record.rows[0].unit == "ns":
        yield f"\nSlower than `{_COPY}`, by the medians: {'; '.join(losses)}."


def in_short(record: Record) -> str:
    """Say how the last variant does, and which rows are worse than base."""
    last = record.rows[-1].variant
    ratios = _ratios(row for row in record.rows if row.variant == last)
    losses = _lost(record.rows) or "no row is slower than base"
    shown = f"{last} {min(ratios):.2f} to {max(ratios):.2f}; " if ratios else ""
    return f"{shown}{losses}"


def _choose(
    cases: Sequence[Case], last: str
) -> tuple[Sequence[Case], Sequence[Case], Sequence[Case]]:
    """Return (cases to show, those that vary one of these, those in which nothing shows).

    A case in which `last`, which is what users get, loses is always shown.
    """
    shown: list[Case] = []
    varied: list[Case] = []
    alike: list[Case] = []
    for rows in cases:
        if len(cases) <= _LONG or (last in rows and rows[last].verdict in _LOST):
            shown.append(rows)
        elif any(_varies(rows, other) for other in cases):
            varied.append(rows)
        elif all(row.verdict in (Verdict.BASE, Verdict.NO_DIFFERENCE) for row in rows.values()):
            alike.append(rows)
        else:
            shown.append(rows)
    return shown, varied, alike


def _varies(rows: Case, other: Case) -> bool:
    """Tell whether a case is another one with a word more in its name and in its regime."""
    regime, _, word = _regime(rows).rpartition(", ")
    longer = _name(rows).startswith(f"{_name(other)}-")
    return word != _READ and regime == _regime(other) and longer


def _summary(cases: Sequence[Case], last: str) -> str:
    """Say how the last variant does in some cases, and which of the others are worse than base."""
    mine = [rows[last] for rows in cases if last in rows]
    ratios = _ratios(mine)
    verdicts = Counter(str(row.verdict) for row in mine)
    ended = ", ".join(f"{word} in {count}" for word, count in verdicts.most_common())
    text = f"{last} {min(ratios):.2f} to {max(ratios):.2f}, {ended}" if ratios else ended
    losses = _lost(row for rows in cases for row in rows.values())
    return f"{text}; {losses}" if losses else text


def _lost(rows: Iterable[Row]) -> str:
    """Name the rows that lose, or count them where a variant has many; nothing when none does."""
    by_variant: dict[str, list[Row]] = {}
    for row in rows:
        if row.verdict in _LOST:
            by_variant.setdefault(row.variant, []).append(row)
    parts: list[str] = []
    for variant, mine in by_variant.items():
        ratios = _ratios(mine)
        if len(mine) <= _FEW:
            parts += [
                f"{variant} in {row.case} ({ratio:.2f})"
                for row, ratio in zip(mine, ratios, strict=True)
            ]
        else:
            parts.append(f"{variant} in {len(mine)} cases ({min(ratios):.2f} to {max(ratios):.2f})")
    words = {str(row.verdict): None for mine in by_variant.values() for row in mine}
    return f"**{' or '.join(words)}: {', '.join(parts)}**" if parts else ""


def _ratios(rows: Iterable[Row]) -> list[float]:
    return [row.ratio.median for row in rows if row.ratio is not None]


def _name(rows: Case) -> str:
    return rows[BASE].case


def _regime(rows: Case) -> str:
    return rows[BASE].regime


def _case(rows: Case, variants: Sequence[str], *, limited: bool) -> str:
    base, last = rows[BASE], rows.get(variants[-1])
    interval = last.ratio.ci95 if last and last.ratio else None
    of_limit = f"{last.of_limit.median:.2f}" if last and last.of_limit else "-"
    return _line(
        f"{base.case} ({base.regime})",
        "-" if base.per_item is None else f"{base.per_item:.2f} {base.unit}",
        *(_cell(rows.get(variant)) for variant in variants),
        f"{interval[0]:.3f} .. {interval[1]:.3f}" if interval else "-",
        *([of_limit] if limited else []),
    )


def _cell(row: Row | None) -> str:
    if row is None:
        return "-"
    if row.ratio is None:
        return row.verdict
    number = f"{row.ratio.median:.2f}"
    if row.verdict in _WON:
        return number
    words = f"{number} {row.verdict}"
    return f"**{words}**" if row.verdict in _LOST else words


def _losses(rows: Case) -> Iterator[str]:
    """Say which variants of a case take longer than the plain copy of the same case."""
    copy = rows.get(_COPY)
    if copy is None or copy.median is None:
        return
    for variant, row in rows.items():
        if variant in (BASE, _COPY) or row.median is None:
            continue
        if row.median > copy.median * (1 + NOISE):
            mark = "**auto**" if variant == AUTO else variant
            yield f"{mark} in {row.case} ({row.median / copy.median:.2f} times its time)"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
