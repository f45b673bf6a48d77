# SPDX-License-Identifier: GPL-2.0-only
"""Shell scripts in the place of programs, and the tree that a program is built from."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from mmbatch.hosted.program import Program


def script(path: Path, text: str) -> Path:
    """Write a shell script, and the directory that it lies in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def before_others(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the programs of a directory be found before all others."""
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")
    return directory


def splice_toys(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs be built from a tree with one file, mm/toys.c, whatever is spliced."""
    for name in ("include", "arch/x86", "mm", "lib"):
        (directory / "spliced" / name).mkdir(parents=True)
    (directory / "spliced/mm/toys.c").write_text("toy < nr\n")
    monkeypatch.setattr(Program, "spliced", SimpleNamespace(path=directory / "spliced"))
