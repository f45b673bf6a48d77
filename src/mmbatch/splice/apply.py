# SPDX-License-Identifier: GPL-2.0-only
"""Apply the steps of speed-ups: as a git branch, or in a copy of a tree that stays in the cache."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mmbatch.core import cache, log, paths, process
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel.git import Change, GitTree
from mmbatch.kernel.sources import Source
from mmbatch.splice import hooks
from mmbatch.splice.manifest import Edit, Manifest, NewFile, Step, known, load, load_with_needs


@dataclass(frozen=True)
class Applied:
    """What one step did to the tree.

    `diff` is unified, with paths as git has them; `changed` counts its lines in files that the
    tree had before; `contents` has each file that the step wrote.
    """

    speedup: str
    name: str
    subject: str
    body: str
    diff: str
    changed: int
    contents: Mapping[str, bytes]


def choose(directory: Path, names: Sequence[str], series: str, release: str) -> list[Manifest]:
    """Return the manifests of speed-ups, by default of all for a kernel, and of what they need."""
    fitting = [name for name in known(directory) if series in load(directory / name).kernels]
    manifests = load_with_needs(directory, *(names or fitting or known(directory)))
    require_series(manifests, series, release)
    return manifests


def require_series(manifests: Sequence[Manifest], series: str, release: str) -> None:
    """Raise exit code 77 unless all of the speed-ups are made for a kernel."""
    for manifest in manifests:
        if series not in manifest.kernels:
            raise MmbatchError(
                f"splice {manifest.speedup} into Linux {release}",
                f"it is made for kernels {manifest.kernels}",
                "choose one of them",
                ExitCode.NOT_APPLICABLE,
            )


def named_files(series: str, manifests: Sequence[Manifest]) -> set[str]:
    """Return the paths of all files that the steps for a kernel read or write."""
    steps = [step for held in manifests for step in held.steps if series in step.kernels]
    names = {file.place for step in steps for file in step.files if series in file.kernels}
    names |= {rule.file for step in steps for rule in step.rules if series in rule.kernels}
    names |= {edit.file for step in steps for edit in step.edits if series in edit.kernels}
    return names | {edit.when.file for step in steps for edit in step.edits if edit.when}


def contents_in(tree: Path, names: Iterable[str]) -> dict[str, bytes]:
    """Return path to content of those of some files that a tree has."""
    paths = {name: tree / name for name in sorted(names)}
    return {name: path.read_bytes() for name, path in paths.items() if path.is_file()}


def plan(
    manifests: Sequence[Manifest], series: str, release: str, contents: Mapping[str, bytes]
) -> list[Applied]:
    """Take the steps that a tree lacks, in a directory with nothing but the files they name.

    `contents` has those of the files that the tree has. A speed-up comes after what it needs.
    """
    with cache.temporary_dir("apply") as work:
        for name, content in contents.items():
            write(work / name, content)
        lacking = [held for held in manifests if not is_applied(work, series, held)]
        if lacking:
            hooks.spatch_version()
            names = ", ".join(held.speedup for held in lacking)
            log.say(f"splicing {names} into linux {release}")
        return list(apply_steps(work, series, lacking))


def apply_steps(work: Path, series: str, manifests: Sequence[Manifest]) -> Iterator[Applied]:
    """Apply one step after the other, when asked for the next.

    `work` has at least the files that `named_files` names. They may be links to another tree's:
    none is written in place.
    """
    for manifest in manifests:
        for step in manifest.steps:
            if series in step.kernels:
                yield _Work(work, series).apply(manifest.speedup, step)


def is_applied(work: Path, series: str, manifest: Manifest) -> bool:
    """Tell whether all that a speed-up brings is in a directory with a kernel's files.

    A new file only needs to be there: one that was changed since, or that another version of
    the speed-up brought, is not a reason to bring it a second time. Hooks are known by the
    marks that count them in a diff, seen on the file as if all of it were added. The text of
    an edit need not be there if another edit changes it.
    """
    steps = [step for step in manifest.steps if series in step.kernels]
    files = [file for step in steps for file in step.files if series in file.kernels]
    return all((work / file.place).exists() for file in files) and all(
        _has(work, series, step, steps[i + 1 :]) for i, step in enumerate(steps)
    )


def _has(work: Path, series: str, step: Step, later: list[Step]) -> bool:
    def content(name: str) -> str:
        return read_text(work / name) if (work / name).exists() else ""

    def count(name: str, mark: str) -> int:
        return sum(re.search(mark, f"+{line}") is not None for line in content(name).split("\n"))

    return all(
        count(rule.file, mark) >= rule.matches[hook]
        for rule in step.rules
        if series in rule.kernels
        for hook, mark in rule.marks.items()
        if not mark.startswith("^-")  # of a line that is taken out nothing is left
    ) and all(
        edit.text in content(edit.file)
        for edit in _wanted_edits(work, step, series)
        if not any(_changes(other, edit) for after in (step, *later) for other in after.edits)
    )


def _changes(later: Edit, edit: Edit) -> bool:
    """Tell whether an edit changes the text that another one inserts."""
    lines = edit.text.splitlines() if later.file == edit.file and later is not edit else []
    found = [i for i, line in enumerate(lines) if re.search(later.anchor, line)]
    beside = {"before": 0, "after": len(lines) - 1}.get(later.op)
    return any(at != beside for at in found)


def read_text(path: Path) -> str:
    """Return a file's content, whatever its bytes are."""
    return path.read_bytes().decode(errors="surrogateescape")


