# SPDX-License-Identifier: GPL-2.0-only
"""Fuzzers: how libFuzzer's output is read, and one that must find its way by coverage."""

import shutil
import subprocess
from pathlib import Path

import pytest

import real_kernel
from fake_archive import source_of
from fake_program import script, splice_toys
from mmbatch.hosted import fuzz
from mmbatch.hosted.check import Tally
from mmbatch.hosted.fuzz import Found
from mmbatch.hosted.program import Program
from mmbatch.splice.manifest import Hosted, Manifest, Mutant, load

SPLICE = """
title = "Toys"
[hosted]
own = ["toys.c"]
entries = ["toys_open"]
fuzz = true
"""

PATCHED = """
int toys_open(const unsigned char *lock, unsigned long size);
int toys_open(const unsigned char *lock, unsigned long size)
{
	if (size < 4 || lock[0] != 'b')
		return 0;
	if (lock[1] != 'a')
		return 0;
	if (lock[2] != 't')
		return 0;
	if (lock[3] == '!')
		*(volatile int *)8 = 0;
	return lock[3] == 'h';
}
"""

BENCH = """
#include <linux/kernel.h>
#include "hosted.h"

int toys_open(const unsigned char *lock, unsigned long size);
HOSTED_ENTRY(toys_open);

static int toys_fuzz(const unsigned char *data, unsigned long size, struct hosted_check *check)
{
	if (!HOSTED_CALL(toys_open, HOSTED_PATCHED, data, size))
		return 0;
	hosted_format(check->text, sizeof(check->text), "%lu bytes open it", size);
	return -1;
}

const struct hosted_bench hosted_bench = { .speedup = "toys", .fuzz = toys_fuzz };
"""

FOUND = "Test unit written to /found/crash-1"
MUTANT = Mutant("one too far", "a toy more", "mm/toys.c", "<", "<=", fuzz=True)


def fuzzer(directory: Path, text: str) -> Path:
    return script(directory / "program", f"echo \"$@\" > '{directory}/asked'\n{text}")


def test_inputs_are_counted_and_kept_in_a_directory(tmp_path: Path) -> None:
    lines = "stat::number_of_executed_units: 1234\nhosted runs: 5678"
    program = fuzzer(tmp_path, f"echo '{lines}' >&2")
    assert fuzz.fuzz(program, tmp_path / "toys", 5, "-seed=3") == Found(1234, 5678)
    asked = (tmp_path / "asked").read_text().split()
    assert {"-max_total_time=5", "-seed=3"} <= set(asked)
    assert asked[-1] == str(tmp_path / "toys" / "corpus")
    assert f"-artifact_prefix={tmp_path}/toys/found/" in asked


