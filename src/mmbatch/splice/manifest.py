# SPDX-License-Identifier: GPL-2.0-only
"""speedup.toml: which files, rules and edits make a speed-up part of a kernel tree."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from mmbatch.core.errors import ExitCode, MmbatchError, suggestion
from mmbatch.core.interval import EVERY, Interval
from mmbatch.core.load import NOT_IN_FILE, Count, Pattern, from_toml, key, wrong

_NAME = "speedup.toml"
ALL, CORE = "all", "core"
"""What `cut` takes in place of the name of a step."""

_ORDINARY = "kernel/softirq.o"
"""An object with no compiler options of its own, which every hosted program links."""


@dataclass(frozen=True)
class Look:
    """What a function of the tree looks like, where releases of one series differ.

    Attributes:
        file: path in the tree.
        function: whose definition is searched.
        line: regular expression on one line of it.
    """

    file: str
    function: str
    line: Pattern


@dataclass(frozen=True)
class NewFile:
    """A file of ours that goes into the tree.

    Attributes:
        source: where it lies here.
        target: path in the tree.
        kernels: where it applies.
        fold: path in the tree of a new C file that gets its content in the place of the
            #include, for a header that lets one source suit several kernels.
        common: whether several speed-ups bring it, so that another may have done so before.
    """

    source: Path = field(metadata=key("from"))
    target: str = field(metadata=key("to"))
    kernels: Interval = EVERY
    fold: str = ""
    common: bool = field(default=False, metadata=NOT_IN_FILE)

    @property
    def place(self) -> str:
        """Path of the file in the tree that has its content."""
        return self.fold or self.target


@dataclass(frozen=True)
class Rule:
    """A semantic patch on one file.

    Attributes:
        cocci: the patch.
        file: path in the tree.
        function: the function that it changes, which spatch must be able to parse.
        matches: how often each hook must match: hook name to count.
        marks: by which changed lines a match of each hook is counted: hook name to a regular
            expression on the lines of the diff.
        kernels: where it applies.
    """

    cocci: Path
    file: str
    function: str
    matches: Mapping[str, Count]
    marks: Mapping[str, Pattern]
    kernels: Interval = EVERY

    def __post_init__(self) -> None:
        """Raise ValueError unless every hook has both a count and a mark."""
        if set(self.matches) != set(self.marks) or not self.matches:
            raise ValueError(f"{self.cocci.name}: matches and marks name different hooks")


@dataclass(frozen=True)
class Edit:
    """A change at an anchor, for what spatch can't edit: makefiles, comments, #ifdef.

    Attributes:
        file: path in the tree.
        op: put `text` before or after the anchor's line, in the place of the lines from
            `first` to `last`, or in the place of the comment that the anchor's line is in.
        matches: how often the anchor must match.
        text: what is put there.
        text_file: a file beside the manifest that has the text.
        line: regular expression on the anchor's line.
        first: regular expression on the first line to replace (op "replace").
        last: regular expression on the last line to replace (op "replace").
        function: search in the body of this function only.
        kernels: where it applies.
        when: the tree must look like this besides.
    """

    file: str
    op: Literal["before", "after", "replace", "comment"]
    matches: Count
    text: str = ""
    text_file: Path | None = None
    line: Pattern | None = None
    first: Pattern | None = None
    last: Pattern | None = None
    function: str | None = None
    kernels: Interval = EVERY
    when: Look | None = None

    def __post_init__(self) -> None:
        """Raise ValueError unless there is a text, and the anchors of the kind of edit."""
        if not self.text and self.text_file is None:
            raise ValueError("'text' is missing")
        needed = {"first", "last"} if self.op == "replace" else {"line"}
        for name in ("line", "first", "last"):
            is_given = getattr(self, name) is not None
            if is_given != (name in needed):
                raise ValueError(
                    f"op '{self.op}' has no '{name}'" if is_given else f"'{name}' is missing"
                )

    @property
    def anchor(self) -> str:
        """Regular expression on the line at which the change begins."""
        return self.line or self.first or ""


@dataclass(frozen=True)
class Step:
    """One commit of the series.

    Attributes:
        name: of the step.
        subject: of the commit.
        body: of the commit's message.
        kernels: where it applies.
        plain: files of the speed-up's tree/, which keep their paths.
        common: files of speedups/common, likewise, which several speed-ups bring.
        files: all new files; those of `plain` and `common` too, once `load` has found them.
        rules: semantic patches.
        edits: changes at anchors.
    """

    name: str
    subject: str
    body: str
    kernels: Interval = EVERY
    plain: tuple[str, ...] = field(default=(), metadata=key("files"))
    common: tuple[str, ...] = ()
    files: tuple[NewFile, ...] = field(default=(), metadata=key("file"))
    rules: tuple[Rule, ...] = field(default=(), metadata=key("rule"))
    edits: tuple[Edit, ...] = field(default=(), metadata=key("edit"))


@dataclass(frozen=True)
class Hosted:
    """What the hosted engine builds for a speed-up.

    Attributes:
        objects: the tree's objects that are linked twice, once as they are and once with the
            speed-up in them.
        added: objects that only the patched side has.
        own: C files of the speed-up's directory that are compiled once for each side, against
            the tree as it is and against the spliced one: callers of what is only in headers.
        shared: the tree's objects that both sides use; a missing one is not an error, since not
            all kernels have all of them.
        entries: functions that the bench calls, and variables that it sets, on every side.
        extras: functions that it calls on the patched side only.
        requires: what the configuration must have, "CONFIG_X=y" or "CONFIG_X=n", with the
            reason as a clause.
        fuzz: the bench has a fuzz() for libFuzzer.
        fuzz_by_default: its fuzzer also runs in a check that does not ask for it.
    """

    objects: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    requires: Mapping[str, str] = field(default_factory=dict)
    fuzz: bool = False
    fuzz_by_default: bool = True

    @property
    def like(self) -> str:
        """The tree's object whose compiler command our files are compiled with."""
        return self.objects[0] if self.objects else _ORDINARY


