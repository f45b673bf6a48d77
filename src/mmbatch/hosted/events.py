# SPDX-License-Identifier: GPL-2.0-only
"""The events that an engine prints as JSON lines.

An engine runs blocks: each block runs every variant once in a random order (half 0), then once
more in exactly the reversed order (half 1). A pair is two variants of the same block and half.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, get_args

from mmbatch.core.errors import MmbatchError
from mmbatch.core.load import Count, Natural, load

BASE = "base"
CONTROL = "control"
AUTO = "auto"
LIMIT_PREFIX = "limit:"
ONE_CPU = ", 1 CPU"
"""Ends the name of a row that is another one on one CPU, in a case for several."""


@dataclass(frozen=True)
class Engine:
    """First event: which speed-up is timed, in which builds, on a CPU with which flags.

    `llc_bytes` is the reported size of the last-level cache, and `cached_bytes` how much memory
    was found to stay in it; 0 if that is not known.
    """

    event: ClassVar[str] = "engine"
    speedup: str
    sides: tuple[str, ...]
    page_bytes: Natural
    cpu_flags: Mapping[str, bool]
    llc_bytes: Natural = 0
    cached_bytes: Natural = 0


@dataclass(frozen=True)
class Case:
    """A workload: `items` things of kind `item` in `bytes` bytes, timed in `unit` per run.

    `memory` is what it takes in all, where that is more; the size of a `fixed` one is its own.
    `reads` are the limit rows that only read, and `posted` the variants of posted code.
    """

    event: ClassVar[str] = "case"
    case: str
    regime: str
    unit: str
    item: str
    items: Count
    bytes: Natural
    variants: tuple[str, ...]
    pairs: Natural
    memory: Natural = 0
    fixed: bool = False
    reads: tuple[str, ...] = ()
    posted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Equal:
    """Whether a variant produced the same `bytes` bytes of memory as base did."""

    event: ClassVar[str] = "equal"
    case: str
    variant: str
    equal: bool
    bytes: Natural
    detail: str


@dataclass(frozen=True)
class Sample:
    """One timed run: `ns` nanoseconds (or the case's unit), at place `pos` of its half block.

    `layout` says which placement of the code was run; all variants of a block share it.
    """

    event: ClassVar[str] = "sample"
    case: str
    variant: str
    block: Natural
    half: Natural
    pos: Natural
    ns: Count
    layout: Natural = 0


@dataclass(frozen=True)
class Check:
    """How a bench's own comparison over many small inputs ended; see struct hosted_check."""

    event: ClassVar[str] = "check"
    good: bool
    combinations: Natural
    runs: Natural
    bytes: Natural
    stepped: Natural
    streamed: Natural
    text: str
    undrained: str = ""  # with which input streaming stores were left undrained


@dataclass(frozen=True)
class Note:
    """A sentence for the reader, about one case or, with an empty case, about the run."""

    event: ClassVar[str] = "note"
    case: str
    text: str


@dataclass(frozen=True)
class Done:
    """Last event of an engine that ran to its end."""

    event: ClassVar[str] = "done"


Event = Engine | Case | Equal | Sample | Check | Note | Done

_KINDS: dict[str, type[Event]] = {kind.event: kind for kind in get_args(Event)}


@dataclass
class CaseOutcome:
    """How one test ended."""

    suite: str  # what was tested, such as a speed-up on a kernel
    case: str = ""  # empty for the plain test of the suite
    problem: str | None = None
    skipped: str | None = None  # why it was not run
    detail: str = ""
    seconds: float | None = None

    @property
    def title(self) -> str:
        """The suite and the case."""
        return f"{self.suite}, {self.case}" if self.case else self.suite

    @property
    def name(self) -> str:
        """The case; KTAP needs a name that differs from that of the suite."""
        return self.case or "plain"

    @property
    def passed(self) -> bool:
        """Whether it was run and did not fail."""
        return self.problem is None and self.skipped is None


def parse(line: str, line_number: int = 0) -> Event:
    """Read one event; fields that this tool does not know are ignored."""
    try:
        data = json.loads(line)
        kind = _KINDS.get(str(data.get("event"))) if isinstance(data, dict) else None
        if kind is None:
            raise ValueError(f"is not an event of an engine: {line[:60]!r}")
        known = {field.name for field in fields(kind)}
        return load(kind, {name: value for name, value in data.items() if name in known})
    except ValueError as error:
        raise MmbatchError(
            f"read event {line_number} of the engine",
            str(error),
            "rebuild, or run `bench` again: engine and tool must come from one checkout",
        ) from None
