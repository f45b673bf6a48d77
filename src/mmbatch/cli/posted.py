# SPDX-License-Identifier: GPL-2.0-only
"""The options of `bench` and `check` by which code is given that is no whole speed-up of ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import click

from mmbatch.cli import options
from mmbatch.cli.options import Names, values
from mmbatch.cli.usage import Misuse
from mmbatch.core import log, paths
from mmbatch.hosted.events import AUTO, BASE, CONTROL
from mmbatch.hosted.posted import NoEffectError
from mmbatch.kernel.sources import Source
from mmbatch.splice import manifest, posted
from mmbatch.splice.manifest import ALL, CORE
from mmbatch.splice.posted import PostedTree

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,15}")
_MOST = 32
_TAKEN = (BASE, CONTROL, AUTO, CORE)
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Asked:
    """Code as named on the command line, and the tree that --tree names.

    `code` has the option and its values by label. Without such code, `steps_of` may be one of our
    speed-ups, whose code after the step `until` is meant. With `each`, it is measured after every
    patch, commit or step. `entries` maps a function of the harness to its name in this code.
    """

    tree: Path | None
    each: bool
    until: str | None
    entries: dict[str, str]
    steps_of: str = ""
    code: dict[str, tuple[str, list[str]]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether any code is named."""
        return bool(self.code or self.steps_of)

    def add(self, option: str, text: str) -> str:
        """Note a value under its label, which is made of its name if it has none; return it."""
        label, equals, path = text.partition("=")
        if not equals or Path(text).exists():
            path, name = text, Path(text.rpartition("..")[2]).absolute().name
            name = name.partition(".")[0] if option == "--patch" else name
            first = re.sub(r"[^A-Za-z0-9._+-]+", "-", name).strip("-._+")[:12] or "posted"
            names = [first, *(f"{first[:9]}-{number}" for number in range(2, _MOST + 2))]
            label = next(name for name in names if name not in self.code and name not in _TAKEN)
        elif not _LABEL.fullmatch(label) or label in _TAKEN:
            raise Misuse(
                f"'{label}' can't be the label of {option}",
                "use up to 16 letters, digits and '._+-', and none of " + ", ".join(_TAKEN),
            )
        kind, texts = self.code.setdefault(label, (option, []))
        if texts and not kind == option == "--patch":
            raise Misuse(f"two variants have the label '{label}'", "give each a label of its own")
        texts.append(path)
        return path


def _read(
    tree: Path | None, until: str | None, entries: Names, *, each: bool, **given: Names
) -> Asked:
    asked = Asked(tree, each, until, dict(text.split("=") for text in entries))
    for name, texts in given.items():
        for text in texts:
            path = asked.add(f"--{name}", text)
            if name == "patch" and not (path and Path(path).exists()):
                hint = "give a patch, an mbox or a directory of mails"
                raise Misuse(f"there is no file '{path}'", hint)
            if name == "range" and not (tree and all(path.partition(".."))):
                hint = "write it as in --tree GIT-TREE --range A..B"
                raise Misuse(f"--range {text} can't be read", hint)
    if asked.code and until:
        raise Misuse("--until is for our own steps", "leave out --patch, --against and --range")
    if asked.code or not (until or each):
        return asked
    names = click.get_current_context().params["speedups"]
    if len(names) != 1:
        raise Misuse("--until and --each are for the steps of one speed-up", "name one speed-up")
    return replace(asked, steps_of=names[0])


asked = options.packed(
    _read,
    tree=options.tree,
    patch=values(
        "--patch [LABEL=]FILE", "Use this posted series: a patch, an mbox or a directory of mails"
    ),
    against=values("--against [LABEL=]TREE", "Use this other tree of the same release"),
    range=values("--range [LABEL=]A..B", "Use these commits of the git tree that --tree names"),
    each=options.flag(
        "--each",
        "Use the code after every patch or commit; without a posted series, after every step",
    ),
    until=options.value(
        "--until STEP", "Use our own code after this step, or 'core', as if it were posted"
    ),
    entries=values(
        "--entry OLD=NEW",
        "Use the function NEW of the posted series in place of OLD",
        options.like(r"[A-Za-z_]\w*=[A-Za-z_]\w*", "OLD=NEW", "set_toys=set_all_toys"),
    ),
)
"""The options that name code, with --tree."""


def for_each_harness(
    names: Sequence[str], work: Callable[[str], _Result], *, named: bool
) -> list[_Result]:
    """Do something for each speed-up; if none was named, leave out those that are not changed."""
    results, refused = [], None
    for name in names:
        try:
            results.append(work(name))
        except NoEffectError as error:
            if named:
                raise
            refused = error
            log.say(f"leaving out {name}, because the posted code changes nothing of it")
    if refused is not None and not results:
        raise refused
    return results


def make_trees(source: Source, asked: Asked) -> list[PostedTree]:
    """Put the code into copies of a kernel, which is itself a copy of the user's tree, if any."""
    found = []
    if asked.steps_of:
        manifests = manifest.load_with_needs(paths.SPEEDUPS, asked.steps_of)
        found = posted.from_steps(source, manifests, asked.until or ALL)
        if not asked.each:
            found = [replace(found[-1], label=CORE) if asked.until == CORE else found[-1]]
    for label, (option, texts) in asked.code.items():
        if option == "--patch":
            files = list(map(Path, texts))
            found += posted.from_files(source, label, files, each=asked.each)
        elif option == "--against":
            found.append(posted.from_tree(source, label, Path(texts[0])))
        else:
            assert asked.tree is not None
            found += posted.from_range(source, label, asked.tree, texts[0], each=asked.each)
    if len(found) > _MOST:
        raise Misuse(f"these are {len(found)} variants", f"give at most {_MOST} at a time")
    return [posted.make_tree(source, series) for series in found]
