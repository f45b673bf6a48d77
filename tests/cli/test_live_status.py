# SPDX-License-Identifier: GPL-2.0-only
"""What `live status` prints and writes, on a made-up sysfs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mmbatch.cli import main as cli
from mmbatch.core import paths
from mmbatch.live import kernel, manifest

LIVES = manifest.known(paths.SPEEDUPS)
PROVES = "zone_device"
FUNCTION = manifest.load(paths.SPEEDUPS, PROVES).replaces[0].name


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


@pytest.fixture
def sysfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kernel, "running", lambda: "7.3.4-amd64")
    (tmp_path / "sys/kernel/livepatch").mkdir(parents=True)
    return tmp_path / "sys"


def load(sysfs: Path, counts: str) -> None:
    module = f"mmbatch_{PROVES}"
    put(sysfs / "kernel/livepatch" / module / "enabled", "1")
    put(sysfs / "kernel/livepatch" / module / "transition", "0")
    (sysfs / "kernel/livepatch" / module / f"vmlinux/{FUNCTION},1").mkdir(parents=True)
    put(sysfs / "module" / module / "parameters/counts", counts)
    put(sysfs / "module" / module / f"parameters/{PROVES}.method", "auto")


def status(sysfs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, Any]:
    file = tmp_path / "status.json"
    assert cli.main(["live", "status", "--sysfs", str(sysfs), "--json", str(file)]) == 0
    return capsys.readouterr().out, json.loads(file.read_text())


def test_what_a_loaded_speedup_did(
    sysfs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    load(
        sysfs,
        f"{FUNCTION} done 12 31457280 \n{FUNCTION} left 3 16 a small range\n"
        f"{FUNCTION} left 0 0 method=base\n{FUNCTION} passed 2 1056 \n{FUNCTION} failed 0 0 ",
    )
    printed, written = status(sysfs, tmp_path, capsys)

    line = next(line for line in printed.splitlines() if f"{FUNCTION}():" in line)
    assert "in use everywhere  12 calls, 31,457,280 pages; left 3 to the kernel: a small" in line
    assert "method=base" not in printed
    assert f"{PROVES}: method auto, the proof before use passed\n" in printed
    row = next(row for row in written["functions"] if row["function"] == FUNCTION)
    assert (row["active"], row["calls"], row["pages"]) == (True, 12, 31457280)
    assert row["left"] == [{"reason": "a small range", "calls": 3, "pages": 16}]
    state = next(row for row in written["speedups"] if row["speedup"] == PROVES)
    assert (state["loaded"], state["method"], state["proof"]) == (True, "auto", "passed")
    assert state["supported"]


@pytest.mark.parametrize(
    ("passed", "failed", "proof", "words"),
    [(1, 1, "failed", "FAILED for some memory"), (0, 0, "none", "no proof yet")],
)
def test_proofs(
    sysfs: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    passed: int,
    failed: int,
    proof: str,
    words: str,
) -> None:
    load(sysfs, f"{FUNCTION} passed {passed} 32 \n{FUNCTION} failed {failed} 32 ")
    printed, written = status(sysfs, tmp_path, capsys)
    assert words in printed
    assert {row["proof"] for row in written["speedups"]} == {proof, None}


def test_a_module_that_counts_nothing(
    sysfs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of an earlier version."""
    load(sysfs, "")
    printed, written = status(sysfs, tmp_path, capsys)
    assert "in use everywhere" in printed
    assert {row["calls"] for row in written["functions"]} == {None}


def test_nothing_is_loaded_into_another_kernel(
    sysfs: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel, "running", lambda: "6.18.44-fc-v669")
    printed, written = status(sysfs, tmp_path, capsys)
    assert "\nnothing is loaded\n" in printed
    able = f"Linux 6.18.44-fc-v669 can't take {', '.join(LIVES)}: it supports only Linux 6.12, "
    assert able in printed
    assert "\nhint: boot Debian's kernel" in printed
    assert not any(row["supported"] for row in written["speedups"])
    assert {row["runs"] for row in written["functions"]} == {"the kernel's own"}


def test_this_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed, written = status(Path("/sys"), tmp_path, capsys)
    assert printed
    assert {row["speedup"] for row in written["speedups"]} == set(LIVES)
