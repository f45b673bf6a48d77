# SPDX-License-Identifier: GPL-2.0-only
"""The support matrix: what fits which kernel, by the manifests and by runs of the tests."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core.interval import Interval
from mmbatch.kernel.sources import SERIES
from mmbatch.report import seen
from mmbatch.report.seen import Boot, Checked, Live, Seen
from mmbatch.splice.manifest import Manifest, Step, known, load_with_needs

_HEAD = """\
<!-- SPDX-License-Identifier: GPL-2.0-only -->
<!-- Made from speedups/*/splice/splice.toml and docs/support-matrix.json:
     ./mmbatch apply --matrix > docs/support-matrix.md -->
# Support matrix

The hooks of each speed-up, the kernels that they are made for, and how often
each must match. `mmbatch apply` and `mmbatch bench` count the matches in your
tree, and stop with exit code 3 if one differs. Files that are added to some
releases only say which ones.
"""

_ARCHES = ("x86_64", "arm64")


@dataclass(frozen=True)
class Row:
    """One place where a speed-up meets the tree.

    Attributes:
        step: the commit that it belongs to.
        hook: what is done there.
        file: path in the tree.
        function: the function it is in; empty where it is in none.
        matches: how often it must match; None for a new file.
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


def page(speedups_at: Path, kept: Path = seen.KEPT) -> str:
    """Return the whole page, in Markdown.

    Args:
        speedups_at: the directory of all speed-ups.
        kept: what runs of the tests saw; it may be missing.
    """
    manifests = load_with_needs(speedups_at, *known(speedups_at))
    lines = [_HEAD]
    lines.append(_line("speed-up", *reversed(SERIES), "kernels", "needs"))
    lines.append(_line(*["---"] * (len(SERIES) + 3)))
    for manifest in manifests:
        marks = ["yes" if series in manifest.kernels else "no" for series in reversed(SERIES)]
        needs = ", ".join(manifest.needs)
        lines.append(_line(manifest.speedup, *marks, _code(str(manifest.kernels)), needs))
    lines += _seen(manifests, seen.read(kept) if kept.exists() else ())
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


def _seen(manifests: Sequence[Manifest], runs: Sequence[Seen]) -> Iterator[str]:
    """Yield what runs of the tests saw, and what none tried."""
    yield "\n## What was built, checked and booted\n"
    if not runs:
        yield "No run of all tests is kept: `docs/support-matrix.json` is missing."
        return
    yield textwrap.fill(
        f"`make test` of {_when(runs[0])}, showed this. *Checked*: for how many inputs base and "
        "patched objects produced identical memory, and how many mutants were killed "
        "([check.md](check.md)). *Booted*: how many KUnit cases of the speed-up passed, in each "
        "kind of kernel ([guest.md](guest.md)). *Skipped*: mutants of code that the release does "
        "not have, fuzzing without clang, and cases whose instruction the guest's CPU lacks.",
        80,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for run in runs[1:]:
        releases = ", ".join(sorted({boot.kernel for boot in run.booted}))
        yield f"\nGuests of {releases}: `mmbatch guest test`\nof {_when(run)}."
    failed = [stage.name for run in runs for stage in run.stages if not stage.passed]
    if failed:
        yield f"\nOf the stages these failed: {', '.join(failed)}."
    yield "\n" + _line("speed-up", "kernel", "arch", "checked", "booted")
    yield _line(*["---"] * 5)
    for manifest in manifests:
        for series in reversed(SERIES):
            if series in manifest.kernels:
                for arch in _ARCHES:
                    yield _seen_row(runs, manifest.speedup, series, arch)
    yield "\nLoaded into a distribution's kernel while it ran ([live.md](live.md)):\n"
    lived = [one for run in runs for one in run.lived]
    yield from map(_lived, lived) if lived else ["- not tried"]


def _when(run: Seen) -> str:
    return f"commit {run.commit}, which ended on {run.date}"


def _seen_row(runs: Sequence[Seen], speedup: str, series: str, arch: str) -> str:
    def here(one: Checked | Boot) -> bool:
        release = (one.kernel + ".").startswith(f"{series}.")
        return release and (one.speedup, one.arch) == (speedup, arch)

    checks = [one for run in runs for one in run.checked if here(one)]
    boots = [one for run in runs for one in run.booted if here(one)]
    releases = dict.fromkeys([one.kernel for one in checks] + [one.kernel for one in boots])
    checked = "; ".join(map(_checked, checks)) or "not tried"
    booted = "; ".join(map(_booted, boots)) or "not tried"
    return _line(speedup, ", ".join(releases) or series, arch, checked, booted)


def _checked(one: Checked) -> str:
    if one.failed:
        return f"**{one.failed} failed**"
    mutants = f", {one.mutants} mutants" if one.mutants else ""
    skipped = f", {one.skipped} skipped" if one.skipped else ""
    return f"{one.combinations:,} inputs{mutants}{skipped}"


def _booted(one: Boot) -> str:
    word = f"{one.passed} cases" if one.suites else "no suite"
    if one.skipped:
        word += f", {one.skipped} skipped"
    return f"{one.kind}: {word}" if one.good else f"{one.kind}: **failed**"


def _lived(one: Live) -> str:
    where = f"- {', '.join(one.speedups)} into {one.kernel}: "
    if not one.good:
        return where + "**failed**"
    return where + f"{one.passed} checks passed, loaded and unloaded {one.rounds} times under load"


def _step_rows(step: Step, kernels: Interval) -> Iterator[Row]:
    for file in step.files:
        hook = "new file"
        for look, wanted in file.conditions:
            hook += f", if {look.function}() {'has' if wanted else 'lacks'} {look.line}"
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
