# SPDX-License-Identifier: GPL-2.0-only
"""Which limit row bounds a case, and which variants show that it does not.

A case that writes memory has a row for each of several plain fills. Any of them would do for the
work, so the fastest is the bound. Rows that only read bound it as well, because nothing can be
copied without being read. The limit is the larger of the two. In a case for several CPUs, limits
on one CPU only show how much more all of them do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from mmbatch.bench.record import Limit, Row
from mmbatch.hosted.events import LIMIT_PREFIX, ONE_CPU

BEYOND = 0.97
"""A variant that takes less of its limit's time shows that the limit is none."""


def choose(limits: Sequence[Limit], reads: Collection[str]) -> Limit | None:
    """Return the limit row that bounds a case, None without one.

    Limits on one CPU bound nothing.

    A fill that is slow here is timed in the first block only. When processes take turns, each of
    them keeps the fills that were the fastest in its own first block. So a fill with less than
    half of the samples that another one has is left out.

    Args:
        limits: the case's limit rows.
        reads: variants (with their prefix) that only read.
    """
    limits = [limit for limit in limits if not limit.name.endswith(ONE_CPU)]
    return _slowest(limits, reads)


def on_one_cpu(limits: Sequence[Limit], reads: Collection[str]) -> Limit | None:
    """Return what `choose` would of those limits that run on one CPU in a case for several."""
    return _slowest([limit for limit in limits if limit.name.endswith(ONE_CPU)], reads)


def _slowest(limits: Sequence[Limit], reads: Collection[str]) -> Limit | None:
    most = max((len(limit.samples) for limit in limits), default=0)
    timed = [limit for limit in limits if 2 * len(limit.samples) >= most]
    fills = [limit for limit in timed if LIMIT_PREFIX + limit.name not in reads]
    others = [limit for limit in timed if LIMIT_PREFIX + limit.name in reads]
    fastest = [min(group, key=_median) for group in (fills, others) if group]
    return max(fastest, key=_median, default=None)


def _median(limit: Limit) -> float:
    return limit.median


def defects(rows: Iterable[Row]) -> list[str]:
    """Return a sentence for each row that is shown to be faster than its limit allows."""
    return [
        f"{row.case}: {row.variant} takes {row.of_limit.median:.2f} "
        f"({row.of_limit.ci95[0]:.2f} to {row.of_limit.ci95[1]:.2f}) of the time of "
        f"'{row.of_limit.vs}', so that row is not a limit here"
        for row in rows
        if row.of_limit and row.of_limit.ci95 and row.of_limit.ci95[1] < BEYOND
    ]
