# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch bench`: base and patched kernel code against each other, here, now."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
import shlex
import tempfile
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import click

from mmbatch import (
    checkout,
    doctor,
    hosted,
    hostedbuild,
    kernels,
    machine,
    manifest,
    record,
    report,
    runs,
    samples,
    splice,
)
from mmbatch.cache import Cache, error_from_os
from mmbatch.console import Console, output_options
from mmbatch.disk import is_special
from mmbatch.errors import ExitCode, MmbatchError

DEFAULT_SPEEDUP = "zone_device"
_PAIRS = 24
_BUDGET_S = 14
_QUICK_PAIRS = 12
_QUICK_PART = 4
_QUICK_BUDGET_S = 3
_MOST_PFNS = 1 << 40  # as many as 52 bits of physical address have
_MOST_PAIRS = 100_000
_MOST_SEED = (1 << 64) - 1


@click.command("bench", short_help="Measure a speed-up on this machine against the real kernel.")
@click.argument("speedup", default=DEFAULT_SPEEDUP)
@click.option("--kernel", metavar="SERIES", help="Kernel series: 7.3, 7.2 or 6.12.")
@click.option(
    "--tree",
    type=click.Path(file_okay=False, path_type=Path),
    help="Measure this kernel tree instead; it is only read.",
)
@click.option("-K", "options", multiple=True, metavar="CONFIG_X=y", help="Change its config.")
@click.option("--case", "cases", multiple=True, metavar="NAME", help="Run this case only.")
@click.option("--list", "list_only", is_flag=True, help="List the cases and end.")
@click.option("--quick", is_flag=True, help="A quarter of the size and half the pairs.")
@click.option(
    "--pfns", type=click.IntRange(1, _MOST_PFNS), help="Size of the large cases, in items."
)
@click.option(
    "--repeats",
    type=click.IntRange(1, _MOST_PAIRS),
    help=f"Pairs of each comparison; by default {_PAIRS}, fewer on a slow machine.",
)
@click.option(
    "--seed", type=click.IntRange(0, _MOST_SEED), default=1, help="Of the order of the runs."
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
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the result's JSON to this file too.",
)
@click.option("-j", "--jobs", type=click.IntRange(min=1), help="Compilers at a time.")
@click.option("--install", is_flag=True, help="Install what is missing, with apt (root or sudo).")
@output_options
def command(
    console: Console,
    speedup: str,
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
    jobs: int | None,
    install: bool,
) -> int:
    """Measure SPEEDUP on this machine against the real kernel.

    The kernel's own objects, as they are and with the speed-up in them, are linked into one
    process and timed against each other, after all have been seen to leave the same bytes.
    """
    started = datetime.now().astimezone().isoformat(timespec="seconds")
    _check_options(options, features)
    _check_places(output, json_file)
    cache = Cache.open()
    manifests = manifest.load_with_needs(checkout.SPEEDUPS, speedup)
    doctor.ensure(console.say, install=install)
    source = kernels.resolve(cache, kernel, tree, console.say)
    spliced = splice.splice(cache, source, manifests, checkout.MACROS, console.say)
    program = hostedbuild.build(
        cache,
        source,
        spliced,
        manifests[-1],
        checkout.HOSTED,
        options,
        jobs or os.cpu_count() or 1,
        console.say,
    )
    request = hosted.Request(
        cases=cases,
        items=pfns,
        pairs=repeats or (_QUICK_PAIRS if quick else _PAIRS),
        seed=seed,
        budget_s=None if repeats else _QUICK_BUDGET_S if quick else _BUDGET_S,
        features=features,
    )
    planned = hosted.plan(program.path, request)
    if quick and pfns is None:
        request = replace(request, items=max(case.items for case in planned) // _QUICK_PART)
        planned = hosted.plan(program.path, request)
    if list_only:
        widest = 2 + max(len(case.case) for case in planned)
        regime = 2 + max(len(case.regime) for case in planned)
        for case in planned:
            console.result(f"{case.case:{widest}}{case.regime:{regime}}{case.items} {case.item}s")
        return ExitCode.GOOD

    here = machine.describe()
    hosted.require_memory(planned, hosted.available_memory(here.available_bytes))
    name = f"{started[:19].replace(':', '')}-{speedup}-{source.release}"
    folder = output or _new_folder(cache.runs, name)
    folder.mkdir(parents=True, exist_ok=True)
    events = hosted.run(program.path, request, planned, console, folder / "hosted.log")
    samples.write_events(folder / "samples.jsonl", events)
    result = report.build_record(
        runs.collect(events),
        here,
        record.KernelInfo(source.release, source.origin, program.config_sha256),
        _reproducer(speedup, source, tree, options, request),
        started,
    )
    for path in (folder / "bench.json", json_file):
        if path is not None:
            record.write(path, result)
    report.print_record(result, console.out)
    console.say(f"samples.jsonl and bench.json are in {folder}")
    return report.exit_code(result)


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


def _check_places(output: Path | None, json_file: Path | None) -> None:
    """Raise MmbatchError if the results could not be written: now, not after the measuring."""
    places = []
    if output is not None:
        folders = (output, *output.absolute().parents)
        places.append(("-o", next(folder for folder in folders if folder.exists())))
    if json_file is not None and not is_special(json_file):
        places.append(("--json", json_file.parent))
    for option, place in places:
        try:
            with tempfile.TemporaryFile(dir=place):
                pass
        except OSError as error:
            reason = error_from_os(OSError(error.errno, error.strerror), "").found
            if error.errno == errno.ENOENT:
                reason = "there is no such folder, or none that takes files"
            raise MmbatchError(
                f"write results into {place}", reason, f"choose another place with {option}"
            ) from error


def _new_folder(parent: Path, name: str) -> Path:
    """Make a folder that nobody else has, though they started in the same second."""
    for more in itertools.chain([""], (f"-{number}" for number in itertools.count(2))):
        with contextlib.suppress(FileExistsError):
            (parent / f"{name}{more}").mkdir(parents=True)
            return parent / f"{name}{more}"
    raise AssertionError


def _reproducer(
    speedup: str,
    source: kernels.Source,
    tree: Path | None,
    options: tuple[str, ...],
    request: hosted.Request,
) -> str:
    """Return the command that repeats a run, with nothing left to defaults that move."""
    words = ["./mmbatch", "bench", speedup]
    words += ["--kernel", source.series] if tree is None else ["--tree", str(tree)]
    words += [word for option in options for word in ("-K", option)]
    words += [word for case in request.cases for word in ("--case", case)]
    words += [word for feature in request.features for word in ("--cpu", feature)]
    if request.items is not None:
        words += ["--pfns", str(request.items)]
    words += ["--repeats", str(request.pairs), "--seed", str(request.seed)]
    return shlex.join(words)
