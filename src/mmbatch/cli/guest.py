# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch guest` and `mmbatch live test`: kernels that boot under QEMU.

What boots is imported late: `live` needs its commands without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mmbatch.cli import options, usage
from mmbatch.cli.options import Names, flag, value, values
from mmbatch.cli.usage import Misuse
from mmbatch.core.errors import ExitCode, suggestion
from mmbatch.kernel import apt, sources

if TYPE_CHECKING:
    from mmbatch.guest.boots import Prepare
    from mmbatch.guest.plan import Boot


@click.group("guest", cls=usage.Group)
def command() -> None:
    """Boot real kernels with the speed-ups under QEMU."""


_names = values("--only BOOT", "Boot only this one, such as x86_64-kasan or 'x86_64-debug*'")
_size = value("--size SIZE", "Give the NVDIMM, or what is plugged, this size", type=options.size)
_variables = values(
    "--set NAME=VALUE",
    "Set a variable of the scripts, such as REBINDS=100 or ROUNDS=200",
    options.like(r"\w+=.*", "NAME=VALUE", "REBINDS=100"),
)


def _boots(
    names: Names, size: int | None, variables: Names, *, live: bool, install: bool
) -> list[Boot]:
    """Return the boots that the user chose, of livepatches or of the others, with what they need.

    They have another size of the memory that is added, and other variables, if some are given.
    """
    from mmbatch.cli import doctor
    from mmbatch.guest import plan

    every = [boot for boot in plan.boots() if (boot.kernel == plan.STOCK) is live]
    found = plan.choose(every, names)
    if size:
        found = [boot.with_size(size >> 30) for boot in found]
    settings = dict(variable.split("=", 1) for variable in variables)
    doctor.ensure(install=install)
    programs = {name for boot in found for name in apt.GUEST_PROGRAMS[boot.arch]}
    apt.require("boot guests", sorted(programs), may_install=install)
    return [replace(boot, settings={**boot.settings, **settings}) for boot in found]


def _run(
    prepare: Prepare, chosen: Sequence[Boot], ktap: Path | None, junit: Path | None
) -> ExitCode:
    from mmbatch.guest import boots

    outcomes = boots.run_all(prepare, chosen)
    options.write_outcomes(outcomes, ktap, junit)
    failed = any(outcome.problem is not None for outcome in outcomes)
    return ExitCode.FAILED if failed else ExitCode.GOOD


@options.verb("test", command)
def test(
    names: Names = _names,
    size: int | None = _size,
    variables: Names = _variables,
    ktap: Path | None = options.ktap,
    junit: Path | None = options.junit,
    kernel: str | None = options.kernel,
    tree: Path | None = options.tree,
    settings: Names = options.settings,
    jobs: int = options.jobs,
    install: bool = options.install,
) -> int:
    """Boot kernels; run KUnit suites and the speed-ups' own tests."""
    from mmbatch.guest.boots import Spliced

    boots = _boots(names, size, variables, live=False, install=install)
    setup = Spliced(sources.get(kernel, tree), settings, jobs)
    return _run(setup.prepare, boots, ktap, junit)


@options.verb("test")
def live_test(
    names: Names = _names,
    size: int | None = _size,
    variables: Names = _variables,
    ktap: Path | None = options.ktap,
    junit: Path | None = options.junit,
    kernel: str | None = options.live_kernel,
    install: bool = options.install,
) -> int:
    """Boot Debian's kernel under QEMU and patch it while it works.

    By default the newest 6.12 of Debian 12's backports. Nothing is loaded into the kernel that
    runs here.
    """
    from mmbatch.guest.stock import Livepatched, choose

    boots = _boots(names, size, variables, live=True, install=install)
    return _run(Livepatched(choose(kernel)).prepare, boots, ktap, junit)


@options.verb("bench", command)
def bench(
    speedup: str = options.argument(),
    arch: str = value(
        "--arch ARCH",
        "Count on this architecture",
        type=click.Choice(("x86_64", "arm64")),
        default="x86_64",
        show_default=True,
    ),
    twice: bool = flag("--twice", "Boot twice and check that both count the same"),
    json_file: Path | None = options.json_file,
    kernel: str | None = options.kernel,
    tree: Path | None = options.tree,
    settings: Names = options.settings,
    jobs: int = options.jobs,
    install: bool = options.install,
) -> int:
    """Count instructions in a guest, base against patched.

    That takes one boot, which is the same every time.
    """
    from mmbatch.guest import counts, plan
    from mmbatch.guest.boots import Spliced

    counted = {name: each.count for name, each in plan.plans().items() if each.count}
    if speedup not in counted:
        hint = suggestion(speedup, list(counted), "speed-ups")
        raise Misuse(f"cannot count instructions of '{speedup}': nothing is counted for it", hint)
    names = (f"{arch}-{counted[speedup].boot}",)
    (boot,) = _boots(names, None, ("ROUNDS=6",), live=False, install=install)
    setup = Spliced(sources.get(kernel, tree), settings, jobs)
    return counts.run(setup, speedup, boot, json_file, twice=twice)
