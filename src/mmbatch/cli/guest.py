# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch guest` and `mmbatch live test`: kernels that boot under QEMU.

What boots is imported late: `live` needs its commands without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mmbatch.cli import options, usage
from mmbatch.cli.options import Names
from mmbatch.cli.usage import Misuse
from mmbatch.core.errors import ExitCode, suggestion
from mmbatch.kernel import sources

if TYPE_CHECKING:
    from mmbatch.guest.boots import Setup, Spliced
    from mmbatch.guest.plan import Boot


@click.group("guest", cls=usage.Group)
def command() -> None:
    """Boot real kernels with the speed-ups under QEMU."""


_boot_options = options.joined(
    options.repeated(
        "--only", "names", "BOOT", "Boot only this one, such as x86_64-kasan or 'x86_64-debug*'"
    ),
    click.option(
        "--size",
        metavar="SIZE",
        callback=options.read_size,
        help="Give the NVDIMM, or what is plugged, this size",
    ),
    options.repeated(
        "--set",
        "variables",
        "NAME=VALUE",
        "Set a variable of the scripts, such as REBINDS=100 or ROUNDS=200",
        options.like(r"\w+=.*", "NAME=VALUE", "REBINDS=100"),
    ),
    options.outcome_files,
)
_kernel_options = options.joined(
    options.kernel, options.tree, options.config, options.jobs, options.install
)


def _chosen(
    names: Names, size: int | None = None, variables: Names = (), *, live: bool
) -> list[Boot]:
    """Return the boots that the user chose, of those of livepatches or of the others."""
    from mmbatch.guest import plan

    every = [boot for boot in plan.boots() if (boot.kernel == plan.STOCK) is live]
    sized = [boot.with_size(size >> 30) if size else boot for boot in plan.choose(every, names)]
    settings = dict(value.split("=", 1) for value in variables)
    return [replace(boot, settings={**boot.settings, **settings}) for boot in sized]


def _ensure(chosen: Sequence[Boot], *, install: bool) -> None:
    from mmbatch.cli import doctor
    from mmbatch.kernel import apt

    doctor.ensure(install=install)
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


@options.verb("test", _boot_options, _kernel_options, group=command)
def test(
    names: Names,
    size: int | None,
    variables: Names,
    write_outcomes: options.WriteOutcomes,
    **where: Any,
) -> int:
    """Boot kernels; run KUnit suites and the speed-ups' own tests."""
    chosen = _chosen(names, size, variables, live=False)
    return _run(_spliced(chosen, **where), chosen, write_outcomes)


@options.verb(
    "test",
    click.option("--once", is_flag=True, help="Boot once only: load, use, refuse and unload"),
    _boot_options,
    options.stock_kernel,
    options.install,
)
def live_test(
    names: Names,
    size: int | None,
    variables: Names,
    write_outcomes: options.WriteOutcomes,
    release: str | None,
    series: str | None,
    once: bool,
    install: bool,
) -> int:
    """Boot Debian's kernel under QEMU and patch it while it works.

    By default the newest 6.12 of Debian 12's backports. Nothing is loaded into the kernel that
    runs here.
    """
    from mmbatch.guest.stock import Livepatched, choose

    chosen = _chosen(("live-once",) if once else names, size, variables, live=True)
    _ensure(chosen, install=install)
    return _run(Livepatched.of(choose(release, series)), chosen, write_outcomes)


@options.verb(
    "bench",
    click.argument("speedup"),
    click.option(
        "--arch",
        type=click.Choice(("x86_64", "arm64")),
        default="x86_64",
        show_default=True,
        help="Count on this architecture",
    ),
    options.number("--rounds", 6, "Count each method N times", at_least=6),
    click.option("--twice", is_flag=True, help="Boot twice and check that both count the same"),
    options.json_file,
    _kernel_options,
    group=command,
)
def bench(
    speedup: str, arch: str, rounds: int, twice: bool, json_file: Path | None, **where: Any
) -> int:
    """Count instructions in a guest, base against patched.

    That takes one boot, which is the same every time.
    """
    from mmbatch.guest import counts, plan

    counted = {name: each.count for name, each in plan.plans().items() if each.count}
    if speedup not in counted:
        raise Misuse(
            f"cannot count instructions of '{speedup}': nothing is counted for it",
            suggestion(speedup, list(counted), "speed-ups"),
        )
    title = f"{arch}-{counted[speedup].boot}"
    chosen = _chosen((title,), variables=(f"ROUNDS={rounds}",), live=False)
    return counts.run(_spliced(chosen, **where), speedup, chosen[0], json_file, twice=twice)
