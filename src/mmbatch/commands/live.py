# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch live`: the speed-ups in a distribution's kernel, while it runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from mmbatch import checkout, livebuild, livefit, livekernel, livemanifest
from mmbatch.cache import Cache
from mmbatch.console import Console, output_options
from mmbatch.errors import ExitCode
from mmbatch.livebuild import Module


@click.group("live", short_help="Put the speed-ups into a distribution's running kernel.")
def command() -> None:
    """Put the speed-ups into a distribution's kernel as livepatches, while it runs."""


def _speedups(function: Callable[..., int]) -> Callable[..., int]:
    @click.argument("speedups", nargs=-1, metavar="[SPEEDUP]...")
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> int:
        return function(*args, **kwargs)

    return wrapped


def _kernel_options(function: Callable[..., int]) -> Callable[..., int]:
    @click.option("--kernel-release", "release", metavar="R", help="As uname -r tells it.")
    @click.option("--kernel", "series", metavar="SERIES", help="Debian's newest of it: 6.12.")
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> int:
        return function(*args, **kwargs)

    return wrapped


def _build(
    console: Console,
    cache: Cache,
    speedups: tuple[str, ...],
    release: str | None,
    series: str | None,
) -> list[Module]:
    """Return the modules of some speed-ups, by default of all, for one kernel."""
    rooms = checkout.SPEEDUPS
    lives = [livemanifest.load(rooms, name) for name in speedups or livemanifest.known(rooms)]
    chosen = livekernel.choose(cache, release, series, console.say)
    for live in lives:
        livefit.require_series(live, livekernel.series_of(chosen), chosen)
    headers = livekernel.find(cache, chosen, console.say)
    modules = []
    for live in lives:
        name = f"{live.module}-{headers.release}"
        with cache.lock(name, f"builds {live.module}", console.say):
            place, log = cache.live / name, cache.logs / f"{name}.log"
            modules.append(livebuild.build(live, checkout.LIVE, headers, place, log, console.say))
    return modules


@command.command("build")
@_speedups
@_kernel_options
@output_options
def build(
    console: Console, /, speedups: tuple[str, ...], release: str | None, series: str | None
) -> int:
    """Build livepatch modules, for the kernel that runs here or for another one.

    The kernel's headers are those that are installed, or Debian's packages of them, unpacked
    into the cache.
    """
    for module in _build(console, Cache.open(), speedups, release, series):
        console.result(str(module.path))
    return ExitCode.GOOD
