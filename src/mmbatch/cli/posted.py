# SPDX-License-Identifier: GPL-2.0-only
"""The options of `bench` and `check` by which somebody else's code is given."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from mmbatch.cli.usage import Misuse
from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.console import Console
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
    """Somebody else's code, as named on the command line.

    Attributes:
        patches: label to the files and directories of a series.
        trees: label to a tree that has the code.
        ranges: label to a range of commits, "A..B".
        each: measure after every patch or commit; alone, after every step of a speed-up.
        entries: function of the harness to the name that it has in this code.
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
        words = [
            word
            for label, paths in self.patches.items()
            for path in paths
            for word in ("--patch", f"{label}={os.fspath(path)}")
        ]
        for label, path in self.trees.items():
            words += ["--against", f"{label}={os.fspath(path)}"]
        for label, text in self.ranges.items():
            words += ["--range", f"{label}={text}"]
        words += ["--each"] if self.each else []
        words += [word for pair in self.entries.items() for word in ("--entry", "=".join(pair))]
        return tuple(words)


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
        asked = read_options(patches, trees, ranges, entries, tree, each=each)
        return command(*args, tree=tree, asked=asked, **words)

    for option in reversed(_OPTIONS):
        with_asked = option(with_asked)
    return with_asked


def read_options(
    patches: Sequence[str],
    trees: Sequence[str],
    ranges: Sequence[str],
    entries: Sequence[str],
    tree: Path | None,
    *,
    each: bool,
) -> Asked:
    """Read what was named on the command line.

    Args:
        patches: values of --patch.
        trees: values of --against.
        ranges: values of --range.
        entries: values of --entry.
        tree: value of --tree.
        each: whether --each is given.

    Raises:
        MmbatchError: a label can't be one, or a file is not there.
    """
    series: dict[str, list[Path]] = {}
    against: dict[str, Path] = {}
    commits: dict[str, str] = {}
    for text in patches:
        label, path = _labelled(text, "--patch", series)
        if not Path(path).exists():
            raise Misuse(f"there is no {path}", "give a patch, an mbox or a directory of mails")
        series.setdefault(label, []).append(Path(path))
    for text in trees:
        label, path = _labelled(text, "--against", series | against)
        against[_new(label, series | against)] = Path(path)
    for text in ranges:
        label, words = _labelled(text, "--range", series | against | commits)
        if tree is None or not all(words.partition("..")):
            raise Misuse(
                f"--range {text} can't be read",
                "write it as in --tree GIT-TREE --range A..B",
            )
        commits[_new(label, series | against | commits)] = words
    if each and against and not (series or commits):
        raise Misuse("--each is for the patches of a series", "give the series with --patch")
    return Asked(series, against, commits, each, _renamed(entries))


def _renamed(entries: Sequence[str]) -> dict[str, str]:
    renamed = {}
    for text in entries:
        if not _ENTRY.fullmatch(text):
            raise Misuse(f"--entry {text} is not OLD=NEW", "give the names of two functions")
        old, _, new = text.partition("=")
        renamed[old] = new
    return renamed


def _new(label: str, labels: Container[str]) -> str:
    if label in labels:
        raise Misuse(f"two variants have the label '{label}'", "give each a label of its own")
    return label


def _labelled(text: str, option: str, labels: Container[str]) -> tuple[str, str]:
    """Return the label and the rest of a value; without a label, it gets one from its name."""
    label, equals, path = text.partition("=")
    if not equals or Path(text).exists():
        name = Path(text.rpartition("..")[2]).absolute().name
        if option == "--patch":
            name = name.partition(".")[0]
        first = re.sub(r"[^A-Za-z0-9._+-]+", "-", name).strip("-._+")[:12] or "posted"
        names = [first, *(f"{first[:9]}-{number}" for number in range(2, _MOST + 2))]
        return next(
            candidate for candidate in names if candidate not in labels and candidate not in _TAKEN
        ), text
    if not _LABEL.fullmatch(label) or label in _TAKEN:
        raise Misuse(
            f"'{label}' can't be the label of {option}",
            "use up to 16 letters, digits and '._+-', and none of " + ", ".join(_TAKEN),
        )
    return label, path


def for_each_harness(
    names: Sequence[str], work: Callable[[str], _Result], console: Console, *, named: bool
) -> list[_Result]:
    """Do something for each speed-up, and return what came of it.

    Args:
        names: the speed-ups.
        work: what is done; called with a name.
        console: where it is shown which are left out.
        named: whether the user named them. If not, those of which the posted code changes
            nothing are left out.

    Raises:
        NoEffectError: it changes nothing of any of them.
    """
    results, refused = [], None
    for name in names:
        try:
            results.append(work(name))
        except NoEffectError as error:
            if named:
                raise
            refused = error
            console.say(f"leaving out {name}, because the posted code changes nothing of it")
    if refused is not None and not results:
        raise refused
    return results


def make_trees(
    cache: Cache, source: Source, asked: Asked, tree: Path | None, console: Console
) -> list[PostedTree]:
    """Put the code into copies of a kernel.

    Args:
        cache: where the copies are kept.
        source: the kernel.
        asked: the code.
        tree: the user's own tree, of which the kernel is a copy.
        console: where progress is shown.

    Raises:
        MmbatchError: exit code 3 where it does not apply.
    """
    found: list[Posted] = []
    for label, files in asked.patches.items():
        found += posted.from_files(cache, source, label, files, each=asked.each)
    for label, path in asked.trees.items():
        found.append(posted.from_tree(source, label, path))
    for label, text in asked.ranges.items():
        assert tree is not None
        found += posted.from_range(source, label, tree, text, each=asked.each)
    return _make(cache, source, found, console)


def make_steps(
    cache: Cache, source: Source, name: str, console: Console, last: str, *, each: bool
) -> list[PostedTree]:
    """Put the steps of a speed-up into copies of a kernel, each with all before it.

    Args:
        cache: for the copies.
        source: the kernel.
        name: of the speed-up.
        console: where progress is shown.
        last: leave out the steps after this one, as in `mmbatch.splice.manifest.cut`.
        each: make a copy for each step, and not only for the last, which is "core" then, if that
            was asked for.
    """
    manifests = manifest.load_with_needs(paths.SPEEDUPS, name)
    found = posted.from_steps(cache, source, manifests, paths.MACROS, console.say, last)
    if not each:
        found = [replace(found[-1], label=manifest.CORE) if last == manifest.CORE else found[-1]]
    return _make(cache, source, found, console)


def _make(
    cache: Cache, source: Source, found: Sequence[Posted], console: Console
) -> list[PostedTree]:
    if len(found) > _MOST:
        raise Misuse(f"these are {len(found)} variants", f"give at most {_MOST} at a time")
    return [posted.make_tree(cache, source, series, console.say) for series in found]
