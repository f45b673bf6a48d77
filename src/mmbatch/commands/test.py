# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch test`: this project's own tests and checks, from a checkout."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import click

from mmbatch import doctor
from mmbatch.cache import Cache
from mmbatch.console import Console, output_options
from mmbatch.errors import ExitCode, MmbatchError
from mmbatch.process import run

_LINTERS = (
    ("ruff", "check", "--no-cache", ".", "mmbatch"),
    ("ruff", "format", "--check", "--no-cache", ".", "mmbatch"),
)


@click.command(
    "test",
    short_help="Run this project's own tests.",
    context_settings={"ignore_unknown_options": True},
)
@click.option("--install", is_flag=True, help="Install what is missing, with apt (root or sudo).")
@click.option("--lint", is_flag=True, help="Check style and types instead.")
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
@output_options
def command(console: Console, install: bool, lint: bool, pytest_args: tuple[str, ...]) -> int:
    """Run this project's own tests; what follows is given to pytest."""
    root = Path(__file__).resolve().parents[3]
    if not (root / "tests").is_dir():
        raise MmbatchError(
            "run mmbatch's own tests",
            "this is not a checkout of its repository",
            "clone the repository and run ./mmbatch test there",
            ExitCode.USAGE,
        )
    needed = ("ruff", "mypy") if lint else ("pytest", "hypothesis")
    if any(importlib.util.find_spec(name) is None for name in needed):
        raise MmbatchError(
            "run mmbatch's own tests",
            f"this Python environment lacks {' or '.join(needed)}",
            "use make test, or set MMBATCH_DEV=1",
            ExitCode.USAGE,
        )
    cache = Cache.open()
    if lint:
        results = []
        for name, *arguments in (*_LINTERS, ("mypy", "--cache-dir", f"{cache.root}/mypy")):
            console.say(" ".join((name, *arguments)))
            results.append(_python(["-m", name, *arguments], root))
        return ExitCode.GOOD if not any(results) else ExitCode.FAILED
    doctor.ensure(console.say, install=install, log=cache.logs / "apt-install.log")
    return _python(["-m", "pytest", "-o", f"cache_dir={cache.root}/pytest", *pytest_args], root)


def _python(arguments: list[str], root: Path) -> int:
    """Run this Python in the repository, on our terminal; return its exit status."""
    tried = f"run {arguments[1]}"
    done = run([sys.executable, *arguments], tried=tried, cwd=root, check=False, foreground=True)
    return done.rc
