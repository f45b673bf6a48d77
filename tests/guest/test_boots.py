# SPDX-License-Identifier: GPL-2.0-only
"""Guests that hang, die or say nothing, played by a shell script in QEMU's place."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import cast

import click
import pytest
from click.testing import CliRunner

from fake_limit import reach_limits_with
from mmbatch.bench import machine
from mmbatch.cli import guest as verb
from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.console import Console
from mmbatch.core.errors import MmbatchError
from mmbatch.debian import packages
from mmbatch.guest import boots, build, counts, plan, qemu, suites
from mmbatch.guest.build import ARCHES, GuestKernel, Wanted
from mmbatch.guest.plan import PLAIN, ExtraBoot, load_plans
from mmbatch.kernel import sources
from mmbatch.report import matrix
from mmbatch.splice import trees
from mmbatch.splice.manifest import known, load_with_needs


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def boot(name: str = "guest", **changes: object) -> qemu.Boot:
    kernel = GuestKernel(
        "7.3.4", "here", ARCHES["x86_64"], Path("/no/bzImage"), (), "0" * 64, "gcc 1.2"
    )
    fields: dict[str, object] = {"initramfs": b"", "limit_s": 300.0, **changes}
    return qemu.Boot(name, kernel, **fields)  # type: ignore[arg-type]


def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    directory = tmp_path / "bin"
    directory.mkdir()
    program = directory / "qemu-system-x86_64"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")


def test_a_guest_that_ends_well(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(tmp_path, monkeypatch, r"printf '\033c\033[?7l\033[2J@@ pass it\r\n@@ end 1.0 1\r\n'")

    booted = qemu.run(cache, boot())

    assert booted.trouble == ""
    assert booted.outcome.passed == ["it"]
    assert (cache.logs / "guest-guest.console").read_text() == "@@ pass it\n@@ end 1.0 1\n"


def test_a_guest_that_hangs_is_ended_with_all_that_it_started(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = tmp_path / "pid"
    play(tmp_path, monkeypatch, f"echo last words\nsleep 600 &\necho $! > {pid}\nwait")
    reach_limits_with(monkeypatch, pid)
    start = time.monotonic()

    booted = qemu.run(cache, boot())

    assert time.monotonic() - start < 300
    assert booted.trouble
    assert "last words" in qemu.last_lines(booted)
    state = Path(f"/proc/{pid.read_text().strip()}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"


def test_a_guest_without_a_result_is_in_trouble(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(tmp_path, monkeypatch, "echo '[    1.0] Kernel panic - not syncing: no init found'")

    booted = qemu.run(cache, boot())

    assert booted.trouble == "the guest ended without a result"
    assert booted.outcome.complaints


@pytest.mark.parametrize("damage", ["", "[]", "7", '{"boot_id": '])
def test_kvm_is_believed_only_after_a_boot(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    (cache.root / "kvm.json").write_text(damage)
    play(tmp_path, monkeypatch, f"echo x >> {tmp_path}/boots; echo nothing")
    monkeypatch.setattr("mmbatch.guest.qemu.os.access", lambda *_: True)
    monkeypatch.setattr("mmbatch.guest.qemu.platform.machine", lambda: "x86_64")

    assert not qemu.kvm_works(cache, boot(), lambda _: None)
    assert not qemu.kvm_works(cache, boot(), lambda _: None)
    assert (tmp_path / "boots").read_text() == "x\n"  # it was remembered


def test_the_nvdimm_keeps_its_alignment_behind_the_label() -> None:
    words = qemu.command(boot(pmem_gib=100), None)

    assert "memory-backend-ram,id=pm0,size=102402M,share=on,reserve=off" in words
    assert "nvdimm,memdev=pm0,id=nv0,label-size=2M" in words


def test_memory_that_comes_is_not_reserved_on_the_host() -> None:
    words = " ".join(qemu.command(boot(dimm_gib=256, virtio_mem_gib=512), None))

    assert "-object memory-backend-ram,id=ram-dimm,size=256G,reserve=off" in words
    assert "-device pc-dimm,id=dimm,memdev=ram-dimm" in words
    assert "-object memory-backend-ram,id=ram-vm,size=512G,reserve=off" in words
    assert "-device virtio-mem-pci,memdev=ram-vm,requested-size=512G" in words
    most = next(word for word in words.split(",") if word.startswith("maxmem="))
    assert int(most.split("=")[1].split("G")[0]) >= 2 + 256 + 512


def test_nodes_features_and_threads() -> None:
    words = " ".join(qemu.command(boot(nodes=2, one_thread=True, without=("cx16",)), None))

    assert "-accel tcg,thread=single" in words
    assert "-cpu max,family=15,model=107,stepping=1,-cx16" in words
    assert "memory-backend-ram,id=ram1,size=1024M -numa node,nodeid=1,memdev=ram1" in words


def test_counting_fixes_all_that_could_differ() -> None:
    words = " ".join(qemu.command(boot(counted=True, cpus=1), None))

    for wanted in ("-icount shift=0,align=off,sleep=off", "-seed 42", "clock=vm", "nokaslr"):
        assert wanted in words


@pytest.mark.parametrize(("text", "gib"), [("4G", 4), ("100g", 100), ("16", 16)])
def test_sizes(text: str, gib: int) -> None:
    assert suites.size_gib(text) == gib


def test_what_is_missing_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmbatch.debian.packages.find_program", lambda program: None)

    with pytest.raises(MmbatchError) as caught:
        packages.ensure_guests(["x86_64"], lambda _: None, may_install=False)

    assert "ndctl" in caught.value.problem
    assert "qemu-system-x86" in caught.value.hint
    assert "--install" in caught.value.hint


def test_the_stages_of_a_whole_test() -> None:
    chosen = suites.stages(("x86_64", "arm64"), (), 100, 30)

    found = [(stage.name, stage.size_gib, stage.rebinds) for stage in chosen if stage.extra is None]
    assert found == [
        ("x86_64", 100, 30),
        ("x86_64-debug", 6, 5),
        ("x86_64-kasan", 4, 5),
        ("arm64", 0, 0),
    ]


def test_one_suite_is_booted_alone() -> None:
    (name, *_) = boots.known_suites()
    stages = suites.suite_stages(("x86_64", "arm64"), [name])
    assert [stage.name for stage in stages] == [f"x86_64-{name}", f"arm64-{name}"]
    for stage in stages:
        assert stage.extra is not None
        assert stage.extra.suites == (name,)
        assert stage.extra.cmdline == (f"kunit.filter_glob={name}",)
        assert not stage.size_gib
    with pytest.raises(MmbatchError, match=f"no_such.*{name}"):
        suites.suite_stages(("x86_64",), ["no_such"])


def test_only_some_kinds() -> None:
    chosen = suites.stages(("x86_64",), ("kasan", "plain"), 100, 30)

    names = [stage.name for stage in chosen if stage.extra is None]
    assert names == ["x86_64-kasan", "x86_64"]
    assert not any(stage.by_name for stage in chosen)
    with pytest.raises(click.BadParameter, match="arm64"):
        suites.stages(("arm64",), ("kasan",), 100, 30)


def test_a_kernel_with_kcsan_must_be_named() -> None:
    usual = suites.stages(("x86_64",), (), 100, 30)
    assert not [stage.name for stage in usual if stage.kind == "kcsan"]
    (first, *_) = suites.stages(("x86_64",), ("kcsan",), 100, 30)
    assert (first.name, first.size_gib, first.rebinds) == ("x86_64-kcsan", 4, 5)
    (only,) = suites.stages(("x86_64",), (), 100, 30, ("x86_64-kcsan-cpus",))
    assert only.kind == "kcsan"


def test_make_test_boots_kasan_instead_of_debug() -> None:
    fragments = (paths.ROOT / "guest",)
    debug, kasan = (Wanted(ARCHES["x86_64"], kind, (), fragments) for kind in ("debug", "kasan"))
    assert set(debug.needed()) < set(kasan.needed())
    kinds = {stage.kind for stage in suites.usual_stages()}
    assert kinds == {"", "kasan"}
    assert kinds | {"debug"} == {stage.kind for stage in suites.stages(("x86_64",), (), 100, 30)}


def test_a_long_boot_must_be_named() -> None:
    plans = load_plans().values()
    long = [
        f"{boot.arch}-{kind}-{boot.name}" if kind != PLAIN else f"{boot.arch}-{boot.name}"
        for boots in plans
        for boot in boots.boots
        for kind in boot.by_name
    ]
    assert long
    usual = [stage.name for stage in suites.stages(("x86_64", "arm64"), (), 100, 30)]
    assert not set(long) & set(usual)
    named = suites.stages(("x86_64", "arm64"), (), 100, 30, long)
    assert {stage.name for stage in named} == set(long)


def test_another_machine_is_told_what_it_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmbatch.debian.packages.platform.machine", lambda: "riscv64")

    with pytest.raises(MmbatchError) as caught:
        packages.ensure_guests(["x86_64"], lambda _: None, may_install=True)

    assert caught.value.code == 77
    assert "--arch arm64" in caught.value.hint


def test_whatever_is_asked_of_counts_is_counted(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[counts.Request] = []

    def kernel(_: object, arch: str) -> str:
        assert threading.current_thread() is threading.main_thread()  # it takes locks
        return f"kernel of {arch}"

    def count(_: object, __: object, request: counts.Request, kernel: str) -> counts.Request:
        assert kernel == f"kernel of {request.arch}"
        requests.append(request)
        return request

    def report(_: object, __: object, request: counts.Request, ___: object) -> int:
        return 4 if request.arch == "arm64" else 0

    monkeypatch.setattr(packages, "ensure_guests", lambda *_, **__: None)
    monkeypatch.setattr(sources, "resolve", lambda *_, **__: None)
    monkeypatch.setattr(boots, "choose_speedups", lambda _: [])
    monkeypatch.setattr(suites, "run_stages", lambda *_: 0)
    monkeypatch.setattr(boots.GuestSetup, "kernel", kernel)
    monkeypatch.setattr(counts, "count", count)
    monkeypatch.setattr(counts, "report", report)
    assert suites.run_all(Console(-1), cache, install=False) == 4
    every = [
        plan_ofuest.count
        for plan_ofuest in plan.load_plans().values()
        if plan_ofuest.count is not None
    ]
    wanted = {(count.speedup, arch, count.twice) for count in every for arch in count.least}
    assert len(wanted) == 2
    asked = {(request.count.speedup, request.arch, request.twice) for request in requests}
    assert asked == wanted


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["vmap", "--size", "8G"], "vmap needs no NVDIMM"),
        (["zone_device", "--size", "8T"], "8T is not a size"),
        (["zone_device", "--arch", "arm64"], "on x86_64 only"),
        (["streaming_copy"], "'streaming_copy': nothing is counted for it"),
    ],
)
def test_what_a_count_does_not_take_is_refused_first(
    monkeypatch: pytest.MonkeyPatch, words: list[str], problem: str
) -> None:
    monkeypatch.setattr(verb, "_setup", lambda *_, **__: pytest.fail("something was done"))
    result = CliRunner().invoke(verb.bench, words)
    assert result.exit_code == 2
    assert problem in result.output


class FakeSetup:
    """Kernels that are there, and one suite; QEMU is played by a script."""

    suites = ("zone_device",)
    plans = ()
    manifests = ()

    def __init__(self, cache: Cache) -> None:
        self.cache = cache

    def kernel(self, arch: str, kind: str = "") -> GuestKernel:
        if kind == "kasan":
            raise MmbatchError("build it", "the disk is full", "make room")
        return GuestKernel(
            "7.3.4", "here", ARCHES[arch], Path("/no/Image"), (), "0" * 64, "gcc 1.2"
        )


SUITE = r"[    1.0]     ok 1 one\n[    1.0] ok 1 zone_device\n"
STORIES = {
    "good": (SUITE, 0, "1 passed, 0 failed, 0 skipped"),
    "a warning": (SUITE + r"[    1.1] WARNING: CPU: 0 at f\n", 1, "1 passed, 1 failed"),
    "a panic": (r"[    1.0] Kernel panic - not syncing: no init\n", 1, "0 passed, 2 failed"),
    "silence": ("", 1, "the KUnit suite did not run to its end"),
    "a failed case": (SUITE.replace("ok 1", "not ok 1"), 1, "0 passed, 1 failed"),
}


@pytest.mark.parametrize("story", STORIES)
def test_what_a_guest_says_becomes_an_exit_code(
    cache: Cache,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    story: str,
) -> None:
    console, code, closing = STORIES[story]
    play(tmp_path, monkeypatch, f"printf '{console}'")
    stage = suites.Stage("arm64", "x86_64", "", 0, 0)

    ended = suites.run_stages(Console(), FakeSetup(cache), [stage])  # type: ignore[arg-type]

    assert ended == code
    assert closing in capsys.readouterr().out


STALE = r"[    0.8] Oops: int3: 0000 [#1] SMP\n"


def test_a_panic_of_the_emulators_threads_is_followed_by_a_boot_with_one(
    cache: Cache,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with_one = 'case "$*" in *thread=single*)'
    play(tmp_path, monkeypatch, f"{with_one} printf '{SUITE}';; *) printf '{STALE}';; esac")
    stage = suites.Stage("arm64", "x86_64", "", 0, 0)

    ended = suites.run_stages(Console(), FakeSetup(cache), [stage])  # type: ignore[arg-type]

    assert ended == 0
    assert "arm64 panicked at a breakpoint" in "".join(capsys.readouterr())
    assert "int3" in (cache.logs / "guest-arm64.console").read_text()
    assert "int3" not in (cache.logs / "guest-arm64-again.console").read_text()


def test_a_breakpoint_that_one_thread_meets_is_the_kernels_own(
    cache: Cache,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    play(tmp_path, monkeypatch, f"printf '{STALE}'")
    stage = suites.Stage("arm64", "x86_64", "", 0, 0)

    ended = suites.run_stages(Console(), FakeSetup(cache), [stage])  # type: ignore[arg-type]

    assert ended == 1
    assert "the kernel complained: Oops: int3" in capsys.readouterr().out


@pytest.mark.parametrize("alone", ["kvm", "one_thread", "counted"])
def test_only_several_threads_of_qemu_can_run_stale_code(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: str
) -> None:
    play(tmp_path, monkeypatch, f"printf '{STALE}'")

    assert qemu.run(cache, boot(initramfs=None)).ran_stale_code
    assert not qemu.run(cache, boot("guest", initramfs=None, **{alone: True})).ran_stale_code


def test_a_guest_that_hangs_fails_with_its_last_lines(
    cache: Cache,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = tmp_path / "said"
    play(tmp_path, monkeypatch, f"echo last words; echo x > {said}; sleep 600")
    reach_limits_with(monkeypatch, said)
    monkeypatch.setattr(
        boots,
        "suites",
        lambda setup, kernel, name, cmdline: qemu.run(cache, boot(name, initramfs=None)),
    )
    stage = suites.Stage("arm64", "x86_64", "", 0, 0)

    ended = suites.run_stages(Console(), FakeSetup(cache), [stage])  # type: ignore[arg-type]

    assert ended == 1
    assert "last words" in capsys.readouterr().out


def test_a_build_that_fails_does_not_keep_others_from_running(
    cache: Cache,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    play(tmp_path, monkeypatch, f"printf '{SUITE}'")
    chosen = [suites.Stage(kind or "plain", "x86_64", kind, 0, 0) for kind in ("kasan", "")]

    log = matrix.Log()

    ended = suites.run_stages(Console(), FakeSetup(cache), chosen, log)  # type: ignore[arg-type]

    out = capsys.readouterr().out
    assert ended == 1
    assert [(outcome.title, outcome.passed) for outcome in log.outcomes] == [
        ("kasan, boot", False),
        ("plain, zone_device.one", True),
    ]
    assert "FAILED kasan:\nerror: cannot " in out
    assert "the disk is full\nhint: " in out
    assert out.splitlines()[-1] == "1 passed, 1 failed, 0 skipped"


def test_a_kernel_has_the_options_of_each_speedup(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Wanted] = []
    monkeypatch.setattr(trees, "splice", lambda *_: None)
    monkeypatch.setattr(build, "build", lambda *words: seen.append(words[3]))
    manifests = load_with_needs(paths.SPEEDUPS, *known(paths.SPEEDUPS))
    source = cast("sources.Source", None)
    setup = boots.GuestSetup(cache, source, manifests, ("CONFIG_X=y",), 1, lambda _: None)

    setup.kernel("x86_64", "kasan")

    for manifest in manifests:
        assert f"CONFIG_{manifest.speedup.upper()}_KUNIT_TEST=y" in seen[0].needed()
    assert {"CONFIG_64BIT=y", "CONFIG_KASAN=y", "CONFIG_X=y"} <= set(seen[0].config().split())


def test_a_boot_of_a_speedup_that_this_kernel_lacks_is_skipped(
    cache: Cache, capsys: pytest.CaptureFixture[str]
) -> None:
    boot = ExtraBoot("far", "x86_64", suites=("toy",))
    stage = suites.Stage("x86_64-far", "x86_64", "", 0, 0, "toy", boot)

    assert suites.run_stages(Console(), FakeSetup(cache), [stage]) == 0  # type: ignore[arg-type]

    assert "0 passed, 0 failed, 1 skipped" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("available", "cpus", "guests"),
    [(64 << 30, 2, 2), (64 << 30, 8, 2), (64 << 30, 1, 1), (8 << 30, 8, 1), (None, 8, 1)],
)
def test_guests_beside_each_other_have_memory(
    monkeypatch: pytest.MonkeyPatch, available: int | None, cpus: int, guests: int
) -> None:
    here = replace(machine.describe(), available_bytes=available)
    monkeypatch.setattr(machine, "describe", lambda: here)
    monkeypatch.setattr(qemu, "cpus", lambda: cpus)
    assert qemu.at_once() == guests
