# SPDX-License-Identifier: GPL-2.0-only
"""Put speed-ups into the user's git tree as a branch, one commit for each step."""

from __future__ import annotations

import hashlib
import os
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import cache
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel.git import Change, GitTree
from mmbatch.splice.apply import Applied, named_files, plan
from mmbatch.splice.manifest import Manifest

PREFIX = "mmbatch/"
_BODY_WIDTH = 75


@dataclass(frozen=True)
class Credit:
    """Whose the commits are: "Name <mail>" or, if that is empty, the user, whom git knows."""

    author: str = ""
    trailers: tuple[str, ...] = ()
    sign_off: bool = False

    def text(self, user: str) -> str:
        """Return what ends each message: nothing, or a blank line and the trailers."""
        lines = [*self.trailers, *([f"Signed-off-by: {user}"] if self.sign_off else [])]
        return "\n\n" + "\n".join(lines) if lines else ""


@dataclass(frozen=True)
class Branch:
    """What was done, or would be: the steps, on which commit, by whom.

    `already` is where all of it was found, a branch or "HEAD"; there are no steps then.
    """

    steps: Sequence[Applied]
    base: str
    author: str = ""
    already: str = ""


def name_for(manifests: Sequence[Manifest]) -> str:
    """Return the name of the branch for some speed-ups: those that no other of them needs."""
    needed = {need for manifest in manifests for need in manifest.needs}
    return PREFIX + "+".join(m.speedup for m in manifests if m.speedup not in needed)


def make(
    tree: Path,
    series: str,
    release: str,
    manifests: Sequence[Manifest],
    branch: str,
    credit: Credit,
    *,
    dry_run: bool = False,
) -> Branch:
    """Make a branch of the user's git tree with a commit for each step, on top of HEAD.

    Neither the working tree nor the index is touched, and the branch comes last. There is none
    if a hook does not match exactly, the tree is dirty, or the branch holds something else.
    """
    git = GitTree(tree)
    git.check_branch_name(branch)
    head = git.head()
    if dirty := git.dirty_files():
        more = f" and {len(dirty) - 1} more" if len(dirty) > 1 else ""
        raise MmbatchError(
            f"make a branch in {tree}",
            f"{dirty[0]}{more} changed since the last commit",
            "commit or stash it first",
            ExitCode.USAGE,
        )
    user = "" if dry_run else git.identity()
    digest = hashlib.sha256(os.fsencode(tree)).hexdigest()[:12]
    with cache.lock(f"apply-{digest}", f"applies to {tree}"):
        steps = plan(manifests, series, release, git.read(head, named_files(series, manifests)))
        base = git.describe(head)
        if dry_run or not steps:
            return Branch(steps, base, already="" if steps else "HEAD")
        changes = [change(step, credit.text(user)) for step in steps]
        tip = git.tip(branch)
        if tip is not None and git.holds(head, tip, changes):
            return Branch((), base, already=f"branch {branch}")
        if tip is not None:
            raise MmbatchError(
                f"make the branch {branch}",
                f"there is one already, and it is not these {len(steps)} steps on {base}",
                f"delete it with git branch -D {branch}, or choose another name with --branch",
                ExitCode.USAGE,
            )
        author = credit.author or user
        with cache.temporary_dir("apply") as work:
            git.create_branch(branch, git.write(head, changes, work, author), "mmbatch: apply")
    return Branch(steps, base, author)


def change(step: Applied, ending: str) -> Change:
    """Return the commit of a step, its message wrapped and with an ending."""
    return Change(step.subject, wrap(step.body) + ending, step.contents)


def wrap(body: str) -> str:
    """Return a commit's body with no line too long, indented paragraphs left as they are."""
    paragraphs = body.split("\n\n")
    for number, paragraph in enumerate(paragraphs):
        lines = paragraph.split("\n")
        is_indented = any(line.startswith((" ", "\t")) for line in lines)
        if not is_indented and max(map(len, lines)) > _BODY_WIDTH:
            paragraphs[number] = textwrap.fill(
                " ".join(lines), _BODY_WIDTH, break_long_words=False, break_on_hyphens=False
            )
    return "\n\n".join(paragraphs)
