# SPDX-License-Identifier: GPL-2.0-only
"""From paired times to a ratio, its 95 % interval and a verdict in words.

Protocol: blocks of mirrored order, median of paired ratios, bootstrap over whole blocks with a
fixed seed, and no claim inside the band of a base-against-base control of the same run.
Ratios are base time divided by variant time: above 1 is faster.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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


@dataclass(frozen=True)
class Summary:
    """Median, median absolute deviation (not scaled) and minimum, in the unit of the times."""

    median: float
    mad: float
    minimum: float


def _log_ratios(first: Sequence[float], second: Sequence[float]) -> NDArray[np.float64]:
    import numpy as np

    above = np.asarray(first, dtype=np.float64)
    below = np.asarray(second, dtype=np.float64)
    if above.ndim != 1 or above.shape != below.shape:
        raise ValueError("paired times must be two sequences of one length")
    if not (np.all(np.isfinite(above)) and np.all(np.isfinite(below))):
        raise ValueError("times must be finite")
    if np.any(above <= 0) or np.any(below <= 0):
        raise ValueError("times must be positive")
    logs: NDArray[np.float64] = np.log(above) - np.log(below)
    return logs


def _by_block(values: NDArray[np.float64], blocks: Sequence[int]) -> NDArray[np.float64]:
    """Lay values out as (blocks, most pairs in one block), missing ones as NaN."""
    import numpy as np

    if len(blocks) != len(values):
        raise ValueError("every pair must have a block")
    rows: dict[int, list[float]] = {}
    for block, value in zip(blocks, values, strict=True):
        rows.setdefault(block, []).append(float(value))
    width = max(len(row) for row in rows.values())
    table = np.full((len(rows), width), np.nan)
    for index, block in enumerate(sorted(rows)):
        table[index, : len(rows[block])] = rows[block]
    return table


def tail(blocks: int) -> float:
    """Share of resampled medians to leave out on each side for a 95 % interval.

    A plain percentile interval is too narrow for few blocks: it leaves out 2.5 % whatever their
    number. This is the expanded percentile interval of Hesterberg, "What Teachers Should Know
    About the Bootstrap" (2015), section 3.3: Phi(sqrt(n / (n - 1)) * t(0.025, n - 1)).

    Args:
        blocks: number n of blocks drawn.

    Returns:
        The share: 0.0086 for 10 blocks, towards 0.025 for many; 0.025 for a single one, whose
        interval is empty anyway.
    """
    if blocks < 2:
        return 0.025
    from scipy import special

    return float(special.ndtr(-_reach(blocks)))


def _reach(blocks: int) -> float:
    """Return half of the interval that `tail` gives, in standard deviations of the medians."""
    return math.sqrt(blocks / (blocks - 1)) * _quantile(blocks - 1)


def _quantile(freedom: int) -> float:
    """Return what Student's t exceeds in 2.5 % of all cases."""
    from scipy import special

    return -float(special.stdtrit(freedom, 0.025))


def _between_starts(
    logs: NDArray[np.float64], starts: Sequence[int], blocks: int, half: float
) -> float:
    """Return half of the 95 % interval that differences between starts alone would give.

    What a program draws by lot when it starts is the same for all of its samples, so no number of
    them shows it. The medians of the starts do: how much more they vary than the samples explain
    is the variance between starts, with as many degrees of freedom as there are starts less 1.

    Args:
        logs: logarithms of the paired ratios, shape (pairs,).
        starts: start of each pair, shape (pairs,).
        blocks: number of blocks.
        half: half of the interval of all pairs, as a logarithm, which gives the samples' share.
    """
    import numpy as np

    labels = np.asarray(starts)
    medians = [float(np.median(logs[labels == start])) for start in np.unique(labels)]
    count = len(medians)
    if count < 2:
        return 0.0
    within = count * (half / _reach(blocks)) ** 2
    between = max(0.0, float(np.var(medians, ddof=1)) - within)
    return _quantile(count - 1) * math.sqrt(between / count)


