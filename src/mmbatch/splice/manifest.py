# SPDX-License-Identifier: GPL-2.0-only
"""speedup.toml: what makes a speed-up part of a kernel tree; docs/splicing.md explains the keys."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from mmbatch.core.errors import ExitCode, MmbatchError, suggestion
from mmbatch.core.load import EVERY, NOT_IN_FILE, Count, Interval, Pattern, from_toml, key, wrong

_NAME = "speedup.toml"
ALL, CORE = "all", "core"
"""What `cut` takes in place of the name of a step."""

_ORDINARY = "kernel/softirq.o"
"""An object with no compiler options of its own, which every hosted program links."""

_REACHED = ("include", "arch/x86", "mm", "lib")
"""Directories that files reach from others by "..", so they must not be links."""


@dataclass(frozen=True)
class Look:
    """What a function of the tree looks like, where releases of one series differ."""

    file: str
    function: str
    line: Pattern


@dataclass(frozen=True)
class NewFile:
    """A file of ours that goes into the tree.

    With `fold`, the path of a new C file in the tree, that file gets its content in the place of
    the #include: for a header that lets one source suit several kernels. A `common` file is one
    that several speed-ups bring, so that another may have done so before.
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

    `matches` says how often each hook must match, and `marks` by which changed lines of the diff
    its matches are counted.
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
    """A change at an anchor, for what spatch can't edit: makefiles, comments, #ifdef."""

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

    @property
    def anchor(self) -> str:
        """Regular expression on the line at which the change begins."""
        return self.line or self.first or ""


@dataclass(frozen=True)
class Step:
    """One commit; once it is loaded, `files` has those of `plain` and `common` too."""

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
    """What the hosted engine builds for a speed-up."""

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
class Mutant:
    """One piece of the spliced code, changed on purpose: `old`, which occurs once, to `new`.

    It can be killed on `kernels` with `options`. An `optional` one is not in all releases, and
    the fuzzer must kill one for `fuzz`.
    """

    name: str
    why: str
    file: str
    old: str
    new: str
    kernels: Interval = EVERY
    options: tuple[str, ...] = ()
    optional: bool = False
    fuzz: bool = False

    def fits(self, spliced: Path) -> bool:
        """Return whether the text that it replaces is in a spliced tree.

        Raises:
            MmbatchError: it is not, or not once, and the mutant is not optional.
        """
        path = spliced / self.file
        count = path.read_text(encoding="utf-8").count(self.old) if path.exists() else 0
        if count == 1 or (count == 0 and self.optional):
            return count == 1
        raise MmbatchError(
            f"make the mutant '{self.name}'",
            f"the text to replace occurs {count} times in {self.file} instead of once",
            "bring the mutant in speedup.toml up to date with the code",
        )

    def make(self, spliced: Path, work: Path) -> None:
        """Put a copy of what a compiler reads of a spliced tree, mutated, into an empty directory.

        Directories that files reach from others by "..", and those of the mutated file, are real;
        everything else is a link to the spliced tree.
        """
        real = {parent for name in (*_REACHED, self.file) for parent in Path(name, "x").parents}
        real.remove(Path(self.file))
        for directory in sorted(real):
            (work / directory).mkdir(parents=True, exist_ok=True)
            for path in (spliced / directory).iterdir():
                if directory / path.name not in real:
                    (work / directory / path.name).symlink_to(path)
        path = work / self.file
        text = path.read_text(encoding="utf-8").replace(self.old, self.new)
        path.unlink()
        path.write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Configuration:
    """A configuration to check besides the engine's own."""

    name: str
    options: tuple[str, ...] = ()
    kernels: Interval = EVERY


