# SPDX-License-Identifier: GPL-2.0-only
"""docs/reference.md lists the options that the parser has, and every exit code."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from mmbatch.cli import main as cli
from mmbatch.cli import reference
from mmbatch.core import paths as checkout
from mmbatch.core.cache import Cache
from mmbatch.core.errors import ExitCode

TEXT = reference.PAGE.read_text(encoding="utf-8")


def test_options_are_those_of_help() -> None:
    assert reference.page(TEXT) == TEXT, (
        "docs/reference.md is stale: PYTHONPATH=src python3 -m mmbatch.cli.reference"
    )


def test_a_new_verb_and_its_options_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    option = click.Option(["--size"], metavar="A|B", help="Size of it.")
    verb = click.Command("toy", params=[option], help="Plays.", callback=lambda: None)
    monkeypatch.setattr(cli, "cli", click.Group("mmbatch", {"toy": verb}))
    page = reference.page(f"before\n{reference.BEGIN}\nold\n{reference.END}\nafter\n")
    assert page.startswith("before\n") and page.endswith("\nafter\n") and "old" not in page
    assert "### `mmbatch toy`\n\n    mmbatch toy [OPTIONS]\n\nPlays.\n" in page
    assert "| `--size A\\|B` | Size of it. |" in page


def test_every_exit_code_is_explained() -> None:
    listed = set(re.findall(r"^\| (\d+) \|", TEXT, re.M))
    assert {str(int(code)) for code in ExitCode} <= listed


def test_every_directory_of_the_cache_is_listed(tmp_path: Path) -> None:
    made = {path.name for path in Cache(tmp_path / "cache").root.iterdir()}
    sources = [*(checkout.ROOT / "src").rglob("*.py")]
    named = {
        name
        for source in sources
        for name in re.findall(
            r"""cache\.root(?: / ["']|\}/)([a-z]+)["']""", source.read_text(encoding="utf-8")
        )
    }
    assert {"locks", "trees"} <= made and {"fuzz", "pycache"} <= named
    listed = set(re.findall(r"`([a-z]+)/`", TEXT))
    assert made | named <= listed


def test_every_variable_that_is_read_is_listed() -> None:
    sources = [*(checkout.ROOT / "src").rglob("*.py"), checkout.ROOT / "mmbatch"]
    read = {
        name
        for source in sources
        for name in re.findall(
            r"""["'](MMBATCH_[A-Z_]+|XDG_[A-Z_]+|NO_COLOR)["']""",
            source.read_text(encoding="utf-8"),
        )
    }
    assert read, "no variable was found: has the pattern outlived the code?"
    listed = set(re.findall(r"^\| `([A-Z_]+)", TEXT, re.M))
    assert read <= listed
