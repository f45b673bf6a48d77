# SPDX-License-Identifier: GPL-2.0-only
"""The livepatch of zone_device: its files, and options that it needs or refuses."""

from __future__ import annotations

from typing import get_args, get_type_hints

import pytest

from mmbatch.core.paths import SPEEDUPS
from mmbatch.live import manifest
from mmbatch.live.manifest import Misfit

CORE = "mm/zone_device.c"
LIVE = manifest.load(SPEEDUPS, "zone_device")


@pytest.mark.parametrize(("series", "compat"), [("6.12", "6.12"), ("7.2", "7.x"), ("7.3", "7.x")])
def test_the_files_of_each_series(series: str, compat: str) -> None:
    contents = manifest.contents(LIVE, series)
    here = SPEEDUPS / "zone_device"

    assert contents["mm/internal.h"] == (here / "live/internal.h").read_bytes()
    name = "zone_device_live_compat.h"
    assert contents[f"mm/{name}"] == (here / "compat" / compat / "live" / name).read_bytes()
    assert "mm/zone_device_kunit.c" not in contents


def test_later_steps_edit_the_files_of_earlier_ones() -> None:
    contents = manifest.contents(LIVE, "7.3")

    assert b"run.write = zone_device_chosen(pgmap, start_pfn, end_pfn);" in contents[CORE]
    assert b"return zone_device_wide;" in contents[CORE]
    assert b"zone_device_fn zone_device_wide;" in contents["mm/zone_device_method.h"]
    for method in (b"auto", b"copy", b"movnti", b"wide", b"base"):
        assert b'{ "' + method + b'"' in contents["mm/zone_device_method.c"]


def test_options() -> None:
    assert "CONFIG_ZONE_DEVICE" in LIVE.needs
    assert {"CONFIG_KASAN", "CONFIG_KMSAN"} <= set(LIVE.refuses)


def test_every_kind_of_misfit_must_be_refused() -> None:
    assert {misfit.kind for misfit in LIVE.misfits} == set(get_args(get_type_hints(Misfit)["kind"]))
