# SPDX-License-Identifier: GPL-2.0-only
"""Guests that hang, die or say nothing, played by a shell script in QEMU's place."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from expect import gone
from fake_program import before_others, script
from mmbatch.core import cache
from mmbatch.core.errors import MmbatchError
from mmbatch.guest import boots, qemu
from mmbatch.guest.console import Outcome
from mmbatch.guest.kernel import ARCHES, GuestKernel
from mmbatch.guest.plan import Boot
from mmbatch.guest.qemu import Guest
from mmbatch.hosted.events import CaseOutcome

pytestmark = pytest.mark.usefixtures("own_cache")
Play = Callable[[str], Path]


@pytest.fixture
def kernel(tmp_path: Path) -> GuestKernel:
    config = tmp_path / ".config"
    config.write_text("CONFIG_TEST=m\nCONFIG_IN=y\n")
    return GuestKernel("7.3.4", "here", ARCHES["x86_64"], Path("/no/bzImage"), config)


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Let a script stand for QEMU."""
    directory = before_others(tmp_path / "bin", monkeypatch)
    return lambda text: script(directory / "qemu-system-x86_64", text)


def test_a_guest_that_ends_well(kernel: GuestKernel, play: Play) -> None:
    play(r"printf '\033c\033[?7l\033[2J@@ pass it\r\n@@ end 1.0 1\r\n'")

    booted = qemu.run(Guest(Boot(("plain",)), kernel, b""))

    assert booted.trouble == ""
    assert booted.outcome.passed == ["it"]
    assert (cache.logs() / "guest-x86_64.console").read_text() == "@@ pass it\n@@ end 1.0 1\n"


def test_a_guest_that_hangs_is_ended_with_all_that_it_started(
    kernel: GuestKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, play: Play
) -> None:
    pid = tmp_path / "pid"
    play(f"echo last words\nsleep 600 &\necho $! > {pid}\nwait")
    monkeypatch.setattr(qemu, "_SILENCE_S", 15)
    start = time.monotonic()

    booted = qemu.run(Guest(Boot(("plain",)), kernel, b""))

    assert time.monotonic() - start < 300
    assert booted.trouble == "qemu-system-x86_64 printed nothing for 15 s"
    assert "last words" in booted.last_lines
    assert gone(int(pid.read_text()))


def command(kernel: GuestKernel, **fields: Any) -> str:
    return " ".join(qemu.command(Guest(Boot(("plain",), **fields), kernel, None), None))


def test_added_memory_is_not_reserved_on_the_host(kernel: GuestKernel) -> None:
    words = command(kernel, pmem_gib=100)
    # The label's space must not spoil the alignment.
    assert "memory-backend-ram,id=pm0,size=102402M,share=on,reserve=off" in words
    assert "nvdimm,memdev=pm0,id=nv0,label-size=2M" in words
    assert "-m 3072M,slots=4" in words  # its memmap may be in the guest's own
    words = command(kernel, dimm_gib=256)
    assert "memory-backend-ram,id=ram-dimm,size=256G,reserve=off -device pc-dimm" in words
    words = command(kernel, virtio_mem_gib=512)
    assert "virtio-mem-pci,memdev=ram-vm,requested-size=512G" in words


def test_counting_fixes_all_that_could_differ(kernel: GuestKernel) -> None:
    words = command(kernel, counted=True, cpus=1, settings={"N": "6"}, cmdline=("toy.rounds={N}",))
    wanted = ("-icount shift=0,align=off,sleep=off", "-seed 42", "clock=vm", "nokaslr", "rounds=6")
    for word in wanted:
        assert word in words


def run(kernel: GuestKernel, *wanted: Boot) -> list[CaseOutcome]:
    """Boot guests of a kernel that is there; QEMU is played by a script."""

    def prepare(boot: Boot) -> Guest:
        if boot.kernel == "kasan":
            raise MmbatchError("build it", "the disk is full", "free some space")
        return Guest(boot, kernel, None)

    return boots.run_all(prepare, wanted)


SUITE = r"[    1.0]     ok 1 one\n[    1.0] ok 1 toy\n"
STALE = r"[    0.8] Oops: int3: 0000 [#1] SMP\n"
STORIES = {
    "good": (SUITE, "1 passed, 0 failed, 0 skipped"),
    "a warning": (SUITE + r"[    1.1] WARNING: CPU: 0 at f\n", "1 passed, 1 failed"),
    "a panic": (r"[    1.0] Kernel panic - not syncing: no init\n", "0 passed, 2 failed"),
    "silence": ("", "the KUnit suite did not run to its end"),
    "a failed case": (SUITE.replace("ok 1", "not ok 1"), "0 passed, 1 failed"),
    "all skipped": (r"[    1.0] ok 1 toy # SKIP\n", "nothing in the KUnit suite ran"),
}


@pytest.mark.parametrize("story", STORIES)
def test_what_a_guest_says_becomes_outcomes(
    kernel: GuestKernel, capsys: pytest.CaptureFixture[str], story: str, play: Play
) -> None:
    console, closing = STORIES[story]
    play(f"printf '{console}'")

    outcomes = run(kernel, Boot(("plain",), suites=("toy",)))

    assert all(outcome.passed for outcome in outcomes) is (story == "good")
    assert closing in capsys.readouterr().out


