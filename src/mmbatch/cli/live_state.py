# SPDX-License-Identifier: GPL-2.0-only
"""What runs now for the functions that speed-ups replace, for `live load`, `status` and others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from mmbatch.cli import answers, options
from mmbatch.core.console import Console
from mmbatch.live import load, support
from mmbatch.live.load import Count, Kernel
from mmbatch.live.manifest import LiveManifest
from mmbatch.live.support import Support


def functions(lives: Iterable[LiveManifest], running: Kernel) -> list[answers.Function]:
    """Return what runs for each function of some speed-ups, and what was counted."""
    found = []
    for live in lives:
        counted = load.counts(live, running)
        for function, runs in load.status(live, running).items():
            active = load.active(live, function, running)
            if counted is None:
                found.append(answers.Function(live.speedup, function, runs, active))
                continue
            own = [count for count in counted if count.function == function]
            done = [count for count in own if count.outcome == "done"]
            left = [
                answers.Left(count.reason, count.calls, count.pages)
                for count in own
                if count.outcome == "left" and count.calls
            ]
            calls, pages = sum(row.calls for row in done), sum(row.pages for row in done)
            found.append(answers.Function(live.speedup, function, runs, active, calls, pages, left))
    return found


def speedups(lives: Iterable[LiveManifest], running: Kernel) -> list[answers.LiveSpeedup]:
    """Return the state of some speed-ups, and whether the running kernel can take them."""
    found = []
    for live in lives:
        loaded = (running.sys / "module" / live.module).exists()
        able = Support(live.speedup, True) if loaded else support.check(live, running)
        found.append(
            answers.LiveSpeedup(
                live.speedup,
                loaded,
                load.method(live, running),
                _proof(load.counts(live, running)),
                able.supported,
                able.problem,
                able.remedy,
            )
        )
    return found


def _proof(counted: list[Count] | None) -> str | None:
    """Return how the proofs of a speed-up ended, None if it has none."""
    proofs = [count for count in counted or () if count.outcome in ("passed", "failed")]
    if not proofs:
        return None
    if any(count.calls for count in proofs if count.outcome == "failed"):
        return "failed"
    return "passed" if any(count.calls for count in proofs) else "none"


def show_functions(console: Console, rows: Sequence[answers.Function]) -> None:
    """Print what runs for each function."""
    console.table(
        [(f"{row.speedup}:", f"{row.function}():", row.runs, _counted(row)) for row in rows]
    )


def _counted(row: answers.Function) -> str:
    if row.calls is None:
        return ""
    text = f"{row.calls:,} calls, {row.pages:,} pages"
    left = "".join(f"; left {left.calls:,} to the kernel: {left.reason}" for left in row.left)
    return text + left


_PROOFS = {
    "passed": "the proof before use passed",
    "failed": "the proof before use FAILED for some memory, which is left to the kernel",
    "none": "no proof yet, because nothing used it",
}


def show_loaded(console: Console, rows: Sequence[answers.LiveSpeedup]) -> None:
    """Print how each loaded speed-up works."""
    for row in rows:
        words = [f"method {row.method}" if row.method else "", _PROOFS.get(row.proof or "", "")]
        text = ", ".join(word for word in words if word)
        if row.loaded and text:
            console.result(f"{row.speedup}: {text}")
    if not any(row.loaded for row in rows):
        console.result("nothing is loaded")


def show_support(console: Console, release: str, rows: Sequence[answers.LiveSpeedup]) -> None:
    """Print which speed-ups the running kernel can take, and why not the others."""
    refused: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if not row.supported:
            refused.setdefault((row.problem, row.remedy), []).append(row.speedup)
    for (problem, remedy), names in refused.items():
        console.result(f"Linux {release} can't take {', '.join(names)}: {problem}")
        console.result(f"hint: {remedy}")
    able = [row.speedup for row in rows if row.supported and not row.loaded]
    if able:
        console.result(f"Linux {release} can take {', '.join(able)}: ./mmbatch live load")


def write(file: Path | None, verb: str, lives: Sequence[LiveManifest], running: Kernel) -> None:
    """Write the state as JSON, if that was asked for."""
    if file is not None:
        answer = answers.LiveStatus(
            running.release, functions(lives, running), speedups(lives, running)
        )
        options.write_answer(file, verb, answer)
