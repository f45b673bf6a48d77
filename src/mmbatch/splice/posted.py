# SPDX-License-Identifier: GPL-2.0-only
"""Put somebody else's patches into a copy of a kernel tree, to be measured beside ours.

Only the files that the patches name are copied. All others are hard links to the tree's, which
is never written.
"""

from __future__ import annotations

import filecmp
import hashlib
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mmbatch.core import process
from mmbatch.core.cache import Cache
from mmbatch.core.disk import error_from_os, temporary_dir
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel import sources
from mmbatch.kernel.git import GitTree
from mmbatch.kernel.sources import Source
from mmbatch.splice import mails
from mmbatch.splice.apply import replace as replace_file
from mmbatch.splice.mails import Patch
from mmbatch.splice.manifest import ALL, Manifest, cut
from mmbatch.splice.plan import Say, Target, plan
from mmbatch.splice.steps import named_files

READ_PARTS = ("arch/x86/", "include/", "kernel/", "lib/", "mm/")
"""What is read of a tree when the objects of a hosted program are compiled."""

_SOURCE = re.compile(r"(?!.*\.mod\.c).*\.[chS]|Makefile|Kbuild")
_NAME = re.compile(rb"^(?:--- |\+\+\+ |rename from |rename to |copy from )([^\t\n\r]+)", re.M)
_FAILED = re.compile(r"^error: patch failed: (.+):(\d+)$", re.MULTILINE)
_HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@.*$", re.MULTILINE)


@dataclass(frozen=True)
class Posted:
    """Somebody else's code.

    Attributes:
        label: its row of the table.
        source: where it comes from, for people.
        sha256: of what it was read from (hex).
        patches: the subjects of its patches.
        contents: path to content of each file that it changes; None for one that it removes.
        step: it is part of a series, in which a patch may well change nothing that is measured.
    """

    label: str
    source: str
    sha256: str
    patches: tuple[str, ...]
    contents: Mapping[str, bytes | None]
    step: bool = False


@dataclass(frozen=True)
class PostedTree:
    """A tree with somebody else's code in it.

    Attributes:
        posted: the code.
        path: the tree; it has only what is compiled for a hosted program.
        ident: another for other code.
    """

    posted: Posted
    path: Path
    ident: str


def from_files(
    cache: Cache, source: Source, label: str, paths: Sequence[Path], *, each: bool = False
) -> list[Posted]:
    """Apply a posted series to a kernel, in a directory with nothing but the files it names.

    Args:
        cache: for that directory.
        source: the kernel.
        label: of the series.
        paths: its files or directories, in order.
        each: return the code after every patch, not only after the last.

    Raises:
        MmbatchError: exit code 3 where a hunk does not apply; 2 where no patch can be read.
    """
    parts = [mails.read(path, cache.splices) for path in paths]
    patches = [patch for part in parts for patch in part.patches]
    sums = [part.sha256 for part in parts]
    sha256 = sums[0] if len(sums) == 1 else hashlib.sha256("".join(sums).encode()).hexdigest()
    places = ", ".join(map(os.fspath, paths))
    subjects = tuple(patch.subject for patch in patches)
    with temporary_dir(cache.splices, "posted") as work:
        states = list(_states(work, source, label, patches))
    whole = Posted(label, places, sha256, subjects, states[-1])
    if not each or len(states) == 1:
        return [whole]
    return [
        replace(
            whole,
            label=f"{label} {number}/{len(states)}",
            patches=subjects[:number],
            contents=contents,
            step=True,
        )
        for number, contents in enumerate(states, 1)
    ]


def from_steps(
    cache: Cache,
    source: Source,
    manifests: Sequence[Manifest],
    macros: Path,
    say: Say,
    last: str = ALL,
) -> list[Posted]:
    """Return the code after every step of a speed-up of ours.

    Args:
        cache: for a directory with nothing but the files that the steps name.
        source: the kernel.
        manifests: the speed-up, after all that it needs.
        macros: the macro file for spatch.
        say: told of it.
        last: leave out the steps after this one, as in `mmbatch.splice.manifest.cut`.

    Raises:
        MmbatchError: exit code 3; a hook does not match exactly. 2; there is no such step.
    """
    manifests = cut(manifests, last)
    target = Target(source.path, source.series, source.release, manifests, macros)
    names = sorted(named_files(source.series, manifests))
    base = {name: held for name in names if (held := _content(source.path / name)) is not None}
    contents: dict[str, bytes | None] = {}
    found: list[Posted] = []
    for step in plan(cache, target, base, say):
        contents |= step.contents
        if step.applied.speedup == manifests[-1].speedup:
            label = f"{len(found) + 1} {step.applied.name}"
            subjects = (*(found[-1].patches if found else ()), step.applied.subject)
            origin = f"step '{step.applied.name}' of {step.applied.speedup}"
            posted = Posted(label, origin, digest(contents), subjects, dict(contents), step=True)
            found.append(posted)
    return found


