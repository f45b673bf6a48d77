# SPDX-License-Identifier: GPL-2.0-only
"""splice.toml: which files, rules and edits make a speed-up part of a kernel tree."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from mmbatch.errors import ExitCode, MmbatchError

Version = tuple[int, int]
Op = Literal["before", "after", "replace", "comment"]
T = TypeVar("T")

_TERM = re.compile(r"(>=|<)(\d+)\.(\d+)")


@dataclass(frozen=True)
class Interval:
    """Kernel series from `low` on and below `high`, as "(major, minor)".

    Written in the manifest as ">=6.12,<7.0"; either end may be left out.
    """

    low: Version = (0, 0)
    high: Version = (999, 0)

    def __contains__(self, series: object) -> bool:
        """Tell whether a series, "7.3", lies in the interval."""
        return isinstance(series, str) and self.low <= version(series) < self.high

    def __str__(self) -> str:
        """Return the interval as the manifest writes it."""
        low = f">={self.low[0]}.{self.low[1]}" if self.low > (0, 0) else ""
        high = f"<{self.high[0]}.{self.high[1]}" if self.high < (999, 0) else ""
        return ",".join(part for part in (low, high) if part)


@dataclass(frozen=True)
class Sight:
    """Something to look for in a tree, where releases of one series differ.

    Attributes:
        file: path in the tree.
        function: whose definition is searched.
        line: regular expression on one line of it.
        wanted: whether it has to be there or must not be.
    """

    file: str
    function: str
    line: str
    wanted: bool


@dataclass(frozen=True)
class NewFile:
    """A file of ours that goes into the tree.

    Attributes:
        source: where it lies here.
        target: path in the tree.
        kernels: where it applies.
        sight: what the tree must look like besides.
    """

    source: Path
    target: str
    kernels: Interval
    sight: Sight | None = None


@dataclass(frozen=True)
class Rule:
    """A semantic patch on one file.

    Attributes:
        cocci: the patch.
        file: path in the tree.
        function: the function that it changes, which spatch must be able to parse.
        matches: how often each hook has to match: hook name to count.
        marks: by which changed lines a match of each hook is counted: hook name to a regular
            expression on the lines of the diff.
        kernels: where it applies.
    """

    cocci: Path
    file: str
    function: str
    matches: Mapping[str, int]
    marks: Mapping[str, str]
    kernels: Interval


@dataclass(frozen=True)
class Edit:
    """A change at an anchor, for what spatch can't edit: makefiles, comments, #ifdef.

    Attributes:
        file: path in the tree.
        op: put `text` before or after the anchor's line, in the place of the lines from
            anchor to `last`, or in the place of the comment that the anchor's line is in.
        anchor: regular expression on one line.
        last: regular expression on the last line to replace (op "replace").
        text: what is put there.
        function: search in the body of this function only.
        matches: how often the anchor has to match.
        kernels: where it applies.
    """

    file: str
    op: Op
    anchor: str
    last: str | None
    text: str
    function: str | None
    matches: int
    kernels: Interval


@dataclass(frozen=True)
class Step:
    """One commit of the series."""

    name: str
    subject: str
    body: str
    kernels: Interval
    files: tuple[NewFile, ...]
    rules: tuple[Rule, ...]
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Hosted:
    """What the hosted engine builds for a speed-up.

    Attributes:
        objects: the tree's objects that are linked twice, once as they are and once with the
            speed-up in them.
        added: objects that only the patched side has.
        shared: the tree's objects that both sides use; a missing one is no error, since not
            all kernels have all of them.
        entries: functions that the bench calls on every side.
        extras: functions that it calls on the patched side only.
    """

    objects: tuple[str, ...]
    added: tuple[str, ...]
    shared: tuple[str, ...]
    entries: tuple[str, ...]
    extras: tuple[str, ...]


@dataclass(frozen=True)
class Manifest:
    """A speed-up: its steps in order, what it needs first, and where it works."""

    speedup: str
    title: str
    kernels: Interval
    needs: tuple[str, ...]
    steps: tuple[Step, ...]
    hosted: Hosted | None
    room: Path


def version(series: str) -> Version:
    """Return a series or release, "7.3" or "7.3.4", as (major, minor)."""
    major, minor = series.split(".")[:2]
    return int(major), int(minor)


def load(room: Path) -> Manifest:
    """Read the manifest of a speed-up's room.

    Raises:
        MmbatchError: there is none, or it is wrong; with the key that is.
    """
    path = room / "splice" / "splice.toml"
    try:
        table = _Table(tomllib.loads(path.read_text(encoding="utf-8")), path, "")
    except FileNotFoundError:
        raise MmbatchError(
            f"read the manifest of '{room.name}'",
            f"there is no {path.name} in its room",
            f"known speed-ups: {', '.join(known(room.parent)) or 'none'}",
            ExitCode.USAGE,
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise _wrong(path, str(error)) from error
    hosted = table.table("hosted")
    manifest = Manifest(
        speedup=table.text("speedup"),
        title=table.text("title"),
        kernels=table.interval(),
        needs=table.texts("needs"),
        steps=tuple(_step(step, room) for step in table.tables("step")),
        hosted=None if hosted is None else _hosted(hosted),
        room=room,
    )
    table.finish()
    if manifest.speedup != room.name:
        raise _wrong(path, f"speedup is '{manifest.speedup}' in the room '{room.name}'")
    return manifest


def known(rooms: Path) -> list[str]:
    """Return the names of the speed-ups that have a manifest."""
    return sorted(path.parent.parent.name for path in rooms.glob("*/splice/splice.toml"))


def load_with_needs(rooms: Path, speedup: str) -> list[Manifest]:
    """Return a speed-up's manifest after those of all that it needs, each once."""
    found: dict[str, Manifest] = {}

    def visit(name: str) -> None:
        if name in found:
            return
        manifest = load(rooms / name)
        for need in manifest.needs:
            visit(need)
        found[name] = manifest

    visit(speedup)
    return list(found.values())


