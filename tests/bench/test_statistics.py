# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mmbatch.bench import statistics
from mmbatch.bench.statistics import Ratio, Verdict, control_band, paired_ratio, verdict

BASE, CONTROL, VARIANT = 0, 1, 2


def _blocks(count: int) -> list[int]:
    return [block for block in range(count) for _ in (0, 1)]


def _simulate(
    rng: np.random.Generator,
    blocks: int,
    *,
    ratio: float = 1.0,
    noise: float = 0.02,
    drift: float = 0.0,
    mirrored: bool = True,
    fixed: bool = False,
) -> tuple[NDArray[np.float64], list[int]]:
    """Times of six variants in the engine's order, shape (pairs, 6); VARIANT is `ratio` faster.

    Drift is added at each run: time stretches by `drift` per run.
    """
    true = np.ones(6)
    true[VARIANT] = 1 / ratio
    rows, clock = [], 0
    for _ in range(blocks):
        order = np.arange(6) if fixed else rng.permutation(6)
        for half in (0, 1):
            row = np.empty(6)
            for at in order[::-1] if half and mirrored else order:
                row[at] = true[at] * math.exp(rng.normal(0, noise)) * (1 + drift * clock)
                clock += 1
            rows.append(row)
    return np.array(rows), _blocks(blocks)


def test_median_of_paired_ratios_by_hand() -> None:
    ratio = paired_ratio([10.0, 30.0, 80.0], [5.0, 10.0, 20.0], [0, 0, 1])
    assert ratio.median == pytest.approx(3.0)
    assert ratio.pairs == 3


def test_pairing_matters() -> None:
    """Paired, the variant is always twice as fast; the quotient of medians would say 4."""
    base, variant = [1.0, 4.0, 100.0], [0.5, 2.0, 50.0]
    assert paired_ratio(base, variant, [0, 1, 2]).median == pytest.approx(2.0)
    assert paired_ratio([2.0, 4.0, 8.0], [8.0, 2.0, 2.0], [0, 1, 2]).median == pytest.approx(2.0)


