# SPDX-License-Identifier: GPL-2.0-only
"""Litmus tests: reading them, the model of x86, and runs on CPUs of this machine."""

import os
import platform
from pathlib import Path

import pytest

from mmbatch.core import paths
from mmbatch.core.errors import MmbatchError
from mmbatch.hosted import check, litmus, silicon

TWO_CPUS = pytest.mark.skipif(
    platform.machine() != "x86_64" or len(os.sched_getaffinity(0)) < 2,
    reason="takes two CPUs of x86-64",
)


def write(folder: Path, *rows: str, condition: str) -> litmus.Litmus:
    """Write a test, and read it."""
    path = folder / "toy.litmus"
    heads = " | ".join(f"P{number}" for number in range(rows[0].count("|") + 1))
    code = "".join(f"{row} ;\n" for row in (heads, *rows))
    path.write_text(
        f'X86_64 toy\n"A toy"\n{{ }}\n{code}exists ({condition})\n'
        "(* Result: Never. Without sfence: Never. *)\n"
    )
    return litmus.read(path)


@pytest.mark.parametrize(
    ("rows", "condition", "verdict"),
    [
        # Store buffering: the one order that TSO gives up, unless there is a fence.
        (["movq $1,x|movq $1,y", "movq y,%rax|movq x,%rax"], r"0:rax=0 /\ 1:rax=0", "Sometimes"),
        (
            ["movq $1,x|movq $1,y", "mfence|mfence", "movq y,%rax|movq x,%rax"],
            r"0:rax=0 /\ 1:rax=0",
            "Never",
        ),
        (
            ["movq $1,x|movq $1,y", "sfence|sfence", "movq y,%rax|movq x,%rax"],
            r"0:rax=0 /\ 1:rax=0",
            "Sometimes",
        ),
        # Message passing: plain stores stay in order, and load buffering does not happen.
        (["movq $1,x|movq y,%rax", "movq $1,y|movq x,%rbx"], r"1:rax=1 /\ 1:rbx=0", "Never"),
        (["movq x,%rax|movq y,%rax", "movnti $1,y|movnti $1,x"], r"0:rax=1 /\ 1:rax=1", "Never"),
        # A streaming store overtakes and is overtaken.
        (["movq $1,x|movq y,%rax", "movnti $1,y|movq x,%rbx"], r"1:rax=1 /\ 1:rbx=0", "Sometimes"),
        (["movnti $1,x|movq y,%rax", "movq $1,y|movq x,%rbx"], r"1:rax=1 /\ 1:rbx=0", "Sometimes"),
        (
            ["movnti $1,x|movq y,%rax", "mfence|movq x,%rbx", "movq $1,y|"],
            r"1:rax=1 /\ 1:rbx=0",
            "Never",
        ),
        # One location: the CPU sees its own stores, and they stay in order for others.
        (["movnti $1,x", "movq x,%rax"], "0:rax=0", "Never"),
        (["movnti $1,x|movq x,%rax", "movq $2,x|movq x,%rbx"], r"1:rax=2 /\ 1:rbx=1", "Never"),
        # Two locked instructions lose no addition.
        (["lock addq $1,x|lock addq $1,x", "movq x,%rax|"], "0:rax=2", "Sometimes"),
        (
            ["lock addq $1,x|lock addq $1,x", "movq x,%rax|movq x,%rax"],
            r"0:rax=1 /\ 1:rax=1",
            "Never",
        ),
    ],
)
def test_model(tmp_path: Path, rows: list[str], condition: str, verdict: str) -> None:
    assert litmus.verdict(write(tmp_path, *rows, condition=condition)) == verdict


@pytest.mark.parametrize(
    ("row", "condition"),
    [("movq 1,x", "0:rax=0"), ("movq x,%rax", "0:rbx=0"), ("movq x,%rax", "rax=0")],
)
def test_refused(tmp_path: Path, row: str, condition: str) -> None:
    with pytest.raises(MmbatchError, match=r"read toy\.litmus"):
        write(tmp_path, row, condition=condition)


OURS = [test for path in sorted(paths.SPEEDUPS.iterdir()) for test in litmus.tests(path)]


def test_all_verdicts_are_as_the_files_say() -> None:
    tally = check.Tally()
    silicon.prove("all", OURS, lambda _: None, tally)
    assert tally.failed == []
    assert tally.passed == len(OURS) > 0


def test_a_wrong_verdict_fails(tmp_path: Path) -> None:
    rows = "movnti $1,x|movq y,%rax", "movq $1,y|movq x,%rbx"
    test = write(tmp_path, *rows, condition=r"1:rax=1 /\ 1:rbx=0")
    tally = check.Tally()
    silicon.prove("toy", [test], lambda _: None, tally)
    assert "the model says Sometimes" in tally.failed[0]


@TWO_CPUS
def test_on_two_cpus(tmp_path: Path) -> None:
    """In a few runs, nothing that is forbidden is seen, and a test with more CPUs is skipped."""
    tally = check.Tally()
    tests = [test for test in OURS if test.name in ("plain-store", "migrated-plain")]
    silicon.run("short", tests, 2, tmp_path, lambda _: None, tally)
    assert tally.failed == []
    few = [test for test in tests if len(test.threads) <= len(os.sched_getaffinity(0))]
    assert tally.passed == 4 * len(few)
    assert len(tally.skipped) == len(tests) - len(few)


@TWO_CPUS
def test_what_the_model_forbids_fails(tmp_path: Path) -> None:
    """The program does observe: each run of this test ends as its condition says."""
    test = write(tmp_path, "movq $1,x|movq $1,y", "movq x,%rax|movq y,%rax", condition="0:rax=1")
    for seconds in (1, 10, 60):  # in less, other programs may leave one of them no time at all
        tally = check.Tally()
        silicon.run("toy", [test], seconds, tmp_path, lambda _: None, tally)
        if len(tally.failed) == 4:
            break
    assert len(tally.failed) == 4
    assert "the model forbids it" in tally.failed[0]
