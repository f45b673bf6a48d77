# SPDX-License-Identifier: GPL-2.0-only
"""Put speed-ups into a kernel tree as a branch of its git, and take it back."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import textwrap
from collections.abc import Generator, Sequence
from pathlib import Path

from mmbatch.core.cache import Cache
from mmbatch.core.disk import temporary_dir
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel.git import Change, GitTree
from mmbatch.splice.manifest import Manifest
from mmbatch.splice.plan import Planned, Result, Say, Target, plan
from mmbatch.splice.steps import named_files

PREFIX = "mmbatch/"
_BODY_WIDTH = 75
_REASON = "mmbatch: apply"


def branch_name(manifests: Sequence[Manifest]) -> str:
    """Return the name of the branch for some speed-ups: those that no other of them needs."""
    needed = {need for manifest in manifests for need in manifest.needs}
    return PREFIX + "+".join(m.speedup for m in manifests if m.speedup not in needed)


def to_branch(
    cache: Cache, target: Target, branch: str, say: Say, *, sign_off: bool, dry_run: bool
) -> Result:
    """Make a branch of the user's git tree with a commit for each step, on top of HEAD.

    Neither the working tree nor the index is touched, and the branch comes last.

    Args:
        cache: for temporary files.
        target: the tree and the speed-ups.
        branch: the branch to make.
        say: told of each phase.
        sign_off: add a Signed-off-by line to each commit.
        dry_run: only return what would be done.

    Raises:
        MmbatchError: exit code 3 where a hook does not match exactly; 2 where the tree is
            dirty or the branch is there and holds something else.
    """
    git = GitTree(target.tree)
    git.check_branch_name(branch)
    head = git.head()
    _require_clean(git)
    signer = "" if dry_run else git.identity()
    with _locked(cache, target, say):
        names = named_files(target.series, target.manifests)
        steps = plan(cache, target, git.read(head, names), say)
        base = git.describe(head)
        if dry_run or not steps:
            return Result(steps, base, already=None if steps else "HEAD")
        trailer = f"\n\nSigned-off-by: {signer}" if sign_off else ""
        changes = [change(step, trailer) for step in steps]
        tip = git.tip(branch)
        if tip is not None:
            if git.holds(head, tip, changes):
                return Result((), base, already=f"branch {branch}")
            raise MmbatchError(
                f"make the branch {branch}",
                f"there is one already, and it is not these {len(steps)} steps on {base}",
                "take it back with --undo, or choose another name with --branch",
                ExitCode.USAGE,
            )
        with temporary_dir(cache.splices, "apply") as work:
            git.create_branch(branch, git.write(head, changes, work), _REASON)
    return Result(steps, base)


def take_back(tree: Path, branch: str) -> str:
    """Delete a branch that `to_branch` made, if it still is as it was made.

    Returns:
        The commit that it ended at.

    Raises:
        MmbatchError: there is none, it is checked out, or someone else made or changed it.
    """
    git = GitTree(tree)
    git.check_branch_name(branch)
    action = f"take back the branch {branch}"
    tip = git.tip(branch)
    if tip is None:
        raise MmbatchError(
            action, "there is no such branch", "name another with --branch", ExitCode.USAGE
        )
    place = git.checked_out_at(branch)
    if place is not None:
        raise MmbatchError(
            action, f"it is checked out in {place}", "switch to another branch", ExitCode.USAGE
        )
    if _REASON not in git.made_as(branch, tip):
        raise MmbatchError(
            action,
            "its log does not show that mmbatch made it as it is now",
            f"see what is in it, and delete it yourself: git branch -D {shlex.quote(branch)}",
            ExitCode.USAGE,
        )
    git.delete_branch(branch, tip)
    return git.short(tip)


def change(step: Planned, trailer: str) -> Change:
    """Return the commit of a step, its message wrapped and with a trailer."""
    return Change(step.applied.subject, wrap(step.applied.body) + trailer, step.contents)


def wrap(body: str) -> str:
    """Return a commit's body with no line too long, indented paragraphs left as they are."""
    paragraphs = []
    for paragraph in body.split("\n\n"):
        lines = paragraph.split("\n")
        fits = all(len(line) <= _BODY_WIDTH for line in lines)
        if fits or any(line.startswith((" ", "\t")) for line in lines):
            paragraphs.append(paragraph)
        else:
            paragraphs.append(
                textwrap.fill(
                    " ".join(lines), _BODY_WIDTH, break_long_words=False, break_on_hyphens=False
                )
            )
    return "\n\n".join(paragraphs)


def _require_clean(git: GitTree) -> None:
    dirty = git.dirty_files()
    if dirty:
        more = f" and {len(dirty) - 1} more" if len(dirty) > 1 else ""
        raise MmbatchError(
            f"make a branch in {git.path}",
            f"{dirty[0]}{more} changed since the last commit",
            "commit or stash it first",
            ExitCode.USAGE,
        )


@contextlib.contextmanager
def _locked(cache: Cache, target: Target, say: Say) -> Generator[None, None, None]:
    digest = hashlib.sha256(os.fsencode(target.tree)).hexdigest()[:12]
    with cache.lock(f"apply-{digest}", f"applies to {target.tree}", say):
        yield
