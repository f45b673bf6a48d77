# SPDX-License-Identifier: GPL-2.0-only
"""test_vmalloc in guests: with the method that was asked for, and each test that was chosen."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mmbatch.core.cache import Cache
from mmbatch.core.console import Console
from mmbatch.core.errors import MmbatchError
from mmbatch.core.paths import ROOT
from mmbatch.guest import boot as guest
from mmbatch.guest import log as guestlog
from mmbatch.guest import suites as guesttest
from mmbatch.guest import vmalloc as guestvmalloc
from mmbatch.guest.log import Heard

NAMES = [f"toy_{number}_test" for number in range(13)]
TOLD = [name for name in NAMES if name not in ("toy_6_test", "toy_11_test")]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A kernel with thirteen made-up tests, of which two are not chosen."""
    tests = "".join(f'\t{{ "{name}", {name}, }},\n' for name in NAMES)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/test_vmalloc.c").write_text(f"array[] = {{\n{tests}}};\n")
    return tmp_path


def test_each_test_that_the_kernel_has_is_asked_for(tree: Path) -> None:
    assert guestvmalloc.chosen(tree) == TOLD
    assert guestvmalloc.settings(tree)["VMALLOC_TOLD"] == "22"
    path = tree / "lib/test_vmalloc.c"
    older = [line for line in path.read_text().splitlines() if "toy_12" not in line]
    path.write_text("\n".join(older))
    assert guestvmalloc.chosen(tree) == TOLD[:-1]
    path.unlink()
    with pytest.raises(MmbatchError, match="no list of tests"):
        guestvmalloc.chosen(tree)


def shop(tree: Path, monkeypatch: pytest.MonkeyPatch, heard: Heard) -> Any:
    """A workshop whose guests say what was heard."""
    booted = SimpleNamespace(heard=heard, trouble="", wall_s=1.0)
    for boot in ("suites", "drivers"):
        monkeypatch.setattr(guest, boot, lambda *_, **__: booted)
    return SimpleNamespace(
        kernel=lambda *_: SimpleNamespace(release="7.3.4"),
        source=SimpleNamespace(path=tree),
        suites=["vmap"],
        cache=Cache(tree / "cache"),
    )


@pytest.mark.parametrize("lacking", [0, 1, 10])
@pytest.mark.parametrize("name", ["arm64", "arm64-base", "x86_64"])
def test_one_test_of_many_is_not_enough(
    tree: Path, monkeypatch: pytest.MonkeyPatch, name: str, lacking: int
) -> None:
    (stage,) = guesttest.stages(("x86_64", "arm64"), (), 13, 30, (name,))
    passed = [f"test_vmalloc.{one}" for one in TOLD[lacking:]]
    heard = Heard(passed=passed, suites={"vmap": True}, finished=True)
    heard.cases = [guestlog.Case("vmap.toys", "ok", "")]
    ended = guesttest.run_stages(Console(-1), shop(tree, monkeypatch, heard), [stage])
    assert ended == (1 if lacking else 0)


@pytest.mark.parametrize(("name", "code"), [("arm64", 0), ("arm64-base", 0), ("x86_64", 1)])
def test_what_is_only_a_module_is_asked_for_where_it_is_loaded(
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    code: int,
) -> None:
    (stage,) = guesttest.stages(("x86_64", "arm64"), (), 13, 30, (name,))
    kconfig = "config TEST_{}\n\ttristate\n\tdepends on {}\n\n\thelp\n\t  toys\n"
    (tree / "lib/Kconfig.debug").write_text(
        kconfig.format("VMALLOC", "m") + kconfig.format("OTHER", "y")
    )
    heard = Heard(suites={"vmap": True}, finished=True)
    heard.cases = [guestlog.Case("vmap.toys", "ok", "")]
    assert guesttest.run_stages(Console(0), shop(tree, monkeypatch, heard), [stage]) == code
    assert ("1 passed, 0 failed, 1 skipped" in capsys.readouterr().out) is (code == 0)


@pytest.mark.parametrize("kconfig", ["", "config TEST_VMALLOC\n\tdepends on MMU\n"])
def test_a_module_of_another_name_says_nothing(tree: Path, kconfig: str) -> None:
    (tree / "lib/Kconfig.debug").write_text(f"{kconfig}config TEST_OTHER\n\tdepends on m\n")
    assert not guestvmalloc.only_a_module(tree)


def script(folder: Path, summaries: int) -> list[str]:
    """Run vmalloc.sh beside a module that tells so much; return what failed."""
    text = (ROOT / "guest/scripts/vmalloc.sh").read_text()
    text = text.replace("/settings", f"{folder}/settings").replace("/sys/module", f"{folder}")
    line = "[ 1.0] Summary: toy passed: 1 failed: 0 "
    tells = f"for i in $(seq {summaries}); do echo '{line}' >>{folder}/log; done"
    (folder / "settings").write_text("VMALLOC_TOLD=3\nVMALLOC=\n")
    (folder / "log").touch()
    done = subprocess.run(
        ["sh", "-c", f". {ROOT}/guest/lib.sh\ndmesg() {{ cat {folder}/log; }}\n"
         f"insmod() {{ {tells}; }}\n{text}\nend"],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    said = guestlog.read(done.stdout.splitlines())
    assert said.finished
    assert len(said.passed) + len(said.failed) in (2, 4)
    return said.failed


def test_the_script_wants_the_method_and_every_summary(tmp_path: Path) -> None:
    (tmp_path / "vmap/parameters").mkdir(parents=True)
    for right in (3, 6):  # busybox tries a module that goes away by its other call
        assert script(tmp_path, right) == []
    for wrong in (0, 1, 5):
        assert len(script(tmp_path, wrong)) == 2


def test_the_script_wants_a_kernel_that_takes_the_method(tmp_path: Path) -> None:
    base, auto = script(tmp_path, 3)
    assert base.startswith("vmap takes the method base: ")
    assert auto.startswith("vmap takes the method auto: ")


def test_the_script_sees_a_method_that_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "vmap/parameters").mkdir(parents=True)
    (tmp_path / "vmap/parameters/method").symlink_to("/dev/null")
    assert len(script(tmp_path, 3)) == 2


@pytest.mark.kernel
def test_the_kernels_own_list_is_read() -> None:
    lists = list(Cache.open().root.glob("trees/linux-source-*/linux/lib/test_vmalloc.c"))
    if not lists:
        pytest.skip("no kernel in the cache")
    for path in lists:
        names = guestvmalloc.chosen(path.parents[1])
        assert len(names) in (10, 11)
        assert {"fix_size_alloc_test", "vm_map_ram_test"} <= set(names)
        assert "align_shift_alloc_test" not in names
