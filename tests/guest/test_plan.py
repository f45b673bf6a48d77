# SPDX-License-Identifier: GPL-2.0-only
"""The table of boots: rows of one name add up, and a wrong row is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from expect import fails
from mmbatch.core.errors import MmbatchError
from mmbatch.guest import plan

GOOD = """
programs = ["spin"]

[[boot]]
kernels = ["plain", "kasan"]
scripts = ["play"]
settings = { MIB = "3", SIZE = "1" }

[[boot]]
name = "far"
kernels = ["plain", "debug"]
arch = "arm64"
suites = ["toy"]
cmdline = ["quiet"]
memory_gib = 4

[[boot]]
name = "far"
kernels = ["debug"]
arch = "arm64"
cmdline = ["slow"]
without = ["erms"]
settings = { SIZE = "2" }
by_name = true

[count]
boot = "far"
item_bytes = 64
proof = "toy.toy_same."
cases = { row = "a row of toys" }
"""


def make(directory: Path, text: str = GOOD, name: str = "toy") -> Path:
    guest = directory / name / "guest"
    guest.mkdir(parents=True)
    (guest / "guest.toml").write_text(text)
    for file in ("play.sh", "spin.c"):
        (guest / file).touch()
    return directory


def test_rows_of_one_name_add_up(tmp_path: Path) -> None:
    make(tmp_path)
    make(tmp_path, "[[boot]]\nkernels = ['odd']", "_template")  # is not read
    boots = {boot.title: boot for boot in plan.boots(tmp_path)}

    far, debug = boots["arm64-far"], boots["arm64-debug-far"]
    assert (far.cmdline, far.without, far.memory_gib, far.by_name) == (("quiet",), (), 4, False)
    assert (debug.cmdline, debug.without) == (("quiet", "slow"), ("erms",))
    assert (debug.memory_gib, debug.settings, debug.by_name) == (4, {"SIZE": "2"}, True)
    plain = boots["x86_64"]  # what all speed-ups share, and what this one adds
    assert plain.scripts == ("toy/play",)
    assert plain.suites == ("*",)
    assert plain.settings["MIB"] == "3"
    assert plain.pmem_gib > 0


def test_some_boots_must_be_named(tmp_path: Path) -> None:
    every = plan.boots(make(tmp_path))

    assert "arm64-debug-far" not in [boot.title for boot in plan.choose(every, ())]
    assert [boot.title for boot in plan.choose(every, ("arm64-debug-far",))] == ["arm64-debug-far"]
    titles = [boot.title for boot in plan.choose(every, ("arm64*far",))]
    assert titles == ["arm64-far", "arm64-debug-far"]
    with fails("no boot of this name", "arm64-far"):
        plan.choose(every, ("arm64", "arm64-fer"))


def test_a_size_is_for_what_has_one(tmp_path: Path) -> None:
    sizes = [
        (boot.pmem_gib, boot.dimm_gib, boot.virtio_mem_gib, boot.added_gib)
        for boot in (boot.with_size(100) for boot in plan.boots(make(tmp_path)))
        if boot.title in ("x86_64", "arm64", "live-plug-dimm")
    ]
    assert sizes == [(100, 0, 0, 100), (0, 0, 0, 0), (0, 100, 0, 100)]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('["play"]', '["work"]', "there is no work.sh"),
        ('arch = "arm64"', 'arch = "vax"', "boot 2: arch: must be one of x86_64, arm64, not 'vax'"),
        ('"kasan"', '"asan"', "boot 1: kernels 2: must be one of plain"),
        ("[count]", "[counts]", "unknown key 'counts'"),
    ],
)
def test_a_wrong_table_is_refused(tmp_path: Path, old: str, new: str, problem: str) -> None:
    make(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(MmbatchError, match=problem):
        plan.boots(tmp_path)


def test_every_count_has_its_boots() -> None:
    titles = {boot.title for boot in plan.boots()}
    for each in plan.plans().values():
        if each.count is not None:
            assert titles & {f"{arch}-{each.count.boot}" for arch in ("x86_64", "arm64")}
