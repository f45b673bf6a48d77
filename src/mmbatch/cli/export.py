# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch export`: the speed-ups as series of mails, for git am and git send-email."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import click

from mmbatch.bench import record
from mmbatch.bench.record import Record
from mmbatch.cli import doctor, options
from mmbatch.cli.apply import left_out
from mmbatch.cli.options import Names, flag, number, value, values
from mmbatch.cli.usage import Misuse
from mmbatch.core import cache, log, paths
from mmbatch.core.errors import ExitCode
from mmbatch.kernel import apt
from mmbatch.kernel import sources as kernels
from mmbatch.kernel.git import GitTree
from mmbatch.series import export, verify
from mmbatch.splice import apply
from mmbatch.splice.apply import Credit
from mmbatch.splice.manifest import CORE, cut

RESULTS = paths.ROOT / "results"


@options.verb("export")
def command(
    speedups: Names = options.speedups,
    kernel: str | None = options.kernel,
    tree: Path | None = options.tree,
    output: Path = value(
        "-o, --output DIR",
        "Write a directory for each series into DIR, which is new or empty",
        required=True,
        type=click.Path(path_type=Path),
    ),
    prefix: str = value(
        "--prefix TEXT", "Begin the subjects with this, as in 'RFC PATCH'", default="PATCH"
    ),
    reroll: int | None = number("--reroll N", "Number the version of the series"),
    until: str = options.until(CORE),
    credit: Credit = options.credit,
    commit: str = value(
        "--base COMMIT",
        "Name this base-commit in the cover letter, by default the HEAD of --tree",
        options.like("[0-9a-f]{40}|[0-9a-f]{64}", "a whole commit", "$(git rev-parse A)"),
        default="",
    ),
    runs: Names = values(
        "--run RUN",
        "Show this record, by default the last one of this code in results/ and the cache",
    ),
    check: bool = flag("--check", "Check that every patch applies, builds and is clean"),
    jobs: int = options.jobs,
    install: bool = options.install,
) -> int:
    """Write SPEEDUPs, by default all that support the kernel, as series that git am takes.

    Each is a directory with one mail for each step and a cover letter. What a speed-up needs comes
    first in its series. Applied to the kernel they give what apply gives.
    """
    options.require_one(until, speedups)
    if output.is_file() or (output.exists() and any(output.iterdir())):
        raise Misuse(f"{output} is there and not empty", "name another directory with -o DIR")
    if check:
        doctor.ensure(install=install)
        apt.require("check a series with sparse", ["sparse"], may_install=install)
    source = kernels.get(kernel, tree)
    chosen = apply.choose(paths.SPEEDUPS, speedups, source.series, source.release)
    wanted = speedups or [held.speedup for held in chosen]
    whose = "" if credit.author else " (you, as git knows you; --author names another)"
    credit = replace(credit, author=credit.author or GitTree(Path.cwd()).identity())
    passed, failed, base = 0, list[str](), commit
    with cache.atomic_dir(output.absolute()) as work:
        for name in wanted:
            every = apply.choose(paths.SPEEDUPS, [name], source.series, source.release)
            manifests = cut(every, until)
            series = export.plan_series(source, manifests)
            figures, gains = export.figures_of(
                series.steps, _records(name, series, source.release, runs)
            )
            (work / name).mkdir()
            cover, *patches = export.write(series, work / name, gains, credit, prefix, reroll)
            reported = verify.checkpatch(source.path, patches, signed_off=credit.sign_off)
            why = verify.explanations(manifests)
            explained = verify.explained(itertools.chain(*reported), why)
            in_git = tree is not None and (tree / ".git").exists()
            base = commit or (export.base_commit(tree, series) if tree and in_git else "")
            title = f"{apply.branch_name(manifests).removeprefix(apply.PREFIX)}: {every[-1].title}"
            text = export.cover_text(manifests, source, figures, explained)
            export.fill_cover(cover, title, text, base)
            export.note_unmeasured(series, patches, gains, source.series)
            lines = [f"{output / name}: {len(patches)} patches and a cover letter"]
            lines += [f"  {path.name}" for path in (cover, *patches)]
            if not figures:
                lines.append(
                    f"  this code is not measured yet on {source.release}, and the cover says so"
                )
            lines += [f"  {sum(map(bool, gains))} of {len(gains)} patches have their own figures"]
            log.result("\n".join(lines))
            if note := left_out(every, manifests, source.series):
                log.say(f"{name}: {note}")
            checkpatch = [
                (f"checkpatch {patch.name}", list(map(" ".join, verify.unexplained(found, why))))
                for patch, found in zip(patches, reported, strict=True)
            ]
            for what, problems in (
                itertools.chain(
                    [("git am gives what apply gives", verify.applies(series, [cover, *patches]))],
                    checkpatch,
                    verify.built(series, source, manifests, jobs),
                )
                if check
                else ()
            ):
                log.say(f"{'FAIL ' if problems else 'ok   '} {name}: {what}")
                passed += not problems
                failed += [f"{name}: {what}: {problem}" for problem in problems]
    log.result(f"To use one: git am --empty=drop {output / wanted[-1]}/*.patch")
    log.result(f"Author: {credit.author}{whose}")
    if not base:
        log.result("The letters have no base-commit: --base names one.")
    if not credit.sign_off:
        log.result("Not signed off: -s adds your line, which a posted series needs.")
    if check:
        log.result("\n".join([*failed, f"{passed} passed, {len(failed)} failed"]))
    return ExitCode.FAILED if failed else ExitCode.GOOD


def _records(name: str, series: export.Series, release: str, runs: Names) -> list[Record]:
    """Return records of a series on a kernel, oldest first: those chosen, or all here."""
    found = [record.read(Path(path)) for path in runs]
    for path, each in zip(runs, found, strict=True):
        if each.kernel.release != release:
            problem = f"{path} is of Linux {each.kernel.release}, and the series of {release}"
            raise Misuse(problem, "give a record of this kernel")
    if not runs:
        names = {name, *(step.speedup for step in series.steps)}
        places = [path for each in names for path in RESULTS.glob(f"{each}-*.json")]
        places += [
            path for each, path in record.newest(cache.runs(), release).items() if each in names
        ]
        codes = set(export.codes_of(series.steps))
        places = [path for path in places if any(code in path.read_text() for code in codes)]
        found = [each for each in map(record.read, places) if each.kernel.release == release]
    return sorted(found, key=lambda each: each.started)
