# SPDX-License-Identifier: GPL-2.0-only
"""Apply the steps of speed-ups to a directory that has a kernel's files, each match counted."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.splice import edits, headers, spatch
from mmbatch.splice.manifest import Edit, Look, Manifest, NewFile, Step


@dataclass(frozen=True)
class Applied:
    """What one step did to the tree.

    Attributes:
        speedup: whose step it is.
        name: the step.
        subject: its commit's subject.
        body: its commit's body.
        files: paths of the files that it wrote, in order.
        diff: unified diff, with paths as git has them.
        changed: lines changed in files that the tree had before.
    """

    speedup: str
    name: str
    subject: str
    body: str
    files: tuple[str, ...]
    diff: str
    changed: int


def apply_steps(
    work: Path, series: str, manifests: Sequence[Manifest], macros: Path
) -> Iterator[Applied]:
    """Apply one step after the other, when asked for the next.

    Args:
        work: a directory with at least the files that `named_files` names. They may be links to
            another tree's: none is written in place.
        series: of the kernel.
        manifests: the speed-ups in order, each after what it needs.
        macros: the macro file for spatch.

    Yields:
        What a step did, while the directory is as it left it.

    Raises:
        MmbatchError: exit code 3; a hook does not match exactly.
    """
    for manifest in manifests:
        for step in manifest.steps:
            if series in step.kernels:
                yield _Work(work, series, macros).apply(manifest.speedup, step)


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
    names: set[str] = set()
    for manifest in manifests:
        for step in manifest.steps:
            if series in step.kernels:
                names |= {file.place for file in step.files if series in file.kernels}
                names |= {rule.file for rule in step.rules if series in rule.kernels}
                names |= {edit.file for edit in step.edits if series in edit.kernels}
                names |= {edit.when.file for edit in step.edits if edit.when}
    return names


def read_text(path: Path) -> str:
    """Return a file's content, whatever its bytes are."""
    return path.read_bytes().decode(errors="surrogateescape")


def wanted_edits(work: Path, step: Step, series: str) -> Iterator[Edit]:
    """Yield the edits of a step that a kernel gets."""
    for edit in step.edits:
        if series in edit.kernels and (edit.when is None or _looks_so(work, edit.when)):
            yield edit


class _Work:
    """One step in the directory, with what was there before it."""

    def __init__(self, work: Path, series: str, macros: Path) -> None:
        self._work = work
        self._series = series
        self._macros = macros
        self._before: dict[str, str | None] = {}

    def apply(self, speedup: str, step: Step) -> Applied:
        for file in step.files:
            if self._series in file.kernels:
                self._add(file)
        for rule in step.rules:
            if self._series in rule.kernels:
                path = self._work / rule.file
                _read(self._work, rule.file)
                spatch.check_parse(path, rule, self._macros)
                content = spatch.apply_rule(path, rule, self._macros)
                self._write(rule.file, content.decode(errors="surrogateescape"))
        for edit in wanted_edits(self._work, step, self._series):
            self._write(edit.file, edits.apply_edit(_read(self._work, edit.file), edit))
        return self._summary(speedup, step)

    def _add(self, file: NewFile) -> None:
        content = read_text(file.source)
        if file.fold:
            name = Path(file.target).name
            host = _read(self._work, file.fold)
            self._write(file.fold, headers.fold(host, content, name, file.fold))
        elif not (self._work / file.target).exists():
            self._write(file.target, content)
        elif not file.common or read_text(self._work / file.target) != content:
            raise edits.mismatch(file.target, "the tree has a file of this name already")

    def _write(self, name: str, content: str) -> None:
        path = self._work / name
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        if name not in self._before:
            self._before[name] = read_text(path) if path.exists() else None
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_bytes(content.encode(errors="surrogateescape"))
        path.chmod(mode)

    def _summary(self, speedup: str, step: Step) -> Applied:
        diffs = {
            name: _diff(name, old, read_text(self._work / name))
            for name, old in sorted(self._before.items())
        }
        changed = sum(
            line[:1] in "+-" and not line.startswith(("+++ ", "--- "))
            for name, diff in diffs.items()
            if self._before[name] is not None
            for line in diff.split("\n")[:-1]
        )
        return Applied(
            speedup,
            step.name,
            step.subject,
            step.body,
            tuple(diffs),
            "".join(diffs.values()),
            changed,
        )


def _read(work: Path, name: str) -> str:
    try:
        return read_text(work / name)
    except FileNotFoundError:
        raise edits.mismatch(name, "there is no such file") from None


def _looks_so(work: Path, look: Look) -> bool:
    """Tell whether a function of the tree has the line that is looked for."""
    content = _read(work, look.file)
    extent = edits.function_extent(content, look.function)
    if extent is None:
        raise edits.mismatch(look.file, f"there is no function {look.function}()")
    lines = content.split("\n")[slice(*extent)]
    return any(re.search(look.line, line) for line in lines)


def _diff(name: str, old: str | None, new: str) -> str:
    """Return the change of one file as a unified diff that git can apply."""
    head = f"diff --git a/{name} b/{name}\n" + ("new file mode 100644\n" if old is None else "")
    lines = difflib.unified_diff(
        edits.split_lines(old or ""),
        edits.split_lines(new),
        "/dev/null" if old is None else f"a/{name}",
        f"b/{name}",
    )
    ended = (
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
    return head + "".join(ended)
