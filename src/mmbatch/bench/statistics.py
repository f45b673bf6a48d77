# SPDX-License-Identifier: GPL-2.0-only
"""From paired times to a ratio, its 95 % interval and a verdict in words.

Protocol: blocks of mirrored order, median of paired ratios, bootstrap over whole blocks with a
fixed seed, and no claim inside the band of a base-against-base control of the same run.
Ratios are base time divided by variant time: above 1 is faster.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The products are small, and on a busy machine a second thread is mostly waited for. numpy reads
# this when it is first imported, which is below.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

MIN_PAIRS = 6
"""A two-sided paired sign-flip test can't reach p < 0.05 with fewer (2/2**6 = 0.031)."""

NOISE = 0.02
"""Differences below this can't be told from code layout: one build is one layout sample."""

WIDE = 0.10
"""Noise above this hides differences that matter, and is not as even as the bootstrap assumes."""

RESAMPLES = 10_000
SEED = 20_240_817


class Verdict(StrEnum):
    """What a row shows, in the words that are printed."""

    BASE = "base"
    FASTER = "faster"
    SLOWER = "slower"
    FEWER = "fewer instructions"  # where instructions are counted, which are no time
    MORE = "more instructions"
    NO_DIFFERENCE = "no difference shown"
    INCONCLUSIVE = "inconclusive"
    TOO_FEW = "too few pairs"
    TOO_NOISY = "inconclusive, too noisy"
    NOT_EQUAL = "NOT EQUAL, not shown"
    NOT_CHECKED = "not checked, not shown"


@dataclass(frozen=True)
class Ratio:
    """Median of paired ratios (no unit) with its 95 % interval from `pairs` pairs."""

    median: float
    lo: float
    hi: float
    pairs: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval; with fewer than `MIN_PAIRS` pairs none is honest."""
        return (self.lo, self.hi) if self.pairs >= MIN_PAIRS else None


def tail(blocks: int) -> float:
    """Share of resampled medians to leave out on each side for a 95 % interval.

    A plain percentile interval is too narrow for few blocks. This is the expanded one of
    Hesterberg, "What Teachers Should Know About the Bootstrap" (2015), section 3.3:
    Phi(sqrt(n / (n - 1)) * t(0.025, n - 1)), which is 0.0086 for 10 blocks.
    """
    return 0.5 * math.erfc(_reach(blocks) / math.sqrt(2)) if blocks > 1 else 0.025


def _reach(blocks: int) -> float:
    """Return half of the interval that `tail` gives, in standard deviations of the medians."""
    return math.sqrt(blocks / (blocks - 1)) * t_quantile(blocks - 1)


@functools.cache
def t_quantile(freedom: int) -> float:
    """Return what Student's t exceeds in 2.5 % of all cases.

    The probability between -t and t is a finite sum for a whole number of degrees of freedom
    (Abramowitz and Stegun, 26.7.3 and 26.7.4). Halving the angle finds where it is 0.95.
    """
    low, high, odd = 0.0, math.pi / 2, freedom % 2
    for _ in range(55):
        angle = (low + high) / 2
        term, total = (math.cos(angle), 0.0) if odd else (1.0, 0.0)
        for k in range(odd, freedom - odd, 2):
            total += term
            term *= math.cos(angle) ** 2 * (k + 1) / (k + 2)
        inside = math.sin(angle) * total
        inside = 2 / math.pi * (angle + inside) if odd else inside
        low, high = (angle, high) if inside < 0.95 else (low, angle)
    return math.sqrt(freedom) * math.tan(low)


@functools.lru_cache(64)
def _draws(sizes: tuple[int, ...]) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """How often each block, of so many values, is in each resample, and the places of its middle.

    They are alike in every run. Most runs have so few values that their number fits into a byte,
    which is several times faster.
    """
    import numpy as np

    blocks = len(sizes)
    drawn = np.random.default_rng(SEED).integers(0, blocks, (RESAMPLES, blocks))
    places = drawn * RESAMPLES + np.arange(RESAMPLES)[:, None]
    counts = np.bincount(places.ravel(), minlength=RESAMPLES * blocks)
    draws = counts.reshape(blocks, RESAMPLES).astype(np.uint8)
    values = (sizes @ draws).astype(np.min_scalar_type(blocks * max(sizes)))
    return draws, np.array([(values - 1) // 2, values // 2])


def _resampled(logs: NDArray[np.float64], blocks: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the median of each resample of whole blocks.

    Values that were drawn are counted, not copied, from the lowest to the highest: a resample's
    median is the value where that passes one half. `blocks` has the block of each value, from 0.
    """
    import numpy as np

    draws, middle = _draws(tuple(np.bincount(blocks)))
    order = np.argsort(logs, kind="stable")
    far = len(order) // 4  # with many blocks, no median lies among the lowest quarter
    below = draws[blocks[order[:far]]].sum(axis=0, dtype=middle.dtype)
    if (below > middle).any():
        far, below = 0, np.zeros_like(below)
    places = np.full_like(middle, far)
    for number, block in enumerate(blocks[order[far:]]):
        below += draws[block]
        places += (below <= middle).view(np.uint8)
        if number % 8 == 0 and (below > middle).all():
            break
    medians: NDArray[np.float64] = logs[order][places].sum(axis=0) / 2
    return medians


