# SPDX-License-Identifier: GPL-2.0-only
"""How often a verdict is wrong, and how often it is missing, over many simulated runs.

A run is a table: base, its control and four variants, in blocks of mirrored order, with noise,
drift, and code placement that makes each variant a little faster or slower in each of the four
layouts, as the engine has them. The program is started four times, and may be faster or slower in
each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from fake_run import case_events, record_of, run_events
from mmbatch.bench.session import STARTS, share
from mmbatch.bench.statistics import Ratio, Verdict, control_band, paired_ratio, verdict
from mmbatch.bench.table import tables
from mmbatch.core import paths as checkout
from mmbatch.hosted.events import Sample

Array = NDArray[np.float64]
Noise = Callable[[np.random.Generator, float, int], Array]
pytestmark = pytest.mark.slow

RUNS = 500
CLAIMS = (Verdict.FASTER, Verdict.SLOWER)


def even(rng: np.random.Generator, size: float, count: int) -> Array:
    return rng.normal(0, size, count)


def skewed(rng: np.random.Generator, size: float, count: int) -> Array:
    """Most runs near the fastest, a long tail, and one in fifty far off."""
    return rng.exponential(size, count) + 0.3 * (rng.random(count) < 0.02)


def rising(rng: np.random.Generator, size: float, count: int) -> Array:
    """Quiet at most times, and far off at others, as beside a neighbour that comes and goes."""
    return rng.normal(0, size if rng.random() < 0.5 else 0.02, count)


def table(
    rng: np.random.Generator,
    pairs: int,
    ratios: list[float],
    size: float,
    noise: Noise = even,
    layout: float = 0.003,
    start: float = 0.0,
) -> tuple[Array, list[int], list[int]]:
    """Times of base, control and variants, shape (pairs, 2 + variants), their blocks and starts."""
    count = 2 + len(ratios)
    true = np.concatenate([[0.0, 0.0], -np.log(ratios)])
    placed = rng.normal(0, layout, (4, count))
    rows, starts, clock = [], [], 0
    for number in range(STARTS):
        drawn = rng.normal(0, start, count)
        for block in range(share(pairs, number) // 2):
            order = rng.permutation(count)
            for turn in (order, order[::-1]):
                row = true + drawn + placed[(number + block) % 4] + noise(rng, size, count)
                row[turn] += 0.0005 * (clock + np.arange(count))
                clock += count
                rows.append(np.exp(row))
                starts.append(number)
    return np.array(rows), [at // 2 for at in range(len(rows))], starts


def judged(times: Array, blocks: list[int], starts: list[int]) -> Iterator[tuple[Verdict, Ratio]]:
    """Verdict and ratio of each variant of a table."""
    columns = [list(map(float, column)) for column in times.T]
    band = control_band(paired_ratio(columns[0], columns[1], blocks, starts))
    for variant in columns[2:]:
        ratio = paired_ratio(columns[0], variant, blocks, starts)
        yield verdict(ratio, band), ratio


@pytest.mark.parametrize(
    ("pairs", "size", "noise", "start"),
    [
        (24, 0.02, even, 0.0),
        (24, 0.02, skewed, 0.0),
        (16, 0.04, skewed, 0.0),
        (6, 0.02, even, 0.0),
        (24, 0.3, skewed, 0.0),
        (24, 0.3, rising, 0.0),
        (24, 0.02, even, 0.05),
        (120, 0.01, skewed, 0.03),
    ],
)
def test_same_code_is_claimed_to_differ_in_few_tables(
    pairs: int, size: float, noise: Noise, start: float
) -> None:
    """At most 5 % of the verdicts, and of the tables, where any of four rows may be wrong."""
    rng = np.random.default_rng(41)
    rows = tables = naive = 0
    for _ in range(RUNS):
        found = list(judged(*table(rng, pairs, [1.0] * 4, size, noise, start=start)))
        wrong = [verdict in CLAIMS for verdict, _ in found]
        rows += sum(wrong)
        tables += any(wrong)
        naive += any(ratio.lo > 1 or ratio.hi < 1 for _, ratio in found)
    assert rows / (4 * RUNS) <= 0.05
    assert tables / RUNS <= 0.05
    # What the control and the floor are for: by the interval alone it would be several times more.
    assert naive / RUNS > 0.08


def test_measuring_again_adds_few_false_claims() -> None:
    """A table in which noise hides a row is measured once more, and judged by all samples."""
    rng = np.random.default_rng(42)
    claims = again = 0
    for _ in range(RUNS):
        times, blocks, starts = table(rng, 24, [1.0], 0.3, rising, start=0.03)
        ((found, _),) = judged(times, blocks, starts)
        if found is Verdict.TOO_NOISY:
            again += 1
            more, _, _ = table(rng, 24, [1.0], 0.3, rising, start=0.03)
            blocks += [block + 12 for block in blocks]
            starts += [start + STARTS for start in starts]
            ((found, _),) = judged(np.vstack([times, more]), blocks, starts)
        claims += found in CLAIMS
    assert again > 0.3 * RUNS
    assert claims / RUNS <= 0.02


@pytest.mark.parametrize(("pairs", "size"), [(24, 0.02), (120, 0.02), (120, 0.005)])
def test_what_a_start_decides_is_inside_the_interval(pairs: int, size: float) -> None:
    """A ratio that is 5 % off in each start, by chance: without the starts, half would miss it."""
    rng = np.random.default_rng(44)
    covered = naive = 0
    for _ in range(300):
        times, blocks, starts = table(rng, pairs, [1.3], size, start=0.05)
        base, _, variant = (list(map(float, column)) for column in times.T)
        wide = paired_ratio(base, variant, blocks, starts)
        narrow = paired_ratio(base, variant, blocks)
        covered += wide.lo <= 1.3 <= wide.hi
        naive += narrow.lo <= 1.3 <= narrow.hi
    assert 0.90 <= covered / 300 <= 0.99
    assert naive < 0.9 * covered


def _power(effect: float, size: float, pairs: int, runs: int) -> float:
    rng = np.random.default_rng(43)
    expected = Verdict.FASTER if effect > 1 else Verdict.SLOWER
    found = [next(judged(*table(rng, pairs, [effect], size)))[0] for _ in range(runs)]
    opposite = Verdict.SLOWER if effect > 1 else Verdict.FASTER
    assert found.count(opposite) <= 0.005 * runs
    return found.count(expected) / runs


def _documented() -> list[tuple[float, int, float, float]]:
    """(noise, pairs, power at 5 %, power at 10 %) in docs/bench-internals.md."""
    text = (checkout.ROOT / "docs/bench-internals.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| (\d) % \| (\d+) \| (\d+) % \| (\d+) % \|$", text, re.M)
    return [(int(a) / 100, int(b), int(c) / 100, int(d) / 100) for a, b, c, d in found]


@pytest.mark.parametrize(("size", "pairs", "five", "ten"), _documented())
def test_power_is_what_the_docs_say(size: float, pairs: int, five: float, ten: float) -> None:
    for effect, power in ((1.05, five), (1.10, ten)):
        assert _power(effect, size, pairs, 300) == pytest.approx(power, abs=0.08)


@pytest.mark.parametrize(("ms", "noisy"), [(2, 0.0), (10, 0.5), (20, 0.8), (90, 0.0)])
def test_half_a_cpu_by_quota_claims_nothing(ms: float, noisy: float) -> None:
    """Of each 100 ms the same code runs 50 ms, then waits; a sample has the waits that it meets."""
    rng, found = np.random.default_rng(68), []
    same = dict.fromkeys(("base", "control", "auto"), 1.0)
    for _ in range(100):
        used, events = 50e6 * rng.random(), []
        for each in run_events(case_events(times=same)):
            event = each
            if isinstance(event, Sample):
                ns = 1e6 * ms * float(np.exp(rng.normal(0, 0.005)))
                waits = (used % 50e6 + ns) // 50e6
                used += 1.1 * ns  # something else of the group runs as well
                event = replace(event, ns=round(ns + 50e6 * waits))
            events.append(event)
        found += [table.chosen.verdict for table in tables(record_of(events)).values()]
    assert sum(verdict in CLAIMS for verdict in found) <= 4
    assert found.count(Verdict.TOO_NOISY) >= noisy * len(found)
