# SPDX-License-Identifier: GPL-2.0-only
"""Break spliced code on purpose, and see that the speed-ups' own checks notice it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import paths
from mmbatch.core.disk import temporary_dir
from mmbatch.core.errors import MmbatchError
from mmbatch.hosted import build
from mmbatch.hosted.check import Bench, Mutant, Tally, at_once, check_program, stage
from mmbatch.kernel.kbuild import ObjectTree

_STRIDE = 11
_REACHED = ("include", "arch/x86", "mm", "lib")
"""Directories that files reach from others by "..", so they must not be links."""


@dataclass(frozen=True)
class Shared:
    """What all mutants of a configuration share.

    Attributes:
        objects: the kernel's own objects.
        directory: where the program without a mutant was built.
    """

    objects: ObjectTree
    directory: Path


def deal(mutants: Sequence[Mutant], series: str, among: Sequence[str]) -> list[Mutant]:
    """Return the mutants that are tried on one of several kernels.

    They show what the comparison detects, which differs little between kernels. So each is
    tried on one of the kernels that it fits, in turn. An optional one is tried on all, because
    it may fit the code of one only.

    Args:
        mutants: all of a speed-up.
        series: the kernel, such as "7.3".
        among: all kernels on which mutants are tried; none means no mutants.
    """
    dealt = []
    for number, mutant in enumerate(mutants):
        fitting = [name for name in among if name in mutant.kernels]
        chosen = fitting if mutant.optional or not fitting else [fitting[number % len(fitting)]]
        if series in chosen:
            dealt.append(mutant)
    return dealt


def run(bench: Bench, say: Callable[[str], None], tally: Tally, *, among: Sequence[str]) -> None:
    """Check the mutants of a speed-up on one kernel.

    Args:
        bench: the speed-up on that kernel.
        say: called with a line for each mutant.
        tally: counts them.
        among: kernels on which mutants are tried, each on one of them (`deal`).
    """
    candidates = [mutant for mutant in bench.extras.mutants if not mutant.fuzz]
    chosen = deal(candidates, bench.source.series, among)
    built = {options: shared(bench, options) for options in {m.options for m in chosen}}
    name = f"{bench.manifest.speedup} on {bench.source.release}"

    def attempt(mutant: Mutant) -> None:
        try_mutant(bench, mutant, built[mutant.options], name, say, tally, _killer)

    at_once(bench.jobs, [functools.partial(attempt, mutant) for mutant in chosen])


def _killer(program: Path, work: Path) -> str | None:
    event = check_program(program, _STRIDE)
    return None if event.good else event.text


def shared(bench: Bench, options: tuple[str, ...], *, fuzz: bool = False) -> Shared:
    """Build what all mutants of a configuration share."""
    objects = bench.objects(options)
    return Shared(objects, bench.program(options, fuzz=fuzz).parent)


def try_mutant(
    bench: Bench,
    mutant: Mutant,
    shared: Shared,
    name: str,
    say: Callable[[str], None],
    tally: Tally,
    killer: Callable[[Path, Path], str | None],
    *,
    fuzz: bool = False,
) -> None:
    """Build a mutant, see that it is killed, and count that as a stage.

    Args:
        bench: the speed-up on a kernel.
        mutant: what to change in it.
        shared: what it shares with the other mutants of its configuration.
        name: of the speed-up and the kernel, for the stage.
        say: called with the stage's line.
        tally: counts it.
        killer: runs the program, with a directory for files; returns what killed the mutant.
        fuzz: build it with libFuzzer.
    """
    case = f"{'fuzzed, ' if fuzz else ''}mutant '{mutant.name}'"
    with (
        stage(name, case, say, tally) as result,
        temporary_dir(bench.cache.builds, "mutant") as work,
    ):
        if not fits(mutant, bench.spliced.path):
            result.skipped = "this release does not have the code"
            return
        (work / "tree").mkdir()
        mutated = mutate(mutant, bench.spliced.path, work / "tree")
        program = build.link(
            *(work, shared.objects, mutated, bench.manifest, paths.HOSTED),
            bench.jobs if fuzz else 1,
            work / "mutant.log",
            fuzz=fuzz,
            sibling=shared.directory,
            changed=mutant.file,
        )
        killed_by = killer(program, work)
        if killed_by is None:
            result.problem = f"it survived; {mutant.why}"
        else:
            result.text = f"killed by {killed_by}"
            tally.killed[f"{name}, {case}"] = killed_by


def fits(mutant: Mutant, spliced: Path) -> bool:
    """Tell whether the text that a mutant replaces is in a spliced tree.

    Raises:
        MmbatchError: it is not, or not once, and the mutant is not optional.
    """
    path = spliced / mutant.file
    count = path.read_text(encoding="utf-8").count(mutant.old) if path.exists() else 0
    if count == 1:
        return True
    if count == 0 and mutant.optional:
        return False
    raise MmbatchError(
        f"make the mutant '{mutant.name}'",
        f"the text to replace occurs {count} times in {mutant.file} instead of once",
        "bring check.toml up to date with the code",
    )


def mutate(mutant: Mutant, spliced: Path, work: Path) -> Path:
    """Return a copy of what a compiler reads of a spliced tree, mutated.

    Directories that files reach from others by "..", and those of the mutated file, are real;
    everything else is a link to the spliced tree.

    Args:
        mutant: what to change.
        spliced: the tree.
        work: an empty directory.
    """
    real = {directory for name in (*_REACHED, mutant.file) for directory in Path(name, "x").parents}
    real.remove(Path(mutant.file))
    for directory in sorted(real):
        (work / directory).mkdir(parents=True, exist_ok=True)
        for path in (spliced / directory).iterdir():
            if directory / path.name not in real:
                (work / directory / path.name).symlink_to(path)
    path = work / mutant.file
    text = path.read_text(encoding="utf-8").replace(mutant.old, mutant.new)
    path.unlink()
    path.write_text(text, encoding="utf-8")
    return work
