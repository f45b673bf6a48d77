# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch live`: the speed-ups in a distribution's kernel, while it runs."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from mmbatch.cli import answers, options, usage
from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.console import Console, output_options
from mmbatch.core.errors import ExitCode, suggestion
from mmbatch.debian import packages
from mmbatch.guest import suites
from mmbatch.live import build, dkms, guest, kernel, load, manifest
from mmbatch.live.build import Module
from mmbatch.live.load import Kernel
from mmbatch.live.manifest import LiveManifest


@click.group("live", cls=usage.Group)
def command() -> None:
    """Put the speed-ups into a distribution's kernel as livepatches, while it runs."""


def _kernel_options(function: Callable[..., int]) -> Callable[..., int]:
    @click.option(
        "--kernel-release",
        "release",
        metavar="R",
        help="Use the kernel with this release, as printed by uname -r, or cloud-amd64",
    )
    @click.option(
        "--kernel", "series", metavar="SERIES", help="Use Debian's newest kernel of this series"
    )
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> int:
        return function(*args, **kwargs)

    return wrapped


_limit = click.option(
    "--limit",
    "limit_s",
    type=click.IntRange(1, 86400),
    metavar="SECONDS",
    default=60,
    show_default=True,
    help="Wait no longer than this for tasks to switch",
)


def _build(
    console: Console,
    cache: Cache,
    speedups: tuple[str, ...],
    release: str | None,
    series: str | None,
) -> list[Module]:
    """Return the modules of some speed-ups, by default of all, for one kernel."""
    lives = manifest.load_all(speedups)
    chosen = kernel.choose(cache, release, series, console.say)
    return build.build_all(cache, lives, chosen, console.say)


@command.command(
    "build", short_help="Build livepatch modules for the running kernel or another one"
)
@options.live_speedups
@_kernel_options
@output_options
def run_build(
    console: Console, /, speedups: tuple[str, ...], release: str | None, series: str | None
) -> int:
    """Build livepatch modules, for the kernel that runs here or for another one.

    The kernel's headers are those that are installed, or Debian's packages of them, unpacked
    into the cache.
    """
    for module in _build(console, Cache.open(), speedups, release, series):
        console.result(str(module.path))
    return ExitCode.GOOD


@command.command("load", short_help="Load modules into the running kernel, built where necessary")
@options.live_speedups
@click.option(
    "--set",
    "parameters",
    multiple=True,
    metavar="SPEEDUP.PARAMETER=VALUE",
    help="Set a parameter of a module",
)
@click.option(
    "--module",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Load this file, such as one that you have signed, instead of building one",
)
@_limit
@output_options
def run_load(
    console: Console,
    /,
    speedups: tuple[str, ...],
    parameters: tuple[str, ...],
    file: Path | None,
    limit_s: int,
) -> int:
    """Build and load modules into the kernel that runs here, and wait until they are in use."""
    if file is not None and len(speedups) != 1:
        raise usage.Misuse("--module is the module of one speed-up", "name the speed-up")
    lives = manifest.load_all(speedups, "load")
    _require_taken(parameters, [live.speedup for live in lives])
    running = Kernel(kernel.running())
    terms = manifest.load_terms(paths.LIVE / "live.toml")
    for live in lives:
        own = [one for one in parameters if one.startswith(f"{live.speedup}.")]
        if running.patch(live.module).exists():
            load.set_parameters(live, own, running)
            said = f"; it has {' and '.join(own)} now" if own else ""
            console.result(f"{live.module} is loaded already{said}")
            continue
        path = file or _build(console, Cache.open(), (live.speedup,), None, None)[0].path
        load.require_loadable(live, terms, path, load.release_of(path), running)
        load.require_parameters(path, own)
        console.say(f"loading {live.module}")
        load.load(live, path, own, running, limit_s)
        _tell(console, [live], running)
    return ExitCode.GOOD


