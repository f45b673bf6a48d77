# SPDX-License-Identifier: GPL-2.0-only
"""The livepatch of vmap: its options, and a module for each of Debian's kernels."""

from __future__ import annotations

import re

import pytest

from expect import printed
from mmbatch.core.load import SERIES
from mmbatch.live import build, kernel, manifest

LIVE = manifest.load("vmap")


@pytest.mark.kernel
@pytest.mark.parametrize("series", SERIES)
def test_the_kernels_own_vmap_sees_its_caller(series: str) -> None:
    (module,) = build.build_all([LIVE], kernel.choose(series))
    shown = printed("objdump", "-d", "--no-show-raw-insn", "--disassemble=live_vmap", module)

    assert re.search(r"\tj\w+ +\w+ <live_original_vmap>", shown)
    assert not re.search(r"\tcall +\w+ <live_original_vmap>", shown)
