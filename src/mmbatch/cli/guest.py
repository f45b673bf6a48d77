# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch guest` and `mmbatch live test`: kernels that boot under QEMU.

What boots is imported late: `live` needs its commands without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mmbatch.cli import options, usage
from mmbatch.core.errors import ExitCode, suggestion
from mmbatch.kernel import sources

if TYPE_CHECKING:
    from mmbatch.guest.boots import Setup, Spliced
    from mmbatch.guest.plan import Boot


@click.group("guest", cls=usage.Group)
def command() -> None:
    """Boot real kernels with the speed-ups under QEMU."""


def _variables(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    for value in values:
        if not re.match(r"\w+=", value):
            raise click.BadParameter(f"{value!r} is not NAME=VALUE")
    return dict(value.split("=", 1) for value in values)


def _boot_options(function: Callable[..., int]) -> Callable[..., int]:
    only = "Boot only this one, such as x86_64-kasan or 'x86_64-debug*'"
    size = "Give the NVDIMM, or what is plugged, this size"
    variables = "Set a variable of the scripts, such as REBINDS=100 or ROUNDS=200"
    for option in (
        options.outcome_files,
        click.option(
            *("--set", "variables"),
            multiple=True,
            metavar="NAME=VALUE",
            callback=_variables,
            help=variables,
        ),
        click.option("--size", metavar="SIZE", callback=options.read_size, help=size),
        click.option("--only", "names", multiple=True, metavar="BOOT", help=only),
    ):
        function = option(function)
    return function


def _kernel_options(function: Callable[..., int]) -> Callable[..., int]:
    for option in (
        *(options.install, options.jobs, options.config),
        *(options.tree, options.kernel),
    ):
        function = option(function)
    return function


def _chosen(
    names: Sequence[str], size: int | None, variables: dict[str, str], *, live: bool
) -> list[Boot]:
    """Return the boots that the user chose, of those of livepatches or of the others."""
    from mmbatch.guest import plan

    every = [boot for boot in plan.boots() if (boot.kernel == plan.STOCK) is live]
    sized = [boot.with_size(size >> 30) if size else boot for boot in plan.choose(every, names)]
    return [replace(boot, settings={**boot.settings, **variables}) for boot in sized]


def _ensure(chosen: Sequence[Boot], *, install: bool) -> None:
    from mmbatch.cli import requirements
    from mmbatch.kernel import apt

    requirements.ensure(install=install)
    apt.require_guests(sorted({boot.arch for boot in chosen}), may_install=install)


def _spliced(
    chosen: Sequence[Boot],
    kernel: str | None,
    tree: Path | None,
    settings: tuple[str, ...],
    jobs: int,
    install: bool,
) -> Spliced:
    from mmbatch.guest.boots import Spliced

    _ensure(chosen, install=install)
    return Spliced.of(sources.get(kernel, tree), settings, jobs)


def _run(setup: Setup, chosen: Sequence[Boot], write: options.WriteOutcomes) -> ExitCode:
    from mmbatch.guest import boots

    outcomes = boots.run_all(setup, chosen)
    write(outcomes)
    failed = any(outcome.problem is not None for outcome in outcomes)
    return ExitCode.FAILED if failed else ExitCode.GOOD


@command.command("test", short_help="Boot kernels, run the KUnit suites and use an emulated NVDIMM")
@_boot_options
@_kernel_options
@options.output
def test(
    names: tuple[str, ...],
    size: int | None,
    variables: dict[str, str],
    write_outcomes: options.WriteOutcomes,
    **where: Any,
) -> int:
    """Boot kernels; run the KUnit suites, use an emulated NVDIMM, run the speed-ups' own tests."""
    chosen = _chosen(names, size, variables, live=False)
    return _run(_spliced(chosen, **where), chosen, write_outcomes)


@click.command("test", short_help="Boot Debian's kernel under QEMU and patch it while it works")
@click.option("--once", is_flag=True, help="Boot once only: load, use, refuse and unload")
@_boot_options
@options.stock_kernel
@options.install
@options.output
def live_test(
    names: tuple[str, ...],
    size: int | None,
    variables: dict[str, str],
    write_outcomes: options.WriteOutcomes,
    release: str | None,
    series: str | None,
    once: bool,
    install: bool,
) -> int:
    """Boot Debian's kernel as it is, under QEMU, and patch it there while it works.

    By default the newest 6.12 of Debian 12's backports. Nothing is loaded into the kernel that
    runs here.
    """
    from mmbatch.guest.stock import Livepatched, choose

    chosen = _chosen(("live-once",) if once else names, size, variables, live=True)
    _ensure(chosen, install=install)
    return _run(Livepatched.of(choose(release, series)), chosen, write_outcomes)


@command.command("bench", short_help="Count instructions in a guest, base against patched")
@click.argument("speedup")
@click.option(
    *("--arch", "arch"),
    type=click.Choice(("x86_64", "arm64")),
    default="x86_64",
    show_default=True,
    help="Count on this architecture",
)
@options.number("--rounds", 6, "Count each method N times", at_least=6)
@click.option("--twice", is_flag=True, help="Boot twice and check that both count the same")
@options.json_file
@_kernel_options
@options.output
def bench(
    speedup: str,
    arch: str,
    rounds: int,
    twice: bool,
    json_file: Path | None,
    **where: Any,
) -> int:
    """Count instructions, base against patched, in one boot that is the same every time."""
    from mmbatch.guest import counts, plan

    counted = {name: each.count for name, each in plan.plans().items() if each.count}
    if speedup not in counted:
        raise usage.Misuse(
            f"cannot count instructions of '{speedup}': nothing is counted for it",
            suggestion(speedup, list(counted), "speed-ups"),
        )
    title = f"{arch}-{counted[speedup].boot}"
    chosen = _chosen((title,), None, {"ROUNDS": str(rounds)}, live=False)
    setup = _spliced(chosen, **where)
    return counts.run(setup, speedup, chosen[0], json_file, twice=twice)
