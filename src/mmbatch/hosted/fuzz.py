# SPDX-License-Identifier: GPL-2.0-only
"""Fuzz patched kernel code: libFuzzer makes inputs, the speed-up's bench compares."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import process
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.debian import packages
from mmbatch.hosted import mutants
from mmbatch.hosted.check import Bench, Tally, stage
from mmbatch.splice.manifest import Manifest

PACKAGES = ("clang", "libclang-rt-dev")
"""What has libFuzzer, and links it."""

_LONGEST_INPUT = 256
_INPUT_S = 60  # an input that takes longer is one that hangs
_BUILD_SLACK_S = 120
_EXECUTED = re.compile(r"^stat::number_of_executed_units: (\d+)$", re.MULTILINE)
_RUNS = re.compile(r"^hosted runs: (\d+)$", re.MULTILINE)
_MESSAGE = re.compile(r"^hosted: (.*)$", re.MULTILINE)
_NO_MEMORY = "oom-"  # libFuzzer's name for the input that it was at when memory ran out
_KEPT = re.compile(r"Test unit written to (\S+)")


@dataclass(frozen=True)
class Length:
    """How long to fuzz: until the first of both is over.

    Attributes:
        seconds: of libFuzzer, 0 for any number.
        inputs: how many, 0 for any number.
        seed: of its choices; 0 for another one each time.
    """

    seconds: int
    inputs: int = 0
    seed: int = 0


# A quiet machine tries so many in a minute. A busy one must not stop before them.
_MUTANT = Length(600, 1_200_000, seed=1)


@dataclass(frozen=True)
class Found:
    """What came of it.

    Attributes:
        inputs: how many were tried.
        problem: what was wrong with the last of them, None when nothing was.
        kept: the file with that input; None when no input was to blame.
        runs: how many calls of patched code these inputs made, 0 if the bench counts none.
    """

    inputs: int
    problem: str | None
    kept: Path | None
    runs: int = 0

    @property
    def blamed(self) -> bool:
        """Whether an input was wrong; else the fuzzer did not start, or was ended."""
        return self.kept is not None and not self.kept.name.startswith(_NO_MEMORY)


def available() -> bool:
    """Tell whether this machine can build fuzzers."""
    return shutil.which("clang") is not None and not packages.missing(PACKAGES)


def ensure(say: Callable[[str], None], *, install: bool, log: Path | None = None) -> None:
    """Make sure that fuzzers can be built.

    Args:
        say: told what is being installed.
        install: may use apt to install what is missing.
        log: where apt's output goes.

    Raises:
        MmbatchError: something is missing and could not be, or must not be, installed.
    """
    if not available() and install:
        packages.install(PACKAGES, say, log)
    if not available():
        command = packages.install_command(PACKAGES)
        raise MmbatchError(
            "find what fuzzing needs on this machine",
            "no clang, or not its libFuzzer",
            f"run: {command}" if install else f"give --install, or run: {command}",
        )


def try_to_install(say: Callable[[str], None], log: Path) -> None:
    """Install what fuzzing needs where that can be done; without it the stage is skipped."""
    try:
        ensure(say, install=True, log=log)
    except MmbatchError as error:
        say(f"no clang with libFuzzer, so nothing is fuzzed: {error.problem}")


def run(
    bench: Bench,
    say: Callable[[str], None],
    tally: Tally,
    length: Length,
    *,
    mutants_among: Sequence[str],
) -> None:
    """Fuzz a speed-up on one kernel; do nothing for one without a fuzzer.

    What libFuzzer found worth keeping stays in the cache, and the next run goes on from there.

    Args:
        bench: the speed-up on that kernel.
        say: called with a line for each stage that ends.
        tally: counts the stages.
        length: how long to fuzz.
        mutants_among: kernels on which mutants that only the fuzzer can kill are tried, each
            on one of them (`mutants.deal`).
    """
    manifest, source = bench.manifest, bench.source
    if not fuzzes(manifest):
        return
    name = f"{manifest.speedup} on {source.release}"
    with stage(name, "fuzzed", say, tally) as result:
        if not available():
            result.skipped = f"no clang; {packages.install_command(PACKAGES)}"
            return
        found = fuzz(bench.program(fuzz=True), _directory(bench), length)
        runs = f", {found.runs} runs" if found.runs else ""
        result.text = f"{found.inputs} inputs{runs}, none wrong"
        result.problem = found.problem
        if found.problem is not None and found.kept is not None:
            command = f"./mmbatch check {manifest.speedup} --kernel {source.series} --fuzz-input"
            result.problem = f"{found.problem}; again with: {command} {found.kept}"
    candidates = [mutant for mutant in bench.extras.mutants if mutant.fuzz]
    for mutant in mutants.deal(candidates, source.series, mutants_among):
        shared = mutants.shared(bench, mutant.options, fuzz=True)
        mutants.try_mutant(bench, mutant, shared, name, say, tally, _killer, fuzz=True)


def again(bench: Bench, say: Callable[[str], None], tally: Tally, input_file: Path) -> None:
    """Give the fuzzer's program one input that was kept; see `run`."""
    require(bench.manifest)
    program = bench.program(fuzz=True)
    name = f"{bench.manifest.speedup} on {bench.source.release}"
    with stage(name, input_file.name, say, tally) as result:
        found = give(program, input_file)
        result.text = "not wrong"
        result.problem = found.problem


