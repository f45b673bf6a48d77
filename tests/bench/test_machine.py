# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fake_run import machine as example
from mmbatch.bench import machine
from mmbatch.bench.machine import Cpu, machine_line

DATA = Path(__file__).parents[1] / "data/machine"


def _cpu(name: str) -> Cpu:
    return machine.parse_cpuinfo((DATA / f"{name}.cpuinfo").read_text())


def test_amd_takes_the_first_cpu() -> None:
    cpu = _cpu("amd")
    assert cpu.name == "AMD EPYC 7X99 16-Core Processor"
    assert (cpu.family, cpu.model, cpu.stepping) == (25, 1, 1)
    assert {"rep_good", "erms", "clzero"} <= cpu.flags
    assert not {"fsrm", "movdir64b"} & cpu.flags


def test_intel_does_not_mix_in_the_vmx_flags() -> None:
    cpu = _cpu("intel")
    assert (cpu.family, cpu.model, cpu.stepping) == (6, 143, 8)
    assert {"fsrm", "movdir64b", "avx512f"} <= cpu.flags
    assert "clzero" not in cpu.flags


def test_arm64_has_no_model_name() -> None:
    cpu = _cpu("arm64")
    assert cpu.name == "implementer 0x41 part 0xd0c"
    assert (cpu.family, cpu.model, cpu.stepping) == (None, None, 1)
    assert "atomics" in cpu.flags


def test_empty_cpuinfo_is_no_error() -> None:
    assert machine.parse_cpuinfo("") == Cpu("unknown CPU", None, None, None, frozenset())


def test_meminfo_is_in_bytes() -> None:
    text = "MemTotal:        8145108 kB\nMemAvailable:    7000000 kB\nHugePages_Total:       3\n"
    assert machine.parse_meminfo(text) == {
        "MemTotal": 8145108 * 1024,
        "MemAvailable": 7000000 * 1024,
    }


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512K\n", 512 << 10),
        ("32M", 32 << 20),
        ("1G", 1 << 30),
        ("64", 64),
        ("", None),
        ("x", None),
    ],
)
def test_cache_sizes(text: str, size: int | None) -> None:
    assert machine.parse_size(text) == size


def test_last_level_cache_is_the_highest_that_holds_data() -> None:
    caches = [
        ("1", "Data", "32K"),
        ("1", "Instruction", "64K"),
        ("3", "Unified", "16M"),
        ("2", "Unified", "512K"),
        ("4", "Instruction", "64M"),
        ("5", "Unified", ""),
        ("", "", ""),
    ]
    assert machine.pick_llc(caches) == 16 << 20
    assert machine.pick_llc([]) is None


def test_getconf_cache_skips_zero_and_instruction_caches() -> None:
    text = (
        "LEVEL1_ICACHE_SIZE                 65536\n"
        "LEVEL1_DCACHE_SIZE                 32768\n"
        "LEVEL2_CACHE_SIZE                  524288\n"
        "LEVEL2_CACHE_LINESIZE              64\n"
        "LEVEL3_CACHE_SIZE                  33554432\n"
        "LEVEL4_CACHE_SIZE                  0\n"
    )
    assert machine.parse_getconf_llc(text) == 32 << 20
    assert machine.parse_getconf_llc("LEVEL3_CACHE_SIZE  \nLEVEL1_ICACHE_SIZE 4096\n") is None


def test_chosen_word() -> None:
    assert machine.parse_chosen("always [madvise] never\n") == "madvise"
    assert machine.parse_chosen("") == ""


@pytest.mark.parametrize(
    ("detected", "lscpu", "flags", "name"),
    [
        ("kvm\n", "", ["hypervisor"], "kvm"),
        ("kvm\n", "", [], "kvm"),
        ("none\n", "", [], ""),
        ("none\n", "", ["hypervisor"], "unknown"),
        ("", "", ["hypervisor", "sse"], "unknown"),
        ("", "", ["sse"], ""),
        ("", "CPU(s): 2\nHypervisor vendor:      KVM\n", ["hypervisor"], "kvm"),
        ("xen\n", "Hypervisor vendor: Other\n", ["hypervisor"], "xen"),
        ("", "Flags: hypervisor\n", [], ""),
    ],
)
def test_hypervisor(detected: str, lscpu: str, flags: list[str], name: str) -> None:
    assert machine.parse_hypervisor(detected, lscpu, flags) == name


