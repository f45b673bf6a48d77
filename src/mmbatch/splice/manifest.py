# SPDX-License-Identifier: GPL-2.0-only
"""splice.toml: which files, rules and edits make a speed-up part of a kernel tree."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.interval import Interval
from mmbatch.core.toml import Table, wrong

Op = Literal["before", "after", "replace", "comment"]


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


_ORDINARY = "kernel/softirq.o"
"""An object with no compiler options of its own, which every hosted program links."""


@dataclass(frozen=True)
class NewFile:
    """A file of ours that goes into the tree.

    Attributes:
        source: where it lies here.
        target: path in the tree.
        kernels: where it applies.
        sight: what the tree must look like besides.
        common: whether several speed-ups bring it, so that another may have done so before.
    """

    source: Path
    target: str
    kernels: Interval
    sight: Sight | None = None
    common: bool = False


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
        text: what is put there, from the manifest or from a file beside it.
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
        own: C files of the speed-up's room that are compiled once for each side, against the tree
            as it is and against the spliced one: callers of what is only in headers.
        shared: the tree's objects that both sides use; a missing one is no error, since not
            all kernels have all of them.
        entries: functions that the bench calls on every side.
        extras: functions that it calls on the patched side only.
        fuzz: the bench has a fuzz() for libFuzzer.
    """

    objects: tuple[str, ...]
    added: tuple[str, ...]
    own: tuple[str, ...]
    shared: tuple[str, ...]
    entries: tuple[str, ...]
    extras: tuple[str, ...]
    fuzz: bool

    @property
    def like(self) -> str:
        """The tree's object whose compiler command our files are compiled with."""
        return self.objects[0] if self.objects else _ORDINARY


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


def load(room: Path) -> Manifest:
    """Read the manifest of a speed-up's room.

    Raises:
        MmbatchError: there is none, or it is wrong; with the key that is.
    """
    path = room / "splice" / "splice.toml"
    try:
        table = Table.load(path)
    except (FileNotFoundError, NotADirectoryError):
        raise MmbatchError(
            f"read the manifest of '{room.name}'",
            "there is no speed-up of this name",
            f"known speed-ups: {', '.join(known(room.parent)) or 'none'}",
            ExitCode.USAGE,
        ) from None
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
        raise wrong(path, f"speedup is '{manifest.speedup}' in the room '{room.name}'")
    return manifest


def known(rooms: Path) -> list[str]:
    """Return the names of the speed-ups that have a manifest; `_template` is none of them."""
    return sorted(path.parent.parent.name for path in rooms.glob("[!_]*/splice/splice.toml"))


def suites_of(manifest: Manifest) -> list[str]:
    """Return the names of the KUnit suites that a speed-up brings."""
    files = [Path(file.target).name for step in manifest.steps for file in step.files]
    return [name.removesuffix("_kunit.c") for name in files if name.endswith("_kunit.c")]


def load_with_needs(rooms: Path, *speedups: str) -> list[Manifest]:
    """Return the manifests of speed-ups, each once and after those of all that it needs."""
    found: dict[str, Manifest] = {}

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in found:
            return
        manifest = load(rooms / name)
        if name in above:
            raise wrong(rooms / name / "splice" / "splice.toml", f"'{name}' needs itself")
        for need in manifest.needs:
            visit(need, (*above, name))
        found[name] = manifest

    for speedup in speedups:
        visit(speedup, ())
    return list(found.values())


def _step(table: Table, room: Path) -> Step:
    kernels = table.interval()
    plain = (NewFile(room / "tree" / name, name, kernels) for name in table.texts("files"))
    common = (
        NewFile(room.parent / "common" / name, name, kernels, common=True)
        for name in table.texts("common")
    )
    step = Step(
        name=table.text("name"),
        subject=table.text("subject"),
        body=table.text("body").strip(),
        kernels=kernels,
        files=(*plain, *common, *(_file(entry, room) for entry in table.tables("file"))),
        rules=tuple(_rule(entry, room) for entry in table.tables("rule")),
        edits=tuple(_edit(entry, room) for entry in table.tables("edit")),
    )
    table.finish()
    for file in step.files:
        if not file.source.is_file():
            raise table.wrong(f"step '{step.name}' names {file.target}, which is not there")
    return step


def _file(table: Table, room: Path) -> NewFile:
    file = NewFile(room / table.text("from"), table.text("to"), table.interval(), _sight(table))
    table.finish()
    return file


def _sight(table: Table) -> Sight | None:
    for key, wanted in (("when", True), ("unless", False)):
        look = table.table(key)
        if look is not None:
            sight = Sight(look.text("file"), look.text("function"), look.pattern("line"), wanted)
            look.finish()
            return sight
    return None


def _rule(table: Table, room: Path) -> Rule:
    rule = Rule(
        cocci=room / "splice" / table.text("cocci"),
        file=table.text("file"),
        function=table.text("function"),
        matches=table.counts("matches"),
        marks=table.patterns("marks"),
        kernels=table.interval(),
    )
    table.finish()
    if set(rule.matches) != set(rule.marks) or not rule.matches:
        raise table.wrong(f"{rule.cocci.name}: matches and marks name different hooks")
    if not rule.cocci.is_file():
        raise table.wrong(f"{rule.cocci.name} is not there")
    return rule


def _edit(table: Table, room: Path) -> Edit:
    op = table.text("op")
    if op not in ("before", "after", "replace", "comment"):
        raise table.wrong(f"'{op}' is no kind of edit")
    edit = Edit(
        file=table.text("file"),
        op=cast("Op", op),
        anchor=table.pattern("first" if op == "replace" else "line"),
        last=table.pattern("last") if op == "replace" else None,
        text=_text(table, room / "splice", op),
        function=table.text("function") if table.has("function") else None,
        matches=table.count("matches"),
        kernels=table.interval(),
    )
    table.finish()
    return edit


def _text(table: Table, place: Path, op: str) -> str:
    """Return what an edit puts into the tree.

    A file of it begins with comments of its own, which stay here, and a blank line separates
    its content from the anchor.
    """
    if not table.has("text_file"):
        return table.text("text").removeprefix("\n")
    path = place / table.text("text_file")
    if not path.is_file():
        raise table.wrong(f"{path.name} is not there")
    content = re.sub(r"\A(//.*\n)*\n*", "", path.read_text(encoding="utf-8"))
    return ("\n" if op == "after" else "") + content + ("\n" if op == "before" else "")


def _hosted(table: Table) -> Hosted:
    hosted = Hosted(
        objects=table.texts("objects"),
        added=table.texts("added"),
        own=table.texts("own"),
        shared=table.texts("shared"),
        entries=table.texts("entries"),
        extras=table.texts("extras"),
        fuzz=table.get("fuzz", bool) if table.has("fuzz") else False,
    )
    table.finish()
    return hosted
