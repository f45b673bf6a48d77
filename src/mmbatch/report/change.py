# SPDX-License-Identifier: GPL-2.0-only
"""What changed between two runs on one machine, by their ratios to base.

Times of two runs are never compared: base was measured in both, and only the ratios to it are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mmbatch.bench.record import Record, Row, RowRatio
from mmbatch.bench.statistics import NOISE
from mmbatch.bench.store import Stored
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.hosted.events import BASE
from mmbatch.report.text import ascii_only, paragraph

SLOWER = "slower"
FASTER = "faster"
SAME = "no difference"
TOO_FEW = "too few pairs"
GONE = "NOT SHOWN"
"""The row had a ratio, and has none now: it is not equal, or was not measured."""

_WIDTHS = (34, 7, 7, 6, 14)
_EXPLAINED = (
    "old and new: base time / variant time in each run; change: new / old (above 1: faster than "
    "before), with a 95 % interval; a change that code layout alone can make is not reported"
)


@dataclass(frozen=True)
class Change:
    """One variant of one case in two runs.

    Attributes:
        speedup: name of the speed-up.
        case: name of the case.
        variant: name of the variant.
        old: its ratio to base in the older run.
        new: the same in the newer run; None if it has none there.
        factor: the new ratio divided by the old one: above 1, it is faster than it was.
        interval: 95 % interval of the factor; None with too few pairs.
        verdict: in words.
    """

    speedup: str
    case: str
    variant: str
    old: RowRatio
    new: RowRatio | None
    factor: float | None
    interval: tuple[float, float] | None
    verdict: str


def changes(old: Record, new: Record) -> list[Change]:
    """Return what changed for each row that has a ratio to base in the older run.

    Raises:
        MmbatchError: exit code 2; they are of two machines, or have no row in common.
    """
    machines = [
        (record.machine.cpu, record.machine.family, record.machine.model) for record in (old, new)
    ]
    if machines[0] != machines[1] or old.engine != new.engine:
        raise MmbatchError(
            "compare two runs",
            f"one is of {old.machine.cpu} ({old.engine}), the other of {new.machine.cpu} "
            f"({new.engine})",
            "give two runs of one machine; without --compare they are shown side by side",
            ExitCode.USAGE,
        )
    rows = {_key(row): row for row in new.rows}
    before = [row for row in old.rows if row.variant != BASE and row.ratio]
    if not any(_key(row) in rows for row in before):
        raise MmbatchError(
            "compare two runs",
            "they have no row in common",
            "give two runs of the same speed-up and cases",
            ExitCode.USAGE,
        )
    return [_change(row, rows.get(_key(row))) for row in before]


def _key(row: Row) -> tuple[str, str, str]:
    return row.speedup, row.case, row.variant


def _change(old: Row, new: Row | None) -> Change:
    assert old.ratio is not None
    after = new.ratio if new else None
    if after is None:
        return Change(*_key(old), old.ratio, None, None, None, GONE)
    factor = after.median / old.ratio.median
    interval = _interval(old.ratio, after)
    verdict = SAME
    if interval is None:
        verdict = TOO_FEW
    elif interval[0] > 1 + NOISE:
        verdict = FASTER
    elif interval[1] < 1 / (1 + NOISE):
        verdict = SLOWER
    return Change(*_key(old), old.ratio, after, factor, interval, verdict)


def _interval(old: RowRatio, new: RowRatio) -> tuple[float, float] | None:
    """Return the interval of new / old; the runs are independent, so logarithms add in squares."""
    if old.ci95 is None or new.ci95 is None:
        return None
    middle = math.log(new.median / old.median)
    down = math.hypot(math.log(new.median / new.ci95[0]), math.log(old.ci95[1] / old.median))
    up = math.hypot(math.log(new.ci95[1] / new.median), math.log(old.median / old.ci95[0]))
    return math.exp(middle - down), math.exp(middle + up)


def text(old: Stored, new: Stored, found: Sequence[Change]) -> str:
    """Return the changes in lines of at most 72 columns."""
    lines: list[str] = []
    for name, run in (("old", old), ("new", new)):
        record = run.record
        origin = f"{run.path}, Linux {record.kernel.release}, {record.started}"
        lines += paragraph(f"{name}: {origin}, samples sha256 {record.samples_sha256[:12]}")
        for posted in record.posted:
            lines += paragraph(f"  {posted.label}: {posted.source}, sha256 {posted.sha256[:12]}")
    lines += ["", *paragraph(_EXPLAINED), ""]
    lines.append(_line(("case and variant", "old", "new", "change", "verdict")))
    for change in found:
        lines += _rows(change)
    return "\n".join(lines) + "\n"


def _rows(change: Change) -> Iterator[str]:
    new = "-" if change.new is None else f"{change.new.median:.3f}"
    factor = "-" if change.factor is None else f"{change.factor:.3f}"
    name = f"{change.case} {change.variant}"
    yield _line((name, f"{change.old.median:.3f}", new, factor, change.verdict))
    if change.interval and change.verdict in (SLOWER, FASTER):
        yield f"  {change.interval[0]:.3f} to {change.interval[1]:.3f} of before"


def _line(cells: Sequence[str]) -> str:
    parts = [ascii_only(cell) for cell in cells]
    first = parts[0] if len(parts[0]) <= _WIDTHS[0] else parts[0][: _WIDTHS[0] - 1] + "~"
    others = [part.rjust(width) for part, width in zip(parts[1:], _WIDTHS[1:], strict=True)]
    return " ".join([first.ljust(_WIDTHS[0]), *others]).rstrip()