@dataclass(frozen=True)
class Manifest:
    """A speed-up, or a harness, without steps: what measures a function that none changes.

    The steps after `core` are optional. It is empty if all are the core.
    `configurations` are those in which it is checked besides the engine's own, and its check must
    detect all `mutants`, which are deliberate errors.
    """

    title: str
    kernels: Interval = EVERY
    needs: tuple[str, ...] = ()
    steps: tuple[Step, ...] = field(default=(), metadata=key("step"))
    core: str = ""
    hosted: Hosted | None = None
    checkpatch: tuple[Explained, ...] = ()
    configurations: tuple[Configuration, ...] = field(default=(), metadata=key("configuration"))
    mutants: tuple[Mutant, ...] = field(default=(), metadata=key("mutant"))
    directory: Path = field(default=Path(), metadata=NOT_IN_FILE)

    @property
    def speedup(self) -> str:
        """Its name, which is that of its directory."""
        return self.directory.name

    @property
    def file(self) -> Path:
        """The file that it was read from."""
        return self.directory / _NAME

    @property
    def is_harness(self) -> bool:
        """Whether it changes nothing in a kernel."""
        return not self.steps

    @property
    def measured_by(self) -> str:
        """The command that measures it: without a hosted part, it is for arm64 and counted."""
        verb, arch = ("bench", "") if self.hosted else ("guest bench", " --arch arm64")
        return f"./mmbatch {verb} {self.speedup}{arch}"

    @property
    def step_names(self) -> list[str]:
        """The names of its steps."""
        return [step.name for step in self.steps]

    def steps_on(self, series: str) -> list[Step]:
        """Return the steps for a kernel, each with what of it is for that kernel."""
        return [
            replace(
                step,
                files=tuple(file for file in step.files if series in file.kernels),
                rules=tuple(rule for rule in step.rules if series in rule.kernels),
                edits=tuple(edit for edit in step.edits if series in edit.kernels),
            )
            for step in self.steps
            if series in step.kernels
        ]

    def until(self, last: str) -> Manifest:
        """Return it with the steps up to one of them only; ValueError without such a step."""
        return replace(self, steps=self.steps[: self.step_names.index(last) + 1])


def load(directory: Path) -> Manifest:
    """Read the manifest of a speed-up or a harness, given its directory."""
    path = directory / _NAME
    manifest = from_toml(Manifest, path)
    if manifest.core and manifest.core not in manifest.step_names:
        raise wrong(path, f"core: there is no step '{manifest.core}'")
    steps = tuple(_resolved(step, directory) for step in manifest.steps)
    return replace(manifest, steps=steps, directory=directory)


def _resolved(step: Step, directory: Path) -> Step:
    """Return a step with all of its new files, paths that can be opened, and texts to use."""
    tree, common = directory / "tree", directory.parent / "common"
    files = [NewFile(tree / name, name, step.kernels) for name in step.plain]
    files += [NewFile(common / name, name, step.kernels, common=True) for name in step.common]
    files += [replace(file, source=directory / file.source) for file in step.files]
    rules = [replace(rule, cocci=directory / "splice" / rule.cocci) for rule in step.rules]
    for path in [file.source for file in files] + [rule.cocci for rule in rules]:
        if not path.is_file():
            raise wrong(directory / _NAME, f"step '{step.name}' names {path}, which is not there")
    return replace(
        step,
        body=step.body.strip(),
        files=tuple(files),
        rules=tuple(rules),
        edits=tuple(replace(edit, text=_text(edit, directory)) for edit in step.edits),
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
    texts = {name: (directory / name / _NAME).read_text("utf-8") for name in measured(directory)}
    return [name for name, text in texts.items() if "\n[[step]]\n" in text]


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
    for speedup in speedups:
        manifest = load(directory / speedup)
        for need in load_with_needs(directory, *manifest.needs):
            found.setdefault(need.speedup, need)
        found.setdefault(speedup, manifest)
    return list(found.values())


def cut(manifests: Sequence[Manifest], last: str) -> list[Manifest]:
    """Return speed-ups, each after what it needs, with the steps up to some step only.

    `last` is ALL; CORE for the core of each; or a step of the last one, which needs the others
    whole.
    """
    if last == ALL:
        return list(manifests)
    if last == CORE:
        return [held.until(held.core) if held.core else held for held in manifests]
    *others, chosen = manifests
    if last not in chosen.step_names:
        action = f"leave out the steps of {chosen.speedup} after '{last}'"
        hint = suggestion(last, [CORE, ALL, *chosen.step_names], "steps")
        raise MmbatchError(action, "it has no step of this name", hint, ExitCode.USAGE)
    return [*others, chosen.until(last)]
