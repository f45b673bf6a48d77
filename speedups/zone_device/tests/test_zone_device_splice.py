# SPDX-License-Identifier: GPL-2.0-only
"""zone_device spliced into made-up trees."""

import shutil
from pathlib import Path

import pytest

from fake_tree import make_tree
from mmbatch.core import paths
from mmbatch.splice.manifest import load_with_needs
from mmbatch.splice.presence import is_applied
from mmbatch.splice.steps import apply_steps

pytestmark = pytest.mark.skipif(shutil.which("spatch") is None, reason="lacks spatch")


def test_releases_of_one_series_get_the_code_that_suits(tmp_path: Path) -> None:
    manifests = load_with_needs(paths.SPEEDUPS, "zone_device")
    for by_page in (True, False):
        work = make_tree(tmp_path / f"{by_page}", by_page=by_page)
        list(apply_steps(work, "7.3", manifests, paths.MACROS))
        code = (work / "mm/zone_device.c").read_text()
        assert code.count("zone_device_mark_pageblocks(") == (2 if by_page else 0)
        assert code.count("set_pageblock_migratetype(pfn_to_page(at)") == by_page
        assert all(is_applied(work, "7.3", manifest) for manifest in manifests)
