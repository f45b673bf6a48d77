# SPDX-License-Identifier: GPL-2.0-only
"""The events that an engine prints as JSON lines, and `samples.jsonl`, which keeps them.

An engine runs blocks: each block runs every variant once in a random order (half 0), then once
more in exactly the reversed order (half 1). A pair is two variants of the same block and half.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from mmbatch.core.disk import atomic_write
from mmbatch.core.errors import MmbatchError

BASE = "base"
CONTROL = "control"
AUTO = "auto"
LIMIT_PREFIX = "limit:"


@dataclass(frozen=True)
class Engine:
    """First event: which speed-up is timed, in which builds, on a CPU with which flags."""

    event: ClassVar[str] = "engine"
    speedup: str
    sides: tuple[str, ...]
    page_bytes: int
    cpu_flags: Mapping[str, bool]


@dataclass(frozen=True)
class Case:
    """A workload: `items` things of kind `item` in `bytes` bytes, timed in `unit` per run.

    `memory` is what it takes in all, where that is more; the size of a `fixed` one is its own.
    """

    event: ClassVar[str] = "case"
    case: str
    regime: str
    unit: str
    item: str
    items: int
    bytes: int
    variants: tuple[str, ...]
    pairs: int
    memory: int = 0
    fixed: bool = False


@dataclass(frozen=True)
class Equal:
    """Whether a variant left the same `bytes` bytes behind as base did."""

    event: ClassVar[str] = "equal"
    case: str
    variant: str
    equal: bool
    bytes: int
    detail: str


@dataclass(frozen=True)
class Sample:
    """One timed run: `ns` nanoseconds (or the case's unit), at place `pos` of its half block.

    `layout` says which placement of the code was run; all variants of a block share it.
    """

    event: ClassVar[str] = "sample"
    case: str
    variant: str
    block: int
    half: int
    pos: int
    ns: int
    layout: int = 0


@dataclass(frozen=True)
class Check:
    """How a bench's own comparison over many small inputs ended; see struct hosted_check."""

    event: ClassVar[str] = "check"
    good: bool
    combinations: int
    runs: int
    bytes: int
    stepped: int
    streamed: int
    text: str


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

_KINDS: dict[str, type[Event]] = {
    kind.event: kind for kind in (Engine, Case, Equal, Sample, Check, Note, Done)
}


def _malformed(line_number: int, problem: str) -> MmbatchError:
    return MmbatchError(
        f"read event {line_number} of the engine",
        problem,
        "the engine and this tool must come from one checkout: rebuild, or run `bench` again",
    )


def _natural(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _convert(kind: str, value: object) -> Any:
    """Check `value` against the annotation `kind` and make it immutable; ValueError if wrong."""
    if kind == "str" and isinstance(value, str):
        return value
    if kind == "bool" and (isinstance(value, bool) or value in (0, 1)):
        return bool(value)
    if kind == "int" and _natural(value):
        return value
    if kind == "tuple[str, ...]" and isinstance(value, list):
        return tuple(_convert("str", one) for one in value)
    if kind == "Mapping[str, bool]" and isinstance(value, dict):
        return {name: _convert("bool", one) for name, one in value.items()}
    raise ValueError


def parse(line: str, line_number: int = 0) -> Event:
    """Read one event.

    Unknown fields are ignored, so that an engine may say more than this tool knows.

    Args:
        line: one JSON object.
        line_number: its place in the stream, for the error message.

    Returns:
        The event.

    Raises:
        MmbatchError: not JSON, an unknown event, a field missing or of another type, or a
            sample that took no time.
    """
    try:
        data = json.loads(line)
    except ValueError as error:
        raise _malformed(line_number, f"not JSON ({error}): {line[:60]!r}") from None
    if not isinstance(data, dict):
        raise _malformed(line_number, f"not a JSON object: {line[:60]!r}")
    kind = _KINDS.get(str(data.get("event")))
    if kind is None:
        raise _malformed(line_number, f"unknown event {data.get('event')!r}")
    values: dict[str, Any] = {}
    for field in fields(kind):
        name = field.name
        if name not in data:
            if field.default is not MISSING:
                continue
            raise _malformed(line_number, f"event {kind.event!r} lacks {name!r}")
        try:
            values[name] = _convert(str(field.type), data[name])
        except ValueError:
            wrong = f"event {kind.event!r} has {name!r} = {data[name]!r}"
            raise _malformed(line_number, wrong) from None
    event = kind(**values)
    if isinstance(event, Sample) and (event.ns == 0 or event.half > 1):
        raise _malformed(line_number, f"a sample of {event.ns} ns in half {event.half}")
    if isinstance(event, Case) and (event.items == 0 or BASE not in event.variants):
        raise _malformed(line_number, f"case {event.case!r} has no items or no base")
    return event


def dump(event: Event) -> str:
    """Write one event as a JSON line, without the newline; `parse` gives it back."""
    return json.dumps({"event": event.event, **asdict(event)}, separators=(",", ":"))


def is_limit(variant: str) -> bool:
    """Whether a variant is a limit row, which is no speed-up and leaves other bytes behind."""
    return variant.startswith(LIMIT_PREFIX)


def read_events(path: Path) -> tuple[list[Event], list[Note]]:
    """Read `samples.jsonl`; a last line cut short (a killed process) becomes a note.

    Args:
        path: the file.

    Returns:
        The events in order, and the notes that reading added.

    Raises:
        MmbatchError: the file can't be read or a whole line is malformed.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise MmbatchError("read samples", str(error), "give a file that `bench` wrote") from None
    lines = text.split("\n")
    rest = lines.pop()
    events = [parse(line, number) for number, line in enumerate(lines, 1) if line.strip()]
    if not rest.strip():
        return events, []
    try:
        return [*events, parse(rest, len(lines) + 1)], []
    except MmbatchError:
        return events, [Note("", "the last line of the samples was cut short and is not used")]


def write_events(path: Path, events: Iterable[Event]) -> None:
    """Write events to `path`, one JSON line each; all of them or none."""
    atomic_write(path, "".join(dump(event) + "\n" for event in events))


def digest(events: Iterable[Event]) -> str:
    """SHA-256 (hex) of the file that `write_events` makes of these events."""
    sha = hashlib.sha256()
    for event in events:
        sha.update((dump(event) + "\n").encode())
    return sha.hexdigest()
