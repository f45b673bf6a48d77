# SPDX-License-Identifier: GPL-2.0-only
"""What vmap() costs by the length of the array, in the hosted program."""

from pathlib import Path

import pytest

import real_kernel
from mmbatch.hosted.events import Equal, Sample

SHORT, LONG = 25_600, 4_194_304
MOST = 8  # a quadratic search would cost 164 times as much

pytestmark = real_kernel.MARKS


@pytest.fixture(scope="module")
def program() -> Path:
    return real_kernel.hosted_program("vmap")


def share_of_base(program: Path, case: str, items: int) -> float:
    """Return the best time of `auto` divided by that of base.

    Base is linear. Both read the same array in turns, so its share of the caches and what else
    the machine does are in both.
    """
    words = ["--case", f"vmap-@-{case}", "--items", str(items), "--pairs", "2"]
    events = real_kernel.hosted_events(program, *words)
    assert all(event.equal for event in events if isinstance(event, Equal))
    samples = [event for event in events if isinstance(event, Sample)]
    best = {name: min(e.ns for e in samples if e.variant == name) for name in ("base", "auto")}
    return best["auto"] / best["base"]


@pytest.mark.parametrize("case", ["scattered", "lowalign", "swapped"])
def test_time_is_linear_in_the_length_of_the_array(program: Path, case: str) -> None:
    assert share_of_base(program, case, LONG) < MOST * share_of_base(program, case, SHORT)
