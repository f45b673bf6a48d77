# SPDX-License-Identifier: GPL-2.0-only
"""The page faults of a guest's CPUs, from the threads of QEMU."""

from __future__ import annotations

from pathlib import Path

from mmbatch.guest.faults import FaultCounter


def thread(proc: Path, tid: int, name: str, faults: int) -> None:
    """Write what procfs says of a thread of process 7."""
    directory = proc / f"7/task/{tid}"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "stat").write_text(f"{tid} ({name}) S 1 7 7 0 -1 4194304 {faults} 0 3 0 1 1 0 0\n")


def test_faults_between_two_marks_are_counted_by_cpu(tmp_path: Path) -> None:
    counter = FaultCounter(tmp_path)
    counter.started(7)
    thread(tmp_path, 8, "qemu-system-x86", 1000)
    thread(tmp_path, 9, "CPU 0/TCG", 500)
    counter.read("[    1.0] something else")
    counter.read("@@ faults first bind")
    thread(tmp_path, 8, "qemu-system-x86", 5000)
    thread(tmp_path, 9, "CPU 0/TCG", 700)
    thread(tmp_path, 10, "CPU 1/TCG", 40)
    assert counter.values == []
    counter.read("@@ faults first bind")
    assert counter.values == [
        ("first bind: page faults of CPU 0", 200.0),
        ("first bind: page faults of CPU 1", 40.0),
    ]


def test_names_are_apart_and_another_round_starts_anew(tmp_path: Path) -> None:
    counter = FaultCounter(tmp_path)
    counter.started(7)
    thread(tmp_path, 9, "CPU 0/KVM", 1)
    for line in ("@@ faults a", "@@ faults b"):
        counter.read(line)
    thread(tmp_path, 9, "CPU 0/KVM", 3)
    counter.read("@@ faults b")
    assert counter.values == [("b: page faults of CPU 0", 2.0)]
    counter.read("@@ faults b")
    thread(tmp_path, 9, "CPU 0/KVM", 10)
    counter.read("@@ faults a")
    assert counter.values[1:] == [("a: page faults of CPU 0", 9.0)]
