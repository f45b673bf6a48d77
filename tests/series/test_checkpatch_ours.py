# SPDX-License-Identifier: GPL-2.0-only
"""What checkpatch.pl says about our own series, as `export` writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

import real_kernel
from mmbatch.cli import main as cli
from mmbatch.core.paths import SPEEDUPS
from mmbatch.series import verify
from mmbatch.splice import manifest


@pytest.mark.kernel
@pytest.mark.parametrize("name", manifest.known(SPEEDUPS))
def test_every_report_is_explained(name: str, tmp_path: Path, git_name: None) -> None:
    source = real_kernel.newest()
    out = tmp_path / "out"
    words = ["export", name, "--kernel", source.series, "--until", "all", "-o", str(out)]
    assert cli.main(words) == 0

    patches = sorted((out / name).glob("0*.patch"))[1:]
    found = verify.checkpatch(source.path, patches, signed_off=False)

    why = verify.explanations(manifest.load_with_needs(SPEEDUPS, name))
    assert len(patches) > 1
    assert [left for objections in found for left in verify.unexplained(objections, why)] == []
