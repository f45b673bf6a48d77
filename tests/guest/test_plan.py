# SPDX-License-Identifier: GPL-2.0-only
"""guest.toml is read strictly."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmbatch.core.errors import MmbatchError
from mmbatch.guest import plan
from mmbatch.guest.plan import KindSettings

GOOD = """
programs = ["spin"]
scripts = ["play"]

[method]
parameter = "toy.method"
values = ["base", "fast"]
kinds = { kasan = ["base"] }

[[boot]]
name = "far"
arch = "arm64"
suites = ["toy"]
cmdline = ["quiet"]
by_name = ["kasan"]
kinds.debug = { without = ["erms"], settings = { MIB = "3" } }

[count]
arches = ["arm64"]
item_bytes = 64
proof = "toy.toy_same."
cases = { row = "a row of toys" }
least.arm64 = { row = 1.5 }
"""


def make(directory: Path, text: str = GOOD) -> Path:
    (directory / "toy/guest").mkdir(parents=True)
    (directory / "toy/guest/guest.toml").write_text(text)
    for name in ("play.sh", "spin.c"):
        (directory / "toy/guest" / name).touch()
    return directory


def test_a_good_plan(tmp_path: Path) -> None:
    (toy,) = plan.load_plans(make(tmp_path)).values()

    assert toy.speedup == "toy"
    assert toy.scripts == ("play",)
    assert toy.methods is not None
    assert toy.methods.of("kasan") == ("base",)
    assert toy.methods.of("debug") == ("base", "fast")
    (boot,) = toy.boots
    assert (boot.limit_s, boot.memory_gib, boot.nodes, boot.slow_mib) == (600, 2, 1, 0)
    assert boot.kinds == {"debug": KindSettings({"MIB": "3"}, ("erms",))}
    assert toy.count is not None
    assert toy.count.least == {"arm64": {"row": 1.5}}
    assert not toy.count.twice


def test_a_template_is_no_speedup(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / "toy").rename(tmp_path / "_toy")

    assert plan.load_plans(tmp_path) == {}


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('["play"]', '["work"]', "there is no work.sh"),
        ('["spin"]', '["roll"]', "there is no roll.c"),
        ("row = 1.5", 'row = "1"', "least: arm64: row: must be a number"),
        ("row = 1.5", "line = 1.5", "'least' has the unknown line"),
        ('suites = ["toy"]', "", "either 'scripts' or 'suites'"),
        ('arch = "arm64"', 'arch = "vax"', "boot 1: arch: must be one of x86_64, arm64, not 'vax'"),
        ("kasan =", "asan =", "unknown kind 'asan'"),
        ("kinds.debug", "kinds.odd", "unknown kind 'odd'"),
        ('by_name = ["kasan"]', 'by_name = ["slow"]', "unknown kind 'slow'"),
        ("item_bytes = 64", "", "'item_bytes' is missing"),
        ("[count]", "[counts]", "unknown key 'counts'"),
    ],
)
def test_a_wrong_plan_is_refused(tmp_path: Path, old: str, new: str, problem: str) -> None:
    make(tmp_path, GOOD.replace(old, new))
    with pytest.raises(MmbatchError, match=problem):
        plan.load_plans(tmp_path)
