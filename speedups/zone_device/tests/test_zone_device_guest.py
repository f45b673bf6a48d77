# SPDX-License-Identifier: GPL-2.0-only
"""What the scripts of zone_device's guests make of what they see."""

from __future__ import annotations

import subprocess
from pathlib import Path

from mmbatch.core.paths import ROOT, SPEEDUPS
from mmbatch.guest import console

DIRECTORY = SPEEDUPS / "zone_device"


def test_a_method_that_is_refused_fails(tmp_path: Path) -> None:
    driver = tmp_path / "nd_pmem"
    driver.mkdir()
    script = f"""
    set -u
    . '{ROOT}/guest/lib.sh'
    . '{DIRECTORY}/guest/lib.sh'
    DRIVERS={tmp_path} METHOD={tmp_path}/absent/method
    check good true
    check bad sh -c 'echo why; false'
    rebind nd_pmem pfn0.0 1 || fail "rebind: no device"
    choose wide
    end
    """
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    found = console.read(done.stdout.splitlines())

    assert found.finished
    assert found.passed == ["good"]
    assert found.failed == [
        "bad: sh -c echo why; false (why)",
        "rebind: no device",
        "wide: refused as zone_device's method",
    ]
