# SPDX-License-Identifier: GPL-2.0-only
"""What applying speed-ups to a kernel tree would change, found out in a directory of our own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core.cache import Cache
from mmbatch.core.disk import temporary_dir
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.splice import spatch
from mmbatch.splice.manifest import Manifest, known, load, load_with_needs
from mmbatch.splice.presence import is_applied
from mmbatch.splice.steps import Applied, apply_steps, require_series

Say = Callable[[str], None]


@dataclass(frozen=True)
class Target:
    """A kernel tree and what is to be added to it.

    Attributes:
        tree: the tree.
        series: its kernel's, "7.3".
        release: "7.3.4".
        manifests: the speed-ups in order, each after what it needs.
        macros: the macro file for spatch.
    """

    tree: Path
    series: str
    release: str
    manifests: Sequence[Manifest]
    macros: Path


@dataclass(frozen=True)
class Planned:
    """A step as it turned out, and the files that it leaves."""

    applied: Applied
    contents: Mapping[str, bytes]


@dataclass(frozen=True)
class Result:
    """What was done.

    Attributes:
        steps: the steps, done or (in a dry run) to be done; none when all was there already.
        base: the commit that the branch starts at, as people write it; None without git.
        already: where all of it was found: a branch, "HEAD" or the tree; None otherwise.
        author: of the commits; None without any.
    """

    steps: Sequence[Planned]
    base: str | None = None
    already: str | None = None
    author: str | None = None


def choose(directory: Path, names: Sequence[str], series: str, release: str) -> list[Manifest]:
    """Return the manifests of the named speed-ups and of all that they need, in order.

    Args:
        directory: where the speed-ups are.
        names: which; none for all that are made for the kernel.
        series: the kernel's.
        release: the kernel's, for error messages.

    Raises:
        MmbatchError: there is no such speed-up, or it is not made for this kernel.
    """
    fitting = [name for name in known(directory) if series in load(directory / name).kernels]
    if not names and not fitting:
        raise MmbatchError(
            f"choose speed-ups for Linux {release}",
            "none is made for it",
            "name one to see which kernels it is made for",
            ExitCode.NOT_APPLICABLE,
        )
    manifests = load_with_needs(directory, *(names or fitting))
    for manifest in manifests:
        if manifest.is_harness:
            raise MmbatchError(
                f"put {manifest.speedup} into Linux {release}",
                "it is a harness, which measures a function that no speed-up changes",
                f"measure it with `mmbatch bench {manifest.speedup}`",
                ExitCode.USAGE,
            )
    require_series(manifests, series, release)
    return manifests


def plan(cache: Cache, target: Target, contents: Mapping[str, bytes], say: Say) -> list[Planned]:
    """Take the steps that a tree lacks, in a directory with nothing but the files they name.

    Args:
        cache: for that directory.
        target: the tree and the speed-ups.
        contents: path to content of those of the named files that the tree has.
        say: told of it.

    Returns:
        The steps; none when the tree lacks none.

    Raises:
        MmbatchError: exit code 3; a hook does not match exactly.
    """
    with temporary_dir(cache.splices, "apply") as work:
        for name, content in contents.items():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_bytes(content)
        lacking = [m for m in target.manifests if not is_applied(work, target.series, m)]
        if lacking:
            spatch.program()
            names = ", ".join(manifest.speedup for manifest in lacking)
            say(f"splicing {names} into linux {target.release}")
        return [
            Planned(step, {name: (work / name).read_bytes() for name in step.files})
            for step in apply_steps(work, target.series, lacking, target.macros)
        ]
