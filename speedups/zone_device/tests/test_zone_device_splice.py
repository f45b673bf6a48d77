# SPDX-License-Identifier: GPL-2.0-only
"""zone_device spliced into made-up trees."""

import re
import shutil
from pathlib import Path

import pytest

from fake_tree import make_tree
from mmbatch.core import paths
from mmbatch.splice.apply import apply_steps, is_applied
from mmbatch.splice.manifest import load_with_needs

pytestmark = pytest.mark.skipif(shutil.which("spatch") is None, reason="lacks spatch")


def test_releases_of_one_series_get_the_code_that_suits(tmp_path: Path) -> None:
    manifests = load_with_needs(paths.SPEEDUPS, "zone_device")
    for by_page in (True, False):
        work = make_tree(tmp_path / f"{by_page}", by_page=by_page)
        list(apply_steps(work, "7.3", manifests))
        code = (work / "mm/mm_init.c").read_text()
        assert code.count("zone_device_mark_pageblocks(") == (2 if by_page else 0)
        assert code.count("set_pageblock_migratetype(pfn_to_page(at)") == by_page
        assert all(is_applied(work, "7.3", manifest) for manifest in manifests)


def test_a_release_whose_compounds_do_not_depend_on_the_pfn(tmp_path: Path) -> None:
    manifests = load_with_needs(paths.SPEEDUPS, "zone_device")
    work = make_tree(tmp_path / "old")
    path = work / "mm/mm_init.c"
    text = re.sub(r"(compound_nr_pages\()unsigned long pfn,\s+", r"\1", path.read_text())
    path.write_text(text.replace("compound_nr_pages(pfn, ", "compound_nr_pages("))
    list(apply_steps(work, "7.3", manifests))
    code = path.read_text()
    assert code.count("#define compound_nr_pages(pfn, ") == 1
    assert "#undef compound_nr_pages\n\nvoid __ref memmap_init_zone_device(" in code
    assert all(is_applied(work, "7.3", manifest) for manifest in manifests)
