# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch export`: the speed-ups as series of mails, for git am and git send-email."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from pathlib import Path

import click

from mmbatch.bench import record
from mmbatch.bench.record import Record
from mmbatch.cli import answers, options, requirements
from mmbatch.cli.usage import Misuse
from mmbatch.core import cache, log, paths
from mmbatch.core.cache import atomic_dir
from mmbatch.core.console import Console, output_options
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel import sources
from mmbatch.series import export, figures, verify
from mmbatch.series.export import Letter
from mmbatch.splice import apply, branch
from mmbatch.splice.branch import Credit
from mmbatch.splice.manifest import CORE, Manifest, cut


def _read_commit(_: click.Context, __: click.Parameter, value: str | None) -> str:
    if value and not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", value):
        raise Misuse(f"--base {value} is no commit", "give all of its digits (git rev-parse)")
    return value or ""


@click.command("export")
@options.speedups
@options.kernel
@options.tree
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write a directory for each series into DIR, which is new or empty",
)
@click.option("--prefix", default="PATCH", help="Begin the subjects with this, as in 'RFC PATCH'")
@click.option(
    "--reroll", type=click.IntRange(1), metavar="N", help="Number the version of the series"
)
@options.until(CORE)
@options.credit
@click.option(
    "--base",
    "commit",
    metavar="COMMIT",
    callback=_read_commit,
    help="Name this base-commit in the cover letter, by default the HEAD of --tree",
)
@click.option(
    "--run",
    "runs",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Show this run in the letter and patches, by default the last one of this kernel",
)
@click.option("--check", is_flag=True, help="Check that every patch applies, builds and is clean")
@options.json_file
@options.jobs
@options.install
@output_options
def command(
    _: Console,
    *,
    speedups: tuple[str, ...],
    kernel: str | None,
    tree: Path | None,
    output: Path,
    prefix: str,
    reroll: int | None,
    until: str,
    credit: Credit,
    commit: str,
    runs: tuple[Path, ...],
    check: bool,
    json_file: Path | None,
    jobs: int,
    install: bool,
) -> int:
    """Write SPEEDUPs, by default all that support the kernel, as series that git am takes.

    Each is a directory with one mail for each step and a cover letter. What a speed-up needs comes
    first in its series. Applied to the kernel they give what apply gives.
    """
    options.require_one(until, speedups)
    options.require_new(output)
    options.require_writable(("--json", json_file))
    if check:
        requirements.ensure(log.say, install=install)
        requirements.ensure_sparse(log.say, install=install)
    source = sources.get(kernel, tree)
    chosen = apply.choose(paths.SPEEDUPS, speedups, source.series, source.release)
    wanted = speedups or tuple(manifest.speedup for manifest in chosen)
    measured = _measured(source, runs)
    letter = Letter(prefix, reroll, credit)
    author = letter.author()
    base = commit
    bisection = verify.Bisection(source, jobs)
    checks = verify.Report()
    series_made: list[answers.Series] = []
    with atomic_dir(output.absolute()) as work:
        for name in wanted:
            manifests = cut(
                apply.choose(paths.SPEEDUPS, [name], source.series, source.release), until
            )
            series = export.plan_series(source, manifests)
            (work / name).mkdir()
            gains = list(figures.of_steps(series.steps, measured))
            cover, *patches = export.write(series, letter, work / name, gains)
            reported = verify.checkpatch(source.path, patches, signed_off=credit.sign_off)
            why = verify.explanations(manifests)
            explained = verify.explained(itertools.chain(*reported), why)
            run = figures.for_cover(series.steps, measured.get(name, ()))
            text = export.cover_text(manifests, source, series.steps, run, explained)
            if tree is not None and not commit and (tree / ".git").exists():
                base = export.base_commit(tree, series)
            export.fill_cover(cover, _subject(manifests), text, base)
            _note_unmeasured(series, patches, gains, source)
            mails = [path.name for path in (cover, *patches)]
            count = sum(map(bool, gains))
            place = str(output / name)
            series_made.append(answers.Series(name, place, mails, run is not None, count))
            if check:
                title = f"{name} on {source.release}"
                found = verify.applies(series, [cover, *patches])
                checks.judge(f"{title}: git am gives what apply gives", found, log.say)
                for patch, objections in zip(patches, reported, strict=True):
                    unexplained = verify.unexplained(objections, why)
                    words = [f"{left.level} {left.type}: {left.words}" for left in unexplained]
                    checks.judge(f"{title}: checkpatch {patch.name}", words, log.say)
                _check_builds(title, bisection.steps(series, manifests), checks)
    answer = answers.Export(
        source.release,
        author,
        credit.sign_off,
        base or None,
        series_made,
        checks.passed,
        checks.failed,
    )
    _print(answer, is_named=bool(credit.author))
    options.write_answer(json_file, "export", answer)
    if check:
        log.result(f"{checks.passed} passed, {len(checks.failed)} failed")
    return ExitCode.FAILED if checks.failed else ExitCode.GOOD