def test_one_kernel_that_can_not_be_built_stops_no_other(
    kernel: GuestKernel, capsys: pytest.CaptureFixture[str], play: Play
) -> None:
    play(f"printf '{SUITE}'")
    wanted = [Boot((kind,), suites=("toy",)) for kind in ("plain", "kasan", "debug")]

    outcomes = run(kernel, *wanted)

    assert [(outcome.suite, outcome.passed) for outcome in outcomes] == [
        ("x86_64", True),
        ("x86_64-kasan", False),
        ("x86_64-debug", True),
    ]
    assert "the disk is full" in capsys.readouterr().out


def test_a_panic_of_the_emulators_threads_is_followed_by_a_boot_with_one(
    kernel: GuestKernel, play: Play
) -> None:
    with_one = 'case "$*" in *thread=single*)'
    play(f"{with_one} printf '{SUITE}';; *) printf '{STALE}';; esac")

    (outcome,) = run(kernel, Boot(("plain",), suites=("toy",)))

    assert outcome.passed
    assert "int3" in (cache.logs() / "guest-x86_64.console").read_text()
    assert "int3" not in (cache.logs() / "guest-x86_64-again.console").read_text()


@pytest.mark.parametrize("alone", ["one_thread", "counted"])
def test_a_breakpoint_that_one_thread_meets_is_the_kernels_own(
    kernel: GuestKernel, alone: str, play: Play
) -> None:
    play(f"printf '{STALE}'")

    outcomes = run(kernel, Boot(("plain",), **{alone: True}))  # type: ignore[arg-type]

    assert "the kernel complained: Oops: int3" in str(outcomes[0].problem)


@pytest.mark.parametrize(
    ("option", "scripts", "passed", "failed", "skipped"),
    [
        ("CONFIG_IN", (), ["one", "two"], 0, 0),
        ("CONFIG_IN", (), ["one"], 1, 0),
        ("CONFIG_TEST", (), [], 0, 1),  # a module, and no script loads it
        ("CONFIG_TEST", ("load",), ["two"], 1, 0),
    ],
)
def test_the_kernels_own_tests_must_pass(
    kernel: GuestKernel,
    option: str,
    scripts: tuple[str, ...],
    passed: list[str],
    failed: int,
    skipped: int,
) -> None:
    boot = Boot(("plain",), scripts=scripts, passes={option: ("one", "two")})
    outcome = Outcome(passed=passed, finished=True)
    booted = qemu.Booted(Guest(boot, kernel, None), outcome, [], 1.0, "")

    found = boots.report(booted)

    assert sum(each.problem is not None for each in found) == failed
    assert sum(each.skipped is not None for each in found) == skipped


LEAST = {"few": 2.5, "many": 0.95}


def counted(
    patched: float, control: float = 5001.0, cases: Sequence[str] = ("few", "many")
) -> Outcome:
    values = []
    for case in cases:
        for variant, count in (("base", 5000.0), ("patched", patched), ("control", control)):
            values += [(f"{case} {variant}", count), (f"{case} {variant}", count + 900)]
    values += [("patched-phases all", 1.0), ("looks: looks-patched", 2.0)]  # are not counts
    return Outcome(values=values, finished=True)  # an interrupt adds to a count


@pytest.mark.parametrize(
    ("outcome", "problems"),
    [
        (counted(1000.0), []),
        (counted(2001.0), ["few: 2001 patched, 5000 base; it must take 2.5 times fewer"]),
        (counted(1000.0, 5051.0), ["few: after unload", "many: after unload"]),
        (counted(1000.0, 4949.0), ["few: after unload", "many: after unload"]),
        (counted(0.0), ["few: 0 patched", "many: 0 patched"]),
        (Outcome(finished=True), ["few: 0 patched, 0 base", "many: 0 patched, 0 base"]),
        (counted(900.0, cases=("few", "many", "more")), ["more: no guest.toml says"]),
    ],
)
def test_a_livepatch_must_save_what_it_promises(outcome: Outcome, problems: list[str]) -> None:
    found = sorted(boots.too_many(outcome, Boot(("stock",), least=LEAST)))
    assert len(found) == len(problems)
    assert all(a.startswith(b) for a, b in zip(found, problems, strict=True))


def test_kvm_is_believed_only_after_a_boot(
    kernel: GuestKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, play: Play
) -> None:
    play(f"echo x >> {tmp_path}/boots; echo nothing")
    monkeypatch.setattr("mmbatch.guest.qemu.os.access", lambda *_: True)
    monkeypatch.setattr("mmbatch.guest.qemu.platform.machine", lambda: "x86_64")
    monkeypatch.setattr("mmbatch.guest.initramfs.make", lambda _: b"")

    assert not qemu.kvm_works(kernel)
    assert not qemu.kvm_works(kernel)
    assert (tmp_path / "boots").read_text() == "x\n"  # it was remembered
