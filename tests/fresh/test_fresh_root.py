# SPDX-License-Identifier: GPL-2.0-only
"""run.sh takes no directory whose content it could not remove; nothing is installed here."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("run.sh")
NOT_ROOT = "cannot run in a fresh root: only root may make one"

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="lacks git")


def error(tmp_path: Path, root: Path) -> str:
    """Return the script's error for a user who is not root, so that it ends soon."""
    identity = tmp_path / "bin" / "id"
    identity.parent.mkdir()
    identity.write_text("#!/bin/sh\necho 1000\n")
    identity.chmod(0o755)
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


@pytest.mark.parametrize(
    "names",
    [[], [".mmbatch-fresh", "file"], ["etc/debian_version", "etc/sudoers.d/fresh"]],
)
def test_an_empty_directory_or_a_root_of_ours_is_taken(
    tmp_path: Path, names: Sequence[str]
) -> None:
    assert NOT_ROOT in error(tmp_path, make(tmp_path, names))


def make(tmp_path: Path, names: Sequence[str]) -> Path:
    """Return a directory with empty files."""
    root = tmp_path / "a root"
    root.mkdir()
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root
