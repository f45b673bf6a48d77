# SPDX-License-Identifier: GPL-2.0-only
"""The options of `bench` by which somebody else's code is measured."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.cli.usage import Misuse
from mmbatch.core.cache import Cache
from mmbatch.core.console import Console
from mmbatch.hosted.events import AUTO, BASE, CONTROL
from mmbatch.kernel.sources import Source
from mmbatch.splice import posted
from mmbatch.splice.posted import Posted, PostedTree

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,15}")
_ENTRY = re.compile(r"[A-Za-z_]\w*=[A-Za-z_]\w*", re.ASCII)
_MOST = 32
_TAKEN = (BASE, CONTROL, AUTO)


@dataclass(frozen=True)
class Asked:
    """Somebody else's code, as named on the command line.

    Attributes:
        patches: label to the files and directories of a series.
        each: measure after every patch of a series.
        entries: function of the harness to the name that it has in this code.
    """

    patches: dict[str, list[Path]]
    each: bool
    entries: dict[str, str]

    @property
    def words(self) -> tuple[str, ...]:
        """The words that ask for it again."""
        words = [
            word
            for label, paths in self.patches.items()
            for path in paths
            for word in ("--patch", f"{label}={os.fspath(path)}")
        ]
        words += ["--each"] if self.each else []
        words += [word for pair in self.entries.items() for word in ("--entry", "=".join(pair))]
        return tuple(words)


def read_options(patches: Sequence[str], entries: Sequence[str], *, each: bool) -> Asked:
    """Read what was named on the command line.

    Raises:
        MmbatchError: a label can't be one, or a file is not there.
    """
    found: dict[str, list[Path]] = {}
    for text in patches:
        label, path = _labelled(text, "--patch", set(found))
        if not path.exists():
            raise Misuse(f"there is no {path}", "give a patch, an mbox or a directory of mails")
        found.setdefault(label, []).append(path)
    if each and not found:
        raise Misuse("--each is for the patches of a series", "give the series with --patch")
    renamed = {}
    for text in entries:
        if not _ENTRY.fullmatch(text):
            raise Misuse(f"--entry {text} is not OLD=NEW", "give the names of two functions")
        old, _, new = text.partition("=")
        renamed[old] = new
    return Asked(found, each, renamed)


def _labelled(text: str, option: str, taken: set[str]) -> tuple[str, Path]:
    """Return the label and the path in an option's value; a path alone gets its name as label."""
    label, equals, rest = text.partition("=")
    if not equals or Path(text).exists():
        stem = re.sub(r"[^A-Za-z0-9._+-]+", "-", Path(text).absolute().name.partition(".")[0])
        first = stem.strip("-._+")[:12] or "posted"
        names = [first, *(f"{first[:9]}-{number}" for number in range(2, _MOST + 2))]
        return next(name for name in names if name not in taken and name not in _TAKEN), Path(text)
    if not _LABEL.fullmatch(label) or label in _TAKEN:
        raise Misuse(
            f"'{label}' can't be the label of {option}",
            "use up to 16 letters, digits and '._+-', and none of " + ", ".join(_TAKEN),
        )
    return label, Path(rest)


def make_trees(cache: Cache, source: Source, asked: Asked, console: Console) -> list[PostedTree]:
    """Put the code into copies of a kernel.

    Raises:
        MmbatchError: exit code 3 where it does not apply.
    """
    found: list[Posted] = []
    for label, paths in asked.patches.items():
        found += posted.from_files(cache, source, label, paths, each=asked.each)
    if len(found) > _MOST:
        raise Misuse(f"these are {len(found)} variants", f"give at most {_MOST} at a time")
    return [posted.make_tree(cache, source, one, console.say) for one in found]
