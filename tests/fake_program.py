# SPDX-License-Identifier: GPL-2.0-only
"""Shell scripts in the place of programs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


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
