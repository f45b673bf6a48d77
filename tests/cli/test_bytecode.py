# SPDX-License-Identifier: GPL-2.0-only
"""Bytecode in the cache that a power failure or a full disk has cut."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mmbatch.core.paths import ROOT

_HEADER_BYTES = 16  # which Python checks itself


def start(prefix: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Ask for a help text, which imports the verb and its modules."""
    return subprocess.run(
        [sys.executable, "-P", *options, "-m", "mmbatch", "report", "--help"],
        capture_output=True,
        text=True,
        check=False,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "src"),
            "PYTHONPYCACHEPREFIX": str(prefix),
        },
    )


@pytest.mark.parametrize("module", ["cli/main", "cli/report", "core/errors"])
@pytest.mark.parametrize("kept", [_HEADER_BYTES, _HEADER_BYTES + 9, -1])
def test_damaged_bytecode_is_removed(tmp_path: Path, module: str, kept: int) -> None:
    prefix = tmp_path / "pycache"
    good = start(prefix)
    assert (good.returncode, good.stderr) == (0, "")
    directory, _, name = module.rpartition("/")
    (place,) = prefix.rglob(f"mmbatch/{directory}/{name}.cpython-*.pyc")
    place.write_bytes(place.read_bytes()[:kept])

    healed = start(prefix, "-B")

    assert (healed.returncode, healed.stdout) == (0, good.stdout)
    assert f"bytecode in {prefix} was damaged" in healed.stderr
    assert not prefix.exists()


def test_what_can_not_be_removed_is_named(tmp_path: Path) -> None:
    start(tmp_path / "pycache")
    (place,) = (tmp_path / "pycache").rglob("mmbatch/core/errors.cpython-*.pyc")
    place.write_bytes(place.read_bytes()[:_HEADER_BYTES])
    (tmp_path / "link").symlink_to(tmp_path / "pycache")  # rmtree() removes no link

    done = start(tmp_path / "link")

    assert done.returncode == 1
    assert done.stderr.splitlines()[-2:] == [
        f"error: cannot start: Python's bytecode in {tmp_path / 'link'} is damaged",
        "hint: remove that directory",
    ]
