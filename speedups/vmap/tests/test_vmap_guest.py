# SPDX-License-Identifier: GPL-2.0-only
"""What guests run and count of vmap: test_vmalloc, the boot with base, the least gains."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fake_run import counted_by
from mmbatch.core.cache import Cache
from mmbatch.core.paths import ROOT
from mmbatch.guest import boots, counts, plan, qemu, suites
from mmbatch.guest.build import ARCHES, GuestKernel
from mmbatch.guest.qemu import Case, Outcome

PLAN = plan.load_plans()["vmap"]
GUEST = PLAN.directory
assert PLAN.kernel_test is not None
assert PLAN.count is not None
TEST, COUNT = PLAN.kernel_test, PLAN.count


def extra_boot(name: str) -> plan.ExtraBoot:
    (stage,) = suites.stages(("x86_64", "arm64"), (), 13, 30, (name,))
    assert stage.extra is not None
    return stage.extra


def booted(monkeypatch: pytest.MonkeyPatch, extra: plan.ExtraBoot) -> qemu.Boot:
    """Return what QEMU would be asked to boot on arm64."""
    seen: list[qemu.Boot] = []
    monkeypatch.setattr(qemu, "run", lambda _, boot: seen.append(boot))
    kernel = GuestKernel(
        "7.3.4", "here", ARCHES["arm64"], Path("/no/Image"), (), "0" * 64, "gcc 1.2"
    )
    setup = type("GuestSetup", (), {"cache": None})()
    boots.extra(setup, kernel, extra.name, "plain", PLAN, extra)
    (boot,) = seen
    return boot


def test_one_boot_has_base_and_no_huge_mappings(monkeypatch: pytest.MonkeyPatch) -> None:
    extra = extra_boot("arm64-base")
    boot = booted(monkeypatch, extra)
    assert boot.initramfs is None
    assert boot.limit_s == 600
    assert {
        *("kunit.enable=1", "vmap.method=base", "nohugevmalloc", "nohugeiomap"),
        *("kunit.filter_glob=vmap", "test_vmalloc.nr_threads=2"),
    } <= set(boot.cmdline)
    assert extra.suites == ("vmap",)


def test_one_boot_counts_small_areas_on_all_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    boot = booted(monkeypatch, extra_boot("arm64-each"))
    assert boot.counted
    assert boot.cpus > 1
    assert "vmap_bench.each=1" in boot.cmdline


def test_small_areas_must_be_counted_and_not_take_more() -> None:
    extra = extra_boot("arm64-each")
    lines = [
        f"[    1.0] vmap_bench: case={case} method={method} ns={number} items=2048"
        for method, number in (("base", 4000), ("control", 4000), ("auto", 4000))
        for row in ("vmap-64K-each", "vmap-16M-alternate-each")
        for case in (row, f"{row}-waits" if "64K" in row else f"{row}-calls")
    ]
    good = qemu.read_console(lines)
    assert list(suites.absent(good, extra)) == []
    assert list(suites.too_many(good, extra)) == []
    assert next(iter(suites.rows(good))).startswith("vmap-64K-each: 4000 base, 2048 items")

    more = qemu.read_console([line.replace("auto ns=4000", "auto ns=4100") for line in lines])
    assert [sentence.split(",")[0] for sentence in suites.too_many(more, extra)] == [
        "vmap-64K-each: auto takes 4100",
        "vmap-16M-alternate-each: auto takes 4100",
    ]
    assert len(list(suites.too_many(qemu.read_console([]), extra))) == 2
    fewer = qemu.read_console([line for line in lines if "-waits" not in line])
    assert len(list(suites.absent(fewer, extra))) == 3


def test_the_least_gain_depends_on_the_architecture() -> None:
    values = [("ioremap-1M items", 4096.0)]
    for variant, number in (("base", 130000), ("control", 130001), ("auto", 100000)):
        values += [(f"ioremap-1M {variant}", float(number + i % 2)) for i in range(6)]
    cases = [Case(f"vmap.vmap_arrays.{name}", "ok", "") for name in ("base", "auto")]
    outcome = Outcome(values=values, cases=cases, finished=True)

    for arch, sentences in (
        ("arm64", ["ioremap-1M: auto takes 1.30 times fewer, but must take 1.35 times fewer"]),
        ("x86_64", []),
    ):
        result = counted_by(counts.events(outcome, COUNT))
        request = counts.Request(COUNT, arch, 4, 6, None)
        assert list(counts.too_many(result, request)) == sentences
        missing = list(counts.absent(result, COUNT))
        assert "ioremap-1M: no count of base and control and auto" not in missing
        assert len(missing) == len(COUNT.cases) - 1


def test_every_case_has_a_least_gain_on_arm64() -> None:
    assert set(COUNT.least["arm64"]) == set(COUNT.cases)
    assert len(COUNT.cases) == 24


def script(folder: Path, summaries: int, kind: str = "plain") -> list[str]:
    """Run vmalloc.sh with a module that prints so many summaries; return what failed."""
    text = (GUEST / "vmalloc.sh").read_text()
    text = text.replace("/sys/module", f"{folder}")
    line = "[ 1.0] Summary: toy passed: 1 failed: 0 "
    prints = f"for i in $(seq {summaries}); do echo '{line}' >>{folder}/log; done"
    (folder / "log").touch()
    shell = f"""
    KIND={kind} TEST_SUMMARIES=3 TEST_PARAMETERS=
    . '{ROOT}/guest/lib.sh'
    dmesg() {{ cat {folder}/log; }}
    insmod() {{ {prints}; }}
    {text}
    end
    """
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False)
    outcome = qemu.read_console(done.stdout.splitlines())
    assert outcome.finished
    assert len(outcome.passed) + len(outcome.failed) in ((2, 4) if kind == "plain" else (1, 2))
    return outcome.failed


def test_the_script_needs_the_method_and_every_summary(tmp_path: Path) -> None:
    (tmp_path / "vmap/parameters").mkdir(parents=True)
    for right in (3, 6):  # busybox tries a module that goes away by its other call
        assert script(tmp_path, right) == []
    for wrong in (0, 1, 5):
        assert len(script(tmp_path, wrong)) == 2


def test_a_kernel_with_debugging_options_runs_it_once(tmp_path: Path) -> None:
    (tmp_path / "vmap/parameters").mkdir(parents=True)
    assert script(tmp_path, 3, "debug") == []
    assert (tmp_path / "vmap/parameters/method").read_text() == "auto\n"
    assert len(script(tmp_path, 2, "kasan")) == 1


def test_the_script_needs_a_kernel_that_accepts_the_method(tmp_path: Path) -> None:
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
        names = TEST.chosen(path.parents[1], "plain")
        assert len(names) in (10, 11)
        quick = TEST.chosen(path.parents[1], "kasan")
        assert set(names) - set(quick) == {"full_fit_alloc_test", "long_busy_list_alloc_test"}
        assert {"fix_size_alloc_test", "vm_map_ram_test"} <= set(names)
        assert "align_shift_alloc_test" not in names
