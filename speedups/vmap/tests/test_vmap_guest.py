# SPDX-License-Identifier: GPL-2.0-only
"""What guests run and count of vmap: the script of test_vmalloc, and the least gains."""

from __future__ import annotations

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