@dataclass(frozen=True)
class Explained:
    """A type of complaint of checkpatch.pl, and why the code stays as it is."""

    type: str
    why: str


@dataclass(frozen=True)
class Manifest:
    """A speed-up, or a harness: what measures a function that no speed-up changes.

    Attributes:
        title: what it does, in a few words.
        kernels: where it works.
        needs: the speed-ups that must be applied first.
        steps: the commits, in order; a harness has none.
        core: the last step of what maintainers are asked to merge first; the steps after it are
            optional. Empty if none is.
        hosted: what the hosted engine builds for it.
        checkpatch: what checkpatch.pl reports about its patches, and why that stays.
        directory: its directory, known once it is loaded.
    """

    title: str
    kernels: Interval = EVERY
    needs: tuple[str, ...] = ()
    steps: tuple[Step, ...] = field(default=(), metadata=key("step"))
    core: str = ""
    hosted: Hosted | None = None
    checkpatch: tuple[Explained, ...] = ()
    directory: Path = field(default=Path(), metadata=NOT_IN_FILE)

    @property
    def speedup(self) -> str:
        """Its name, which is that of its directory."""
        return self.directory.name

    @property
    def is_harness(self) -> bool:
        """Whether it changes nothing in a kernel."""
        return not self.steps

    @property
    def step_names(self) -> list[str]:
        """The names of its steps."""
        return [step.name for step in self.steps]

    def until(self, last: str) -> Manifest:
        """Return it with the steps up to one of them only.

        Args:
            last: the name of that step.

        Raises:
            ValueError: it has no such step.
        """
        return replace(self, steps=self.steps[: self.step_names.index(last) + 1])

    @property
    def file(self) -> Path:
        """The file that it was read from."""
        return self.directory / _NAME


def load(directory: Path) -> Manifest:
    """Read the manifest of a speed-up or a harness, given its directory.

    Raises:
        MmbatchError: there is none, or it is wrong; with the key that is.
    """
    path = directory / _NAME
    try:
        manifest = from_toml(Manifest, path)
    except (FileNotFoundError, NotADirectoryError):
        raise MmbatchError(
            f"find the speed-up '{directory.name}'",
            "there is none of this name",
            suggestion(directory.name, measured(directory.parent), "speed-ups"),
            ExitCode.USAGE,
        ) from None
    if manifest.core and manifest.core not in manifest.step_names:
        raise wrong(path, f"core: there is no step '{manifest.core}'")
    steps = tuple(_resolved(step, directory) for step in manifest.steps)
    return replace(manifest, steps=steps, directory=directory)


