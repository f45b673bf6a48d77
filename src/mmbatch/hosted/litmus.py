# SPDX-License-Identifier: GPL-2.0-only
"""Litmus tests of streaming stores, and an exhaustive search by a model of x86.

The model is operational. Each CPU has a list of stores that are not yet in memory, in the order
of its program. An entry may leave the list, and reach memory, when

- no earlier entry of the list is an sfence;
- no earlier entry is a store to the same location;
- for a plain store, no earlier entry is a plain store.

So plain stores reach memory in order (TSO), while a streaming store may be overtaken by all later
stores to other locations, and may overtake earlier ones. An sfence leaves when it is the first of
the list. A load takes the newest store to its location from its own list, or else memory. An
mfence and a locked instruction wait until the list is empty.

Where published models of non-temporal stores differ, this one is meant to allow more. So "Never"
is safe to rely on, and "Sometimes" asks for an observation on silicon.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar, cast

from mmbatch.core.errors import MmbatchError

_T = TypeVar("_T")
Kind = Literal["stream", "store", "load", "locked", "sfence", "mfence"]
Verdict = Literal["Never", "Sometimes"]

_INSTRUCTIONS: tuple[tuple[Kind, str], ...] = (
    ("stream", r"movnti \$(?P<value>\d+),(?P<place>[a-z]\w*)"),
    ("store", r"movq \$(?P<value>\d+),(?P<place>[a-z]\w*)"),
    ("load", r"movq (?P<place>[a-z]\w*),%(?P<register>r\w+)"),
    ("locked", r"lock addq \$(?P<value>\d+),(?P<place>[a-z]\w*)"),
    ("sfence", "sfence"),
    ("mfence", "mfence"),
)
_FILE = re.compile(
    r'X86_64 (?P<name>\S+)\n"(?P<title>[^"\n]+)"\n\{ *\}\n(?P<code>(?:.*;\n)+)'
    r"exists \((?P<condition>.*)\)\n"
    r"\(\* Result: (?P<result>Never|Sometimes)\. "
    r"Without sfence: (?P<without>Never|Sometimes)\. \*\)\n"
)
_TERM = re.compile(r"(\d+):(r\w+)=(\d+)")


@dataclass(frozen=True)
class Instruction:
    """One instruction of a thread; what its kind does not have is empty."""

    kind: Kind
    place: str = ""
    value: int = 0
    register: str = ""


@dataclass(frozen=True)
class Litmus:
    """A litmus test.

    Attributes:
        name: of the test, and of its file.
        title: what it stands for.
        threads: the instructions of each; every thread runs on a CPU of its own.
        condition: thread, register and value; "Sometimes" means that all can be true at the end.
        result: the verdict that the file expects.
        without: the same for the test without its sfences.
    """

    name: str
    title: str
    threads: tuple[tuple[Instruction, ...], ...]
    condition: tuple[tuple[int, str, int], ...]
    result: Verdict
    without: Verdict

    @property
    def places(self) -> list[str]:
        """The memory locations, all of which begin with 0."""
        return sorted({step.place for thread in self.threads for step in thread if step.place})

    def undrained(self) -> Litmus:
        """Return the test without its sfences."""
        kept = tuple(
            tuple(step for step in thread if step.kind != "sfence") for thread in self.threads
        )
        return replace(self, threads=kept, result=self.without)


def tests(directory: Path) -> list[Litmus]:
    """Read the litmus tests of a speed-up; one without a directory proofs/ has none.

    Raises:
        MmbatchError: a file is wrong.
    """
    return [read(path) for path in sorted((directory / "proofs").glob("*.litmus"))]


def read(path: Path) -> Litmus:
    """Read a litmus test, in the layout of herd7.

    movnti has an immediate operand there, which it does not have in assembly language.

    Raises:
        MmbatchError: the file is wrong.
    """
    match = _FILE.fullmatch(path.read_text(encoding="utf-8"))
    if match is None or match["name"] != path.stem:
        raise _wrong(path, "it does not have the form of the others, or not the name of its file")
    rows = [row.rstrip(" ;").split("|") for row in match["code"].splitlines()]
    if len({len(row) for row in rows}) != 1:
        raise _wrong(path, "its rows differ in their number of threads")
    threads = tuple(
        tuple(_instruction(path, cell.strip()) for cell in column[1:] if cell.strip())
        for column in zip(*rows, strict=True)
    )
    terms = match["condition"].split(r" /\ ")
    found = [_TERM.fullmatch(term) for term in terms]
    condition = tuple((int(term[1]), term[2], int(term[3])) for term in found if term)
    loaded = {
        (number, step.register)
        for number, thread in enumerate(threads)
        for step in thread
        if step.kind == "load"
    }
    if None in found or not {term[:2] for term in condition} <= loaded:
        raise _wrong(path, "its condition names what no thread loads")
    return Litmus(
        match["name"],
        match["title"],
        threads,
        condition,
        cast(Verdict, match["result"]),
        cast(Verdict, match["without"]),
    )


def _instruction(path: Path, text: str) -> Instruction:
    for kind, pattern in _INSTRUCTIONS:
        if (match := re.fullmatch(pattern, text)) is not None:
            fields = match.groupdict()
            return Instruction(
                kind,
                fields.get("place", ""),
                int(fields.get("value", 0)),
                fields.get("register", ""),
            )
    raise _wrong(path, f"there is no instruction '{text}'")


def _wrong(path: Path, problem: str) -> MmbatchError:
    return MmbatchError(f"read {path.name}", problem, "compare it with another litmus test")


_Pending = tuple[Instruction, ...]
_Values = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class _State:
    """Where all CPUs are: next instructions, stores on their way, registers, and memory."""

    counters: tuple[int, ...]
    pending: tuple[_Pending, ...]
    registers: tuple[_Values, ...]
    memory: _Values


def verdict(test: Litmus) -> Verdict:
    """Search all executions of a test for one that ends as its condition says."""
    threads = len(test.threads)
    zeroes = tuple((place, 0) for place in test.places)
    waiting = [_State((0,) * threads, ((),) * threads, ((),) * threads, zeroes)]
    known = set(waiting)
    while waiting:
        state = waiting.pop()
        following = list(_following(test, state))
        if not following and _holds(test, state):
            return "Sometimes"
        fresh = set(following) - known
        known |= fresh
        waiting += fresh
    return "Never"


def _holds(test: Litmus, state: _State) -> bool:
    return all(
        dict(state.registers[thread])[name] == value for thread, name, value in test.condition
    )


def _following(test: Litmus, state: _State) -> Iterator[_State]:
    """Yield each state that one step of one CPU leads to."""
    for cpu, thread in enumerate(test.threads):
        pending = state.pending[cpu]
        for index, entry in enumerate(pending):
            if _may_leave(pending[:index], entry):
                rest = pending[:index] + pending[index + 1 :]
                memory = state.memory
                if entry.kind != "sfence":
                    memory = _with(memory, entry.place, entry.value)
                yield replace(state, pending=_put(state.pending, cpu, rest), memory=memory)
        if state.counters[cpu] < len(thread):
            done = _execute(state, cpu, thread[state.counters[cpu]])
            if done is not None:
                counters = _put(state.counters, cpu, state.counters[cpu] + 1)
                yield replace(done, counters=counters)


def _may_leave(earlier: _Pending, entry: Instruction) -> bool:
    if entry.kind == "sfence":
        return not earlier
    return not any(
        other.kind == "sfence" or other.place == entry.place or other.kind == entry.kind == "store"
        for other in earlier
    )


def _execute(state: _State, cpu: int, step: Instruction) -> _State | None:
    """Return the state after an instruction of one CPU, None if it must wait."""
    pending = state.pending[cpu]
    if step.kind in ("stream", "store", "sfence"):
        return replace(state, pending=_put(state.pending, cpu, (*pending, step)))
    if step.kind == "load":
        own = [entry.value for entry in pending if entry.place == step.place]
        value = own[-1] if own else dict(state.memory)[step.place]
        registers = _with(state.registers[cpu], step.register, value)
        return replace(state, registers=_put(state.registers, cpu, registers))
    if pending:
        return None
    if step.kind == "mfence":
        return state
    total = dict(state.memory)[step.place] + step.value
    return replace(state, memory=_with(state.memory, step.place, total))


def _put(items: tuple[_T, ...], index: int, item: _T) -> tuple[_T, ...]:
    return (*items[:index], item, *items[index + 1 :])


def _with(values: _Values, name: str, value: int) -> _Values:
    return tuple(sorted({**dict(values), name: value}.items()))
