# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch live`: the speed-ups in a distribution's kernel, while it runs."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from mmbatch.cli import answers, live_install, live_plan, live_state, options, usage
from mmbatch.core.cache import Cache
from mmbatch.core.console import Console, output_options
from mmbatch.core.errors import ExitCode, MmbatchError, suggestion
from mmbatch.debian import packages
from mmbatch.guest import suites
from mmbatch.live import build, dkms, guest, guests, kernel, load, manifest
from mmbatch.live.build import Module
from mmbatch.live.load import Kernel
from mmbatch.live.manifest import LiveManifest
from mmbatch.splice.manifest import ALL


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


def _build(
    console: Console,
    cache: Cache,
    speedups: tuple[str, ...],
    release: str | None,
    series: str | None,
    until: str,
) -> list[Module]:
    """Return the modules of some speed-ups, by default of all, for one kernel."""
    lives = manifest.load_all(speedups, until=until)
    chosen = kernel.choose(cache, release, series, console.say)
    return build.build_all(cache, lives, chosen, console.say)


@command.command(
    "build", short_help="Build livepatch modules for the running kernel or another one"
)
@options.live_speedups
@_kernel_options
@options.until(ALL)
@options.json_file
@output_options
def run_build(
    console: Console,
    /,
    speedups: tuple[str, ...],
    release: str | None,
    series: str | None,
    until: str,
    json_file: Path | None,
) -> int:
    """Build livepatch modules, for the kernel that runs here or for another one.

    The kernel's headers are those that are installed, or Debian's packages of them, unpacked
    into the cache.
    """
    options.require_one(until, speedups)
    options.require_writable(("--json", json_file))
    modules = _build(console, Cache.open(), speedups, release, series, until)
    for module in modules:
        console.result(str(module.path))
    built = [answers.LiveModule(m.speedup, m.name, str(m.path), m.release) for m in modules]
    options.write_answer(json_file, "live build", answers.LiveBuild(built))
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
@options.until(ALL)
@options.limit
@options.json_file
@output_options
def run_load(
    console: Console,
    /,
    speedups: tuple[str, ...],
    parameters: tuple[str, ...],
    file: Path | None,
    until: str,
    limit_s: int,
    json_file: Path | None,
) -> int:
    """Build and load modules into the kernel that runs here, and wait until they are in use."""
    if file is not None and len(speedups) != 1:
        raise usage.Misuse("--module is the module of one speed-up", "name the speed-up")
    if file is not None and until != ALL:
        raise usage.Misuse("--module and --until exclude each other", "leave out one of them")
    if file is not None and not file.exists():
        raise usage.Misuse(f"there is no {file}", "give --module a file that is there")
    options.require_one(until, speedups)
    options.require_writable(("--json", json_file))
    lives = manifest.load_all(speedups, "load", until)
    _require_taken(parameters, [live.speedup for live in lives])
    running = Kernel(kernel.running())
    for live in lives:
        own = [setting for setting in parameters if setting.startswith(f"{live.speedup}.")]
        if running.patch(live.module).exists():
            _require_all_steps(live)
            if file is not None:
                load.require_same(live, file, running)
            load.set_parameters(live, own, running)
            change = f"; it has {' and '.join(own)} now" if own else ""
            console.result(f"{live.module} is loaded already{change}")
            continue
        path = file or _build(console, Cache.open(), (live.speedup,), None, None, until)[0].path
        load.require_loadable(live, path, load.release_of(path), running)
        load.require_parameters(path, own)
        console.say(f"loading {live.module}")
        load.load(live, path, own, running, limit_s)
        live_state.show_functions(console, live_state.functions([live], running))
    live_state.write(json_file, "live load", lives, running)
    return ExitCode.GOOD


@command.command("status", short_help="Show what runs for each function that a speed-up replaces")
@options.live_speedups
@options.sysfs
@options.json_file
@output_options
def run_status(
    console: Console, /, speedups: tuple[str, ...], sysfs: Path, json_file: Path | None
) -> int:
    """Show what runs now for each function that a speed-up replaces.

    For speed-ups that are loaded, also how many calls and pages they handled, how many calls they
    left to the kernel and why, their method, and whether their proof before use passed.
    """
    options.require_writable(("--json", json_file))
    running = Kernel(kernel.running(), sysfs)
    lives = manifest.load_all(speedups, "show the state of")
    live_state.show_functions(console, live_state.functions(lives, running))
    states = live_state.speedups(lives, running)
    live_state.show_loaded(console, states)
    live_state.show_support(console, running.release, states)
    live_state.write(json_file, "live status", lives, running)
    return ExitCode.GOOD


command.add_command(live_plan.run_plan)
command.add_command(live_install.run_install)
command.add_command(live_install.run_uninstall)


