# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the kernel itself in guests: each chosen test must run and pass."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mmbatch.core.cache import Cache
from mmbatch.core.console import Console
from mmbatch.core.errors import MmbatchError
from mmbatch.guest import boots, qemu, suites
from mmbatch.guest.plan import ExtraBoot, KernelTest, Plan
from mmbatch.guest.qemu import Outcome
from mmbatch.guest.suites import Stage

TEST = KernelTest(
    "test_toys",
    "lib/test_toys.c",
    r'^\s*\{ "(\w+)", \w+',
    "lib/Kconfig.debug",
    "TEST_TOYS",
    "mask",
    "threads",
    {"mask": 0b1_0111_1011_1111, "threads": 2, "loops": 60},
    {"mask": 0b1_0111_1011_1001, "loops": 6},
)
BASE = ExtraBoot("base", "arm64", suites=("toys",), kernel_test=True)
PLAN = Plan(scripts=("toys",), boots=(BASE,), kernel_test=TEST, speedup="toys")
STAGES = {
    "arm64": Stage("arm64", "arm64", "", 0, 0),
    "arm64-base": Stage("arm64-base", "arm64", "", 0, 0, "toys", BASE),
    "x86_64": Stage("x86_64", "x86_64", "", 13, 30),
}
NAMES = [f"toy_{number}_test" for number in range(13)]
CHOSEN = [name for name in NAMES if name not in ("toy_6_test", "toy_11_test")]


@pytest.mark.parametrize(
    ("kind", "mask", "loops", "summaries"),
    [("plain", 6079, 60, "22"), ("debug", 6073, 6, "18"), ("kasan", 6073, 6, "18")],
)
def test_debugging_kernels_get_their_own_parameters(
    tree: Path, kind: str, mask: int, loops: int, summaries: str
) -> None:
    words = TEST.settings(tree, kind)["TEST_PARAMETERS"].split()
    assert words == [f"mask={mask}", "threads=2", f"loops={loops}"]
    assert TEST.settings(tree, kind)["TEST_SUMMARIES"] == summaries


def test_debugging_kernels_need_their_own_tests_only(tree: Path) -> None:
    without = [name for name in CHOSEN if name not in ("toy_1_test", "toy_2_test")]
    assert TEST.absent(tree, "kasan", without) == []
    assert len(TEST.absent(tree, "plain", without)) == 2
    assert len(TEST.absent(tree, "kasan", without[1:])) == 1


@pytest.mark.parametrize("name", ["threads", "unknown"])
def test_debugging_kernels_run_as_many_threads(name: str) -> None:
    with pytest.raises(ValueError, match=f"debug_parameters' cannot set {name}"):
        dataclasses.replace(TEST, debug_parameters={name: 1})


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A kernel with thirteen made-up tests, of which two are not chosen."""
    tests = "".join(f'\t{{ "{name}", {name}, }},\n' for name in NAMES)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/test_toys.c").write_text(f"array[] = {{\n{tests}}};\n")
    return tmp_path


def test_each_test_that_the_kernel_has_is_asked_for(tree: Path) -> None:
    assert TEST.chosen(tree, "plain") == CHOSEN
    assert TEST.settings(tree, "plain")["TEST_SUMMARIES"] == "22"
    path = tree / "lib/test_toys.c"
    older = [line for line in path.read_text().splitlines() if "toy_12" not in line]
    path.write_text("\n".join(older))
    assert TEST.chosen(tree, "plain") == CHOSEN[:-1]
    path.unlink()
    with pytest.raises(MmbatchError, match="no list of tests"):
        TEST.chosen(tree, "plain")


BOOT = SimpleNamespace(name="guest")


def shop(tree: Path, monkeypatch: pytest.MonkeyPatch, outcome: Outcome) -> Any:
    """A setup whose guests all have one outcome."""
    booted = SimpleNamespace(
        boot=BOOT, outcome=outcome, trouble="", wall_s=1.0, ran_stale_code=False
    )
    for boot in ("suites", "programs", "extra"):
        monkeypatch.setattr(boots, boot, lambda *_, **__: booted)
    return SimpleNamespace(
        kernel=lambda *_: SimpleNamespace(release="7.3.4"),
        source=SimpleNamespace(path=tree),
        suites=["toys"],
        plans=[PLAN],
        manifests=[],
        cache=Cache(tree / "cache"),
    )


@pytest.mark.parametrize("lacking", [0, 1, 10])
@pytest.mark.parametrize("name", ["arm64", "arm64-base", "x86_64"])
def test_one_test_of_many_is_not_enough(
    tree: Path, monkeypatch: pytest.MonkeyPatch, name: str, lacking: int
) -> None:
    passed = CHOSEN[lacking:]
    outcome = Outcome(passed=passed, suites={"toys": True}, finished=True)
    outcome.cases = [qemu.Case("toys.toys", "ok", "")]
    ended = suites.run_stages(Console(-1), shop(tree, monkeypatch, outcome), [STAGES[name]])
    assert ended == (1 if lacking else 0)


@pytest.mark.parametrize(("name", "code"), [("arm64", 0), ("arm64-base", 0), ("x86_64", 1)])
def test_what_is_only_a_module_is_asked_for_where_it_is_loaded(
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    code: int,
) -> None:
    kconfig = "config TEST_{}\n\ttristate\n\tdepends on {}\n\n\thelp\n\t  toys\n"
    (tree / "lib/Kconfig.debug").write_text(
        kconfig.format("TOYS", "m") + kconfig.format("OTHER", "y")
    )
    outcome = Outcome(suites={"toys": True}, finished=True)
    outcome.cases = [qemu.Case("toys.toys", "ok", "")]
    assert suites.run_stages(Console(0), shop(tree, monkeypatch, outcome), [STAGES[name]]) == code
    assert ("1 passed, 0 failed, 1 skipped" in capsys.readouterr().out) is (code == 0)


@pytest.mark.parametrize("kconfig", ["", "config TEST_TOYS\n\tdepends on MMU\n"])
def test_a_module_of_another_name_says_nothing(tree: Path, kconfig: str) -> None:
    (tree / "lib/Kconfig.debug").write_text(f"{kconfig}config TEST_OTHER\n\tdepends on m\n")
    assert not TEST.only_a_module(tree)


def test_the_command_line_of_a_test_that_is_built_in() -> None:
    assert TEST.cmdline == (
        "test_toys.mask=6079",
        "test_toys.threads=2",
        "test_toys.loops=60",
    )
