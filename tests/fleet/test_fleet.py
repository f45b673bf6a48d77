# SPDX-License-Identifier: GPL-2.0-only
"""The playbook and the LAVA job of fleet/. tests/fresh/fleet.sh installs on a chroot."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from expect import printed
from mmbatch.core import paths

FLEET = paths.ROOT / "fleet"
KTAP = """\
KTAP version 1
1..1
    KTAP version 1
    1..3
    ok 1 row-100G auto
    not ok 2 small-hot auto # slower
    ok 3 small-cold auto # SKIP noise hides it
not ok 1 toys on Linux 7.3.4
"""


@pytest.mark.kernel
def test_it_installs_on_a_chroot(tmp_path: Path) -> None:
    lacks = [name for name in ("ansible-playbook", "debootstrap") if shutil.which(name) is None]
    if lacks or os.geteuid() != 0:
        pytest.skip(f"needs root, and to install: {' '.join(lacks) or 'nothing more'}")
    argv = [paths.ROOT / "tests/fresh/fleet.sh", tmp_path / "base", tmp_path / "host"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("ktap", "told"),
    [
        (
            KTAP,
            [
                "toys-on-Linux-7.3.4.row-100G-auto --result pass",
                "toys-on-Linux-7.3.4.small-hot-auto --result fail",
                "toys-on-Linux-7.3.4.small-cold-auto --result skip",
            ],
        ),
        ("", ["bench --result fail"]),
    ],
)
def test_what_lava_is_told(ktap: str, told: list[str], tmp_path: Path) -> None:
    file = tmp_path / "bench.ktap"
    file.write_text(ktap)
    environment = {**os.environ, "LAVA_TEST_CASE": "echo"}
    assert printed(FLEET / "lava.sh", file, env=environment).splitlines() == told
