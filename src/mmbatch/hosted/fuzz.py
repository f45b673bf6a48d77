# SPDX-License-Identifier: GPL-2.0-only
"""Fuzz patched kernel code: libFuzzer makes inputs, the speed-up's bench compares."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import cache, process
from mmbatch.core.errors import MmbatchError
from mmbatch.hosted.check import Tally, attempt, chosen_mutants, stage
from mmbatch.hosted.program import Program
from mmbatch.kernel import apt

PACKAGES = ("clang", "libclang-rt-dev")
"""What has libFuzzer, and links it."""

_LONGEST_INPUT = 256
_INPUT_S = 60  # an input that takes longer is one that hangs
_SLACK_S = 600
_MUTANT_S = 600
_MUTANT_INPUTS = 1_200_000  # a quiet machine tries so many in a minute
_EXECUTED = re.compile(r"^stat::number_of_executed_units: (\d+)$", re.MULTILINE)
_RUNS = re.compile(r"^hosted runs: (\d+)$", re.MULTILINE)
_MESSAGE = re.compile(r"^hosted: (.*)$", re.MULTILINE)
_NO_MEMORY = "oom-"  # libFuzzer's name for the input that it was at when memory ran out
_KEPT = re.compile(r"Test unit written to (\S+)")


@dataclass(frozen=True)
class Found:
    """What came of fuzzing."""

    inputs: int
    runs: int = 0  # calls of patched code that the inputs made; 0 if the bench counts none
    problem: str | None = None  # what was wrong with the last input
    kept: Path | None = None  # the file with that input; None when no input was to blame


def available() -> bool:
    """Return whether this machine can build fuzzers."""
    return shutil.which("clang") is not None and not apt.missing(PACKAGES)


def run(program: Program, tally: Tally, seconds: int, kernels: Sequence[str] = ()) -> None:
    """Fuzz a speed-up on one kernel; do nothing for one without a fuzzer.

    What libFuzzer found worth keeping stays in the cache, and the next run goes on from there.

    Mutants that only the fuzzer can kill are tried as `chosen_mutants` says of the `kernels`.
    """
    if program.manifest.hosted is None or not program.manifest.hosted.fuzz:
        return
    with stage(program.name, "fuzzed", tally) as result:
        if not available():
            result.skipped = f"no clang; {apt.install_command(PACKAGES)}"
            return
        name, series = program.manifest.speedup, program.source.series
        found = fuzz(program.path, cache.root() / "fuzz" / f"{name}-{series}", seconds)
        runs = f", {found.runs} runs" if found.runs else ""
        result.detail = f"{found.inputs} inputs{runs}, none wrong"
        result.problem = found.problem
        if found.problem is not None and found.kept is not None:
            result.problem = f"{found.problem}; again with: {program.path} {found.kept}"
    for mutant in chosen_mutants(program, kernels):
        attempt(program, mutant, tally, _killer)


def fuzz(program: Path, directory: Path, seconds: int, *options: str) -> Found:
    """Fuzz with one program for some seconds, and keep what it finds in a directory."""
    corpus, found = directory / "corpus", directory / "found"
    for part in (corpus, found):
        part.mkdir(parents=True, exist_ok=True)
    # libFuzzer begins with an empty input, and ends if that reaches no code.
    (corpus / "seed").write_bytes(bytes(range(_LONGEST_INPUT)))
    words = [f"-max_total_time={seconds}", f"-max_len={_LONGEST_INPUT}", f"-timeout={_INPUT_S}"]
    words += [f"-artifact_prefix={found}/", "-print_final_stats=1", "-verbosity=0", *options]
    result = process.run(
        [program, *words, corpus],
        action="run the fuzzer",
        timeout_s=seconds + _SLACK_S,
        check=False,
    )
    inputs, runs = (
        int(match[1]) if (match := pattern.search(result.stderr)) else 0
        for pattern in (_EXECUTED, _RUNS)
    )
    if result.rc == 0:
        return Found(inputs, runs, None if inputs else "it ended well, and tried no input")
    written = _KEPT.search(result.stderr)
    messages = _MESSAGE.findall(result.stderr)
    problem = messages[-1] if messages else f"the fuzzer ended with {result.rc}"
    return Found(inputs, runs, problem, Path(written[1]) if written else None)


def _killer(program: Path, work: Path) -> str | None:
    """Fuzz a mutant, from nothing and always the same way."""
    found = fuzz(program, work, _MUTANT_S, f"-runs={_MUTANT_INPUTS}", "-seed=1")
    if found.problem is None:
        return None
    if found.kept is None or found.kept.name.startswith(_NO_MEMORY):
        raise MmbatchError(
            "kill the mutant", f"no input shows it: {found.problem}", "look at the fuzzer's output"
        )
    return f"{found.problem} (after {found.inputs} inputs)"
