# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch bench`: base and patched kernel code against each other, here, now."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click

from mmbatch.bench import record
from mmbatch.bench import store as stored
from mmbatch.bench.results import exit_code
from mmbatch.bench.session import Session
from mmbatch.cli import options as params
from mmbatch.cli import requirements as doctor
from mmbatch.core import paths as checkout
from mmbatch.core.cache import Cache, atomic_write
from mmbatch.core.console import Console, output_options
from mmbatch.core.disk import is_special, require_place
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.hosted import run as hosted
from mmbatch.kernel import sources as kernels
from mmbatch.report import html as report_page
from mmbatch.report import text
from mmbatch.splice import manifest

DEFAULT_SPEEDUP = "zone_device"
_PAIRS = 24
_BUDGET_S = 14
_QUICK_PAIRS = 12
_QUICK_PART = 4
_QUICK_BUDGET_S = 3
_MOST_PFNS = 1 << 40  # as many as 52 bits of physical address have
_MOST_PAIRS = 100_000
_MOST_SEED = (1 << 64) - 1


def _refuse_baseline(context: click.Context, _: click.Parameter, file: Path | None) -> None:
    """Raise MmbatchError if a stored number shall be compared with."""
    if file is not None:
        raise MmbatchError(
            f"compare with the times in {file}",
            "they are of another run, and the same code differs between runs: by the machine's "
            "other load, its clock, where memory and code happened to lie; no interval covers that",
            "leave --baseline out: base is measured again in every run, in pairs with what is "
            "compared; `mmbatch report` puts the ratios of several runs side by side",
            ExitCode.USAGE,
        )


@click.command("bench", short_help="Measure a speed-up on this machine against the real kernel.")
@params.speedups
@params.kernel
@params.tree
@params.config
@click.option("--case", "cases", multiple=True, metavar="NAME", help="Run this case only.")
@click.option("--list", "list_only", is_flag=True, help="List the cases and end.")
@click.option("--quick", is_flag=True, help="A quarter of the size and half the pairs.")
@click.option(
    "--pfns",
    type=click.IntRange(1, _MOST_PFNS),
    metavar="N",
    help="Size of the large cases, in items.",
)
@click.option(
    "--repeats",
    type=click.IntRange(1, _MOST_PAIRS),
    metavar="N",
    help=f"Pairs of each comparison; by default {_PAIRS}, fewer on a slow machine.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, _MOST_SEED),
    metavar="N",
    default=1,
    help="Of the order of the runs.",
)
@click.option(
    "--cpu", "features", multiple=True, metavar="FEATURE=0|1", help="Switch a CPU feature."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for samples.jsonl and bench.json; by default one in the cache.",
)
@params.json_file
@click.option("--cover", is_flag=True, help="End with a table of 72 columns, for a cover letter.")
@click.option(
    "--interleave",
    is_flag=True,
    help="Measure several speed-ups, by default all, in turns within one session.",
)
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the report's page of this session to this file.",
)
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    expose_value=False,
    is_eager=True,
    callback=_refuse_baseline,
    help="Refused: says why no stored number is compared with.",
)
@params.jobs
@params.install
@output_options
def command(
    console: Console,
    speedups: tuple[str, ...],
    kernel: str | None,
    tree: Path | None,
    options: tuple[str, ...],
    cases: tuple[str, ...],
    list_only: bool,
    quick: bool,
    pfns: int | None,
    repeats: int | None,
    seed: int,
    features: tuple[str, ...],
    output: Path | None,
    json_file: Path | None,
    cover: bool,
    interleave: bool,
    html: Path | None,
    jobs: int | None,
    install: bool,
) -> int:
    """Measure SPEEDUP, by default zone_device, on this machine against the real kernel.

    The kernel's own objects, as they are and with the speed-up in them, are linked into one
    process and timed against each other, after all have been seen to leave the same bytes.
    """
    _check_options(options, features)
    _check_places(output, json_file, html)
    if interleave and (json_file is not None or list_only):
        raise click.UsageError("--json and --list are for one speed-up, --interleave for several.")
    if not interleave and len(speedups) > 1:
        raise click.UsageError(f"{speedups[1]}: several speed-ups need --interleave.")
    cache = Cache.open()
    if not interleave:
        manifest.load_with_needs(checkout.SPEEDUPS, *(speedups or (DEFAULT_SPEEDUP,)))
    doctor.ensure(console.say, install=install)
    session = Session(console, cache, tree, options, jobs or os.cpu_count() or 1)
    source = kernels.resolve(cache, kernel, tree, console.say)
    request = hosted.Request(
        cases=cases,
        items=pfns,
        pairs=repeats or (_QUICK_PAIRS if quick else _PAIRS),
        seed=seed,
        budget_s=None if repeats else _QUICK_BUDGET_S if quick else _BUDGET_S,
        features=features,
    )
    names = speedups or (session.all_of(source) if interleave else (DEFAULT_SPEEDUP,))
    part = _QUICK_PART if quick and pfns is None else 1
    prepared = [session.prepare(source, name, request, part) for name in names]
    if list_only:
        there = prepared[0].cases
        name = 2 + max(len(case.case) for case in there)
        regime = 2 + max(len(case.regime) for case in there)
        for case in there:
            console.result(f"{case.case:{name}}{case.regime:{regime}}{case.items} {case.item}s")
        return ExitCode.GOOD

    places = {one.speedup: output / one.speedup for one in prepared} if output else {}
    if output and not interleave:
        places = {names[0]: output}
    made = session.measure(prepared, places, interleave=interleave)
    results = [record.read(folder / stored.RECORD) for folder in made]
    if json_file is not None:
        record.write(json_file, results[0])
    _print(console, made, results, cover=cover)
    if html is not None:
        atomic_write(html, report_page.render(stored.load(made), checkout.SPEEDUPS))
        console.say(f"the page is {html}")
    for folder in made:
        console.say(f"samples.jsonl and bench.json are in {folder}")
    codes = {exit_code(result) for result in results}
    order = (ExitCode.FAILED, ExitCode.INCONCLUSIVE, ExitCode.GOOD)
    return next(code for code in order if code in codes)


def _print(
    console: Console, made: list[Path], results: list[record.Record], *, cover: bool
) -> None:
    if cover:
        console.out.file.write("\n".join(text.run(result) for result in results))
    elif len(results) == 1:
        text.print_run(results[0], console.out)
    else:
        console.out.file.write(text.report(stored.load(made), checkout.SPEEDUPS))


def _check_options(options: tuple[str, ...], features: tuple[str, ...]) -> None:
    for option in options:
        if not re.fullmatch(r"CONFIG_[A-Z0-9_]+=\S+", option):
            raise MmbatchError(
                f"read -K {option}", "it is not CONFIG_NAME=value", "write it so", ExitCode.USAGE
            )
    for feature in features:
        if not re.fullmatch(r"[a-z0-9_]+=[01]", feature):
            raise MmbatchError(
                f"read --cpu {feature}", "it is not FEATURE=0 or 1", "write it so", ExitCode.USAGE
            )


def _check_places(output: Path | None, json_file: Path | None, html: Path | None) -> None:
    """Raise MmbatchError if the results could not be written: now, not after the measuring."""
    places = []
    if output is not None:
        folders = (output, *output.absolute().parents)
        places.append(("-o", next(folder for folder in folders if folder.exists())))
    for option, file in (("--json", json_file), ("--html", html)):
        if file is not None and not is_special(file):
            places.append((option, file.parent))
    for option, place in places:
        require_place(place, option)
