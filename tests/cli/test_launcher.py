# SPDX-License-Identifier: GPL-2.0-only
import importlib.util
import os
import subprocess
import sys

import pytest

from mmbatch.cli import launcher
from mmbatch.core.paths import ROOT
from mmbatch.kernel import apt


def test_only_the_standard_library_is_imported() -> None:
    code = (
        "import sys\nimport mmbatch.cli.launcher, mmbatch.kernel.apt\n"
        "sys.exit(','.join(n for n in ('click', 'rich', 'numpy') if n in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert done.stderr == b""
    assert done.returncode == 0


def test_a_python_without_the_libraries_becomes_one_that_has_them() -> None:
    """-S leaves out site-packages."""
    env = {**os.environ, "VIRTUAL_ENV": sys.prefix}
    done = subprocess.run(
        [sys.executable, "-S", ROOT / "mmbatch", "--version"],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("mmbatch, version "), done.stderr


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No Python here has the libraries."""
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.setattr(launcher, "_SYSTEM", "/nonexistent")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


def test_without_the_libraries_both_ways_are_named(
    bare: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert launcher.main() == 1
    error, hint = capsys.readouterr().err.splitlines()
    assert error == "error: cannot start: this Python has not all of click, rich, numpy, jinja2"
    assert "apt-get install --no-install-recommends python3-click" in hint
    assert "pip install click rich numpy jinja2" in hint


def test_the_libraries_are_installed_where_that_is_allowed(
    bare: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    installed: list[str] = []
    monkeypatch.setattr(launcher, "_MAY_INSTALL", True)
    monkeypatch.setattr(apt, "install", installed.extend)
    assert launcher.main() == 1
    assert installed == ["python3-click", "python3-rich", "python3-numpy", "python3-jinja2"]
    assert "give --install" not in capsys.readouterr().err
