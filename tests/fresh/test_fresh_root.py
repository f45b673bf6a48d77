# SPDX-License-Identifier: GPL-2.0-only
"""run.sh takes no directory whose content it could not remove; nothing is installed here."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from fake_program import script

SCRIPT = Path(__file__).with_name("run.sh")
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="lacks git")


def error(tmp_path: Path, root: Path) -> str:
    """Return the script's error for a user who is not root, so that it ends soon."""
    identity = script(tmp_path / "bin/id", "echo 1000")
    done = subprocess.run(
        [SCRIPT, "--root", root, "--out", tmp_path / "out", "true"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": f"{identity.parent}:{os.environ['PATH']}"},
    )
    assert done.returncode == 1
    return done.stderr


@pytest.mark.parametrize("names", [["file"], [".hidden"], ["etc/debian_version"]])
def test_a_directory_with_other_files_is_refused(tmp_path: Path, names: Sequence[str]) -> None:
    root = make(tmp_path, names)
    assert f"{root} has files that this script did not make" in error(tmp_path, root)
    assert all((root / name).exists() for name in names)


def make(tmp_path: Path, names: Sequence[str]) -> Path:
    """Return a directory with empty files."""
    root = tmp_path / "a root"
    root.mkdir()
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root
