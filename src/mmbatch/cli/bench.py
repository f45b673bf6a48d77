# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch bench`: base and patched kernel code against each other, here, now."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import click

from mmbatch.bench import record, store
from mmbatch.bench.results import exit_code, outcomes
from mmbatch.bench.session import Prepared, Session
from mmbatch.cli import answers, options, posted, requirements
from mmbatch.cli.usage import Misuse
from mmbatch.core import paths
from mmbatch.core.cache import Cache, atomic_write, require_writable
from mmbatch.core.console import Console, output_options
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.hosted.run import Request
from mmbatch.kernel import sources
from mmbatch.report import html, text
from mmbatch.splice import manifest

_PAIRS = 24
_BUDGET_S = 12
_QUICK_PAIRS = 12
QUICK_PART = 4
"""`--quick` divides the size of the large cases by this."""

_QUICK_BUDGET_S = 4
_MOST_PFNS = 1 << 40  # as many as 52 bits of physical address have
_MOST_PAIRS = 100_000
_MOST_SEED = (1 << 64) - 1


def _refuse_baseline(context: click.Context, _: click.Parameter, file: Path | None) -> None:
    """Raise MmbatchError if --baseline names a file."""
    if file is not None:
        raise MmbatchError(
            f"compare with the times in {file}",
            "they are of another run, and the same code differs between runs: by the machine's "
            "other load, its clock, where memory and code happened to lie; no interval covers that",
            "leave --baseline out: base is measured again in every run, in pairs with what is "
            "compared; `mmbatch report` puts the ratios of several runs side by side",
            ExitCode.USAGE,
        )


@click.command("bench")
@options.measured
@options.kernel
@options.tree
@options.config
@posted.options
@click.option(
    "--until",
    metavar="STEP",
    help="Use our own code after this step, or 'core', beside all of it; with --each, after every "
    "step up to this one",
)
@click.option("--only-posted", is_flag=True, help="Leave out our own variants")
@click.option(
    "--show-unequal",
    is_flag=True,
    help="Measure a posted series even if it produces other memory than base",
)
@click.option("--case", "cases", multiple=True, metavar="NAME", help="Run this case only")
@click.option("--all", "extra", is_flag=True, help="Run also the cases that run only on request")
@click.option("--list", "list_only", is_flag=True, help="List the cases and end")
@click.option("--quick", is_flag=True, help="Measure a quarter of the size with half the pairs")
@click.option(
    "--pfns",
    type=click.IntRange(1, _MOST_PFNS),
    metavar="N",
    help="Set the size of the large cases, in items",
)
@click.option(
    "--size",
    callback=options.read_size,
    metavar="SIZE",
    help="Set the size of the large cases in bytes of device memory, such as 10T",
)
@click.option(
    "--repeats",
    type=click.IntRange(1, _MOST_PAIRS),
    metavar="N",
    help=f"Measure N pairs of each comparison, by default up to {_PAIRS}",
)
@click.option(
    "--seed",
    type=click.IntRange(0, _MOST_SEED),
    metavar="N",
    default=1,
    help="Seed the order of the runs",
)
@click.option(
    "--cpu", "features", multiple=True, metavar="FEATURE=0|1", help="Switch a CPU feature off or on"
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write samples.jsonl and bench.json into this directory, by default one in the cache",
)
@options.json_file
@options.outcome_files
@click.option("--cover", is_flag=True, help="End with a table of 72 columns, for a cover letter")
@options.output_file(
    "--html",
    "html_file",
    help_text="Write the report's page of this session to FILE, - for standard output",
)
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    expose_value=False,
    is_eager=True,
    callback=_refuse_baseline,
    hidden=True,
)
@options.jobs
@options.install
@output_options
def command(
    console: Console,
    speedups: tuple[str, ...],
    kernel: str | None,
    tree: Path | None,
    settings: tuple[str, ...],
    asked: posted.Asked,
    until: str | None,
    only_posted: bool,
    show_unequal: bool,
    cases: tuple[str, ...],
    extra: bool,
    list_only: bool,
    quick: bool,
    pfns: int | None,
    size: int | None,
    repeats: int | None,
    seed: int,
    features: tuple[str, ...],
    output: Path | None,
    json_file: Path | None,
    write_outcomes: options.WriteOutcomes,
    cover: bool,
    html_file: Path | None,
    jobs: int,
    install: bool,
) -> int:
    """Measure SPEEDUPs, by default all that support the kernel, on this machine.

    The kernel's own objects, as they are and with the speed-up in them, are linked into one
    process. Nothing is timed until both produce identical memory. The process is started several
    times, in turns with those of other speed-ups.
    """
    pfns = _items(pfns, size)
    _check_features(features)
    _check_places(output, json_file, html_file)
    if tree is not None:
        options.require_utf8(tree)
    if json_file is not None and len(speedups) != 1 and not list_only:
        raise Misuse("--json holds the result of one speed-up", "name one speed-up, or use -o DIR")
    if (only_posted or show_unequal) and not asked:
        option = "--only-posted" if only_posted else "--show-unequal"
        raise Misuse(f"{option} is for somebody else's code", "give that with --patch FILE")
    of_steps = asked.is_of_steps or until is not None
    if of_steps:
        _check_steps(asked, until, speedups)
    cache = Cache.open()
    manifest.load_with_needs(paths.SPEEDUPS, *speedups)
    requirements.ensure(console.say, install=install)
    amount = ("--repeats", str(repeats)) if repeats else ("--quick",) if quick else ()
    repeated = (*asked.words, *(("--until", until) if until else ()), *amount)
    session = Session(console, cache, tree, settings, jobs, repeated, asked.entries)
    source = sources.get(kernel, tree)
    request = Request(
        cases=cases,
        items=pfns,
        pairs=repeats or (_QUICK_PAIRS if quick else _PAIRS),
        seed=seed,
        budget_s=None if repeats else _QUICK_BUDGET_S if quick else _BUDGET_S,
        features=features,
        extra=extra,
        only_posted=only_posted,
        show_unequal=show_unequal,
    )
    names = tuple(dict.fromkeys(speedups)) or session.all_of(source, harnesses=bool(asked))
    trees = posted.make_trees(source, asked, tree)
    if of_steps:
        last = until or manifest.ALL
        trees = posted.make_steps(source, names[0], last, each=asked.each)
    part = QUICK_PART if quick and pfns is None else 1
    prepared = posted.for_each_harness(
        names,
        lambda name: session.prepare(source, name, request, part, trees),
        named=bool(speedups),
    )
    if list_only:
        listed = answers.BenchList(source.release, _cases(prepared))
        head = ("speedup",) if len(prepared) > 1 else ()
        columns = (*head, "case", "regime", "size")
        console.table([[getattr(case, name) for name in columns] for case in listed.cases])
        options.write_answer(json_file, "bench --list", listed)
        return ExitCode.GOOD
    places = {work.speedup: output / work.speedup for work in prepared} if output else {}
    if output and len(prepared) == 1:
        places = {names[0]: output}
    directories = session.measure(prepared, places)
    results = [record.read(directory / store.RECORD) for directory in directories]
    if json_file is not None:
        record.write(json_file, results[0])
    _print(console, directories, results, cover=cover)
    write_outcomes([outcome for result in results for outcome in outcomes(result)])
    if html_file is not None:
        atomic_write(html_file, html.render(store.load(directories), paths.SPEEDUPS))
        console.say(f"the page is {html_file}")
    for directory in directories:
        console.say(f"samples.jsonl and bench.json are in {directory}")
    codes = {exit_code(result) for result in results}
    order = (ExitCode.FAILED, ExitCode.INCONCLUSIVE, ExitCode.GOOD)
    return next(code for code in order if code in codes)


