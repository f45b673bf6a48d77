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
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import cache, log, paths, process
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel.git import Change, GitTree
from mmbatch.kernel.sources import Source
from mmbatch.splice import hooks
from mmbatch.splice.manifest import Edit, Manifest, Step, known, load, load_with_needs


@dataclass(frozen=True)
class Applied:
    """What one step did to the tree.

    `diff` is unified, with paths as git has them; `contents` has each file that the step wrote.
    """

    speedup: str
    name: str
    subject: str
    body: str
    diff: str
    contents: Mapping[str, bytes]

    @property
    def changed(self) -> int:
        """How many lines it changes in files that the tree had before."""
        files = re.split("^diff --git ", self.diff, flags=re.M)
        old = "".join(file for file in files if "\nnew file mode " not in file)
        return len(re.findall(r"^(?:\+(?!\+\+ )|-(?!-- ))", old, re.M))


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
            action = f"splice {manifest.speedup} into Linux {release}"
            problem, hint = f"it is made for kernels {manifest.kernels}", "choose one of them"
            raise MmbatchError(action, problem, hint, ExitCode.NOT_APPLICABLE)


def named_files(series: str, manifests: Sequence[Manifest]) -> set[str]:
    """Return the paths of all files that the steps for a kernel read or write."""
    steps = [step for held in manifests for step in held.steps_on(series)]
    return {
        *(file.place for step in steps for file in step.files),
        *(rule.file for step in steps for rule in step.rules),
        *(edit.file for step in steps for edit in step.edits),
        *(edit.when.file for step in steps for edit in step.edits if edit.when),
    }


def contents_in(tree: Path, names: Iterable[str]) -> dict[str, bytes]:
    """Return path to content of those of some files that a tree has."""
    there = (name for name in sorted(names) if (tree / name).is_file())
    return {name: (tree / name).read_bytes() for name in there}


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
        for step in manifest.steps_on(series):
            found = _apply(work, manifest.speedup, step)
            if found.contents:
                yield found
            else:
                log.say(f"leaving out '{step.subject}', because the tree needs none of it")


def is_applied(work: Path, series: str, manifest: Manifest) -> bool:
    """Return whether all that a speed-up brings is in a directory with a kernel's files.

    A new file only needs to be there: one that was changed since, or that another version of
    the speed-up brought, is not a reason to bring it a second time. Hooks are known by the
    marks that count them in a diff, seen on the file as if all of it were added. The text of
    an edit need not be there if a later edit changes it.
    """
    steps = manifest.steps_on(series)
    edits = [edit for step in steps for edit in step.edits]

    def content(name: str) -> str:
        return read_text(work / name) if (work / name).exists() else ""

    def count(name: str, mark: str) -> int:
        return sum(re.search(mark, f"+{line}") is not None for line in content(name).split("\n"))

    def changes(later: Edit, edit: Edit) -> bool:
        lines = edit.text.splitlines() if later.file == edit.file else []
        found = [i for i, line in enumerate(lines) if re.search(later.anchor, line)]
        beside = {"before": 0, "after": len(lines) - 1}.get(later.op)
        return any(at != beside for at in found)

    return (
        all((work / file.place).exists() for step in steps for file in step.files)
        and all(
            count(rule.file, mark) >= rule.matches[hook]
            for step in steps
            for rule in step.rules
            for hook, mark in rule.marks.items()
            if not mark.startswith("^-")  # of a line that is taken out nothing is left
        )
        and all(
            edit.text in content(edit.file)
            for number, edit in enumerate(edits, 1)
            if _is_wanted(work, edit) and not any(changes(each, edit) for each in edits[number:])
        )
    )


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


def _is_wanted(work: Path, edit: Edit) -> bool:
    """Tell whether a tree looks as an edit demands."""
    if edit.when is None:
        return True
    content = _read(work, edit.when.file)
    extent = hooks.function_extent(content, edit.when.function, edit.when.file)
    return any(re.search(edit.when.line, line) for line in content.split("\n")[slice(*extent)])


def _read(work: Path, name: str) -> str:
    if not (work / name).exists():
        raise hooks.mismatch(name, "there is no such file")
    return read_text(work / name)


