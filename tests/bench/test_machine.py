# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from fake_run import machine as example
from mmbatch.bench import machine

DATA = Path(__file__).parents[1] / "data/machine"


def test_the_first_cpu_of_a_file() -> None:
    found = machine.parse_cpuinfo((DATA / "intel.cpuinfo").read_text())
    assert (found["cpu family"], found["model"], found["stepping"]) == ("6", "143", "8")
    assert {"fsrm", "movdir64b", "avx512f"} <= set(found["flags"].split())
    assert "model name" not in machine.parse_cpuinfo((DATA / "arm64.cpuinfo").read_text())


def test_last_level_cache_skips_zero_and_instruction_caches() -> None:
    text = "LEVEL1_ICACHE_SIZE 32768\nLEVEL2_CACHE_SIZE 524288\nLEVEL3_CACHE_SIZE 33554432\n"
    assert machine.parse_llc(text + "LEVEL4_CACHE_SIZE 0\n") == 32 << 20
    assert machine.parse_llc("") is None


@pytest.mark.parametrize(
    ("lscpu", "flags", "name"),
    [
        ("Hypervisor vendor:   KVM\n", "hypervisor", "kvm"),
        ("", "fpu hypervisor", "unknown"),
        ("", "fpu", ""),
    ],
)
def test_hypervisor(lscpu: str, flags: str, name: str) -> None:
    assert machine.parse_hypervisor(lscpu, flags) == name


def test_this_machine() -> None:
    found = machine.describe()
    assert found.cores == len(os.sched_getaffinity(0))
    assert found.mem_bytes and found.available_bytes and found.cpu and found.load is not None
    assert (found.host_kernel, found.arch) == (os.uname().release, os.uname().machine)
    assert machine.output("no-such-program") == ""


@pytest.mark.parametrize(
    ("model", "name"), [(17, "Zen 4"), (99, "Example 9000 (family 25 model 99)")]
)
def test_a_cpu_has_the_name_that_people_use(model: int, name: str) -> None:
    here = dataclasses.replace(example(), model=model, cpu="Example(R) 9000 CPU @ 2.00GHz")
    assert machine.name(here) == name