def _resolved(step: Step, directory: Path) -> Step:
    """Return a step with all of its new files, paths that can be opened, and texts to use."""
    tree, common = directory / "tree", directory.parent / "common"
    own = (NewFile(tree / name, name, step.kernels) for name in step.plain)
    shared = (NewFile(common / name, name, step.kernels, common=True) for name in step.common)
    listed = (replace(file, source=directory / file.source) for file in step.files)
    rules = (replace(rule, cocci=directory / "splice" / rule.cocci) for rule in step.rules)
    resolved = replace(
        step, body=step.body.strip(), files=(*own, *shared, *listed), rules=tuple(rules)
    )
    paths = [file.source for file in resolved.files] + [rule.cocci for rule in resolved.rules]
    paths += [directory / "splice" / edit.text_file for edit in step.edits if edit.text_file]
    for path in paths:
        if not path.is_file():
            lost = os.path.relpath(path, directory)
            raise wrong(directory / _NAME, f"step '{step.name}' names {lost}, which is not there")
    return replace(
        resolved, edits=tuple(replace(edit, text=_text(edit, directory)) for edit in step.edits)
    )


def _text(edit: Edit, directory: Path) -> str:
    """Return what an edit puts into the tree.

    A file of it begins with comments of its own, which stay here, and a blank line separates
    its content from the anchor.
    """
    if edit.text_file is None:
        return edit.text.removeprefix("\n")
    content = (directory / "splice" / edit.text_file).read_text(encoding="utf-8")
    content = re.sub(r"\A(//.*\n)*\n*", "", content)
    return ("\n" if edit.op == "after" else "") + content + ("\n" if edit.op == "before" else "")


def known(directory: Path) -> list[str]:
    """Return the names of the speed-ups; `_template` and harnesses are none of them."""
    return [name for name in measured(directory) if _has_steps(directory / name / _NAME)]


def _has_steps(path: Path) -> bool:
    return "\n[[step]]\n" in path.read_text(encoding="utf-8")


def measured(directory: Path) -> list[str]:
    """Return the names of all that can be measured: of speed-ups and of harnesses."""
    return sorted(path.parent.name for path in directory.glob(f"[!_]*/{_NAME}"))


def suites_of(manifest: Manifest) -> list[str]:
    """Return the names of the KUnit suites that a speed-up brings."""
    files = [Path(file.target).name for step in manifest.steps for file in step.files]
    return [name.removesuffix("_kunit.c") for name in files if name.endswith("_kunit.c")]


def load_with_needs(directory: Path, *speedups: str) -> list[Manifest]:
    """Return the manifests of speed-ups, each once and after those of all that it needs."""
    found: dict[str, Manifest] = {}

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in found:
            return
        manifest = load(directory / name)
        if name in above:
            raise wrong(directory / name / _NAME, f"'{name}' needs itself")
        for need in manifest.needs:
            visit(need, (*above, name))
        found[name] = manifest

    for speedup in speedups:
        visit(speedup, ())
    return list(found.values())


def cut(manifests: Sequence[Manifest], last: str) -> list[Manifest]:
    """Return speed-ups with the steps up to some step only.

    Args:
        manifests: the speed-ups in order, each after what it needs.
        last: ALL; CORE for the core of each; or the name of a step of the last of them, of which
            the others are needed whole.

    Raises:
        MmbatchError: exit code 2; the last one has no such step.
    """
    if last == ALL:
        return list(manifests)
    if last == CORE:
        return [held.until(held.core) if held.core else held for held in manifests]
    *others, chosen = manifests
    if last not in chosen.step_names:
        raise MmbatchError(
            f"leave out the steps of {chosen.speedup} after '{last}'",
            "it has no step of this name",
            suggestion(last, [CORE, ALL, *chosen.step_names], "steps"),
            ExitCode.USAGE,
        )
    return [*others, chosen.until(last)]
