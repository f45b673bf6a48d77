# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch doctor`: what this machine has and lacks, and the one command that fixes it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from mmbatch.cli import answers, options, requirements
from mmbatch.cli.requirements import State
from mmbatch.core.console import Console, output_options
from mmbatch.core.errors import ExitCode
from mmbatch.debian import packages

_STYLES = {State.OK: "green", State.MISSING: "bold red", State.NOTE: "yellow"}


@click.command("doctor")
@options.install
@options.json_file
@output_options
def command(console: Console, install: bool, json_file: Path | None) -> int:
    """Check that this machine has what mmbatch needs, and say how to get what is missing."""
    options.require_writable(("--json", json_file))
    checks = requirements.diagnose()
    names = requirements.missing_packages(checks)
    if names and install:
        packages.install(names, console.say)
        checks = requirements.diagnose()
        names = requirements.missing_packages(checks)
    rows = []
    for check in checks:
        detail = f"{check.detail}; {check.remedy}" if check.remedy else check.detail
        rows.append((check.state.value, check.name, detail))
    console.table(rows, [_STYLES[check.state] for check in checks])
    missing = [check.name for check in checks if check.state is State.MISSING]
    fix = packages.install_command(names) if names else None
    answer = answers.Doctor([asdict(check) for check in checks], missing, fix)
    options.write_answer(json_file, "doctor", answer)
    if not missing:
        console.result("nothing is missing")
        return ExitCode.GOOD
    console.result(f"missing: {', '.join(missing)}")
    if fix is not None:
        console.result(f"install them with: {fix}")
        console.result("or let mmbatch do that: mmbatch doctor --install")
    return ExitCode.FAILED
