# SPDX-License-Identifier: GPL-2.0-only
"""What the verbs of `live` and `guest build` write with --json."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mmbatch.cli import guest as guest_verb
from mmbatch.cli import main as cli
from mmbatch.core import paths
from mmbatch.core.console import Console
from mmbatch.debian import packages
from mmbatch.live import guest, guests, kernel, manifest
from mmbatch.report import matrix

SPEEDUP = manifest.known(paths.SPEEDUPS)[0]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MMBATCH_CACHE", str(tmp_path / "cache"))


def answer(arguments: str, tmp_path: Path) -> dict[str, Any]:
    """Run a verb with --json; return what it wrote, less the keys that all verbs write."""
    file = tmp_path / "answer.json"
    assert cli.main([*arguments.split(), "--json", str(file)]) == 0
    content: dict[str, Any] = json.loads(file.read_text())
    assert content.pop("schema") == 1
    assert arguments.startswith(content.pop("command"))
    return content


def test_live_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "ensure_guests", lambda *_, **__: None)
    monkeypatch.setattr(kernel, "choose", lambda *_: "7.3.4-amd64")

    def run_all(console: Console, _: object, release: str, plan: guests.Plan) -> matrix.Live:
        console.result("12 passed, 0 failed")
        return matrix.Live(release, (SPEEDUP,), True, 12, plan.rounds)

    monkeypatch.setattr(guest, "run_all", run_all)
    assert answer("live test --kernel 7.3 --rounds 4", tmp_path) == {
        "kernel": "7.3.4-amd64",
        "speedups": [SPEEDUP],
        "good": True,
        "passed": 12,
        "rounds": 4,
    }

    one = matrix.Live("7.3.4-amd64", (SPEEDUP,), True, 5, 0)
    monkeypatch.setattr(guest, "run_once", lambda *_: one)
    assert answer("live test --kernel 7.3 --once", tmp_path)["passed"] == 5


def test_guest_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setup = SimpleNamespace(
        source=SimpleNamespace(release="7.3.4"),
        kernel=lambda arch, kind: SimpleNamespace(image=Path(f"/{arch}-{kind}/Image")),
    )
    monkeypatch.setattr(guest_verb, "_setup", lambda *_, **__: setup)
    assert answer("guest build --arch arm64 --kind debug", tmp_path) == {
        "release": "7.3.4",
        "arch": "arm64",
        "kind": "debug",
        "image": "/arm64-debug/Image",
    }
