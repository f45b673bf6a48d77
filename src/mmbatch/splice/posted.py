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
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import cache, log, process
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel import sources as kernels
from mmbatch.kernel.git import GitTree
from mmbatch.kernel.sources import Source
from mmbatch.splice import mails
from mmbatch.splice.apply import contents_in, named_files, plan, write
from mmbatch.splice.mails import Patch
from mmbatch.splice.manifest import ALL, Manifest, cut

READ_PARTS = ("arch/x86/", "include/", "kernel/", "lib/", "mm/")
"""What is read of a tree when the objects of a hosted program are compiled."""

_COMMENT = re.compile(rb'/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*")', re.DOTALL)
_SOURCE = re.compile(r"(?!.*\.mod\.c).*\.[chS]|Makefile|Kbuild")
_GENERATED = re.compile(r"(^|/)include/(generated|config)/")
_NAME = re.compile(
    rb"^(?:--- |\+\+\+ |rename from |rename to |copy from |diff --git \S+ )([^\t\n\r]+)", re.M
)


@dataclass(frozen=True)
class Posted:
    """Somebody else's code: the row that it has, where it is from for people, and what it is.

    `sha256` is of what it was read from, `patches` are subjects, and `contents` has each file that
    it changes, None for one that it removes. A `step` of a series may well change nothing that is
    measured.
    """

    label: str
    source: str
    sha256: str
    patches: tuple[str, ...]
    contents: Mapping[str, bytes | None]
    step: bool = False


@dataclass(frozen=True)
class PostedTree:
    """A tree with somebody else's code in it, of which it has only what is compiled."""

    posted: Posted
    path: Path
    ident: str


def from_files(
    source: Source, label: str, paths: Sequence[Path], *, each: bool = False
) -> list[Posted]:
    """Apply a posted series to a kernel, in a directory with nothing but the files it names.

    With `each`, return the code after every patch. If only the first patches of a series are
    there, the label says so.
    """
    with cache.temporary_dir("mails") as work:
        series = mails.read(paths, work)
    notes: list[str] = []
    with cache.temporary_dir("posted") as work:
        states = list(_states(work, source, label, series.patches, notes))
    total = series.total or len(states)
    origin = ", ".join(map(os.fspath, paths)) + "".join(f" ({note})" for note in notes)
    subjects = tuple(patch.subject for patch in series.patches)
    return [
        Posted(
            f"{label} {number}/{total}" if total > 1 and (each or series.total) else label,
            origin,
            series.sha256,
            subjects[:number],
            contents,
            step=each and total > 1,
        )
        for number, contents in enumerate(states, 1)
        if each or number == len(states)
    ]


def from_steps(source: Source, manifests: Sequence[Manifest], last: str = ALL) -> list[Posted]:
    """Return the code after every step of a speed-up of ours, the last of those that it needs."""
    manifests = cut(manifests, last)
    base = contents_in(source.path, named_files(source.series, manifests))
    contents: dict[str, bytes | None] = {}
    found: list[Posted] = []
    for step in plan(manifests, source.series, source.release, base):
        contents |= step.contents
        if step.speedup == manifests[-1].speedup:
            label = f"{len(found) + 1} {step.name}"
            subjects = (*(found[-1].patches if found else ()), step.subject)
            origin = f"step '{step.name}' of {step.speedup}"
            posted = Posted(label, origin, digest(contents), subjects, dict(contents), step=True)
            found.append(posted)
    return found


def from_tree(source: Source, label: str, tree: Path) -> Posted:
    """Return what another tree of the same release has in the place of this one's files."""
    _, release = kernels.check_tree(tree)
    if release != source.release:
        raise MmbatchError(
            f"measure {tree} against {source.origin}",
            f"it is Linux {release}, and that is {source.release}",
            "give the release without the changes with --tree",
            ExitCode.USAGE,
        )
    contents: dict[str, bytes | None] = {}
    for name in sorted({*_sources_in(source.path), *_sources_in(tree)}):
        own_file, other = source.path / name, tree / name
        in_both = own_file.is_file() and other.is_file()
        if not in_both or not filecmp.cmp(own_file, other, shallow=False):
            contents[name] = other.read_bytes() if other.is_file() else None
    return Posted(label, f"tree {tree}", digest(contents), (), contents)