@command.command(
    "unload", short_help="Give the kernel its own functions back and remove the modules"
)
@options.live_speedups
@options.limit
@options.json_file
@output_options
def run_unload(
    console: Console, /, speedups: tuple[str, ...], limit_s: int, json_file: Path | None
) -> int:
    """Give the kernel its own functions back, and remove the modules."""
    options.require_writable(("--json", json_file))
    running = Kernel(kernel.running())
    lives = manifest.load_all(speedups, "unload")
    for live in lives:
        if not load.unload(live.module, running, limit_s):
            console.result(f"{live.module} is not loaded")
            continue
        live_state.show_functions(console, live_state.functions([live], running))
    live_state.write(json_file, "live unload", lives, running)
    return ExitCode.GOOD


@command.command("test", short_help="Boot Debian's kernel under QEMU and patch it while it works")
@_kernel_options
@click.option(
    "--size", default="4G", show_default=True, metavar="SIZE", help="Give the NVDIMM this size"
)
@click.option(
    "--plug",
    metavar="SIZE",
    help="Plug SIZE of memory instead, in three ways, and count instructions",
)
@options.number("--rounds", 20, "Load and unload N times")
@options.number("--samples", 5, "Count each side N times")
@click.option("--once", is_flag=True, help="Boot once only: load, use and unload each speed-up")
@click.option(
    "--plan",
    "planned",
    is_flag=True,
    help="Boot once only: compare `live plan` with instructions counted, by default on 7.3",
)
@options.install
@options.json_file
@output_options
def run_test(
    console: Console,
    /,
    release: str | None,
    series: str | None,
    size: str,
    plug: str | None,
    rounds: int,
    samples: int,
    once: bool,
    planned: bool,
    install: bool,
    json_file: Path | None,
) -> int:
    """Boot Debian's kernel as it is, under QEMU, and patch it there while it works.

    By default the newest 6.12 of Debian 12's backports. Nothing is loaded into the kernel that
    runs here.
    """
    options.require_writable(("--json", json_file))
    cache = Cache.open()
    packages.ensure_guests(
        ("x86_64",), console.say, may_install=install, log=cache.logs / "apt-install.log"
    )
    if release is None and series is None:
        default = guest.newest_release if planned else guest.default_release
        release = default(cache, console.say)
    chosen = kernel.choose(cache, release, series, console.say)
    plan = guests.Plan(suites.size_gib(size), rounds, samples)
    if planned:
        found = guest.run_planned(console, cache, chosen)
    elif once:
        found = guest.run_once(console, cache, chosen)
    elif plug is not None:
        found = guest.run_plugs(console, cache, chosen, suites.size_gib(plug))
    else:
        found = guest.run_all(console, cache, chosen, plan)
    answer = answers.LiveTest(
        found.kernel, list(found.speedups), found.good, found.passed, found.rounds
    )
    options.write_answer(json_file, "live test", answer)
    return ExitCode.GOOD if found.good else ExitCode.FAILED


@command.command("dkms", short_help="Make Debian packages that build the modules through DKMS")
@options.live_speedups
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=".",
    help="Write the packages into this directory",
)
@options.json_file
@output_options
def run_dkms(
    console: Console, /, speedups: tuple[str, ...], output: Path, json_file: Path | None
) -> int:
    """Make Debian packages that build the modules for each kernel, through DKMS."""
    options.require_writable(("--json", json_file))
    packages_made: list[str] = []
    for live in manifest.load_all(speedups, "package"):
        packages_made.append(str(dkms.package(Cache.open(), live.speedup, output)))
        console.result(packages_made[-1])
    options.write_answer(json_file, "live dkms", answers.LivePackages(packages_made))
    return ExitCode.GOOD


def _require_all_steps(live: LiveManifest) -> None:
    """Raise MmbatchError if the user named a step, and the speed-up is loaded already."""
    if live.until != ALL:
        raise MmbatchError(
            f"load {live.module} until '{live.until}'",
            "it is loaded already, and nothing tells with which steps",
            f"unload it first: mmbatch live unload {live.speedup}",
        )


def _require_taken(parameters: tuple[str, ...], speedups: list[str]) -> None:
    """Raise click.UsageError if a parameter belongs to none of some speed-ups."""
    for setting in parameters:
        match = re.fullmatch(r"(\w+)\.\w+=.*", setting)
        if match is None:
            raise usage.Misuse(
                f"--set {setting} has no speed-up or no value",
                "write it as SPEEDUP.PARAMETER=VALUE",
            )
        if match[1] not in speedups:
            raise usage.Misuse(
                f"--set {setting}: '{match[1]}' is not among what is loaded",
                suggestion(match[1], speedups, "speed-ups"),
            )
