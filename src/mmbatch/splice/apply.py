# SPDX-License-Identifier: GPL-2.0-only
"""Put speed-ups into a kernel tree: as a branch of its git, or into a copy of it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import textwrap
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import process
from mmbatch.core.cache import Cache
from mmbatch.core.disk import atomic_dir, error_from_os, real_path, sweep, temporary_dir
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


@dataclass(frozen=True)
class Credit:
    """Whose the commits are.

    Attributes:
        author: "Name <mail>"; empty for the user, whom git knows.
        trailers: lines at the end of each message, such as "Co-developed-by: Name <mail>".
        sign_off: add the user's Signed-off-by after them.
    """

    author: str = ""
    trailers: tuple[str, ...] = ()
    sign_off: bool = False

    def text(self, user: str) -> str:
        """Return what ends each message: nothing, or a blank line and the trailers."""
        lines = [*self.trailers, *([f"Signed-off-by: {user}"] if self.sign_off else [])]
        return "\n\n" + "\n".join(lines) if lines else ""


def to_branch(
    cache: Cache, target: Target, branch: str, say: Say, credit: Credit, *, dry_run: bool
) -> Result:
    """Make a branch of the user's git tree with a commit for each step, on top of HEAD.

    Neither the working tree nor the index is touched, and the branch comes last.

    Args:
        cache: for temporary files.
        target: the tree and the speed-ups.
        branch: the branch to make.
        say: told of each phase.
        credit: whose the commits are.
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
        author = credit.author or signer
        changes = [change(step, credit.text(signer)) for step in steps]
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
            git.create_branch(branch, git.write(head, changes, work, author), _REASON)
    return Result(steps, base, author=author)


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


def change(step: Planned, ending: str) -> Change:
    """Return the commit of a step, its message wrapped and with an ending."""
    return Change(step.applied.subject, wrap(step.applied.body) + ending, step.contents)


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


def to_copy(
    cache: Cache, target: Target, output: Path | None, say: Say, *, dry_run: bool
) -> Result:
    """Write a copy of a tree without git, with the speed-ups in it.

    Args:
        cache: for temporary files.
        target: the tree and the speed-ups.
        output: where the copy goes; it appears when it is complete.
        say: told of each phase.
        dry_run: only return what would be done.

    Raises:
        MmbatchError: exit code 3 where a hook does not match exactly; 2 where there is no
            place for the copy.
    """
    if not dry_run:
        output = _checked_output(target.tree, output)
    contents = {}
    for name in named_files(target.series, target.manifests):
        if (target.tree / name).is_file():
            contents[name] = (target.tree / name).read_bytes()
    steps = plan(cache, target, contents, say)
    if output is None or dry_run or not steps:
        return Result(steps, already=None if steps else str(target.tree))
    say(f"copying linux {target.release} to {output}")
    if output.parent.is_dir():
        sweep(output.parent, output.name)
    with atomic_dir(output) as work:
        process.run(["cp", "-a", f"{target.tree}/.", work], action=f"copy {target.tree}")
        for step in steps:
            for name, content in step.contents.items():
                replace(work / name, content)
    return Result(steps)


def _checked_output(tree: Path, output: Path | None) -> Path:
    """Return where a copy goes, resolved."""
    action = f"apply to {tree}"
    if output is None:
        raise MmbatchError(
            action,
            "it has no git to make a branch in",
            "name a directory for a copy with -o DIR",
            ExitCode.USAGE,
        )
    output = real_path(output, action)
    if output.is_relative_to(tree):
        problem = f"{output} lies in the tree itself"
    elif output.is_dir() and any(output.iterdir()):
        problem = f"{output} is not empty"
    elif output.exists() and not output.is_dir():
        problem = f"{output} is not a directory"
    else:
        return output
    raise MmbatchError(action, problem, "name another directory with -o DIR", ExitCode.USAGE)


def replace(path: Path, content: bytes) -> None:
    """Put a file into a copy of a tree, which may be a link to another tree's."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        path.chmod(mode)
    except OSError as error:
        raise error_from_os(error, f"write {path.name}") from error