def quick(cases: tuple[str, ...]) -> Request:
    """Return what `--quick` runs of some cases."""
    return Request(
        cases=cases,
        items=None,
        pairs=_QUICK_PAIRS,
        seed=1,
        budget_s=_QUICK_BUDGET_S,
        features=(),
    )


def _check_steps(asked: posted.Asked, until: str | None, speedups: tuple[str, ...]) -> None:
    if asked:
        raise Misuse("--until is for our own steps", "leave out --patch, --against and --range")
    if len(speedups) != 1:
        option = "--each alone" if until is None else "--until"
        raise Misuse(f"{option} is for the steps of one speed-up", "name one speed-up")


def _cases(prepared: Sequence[Prepared]) -> list[answers.Case]:
    return [
        answers.Case(program.speedup, case.case, case.regime, f"{case.items} {case.item}s")
        for program in prepared
        for case in program.cases
    ]


def _items(pfns: int | None, size: int | None) -> int | None:
    """Return the size of the large cases in items, which are pages of device memory."""
    if size is None:
        return pfns
    if pfns is not None:
        raise Misuse("--size and --pfns exclude each other", "leave out one of them")
    items, odd_bytes = divmod(size, options.PFN_BYTES)
    if odd_bytes or not 1 <= items <= _MOST_PFNS:
        raise Misuse(
            f"--size {size} is not made of pages of {options.PFN_BYTES} bytes, 1 to {_MOST_PFNS}",
            "give it as in --size 100G",
        )
    return items


def _print(
    console: Console, directories: list[Path], results: list[record.Record], *, cover: bool
) -> None:
    if cover:
        console.out.file.write("\n".join(text.run(result) for result in results))
    elif len(results) == 1:
        text.print_run(results[0], console.out)
    else:
        console.out.file.write(text.report(store.load(directories), paths.SPEEDUPS))


def _check_features(features: tuple[str, ...]) -> None:
    for feature in features:
        if not re.fullmatch(r"[a-z0-9_]+=[01]", feature):
            raise MmbatchError(
                f"read --cpu {feature}",
                "it is not FEATURE=0 or FEATURE=1",
                "write it as in --cpu fsrm=0",
                ExitCode.USAGE,
            )


def _check_places(output: Path | None, json_file: Path | None, html_file: Path | None) -> None:
    """Raise MmbatchError if the results could not be written: now, not after the measuring."""
    if output is not None:
        directories = (output, *output.absolute().parents)
        exists = next(directory for directory in directories if directory.exists())
        require_writable(exists / "results", "-o")
    options.require_writable(("--json", json_file), ("--html", html_file))
