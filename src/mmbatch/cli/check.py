# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch check`: compare patched kernel code with its oracle, byte for byte."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import click

from mmbatch.cli import answers, options, posted, requirements
from mmbatch.cli.usage import Misuse
from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.console import Console, output_options
from mmbatch.core.errors import ExitCode
from mmbatch.core.process import cpus
from mmbatch.hosted import check, fuzz, litmus, mutants, proofs, silicon
from mmbatch.kernel import sources
from mmbatch.kernel.sources import Source
from mmbatch.report import matrix
from mmbatch.splice import manifest
from mmbatch.splice.posted import PostedTree

_FUZZ_S = 20
_MISUSED_TREE = {
    True: ("--tree and --kernel exclude each other", "leave out one of them"),
    False: ("--tree is for posted code", "use --patch, --against, --range or --until as well"),
}
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def _seconds(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Read a duration: seconds, or "10m" and the like."""
    if value is None:
        return None
    match = re.fullmatch(r"([1-9]\d*)([smh]?)", value)
    if match is None:
        raise click.BadParameter(f"{value!r} is not a duration such as 90s, 10m or 2h", ctx, param)
    return int(match[1]) * _UNITS[match[2]]


@click.command("check")
@options.measured
@options.several_kernels
@options.tree
@posted.options
@click.option(
    "--until",
    metavar="STEP",
    help="Use our own code after this step, or 'core', by the same check and without mutants",
)
@click.option(
    "--no-mutations",
    is_flag=True,
    help="Leave out the mutants, which are deliberately broken copies",
)
@click.option(
    "--fuzz",
    "fuzz_s",
    callback=_seconds,
    metavar="DURATION",
    help="Only fuzz, on each kernel for this long (90s, 10m)",
)
@click.option(
    "--fuzz-runs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Only fuzz, with N inputs on each kernel",
)
@click.option(
    "--fuzz-input",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Only run the fuzzer's program on this input",
)
@click.option(
    "--litmus",
    "litmus_s",
    callback=_seconds,
    metavar="DURATION",
    help="Only run litmus tests, on CPUs of this machine for this long (90s, 10m)",
)
@click.option("--prove", is_flag=True, help="Only prove bounds, with the model checker CBMC")
@options.json_file
@options.outcome_files
@options.jobs
@options.install
@output_options
def command(
    console: Console,
    speedups: tuple[str, ...],
    series: tuple[str, ...],
    tree: Path | None,
    asked: posted.Asked,
    until: str | None,
    no_mutations: bool,
    fuzz_s: int | None,
    fuzz_runs: int | None,
    fuzz_input: Path | None,
    litmus_s: int | None,
    prove: bool,
    json_file: Path | None,
    write_outcomes: options.WriteOutcomes,
    jobs: int,
    install: bool,
) -> int:
    """Compare patched kernel code with the kernel's own, over many inputs, byte for byte.

    Runs on each kernel, in each configuration that matters, and with ASan and UBSan; then
    against mutants, all of which must be killed, each on the newest or the oldest kernel.
    A speed-up whose fuzzer runs by default is fuzzed for 20 seconds, and one with litmus tests
    has these searched by a model of x86.

    With --patch, --against, --range or --until, compare that code instead, by the same check on
    the newest kernel, in each configuration and with ASan and UBSan.
    """
    options.require_writable(("--json", json_file))
    if asked.is_of_steps:
        raise Misuse("--each is for the patches of a series", "give the series with --patch")
    fuzzes = bool(fuzz_s or fuzz_runs or fuzz_input)
    _refuse_mixed(asked, fuzzes=fuzzes, prove=prove, litmus=bool(litmus_s), kernels=bool(series))
    if until is not None:
        _refuse_steps(speedups, alone=not (asked or fuzzes or prove or litmus_s))
    if tree and (series or not (asked or until)):
        raise Misuse(*_MISUSED_TREE[bool(series)])
    if litmus_s:
        tally = check.Tally()
        _run_litmus(console, speedups, litmus_s, tally)
        return _end(console, tally, json_file, write_outcomes)
    if fuzz_input and not fuzz_input.is_file():  # a pipe, which could keep us waiting
        raise Misuse(f"{fuzz_input} is not a regular file", "give one that the fuzzer kept")
    length = None
    if fuzz_s or fuzz_runs:
        length = fuzz.Length(fuzz_s or 0, fuzz_runs or 0)
    if length or fuzz_input:
        for name in speedups:
            fuzz.require(manifest.load_with_needs(paths.SPEEDUPS, name)[-1])
    cache = Cache.open()
    requirements.ensure(console.say, install=install)
    if asked or until is not None:
        tally = _check_posted(console, cache, speedups, series or (None,), tree, asked, until, jobs)
        return _end(console, tally, json_file, write_outcomes)
    if prove:
        kernels = series or sources.SERIES[:1]
        tally = _prove(console, cache, speedups, kernels, jobs, with_mutants=not no_mutations)
        return _end(console, tally, json_file, write_outcomes)
    log = cache.logs / "apt-install.log"
    if length or fuzz_input:
        fuzz.ensure(console.say, install=install, log=log)
        tally = _fuzz_only(
            console, cache, speedups, series or sources.SERIES, length or fuzz_input, jobs
        )
        return _end(console, tally, json_file, write_outcomes)
    if install:
        fuzz.try_to_install(console.say, log)
    return run_all(
        console,
        cache,
        speedups,
        series or sources.SERIES,
        with_mutants=not no_mutations,
        jobs=jobs,
        json_file=json_file,
        write_outcomes=write_outcomes,
    )


def _refuse_mixed(
    asked: posted.Asked, *, fuzzes: bool, prove: bool, litmus: bool, kernels: bool
) -> None:
    """Raise Misuse if options ask for several kinds of checks."""
    if litmus and (asked or fuzzes or prove or kernels):
        raise Misuse("litmus tests run alone, and without a kernel", "leave out other options")
    if prove and (asked or fuzzes):
        raise Misuse("proofs are of our own code, and run alone", "leave out other options")
    if asked and fuzzes:
        raise Misuse("posted code can't be fuzzed", "leave out the options of the fuzzer")


def _refuse_steps(speedups: tuple[str, ...], *, alone: bool) -> None:
    """Raise Misuse if --until comes with another kind of check, or not with one speed-up."""
    if not alone:
        raise Misuse("--until is for a check of our own steps", "leave out other options")
    if len(speedups) != 1:
        raise Misuse("--until is for the steps of one speed-up", "name one speed-up")


def _check_posted(
    console: Console,
    cache: Cache,
    speedups: tuple[str, ...],
    series: Sequence[str | None],
    tree: Path | None,
    asked: posted.Asked,
    until: str | None,
    jobs: int,
) -> check.Tally:
    """Compare somebody else's code, or a step of our own, with base, by the checks of speed-ups."""
    tally = check.Tally()
    for kernel in series:
        source = sources.resolve(cache, kernel, tree, console.say)
        if until is not None:
            trees = posted.make_steps(cache, source, speedups[0], console, until, each=False)
        else:
            trees = posted.make_trees(cache, source, asked, tree, console)

        def run(name: str, source: Source = source, trees: list[PostedTree] = trees) -> None:
            manifests = manifest.load_with_needs(paths.SPEEDUPS, name)
            bench = check.Bench(cache, source, manifests, jobs, posted=trees, renamed=asked.entries)
            check.run_posted(bench, console.say, tally)

        names = speedups or manifest.measured(paths.SPEEDUPS)
        posted.for_each_harness(names, run, console, named=bool(speedups))
    return tally


def _run_litmus(
    console: Console, speedups: tuple[str, ...], seconds: int, tally: check.Tally
) -> None:
    """Run litmus tests on CPUs of this machine, which share the time.

    Raises:
        MmbatchError: there are none.
    """
    names = speedups or manifest.known(paths.SPEEDUPS)
    found = {name: litmus.tests(paths.SPEEDUPS / name) for name in names}
    found = {name: tests for name, tests in found.items() if tests}
    if not found:
        raise Misuse(f"{' and '.join(names)} has no litmus tests", "name another speed-up")
    cache = Cache.open()
    for name, tests in found.items():
        silicon.run(name, tests, seconds / len(found), cache.builds, console.say, tally)


def _prove(
    console: Console,
    cache: Cache,
    speedups: tuple[str, ...],
    series: Sequence[str],
    jobs: int,
    *,
    with_mutants: bool,
) -> check.Tally:
    """Prove the bounds of speed-ups, and refute mutants.

    Raises:
        MmbatchError: there are no proofs, or CBMC can't be had.
    """
    tally = check.Tally()
    names = [
        name
        for name in speedups or manifest.known(paths.SPEEDUPS)
        if check.load_extras(paths.SPEEDUPS / name / "check.toml").proofs
    ]
    if not names:
        raise Misuse(f"{' and '.join(speedups)} has no proofs", "name another speed-up")
    prover = proofs.find(cache, console.say)
    for kernel in series:
        source = sources.resolve(cache, kernel, None, console.say)
        for name in names:
            manifests = manifest.load_with_needs(paths.SPEEDUPS, name)
            bench = check.Bench(cache, source, manifests, jobs)
            proofs.run(bench, prover, console.say, tally, with_mutants=with_mutants)
    return tally


def _fuzz_only(
    console: Console,
    cache: Cache,
    speedups: tuple[str, ...],
    series: tuple[str, ...],
    inputs: fuzz.Length | Path | None,
    jobs: int,
) -> check.Tally:
    """Fuzz for some time, or give a fuzzer one input."""
    tally = check.Tally()
    for kernel in series:
        source = sources.resolve(cache, kernel, None, console.say)
        for speedup in speedups or _fuzzed():
            manifests = manifest.load_with_needs(paths.SPEEDUPS, speedup)
            bench = check.Bench(cache, source, manifests, jobs)
            if isinstance(inputs, Path):
                fuzz.again(bench, console.say, tally, inputs)
            elif inputs is not None:
                fuzz.run(bench, console.say, tally, inputs, mutants_among=())
    return tally


def _fuzzed() -> list[str]:
    """Return the speed-ups that have a fuzzer."""
    return [
        name
        for name in manifest.known(paths.SPEEDUPS)
        if fuzz.fuzzes(manifest.load_with_needs(paths.SPEEDUPS, name)[-1])
    ]


def run_all(
    console: Console,
    cache: Cache,
    speedups: tuple[str, ...] = (),
    series: tuple[str, ...] = sources.SERIES,
    *,
    with_mutants: bool = True,
    stride_others: int = 1,
    jobs: int | None = None,
    log: matrix.Log | None = None,
    json_file: Path | None = None,
    write_outcomes: options.WriteOutcomes | None = None,
) -> int:
    """Check speed-ups on kernels, print the tally, and return the exit code.

    Args:
        console: where stages and the tally are shown.
        cache: where kernels and programs are kept.
        speedups: their names; none means all.
        series: of the kernels; each mutant is tried on the first or on the last.
        with_mutants: try mutants, too.
        stride_others: in all configurations but the first, check every combination (1), every
            second one (2), and so on. If it is not 1, kernels between the first and the last are
            checked like this in the first configuration only, and nothing is fuzzed there.
        jobs: how many compilers at a time; None for one per CPU.
        log: told how each speed-up fared on each kernel.
        json_file: where the tally goes as JSON.
        write_outcomes: writes how each stage ended.
    """
    tally = check.Tally()
    for speedup in speedups or manifest.known(paths.SPEEDUPS):
        silicon.prove(speedup, litmus.tests(paths.SPEEDUPS / speedup), console.say, tally)
    among = tuple(dict.fromkeys((series[0], series[-1]))) if with_mutants else ()
    for kernel in series:
        source = sources.resolve(cache, kernel, None, console.say)
        for speedup in speedups or manifest.known(paths.SPEEDUPS):
            manifests = manifest.load_with_needs(paths.SPEEDUPS, speedup)
            part = check.Tally()
            bench = check.Bench(cache, source, manifests, jobs or cpus())
            brief = stride_others > 1 and kernel not in (series[0], series[-1])
            check.run(
                bench,
                console.say,
                part,
                stride=stride_others if brief else 1,
                stride_others=stride_others,
                only_first=brief,
            )
            mutants.run(bench, console.say, part, among=among)
            if fuzz.by_default(bench.manifest) and not brief:
                length = fuzz.Length(_FUZZ_S)
                fuzz.run(bench, console.say, part, length, mutants_among=among)
            tally.add(part)
            if log is not None:
                log.checked(speedup, source.release, part)
    return _end(console, tally, json_file, write_outcomes)


def _end(
    console: Console,
    tally: check.Tally,
    json_file: Path | None,
    write_outcomes: options.WriteOutcomes | None,
) -> int:
    """Print the tally and return the exit code."""
    for line in (*tally.failed, *tally.skipped):
        console.result(line)
    if tally.killed:
        console.result(f"{len(tally.killed)} mutants were killed.")
    if tally.combinations:
        console.result(f"{tally.combinations} combinations compared in full runs.")
    console.result(
        f"{tally.passed} passed, {len(tally.failed)} failed, {len(tally.skipped)} skipped"
    )
    answer = answers.Check(
        tally.passed, tally.failed, tally.skipped, len(tally.killed), tally.combinations
    )
    options.write_answer(json_file, "check", answer)
    if write_outcomes is not None:
        write_outcomes(tally.outcomes)
    return ExitCode.FAILED if tally.failed else ExitCode.GOOD
