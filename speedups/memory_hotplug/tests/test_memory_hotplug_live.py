# SPDX-License-Identifier: GPL-2.0-only
"""The livepatch of memory_hotplug: its files, and the functions that it replaces."""

from __future__ import annotations

import pytest

from mmbatch.core.paths import SPEEDUPS
from mmbatch.live import manifest

LIVE = manifest.load(SPEEDUPS, "memory_hotplug")


@pytest.mark.parametrize(("series", "compat"), [("6.12", "6.12"), ("7.2", "7.x"), ("7.3", "7.x")])
def test_the_files_of_each_series(series: str, compat: str) -> None:
    contents = manifest.contents(LIVE, series)
    here = SPEEDUPS / "memory_hotplug"

    name = "hotplug_live_compat.h"
    assert contents[f"live/{name}"] == (here / "compat" / compat / "live" / name).read_bytes()


@pytest.mark.parametrize("series", ["6.12", "7.2", "7.3"])
def test_every_caller_of_a_replaced_function_is_replaced(series: str) -> None:
    assert {replaced.name for replaced in LIVE.replaced(series)} == {
        "memmap_init_range",
        "move_pfn_range_to_zone",
        "remove_pfn_range_from_zone",
        "set_zone_contiguous",
    }
