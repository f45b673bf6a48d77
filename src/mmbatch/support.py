# SPDX-License-Identifier: GPL-2.0-only
"""The page that tells which hook of which speed-up suits which kernel, from the manifests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mmbatch.interval import Interval
from mmbatch.kernels import SERIES
from mmbatch.manifest import Manifest, Step, known, load_with_needs

_HEAD = """\
<!-- SPDX-License-Identifier: GPL-2.0-only -->
<!-- Made from speedups/*/splice/splice.toml: ./mmbatch apply --matrix > docs/support-matrix.md -->
# Support matrix

Where each speed-up meets a kernel, on which kernels, and how often each hook has to match.
`mmbatch apply` and `mmbatch bench` count the matches in the tree at hand, and stop with exit
code 3 where one differs. A file that only releases with a certain look get says which.
"""


@dataclass(frozen=True)
class Row:
    """One place where a speed-up meets the tree.

    Attributes:
        step: the commit that it belongs to.
        hook: what is done there.
        file: path in the tree.
        function: the function it is in; empty where it is in none.
        matches: how often it has to match; None for a new file.
        kernels: on which kernels.
    """

    step: str
    hook: str
    file: str
    function: str
    matches: int | None
    kernels: Interval


def rows(manifest: Manifest) -> Iterator[Row]:
    """Yield the rows of a speed-up, step by step."""
    for step in manifest.steps:
        yield from _step_rows(step, manifest.kernels & step.kernels)


def page(rooms: Path) -> str:
    """Return the whole page, in Markdown."""
    manifests = load_with_needs(rooms, *known(rooms))
    lines = [_HEAD]
    lines.append(_line("speed-up", *reversed(SERIES), "kernels", "needs"))
    lines.append(_line(*["---"] * (len(SERIES) + 3)))
    for manifest in manifests:
        marks = ["yes" if series in manifest.kernels else "no" for series in reversed(SERIES)]
        needs = ", ".join(manifest.needs)
        lines.append(_line(manifest.speedup, *marks, _code(str(manifest.kernels)), needs))
    for manifest in manifests:
        lines.append(f"\n## {manifest.speedup}: {manifest.title}\n")
        lines.append(_line("step", "hook", "file", "function", "matches", "kernels"))
        lines.append(_line(*["---"] * 6))
        for row in rows(manifest):
            count = "" if row.matches is None else str(row.matches)
            function = f"{row.function}()" if row.function else ""
            cells = (row.hook, _code(row.file), _code(function), count, _code(str(row.kernels)))
            lines.append(_line(row.step, *cells))
    return "\n".join(lines) + "\n"


def _step_rows(step: Step, kernels: Interval) -> Iterator[Row]:
    for file in step.files:
        hook = "new file"
        if file.sight is not None:
            word = "has" if file.sight.wanted else "lacks"
            hook += f", if {file.sight.function}() {word} {file.sight.line}"
        yield Row(step.name, hook, file.target, "", None, kernels & file.kernels)
    for rule in step.rules:
        for hook, count in rule.matches.items():
            name = f"{rule.cocci.name}: {hook}"
            yield Row(step.name, name, rule.file, rule.function, count, kernels & rule.kernels)
    for edit in step.edits:
        name = "lines replaced" if edit.op == "replace" else f"edit: {edit.op}"
        function = edit.function or ""
        yield Row(step.name, name, edit.file, function, edit.matches, kernels & edit.kernels)


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _line(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