def _apply(work: Path, speedup: str, step: Step) -> Applied:
    """Apply one step in a directory."""
    before: dict[str, str | None] = {}

    def put(name: str, text: str) -> None:
        before.setdefault(name, read_text(work / name) if (work / name).exists() else None)
        write(work / name, text.encode(errors="surrogateescape"))

    for file in step.files:
        name, text = file.target, read_text(file.source)
        if file.fold:
            put(file.fold, hooks.fold(_read(work, file.fold), text, Path(name).name, file.fold))
        elif not (work / name).exists():
            put(name, text)
        elif not file.common or read_text(work / name) != text:
            raise hooks.mismatch(name, "the tree has a file of this name already")
    for rule in step.rules:
        put(rule.file, hooks.apply_rule(_read(work, rule.file), rule))
    for edit in step.edits:
        if _is_wanted(work, edit):
            put(edit.file, hooks.apply_edit(_read(work, edit.file), edit))
    diffs = [_diff(name, old, read_text(work / name)) for name, old in sorted(before.items())]
    contents = {name: (work / name).read_bytes() for name in sorted(before)}
    return Applied(speedup, step.name, step.subject, step.body, "".join(diffs), contents)


def _diff(name: str, old: str | None, new: str) -> str:
    """Return the change of one file, which may be a new one, as git can apply it."""
    lines = difflib.unified_diff(
        hooks.split_lines(old or ""),
        hooks.split_lines(new),
        "/dev/null" if old is None else f"a/{name}",
        f"b/{name}",
    )
    end = "\n\\ No newline at end of file\n"
    body = "".join(line if line.endswith("\n") else line + end for line in lines)
    mode = "new file mode 100644\n" if old is None else ""
    return f"diff --git a/{name} b/{name}\n{mode}{body}"


PREFIX = "mmbatch/"
_BODY_WIDTH = 75


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
    *,
    sign_off: bool = False,
    dry_run: bool = False,
) -> Branch:
    """Make a branch of the user's git tree with a commit for each step, on top of HEAD.

    Neither the working tree nor the index is touched, and the branch comes last. There is none
    if a hook does not match exactly, the tree is dirty, or the branch holds something else.
    """
    git = GitTree(tree)
    head = git.head()
    if dirty := git.dirty_files():
        more = f" and {len(dirty) - 1} more" if len(dirty) > 1 else ""
        problem = f"{dirty[0]}{more} changed since the last commit"
        action, hint = f"make a branch in {tree}", "commit or stash it first"
        raise MmbatchError(action, problem, hint, ExitCode.USAGE)
    user = "" if dry_run else git.identity()
    digest = hashlib.sha256(os.fsencode(tree)).hexdigest()[:12]
    with cache.lock(f"apply-{digest}", f"applies to {tree}"):
        steps = plan(manifests, series, release, git.read(head, named_files(series, manifests)))
        base = git.describe(head)
        if dry_run or not steps:
            return Branch(steps, base, already="" if steps else "HEAD")
        ending = f"\n\nSigned-off-by: {user}" if sign_off else ""
        made = git.write(head, [change(step, ending) for step in steps])
        tip = git.tip(branch)
        if tip is not None and git.are_alike(head, tip, made):
            return Branch((), base, already=f"branch {branch}")
        if tip is not None:
            problem = f"there is one already, and it is not these {len(steps)} steps on {base}"
            hint = f"delete it with git branch -D {branch}, or choose another name with --branch"
            raise MmbatchError(f"make the branch {branch}", problem, hint, ExitCode.USAGE)
        git.create_branch(branch, made, "mmbatch: apply")
    return Branch(steps, base, user)


def change(step: Applied, ending: str) -> Change:
    """Return the commit of a step, its message wrapped and with an ending."""
    return f"{step.subject}\n\n{wrap(step.body)}{ending}\n", step.contents


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
        base = contents_in(source.path, named_files(source.series, manifests))
        steps = plan(manifests, source.series, source.release, base)
        if {step.speedup for step in steps} != {manifest.speedup for manifest in manifests}:
            action = f"splice {manifests[-1].speedup} into Linux {source.release}"
            problem = f"the tree has it already, or what it needs ({source.origin})"
            hint = "give the tree as it was before: base and patched are both made from that"
            raise MmbatchError(action, problem, hint, ExitCode.USAGE)
        contents = {name: content for step in steps for name, content in step.contents.items()}
        copy_tree(source, work, contents)
        (work / _RECORD).write_text(json.dumps(sorted(contents)))

    place, doing = cache.splices() / ident, f"splices {source.release}"
    final = cache.provide(place, fill, doing, lock=f"splice-{source.ident}")
    return Spliced(final, ident, tuple(json.loads((final / _RECORD).read_text())))


def copy_tree(
    source: Source, place: Path, contents: Mapping[str, bytes | None], parts: Sequence[str] = (".",)
) -> None:
    """Put links to parts of a kernel into a directory, and some files: None for one that goes."""
    action = f"copy the tree of Linux {source.release}"
    process.run(["cp", "-al", "--parents", *parts, place], action=action, cwd=source.path)
    for name, content in contents.items():
        if content is None:
            (place / name).unlink(missing_ok=True)
        else:
            write(place / name, content)


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
