# SPDX-License-Identifier: GPL-2.0-only
"""The livepatch of zone_device: its files, and options that it needs or refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmbatch.core.paths import SPEEDUPS
from mmbatch.live import manifest, payload, refused

CORE = "mm/zone_device.c"
LIVE = manifest.load(SPEEDUPS, "zone_device")


@pytest.mark.parametrize(("series", "compat"), [("6.12", "6.12"), ("7.2", "7.x"), ("7.3", "7.x")])
def test_the_files_of_each_series(series: str, compat: str) -> None:
    staged = manifest.staged(LIVE, series)

    assert staged[CORE] == SPEEDUPS / "zone_device/tree/mm/zone_device.c"
    assert staged["mm/internal.h"] == SPEEDUPS / "zone_device/live/internal.h"
    assert staged["mm/zone_device_live_compat.h"].parts[-3] == compat
    assert "mm/zone_device_kunit.c" not in staged
    assert all(isinstance(path, Path) and path.is_file() for path in staged.values())
    assert {name.removesuffix(".o") + ".c" for name in LIVE.objects} <= set(staged)


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
    misfits = refused.load_misfits(SPEEDUPS, "zone_device")

    assert {misfit.kind for misfit in misfits} == set(refused.KINDS)
    assert len(misfits) >= 8


def test_least_gains_that_a_guest_must_count() -> None:
    assert payload.load(SPEEDUPS, "zone_device").least == {
        "fsdax": 1.75,
        "fsdax-ram": 1.75,
        "devdax-2m": 2.2,
        "devdax-2m-ram": 1.75,
    }
