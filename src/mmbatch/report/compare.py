# SPDX-License-Identifier: GPL-2.0-only
"""What changed between two runs on one machine, by their ratios to the kernel's own code.

Times of two runs are never compared: base was measured in both, and only the ratios to it are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mmbatch.bench.record import Record
from mmbatch.bench.statistics import NOISE, Ratio
from mmbatch.bench.table import tables
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.hosted.events import BASE
from mmbatch.report.text import between, columns, paragraph

SLOWER = "slower"
FASTER = "faster"
SAME = "no difference"
TOO_FEW = "too few pairs"
GONE = "NOT SHOWN"
"""The row had a ratio, and has none now: it is not equal, or was not measured."""


@dataclass(frozen=True)
class Change:
    """One variant of one case in two runs: its ratios, and the newer one by the older one."""

    case: str
    variant: str
    old: Ratio
    new: Ratio | None
    factor: Ratio | None
    verdict: str


def changes(old: Record, new: Record) -> list[Change]:
    """Return what changed for each row that has a ratio in the older run.

    Raises:
        MmbatchError: exit code 2; they are of two machines, or have no row in common.
    """
    action, hint = "compare two runs", "give two runs of one speed-up on one machine"
    if old.where != new.where:
        problem = f"one is of {old.where}, the other of {new.where}"
        raise MmbatchError(action, problem, hint, ExitCode.USAGE)
    after = {(case, row.name): row.ratio for case, each in tables(new).items() for row in each.rows}
    before = [
        (case, row.name, row.ratio)
        for case, each in tables(old).items()
        for row in each.rows
        if row.name != BASE and row.ratio
    ]
    shared = [(case, name) for case, name, _ in before if (case, name) in after]
    if old.speedup != new.speedup or not shared:
        raise MmbatchError(action, "they have no row in common", hint, ExitCode.USAGE)
    return [_change(case, name, ratio, after.get((case, name))) for case, name, ratio in before]


def _change(case: str, variant: str, old: Ratio, new: Ratio | None) -> Change:
    if new is None:
        return Change(case, variant, old, None, None, GONE)
    # The runs are independent, so the halves of their intervals add as errors do.
    middle = math.log(new.median / old.median)
    down = math.hypot(math.log(new.median / new.lo), math.log(old.hi / old.median))
    up = math.hypot(math.log(new.hi / new.median), math.log(old.median / old.lo))
    ends = math.exp(middle - down), math.exp(middle + up)
    factor = Ratio(new.median / old.median, *ends, min(old.pairs, new.pairs))
    verdict = SAME
    if factor.interval is None:
        verdict = TOO_FEW
    elif factor.lo > 1 + NOISE:
        verdict = FASTER
    elif factor.hi < 1 / (1 + NOISE):
        verdict = SLOWER
    return Change(case, variant, old, new, factor, verdict)


def text(old: Record, new: Record, found: Sequence[Change]) -> str:
    """Return the changes as a table, a line for each row."""
    lines: list[str] = []
    for name, run in (("old", old), ("new", new)):
        about = f"{run.speedup}, {run.where}, Linux {run.kernel.release}, {run.started}"
        lines += paragraph(f"{name}: {about}, commit {run.code.commit[:12]}")
    lines += paragraph(
        "old and new: times as fast as the kernel in each run; change: new / old, above 1 is "
        "faster than before; what code layout alone can do is no difference"
    )
    rows = [["case and variant", "old", "new", "change", "95 % interval", "result"]]
    for change in found:
        new_ratio = f"{change.new.median:.2f}" if change.new else "-"
        factor = f"{change.factor.median:.2f}" if change.factor else "-"
        name = f"{change.case} {change.variant}"
        cells = [name, f"{change.old.median:.2f}", new_ratio, factor]
        rows.append([*cells, between(change.factor), change.verdict])
    return "\n".join([*lines, "", *columns(rows, (0, 5))]) + "\n"
