# SPDX-License-Identifier: GPL-2.0-only
"""The options of `bench` and `check` by which posted code is given."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from mmbatch.cli import options
from mmbatch.cli.options import Names, packed, values
from mmbatch.cli.usage import Misuse
from mmbatch.core import log, paths
from mmbatch.hosted.events import AUTO, BASE, CONTROL
from mmbatch.hosted.posted import NoEffectError
from mmbatch.kernel.sources import Source
from mmbatch.splice import manifest, posted
from mmbatch.splice.posted import Posted, PostedTree

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,15}")
_MOST = 32
_TAKEN = (BASE, CONTROL, AUTO, manifest.CORE)
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Asked:
    """Posted code, as named on the command line, and the tree that --tree names.

    `code` has the option and its values by label. With `each`, the code is measured after every
    patch or commit, or without such code after every step of a speed-up. `entries` maps a function
    of the harness to its name in this code.
    """

    tree: Path | None
    code: dict[str, tuple[str, list[str]]]
    each: bool
    entries: dict[str, str]

    def __bool__(self) -> bool:
        """Whether any code is named."""
        return bool(self.code)

    @property
    def is_of_steps(self) -> bool:
        """Whether the steps of a speed-up are asked for, and nobody else's code."""
        return self.each and not self


def _read(
    tree: Path | None, patches: Names, trees: Names, ranges: Names, entries: Names, *, each: bool
) -> Asked:
    asked = Asked(tree, {}, each, dict(text.split("=") for text in entries))
    for text in patches:
        path = _add(asked, "--patch", text)
        if not path or not Path(path).exists():
            hint = "give a patch, an mbox or a directory of mails"
            raise Misuse(f"there is no file '{path}'", hint)
    for text in trees:
        _add(asked, "--against", text)
    for text in ranges:
        if tree is None or not all(_add(asked, "--range", text).partition("..")):
            hint = "write it as in --tree GIT-TREE --range A..B"
            raise Misuse(f"--range {text} can't be read", hint)
    if each and trees and not (patches or ranges):
        raise Misuse("--each is for the patches of a series", "give the series with --patch")
    return asked


asked = packed(
    _read,
    tree=options.tree,
    patches=values(
        "--patch [LABEL=]FILE", "Use this posted series: a patch, an mbox or a directory of mails"
    ),
    trees=values("--against [LABEL=]TREE", "Use this other tree of the same release"),
    ranges=values("--range [LABEL=]A..B", "Use these commits of the git tree that --tree names"),
    each=options.flag(
        "--each",
        "Use the code after every patch or commit; without a posted series, after every step",
    ),
    entries=values(
        "--entry OLD=NEW",
        "Use the function NEW of the posted series in place of OLD",
        options.like(r"[A-Za-z_]\w*=[A-Za-z_]\w*", "OLD=NEW", "set_toys=set_all_toys"),
    ),
)
"""The options that name code, with --tree."""


def _add(asked: Asked, option: str, text: str) -> str:
    """Note a value under its label, which it gets from its name if it has none, and return it."""
    label, equals, path = text.partition("=")
    if not equals or Path(text).exists():
        path, name = text, Path(text.rpartition("..")[2]).absolute().name
        name = name.partition(".")[0] if option == "--patch" else name
        first = re.sub(r"[^A-Za-z0-9._+-]+", "-", name).strip("-._+")[:12] or "posted"
        names = [first, *(f"{first[:9]}-{number}" for number in range(2, _MOST + 2))]
        label = next(name for name in names if name not in asked.code and name not in _TAKEN)
    elif not _LABEL.fullmatch(label) or label in _TAKEN:
        raise Misuse(
            f"'{label}' can't be the label of {option}",
            "use up to 16 letters, digits and '._+-', and none of " + ", ".join(_TAKEN),
        )
    kind, texts = asked.code.setdefault(label, (option, []))
    if texts and not kind == option == "--patch":
        raise Misuse(f"two variants have the label '{label}'", "give each a label of its own")
    texts.append(path)
    return path


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
    found: list[Posted] = []
    for label, (option, texts) in asked.code.items():
        if option == "--patch":
            files = list(map(Path, texts))
            found += posted.from_files(source, label, files, each=asked.each)
        elif option == "--against":
            found.append(posted.from_tree(source, label, Path(texts[0])))
        else:
            assert asked.tree is not None
            found += posted.from_range(source, label, asked.tree, texts[0], each=asked.each)
    return _make(source, found)


def make_steps(source: Source, name: str, last: str, *, each: bool) -> list[PostedTree]:
    """Put the steps of a speed-up up to one, or with `each` every one, into copies of a kernel."""
    found = posted.from_steps(source, manifest.load_with_needs(paths.SPEEDUPS, name), last)
    if not each:
        found = [replace(found[-1], label=manifest.CORE) if last == manifest.CORE else found[-1]]
    return _make(source, found)


def _make(source: Source, found: Sequence[Posted]) -> list[PostedTree]:
    if len(found) > _MOST:
        raise Misuse(f"these are {len(found)} variants", f"give at most {_MOST} at a time")
    return [posted.make_tree(source, series) for series in found]
