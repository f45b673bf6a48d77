# SPDX-License-Identifier: GPL-2.0-only
"""Fuzz patched kernel code: libFuzzer makes inputs, the speed-up's bench compares."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from mmbatch.core import disk, process
from mmbatch.core import paths as checkout
from mmbatch.core.cache import Cache
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.debian import packages
from mmbatch.hosted import build as hostedbuild
from mmbatch.hosted.check import Bench, Tally, stage
from mmbatch.hosted.mutants import Mutant, fits, load_extras, mutate
from mmbatch.kernel.sources import Source
from mmbatch.splice import trees as splice
from mmbatch.splice.manifest import Manifest

PACKAGES = ("clang", "libclang-rt-dev")
"""What has libFuzzer, and links it."""

_LONGEST_INPUT = 256
_INPUT_S = 60  # an input that takes longer is one that hangs
_MUTANT_S = 60
_BUILD_SLACK_S = 120
_EXECUTED = re.compile(r"^stat::number_of_executed_units: (\d+)$", re.MULTILINE)
_SAID = re.compile(r"^hosted: (.*)$", re.MULTILINE)
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


@dataclass(frozen=True)
class Found:
    """What came of it.

    Attributes:
        inputs: how many were tried.
        problem: what was wrong with the last of them, None when nothing was.
        kept: the file with that input; None when no input was to blame.
    """

    inputs: int
    problem: str | None
    kept: Path | None

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
    cache: Cache,
    source: Source,
    manifests: list[Manifest],
    jobs: int,
    say: Callable[[str], None],
    tally: Tally,
    length: Length,
    *,
    mutants: bool,
) -> None:
    """Fuzz the last of some speed-ups on one kernel; nothing for one without a fuzzer.

    What libFuzzer found worth keeping stays in the cache, and the next run goes on from there.

    Args:
        cache: where all is built.
        source: the kernel.
        manifests: the speed-up after those that it needs.
        jobs: how many compilers at a time.
        say: told of each stage as it ends.
        tally: counts them.
        length: how long.
        mutants: see that the fuzzer catches the mistakes that are left to it.
    """
    manifest = manifests[-1]
    if not fuzzes(manifest):
        return
    name = f"{manifest.speedup} on {source.release}, fuzzed"
    if not available():
        tally.skipped.append(f"{name}: no clang; {packages.install_command(PACKAGES)}")
        return
    bench = _bench(cache, source, manifests, jobs)
    with stage(name, say, tally) as one:
        found = fuzz(_program(bench), _folder(bench), length)
        one.text = f"{found.inputs} inputs, none wrong"
        one.problem = found.problem
        if found.problem is not None and found.kept is not None:
            again = f"./mmbatch check {manifest.speedup} --kernel {source.series} --fuzz-input"
            one.problem = f"{found.problem}; again with: {again} {found.kept}"
    if mutants:
        for mutant in load_extras(manifest.room / "check.toml").mutants:
            if mutant.fuzz and source.series in mutant.kernels:
                _try_mutant(bench, mutant, name, say, tally)


def again(
    cache: Cache,
    source: Source,
    manifests: list[Manifest],
    jobs: int,
    say: Callable[[str], None],
    tally: Tally,
    kept: Path,
) -> None:
    """Give the fuzzer's program one input that was kept; see `run`."""
    manifest = manifests[-1]
    require(manifest)
    program = _program(_bench(cache, source, manifests, jobs))
    with stage(f"{manifest.speedup} on {source.release}, {kept.name}", say, tally) as one:
        found = give(program, kept)
        one.text = "not wrong"
        one.problem = found.problem


def fuzzes(manifest: Manifest) -> bool:
    """Tell whether a speed-up's bench has a fuzzer."""
    return manifest.hosted is not None and manifest.hosted.fuzz


def require(manifest: Manifest) -> None:
    """Raise MmbatchError unless a speed-up's bench has a fuzzer."""
    if not fuzzes(manifest):
        raise MmbatchError(
            f"fuzz {manifest.speedup}",
            "it has no fuzzer",
            "name a speed-up whose manifest has fuzz = true",
            ExitCode.USAGE,
        )


def fuzz(program: Path, folder: Path, length: Length) -> Found:
    """Fuzz with one program, and keep what it finds.

    Args:
        program: the fuzzer.
        folder: where inputs that are worth it stay, those that are wrong in `found`.
        length: how long.
    """
    corpus, found = folder / "corpus", folder / "found"
    for one in (corpus, found):
        one.mkdir(parents=True, exist_ok=True)
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


def give(program: Path, kept: Path) -> Found:
    """Give a fuzzer's program one input that was kept."""
    return _ended([program, "-print_final_stats=1", kept], _INPUT_S)


def _ended(argv: list[str | Path], limit_s: float | None) -> Found:
    result = process.run(argv, action="run the fuzzer", timeout_s=limit_s, check=False)
    executed = _EXECUTED.search(result.stderr)
    inputs = int(executed[1]) if executed else 0
    if result.rc == 0:
        return Found(inputs, None if inputs else "it ended well, and tried no input", None)
    kept = _KEPT.search(result.stderr)
    said = _SAID.findall(result.stderr)
    words = said[-1] if said else f"the fuzzer ended with {result.rc}"
    return Found(inputs, words, Path(kept[1]) if kept else None)


def _bench(cache: Cache, source: Source, manifests: list[Manifest], jobs: int) -> Bench:
    spliced = splice.splice(cache, source, manifests, checkout.MACROS, lambda text: None)
    return Bench(cache, source, spliced, manifests[-1], jobs, lambda text: None)


def _program(bench: Bench) -> Path:
    return bench.program(fuzz=True)


def _folder(bench: Bench) -> Path:
    return bench.cache.root / "fuzz" / f"{bench.manifest.speedup}-{bench.source.series}"


def _try_mutant(
    bench: Bench, mutant: Mutant, name: str, say: Callable[[str], None], tally: Tally
) -> None:
    """See that the fuzzer catches a mistake, from nothing and always the same way."""
    title = f"{name}, mistake '{mutant.name}'"
    with stage(title, say, tally) as one, disk.temporary_dir(bench.cache.builds, "mutant") as work:
        if not fits(mutant, bench.spliced.path):
            one.skipped = "this release does not have the code"
            return
        (work / "tree").mkdir()
        mutated = mutate(mutant, bench.spliced.path, work / "tree")
        program = hostedbuild.link(
            *(work, bench.tree(mutant.options), mutated, bench.manifest, checkout.HOSTED),
            bench.jobs,
            work / "mutant.log",
            fuzz=True,
        )
        found = fuzz(program, work, replace(Length(_MUTANT_S), seed=1))
        if found.problem is None:
            one.problem = f"it was not caught by {found.inputs} inputs; {mutant.why}"
        elif not found.blamed:
            one.problem = f"no input shows it: {found.problem}"
        else:
            one.text = f"caught after {found.inputs} inputs by {found.problem}"
            tally.caught[title] = found.problem
