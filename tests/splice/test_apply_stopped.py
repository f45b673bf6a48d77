# SPDX-License-Identifier: GPL-2.0-only
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import mmbatch
from fake_tree import NEEDS_APPLY, branches, fingerprint, left_over
from mmbatch.kernel.git import GitTree

pytestmark = NEEDS_APPLY

BRANCH = "mmbatch/zone_device"
SOURCES = Path(mmbatch.__file__).parents[1]

Call = Callable[..., tuple[int, str, str]]


def test_an_interrupt_before_the_branch_leaves_nothing(
    call: Call, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = fingerprint(tree)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(GitTree, "create_branch", interrupt)
    code, _, err = call(tree, "zone_device")
    assert (code, "interrupted" in err) == (130, True)
    assert (branches(tree), fingerprint(tree)) == (["main"], before)
    assert left_over(tmp_path) == []
    monkeypatch.undo()


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 300
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_ended_at_work_and_run_again(call: Call, tree: Path, tmp_path: Path, number: int) -> None:
    directory = tmp_path / "bin"
    directory.mkdir()
    (directory / "spatch").write_text(
        f'#!/bin/sh\n[ "$1" = --very-quiet ] || exec {shutil.which("spatch")} "$@"\n'
        f"touch '{tmp_path}/reached'\nexec sleep 60\n"
    )
    (directory / "spatch").chmod(0o755)
    before = fingerprint(tree)
    running = subprocess.Popen(
        [sys.executable, "-m", "mmbatch", "apply", str(tree), "zone_device"],
        env=dict(os.environ, PYTHONPATH=str(SOURCES), PATH=f"{directory}:{os.environ['PATH']}"),
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(tmp_path / "reached")
    running.send_signal(number)
    _, err = running.communicate(timeout=300)
    assert running.returncode == (-9 if number == signal.SIGKILL else 128 + number)
    assert "Traceback" not in err
    assert fingerprint(tree) == before
    if number != signal.SIGKILL:
        assert left_over(tmp_path) == []
    assert call(tree, "zone_device")[0] == 0
    assert left_over(tmp_path / "cache" / "splices") == []


def test_two_at_once_make_one_branch(tree: Path) -> None:
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "mmbatch", "apply", str(tree), "zone_device", "-q"],
            env=dict(os.environ, PYTHONPATH=str(SOURCES)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    output = sorted(process.communicate(timeout=300)[0].split(":")[0] for process in both)
    assert [process.returncode for process in both] == [0, 0]
    assert output == ["Already applied", BRANCH]