class Toys:
    """What the stages build: scripts in place of fuzzers, and a tree with one file."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        self.plain = "echo 'stat::number_of_executed_units: 9' >&2"
        self.mutant = f"echo 'hosted: toy 3; {FOUND}' >&2; exit 77"
        splice_toys(directory, monkeypatch)
        monkeypatch.setenv("MMBATCH_CACHE", str(directory / "cache"))
        monkeypatch.setattr(fuzz, "available", lambda: True)
        monkeypatch.setattr(
            Program, "path", property(lambda _: fuzzer(directory / "plain", self.plain))
        )
        monkeypatch.setattr(Program, "mutant", lambda *_: fuzzer(directory / "mutant", self.mutant))

    def run(self) -> Tally:
        tally, directory, hosted = Tally(), self.directory / "toys", Hosted(fuzz=True)
        manifest = Manifest("toys", hosted=hosted, mutants=(MUTANT,), directory=directory)
        program = Program(source_of(self.directory), [manifest], jobs=1, fuzz=True)
        fuzz.run(program, tally, 1, ["7.3"])
        return tally


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toys:
    return Toys(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("end", "problem"),
    [
        (
            f"echo 'hosted: toy 3' >&2; echo '{FOUND}' >&2; exit 77",
            "toy 3; again with: {}/plain/program /found/crash-1",
        ),
        ("exit 127", "the fuzzer ended with 127"),
        ("exit 0", "it ended well, and tried no input"),
    ],
)
def test_what_to_give_again_is_told_where_an_input_was_kept(
    toys: Toys, end: str, problem: str
) -> None:
    toys.plain = end
    problem = problem.format(toys.directory)
    assert toys.run().failed == [f"toys on 7.3.4, fuzzed: {problem}"]


def test_a_mutant_is_killed_by_an_input(toys: Toys) -> None:
    tally = toys.run()
    assert (tally.passed, tally.failed, tally.killed) == (2, [], 1)
    assert tally.outcomes[-1].detail == f"killed by toy 3; {FOUND} (after 0 inputs)"
    asked = (toys.directory / "mutant" / "asked").read_text().split()
    assert {"-runs=1200000", "-max_total_time=600", "-seed=1"} <= set(asked)


@pytest.mark.parametrize(
    ("death", "problem"),
    [
        ("kill -9 $$", "ended with -9"),
        ("echo 'hosted: no memory for the arena' >&2; exit 70", "no memory for the arena"),
        ("echo 'out-of-memory; Test unit written to /found/oom-1' >&2; exit 71", "ended with 71"),
        ("exit 0", "tried no input"),
    ],
)
def test_a_fuzzer_that_dies_by_itself_kills_nothing(toys: Toys, death: str, problem: str) -> None:
    toys.mutant = death
    tally = toys.run()
    assert (tally.passed, tally.killed) == (1, 0)
    (line,) = tally.failed
    assert "mutant 'one too far': cannot kill the mutant: no input shows it: " in line
    assert problem in line


def test_a_mutant_that_no_input_shows_survives(toys: Toys) -> None:
    toys.mutant = toys.plain
    tally = toys.run()
    assert tally.killed == 0
    assert "it survived; a toy more" in tally.failed[0]


def test_without_clang_it_is_skipped_and_says_what_to_do(
    toys: Toys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz, "available", lambda: False)
    (line,) = toys.run().skipped
    assert "apt-get install" in line
    assert "clang libclang-rt-dev" in line


@pytest.fixture(scope="module")
def lock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fuzzer of a lock that opens for "bath", and dies of "bat!"."""
    lacks = [name for name in ("gcc", "make", "clang", "objcopy") if shutil.which(name) is None]
    if lacks:
        pytest.skip(f"lacks {', '.join(lacks)}")
    source = real_kernel.newest()
    speedup_dir = tmp_path_factory.mktemp("speedups") / "toys"
    (speedup_dir).mkdir(parents=True)
    (speedup_dir / "speedup.toml").write_text(SPLICE)
    (speedup_dir / "bench.c").write_text(BENCH)
    (speedup_dir / "toys.c").write_text(PATCHED)
    return Program(source, [load(speedup_dir)], fuzz=True).path


@pytest.mark.kernel
def test_coverage_leads_to_what_chance_would_not_find(lock: Path, tmp_path: Path) -> None:
    found = fuzz.fuzz(lock, tmp_path, 600, "-seed=1")
    assert found.problem is not None
    assert found.inputs < 256**3
    assert found.kept is not None
    word = found.kept.read_bytes()[:4]
    assert word in (b"bath", b"bat!")
    assert ("open it" in found.problem) == (word == b"bath")


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("word", "problem"), [("bath", "4 bytes open it"), ("bat!", "signal 11"), ("bats", None)]
)
def test_an_input_does_the_same_again(
    lock: Path, tmp_path: Path, word: str, problem: str | None
) -> None:
    (tmp_path / "input").write_text(word)
    argv = [lock, tmp_path / "input"]
    done = subprocess.run(argv, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode == 0) == (problem is None)
    assert f"hosted: {problem or ''}" in done.stderr or problem is None
