# SPDX-License-Identifier: GPL-2.0-only
"""speedups/_template works under a new name, and nothing else must be touched for that."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import real_kernel
from expect import printed
from mmbatch.core import paths
from mmbatch.core.errors import ExitCode
from mmbatch.kernel import apt
from mmbatch.splice import manifest

NAME = "hex_rows"
TEMPLATE = paths.SPEEDUPS / "_template"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of this checkout, in a path with a space, with a new speed-up in it."""
    root = tmp_path_factory.mktemp("template") / "check out"
    for name in ("docs", "guest", "hosted", "live", "speedups", "src"):
        shutil.copytree(
            paths.ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", ".*")
        )
    printed(root / "speedups/_template/new.sh", NAME)
    return root


def mmbatch(checkout: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a verb of the copy; the user's cache has the kernels."""
    done = subprocess.run(
        [sys.executable, "-m", "mmbatch", *map(str, arguments)],
        cwd=checkout,
        env=dict(os.environ, PYTHONPATH=str(checkout / "src"), PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


def test_the_template_itself_is_no_speedup(checkout: Path) -> None:
    names = manifest.known(checkout / "speedups")
    assert names == sorted([*manifest.known(paths.SPEEDUPS), NAME])
    assert not any(name.startswith("_") for name in names)


def test_nothing_of_the_old_name_is_left(checkout: Path) -> None:
    files = [path for path in (checkout / "speedups" / NAME).rglob("*") if path.is_file()]
    assert len(files) == sum(path.is_file() for path in TEMPLATE.rglob("*")) - 1  # new.sh
    for path in files:
        assert "template" not in path.name
        assert "template" not in path.read_text(encoding="utf-8").lower()


@pytest.mark.kernel
def test_the_copy_is_applied_measured_and_checked(checkout: Path, tmp_path: Path) -> None:
    kernel = real_kernel.newest()
    series = kernel.series
    applied = mmbatch(checkout, "apply", "-n", kernel.path, NAME)
    assert applied.returncode == 0, applied.stderr
    assert f"{NAME}_bin2hex(" in applied.stdout

    record = tmp_path / "record.json"
    measured = mmbatch(checkout, "bench", NAME, "--quick", "--kernel", series, "--json", record)
    assert measured.returncode in (ExitCode.GOOD, ExitCode.INCONCLUSIVE), measured.stderr
    rows = json.loads(record.read_text(encoding="utf-8"))
    assert {row["variant"] for row in rows} == {"base", "batched"}
    assert {row["speedup"] for row in rows} == {NAME}
    assert all(row["median"] for row in rows)

    checked = mmbatch(checkout, "check", NAME, "--kernel", series)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "0 failed" in checked.stdout


@pytest.mark.kernel
@pytest.mark.skipif(
    any(apt.find_program(name) is None for name in apt.GUEST_PROGRAMS["x86_64"]),
    reason="what guests need is not installed",
)
def test_its_kunit_suite_runs_in_a_kernel(checkout: Path) -> None:
    which = ("--only", "x86_64-suites", "--kernel", real_kernel.newest().series)
    booted = mmbatch(checkout, "guest", "test", *which, "-v")
    assert booted.returncode == 0, booted.stdout + booted.stderr
    assert f"{NAME}.{NAME}_every_byte" in booted.stderr
    assert "0 failed" in booted.stdout