def write(path: Path, content: bytes) -> None:
    """Put a file into a copy of a tree, where it may be a link to another tree's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    path.chmod(mode)


def _wanted_edits(work: Path, step: Step, series: str) -> Iterator[Edit]:
    """Yield the edits of a step that a kernel gets."""
    for edit in step.edits:
        if series in edit.kernels and _looks_so(work, edit):
            yield edit


def _looks_so(work: Path, edit: Edit) -> bool:
    if edit.when is None:
        return True
    content = _read(work, edit.when.file)
    extent = hooks.require_function(content, edit.when.function, edit.when.file)
    return any(re.search(edit.when.line, line) for line in content.split("\n")[slice(*extent)])


def _read(work: Path, name: str) -> str:
    try:
        return read_text(work / name)
    except FileNotFoundError:
        raise hooks.mismatch(name, "there is no such file") from None


@dataclass
class _Work:
    """One step in the directory, with what was there before it."""

    _work: Path
    _series: str
    _before: dict[str, str | None] = field(default_factory=dict)

    def apply(self, speedup: str, step: Step) -> Applied:
        for file in step.files:
            if self._series in file.kernels:
                self._add(file)
        for rule in step.rules:
            if self._series in rule.kernels:
                path = self._work / rule.file
                _read(self._work, rule.file)
                hooks.check_parse(path, rule)
                self._write(rule.file, hooks.apply_rule(path, rule))
        for edit in _wanted_edits(self._work, step, self._series):
            text = hooks.apply_edit(_read(self._work, edit.file), edit)
            self._write(edit.file, text.encode(errors="surrogateescape"))
        diffs = {name: self._diff(name) for name in sorted(self._before)}
        changed = [line for name in diffs if self._before[name] for line in diffs[name].split("\n")]
        return Applied(
            *(speedup, step.name, step.subject, step.body, "".join(diffs.values())),
            sum(line[:1] in ("+", "-") and line[:4] not in ("+++ ", "--- ") for line in changed),
            {name: (self._work / name).read_bytes() for name in diffs},
        )

    def _add(self, file: NewFile) -> None:
        content = file.source.read_bytes()
        path = self._work / file.target
        if file.fold:
            name = Path(file.target).name
            text = hooks.fold(_read(self._work, file.fold), content.decode(), name, file.fold)
            self._write(file.fold, text.encode(errors="surrogateescape"))
        elif not path.exists():
            self._write(file.target, content)
        elif not file.common or path.read_bytes() != content:
            raise hooks.mismatch(file.target, "the tree has a file of this name already")

    def _write(self, name: str, content: bytes) -> None:
        path = self._work / name
        self._before.setdefault(name, read_text(path) if path.exists() else None)
        write(path, content)

    def _diff(self, name: str) -> str:
        """Return the change of one file as a unified diff that git can apply."""
        old, new = self._before[name], read_text(self._work / name)
        head = f"diff --git a/{name} b/{name}\n"
        head += "new file mode 100644\n" if old is None else ""
        lines = difflib.unified_diff(
            hooks.split_lines(old or ""),
            hooks.split_lines(new),
            "/dev/null" if old is None else f"a/{name}",
            f"b/{name}",
        )
        ended = (
            line if line[-1:] == "\n" else f"{line}\n\\ No newline at end of file\n"
            for line in lines
        )
        return head + "".join(ended)


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


def branch_name(manifests: Sequence[Manifest]) -> str:
    """Return the name of the branch for some speed-ups: those that no other of them needs."""
    needed = {need for manifest in manifests for need in manifest.needs}
    return PREFIX + "+".join(m.speedup for m in manifests if m.speedup not in needed)


def make_branch(
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


_RECORD = ".mmbatch-splice.json"


@dataclass(frozen=True)
class Spliced:
    """A tree with the speed-up in it; `files` are those that it wrote."""

    path: Path
    ident: str
    files: tuple[str, ...]


def splice(source: Source, manifests: Sequence[Manifest]) -> Spliced:
    """Return a copy of a tree with speed-ups in it, from the cache when nothing has changed.

    Its files are hard links to those of the source's tree, which lies in the cache as well; a
    file is never written in place. For a harness, the tree itself is returned.
    """
    require_series(manifests, source.series, source.release)
    ident = f"{source.ident}-{_digest(source, manifests)}"
    if all(manifest.is_harness for manifest in manifests):
        return Spliced(source.path, ident, ())

    def fill(work: Path) -> None:
        if any(is_applied(source.path, source.series, held) for held in manifests):
            raise MmbatchError(
                f"splice {manifests[-1].speedup} into Linux {source.release}",
                f"the tree has it already, or what it needs ({source.origin})",
                "give the tree as it was before: base and patched are both made from that",
                ExitCode.USAGE,
            )
        log.say(f"splicing {manifests[-1].speedup} into Linux {source.release}")
        copy = f"copy the tree of Linux {source.release}"
        process.run(["cp", "-al", f"{source.path}/.", work], action=copy)
        steps = apply_steps(work, source.series, manifests)
        names = sorted({name for step in steps for name in step.contents})
        (work / _RECORD).write_text(json.dumps(names))

    final = cache.provide(
        cache.splices() / ident,
        fill,
        f"splices {source.release}",
        lock=f"splice-{source.ident}",
    )
    return Spliced(final, ident, tuple(json.loads((final / _RECORD).read_text())))


def _digest(source: Source, manifests: Sequence[Manifest]) -> str:
    """Return a short hash of all that the spliced tree is made from."""
    total = hashlib.sha256(f"{source.state} {hooks.spatch_version()}".encode())
    steps = [step for manifest in manifests for step in manifest.steps]
    inputs = [paths.MACROS, Path(__file__), Path(hooks.__file__)]
    inputs += [manifest.file for manifest in manifests]
    inputs += [file.source for step in steps for file in step.files]
    inputs += [rule.cocci for step in steps for rule in step.rules]
    for path in inputs:
        total.update(path.name.encode() + path.read_bytes())
    total.update("".join(edit.text for step in steps for edit in step.edits).encode())
    return total.hexdigest()[:12]