def from_tree(source: Source, label: str, tree: Path) -> Posted:
    """Return what another tree of the same kernel has in the place of this one's files.

    Args:
        source: the kernel.
        label: of the tree.
        tree: the other one; it is only read.

    Raises:
        MmbatchError: exit code 2; it is no kernel, or another release.
    """
    _, release = sources.check_tree(tree)
    if release != source.release:
        raise MmbatchError(
            f"measure {tree} against {source.origin}",
            f"it is Linux {release}, and that is {source.release}",
            "give the release without the changes with --tree",
            ExitCode.USAGE,
        )
    contents: dict[str, bytes | None] = {}
    try:
        names = set(_sources_in(source.path)) | set(_sources_in(tree))
        for name in sorted(names):
            own_file, other = source.path / name, tree / name
            in_both = own_file.is_file() and other.is_file()
            if not in_both or not filecmp.cmp(own_file, other, shallow=False):
                contents[name] = _content(other)
    except OSError as error:
        raise error_from_os(error, f"compare {tree} with {source.origin}") from error
    return Posted(label, f"tree {tree}", digest(contents), (), contents)


def from_range(source: Source, label: str, tree: Path, text: str, *, each: bool) -> list[Posted]:
    """Return what commits of a git tree change.

    Args:
        source: the kernel, a copy of what is checked out in that tree.
        label: of the range.
        tree: the git tree; only its commits are read.
        text: the range, "A..B".
        each: return the code after every commit, not only after the last.

    Raises:
        MmbatchError: exit code 2 where git knows no such commits; 3 where the kernel is not that
            which the range starts from.
    """
    git = GitTree(tree)
    first, _, last = text.partition("..")
    base, commits = git.commits(first, last)
    subjects = tuple(map(git.describe, commits))
    found = []
    for number, commit in enumerate(commits, 1):
        if not each and number < len(commits):
            continue
        names = git.names_changed(base, commit)
        before, after = git.read(base, names), git.read(commit, names)
        for name in names:
            if _content(source.path / name) != before.get(name):
                start = git.short(base)
                where = shlex.quote(os.fspath(tree))
                raise MmbatchError(
                    f"measure {text}",
                    f"{name} in {tree} is not that of {start}, from which the range starts",
                    f"run git -C {where} worktree add --detach DIR {start}, then use --tree DIR",
                    ExitCode.SPLICE,
                )
        contents = {name: after.get(name) for name in names}
        step = each and len(commits) > 1
        found.append(
            Posted(
                f"{label} {number}/{len(commits)}" if step else label,
                f"commits {text} of {tree}",
                digest(contents),
                subjects[:number],
                contents,
                step,
            )
        )
    return found


def _sources_in(tree: Path) -> Iterator[str]:
    """Yield the files of a tree that a hosted program may be compiled from."""
    for part in READ_PARTS:
        for directory, directories, files in os.walk(tree / part):
            if Path(directory).name == "include" or directory == os.fspath(tree / "include"):
                directories[:] = [
                    name for name in directories if name not in ("generated", "config")
                ]
            for name in files:
                if _SOURCE.fullmatch(name):
                    yield os.path.relpath(Path(directory) / name, tree)


def digest(contents: Mapping[str, bytes | None]) -> str:
    """Return the SHA-256 of files, their names and contents (hex)."""
    total = hashlib.sha256()
    for name, content in sorted(contents.items()):
        total.update(os.fsencode(name) + b"\0")
        total.update(b"-" if content is None else hashlib.sha256(content).digest())
    return total.hexdigest()


