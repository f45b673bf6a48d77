# SPDX-License-Identifier: GPL-2.0-only
"""Run litmus tests on the CPUs of this machine, and count what is observed."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import process
from mmbatch.core.disk import temporary_dir
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.paths import HOSTED
from mmbatch.hosted import litmus
from mmbatch.hosted.check import Tally, stage
from mmbatch.hosted.litmus import Instruction, Litmus

_SLACK_S = 60
_STATEMENTS = {
    "stream": "stream(&at->{place}, {value});",
    "store": "store(&at->{place}, {value});",
    "load": "at->t{thread}_{register} = load(&at->{place});",
    "locked": "locked_add(&at->{place}, {value});",
    "sfence": 'asm volatile("sfence" ::: "memory");',
    "mfence": 'asm volatile("mfence" ::: "memory");',
}


@dataclass(frozen=True)
class Variant:
    """One way to run a test.

    Attributes:
        test: the test, without its sfences if it is the undrained one.
        drained: whether it is the test as it was written.
        whole_lines: a streaming store fills a cache line, where it else writes 8 bytes of it.
    """

    test: Litmus
    drained: bool
    whole_lines: bool

    @property
    def case(self) -> str:
        """What distinguishes it, for its stage."""
        drain = "" if self.drained else ", without sfence"
        return f"litmus test {self.test.name}{drain}, {'64' if self.whole_lines else '8'} bytes"


def variants(tests: list[Litmus]) -> list[Variant]:
    """Return all ways to run some tests."""
    return [
        Variant(test if drained else test.undrained(), drained, whole_lines)
        for test in tests
        for drained in (True, False)
        for whole_lines in (False, True)
    ]


def run(
    name: str,
    tests: list[Litmus],
    seconds: float,
    work: Path,
    say: Callable[[str], None],
    tally: Tally,
) -> None:
    """Run tests, each with a CPU for every thread.

    An observation that the model forbids is a failure. One that it allows need not be seen.

    Args:
        name: of the speed-up.
        tests: of that speed-up.
        seconds: for all of them together.
        work: a directory for the programs.
        say: called with a line for each stage.
        tally: counts the stages.

    Raises:
        MmbatchError: exit code 77 for a machine that is no x86-64.
    """
    if platform.machine() != "x86_64":
        raise MmbatchError(
            "run litmus tests",
            f"they are of x86-64, and this machine is {platform.machine()}",
            "use an x86-64 machine",
            ExitCode.NOT_APPLICABLE,
        )
    cpus = os.sched_getaffinity(0)
    possible = [test for test in tests if len(test.threads) <= len(cpus)]
    for test in tests:
        if test not in possible:
            with stage(name, f"litmus test {test.name}", say, tally) as result:
                result.skipped = f"it takes {len(test.threads)} CPUs, and here are {len(cpus)}"
    ways = variants(possible)
    for way in ways:
        with stage(name, way.case, say, tally) as result, temporary_dir(work, "litmus") as place:
            program = build(way, place)
            seen, published, total = observe(program, seconds / len(ways))
            result.text = f"observed {seen} times in {total} runs"
            if len(way.test.condition) > 1:
                result.text += f", of which {published} could show it"
            if seen and way.test.result == "Never":
                result.problem = f"{result.text}, and the model forbids it"


def build(way: Variant, work: Path) -> Path:
    """Compile a test.

    Raises:
        MmbatchError: it does not compile.
    """
    (work / "litmus_test.h").write_text(header(way), encoding="utf-8")
    program = work / way.test.name
    source = HOSTED / "litmus" / "litmus.c"
    process.run(
        ["gcc", "-O2", "-Wall", "-pthread", f"-I{work}", "-o", program, source],
        action=f"compile the litmus test {way.test.name}",
    )
    return program


def observe(program: Path, seconds: float) -> tuple[int, int, int]:
    """Run a test for some time.

    Returns:
        How often its condition held, how often all of it held but the last term, and of how
        many runs.

    Raises:
        MmbatchError: the program failed.
    """
    action = f"run the litmus test {program.name}"
    printed = process.run(
        [program, f"{seconds:.3f}"], action=action, timeout_s=seconds + _SLACK_S
    ).stdout.split()
    if len(printed) != 3 or not all(word.isdecimal() for word in printed):
        raise MmbatchError(action, "it did not print its counts", "run it again")
    seen, published, total = map(int, printed)
    return seen, published, total


def header(way: Variant) -> str:
    """Return the C that hosted/litmus/litmus.c includes for a test."""
    test = way.test
    loads = [
        (number, step.register)
        for number, thread in enumerate(test.threads)
        for step in thread
        if step.kind == "load"
    ]
    terms = [f"at->t{number}_{name} == {value}" for number, name, value in test.condition]
    lines = [
        f"#define THREADS {len(test.threads)}",
        f"#define STREAMED_WORDS {8 if way.whole_lines else 1}",
        "struct instance {",
        *(f"\tstruct line {place};" for place in test.places),
        *(f"\tunsigned long t{number}_{name} LINE;" for number, name in loads),
        "};",
        *(
            line
            for number, thread in enumerate(test.threads)
            for line in (
                f"static void thread_{number}(struct instance *at)",
                "{",
                *(f"\t{_statement(number, step)}" for step in thread),
                "}",
            )
        ),
        "static void (*const threads[])(struct instance *at) = {",
        *(f"\tthread_{number}," for number in range(len(test.threads))),
        "};",
        "static bool could_show(const struct instance *at)",
        "{",
        f"\treturn {' && '.join(terms[:-1]) or 'true'};",
        "}",
        "static bool shows(const struct instance *at)",
        "{",
        f"\treturn {' && '.join(terms)};",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _statement(thread: int, step: Instruction) -> str:
    return _STATEMENTS[step.kind].format(
        thread=thread, place=step.place, value=step.value, register=step.register
    )


def prove(name: str, tests: list[Litmus], say: Callable[[str], None], tally: Tally) -> None:
    """Compare the verdicts of the model with those that the files expect."""
    for test in tests:
        with stage(name, f"litmus test {test.name}", say, tally) as result:
            found = litmus.verdict(test), litmus.verdict(test.undrained())
            result.text = f"{found[0]}; without sfence {found[1]}"
            if found != (test.result, test.without):
                result.problem = (
                    f"the model says {result.text}, and the file "
                    f"{test.result}; without sfence {test.without}"
                )
