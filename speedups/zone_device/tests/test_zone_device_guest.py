# SPDX-License-Identifier: GPL-2.0-only
"""What the scripts of zone_device's guests make of what they see."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

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


TRACE = """\
     kworker/u33:2-145     [003] d....    12.5: mw: (zone_device_wide+0x0/0x90) nr=32768
     kworker/u33:2-145     [001] d....    12.6: mw: (zone_device_wide+0x0/0x90) nr=32768
                sh-81      [002] d....    12.6: mw: (zone_device_wide+0x0/0x90) nr=1000
           sh-81 [002] d.... 12.4: mq: (queue_work_on) cpu=3 func=zone_device_help+0x0/0x40
           sh-81 [002] d.... 12.4: mq: (queue_work_on) cpu=5 func=vmstat_update+0x0/0x40
"""


def shell(tmp_path: Path, commands: str) -> str:
    """Run commands with the functions of lib.sh and a recorded trace."""
    (tmp_path / "trace").write_text(TRACE)
    script = f"TRACING={tmp_path}; . '{DIRECTORY}/guest/lib.sh'; {commands}"
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout


def test_a_trace_says_who_wrote_where_and_who_was_asked(tmp_path: Path) -> None:
    assert shell(tmp_path, "by_thread | sort").splitlines() == [
        "kworker/u33:2-145 65536",
        "sh-81 1000",
    ]
    assert shell(tmp_path, "worked") == "1 3 "
    assert shell(tmp_path, "asked") == "3 "


@pytest.mark.parametrize(("allowed", "good"), [("1 3", True), ("0 3", False), ("1", False)])
def test_work_elsewhere_is_noticed(tmp_path: Path, allowed: str, good: bool) -> None:
    text = (DIRECTORY / "live/limits.sh").read_text(encoding="utf-8")
    start = text.index("within() {")
    function = text[start : text.index("\n}\n", start) + 3]
    assert shell(tmp_path, f'{function}\nwithin "{allowed}" && echo yes || true') == (
        "yes\n" if good else ""
    )
