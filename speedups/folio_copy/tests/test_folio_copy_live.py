# SPDX-License-Identifier: GPL-2.0-only
"""The livepatch of folio_copy: its files, and options that it needs or refuses."""

from __future__ import annotations

from mmbatch.core.paths import SPEEDUPS
from mmbatch.live import manifest, refused

LIVE = manifest.load(SPEEDUPS, "folio_copy")


def test_assembly_is_part_of_the_module() -> None:
    staged = manifest.staged(LIVE, "6.12")

    assert staged["arch/x86/lib/copy_pages_streaming_64.S"].is_file()
    assert staged["mm/internal.h"].parts[-2] == "live"


def test_later_steps_edit_the_files_of_earlier_ones() -> None:
    contents = manifest.contents(LIVE, "7.3")

    assert b"folio_copy_range(folio_copy_chosen(nr, true)" in contents["mm/folio_copy.c"]
    assert b"&& folio_copy_by_range();" in contents["mm/folio_copy.h"]
    for method in (b"auto", b"bulk", b"stream", b"memcpy", b"base"):
        assert b'{ "' + method + b'"' in contents["mm/folio_copy_method.c"]


def test_options() -> None:
    assert {"CONFIG_KALLSYMS_ALL", "CONFIG_ARCH_HAS_COPY_MC"} <= set(LIVE.needs)
    assert "CONFIG_KMSAN" in LIVE.refuses


def test_what_must_be_refused() -> None:
    misfits = refused.load_misfits(SPEEDUPS, "folio_copy")

    assert {misfit.name for misfit in misfits} >= {"variable", "member", "signature"}
