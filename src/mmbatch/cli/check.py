# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch check`: compare patched kernel code with its oracle, byte for byte."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

import click

from mmbatch.bench import session
from mmbatch.cli import doctor, options, posted
from mmbatch.cli.options import Names, number, values
from mmbatch.cli.usage import Misuse
from mmbatch.core import log, paths
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.hosted import check, fuzz
from mmbatch.hosted.program import Program
from mmbatch.kernel import apt, sources
from mmbatch.splice import manifest

PARTS = ("equality", "configurations", "sanitizers", "mutants", "fuzz")
_FUZZ_S = 20


@options.verb("check")
def command(
    speedups: Names = options.measured,
    series: Names = options.kernels,
    asked: posted.Asked = posted.asked,
    parts: Names = values(
        "--only PART",
        f"Do this part only, by default all: {', '.join(PARTS)}",
        type=click.Choice(PARTS),
    ),
    fuzz_s: int | None = number("--fuzz SECONDS", "Only fuzz, on each kernel for this long"),
    ktap: Path | None = options.ktap,
    junit: Path | None = options.junit,
    jobs: int = options.jobs,
    install: bool = options.install,
) -> int:
    """Compare patched kernel code with the kernel's own, over many inputs, byte for byte.

    Runs on each kernel, in each configuration that matters, and with ASan and UBSan; then
    against mutants, all of which must be killed, each on the first kernel that it fits. A
    speed-up whose fuzzer runs by default is fuzzed for 20 seconds.

    With --patch, --against, --range, --until or --each, compare that code instead, by the same
    check on the newest kernel, in each configuration and with ASan and UBSan.
    """
    if asked and fuzz_s:
        raise Misuse("posted code can't be fuzzed", "leave out one of the options")
    if asked.tree and (series or not asked):
        raise Misuse("--tree is for posted code, without --kernel", "leave out one of the options")
    doctor.ensure(install=install)
    if install:
        apt.install(fuzz.PACKAGES)
    elif fuzz_s and not fuzz.available():
        hint = f"run: {apt.install_command(fuzz.PACKAGES)}"
        raise MmbatchError("fuzz", "clang or its libFuzzer is missing", hint)
    tally = check.Tally()
    kernels = series or sources.SERIES
    hosted = session.hosted(speedups, harnesses=bool(asked))

    def check_one(kernel: Program, name: str) -> None:
        program = replace(kernel, manifests=manifest.load_with_needs(paths.SPEEDUPS, name))
        if fuzz_s:
            fuzz.run(replace(program, fuzz=True), tally, fuzz_s)
        else:
            run_parts(program, tally, parts or PARTS, kernels)

    for kernel in (None,) if asked and not series else kernels:
        base = sources.get(kernel, asked.tree)
        trees = posted.make_trees(base, asked)
        kernel_alone = Program(base, (), (), jobs, posted=trees, renamed=asked.entries)
        check_each = functools.partial(check_one, kernel_alone)
        names = [each.speedup for each in hosted]
        posted.for_each_harness(names, check_each, named=bool(speedups))
    if fuzz_s and not tally.outcomes:
        raise Misuse("no speed-up that is named has a fuzzer", "name another")
    options.write_outcomes(tally.outcomes, ktap, junit)
    for line in (*tally.failed, *tally.skipped):
        log.result(line)
    if tally.killed:
        log.result(f"{tally.killed} mutants were killed.")
    if tally.combinations:
        log.result(f"{tally.combinations} combinations compared in full runs.")
    log.result(f"{tally.passed} passed, {len(tally.failed)} failed, {len(tally.skipped)} skipped")
    return ExitCode.FAILED if tally.failed else ExitCode.GOOD


def run_parts(
    program: Program, tally: check.Tally, parts: tuple[str, ...], kernels: tuple[str, ...]
) -> None:
    """Check a speed-up, or posted code, on one of some kernels."""
    check.run(program, tally, parts)
    if "mutants" in parts and not program.posted:
        check.run_mutants(program, tally, kernels)
    hosted = program.manifest.hosted
    if "fuzz" in parts and not program.posted and hosted is not None and hosted.fuzz_by_default:
        fuzz.run(replace(program, fuzz=True), tally, _FUZZ_S, kernels)