def test_whole_blocks_are_drawn() -> None:
    """Pairs of one block that agree count as one: splitting them up narrows the interval."""
    rng = np.random.default_rng(3)
    logs = np.repeat(rng.normal(0, 0.05, 10), 4)
    base, variant = list(map(float, np.exp(logs))), [1.0] * 40
    whole = paired_ratio(base, variant, [at // 4 for at in range(40)])
    split = paired_ratio(base, variant, list(range(40)))
    assert whole.hi - whole.lo > 1.5 * (split.hi - split.lo)


@pytest.mark.parametrize(
    ("freedom", "t"),
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (9, 2.2622), (59, 2.001), (10**4, 1.9602)],
)
def test_t_is_that_of_the_tables(freedom: int, t: float) -> None:
    assert statistics.t_quantile(freedom) == pytest.approx(t, abs=6e-5)


def test_tail_is_hesterbergs() -> None:
    assert statistics.tail(10) == pytest.approx(0.0085506, abs=1e-7)
    assert statistics.tail(100_000) == pytest.approx(0.025, abs=1e-4)
    assert statistics.tail(1) == 0.025


@pytest.mark.parametrize("count", [1, 2, 7, 12, 19])
def test_resampled_medians_are_those_of_copied_values(count: int) -> None:
    """Counting what was drawn gives the medians of the drawn values themselves."""
    rng = np.random.default_rng(count)
    logs = rng.normal(0, 0.1, 2 * count - 1)
    blocks = np.arange(2 * count - 1) // 2
    draws = np.random.default_rng(statistics.SEED).integers(0, count, (10_000, count))
    plain = [np.median(np.concatenate([logs[blocks == b] for b in row])) for row in draws[:200]]
    assert statistics._resampled(logs, blocks)[:200] == pytest.approx(plain, rel=1e-12)


times = st.lists(
    st.tuples(st.integers(1000, 10**9), st.integers(1000, 10**9)), min_size=2, max_size=12
)


@settings(max_examples=40, deadline=None)
@given(times)
def test_swapping_gives_the_inverse(pairs: list[tuple[int, int]]) -> None:
    base, variant = [float(time) for time, _ in pairs], [float(time) for _, time in pairs]
    blocks = [at // 2 for at in range(len(pairs))]
    ratio = paired_ratio(base, variant, blocks)
    swapped = paired_ratio(variant, base, blocks)
    assert (swapped.median, swapped.lo, swapped.hi) == pytest.approx(
        (1 / ratio.median, 1 / ratio.hi, 1 / ratio.lo)
    )
    assert ratio.lo <= ratio.hi


def _columns(runs: NDArray[np.float64], *columns: int) -> list[list[float]]:
    return [list(map(float, runs[:, at])) for at in columns]


def _coverage(ratio: float, blocks: int, drift: float = 0.0) -> float:
    rng = np.random.default_rng(17)
    hits = 0
    for _ in range(300):
        runs, labels = _simulate(rng, blocks, ratio=ratio, drift=drift)
        base, variant = _columns(runs, BASE, VARIANT)
        found = paired_ratio(base, variant, labels)
        hits += found.lo <= ratio <= found.hi
    return hits / 300


@pytest.mark.parametrize("ratio", [1.0, 2.5])
def test_interval_covers_the_known_ratio(ratio: float) -> None:
    assert 0.90 <= _coverage(ratio, 10) <= 0.985
    assert 0.92 <= _coverage(ratio, 20) <= 0.985


def test_interval_covers_under_drift() -> None:
    assert _coverage(1.5, 10, drift=0.002) >= 0.88


def test_mirrored_order_cancels_drift_that_a_plain_order_takes_for_a_difference() -> None:
    """Always in the same order, the third run of a half looks slower than the first."""
    rng = np.random.default_rng(8)
    medians = {}
    for mirrored in (True, False):
        runs, labels = _simulate(rng, 10, noise=0.001, drift=0.02, mirrored=mirrored, fixed=True)
        base, variant = _columns(runs, BASE, VARIANT)
        medians[mirrored] = paired_ratio(base, variant, labels).median
    assert medians[False] < 0.985
    assert abs(medians[True] - 1) < 0.003


def test_known_differences_are_found() -> None:
    rng = np.random.default_rng(10)
    for ratio, expected in ((1.15, Verdict.FASTER), (1 / 1.15, Verdict.SLOWER)):
        runs, labels = _simulate(rng, 10, ratio=ratio, drift=0.002)
        columns = _columns(runs, BASE, CONTROL, VARIANT)
        band = control_band(paired_ratio(columns[0], columns[1], labels))
        assert verdict(paired_ratio(columns[0], columns[2], labels), band) is expected


QUIET = Ratio(1.0, 0.995, 1.004, 20)


@pytest.mark.parametrize(
    ("ratio", "control", "expected"),
    [
        (Ratio(2.0, 1.9, 2.1, 20), QUIET, Verdict.FASTER),
        (Ratio(0.9, 0.88, 0.92, 20), QUIET, Verdict.SLOWER),
        (Ratio(2.0, 1.9, 2.1, 5), QUIET, Verdict.TOO_FEW),
        (Ratio(2.0, 1.9, 2.1, 6), QUIET, Verdict.FASTER),
        (None, QUIET, Verdict.TOO_FEW),
        (Ratio(2.0, 1.9, 2.1, 20), None, Verdict.INCONCLUSIVE),
        (Ratio(2.0, 1.9, 2.1, 20), Ratio(1.0, 1.0, 1.0, 5), Verdict.INCONCLUSIVE),
        # A control that is off on one side bars both sides.
        (Ratio(1.07, 1.06, 1.09, 20), Ratio(0.96, 0.92, 0.99, 20), Verdict.INCONCLUSIVE),
        (Ratio(1.05, 1.04, 1.06, 20), Ratio(0.96, 0.92, 0.99, 20), Verdict.NO_DIFFERENCE),
        (Ratio(1.10, 1.09, 1.11, 20), Ratio(0.96, 0.92, 0.99, 20), Verdict.FASTER),
        (Ratio(0.92, 0.90, 0.93, 20), Ratio(1.03, 1.01, 1.08, 20), Verdict.INCONCLUSIVE),
        (Ratio(0.90, 0.89, 0.915, 20), Ratio(1.03, 1.01, 1.08, 20), Verdict.SLOWER),
        # Within 2 % nothing is claimed, however sure.
        (Ratio(1.015, 1.011, 1.019, 20), QUIET, Verdict.NO_DIFFERENCE),
        (Ratio(0.985, 0.981, 0.989, 20), QUIET, Verdict.NO_DIFFERENCE),
        (Ratio(1.02, 1.01, 1.03, 20), QUIET, Verdict.FASTER),
        (Ratio(0.985, 0.975, 0.99, 20), QUIET, Verdict.SLOWER),
        # Wide intervals around 1.
        (Ratio(1.0, 0.92, 1.09, 20), QUIET, Verdict.INCONCLUSIVE),
        (Ratio(1.1, 0.999, 1.2, 20), QUIET, Verdict.INCONCLUSIVE),
        (Ratio(1.0, 0.8, 1.1, 20), QUIET, Verdict.TOO_NOISY),
        (Ratio(1.2, 0.999, 1.5, 20), QUIET, Verdict.TOO_NOISY),
        # A wide band bars what it could explain, and not more.
        (Ratio(2.0, 1.9, 2.1, 20), Ratio(1.0, 0.99, 1.15, 20), Verdict.FASTER),
        (Ratio(2.0, 1.9, 2.1, 20), Ratio(1.0, 0.87, 1.01, 20), Verdict.FASTER),
        (Ratio(0.5, 0.48, 0.53, 20), Ratio(1.0, 0.99, 1.15, 20), Verdict.SLOWER),
        (Ratio(1.2, 1.19, 1.22, 20), Ratio(1.0, 0.99, 1.15, 20), Verdict.TOO_NOISY),
        (Ratio(1.25, 1.21, 1.3, 20), Ratio(1.0, 0.99, 1.15, 20), Verdict.FASTER),
        (Ratio(1.12, 1.11, 1.13, 20), Ratio(1.0, 0.99, 1.15, 20), Verdict.TOO_NOISY),
        (Ratio(1.05, 1.02, 1.08, 20), Ratio(1.0, 0.99, 1.15, 20), Verdict.NO_DIFFERENCE),
        (Ratio(0.1, 0.09, 0.11, 20), Ratio(1.0, 0.5, 2.5, 20), Verdict.SLOWER),
    ],
)
def test_verdicts(ratio: Ratio | None, control: Ratio | None, expected: Verdict) -> None:
    assert verdict(ratio, control_band(control)) is expected


def test_control_band_is_the_farther_end() -> None:
    assert control_band(Ratio(1.0, 0.97, 1.01, 20)) == pytest.approx(1 / 0.97 - 1)
    assert control_band(Ratio(1.0, 0.99, 1.05, 20)) == pytest.approx(0.05)


def test_what_a_wide_band_has_above_10_percent_counts_twice() -> None:
    found = [statistics.claimed_from(band) for band in (0.0, 0.05, 0.10, 0.15, 1.0)]
    assert found == pytest.approx([0.0, 0.05, 0.10, 0.20, 1.9])


def _swapped(ratio: Ratio) -> Ratio:
    return Ratio(1 / ratio.median, 1 / ratio.hi, 1 / ratio.lo, ratio.pairs)


@pytest.mark.parametrize("band", [0.01, 0.08, 0.15, 0.6, 3.0])
@pytest.mark.parametrize("factor", [1.03, 1.12, 1.5, 2.0, 9.0])
def test_faster_and_slower_are_alike(factor: float, band: float) -> None:
    ratio = Ratio(factor, factor / 1.02, factor * 1.02, 20)
    control = Ratio(1.0, 1 / (1 + band), 1.01, 20)
    found = verdict(ratio, control_band(control))
    opposite = {Verdict.FASTER: Verdict.SLOWER}.get(found, found)
    assert verdict(_swapped(ratio), control_band(_swapped(control))) is opposite
    assert (found is Verdict.FASTER) == (ratio.lo > 1 + statistics.claimed_from(band))
