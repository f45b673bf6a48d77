# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch export`: the speed-ups as series of mails, for git am and git send-email."""

from __future__ import annotations

from pathlib import Path

import click

from mmbatch import apply, checkout, coverletter, export, kernels, plan, stored
from mmbatch.cache import Cache, atomic_dir
from mmbatch.console import Console, output_options
from mmbatch.errors import ExitCode, MmbatchError
from mmbatch.export import Letter
from mmbatch.manifest import Manifest
from mmbatch.record import Record


@click.command("export", short_help="Write the speed-ups as series for git am.")
@click.argument("speedups", nargs=-1, metavar="[SPEEDUP]...")
@click.option("--kernel", metavar="SERIES", help="Kernel series: 7.3, 7.2 or 6.12.")
@click.option(
    "--tree",
    type=click.Path(file_okay=False, path_type=Path),
    help="For this kernel tree instead; it is only read.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where the series go, a folder for each; new or empty.",
)
@click.option("--prefix", default="PATCH", help="Of the subjects, as in 'RFC PATCH'.")
@click.option("--reroll", type=click.IntRange(1), metavar="N", help="Version of the series.")
@click.option("-s", "--signoff", "sign_off", is_flag=True, help="Add your Signed-off-by line.")
@click.option(
    "--run",
    "runs",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Show this run in the cover letter; by default the last one of this kernel here.",
)
@output_options
def command(
    console: Console,
    *,
    speedups: tuple[str, ...],
    kernel: str | None,
    tree: Path | None,
    output: Path,
    prefix: str,
    reroll: int | None,
    sign_off: bool,
    runs: tuple[Path, ...],
) -> int:
    """Write SPEEDUPs, by default all that suit the kernel, as series that git am takes.

    Each is a folder with one mail for each step and a cover letter. What a speed-up needs comes
    first in its series. Applied to the kernel they give what apply gives.
    """
    _check_output(output)
    cache = Cache.open()
    source = kernels.resolve(cache, kernel, tree, console.say)
    chosen = plan.choose(checkout.SPEEDUPS, speedups, source.series, source.release)
    wanted = speedups or tuple(manifest.speedup for manifest in chosen)
    measured = _measured(cache, source, runs)
    made: dict[str, list[str]] = {}
    with atomic_dir(output.absolute()) as work:
        for name in wanted:
            manifests = plan.choose(checkout.SPEEDUPS, [name], source.series, source.release)
            series = export.plan_series(cache, _target(source, manifests), console.say)
            text = coverletter.text(manifests, source, measured.get(name))
            letter = Letter(prefix, reroll, sign_off, _subject(manifests), text)
            (work / name).mkdir()
            made[name] = [path.name for path in export.write(cache, series, letter, work / name)]
    for name, mails in made.items():
        console.result(f"{output / name}: {len(mails) - 1} patches and a cover letter")
        for mail in mails:
            console.result(f"  {mail}")
        if name not in measured:
            console.result(f"  not measured yet on {source.release}, and the cover says so")
    console.result(f"To use one: git am --empty=drop {output / wanted[-1]}/*.patch")
    return ExitCode.GOOD


def _target(source: kernels.Source, manifests: list[Manifest]) -> plan.Target:
    return plan.Target(source.path, source.series, source.release, manifests, checkout.MACROS)


def _subject(manifests: list[Manifest]) -> str:
    return f"{apply.branch_name(manifests).removeprefix(apply.PREFIX)}: {manifests[-1].title}"


def _measured(cache: Cache, source: kernels.Source, runs: tuple[Path, ...]) -> dict[str, Record]:
    """Return speed-up to the run that its cover letter shows."""
    given = stored.load(runs)
    for run in given:
        if run.record.kernel.release != source.release:
            raise MmbatchError(
                f"show {run.path} in a cover letter",
                f"it is of Linux {run.record.kernel.release}, and the series of {source.release}",
                "give a run of this kernel",
                ExitCode.USAGE,
            )
    found = stored.load(list(dict.fromkeys(stored.newest(cache.runs, source.release).values())))
    return {name: run.record for run in (*found, *given) for name in run.speedups}


def _check_output(output: Path) -> None:
    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise MmbatchError(
            f"write the series into {output}",
            "it is there and not empty" if output.is_dir() else "it is no folder",
            "name another folder with -o DIR",
            ExitCode.USAGE,
        )
