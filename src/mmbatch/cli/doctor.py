# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch doctor`: what this machine has and lacks, and the one command that fixes it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from mmbatch.cli import options as params
from mmbatch.cli import requirements as doctor
from mmbatch.cli.requirements import Check, State
from mmbatch.core.console import Console, output_options
from mmbatch.core.disk import atomic_write
from mmbatch.core.errors import ExitCode
from mmbatch.debian import packages

_STYLES = {State.OK: "green", State.MISSING: "bold red", State.NOTE: "yellow"}


@click.command("doctor", short_help="Check that this machine has what mmbatch needs.")
@params.install
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the checks to this file too.",
)
@output_options
def command(console: Console, install: bool, json_file: Path | None) -> int:
    """Check that this machine has what mmbatch needs, and say how to get what is missing."""
    checks = doctor.diagnose()
    names = doctor.missing_packages(checks)
    if names and install:
        packages.install(names, console.say)
        checks = doctor.diagnose()
        names = doctor.missing_packages(checks)
    if json_file is not None:
        content = {"schema": 1, "command": "doctor", "checks": [asdict(check) for check in checks]}
        atomic_write(json_file, json.dumps(content, indent=2) + "\n")
    _show(console, checks)
    if all(check.state is not State.MISSING for check in checks):
        console.result("Everything that bench needs is here.")
        return ExitCode.GOOD
    if names:
        console.result(f"To fix it: {packages.install_command(names)}")
        console.result("or let mmbatch do that: mmbatch doctor --install")
    return ExitCode.FAILED


def _show(console: Console, checks: list[Check]) -> None:
    if not console.out.is_terminal:
        for check in checks:
            line = f"{check.state:8}{check.name:14}{check.detail}"
            console.result(f"{line}  -> {check.remedy}" if check.remedy else line)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for title in ("", "check", "found"):
        table.add_column(title, overflow="fold")
    for check in checks:
        state = Text(check.state, style=_STYLES[check.state])
        found = f"{check.detail}\n{check.remedy}" if check.remedy else check.detail
        table.add_row(state, check.name, Text(found))
    console.out.print(table)