def paired_ratio(
    base: Sequence[float],
    variant: Sequence[float],
    blocks: Sequence[int],
    starts: Sequence[int] | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Ratio:
    """Median of the paired ratios base/variant with a 95 % bootstrap interval.

    The bootstrap draws whole blocks with replacement, takes the median of all their pairs, and
    reads the interval off the percentiles of these medians, at `tail(blocks)` from either end.
    Starts of the program are too few to be drawn, so the interval is widened by what they differ
    by: its halves are added to that of the starts as independent errors are, by their squares.
    Medians and percentiles are taken of logarithms, so that swapping base and variant gives
    exactly the inverse; for an odd number of pairs the median is the plain one.

    Args:
        base: base times, any unit, shape (pairs,).
        variant: variant times, same unit and shape; base[i] and variant[i] were run together.
        blocks: block of each pair, shape (pairs,).
        starts: start of the program of each pair, shape (pairs,); all in one if None.
        resamples: bootstrap draws.
        seed: of the generator; fixed, so that one file always gives one interval.

    Returns:
        The ratio.

    Raises:
        ValueError: no pairs, lengths that differ, or times that aren't positive and finite.
    """
    import numpy as np

    logs = _log_ratios(base, variant)
    if logs.size == 0:
        raise ValueError("no pairs")
    table = _by_block(logs, blocks)
    draws = np.random.default_rng(seed).integers(0, len(table), (resamples, len(table)))
    drawn = table[draws].reshape(resamples, -1)
    medians = np.nanmedian(drawn, axis=1) if np.isnan(table).any() else np.median(drawn, axis=1)
    share = tail(len(table))
    middle = float(np.median(logs))
    lo, hi = (float(end) for end in np.quantile(medians, [share, 1 - share]))
    more = _between_starts(logs, starts, len(table), (hi - lo) / 2) if starts else 0.0
    lo, hi = (
        (middle - math.hypot(middle - lo, more), middle + math.hypot(hi - middle, more))
        if more
        else (lo, hi)
    )
    return Ratio(math.exp(middle), math.exp(lo), math.exp(hi), int(logs.size))


def control_band(control: Ratio) -> float:
    """Return how far the control's interval reaches from 1 at most, as a ratio above 1, minus 1.

    The noise band is from 1 / (1 + band) to 1 + band, so that faster and slower are alike.
    """
    return max(control.hi, 1 / control.lo) - 1


def claimed_from(band: float) -> float:
    """Return the difference above which something is claimed beside a control with this band.

    What a band has above `WIDE` counts twice: 0.05 gives 0.05, and 0.15 gives 0.20.
    """
    return band + max(0.0, band - WIDE)


def verdict(ratio: Ratio | None, control: Ratio | None) -> Verdict:
    """What a ratio shows.

    Args:
        ratio: base against the variant; None when there are no pairs.
        control: base against its second copy in the same case; without one nothing is claimed.

    Returns:
        In this order: too few pairs; no difference shown (the interval lies within 2 % of 1, or
        inside the control's band, of which at most `WIDE` counts); faster or slower (the interval
        clears `claimed_from` of the band); too noisy (band or interval is wider than `WIDE`); else
        inconclusive.
    """
    if ratio is None or ratio.pairs < MIN_PAIRS:
        return Verdict.TOO_FEW
    if control is None or control.pairs < MIN_PAIRS:
        return Verdict.INCONCLUSIVE
    return beside_band(ratio, control_band(control))


def beside_band(ratio: Ratio, band: float) -> Verdict:
    """Return what a ratio of enough pairs shows beside a control with this band."""
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


def summary(times: Sequence[float]) -> Summary:
    """Median, MAD and minimum of times, shape (runs,); ValueError when there are none."""
    import numpy as np

    values = np.asarray(times, dtype=np.float64)
    if values.size == 0:
        raise ValueError("no times")
    middle = float(np.median(values))
    return Summary(middle, float(np.median(np.abs(values - middle))), float(values.min()))


def wilcoxon_p(base: Sequence[float], variant: Sequence[float]) -> float:
    """Two-sided p of the Wilcoxon signed-rank test on the logarithms of paired ratios.

    Args:
        base: base times, shape (pairs,).
        variant: variant times, same unit and shape.

    Returns:
        p in [0, 1]; 1 where all pairs are equal or there are none.

    Raises:
        ValueError: see `paired_ratio`.
    """
    logs = _log_ratios(base, variant)
    if not logs.any():
        return 1.0
    from scipy import stats

    result: Any = stats.wilcoxon(logs)
    return float(result.pvalue)


def holm(ps: Sequence[float]) -> list[float]:
    """P-values corrected for a whole table (Holm 1979, step-down Bonferroni).

    Args:
        ps: p-values of the table's rows.

    Returns:
        Adjusted values in the same order: max over smaller-or-equal p of (m - rank) * p, at
        most 1.
    """
    adjusted = [0.0] * len(ps)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = highest
    return adjusted