def _step(table: _Table, room: Path) -> Step:
    kernels = table.interval()
    plain = (NewFile(room / "tree" / name, name, kernels) for name in table.texts("files"))
    step = Step(
        name=table.text("name"),
        subject=table.text("subject"),
        body=table.text("body").strip(),
        kernels=kernels,
        files=(*plain, *(_file(entry, room) for entry in table.tables("file"))),
        rules=tuple(_rule(entry, room) for entry in table.tables("rule")),
        edits=tuple(_edit(entry) for entry in table.tables("edit")),
    )
    table.finish()
    for file in step.files:
        if not file.source.is_file():
            raise _wrong(table.path, f"step '{step.name}' names {file.target}, which is not there")
    return step


def _file(table: _Table, room: Path) -> NewFile:
    file = NewFile(
        room / table.text("from"), table.text("to"), table.interval(), _sight(table)
    )
    table.finish()
    return file


def _sight(table: _Table) -> Sight | None:
    for key, wanted in (("when", True), ("unless", False)):
        look = table.table(key)
        if look is not None:
            sight = Sight(look.text("file"), look.text("function"), look.text("line"), wanted)
            look.finish()
            return sight
    return None


def _rule(table: _Table, room: Path) -> Rule:
    rule = Rule(
        cocci=room / "splice" / table.text("cocci"),
        file=table.text("file"),
        function=table.text("function"),
        matches=cast("Mapping[str, int]", table.get("matches", dict)),
        marks=cast("Mapping[str, str]", table.get("marks", dict)),
        kernels=table.interval(),
    )
    table.finish()
    if set(rule.matches) != set(rule.marks) or not rule.matches:
        raise _wrong(table.path, f"{rule.cocci.name}: matches and marks name different hooks")
    if not rule.cocci.is_file():
        raise _wrong(table.path, f"{rule.cocci.name} is not there")
    return rule


def _edit(table: _Table) -> Edit:
    op = table.text("op")
    if op not in ("before", "after", "replace", "comment"):
        raise _wrong(table.path, f"'{op}' is no kind of edit")
    edit = Edit(
        file=table.text("file"),
        op=cast("Op", op),
        anchor=table.text("first" if op == "replace" else "line"),
        last=table.text("last") if op == "replace" else None,
        text=table.text("text").removeprefix("\n"),
        function=table.text("function") if table.has("function") else None,
        matches=table.get("matches", int),
        kernels=table.interval(),
    )
    table.finish()
    return edit


def _hosted(table: _Table) -> Hosted:
    hosted = Hosted(
        objects=table.texts("objects"),
        added=table.texts("added"),
        shared=table.texts("shared"),
        entries=table.texts("entries"),
        extras=table.texts("extras"),
    )
    table.finish()
    return hosted


def _interval(text: str, path: Path) -> Interval:
    low, high = Interval.low, Interval.high
    for term in text.split(","):
        match = _TERM.fullmatch(term.strip())
        if match is None:
            raise _wrong(path, f"'{text}' is no interval of kernels like '>=6.12,<7.0'")
        bound = (int(match[2]), int(match[3]))
        if match[1] == ">=":
            low = bound
        else:
            high = bound
    return Interval(low, high)


def _wrong(path: Path, found: str) -> MmbatchError:
    place = f"speedups/{path.parent.parent.name}/splice/{path.name}"
    return MmbatchError(f"read {place}", found, "correct the manifest", ExitCode.USAGE)


class _Table:
    """A table of the manifest whose every key has to be asked for, so that a typo is found."""

    def __init__(self, content: dict[str, Any], path: Path, where: str) -> None:
        self._content = content
        self._asked: set[str] = set()
        self.path = path
        self._where = where

    def has(self, key: str) -> bool:
        return key in self._content

    def get(self, key: str, kind: Callable[..., T]) -> T:
        self._asked.add(key)
        if key not in self._content:
            raise _wrong(self.path, f"{self._where}'{key}' is missing")
        value = self._content[key]
        if type(value) is not kind:
            raise _wrong(self.path, f"{self._where}'{key}' has the wrong type")
        return cast("T", value)

    def text(self, key: str) -> str:
        return self.get(key, str)

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(self.get(key, list)) if self.has(key) else ()

    def tables(self, key: str) -> list[_Table]:
        rows: list[dict[str, Any]] = self.get(key, list) if self.has(key) else []
        return [_Table(row, self.path, f"{key} {i + 1}: ") for i, row in enumerate(rows)]

    def table(self, key: str) -> _Table | None:
        return _Table(self.get(key, dict), self.path, f"{key}: ") if self.has(key) else None

    def interval(self) -> Interval:
        return _interval(self.text("kernels"), self.path) if self.has("kernels") else Interval()

    def finish(self) -> None:
        unknown = sorted(set(self._content) - self._asked)
        if unknown:
            raise _wrong(self.path, f"{self._where}unknown key '{unknown[0]}'")