def _states(
    work: Path, source: Source, label: str, patches: Sequence[Patch]
) -> Iterator[dict[str, bytes | None]]:
    """Yield the files that differ from the kernel's after each patch."""
    names = sorted({name for patch in patches for name in _named(patch.text)})
    _copy(source.path, work, names)
    for number, patch in enumerate(patches, 1):
        name = f"'{patch.subject}'" if patch.subject else label
        if len(patches) > 1:
            name += f" (patch {number} of {len(patches)} of {label})"
        _apply(work, source, patch, name)
        yield {
            name: after
            for name in names
            if (after := _content(work / name)) != _content(source.path / name)
        }


def _named(text: bytes) -> Iterator[str]:
    """Yield the paths that a diff may name, and perhaps some that it does not."""
    for match in _NAME.finditer(text):
        name = match[1].decode(errors="surrogateescape").strip().strip('"')
        for path in (name, name.partition("/")[2]):
            if path and not path.startswith("/") and ".." not in path.split("/"):
                yield path


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _copy(tree: Path, work: Path, names: Iterable[str]) -> None:
    try:
        for name in names:
            content = _content(tree / name)
            if content is not None:
                replace_file(work / name, content)
    except OSError as error:
        raise error_from_os(error, "copy the files that a patch names") from error


def _apply(work: Path, source: Source, patch: Patch, name: str) -> None:
    """Apply one patch in a directory; nothing is changed if a hunk of it fails."""
    file = work / ".mmbatch.patch"
    file.write_bytes(patch.text)

    def git(*arguments: str) -> process.Result:
        return process.run(
            ["git", "-c", "core.autocrlf=false", "apply", *arguments, "--whitespace=nowarn", file],
            action=f"apply {name}",
            cwd=work,
            env={"GIT_CEILING_DIRECTORIES": os.fspath(work.parent.resolve())},
            check=False,
        )

    done = git()
    if done.rc == 0:
        return
    broken = re.search(
        r"^error: (No valid patches in input|corrupt patch .*?)(?: \(|$)", done.stderr
    )
    if broken:
        problem, hint = broken[1], "save the whole mail, as it was sent"
    elif git("--check", "--reverse").rc == 0:
        problem, hint = f"Linux {source.release} has it already", "leave it out"
    else:
        problem = _problem(patch, done.stderr, source)
        hint = "give the kernel that it was made for with --tree or --kernel"
    raise MmbatchError(f"apply {name}", problem, hint, ExitCode.SPLICE)


def _problem(patch: Patch, message: str, source: Source) -> str:
    """Return why git did not apply a patch, with the file and the hunk."""
    failed = _FAILED.search(message)
    if failed is None:
        first = next((line for line in message.splitlines() if line.startswith("error: ")), message)
        return first.removeprefix("error: ").strip() or "git does not say why"
    name, line = failed[1], int(failed[2])
    text = patch.text.decode(errors="replace")
    start = max(text.find(f"+++ b/{name}"), 0)
    end = text.find("\ndiff --git ", start)
    hunks = list(_HUNK.finditer(text[start : end if end > 0 else None]))
    for number, hunk in enumerate(hunks, 1):
        if int(hunk[1]) == line:
            return (
                f"hunk {number} of {len(hunks)} in {name} does not fit Linux {source.release}: "
                f"{hunk[0]}"
            )
    return f"the hunk at line {line} of {name} does not fit Linux {source.release}"


def make_tree(
    cache: Cache, source: Source, posted: Posted, say: Callable[[str], None]
) -> PostedTree:
    """Return a copy of a tree with somebody else's code in it, from the cache if it is there.

    Args:
        cache: where the copy lives, beside the source's tree.
        source: the kernel.
        posted: the code.
        say: told of it.
    """
    key = hashlib.sha256(f"{source.state} {digest(posted.contents)}".encode())
    ident = f"posted-{source.ident}-{key.hexdigest()[:12]}"

    def fill(work: Path) -> None:
        for part in READ_PARTS:
            (work / part).parent.mkdir(parents=True, exist_ok=True)
            process.run(
                ["cp", "-al", source.path / part, work / part],
                action=f"copy the tree of Linux {source.release}",
            )
        for name, content in posted.contents.items():
            if content is None:
                (work / name).unlink(missing_ok=True)
            else:
                replace_file(work / name, content)

    final = cache.provide(
        cache.splices / ident,
        fill,
        f"copies {source.release}",
        say,
        keep_few=True,
        parts=[name for name, content in posted.contents.items() if content is not None],
    )
    return PostedTree(posted, final, ident)
