# SPDX-License-Identifier: GPL-2.0-only
import ast
import importlib.util
import os
import subprocess
import sys

import pytest

from mmbatch.cli import launcher
from mmbatch.core.paths import ROOT
from mmbatch.kernel import apt

OLD = "import sys\nsys.version_info = (3, 9, 2)\n"


def test_the_first_file_parses_on_old_pythons() -> None:
    ast.parse((ROOT / "mmbatch").read_text(), feature_version=(3, 4))


def test_an_old_python_is_told() -> None:
    text = (ROOT / "mmbatch").read_text().replace("import sys\n", OLD, 1)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    error, hint = done.stderr.splitlines()
    assert error.startswith("error: cannot start: Python 3.9 ")
    assert hint.startswith("hint: ")


def test_only_the_standard_library_is_imported() -> None:
    code = (
        "import sys\nimport mmbatch.cli.launcher, mmbatch.kernel.apt\n"
        "sys.exit(','.join(n for n in ('click', 'rich', 'numpy') if n in sys.modules) or 0)"
    )
    env = dict(os.environ, PYTHONPATH=str(ROOT / "src"))
    done = subprocess.run([sys.executable, "-c", code], check=False, env=env, capture_output=True)
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
