# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch guest`: real kernels with the speed-ups, booted under QEMU."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from mmbatch.cli import answers, options, requirements, usage
from mmbatch.core.cache import Cache
from mmbatch.core.console import Console, output_options
from mmbatch.core.errors import ExitCode, suggestion
from mmbatch.debian import packages
from mmbatch.guest import boots, counts, plan, suites
from mmbatch.guest.plan import Arch, Count
from mmbatch.kernel import sources
from mmbatch.report import matrix

_ARCHES = click.Choice(("x86_64", "arm64"))
_COUNTED = "4G"
_KINDS = click.Choice(tuple(plan.KINDS))


@click.group("guest", cls=usage.Group)
def command() -> None:
    """Boot real kernels with the speed-ups under QEMU."""


def _kernel_options(function: Callable[..., int]) -> Callable[..., int]:
    @options.kernel
    @options.tree
    @options.config
    @options.jobs
    @options.install
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> int:
        return function(*args, **kwargs)

    return wrapped


def _setup(
    console: Console,
    arches: Iterable[str],
    kernel: str | None,
    tree: Path | None,
    settings: tuple[str, ...],
    jobs: int,
    install: bool,
) -> boots.GuestSetup:
    cache = Cache.open()
    requirements.ensure(console.say, install=install, log=cache.logs / "apt-install.log")
    packages.ensure_guests(
        arches, console.say, may_install=install, log=cache.logs / "apt-install.log"
    )
    source = sources.resolve(cache, kernel, tree, console.say, console.progress, every_file=True)
    manifests = boots.choose_speedups(source)
    return boots.GuestSetup(cache, source, manifests, settings, jobs, console.say)


@command.command("build", short_help="Build a kernel that boots, with the speed-ups")
@click.option(
    "--arch", type=_ARCHES, default="x86_64", show_default=True, help="Build for this architecture"
)
@click.option(
    "--kind",
    type=_KINDS,
    default="plain",
    help="Build with more checks of the kernel's own: debug, kasan or kcsan",
)
@options.json_file
@_kernel_options
@output_options
def build(console: Console, /, arch: str, kind: str, json_file: Path | None, **where: Any) -> int:
    """Build a kernel that boots, once for each state of what it is made from."""
    options.require_writable(("--json", json_file))
    setup = _setup(console, (arch,), **where)
    image = str(setup.kernel(arch, plan.KINDS[kind]).image)
    console.result(image)
    answer = answers.GuestBuild(setup.source.release, arch, kind, image)
    options.write_answer(json_file, "guest build", answer)
    return ExitCode.GOOD


@command.command("test", short_help="Boot kernels, run the KUnit suites and use an emulated NVDIMM")
@click.option("--arch", "arches", type=_ARCHES, multiple=True, help="Boot this architecture only")
@click.option(
    "--kind", "kinds", type=_KINDS, multiple=True, help="Boot this kind of x86-64 kernel only"
)
@click.option(
    "--only",
    "names",
    multiple=True,
    metavar="BOOT",
    help="Boot only this one, such as x86_64-debug-moves",
)
@click.option(
    "--size", default="13G", show_default=True, metavar="SIZE", help="Give the NVDIMM this size"
)
@click.option(
    "--suite",
    "suite_names",
    multiple=True,
    metavar="NAME",
    help="Run only this KUnit suite, and no programs",
)
@options.number("--rebinds", 30, "Bind each driver N times")
@options.seen_file
@options.outcome_files
@_kernel_options
@output_options
def test(
    console: Console,
    /,
    arches: tuple[Arch, ...],
    kinds: tuple[str, ...],
    names: tuple[str, ...],
    suite_names: tuple[str, ...],
    size: str,
    rebinds: int,
    json_file: Path | None,
    write_outcomes: options.WriteOutcomes,
    **where: Any,
) -> int:
    """Boot kernels; run the KUnit suites, use an emulated NVDIMM, run the speed-ups' own tests."""
    if suite_names and (kinds or names or json_file):
        raise click.UsageError("--suite goes with --arch only, of the options that choose boots.")
    chosen = arches or (("x86_64",) if kinds or suite_names else ("x86_64", "arm64"))
    if suite_names:
        stages = suites.suite_stages(chosen, suite_names)
    else:
        stages = suites.stages(chosen, kinds, suites.size_gib(size), rebinds, names)
    if json_file is not None:
        matrix.check_place(json_file)
    setup = _setup(console, sorted({stage.arch for stage in stages}), **where)
    log = matrix.Log()
    ended = suites.run_stages(console, setup, stages, log)
    if json_file is not None:
        log.stages.append(matrix.Stage("guests", ended == ExitCode.GOOD))
        log.write(json_file)
    write_outcomes(log.outcomes)
    return ended


def _counted() -> dict[str, Count]:
    """Return what is counted, by the names of those speed-ups that have something to count."""
    found = plan.load_plans()
    return {name: loaded.count for name, loaded in found.items() if loaded.count is not None}


def _of_counted(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in _counted() if name.startswith(incomplete)]


@command.command("bench", short_help="Count instructions in a guest, base against patched")
@click.argument("speedup", shell_complete=_of_counted)
@click.option(
    "--arch", type=_ARCHES, default="x86_64", show_default=True, help="Count on this architecture"
)
@click.option(
    "--size",
    metavar="SIZE",
    help=f"Give the NVDIMM this size, where one is used, by default {_COUNTED}",
)
@options.number("--rounds", 6, "Count each method N times", at_least=5)
@click.option("--twice", is_flag=True, help="Boot twice and check that both count the same")
@options.json_file
@_kernel_options
@output_options
def bench(
    console: Console,
    /,
    speedup: str,
    arch: str,
    size: str | None,
    rounds: int,
    twice: bool,
    json_file: Path | None,
    **where: Any,
) -> int:
    """Count instructions, base against patched, in one boot that is the same every time."""
    counted = _counted()
    if speedup not in counted:
        raise usage.Misuse(
            f"cannot count instructions of '{speedup}': nothing is counted for it",
            suggestion(speedup, list(counted), "speed-ups"),
        )
    count = counted[speedup]
    if arch not in count.arches:
        raise click.BadParameter(f"{speedup} is counted on {' and '.join(count.arches)} only")
    if not count.script and size is not None:
        raise usage.Misuse(f"{speedup} needs no NVDIMM", "leave out --size")
    gib = suites.size_gib(size or _COUNTED)
    setup = _setup(console, (arch,), **where)
    request = counts.Request(count, arch, gib, rounds, where["tree"], twice)
    return counts.run(console, setup, request, json_file)
