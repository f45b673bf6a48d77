# SPDX-License-Identifier: GPL-2.0-only
"""The options of `bench` and `check` by which somebody else's code is given."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from mmbatch.cli.usage import Misuse
from mmbatch.core import log, paths
from mmbatch.hosted.events import AUTO, BASE, CONTROL
from mmbatch.hosted.posted import NoEffectError
from mmbatch.kernel.sources import Source
from mmbatch.splice import manifest, posted
from mmbatch.splice.posted import Posted, PostedTree

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,15}")
_ENTRY = re.compile(r"[A-Za-z_]\w*=[A-Za-z_]\w*", re.ASCII)
_MOST = 32
_TAKEN = (BASE, CONTROL, AUTO)
_OPTIONS = (
    click.option(
        "--patch",
        "patches",
        multiple=True,
        metavar="[LABEL=]FILE",
        help="Use this posted series: a patch, an mbox or a directory of mails",
    ),
    click.option(
        "--against",
        "trees",
        multiple=True,
        metavar="[LABEL=]TREE",
        help="Use this other tree of the same release",
    ),
    click.option(
        "--range",
        "ranges",
        multiple=True,
        metavar="[LABEL=]A..B",
        help="Use these commits of the git tree that --tree names",
    ),
    click.option(
        "--each",
        is_flag=True,
        help="Use the code after every patch or commit; without a posted series, after every step",
    ),
    click.option(
        "--entry",
        "entries",
        multiple=True,
        metavar="OLD=NEW",
        help="Use the function NEW of the posted series in place of OLD",
    ),
)
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Asked:
    """Somebody else's code by its label, as named on the command line.

    With `each`, it is measured after every patch or commit, or without such code after every
    step of a speed-up. `entries` maps a function of the harness to its name in this code.
    """

    patches: dict[str, list[Path]]
    trees: dict[str, Path]
    ranges: dict[str, str]
    each: bool
    entries: dict[str, str]

    def __bool__(self) -> bool:
        """Whether any code is named."""
        return bool(self.patches or self.trees or self.ranges)

    @property
    def is_of_steps(self) -> bool:
        """Whether the steps of a speed-up are asked for, and nobody else's code."""
        return self.each and not self

    @property
    def words(self) -> tuple[str, ...]:
        """The words that ask for it again."""
        named = [
            ("--patch", f"{k}={os.fspath(p)}") for k, held in self.patches.items() for p in held
        ]
        named += [("--against", f"{k}={os.fspath(path)}") for k, path in self.trees.items()]
        named += [("--range", f"{k}={text}") for k, text in self.ranges.items()]
        named += [("--entry", f"{k}={name}") for k, name in self.entries.items()]
        return (*(word for pair in named for word in pair), *(["--each"] if self.each else []))


def options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command with --tree the options that name code; it gets them as `asked`."""

    @functools.wraps(command)
    def with_asked(
        *args: Any,
        tree: Path | None,
        patches: Sequence[str],
        trees: Sequence[str],
        ranges: Sequence[str],
        each: bool,
        entries: Sequence[str],
        **words: Any,
    ) -> int:
        asked = Asked({}, {}, {}, each, dict(map(_entry, entries)))
        for text in patches:
            label, path = _labelled(text, "--patch", asked.patches)
            if not path or not Path(path).exists():
                hint = "give a patch, an mbox or a directory of mails"
                raise Misuse(f"there is no file '{path}'", hint)
            asked.patches.setdefault(label, []).append(Path(path))
        for text in trees:
            label, path = _new(text, "--against", {*asked.patches, *asked.trees})
            asked.trees[label] = Path(path)
        for text in ranges:
            taken = {*asked.patches, *asked.trees, *asked.ranges}
            label, commits = _new(text, "--range", taken)
            if tree is None or not all(commits.partition("..")):
                hint = "write it as in --tree GIT-TREE --range A..B"
                raise Misuse(f"--range {text} can't be read", hint)
            asked.ranges[label] = commits
        if each and trees and not (patches or ranges):
            raise Misuse("--each is for the patches of a series", "give the series with --patch")
        return command(*args, tree=tree, asked=asked, **words)

    for option in reversed(_OPTIONS):
        with_asked = option(with_asked)
    return with_asked


def _entry(text: str) -> tuple[str, str]:
    if not _ENTRY.fullmatch(text):
        raise Misuse(f"--entry {text} is not OLD=NEW", "give the names of two functions")
    old, _, new = text.partition("=")
    return old, new


def _new(text: str, option: str, labels: Collection[str]) -> tuple[str, str]:
    label, value = _labelled(text, option, labels)
    if label in labels:
        raise Misuse(f"two variants have the label '{label}'", "give each a label of its own")
    return label, value


def _labelled(text: str, option: str, labels: Collection[str]) -> tuple[str, str]:
    """Return the label and the rest of a value; without a label, it gets one from its name."""
    label, equals, path = text.partition("=")
    if not equals or Path(text).exists():
        name = Path(text.rpartition("..")[2]).absolute().name
        name = name.partition(".")[0] if option == "--patch" else name
        first = re.sub(r"[^A-Za-z0-9._+-]+", "-", name).strip("-._+")[:12] or "posted"
        names = [first, *(f"{first[:9]}-{number}" for number in range(2, _MOST + 2))]
        return next(name for name in names if name not in labels and name not in _TAKEN), text
    if not _LABEL.fullmatch(label) or label in _TAKEN:
        raise Misuse(
            f"'{label}' can't be the label of {option}",
            "use up to 16 letters, digits and '._+-', and none of " + ", ".join(_TAKEN),
        )
    return label, path


def for_each_harness(
    names: Sequence[str], work: Callable[[str], _Result], *, named: bool
) -> list[_Result]:
    """Do something for each speed-up, and return what came of it.

    If the user did not name them, those are left out of which the posted code changes nothing,
    unless it changes nothing of any of them.
    """
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


def make_trees(source: Source, asked: Asked, tree: Path | None) -> list[PostedTree]:
    """Put the code into copies of a kernel, which is itself a copy of the user's tree, if any."""
    found: list[Posted] = []
    for label, files in asked.patches.items():
        found += posted.from_files(source, label, files, each=asked.each)
    found += [posted.from_tree(source, label, path) for label, path in asked.trees.items()]
    for label, text in asked.ranges.items():
        assert tree is not None
        found += posted.from_range(source, label, tree, text, each=asked.each)
    return _make(source, found)


def make_steps(source: Source, name: str, last: str, *, each: bool) -> list[PostedTree]:
    """Put the steps of a speed-up into copies of a kernel, each with all before it.

    Args:
        source: the kernel.
        name: of the speed-up.
        last: leave out the steps after this one, as in `mmbatch.splice.manifest.cut`.
        each: make a copy for each step, and not only for the last, which is "core" then, if that
            was asked for.
    """
    found = posted.from_steps(source, manifest.load_with_needs(paths.SPEEDUPS, name), last)
    if not each:
        found = [replace(found[-1], label=manifest.CORE) if last == manifest.CORE else found[-1]]
    return _make(source, found)


def _make(source: Source, found: Sequence[Posted]) -> list[PostedTree]:
    if len(found) > _MOST:
        raise Misuse(f"these are {len(found)} variants", f"give at most {_MOST} at a time")
    return [posted.make_tree(source, series) for series in found]
