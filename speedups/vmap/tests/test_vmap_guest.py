# SPDX-License-Identifier: GPL-2.0-only
"""What guests run and count of vmap: the script of test_vmalloc, and the least gains."""

from __future__ import annotations

import subprocess
from pathlib import Path

from mmbatch.core.paths import ROOT
from mmbatch.guest import boots, console, plan

PLAN = plan.plans()["vmap"]
BOOTS = {boot.title: boot for boot in plan.boots()}


def test_small_areas_must_be_counted_and_not_take_more() -> None:
    each = BOOTS["arm64-each"]
    lines = [
        f"[    1.0] vmap_bench: case={case} method={method} ns={number} items=2048"
        for method, number in (("base", 4000), ("control", 4000), ("auto", 4000))
        for row in ("vmap-64K-each", "vmap-16M-alternate-each")
        for case in (row, f"{row}-waits" if "64K" in row else f"{row}-calls")
    ]
    good = console.read(lines)
    assert list(boots.absent(good, each)) == []
    assert list(boots.too_many(good, each)) == []

    more = console.read([line.replace("auto ns=4000", "auto ns=4100") for line in lines])
    assert len(list(boots.too_many(more, each))) == 2
    assert len(list(boots.too_many(console.read([]), each))) == 2
    fewer = console.read([line for line in lines if "-waits" not in line])
    assert len(list(boots.absent(fewer, each))) == 3


def test_every_case_has_a_least_gain_on_arm64() -> None:
    assert PLAN.count is not None
    assert set(BOOTS["arm64-count-vmap"].least) == set(PLAN.count.cases)
    assert not BOOTS["x86_64-count-vmap"].least


def script(folder: Path, summaries: int, kind: str = "plain") -> list[str]:
    """Run vmalloc.sh with a module that prints so many summaries; return what failed."""
    text = PLAN.find("vmalloc.sh").read_text().replace("/sys/module", f"{folder}")
    line = "[ 1.0] Summary: toy passed: 1 failed: 0 "
    prints = f"for i in $(seq {summaries}); do echo '{line}' >>{folder}/log; done"
    (folder / "log").touch()
    shell = f"""
    KIND={kind} TEST_PARAMETERS=
    . '{ROOT}/guest/lib.sh'
    dmesg() {{ cat {folder}/log; }}
    insmod() {{ {prints}; }}
    {text}
    end
    """
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False)
    outcome = console.read(done.stdout.splitlines())
    assert outcome.finished
    return outcome.failed


def test_the_script_needs_the_method_and_results(tmp_path: Path) -> None:
    (tmp_path / "vmap/parameters").mkdir(parents=True)
    assert script(tmp_path, 3) == []
    assert len(script(tmp_path, 0)) == 2
    assert script(tmp_path, 3, "debug") == []
    assert (tmp_path / "vmap/parameters/method").read_text() == "auto\n"


def test_the_script_needs_a_kernel_that_accepts_the_method(tmp_path: Path) -> None:
    base, auto = script(tmp_path, 3)
    assert base.startswith("vmap takes the method base: ")
    assert auto.startswith("vmap takes the method auto: ")
    (tmp_path / "vmap/parameters").mkdir(parents=True)
    (tmp_path / "vmap/parameters/method").symlink_to("/dev/null")  # it is not kept
    assert len(script(tmp_path, 3)) == 2
