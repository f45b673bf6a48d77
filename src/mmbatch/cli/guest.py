# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch guest` and `mmbatch live test`: kernels that boot under QEMU.

What boots is imported late: `live` needs its commands without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mmbatch.cli import options, usage
from mmbatch.cli.options import Names, flag, value, values
from mmbatch.cli.usage import Misuse
from mmbatch.core.errors import ExitCode, suggestion
from mmbatch.kernel import apt, sources

if TYPE_CHECKING:
    from mmbatch.guest.boots import Prepare, Spliced
    from mmbatch.guest.plan import Boot


@click.group("guest", cls=usage.Group)
def command() -> None:
    """Boot real kernels with the speed-ups under QEMU."""


@dataclass(frozen=True)
class Chosen:
    """The boots that the user chose, by name, and what is changed of them."""

    names: Names
    size: int | None
    variables: Names

    def boots(self, *, live: bool) -> list[Boot]:
        """Return them, of those of livepatches or of the others."""
        from mmbatch.guest import plan

        every = [boot for boot in plan.boots() if (boot.kernel == plan.STOCK) is live]
        found = plan.choose(every, self.names)
        if self.size:
            found = [boot.with_size(self.size >> 30) for boot in found]
        settings = dict(value.split("=", 1) for value in self.variables)
        return [replace(boot, settings={**boot.settings, **settings}) for boot in found]


@dataclass(frozen=True)
class Where:
    """The kernel that is spliced and booted, and how it is built."""

    kernel: str | None
    tree: Path | None
    settings: Names
    jobs: int
    install: bool

    def spliced(self, chosen: Sequence[Boot]) -> Spliced:
        """Return it for some boots."""
        from mmbatch.guest.boots import Spliced

        _ensure(chosen, install=self.install)
        return Spliced(sources.get(self.kernel, self.tree), self.settings, self.jobs)


_chosen = options.packed(
    Chosen,
    names=values("--only BOOT", "Boot only this one, such as x86_64-kasan or 'x86_64-debug*'"),
    size=value("--size SIZE", "Give the NVDIMM, or what is plugged, this size", options.read_size),
    variables=values(
        "--set NAME=VALUE",
        "Set a variable of the scripts, such as REBINDS=100 or ROUNDS=200",
        options.like(r"\w+=.*", "NAME=VALUE", "REBINDS=100"),
    ),
)
_where = options.packed(
    Where,
    kernel=options.kernel,
    tree=options.tree,
    settings=options.settings,
    jobs=options.jobs,
    install=options.install,
)


def _ensure(chosen: Sequence[Boot], *, install: bool) -> None:
    from mmbatch.cli import doctor

    doctor.ensure(install=install)
    programs = {name for boot in chosen for name in apt.GUEST_PROGRAMS[boot.arch]}
    apt.require("boot guests", sorted(programs), may_install=install)


def _run(prepare: Prepare, chosen: Sequence[Boot], write: options.WriteOutcomes) -> ExitCode:
    from mmbatch.guest import boots

    outcomes = boots.run_all(prepare, chosen)
    write(outcomes)
    failed = any(outcome.problem is not None for outcome in outcomes)
    return ExitCode.FAILED if failed else ExitCode.GOOD


@options.verb("test", command)
def test(
    chosen: Chosen = _chosen,
    write_outcomes: options.WriteOutcomes = options.outcome_files,
    where: Where = _where,
) -> int:
    """Boot kernels; run KUnit suites and the speed-ups' own tests."""
    boots = chosen.boots(live=False)
    return _run(where.spliced(boots).prepare, boots, write_outcomes)


@options.verb("test")
def live_test(
    once: bool = flag("--once", "Boot once only: load, use, refuse and unload"),
    chosen: Chosen = _chosen,
    write_outcomes: options.WriteOutcomes = options.outcome_files,
    release: str | None = options.release,
    series: str | None = options.series,
    install: bool = options.install,
) -> int:
    """Boot Debian's kernel under QEMU and patch it while it works.

    By default the newest 6.12 of Debian 12's backports. Nothing is loaded into the kernel that
    runs here.
    """
    from mmbatch.guest.stock import Livepatched, choose

    boots = (replace(chosen, names=("live-once",)) if once else chosen).boots(live=True)
    _ensure(boots, install=install)
    return _run(Livepatched(choose(release, series)).prepare, boots, write_outcomes)


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
    rounds: int = options.number(
        "--rounds N", "Count each method N times", 6, default=6, show_default=True
    ),
    twice: bool = flag("--twice", "Boot twice and check that both count the same"),
    json_file: Path | None = options.json_file,
    where: Where = _where,
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
    boots = Chosen((title,), None, (f"ROUNDS={rounds}",)).boots(live=False)
    return counts.run(where.spliced(boots), speedup, boots[0], json_file, twice=twice)
