# SPDX-License-Identifier: GPL-2.0-only
"""The livepatch of folio_copy: its files, and options that it needs or refuses."""

from __future__ import annotations

from mmbatch.core.paths import SPEEDUPS
from mmbatch.live import manifest

LIVE = manifest.load(SPEEDUPS, "folio_copy")


def test_assembly_is_part_of_the_module() -> None:
    contents = manifest.contents(LIVE, "6.12")

    assert "arch/x86/lib/copy_pages_streaming_64.S" in contents
    own = SPEEDUPS / "folio_copy/live/internal.h"
    assert contents["mm/internal.h"] == own.read_bytes()


def test_later_steps_edit_the_files_of_earlier_ones() -> None:
    contents = manifest.contents(LIVE, "7.3")

    assert b"folio_copy_range(folio_copy_chosen(nr, true)" in contents["mm/folio_copy.c"]
    assert b"&& folio_copy_by_range();" in contents["mm/folio_copy.h"]
    for method in (b"auto", b"bulk", b"stream", b"memcpy", b"base"):
        assert b'{ "' + method + b'"' in contents["mm/folio_copy_method.c"]


def test_options() -> None:
    assert {"CONFIG_KALLSYMS_ALL", "CONFIG_ARCH_HAS_COPY_MC"} <= set(LIVE.needs)
    assert "CONFIG_KMSAN" in LIVE.refuses
