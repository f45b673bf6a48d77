# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch check`: compare patched kernel code with its oracle, byte for byte."""

from __future__ import annotations

import os

import click

from mmbatch import check, checkout, doctor, kernels, manifest, params, seen
from mmbatch.cache import Cache
from mmbatch.console import Console, output_options
from mmbatch.errors import ExitCode


@click.command("check", short_help="Compare patched kernel code with its oracle, byte for byte.")
@params.speedups
@params.several_kernels
@click.option("--no-mutations", is_flag=True, help="Leave out the deliberate mistakes.")
@params.jobs
@params.install
@output_options
def command(
    console: Console,
    speedups: tuple[str, ...],
    series: tuple[str, ...],
    no_mutations: bool,
    jobs: int | None,
    install: bool,
) -> int:
    """Compare patched kernel code with the kernel's own, over many inputs, byte for byte.

    Runs on each kernel, in each configuration that matters, and with ASan and UBSan; then, on
    the newest and the oldest kernel, against deliberate mistakes, all of which must be caught.
    """
    cache = Cache.open()
    doctor.ensure(console.say, install=install)
    return run_all(
        console, cache, speedups, series or kernels.SERIES, mutants=not no_mutations, jobs=jobs
    )


def run_all(
    console: Console,
    cache: Cache,
    speedups: tuple[str, ...] = (),
    series: tuple[str, ...] = kernels.SERIES,
    *,
    mutants: bool = True,
    jobs: int | None = None,
    log: seen.Log | None = None,
) -> int:
    """Check speed-ups on kernels, print the tally, and return the exit code.

    Args:
        console: where stages and the tally are shown.
        cache: where kernels and programs are kept.
        speedups: their names; none means all.
        series: of the kernels; the mistakes are tried on the first and on the last.
        mutants: try them at all.
        jobs: how many compilers at a time; None for one per CPU.
        log: told how each speed-up fared on each kernel.
    """
    tally = check.Tally()
    for one in series:
        source = kernels.resolve(cache, one, None, console.say)
        for speedup in speedups or manifest.known(checkout.SPEEDUPS):
            part = check.Tally()
            check.run(
                cache,
                source,
                manifest.load_with_needs(checkout.SPEEDUPS, speedup),
                jobs or os.cpu_count() or 1,
                console.say,
                part,
                mutants=mutants and one in (series[0], series[-1]),
            )
            tally.add(part)
            if log is not None:
                log.checked(speedup, source.release, part)
    for line in (*tally.failed, *tally.skipped):
        console.result(line)
    if tally.caught:
        console.result(f"{len(tally.caught)} deliberate mistakes were caught.")
    console.result(f"{tally.combinations} combinations compared in full runs.")
    console.result(
        f"{tally.passed} passed, {len(tally.failed)} failed, {len(tally.skipped)} skipped"
    )
    return ExitCode.FAILED if tally.failed else ExitCode.GOOD
