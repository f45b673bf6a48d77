# SPDX-License-Identifier: GPL-2.0-only
"""Break spliced code on purpose, and see that the speed-ups' own checks notice it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from mmbatch.core import cache, process
from mmbatch.core.errors import MmbatchError
from mmbatch.hosted.check import Tally, check_program, stage
from mmbatch.hosted.program import Program
from mmbatch.splice.manifest import Mutant

_STRIDE = 11
_REACHED = ("include", "arch/x86", "mm", "lib")
"""Directories that files reach from others by "..", so they must not be links."""


def chosen(program: Program, kernels: Sequence[str], *, fuzz: bool) -> list[Mutant]:
    """Return the mutants that are tried on a program's kernel.

    They show what the comparison detects, which differs little between kernels. So each is
    tried on the first that it fits of the `kernels` that are checked. An optional one is tried
    on all, because it may fit the code of one only.
    """
    found = []
    for mutant in program.manifest.mutants:
        fitting = [name for name in kernels if name in mutant.kernels]
        tried = fitting if mutant.optional else fitting[:1]
        if mutant.fuzz == fuzz and program.source.series in tried:
            found.append(mutant)
    return found


def run(program: Program, tally: Tally, kernels: Sequence[str]) -> None:
    """Check that each mutant of a speed-up on one kernel is killed."""

    def killer(mutant: Path, _: Path) -> str | None:
        event = check_program(mutant, _STRIDE)
        return None if event.good else event.text

    mutants = chosen(program, kernels, fuzz=False)
    built = {m.options: replace(program, options=m.options) for m in mutants}
    for each in built.values():
        _ = each.path
    jobs = [functools.partial(attempt, built[m.options], m, tally, killer) for m in mutants]
    list(process.side_by_side(jobs, program.jobs))


def attempt(
    program: Program,
    mutant: Mutant,
    tally: Tally,
    killer: Callable[[Path, Path], str | None],
) -> None:
    """Build a mutant, see that it is killed, and count that as a stage.

    The `killer` runs it, with a directory for files, and returns what killed it.
    """
    case = f"{'fuzzed, ' if program.fuzz else ''}mutant '{mutant.name}'"
    with stage(program.name, case, tally) as result, cache.temporary_dir("mutant") as work:
        if not fits(mutant, program.spliced.path):
            result.skipped = "this release does not have the code"
            return
        (work / "tree").mkdir()
        mutate(mutant, program.spliced.path, work / "tree")
        killed_by = killer(program.mutant(work, work / "tree", mutant.file), work)
        if killed_by is None:
            result.problem = f"it survived; {mutant.why}"
        else:
            result.text = f"killed by {killed_by}"
            tally.killed += 1


def fits(mutant: Mutant, spliced: Path) -> bool:
    """Tell whether the text that a mutant replaces is in a spliced tree.

    Raises:
        MmbatchError: it is not, or not once, and the mutant is not optional.
    """
    path = spliced / mutant.file
    count = path.read_text(encoding="utf-8").count(mutant.old) if path.exists() else 0
    if count == 1 or (count == 0 and mutant.optional):
        return count == 1
    raise MmbatchError(
        f"make the mutant '{mutant.name}'",
        f"the text to replace occurs {count} times in {mutant.file} instead of once",
        "bring the mutant in speedup.toml up to date with the code",
    )


def mutate(mutant: Mutant, spliced: Path, work: Path) -> None:
    """Put a copy of what a compiler reads of a spliced tree, mutated, into an empty directory.

    Directories that files reach from others by "..", and those of the mutated file, are real;
    everything else is a link to the spliced tree.
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
