# SPDX-License-Identifier: GPL-2.0-only
"""Tell whether a tree has a speed-up in it already."""

from __future__ import annotations

import re
from pathlib import Path

from mmbatch.splice.manifest import Edit, Manifest, Step
from mmbatch.splice.steps import read_text, wanted_edits


def is_applied(work: Path, series: str, manifest: Manifest) -> bool:
    """Tell whether all that a speed-up brings is in a directory with a kernel's files.

    A new file only needs to be there: one that was changed since, or that another version of
    the speed-up brought, is not a reason to bring it a second time. Hooks are known by the
    marks that count them in a diff, seen on the file as if all of it were added. The text of
    an edit need not be there if an edit of a later step changes it.
    """
    steps = [step for step in manifest.steps if series in step.kernels]
    return all(
        (work / file.place).exists()
        for step in steps
        for file in step.files
        if series in file.kernels
    ) and all(_has(work, series, step, steps[i + 1 :]) for i, step in enumerate(steps))


def _has(work: Path, series: str, step: Step, later: list[Step]) -> bool:
    return all(
        _count(work / rule.file, mark) >= rule.matches[hook]
        for rule in step.rules
        if series in rule.kernels
        for hook, mark in rule.marks.items()
    ) and all(
        edit.text in _content(work / edit.file)
        for edit in wanted_edits(work, step, series)
        if not any(_changes(other, edit) for after in later for other in after.edits)
    )


def _changes(later: Edit, edit: Edit) -> bool:
    """Tell whether an edit changes the text that another one inserts."""
    lines = edit.text.splitlines() if later.file == edit.file else []
    found = [i for i, line in enumerate(lines) if re.search(later.anchor, line)]
    beside = {"before": 0, "after": len(lines) - 1}.get(later.op)
    return any(at != beside for at in found)


def _count(path: Path, mark: str) -> int:
    return sum(re.search(mark, f"+{line}") is not None for line in _content(path).split("\n"))


def _content(path: Path) -> str:
    return read_text(path) if path.exists() else ""
