# SPDX-License-Identifier: GPL-2.0-only
"""Run the speed-ups' own checks on a kernel, in several builds, and on code broken on purpose."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from mmbatch.core import cache, log, process
from mmbatch.core.errors import MmbatchError
from mmbatch.hosted import events
from mmbatch.hosted import run as hosted_run
from mmbatch.hosted.events import CaseOutcome
from mmbatch.hosted.posted import NoEffectError
from mmbatch.hosted.program import Program
from mmbatch.splice.manifest import Mutant

SANITIZERS = "ASan and UBSan"
_TIMEOUT_S = 3600
_SANITIZED_STRIDE = 7
_MOST_AT_ONCE = 2  # so that memory and its bandwidth suffice
_UNDRAINED = "hosted: undrained: "
_SANITIZER_ENV = {
    "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigill=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


_ORDER = (
    "Memory is identical. Another CPU may see a later plain store first, but not what follows a "
    "lock or an atomic (docs/ordering.md)"
)


@dataclass
class Tally:
    """How stages ended, in that order, how many inputs were compared, and mutants killed."""

    outcomes: list[CaseOutcome] = field(default_factory=list)
    combinations: int = 0
    killed: int = 0

    @property
    def passed(self) -> int:
        """How many stages were good."""
        return sum(outcome.passed for outcome in self.outcomes)

    @property
    def failed(self) -> list[str]:
        """What was wrong, one line each."""
        return [f"{end.title}: {end.problem}" for end in self.outcomes if end.problem is not None]

    @property
    def skipped(self) -> list[str]:
        """What could not be seen here, one line each."""
        return [f"{end.title}: {end.skipped}" for end in self.outcomes if end.skipped is not None]


def run(program: Program, tally: Tally, parts: Sequence[str]) -> None:
    """Check a speed-up on one kernel: "equality" itself, in more "configurations", "sanitizers".

    If the program has posted sides, each of them is checked in the place of the speed-up.

    Raises:
        MmbatchError: posted code can't be compiled, or changes nothing that the check runs.
    """
    ways = [("", program, 1)] if "equality" in parts else []
    if "configurations" in parts:
        ways += [
            (config.name, replace(program, options=config.options), 1)
            for config in program.manifest.configurations
            if program.source.series in config.kernels
        ]
    if "sanitizers" in parts:
        ways.append((SANITIZERS, replace(program, sanitize=True), _SANITIZED_STRIDE))
    if program.posted:
        _ = program.path  # what fails here is for the user to mend, and no stage
    building = threading.Lock()  # a build has compilers enough of its own

    def one(name: str, built: Program, stride: int) -> None:
        try:
            with building:
                sides = built.sides
        except NoEffectError as error:
            with stage(program.name, name, tally) as result:
                result.skipped = str(error)
            return
        for number in range(len(sides)) if program.posted else [None]:
            case = name if number is None else ", ".join(filter(None, (sides[number].label, name)))
            undrained = ""
            with stage(program.name, case, tally) as result:
                with building:
                    path = built.path
                explain = functools.partial(hosted_run.explain, built)
                tables = functools.partial(hosted_run.tables, built)
                event = check_program(
                    path, stride, explain, sanitized=built.sanitize, posted=number, tables=tables
                )
                result.detail = f"{event.combinations} combinations, {event.runs} runs, "
                result.detail += f"{event.bytes / 1e9:.1f} GB compared"
                if event.stepped:
                    result.detail += f", {event.streamed} streaming stores followed to their drain"
                result.problem = None if event.good else event.text
                undrained = event.undrained
                tally.combinations += 0 if built.sanitize else event.combinations
            if undrained:  # the bytes are right
                with stage(program.name, f"{case}, order", tally) as result:
                    result.problem = f"{undrained}. {_ORDER}"

    list(process.side_by_side([functools.partial(one, *way) for way in ways], _MOST_AT_ONCE))


@contextmanager
def stage(suite: str, case: str, tally: Tally) -> Iterator[CaseOutcome]:
    """Count what is done in the block as one test, and say how it ended."""
    start = time.monotonic()
    result = CaseOutcome(suite, case)
    try:
        yield result
    except MmbatchError as error:
        result.problem = str(error)
    result.seconds = time.monotonic() - start
    tally.outcomes.append(result)
    if result.passed:
        log.say(f"ok    {result.title}: {result.detail} ({result.seconds:.0f} s)")
    elif result.problem is not None:
        log.say(f"FAIL  {result.title}: {result.problem}")


def check_program(
    program: Path,
    stride: int,
    explain: Callable[[Sequence[str]], str | None] = "; ".join,
    *,
    sanitized: bool = False,
    posted: int | None = None,
    tables: Callable[[], str] = str,
) -> events.Check:
    """Run a program's check; a program that warns, or dies, be it at its end, has failed it.

    What the engine says of faults is told as `explain` has it; None if it is nothing to fail for.
    If posted code dies, the check starts again. With the `tables` of functions, each input has a
    process of its own then, and where posted code dies, base's takes over: `base does not`.
    """
    words: list[str | Path] = [program, f"--check={stride}"]
    words += [f"--posted={posted}"] if posted is not None else []
    if sanitized:  # ASan of gcc 12 needs -R where the system draws 32 bits of an address
        fixed = ["setarch", "-R", "-L"]  # -L, so that a memmap has space above its arena
        done = process.run([*fixed, "true"], action="start setarch", check=False)
        words = words if done.rc else [*fixed, *words]

    def start(**env: str) -> process.Result:
        env |= _SANITIZER_ENV if sanitized else {}
        return process.run(
            words, action="run the check", env=env, timeout_s=_TIMEOUT_S, check=False
        )

    result = start()
    if goes_on := posted is not None and result.rc not in (0, 1):
        result = start(HOSTED_TABLES=tables())
    lines = result.stderr.splitlines()
    said = [line for line in lines if line.startswith("hosted: ")]
    orders = [line.removeprefix(_UNDRAINED) for line in said if line.startswith(_UNDRAINED)]
    for line in said:
        if line.startswith(hosted_run.NOTE):
            log.say(line.removeprefix(hosted_run.NOTE))
    said = [line for line in said if not line.startswith((_UNDRAINED, hosted_run.NOTE))]
    faulty = explain(said) if said else None
    for number, line in enumerate(result.stdout.splitlines(), 1):
        event = events.parse(line, number)
        if isinstance(event, events.Check) and (result.rc == 0 or not event.good):
            if faulty:
                faulty += "; base does not" if goes_on else ""
                text = faulty if event.good else f"{event.text}; {faulty}"
                event = replace(event, good=False, text=text)
            return replace(event, undrained=orders[0] if orders else "")
    cause = faulty or next((line for line in lines if "error:" in line.lower()), None)
    return events.Check(False, 0, 0, 0, 0, 0, cause or f"ended with {result.rc}")


_MUTANT_STRIDE = 11


def chosen_mutants(program: Program, kernels: Sequence[str]) -> list[Mutant]:
    """Return the mutants that are tried on a program's kernel.

    They show what the comparison detects, which differs little between kernels. So each is
    tried on the first that it fits of the `kernels` that are checked. An optional one is tried
    on all, because it may fit the code of one only.
    """

    def is_tried(mutant: Mutant) -> bool:
        fitting = [name for name in kernels if name in mutant.kernels]
        return program.source.series in (fitting if mutant.optional else fitting[:1])

    mutants = program.manifest.mutants
    return [each for each in mutants if each.fuzz == program.fuzz and is_tried(each)]


def run_mutants(program: Program, tally: Tally, kernels: Sequence[str]) -> None:
    """Check that each mutant of a speed-up on one kernel is killed."""

    def killer(mutant: Path, _: Path) -> str | None:
        event = check_program(mutant, _MUTANT_STRIDE)
        return None if event.good else event.text

    mutants = chosen_mutants(program, kernels)
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
        if not mutant.fits(program.spliced.path):
            result.skipped = "this release does not have the code"
            return
        (work / "tree").mkdir()
        mutant.make(program.spliced.path, work / "tree")
        killed_by = killer(program.mutant(work, work / "tree", mutant.file), work)
        if killed_by is None:
            result.problem = f"it survived; {mutant.why}"
        else:
            result.detail = f"killed by {killed_by}"
            tally.killed += 1
