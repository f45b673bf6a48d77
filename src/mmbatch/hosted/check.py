# SPDX-License-Identifier: GPL-2.0-only
"""Run the speed-ups' own checks on a kernel, in several builds."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from mmbatch.core import log, process
from mmbatch.core.errors import CaseOutcome, MmbatchError
from mmbatch.hosted import events
from mmbatch.hosted.posted import NoEffectError
from mmbatch.hosted.program import Program

SANITIZERS = "ASan and UBSan"
_TIMEOUT_S = 3600
_SANITIZED_STRIDE = 7
_MOST_AT_ONCE = 2  # so that memory and its bandwidth suffice
_SANITIZER_ENV = {
    "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigill=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


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

    def one(way: tuple[str, Program, int]) -> None:
        name, built, stride = way
        try:
            with building:
                sides = built.sides
        except NoEffectError as error:
            with stage(program.name, name, tally) as result:
                result.skipped = str(error)
            return
        for number in range(len(sides)) if program.posted else [None]:
            case = name if number is None else ", ".join(filter(None, (sides[number].label, name)))
            with stage(program.name, case, tally) as result:
                with building:
                    path = built.path
                event = check_program(path, stride, sanitized=built.sanitize, posted=number)
                result.judge(event)
                tally.combinations += 0 if built.sanitize else event.combinations

    list(process.side_by_side([functools.partial(one, way) for way in ways], _MOST_AT_ONCE))


class Stage:
    """One line of the report, in the making."""

    def __init__(self) -> None:
        self.text = ""
        self.problem: str | None = None
        self.skipped: str | None = None

    def judge(self, event: events.Check) -> None:
        """Take how a check ended."""
        self.text = (
            f"{event.combinations} combinations, {event.runs} runs, "
            f"{event.bytes / 1e9:.1f} GB compared"
        )
        if event.stepped:
            self.text += f", {event.streamed} streaming stores followed to their drain"
        if not event.good:
            self.problem = event.text


@contextmanager
def stage(suite: str, case: str, tally: Tally) -> Iterator[Stage]:
    """Count what is done in the block as one stage, and say how it ended.

    The suite is a speed-up on a kernel, and the case what distinguishes the stage from the plain
    one, for which it is empty.
    """
    start = time.monotonic()
    result = Stage()
    try:
        yield result
    except MmbatchError as error:
        result.problem = str(error)
    seconds = time.monotonic() - start
    ended = CaseOutcome(suite, case, result.problem, result.skipped, result.text, seconds)
    tally.outcomes.append(ended)
    if ended.passed:
        log.say(f"ok    {ended.title}: {result.text} ({seconds:.0f} s)")
    elif result.problem is not None:
        log.say(f"FAIL  {ended.title}: {result.problem}")


def check_program(
    program: Path, stride: int, *, sanitized: bool = False, posted: int | None = None
) -> events.Check:
    """Run a program's check; a program that dies, be it at its very end, has failed it."""
    words: list[str | Path] = [program, f"--check={stride}"]
    if posted is not None:
        words.append(f"--posted={posted}")
    if sanitized:  # ASan of gcc 12 does not start where the system draws 32 bits of an address
        fixed = ["setarch", "-R"]
        done = process.run([*fixed, "true"], action="start setarch", check=False)
        words = words if done.rc else [*fixed, *words]
    result = process.run(
        words,
        action="run the check",
        env=_SANITIZER_ENV if sanitized else None,
        timeout_s=_TIMEOUT_S,
        check=False,
    )
    for number, line in enumerate(result.stdout.splitlines(), 1):
        event = events.parse(line, number)
        if isinstance(event, events.Check) and (result.rc == 0 or not event.good):
            return event
    lines = result.stderr.splitlines()
    cause = next((line for line in lines if "ERROR:" in line or "hosted:" in line), None)
    return events.Check(False, 0, 0, 0, 0, 0, cause or f"ended with {result.rc}")
