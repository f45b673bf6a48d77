# SPDX-License-Identifier: GPL-2.0-only
"""What checkpatch reports about a patch, and which of it a speed-up explains."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import process
from mmbatch.core.load import from_toml
from mmbatch.splice.manifest import Manifest

_SAID = re.compile(r"^(?:.*?:\d+: )?(ERROR|WARNING|CHECK):([A-Z0-9_]+): (.*)$")
_ANY_SERIES = {
    "FILE_PATH_CHANGES": "which MAINTAINERS entry the new files belong to is for the maintainer "
    "to say who takes them",
}


@dataclass(frozen=True)
class Objection:
    """One complaint: ERROR, WARNING or CHECK, its type, and its words."""

    level: str
    type: str
    words: str


@dataclass(frozen=True)
class _Explanation:
    type: str
    why: str


@dataclass(frozen=True)
class _Explanations:
    """What a checkpatch.toml holds."""

    explained: tuple[_Explanation, ...] = ()


def explanations(manifests: Iterable[Manifest]) -> dict[str, str]:
    """Return type of complaint to why it stays, of all series and of some speed-ups.

    A speed-up's `checkpatch.toml` has a table `[[explained]]` with `type` and `why` for each.

    Raises:
        MmbatchError: such a file is wrong.
    """
    found = dict(_ANY_SERIES)
    for manifest in manifests:
        path = manifest.directory / "checkpatch.toml"
        if path.exists():
            found |= {entry.type: entry.why for entry in from_toml(_Explanations, path).explained}
    return found


def of_patches(tree: Path, patches: Sequence[Path], *, signed_off: bool) -> list[list[Objection]]:
    """Return what a tree's own checkpatch.pl --strict reports about each of some patches.

    Args:
        tree: the kernel.
        patches: the mails.
        signed_off: whether to require a Signed-off-by line.
    """
    if not (tree / "scripts" / "checkpatch.pl").exists():
        absent = Objection("ERROR", "CHECKPATCH", "the tree has no scripts/checkpatch.pl")
        return [[absent] for _ in patches]
    options = [] if signed_off else ["--no-signoff"]
    return [_of_patch(tree, patch, options) for patch in patches]


def _of_patch(tree: Path, patch: Path, options: Sequence[str]) -> list[Objection]:
    words = ["--strict", "--terse", "--show-types", "--no-summary", "--color=never"]
    done = process.run(
        ["perl", "scripts/checkpatch.pl", *words, *options, patch.absolute()],
        action=f"run checkpatch.pl on {patch.name}",
        cwd=tree,
        check=False,
    )
    found = [match for line in done.stdout.splitlines() if (match := _SAID.match(line))]
    if done.rc != 0 and not found:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        return [Objection("ERROR", "CHECKPATCH", *(last or [f"it ended with {done.rc}"]))]
    return [Objection(*match.groups()) for match in found]


def unexplained(said: Sequence[Objection], why: Iterable[str]) -> list[Objection]:
    """Return what no explanation covers; an error can't be explained away."""
    known = set(why)
    return [one for one in said if one.level == "ERROR" or one.type not in known]


def summary(said: Iterable[Objection], why: dict[str, str]) -> list[str]:
    """Return a sentence for each type that was met and is explained, for the cover letter."""
    counts: dict[str, int] = {}
    for one in said:
        if one.type in why:
            counts[one.type] = counts.get(one.type, 0) + 1
    return [f"{count} x {name}: {why[name]}." for name, count in counts.items()]
