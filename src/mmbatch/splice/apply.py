# SPDX-License-Identifier: GPL-2.0-only
"""Apply the steps of speed-ups to a directory that has a kernel's files, each match counted."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import cache, log
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.splice import edits, spatch
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
            spatch.program()
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
    an edit need not be there if an edit of a later step changes it.
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
        if not any(_changes(other, edit) for after in later for other in after.edits)
    )


def _changes(later: Edit, edit: Edit) -> bool:
    """Tell whether an edit changes the text that another one inserts."""
    lines = edit.text.splitlines() if later.file == edit.file else []
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
    extent = edits.require_function(content, edit.when.function, edit.when.file)
    return any(re.search(edit.when.line, line) for line in content.split("\n")[slice(*extent)])


def _read(work: Path, name: str) -> str:
    try:
        return read_text(work / name)
    except FileNotFoundError:
        raise edits.mismatch(name, "there is no such file") from None


class _Work:
    """One step in the directory, with what was there before it."""

    def __init__(self, work: Path, series: str) -> None:
        self._work = work
        self._series = series
        self._before: dict[str, str | None] = {}

    def apply(self, speedup: str, step: Step) -> Applied:
        for file in step.files:
            if self._series in file.kernels:
                self._add(file)
        for rule in step.rules:
            if self._series in rule.kernels:
                path = self._work / rule.file
                _read(self._work, rule.file)
                spatch.check_parse(path, rule)
                self._write(rule.file, spatch.apply_rule(path, rule))
        for edit in _wanted_edits(self._work, step, self._series):
            text = edits.apply_edit(_read(self._work, edit.file), edit)
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
            text = edits.fold(_read(self._work, file.fold), content.decode(), name, file.fold)
            self._write(file.fold, text.encode(errors="surrogateescape"))
        elif not path.exists():
            self._write(file.target, content)
        elif not file.common or path.read_bytes() != content:
            raise edits.mismatch(file.target, "the tree has a file of this name already")

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
            edits.split_lines(old or ""),
            edits.split_lines(new),
            "/dev/null" if old is None else f"a/{name}",
            f"b/{name}",
        )
        ended = (
            line if line[-1:] == "\n" else f"{line}\n\\ No newline at end of file\n"
            for line in lines
        )
        return head + "".join(ended)