def fuzzes(manifest: Manifest) -> bool:
    """Tell whether a speed-up's bench has a fuzzer."""
    return manifest.hosted is not None and manifest.hosted.fuzz


def by_default(manifest: Manifest) -> bool:
    """Tell whether a speed-up is fuzzed in a check that does not ask for it."""
    return manifest.hosted is not None and manifest.hosted.fuzz and manifest.hosted.fuzz_by_default


def require(manifest: Manifest) -> None:
    """Raise MmbatchError unless a speed-up's bench has a fuzzer."""
    if not fuzzes(manifest):
        raise MmbatchError(
            f"fuzz {manifest.speedup}",
            "it has no fuzzer",
            "name a speed-up whose manifest has fuzz = true",
            ExitCode.USAGE,
        )


def fuzz(program: Path, directory: Path, length: Length) -> Found:
    """Fuzz with one program, and keep what it finds.

    Args:
        program: the fuzzer.
        directory: where inputs that are worth it stay, those that are wrong in `found`.
        length: how long.
    """
    corpus, found = directory / "corpus", directory / "found"
    for part in (corpus, found):
        part.mkdir(parents=True, exist_ok=True)
    return _ended(
        [
            program,
            f"-max_total_time={length.seconds}",
            f"-runs={length.inputs or -1}",
            f"-seed={length.seed}",
            f"-max_len={_LONGEST_INPUT}",
            f"-timeout={_INPUT_S}",
            f"-artifact_prefix={found}/",
            "-print_final_stats=1",
            "-verbosity=0",
            corpus,
        ],
        length.seconds + _BUILD_SLACK_S if length.seconds else None,
    )


def give(program: Path, input_file: Path) -> Found:
    """Give a fuzzer's program one input that was kept."""
    return _ended([program, "-print_final_stats=1", input_file], _INPUT_S)


def _ended(argv: list[str | Path], limit_s: float | None) -> Found:
    result = process.run(argv, action="run the fuzzer", timeout_s=limit_s, check=False)
    executed = _EXECUTED.search(result.stderr)
    inputs = int(executed[1]) if executed else 0
    counted = _RUNS.search(result.stderr)
    runs = int(counted[1]) if counted else 0
    if result.rc == 0:
        return Found(inputs, None if inputs else "it ended well, and tried no input", None, runs)
    written = _KEPT.search(result.stderr)
    messages = _MESSAGE.findall(result.stderr)
    problem = messages[-1] if messages else f"the fuzzer ended with {result.rc}"
    return Found(inputs, problem, Path(written[1]) if written else None)


def _directory(bench: Bench) -> Path:
    return bench.cache.root / "fuzz" / f"{bench.manifest.speedup}-{bench.source.series}"


def _killer(program: Path, work: Path) -> str | None:
    """Fuzz a mutant, from nothing and always the same way."""
    found = fuzz(program, work, _MUTANT)
    if found.problem is not None and not found.blamed:
        raise MmbatchError(
            "kill the mutant", f"no input shows it: {found.problem}", "look at the fuzzer's output"
        )
    return found.problem and f"{found.problem} (after {found.inputs} inputs)"