def _check_builds(title: str, steps: Iterable[verify.Built], checks: verify.Report) -> None:
    for built in steps:
        subject = built.step.subject
        checks.judge(f"{title}: build and sparse, {subject}", built.complaints, log.say)
        if built.checks is not None:
            checks.judge(f"{title}: bytes, {subject}", built.checks, log.say)


def _print(answer: answers.Export, *, is_named: bool) -> None:
    for series in answer.series:
        log.result(f"{series.directory}: {len(series.mails) - 1} patches and a cover letter")
        for mail in series.mails:
            log.result(f"  {mail}")
        if not series.measured:
            log.result(
                f"  this code is not measured yet on {answer.release}, and the cover says so"
            )
        words = f"{series.measured_patches} of {len(series.mails) - 1} patches"
        log.result(f"  {words} have figures of their own")
    log.result(f"To use one: git am --empty=drop {answer.series[-1].directory}/*.patch")
    whose = "" if is_named else " (you, as git knows you; --author names another)"
    log.result(f"Author: {answer.author}{whose}")
    if answer.base_commit is None:
        log.result("The letters have no base-commit: --base names one.")
    if not answer.signed_off:
        log.result("Not signed off: -s adds your line, which a posted series needs.")
    for line in answer.failed:
        log.result(line)


def _subject(manifests: list[Manifest]) -> str:
    return f"{branch.name_for(manifests).removeprefix(branch.PREFIX)}: {manifests[-1].title}"


def _note_unmeasured(
    series: export.Series, patches: list[Path], gains: list[str], source: sources.Source
) -> None:
    """Say in each mail that there are no figures, if no run got as far as its step.

    A step before the last one that was measured changes nothing that is measured.
    """
    pairs = list(zip(series.steps, gains, strict=True))
    last = {step.speedup: number for number, (step, gain) in enumerate(pairs) if gain}
    for number, (step, patch) in enumerate(zip(series.steps, patches, strict=True)):
        is_test = step.name == "kunit"
        if number > last.get(step.speedup, -1) and not is_test:
            command = f"./mmbatch bench {step.speedup} --kernel {source.series} --each"
            export.add_note(
                patch,
                "No figures for this patch by itself. This measures each patch that changes what "
                f"runs on x86-64: {command}",
            )


def _measured(source: sources.Source, runs: tuple[Path, ...]) -> dict[str, list[Record]]:
    """Return speed-up to its runs: those that the user chose, or else the last one of the cache."""
    chosen = {path: record.read(path) for path in runs}
    for path, found in chosen.items():
        if found.kernel.release != source.release:
            raise MmbatchError(
                f"show {path} in a cover letter",
                f"it is of Linux {found.kernel.release}, and the series of {source.release}",
                "give a run of this kernel",
                ExitCode.USAGE,
            )
    by_speedup: dict[str, list[Record]] = {}
    for found in chosen.values():
        by_speedup.setdefault(found.speedup, []).append(found)
    newest = record.newest(cache.runs(), source.release)
    return {name: [record.read(path)] for name, path in newest.items()} | by_speedup
