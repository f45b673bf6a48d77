# SPDX-License-Identifier: GPL-2.0-only
"""What vmap() costs by the length of the array, in the hosted program."""

import os
import shutil
from pathlib import Path

import pytest

from mmbatch.core import paths as checkout
from mmbatch.core import process
from mmbatch.core.cache import Cache, default_root
from mmbatch.hosted import build as hostedbuild
from mmbatch.hosted.events import Equal, Sample, parse
from mmbatch.kernel.sources import SERIES, find_cached
from mmbatch.splice import trees as splice
from mmbatch.splice.manifest import load_with_needs

SHORT, LONG = 25_600, 4_194_304
MOST = 8  # a long array leaves the caches, which costs 2 to 3 times as much

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module")
def program() -> Path:
    """The hosted program on the newest kernel of the user's cache."""
    root = default_root(os.environ)
    cache = Cache(root) if root.is_dir() else None
    sources = [find_cached(cache, series) for series in SERIES] if cache else []
    source = next((one for one in sources if one is not None), None)
    if cache is None or source is None or shutil.which("spatch") is None:
        pytest.skip("lacks spatch, or a kernel in the cache")
    manifests = load_with_needs(checkout.SPEEDUPS, "vmap")
    spliced = splice.splice(cache, source, manifests, checkout.MACROS, print)
    jobs = os.cpu_count() or 1
    return hostedbuild.build(
        cache, source, spliced, manifests[-1], checkout.HOSTED, (), jobs, print
    ).path


def per_page(program: Path, case: str, items: int) -> float:
    """Return the best time of `auto` for a page, in nanoseconds."""
    words = ["--case", f"vmap-@-{case}", "--items", str(items), "--pairs", "1"]
    done = process.run([program, *words], action="time arrays", timeout_s=300)
    events = [parse(line, i) for i, line in enumerate(done.stdout.splitlines(), 1)]
    assert all(event.equal for event in events if isinstance(event, Equal))
    return min(e.ns for e in events if isinstance(e, Sample) and e.variant == "auto") / items


@pytest.mark.parametrize("case", ["scattered", "lowalign", "swapped"])
def test_time_is_linear_in_the_length_of_the_array(program: Path, case: str) -> None:
    assert per_page(program, case, LONG) < MOST * per_page(program, case, SHORT)
