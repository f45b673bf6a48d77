# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch guest` and `mmbatch live test`: kernels that boot under QEMU."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from mmbatch.cli import options, requirements, usage
from mmbatch.core import cache, log
from mmbatch.core.console import Console, output_options
from mmbatch.core.errors import ExitCode, suggestion
from mmbatch.debian import packages
from mmbatch.guest import boots, counts, plan
from mmbatch.guest.plan import Boot
from mmbatch.guest.stock import Livepatched, default_release
from mmbatch.kernel import sources
from mmbatch.live import kernel as live_kernel

_KERNEL = (options.kernel, options.tree, options.config, options.jobs, options.install)


@click.group("guest", cls=usage.Group)
def command() -> None:
    """Boot real kernels with the speed-ups under QEMU."""


def _variables(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    for value in values:
        if not re.match(r"\w+=", value):
            raise click.BadParameter(f"{value!r} is not NAME=VALUE")
    return dict(value.split("=", 1) for value in values)


_BOOTS = (
    click.option(
        "--only",
        "names",
        multiple=True,
        metavar="BOOT",
        help="Boot only this one, such as x86_64-kasan or 'x86_64-debug*'",
    ),
    click.option(
        "--size",
        metavar="SIZE",
        callback=options.read_size,
        help="Give the NVDIMM, or what is plugged, this size",
    ),
    click.option(
        "--set",
        "variables",
        multiple=True,
        metavar="NAME=VALUE",
        callback=_variables,
        help="Set a variable of the scripts, such as REBINDS=100 or ROUNDS=200",
    ),
    options.outcome_files,
)


def _with(*decorators: options.Decorator) -> options.Decorator:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def _chosen(
    names: Sequence[str], size: int | None, variables: dict[str, str], *, live: bool
) -> list[Boot]:
    """Return the boots that the user chose, of those of livepatches or of the others."""
    every = [boot for boot in plan.boots() if (boot.kernel == plan.STOCK) is live]
    sized = [boot.with_size(size >> 30) if size else boot for boot in plan.choose(every, names)]
    return [replace(boot, settings={**boot.settings, **variables}) for boot in sized]


def _ensure(boots: Sequence[Boot], *, install: bool) -> None:
    install_log = cache.logs() / "apt-install.log"
    requirements.ensure(log.say, install=install, log=install_log)
    arches = sorted({boot.arch for boot in boots})
    packages.ensure_guests(arches, log.say, may_install=install, log=install_log)


def _spliced(
    chosen: Sequence[Boot],
    kernel: str | None,
    tree: Path | None,
    settings: tuple[str, ...],
    jobs: int,
    install: bool,
) -> boots.Spliced:
    _ensure(chosen, install=install)
    source = sources.resolve(cache.opened(), kernel, tree, log.say, log.progress, every_file=True)
    return boots.Spliced.of(source, settings, jobs)


def _run(setup: boots.Setup, chosen: Sequence[Boot], write: options.WriteOutcomes) -> ExitCode:
    outcomes = boots.run_all(setup, chosen)
    write(outcomes)
    failed = any(outcome.problem is not None for outcome in outcomes)
    return ExitCode.FAILED if failed else ExitCode.GOOD


@command.command("test", short_help="Boot kernels, run the KUnit suites and use an emulated NVDIMM")
@_with(*_BOOTS, *_KERNEL)
@output_options
def test(
    _: Console,
    /,
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
@_with(*_BOOTS, options.stock_kernel, options.install)
@output_options
def live_test(
    _: Console,
    /,
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
    chosen = _chosen(("live-once",) if once else names, size, variables, live=True)
    _ensure(chosen, install=install)
    named = release is not None or series is not None
    release = live_kernel.choose(release, series) if named else default_release()
    return _run(Livepatched.of(release), chosen, write_outcomes)


@command.command("bench", short_help="Count instructions in a guest, base against patched")
@click.argument("speedup")
@click.option(
    "--arch",
    type=click.Choice(("x86_64", "arm64")),
    default="x86_64",
    show_default=True,
    help="Count on this architecture",
)
@options.number("--rounds", 6, "Count each method N times", at_least=5)
@click.option("--twice", is_flag=True, help="Boot twice and check that both count the same")
@options.json_file
@_with(*_KERNEL)
@output_options
def bench(
    _: Console,
    /,
    speedup: str,
    arch: str,
    rounds: int,
    twice: bool,
    json_file: Path | None,
    **where: Any,
) -> int:
    """Count instructions, base against patched, in one boot that is the same every time."""
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