def from_range(source: Source, label: str, tree: Path, text: str, *, each: bool) -> list[Posted]:
    """Return what the commits "A..B" of a git tree change, of whose checkout the kernel is a copy.

    With `each`, return the code after every commit. Only the commits of the tree are read.
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
        here = contents_in(source.path, names)
        if other := next((name for name in names if here.get(name) != before.get(name)), None):
            start = git.short(base)
            where = shlex.quote(os.fspath(tree))
            raise MmbatchError(
                f"measure {text}",
                f"{other} in {tree} is not that of {start}, from which the range starts",
                f"run git -C {where} worktree add --detach DIR {start}, then use --tree DIR",
                ExitCode.SPLICE,
            )
        contents = {name: after.get(name) for name in names}
        step = each and len(commits) > 1
        name = f"{label} {number}/{len(commits)}" if step else label
        origin = f"commits {text} of {tree}"
        found.append(Posted(name, origin, digest(contents), subjects[:number], contents, step))
    return found


def _sources_in(tree: Path) -> Iterator[str]:
    """Yield the files of a tree that a hosted program may be compiled from."""
    for path in (path for part in READ_PARTS for path in (tree / part).rglob("*")):
        name = os.path.relpath(path, tree)
        if _SOURCE.fullmatch(path.name) and not _GENERATED.search(name):
            yield name


def digest(contents: Mapping[str, bytes | None]) -> str:
    """Return the SHA-256 of files, their names and their contents without comments (hex)."""
    total = hashlib.sha256()
    for name, content in sorted(contents.items()):
        total.update(os.fsencode(name) + b"\0")
        total.update(b"-" if content is None else hashlib.sha256(_code(name, content)).digest())
    return total.hexdigest()


def _code(name: str, content: bytes) -> bytes:
    """Return what the compiler sees of a C file, and any other file as it is."""
    if not name.endswith((".c", ".h")):
        return content
    bare = _COMMENT.sub(lambda match: match[1] or b" ", content)
    return b" ".join(bare.split())


def _states(
    work: Path, source: Source, label: str, patches: Sequence[Patch], notes: list[str]
) -> Iterator[dict[str, bytes | None]]:
    """Yield the files that differ from the kernel's after each patch."""
    names = sorted({name for patch in patches for _, name in _named(patch.text)})
    before = contents_in(source.path, names)
    for name, content in before.items():
        write(work / name, content)
    for number, patch in enumerate(patches, 1):
        name = f"'{patch.subject}'" if patch.subject else label
        if len(patches) > 1:
            name += f" (patch {number} of {len(patches)} of {label})"
        note = _apply(work, source, patch, name)
        if note:
            log.say(f"{name}: {note}")
            notes.append(f"patch {number}: {note}")
        after = contents_in(work, names)
        yield {name: after.get(name) for name in names if after.get(name) != before.get(name)}


def _named(text: bytes) -> Iterator[tuple[int, str]]:
    """Yield the paths that a diff may name, without their first directories, and how many."""
    for match in _NAME.finditer(text):
        name = match[1].decode(errors="surrogateescape").strip().strip('"')
        for strip in range(4):
            if name and not name.startswith("/") and ".." not in name.split("/"):
                yield strip, name
            name = name.partition("/")[2]


def _apply(work: Path, source: Source, patch: Patch, name: str) -> str:
    """Apply one patch in a directory; return how it was, if not exactly as git has it."""
    file = work / ".mmbatch.patch"
    file.write_bytes(patch.text)
    there = Counter(strip for strip, path in _named(patch.text) if (work / path).is_file())
    strip = patch.strip
    if strip is None:
        strip = max((1, 0, 2, 3), key=lambda level: there[level])

    def run(*arguments: str | Path) -> process.Result:
        # Without the ceiling, git leaves out what lies above the directory in a repository.
        ceiling = {"GIT_CEILING_DIRECTORIES": os.fspath(work.parent.resolve())}
        return process.run(arguments, action=f"apply {name}", cwd=work, env=ceiling, check=False)

    def git(*arguments: str) -> process.Result:
        words = ("-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", f"-p{strip}")
        return run("git", *words, *arguments, file)

    def fuzzily(*arguments: str) -> process.Result:
        options = ("--force", "--no-backup-if-mismatch", "--reject-file=-", f"-p{strip}")
        return run("patch", *options, *arguments, "-i", file)

    done = git()
    if done.rc == 0:
        return ""
    hint = "give the kernel that it was made for with --tree or --kernel"
    broken = re.search(
        r"^error: (No valid patches in input|corrupt patch .*?)(?: \(|$)", done.stderr
    )
    spaces = "\u00a0".encode() in patch.text or git("--check", "--ignore-whitespace").rc == 0
    if git("--check", "--reverse").rc == 0 or fuzzily("--dry-run", "--reverse").rc == 0:
        problem, hint = f"Linux {source.release} has it already", "leave it out"
    elif broken or spaces:
        what = "its tabs or spaces are others" if spaces else broken[1] if broken else ""
        problem = f"the mail was damaged on its way: {what}"
        hint = "get it as it was sent, for example from an archive of the list"
    else:
        found = fuzzily("--forward")
        fuzz = set(re.findall(r"with fuzz \d", found.stdout))
        if found.rc == 0:
            return f"applied by patch(1) only, {' and '.join(sorted(fuzz)) or 'with an offset'}"
        failed = re.search(r"^error: (patch failed: )?(.*)", done.stderr, re.M)
        problem = failed[2] if failed else "git does not say why"
        if failed and failed[1]:
            problem += f" does not fit Linux {source.release}"
    raise MmbatchError(f"apply {name}", problem, hint, ExitCode.SPLICE)


def make_tree(source: Source, posted: Posted) -> PostedTree:
    """Return a copy of a tree with somebody else's code in it, from the cache if it is there."""
    key = repr((source.state, sorted(posted.contents.items()))).encode()
    ident = f"posted-{source.ident}-{hashlib.sha256(key).hexdigest()[:12]}"

    def fill(work: Path) -> None:
        copy = f"copy the tree of Linux {source.release}"
        for part in READ_PARTS:
            (work / part).parent.mkdir(parents=True, exist_ok=True)
            process.run(["cp", "-al", source.path / part, work / part], action=copy)
        for name, content in posted.contents.items():
            if content is None:
                (work / name).unlink(missing_ok=True)
            else:
                write(work / name, content)

    place = cache.splices() / ident
    final = cache.provide(place, fill, f"copies {source.release}")
    return PostedTree(posted, final, ident)
