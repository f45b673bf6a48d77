# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

import os
from pathlib import Path

from mmbatch.bench import machine

DATA = Path(__file__).parents[1] / "data/machine"


def test_the_first_cpu_of_a_file() -> None:
    found = machine.fields((DATA / "intel.cpuinfo").read_text())
    assert (found["cpu family"], found["model"], found["stepping"]) == ("6", "143", "8")
    assert {"fsrm", "movdir64b", "avx512f"} <= set(found["flags"].split())
    assert "model name" not in machine.fields((DATA / "arm64.cpuinfo").read_text())


def test_this_machine() -> None:
    found = machine.describe()
    assert found.cores == len(os.sched_getaffinity(0))
    assert found.mem_bytes and found.available_bytes and found.cpu and found.load >= 0
    assert (found.host_kernel, found.arch) == (os.uname().release, os.uname().machine)
    assert machine.output("no-such-program") == ""
