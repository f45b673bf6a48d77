# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch check --until`: the code after a step of ours is checked like posted code."""

from __future__ import annotations

from pathlib import Path

import pytest

from fake_archive import source_of
from fake_tree import NEEDS_APPLY, commit, make_tree
from mmbatch.cli import doctor
from mmbatch.cli import main as cli
from mmbatch.core import paths
from mmbatch.core.errors import ExitCode
from mmbatch.hosted import check
from mmbatch.hosted.check import Tally
from mmbatch.hosted.program import Program
from mmbatch.splice import posted
from mmbatch.splice.manifest import CORE, load_with_needs

pytestmark = NEEDS_APPLY


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[Program]:
    """Return what is given to the check, which compiles nothing here."""
    benches: list[Program] = []

    def run(program: Program, tally: Tally, parts: object) -> None:
        benches.append(program)
        with check.stage(program.manifest.speedup, "", tally):
            pass

    monkeypatch.setattr(check, "run", run)
    monkeypatch.setattr(doctor, "ensure", lambda *_, **__: None)
    return benches


@pytest.fixture
def tree(tmp_path: Path, git_user: Path) -> Path:
    """A made-up kernel in git, with all directories that objects are compiled from."""
    assert git_user.exists()
    tree = make_tree(tmp_path / "my linux")
    for part in posted.READ_PARTS:
        (tree / part).mkdir(parents=True, exist_ok=True)
        (tree / part / "toys.h").touch()
    return commit(tree)


@pytest.mark.parametrize(
    ("last", "label"), [(CORE, CORE), ("zone_device", "2 zone_device"), ("all", "8 cpus")]
)
def test_the_code_after_a_step_is_checked(
    tree: Path, checked: list[Program], capsys: pytest.CaptureFixture[str], last: str, label: str
) -> None:
    assert cli.main(["check", "zone_device", "--until", last, "--tree", str(tree)]) == ExitCode.GOOD
    (bench,) = checked
    (side,) = bench.posted
    manifests = load_with_needs(paths.SPEEDUPS, "zone_device")
    steps = posted.from_steps(source_of(tree), manifests, last)
    assert (side.posted.label, side.posted.sha256) == (label, steps[-1].sha256)
    assert side.posted.contents == steps[-1].contents
    assert (side.path / "include/linux/streaming_copy.h").exists()
    assert (side.path / "mm/zone_device_wide.c").exists() == (last == "all")
    assert "1 passed, 0 failed" in capsys.readouterr().out
