# SPDX-License-Identifier: GPL-2.0-only
"""What guests run and count of zone_device."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from mmbatch.core.paths import ROOT
from mmbatch.guest import boots, plan, qemu, suites
from mmbatch.guest.build import ARCHES, GuestKernel

PLAN = plan.load_plans()["zone_device"]
KERNEL = GuestKernel(
    "7.3.4", "here", ARCHES["x86_64"], Path("/no/bzImage"), (), "0" * 64, "gcc 1.2"
)


def test_a_method_that_is_refused_fails(tmp_path: Path) -> None:
    driver = tmp_path / "nd_pmem"
    driver.mkdir()
    script = f"""
    set -u
    . '{ROOT}/guest/lib.sh'
    . '{PLAN.directory}/lib.sh'
    DRIVERS={tmp_path} METHOD={tmp_path}/absent/method
    check good true
    check bad sh -c 'echo why; false'
    rebind nd_pmem pfn0.0 1 || fail "rebind: no device"
    choose wide
    end
    """
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    found = qemu.read_console(done.stdout.splitlines())

    assert found.finished
    assert found.passed == ["good"]
    assert found.failed == [
        "bad: sh -c echo why; false (why)",
        "rebind: no device",
        "wide: refused as zone_device's method",
    ]


def booted(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[qemu.Boot], dict[str, bytes]]:
    seen: list[qemu.Boot] = []
    files: dict[str, bytes] = {}

    def filesystem(*words: Any) -> bytes:
        files.update(words[4] if len(words) > 4 else {})
        files.setdefault("scripts", " ".join(words[2]).encode())
        return b""

    monkeypatch.setattr(qemu, "run", lambda _, boot: seen.append(boot))
    monkeypatch.setattr(qemu, "kvm_works", lambda *_: False)
    monkeypatch.setattr(boots, "compiled", lambda _, source: source.name.encode())
    monkeypatch.setattr(boots, "filesystem", filesystem)
    setup = type("GuestSetup", (), {"cache": None, "say": print, "plans": [PLAN]})()
    return setup, seen, files


@pytest.mark.parametrize(
    ("kind", "methods"),
    [("plain", "base auto movnti copy wide"), ("kasan", "base auto copy")],
)
def test_drivers_run_with_every_method(
    monkeypatch: pytest.MonkeyPatch, kind: str, methods: str
) -> None:
    setup, seen, files = booted(monkeypatch)
    boots.programs(setup, KERNEL, "x86_64", kind, 13, 30)
    last = methods.rsplit(maxsplit=1)[-1]
    settings = files["zone_device/settings"].decode().splitlines()
    assert {f"METHODS='{methods}'", f"BOOT_METHOD={last}", f"KIND={kind}"} < set(settings)
    assert {"NVDIMM_GIB=13", "REBINDS=30", "OTHER_REBINDS=3"} < set(settings)
    assert files["scripts"] == b"zone_device/drivers zone_device/hmm"
    assert files["bin/map_file"] == b"map_file.c"
    (boot,) = seen
    assert f"zone_device.method={last}" in boot.cmdline
    assert "kunit.enable=1" in boot.cmdline
    assert ("page_poison=1" in boot.cmdline) == (kind == "kasan")
    assert ("no5lvl" in boot.cmdline) == (kind == "kasan")
    assert (boot.pmem_gib, boot.memory_gib) == (13, 4)


def test_what_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    setup, seen, files = booted(monkeypatch)
    assert PLAN.count is not None
    boots.count_by_script(setup, KERNEL, PLAN.count, 4, 6)
    settings = files["zone_device/settings"].decode().splitlines()
    assert settings == ["METHODS='base control movnti copy wide auto'", "ROUNDS=6"]
    assert files["scripts"] == b"zone_device/count"
    (boot,) = seen
    assert (boot.counted, boot.cpus, boot.pmem_gib, boot.memory_gib) == (True, 1, 4, 2)
    assert list(PLAN.count.cases) == ["fsdax", "devdax-2m", "hmm"]
    (request,) = suites.gates(PLAN)
    assert request.twice
    assert request.count.least == {"x86_64": {"fsdax": 2.2}}


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
    script = f"TRACING={tmp_path}; . '{PLAN.directory}/lib.sh'; {commands}"
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
    text = (PLAN.directory.parent / "live/limits.sh").read_text(encoding="utf-8")
    start = text.index("within() {")
    function = text[start : text.index("\n}\n", start) + 3]
    assert shell(tmp_path, f'{function}\nwithin "{allowed}" && echo yes || true') == (
        "yes\n" if good else ""
    )