def _root(directory: Path) -> Path:
    files = {
        "proc/cpuinfo": (DATA / "amd.cpuinfo").read_text(),
        "proc/meminfo": "MemTotal: 2048 kB\nMemAvailable: 1024 kB\n",
        "proc/loadavg": "1.25 0.50 0.10 1/200 4242\n",
        "sys/devices/system/cpu/cpu0/cache/index0/level": "1\n",
        "sys/devices/system/cpu/cpu0/cache/index0/type": "Data\n",
        "sys/devices/system/cpu/cpu0/cache/index0/size": "32K\n",
        "sys/devices/system/cpu/cpu0/cache/index3/level": "3\n",
        "sys/devices/system/cpu/cpu0/cache/index3/type": "Unified\n",
        "sys/devices/system/cpu/cpu0/cache/index3/size": "32768K\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
        "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
    }
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory


def _programs(directory: Path, monkeypatch: pytest.MonkeyPatch, **outputs: str) -> None:
    """Put made-up programs first on PATH."""
    directory.mkdir()
    for name, text in outputs.items():
        program = directory / name.replace("_", "-")
        program.write_text(f"#!/bin/sh\nprintf '%s\\n' '{text}'\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")


def test_describe_puts_all_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _programs(
        tmp_path / "bin",
        monkeypatch,
        gcc="gcc (Sample 1) 14.2.0\nCopyright",
        systemd_detect_virt="xen",
        getconf="LEVEL3_CACHE_SIZE 1024",
    )
    found = machine.describe(_root(tmp_path))
    assert found.cpu == "AMD EPYC 7X99 16-Core Processor"
    assert (found.family, found.model, found.stepping) == (25, 1, 1)
    assert found.flags == {
        "rep_good": True,
        "erms": True,
        "fsrm": False,
        "movdir64b": False,
        "clzero": True,
        "avx512f": False,
    }
    assert found.cores == len(os.sched_getaffinity(0))
    assert (found.llc_bytes, found.mem_bytes, found.available_bytes) == (32 << 20, 2 << 20, 1 << 20)
    assert (found.hypervisor, found.load, found.governor) == ("xen", 1.25, "performance")
    assert found.thp == "always"
    assert found.compiler == "gcc (Sample 1) 14.2.0"
    assert (found.host_kernel, found.arch) == (os.uname().release, os.uname().machine)


def test_describe_where_nothing_can_be_read(tmp_path: Path) -> None:
    def say(argv: Sequence[str]) -> str:
        return "LEVEL3_CACHE_SIZE 4194304" if argv[0] == "getconf" else ""

    found = machine.describe(tmp_path, say)
    assert found.llc_bytes == 4 << 20
    assert (found.mem_bytes, found.available_bytes, found.load) == (None, None, None)
    assert (found.hypervisor, found.compiler, found.thp, found.governor) == ("", "", "", "")


def test_program_that_is_not_there_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda *_: None)
    assert machine.describe(_root(tmp_path)).compiler == ""


def test_line_names_what_is_known() -> None:
    assert machine_line(example()) == (
        "Example CPU 9000 (family 25 model 1 stepping 1), x86_64, 2 cores, LLC 32 MiB, RAM 8 GiB, "
        "VM (kvm), load 0.25, THP madvise, flags rep_good erms, host kernel 6.12.9, "
        "gcc (Debian) 14.2.0"
    )


def test_line_leaves_out_what_is_not_known() -> None:
    bare = dataclasses.replace(
        example(),
        family=None,
        model=None,
        stepping=None,
        flags={},
        cores=1,
        llc_bytes=512 << 10,
        mem_bytes=None,
        hypervisor="",
        load=None,
        governor="performance",
        thp="",
        compiler="",
    )
    assert machine_line(bare) == (
        "Example CPU 9000, x86_64, 1 core, LLC 512 KiB, bare metal, governor performance, "
        "host kernel 6.12.9"
    )


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        (None, "LLC 32 MiB,"),
        (32 << 20, "LLC 32 MiB,"),
        (6 << 20, "LLC 32 MiB (6 MiB stay cached),"),
    ],
)
def test_machine_line_tells_what_stays_in_the_cache(kept: int | None, words: str) -> None:
    assert words in machine_line(replace(example(), cached_bytes=kept))
