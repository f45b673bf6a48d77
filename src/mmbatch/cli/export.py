# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch export`: the speed-ups as series of mails, for git am and git send-email."""

from __future__ import annotations

import itertools
from pathlib import Path

from mmbatch.bench import record
from mmbatch.bench.record import Record
from mmbatch.cli import doctor, options
from mmbatch.cli.apply import left_out
from mmbatch.cli.options import Names, flag, number, value
from mmbatch.cli.usage import Misuse
from mmbatch.core import cache, log, paths
from mmbatch.core.errors import ExitCode
from mmbatch.kernel import apt
from mmbatch.kernel import sources as kernels
from mmbatch.kernel.git import GitTree
from mmbatch.series import export, verify
from mmbatch.splice import apply
from mmbatch.splice.manifest import CORE, cut


@options.verb("export")
def command(
    speedups: Names = options.speedups,
    kernel: str | None = options.kernel,
    tree: Path | None = options.tree,
    output: Path = value(
        "-o, --output DIR",
        "Write a directory for each series into DIR, which is new or empty",
        required=True,
        type=options.PATH,
    ),
    prefix: str = value(
        "--prefix TEXT", "Begin the subjects with this, as in 'RFC PATCH'", default="PATCH"
    ),
    reroll: int | None = number("--reroll N", "Number the version of the series"),
    until: str = options.until(CORE),
    sign_off: bool = options.sign_off,
    check: bool = flag("--check", "Check that every patch applies, builds and is clean"),
    jobs: int = options.jobs,
    install: bool = options.install,
) -> int:
    """Write SPEEDUPs, by default all that support the kernel, as series that git am takes.

    Each is a directory with one mail for each step and a cover letter. What a speed-up needs comes
    first in its series. Applied to the kernel they give what apply gives.
    """
    if output.is_file() or (output.exists() and any(output.iterdir())):
        raise Misuse(f"{output} is there and not empty", "name another directory with -o DIR")
    if check:
        doctor.ensure(install=install)
        apt.require("check a series with sparse", ["sparse"], may_install=install)
    source = kernels.get(kernel, tree)
    chosen = apply.choose(paths.SPEEDUPS, speedups, source.series, source.release)
    wanted = speedups or [held.speedup for held in chosen]
    user = GitTree(Path.cwd()).identity()
    ending = f"\n\nSigned-off-by: {user}" if sign_off else ""
    passed, failed, base = 0, list[str](), ""
    with cache.atomic_dir(output.absolute()) as work:
        for name in wanted:
            every = apply.choose(paths.SPEEDUPS, [name], source.series, source.release)
            manifests = cut(every, until)
            series = export.plan_series(source, manifests)
            figures, gains = export.figures_of(series.steps, _records(series, source.release))
            (work / name).mkdir()
            cover, *patches = export.write(series, work / name, gains, user, ending, prefix, reroll)
            reported = verify.checkpatch(source.path, patches, signed_off=sign_off)
            why = verify.explanations(manifests)
            explained = verify.explained(itertools.chain(*reported), why)
            base = export.base_commit(tree, series) if tree and (tree / ".git").exists() else ""
            title = f"{apply.branch_name(manifests).removeprefix(apply.PREFIX)}: {every[-1].title}"
            text = export.cover_text(manifests, source, figures, explained)
            export.fill_cover(cover, title, text, base)
            if every[-1].hosted:
                export.note_unmeasured(series, patches, gains, source.series)
            log.result(f"{output / name}: {len(patches)} patches and a cover letter")
            log.result("\n".join(f"  {path.name}" for path in (cover, *patches)))
            if not figures:
                log.result(f"  not measured yet on {source.release}, and the cover says so")
            log.result(f"  {sum(map(bool, gains))} of {len(gains)} patches have their own figures")
            if note := left_out(every, manifests, source.series):
                log.say(f"{name}: {note}")
            if not check:
                continue
            found = [("git am gives what apply gives", verify.applies(series, [cover, *patches]))]
            found += [
                (f"checkpatch {patch.name}", list(map(" ".join, verify.unexplained(left, why))))
                for patch, left in zip(patches, reported, strict=True)
            ]
            for what, problems in (*found, *verify.built(series, source, manifests, jobs)):
                log.say(f"{'FAIL ' if problems else 'ok   '} {name}: {what}")
                passed += not problems
                failed += [f"{name}: {what}: {problem}" for problem in problems]
    log.result(f"To use one: git am --empty=drop {output / wanted[-1]}/*.patch")
    log.result(f"Author: {user} (you, as git knows you)")
    if not base:
        log.result("The letters have no base-commit: export for a git tree with --tree.")
    if not sign_off:
        log.result("Not signed off: -s adds your line, which a posted series needs.")
    if check:
        log.result("\n".join([*failed, f"{passed} passed, {len(failed)} failed"]))
    return ExitCode.FAILED if failed else ExitCode.GOOD


def _records(series: export.Series, release: str) -> list[Record]:
    """Return the records of a series' code on a kernel in results/ and the cache, oldest first."""
    codes = export.codes_of(series.steps)
    runs = record.newest(cache.runs(), release).values()
    found = [
        record.read(path)
        for path in (*(paths.ROOT / "results").rglob("*.json"), *runs)
        if any(code in path.read_text(encoding="utf-8") for code in codes)
    ]
    here = [each for each in found if each.kernel.release == release]
    return sorted(here, key=lambda each: each.started)