@command.command("status", short_help="Show what runs for each function that a speed-up replaces")
@options.live_speedups
@options.json_file
@output_options
def run_status(console: Console, /, speedups: tuple[str, ...], json_file: Path | None) -> int:
    """Show what runs now for each function that a speed-up replaces."""
    options.require_writable(("--json", json_file))
    running = Kernel(kernel.running())
    functions = _tell(console, manifest.load_all(speedups, "show the state of"), running)
    answer = answers.LiveStatus(kernel.running(), functions)
    options.write_answer(json_file, "live status", answer)
    return ExitCode.GOOD


@command.command(
    "unload", short_help="Give the kernel its own functions back and remove the modules"
)
@options.live_speedups
@_limit
@output_options
def run_unload(console: Console, /, speedups: tuple[str, ...], limit_s: int) -> int:
    """Give the kernel its own functions back, and remove the modules."""
    running = Kernel(kernel.running())
    for live in manifest.load_all(speedups, "unload"):
        if not load.unload(live.module, running, limit_s):
            console.result(f"{live.module} is not loaded")
            continue
        _tell(console, [live], running)
    return ExitCode.GOOD


@command.command("test", short_help="Boot Debian's kernel under QEMU and patch it while it works")
@_kernel_options
@click.option(
    "--size", default="4G", show_default=True, metavar="SIZE", help="Give the NVDIMM this size"
)
@options.number("--rounds", 20, "Load and unload so often")
@options.number("--samples", 5, "Count each side so often")
@options.install
@output_options
def run_test(
    console: Console,
    /,
    release: str | None,
    series: str | None,
    size: str,
    rounds: int,
    samples: int,
    install: bool,
) -> int:
    """Boot Debian's kernel as it is, under QEMU, and patch it there while it works.

    By default the newest 6.12 of Debian 12's backports. Nothing is loaded into the kernel that
    runs here.
    """
    cache = Cache.open()
    packages.ensure_guests(
        ("x86_64",), console.say, may_install=install, log=cache.logs / "apt-install.log"
    )
    if release is None and series is None:
        release = guest.default_release(cache, console.say)
    chosen = kernel.choose(cache, release, series, console.say)
    plan = guest.Plan(suites.size_gib(size), rounds, samples)
    good = guest.run_all(console, cache, chosen, plan)
    return ExitCode.GOOD if good else ExitCode.FAILED


@command.command("dkms", short_help="Make Debian packages that build the modules through DKMS")
@options.live_speedups
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=".",
    help="Write the packages into this directory",
)
@output_options
def run_dkms(console: Console, /, speedups: tuple[str, ...], output: Path) -> int:
    """Make Debian packages that build the modules for each kernel, through DKMS."""
    for live in manifest.load_all(speedups, "package"):
        console.result(str(dkms.package(Cache.open(), live.speedup, output)))
    return ExitCode.GOOD


def _require_taken(parameters: tuple[str, ...], speedups: list[str]) -> None:
    """Raise click.UsageError if a parameter belongs to none of some speed-ups."""
    for one in parameters:
        match = re.fullmatch(r"(\w+)\.\w+=.*", one)
        if match is None:
            raise usage.Misuse(
                f"--set {one} has no speed-up or no value", "write it as SPEEDUP.PARAMETER=VALUE"
            )
        if match[1] not in speedups:
            raise usage.Misuse(
                f"--set {one}: '{match[1]}' is not among what is loaded",
                suggestion(match[1], speedups, "speed-ups"),
            )


def _tell(
    console: Console, lives: Iterable[LiveManifest], running: Kernel
) -> list[answers.Function]:
    """Print what runs for each function of some speed-ups, and return it."""
    functions = [
        answers.Function(live.speedup, function, runs)
        for live in lives
        for function, runs in load.status(live, running).items()
    ]
    console.table([(f"{one.speedup}:", f"{one.function}():", one.runs) for one in functions])
    return functions
