# SPDX-License-Identifier: GPL-2.0-only
"""Options that several verbs have, so that each is spelled and completed one way."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from mmbatch.core import paths as checkout
from mmbatch.kernel import sources as kernels
from mmbatch.live import manifest as livemanifest
from mmbatch.splice import manifest


def _of_speedups(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a speed-up."""
    return _starting(manifest.known(checkout.SPEEDUPS), incomplete)


def _of_live(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a speed-up that can be loaded into a running kernel."""
    return _starting(livemanifest.known(checkout.SPEEDUPS), incomplete)


def _of_series(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a kernel series."""
    return _starting(kernels.SERIES, incomplete)


def _starting(words: list[str] | tuple[str, ...], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(word) for word in words if word.startswith(incomplete)]


speedups = click.argument("speedups", nargs=-1, metavar="[SPEEDUP]...", shell_complete=_of_speedups)

live_speedups = click.argument(
    "speedups", nargs=-1, metavar="[SPEEDUP]...", shell_complete=_of_live
)

live_speedup = click.argument("speedup", default="zone_device", shell_complete=_of_live)

kernel = click.option(
    "--kernel",
    metavar="SERIES",
    help="Kernel series: 7.3, 7.2 or 6.12.",
    shell_complete=_of_series,
)

several_kernels = click.option(
    "--kernel",
    "series",
    multiple=True,
    metavar="SERIES",
    help="Kernel series; by default all: 7.3, 7.2 and 6.12.",
    shell_complete=_of_series,
)

tree = click.option(
    "--tree",
    type=click.Path(file_okay=False, path_type=Path),
    help="Take this kernel tree instead; it is only read.",
)

config = click.option(
    "-K", "options", multiple=True, metavar="CONFIG_X=y", help="Change its config."
)

jobs = click.option(
    "-j", "--jobs", type=click.IntRange(min=1), metavar="N", help="Compilers at a time."
)

install = click.option(
    "--install", is_flag=True, help="Install what is missing, with apt (root or sudo)."
)

json_file = click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the result's JSON to this file too.",
)