def _between_starts(
    logs: NDArray[np.float64], starts: Sequence[int], blocks: int, half: float
) -> float:
    """Return half of the 95 % interval that differences between starts alone would give.

    What a program draws by lot when it starts is the same for all of its samples. How much more the
    medians of the starts vary than the samples explain, by `half` of the interval of all pairs, is
    the variance between starts. All are logarithms.
    """
    import numpy as np

    labels = np.asarray(starts)
    medians = [float(np.median(logs[labels == start])) for start in np.unique(labels)]
    count = len(medians)
    if count < 2:
        return 0.0
    within = count * (half / _reach(blocks)) ** 2
    between = max(0.0, float(np.var(medians, ddof=1)) - within)
    return t_quantile(count - 1) * math.sqrt(between / count)


def paired_ratio(
    base: Sequence[float],
    variant: Sequence[float],
    blocks: Sequence[int],
    starts: Sequence[int] | None = None,
) -> Ratio:
    """Median of the paired ratios base/variant with a 95 % bootstrap interval.

    The bootstrap draws whole blocks with replacement, takes the median of all their pairs, and
    reads the interval off the percentiles of these medians, at `tail(blocks)` from either end.
    Starts are too few to be drawn, so the interval is widened by how they differ, as independent
    errors add up. Medians and percentiles are taken of logarithms, so that swapping base and
    variant gives exactly the inverse.

    base[i] and variant[i], both above 0, were run together, in blocks[i] of starts[i].
    """
    import numpy as np

    logs: NDArray[np.float64] = np.log(np.asarray(base, dtype=np.float64))
    logs = logs - np.log(np.asarray(variant, dtype=np.float64))
    numbers = np.unique(np.asarray(blocks), return_inverse=True)[1]
    count = int(numbers.max()) + 1
    share = tail(count)
    middle = float(np.median(logs))
    lo, hi = map(float, np.quantile(_resampled(logs, numbers), [share, 1 - share]))
    more = _between_starts(logs, starts, count, (hi - lo) / 2) if starts and count > 1 else 0.0
    if more:
        lo, hi = middle - math.hypot(middle - lo, more), middle + math.hypot(hi - middle, more)
    return Ratio(math.exp(middle), math.exp(lo), math.exp(hi), int(logs.size))


def control_band(control: Ratio | None) -> float | None:
    """Return how far the control's interval reaches from 1 at most, as a ratio above 1, minus 1.

    The noise band is from 1 / (1 + band) to 1 + band, so that faster and slower are alike. There
    is none without a control of enough pairs.
    """
    return max(control.hi, 1 / control.lo) - 1 if control and control.interval else None


def claimed_from(band: float) -> float:
    """Return the difference above which something is claimed beside a control with this band.

    What a band has above `WIDE` counts twice: 0.05 gives 0.05, and 0.15 gives 0.20.
    """
    return band + max(0.0, band - WIDE)


def verdict(ratio: Ratio | None, band: float | None) -> Verdict:
    """Return what a ratio of base against a variant shows beside a control with this band.

    In this order: too few pairs; inconclusive without a control; no difference (the interval lies
    within 2 % of 1, or inside the band, of which at most `WIDE` counts); faster or slower (it
    clears `claimed_from` of the band); too noisy (band or interval is wider than `WIDE`); else
    inconclusive.
    """
    if ratio is None or not ratio.interval:
        return Verdict.TOO_FEW
    if band is None:
        return Verdict.INCONCLUSIVE
    quiet = max(min(band, WIDE), NOISE)
    if max(ratio.hi, 1 / ratio.lo) <= 1 + quiet:
        return Verdict.NO_DIFFERENCE
    claimed = 1 + claimed_from(band)
    if ratio.lo > claimed:
        return Verdict.FASTER
    if ratio.hi < 1 / claimed:
        return Verdict.SLOWER
    noisy = band > WIDE or math.sqrt(ratio.hi / ratio.lo) > 1 + WIDE
    return Verdict.TOO_NOISY if noisy else Verdict.INCONCLUSIVE
