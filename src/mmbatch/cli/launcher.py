# SPDX-License-Identifier: GPL-2.0-only
"""Start mmbatch from a checkout, by a Python that has the libraries that it needs.

They are Debian's own packages. With MMBATCH_DEV=1 it is started in an environment with what the
tests need besides. Only the standard library is used here and in what this imports.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

_ROOT = Path(__file__).resolve().parents[3]
_CONSTRAINTS = _ROOT / "constraints.txt"
"""What tests need, in the versions that were tested; tests/fresh/pin.sh refreshes them."""
_SYSTEM = "/usr/bin/python3"
_LIBRARIES = ("click", "rich", "numpy", "jinja2")
_MAY_INSTALL = "--install" in sys.argv[1:] or os.environ.get("MMBATCH_INSTALL") == "1"
_LIMIT_S = 1800


def main() -> int:
    """Run the command line; by another Python if this one lacks a library."""
    if os.environ.pop("MMBATCH_DEV", "") == "1":
        return _guarded(_become_test_environment)
    if any(importlib.util.find_spec(name) is None for name in _LIBRARIES):
        return _guarded(_become_another)
    from mmbatch.cli.main import main as run

    return run()


def _guarded(become: object) -> int:
    """Become another process; return an exit code if that can't be."""
    from mmbatch.core.errors import MmbatchError, message

    logging.basicConfig(format="%(message)s", level=logging.INFO)
    try:
        assert callable(become)
        become()
    except MmbatchError as error:
        print(message(error), file=sys.stderr)
        return int(error.code)
    except KeyboardInterrupt:
        print("mmbatch: interrupted; nothing was left half-written", file=sys.stderr)
    return 130


def _become(python: str) -> NoReturn:
    os.execv(python, [python, os.fspath(_ROOT / "mmbatch"), *sys.argv[1:]])


def _become_another() -> NoReturn:
    from mmbatch.core.errors import MmbatchError
    from mmbatch.kernel import apt

    _become_one_that_has_them()
    packages = [f"python3-{name}" for name in _LIBRARIES]
    if _MAY_INSTALL:
        apt.install(packages)
        _become_one_that_has_them()
    raise MmbatchError(
        "start",
        f"this Python has not all of {', '.join(_LIBRARIES)}",
        f"{'' if _MAY_INSTALL else 'give --install, or '}run: {apt.install_command(packages)}; "
        f"or without root: python3 -m venv ~/mmbatch-venv && "
        f"~/mmbatch-venv/bin/pip install {' '.join(_LIBRARIES)}, "
        f"and then: . ~/mmbatch-venv/bin/activate",
    )


def _become_one_that_has_them() -> None:
    """Become the Python of an active environment or of the system, if that has the libraries."""
    for python in (f"{os.environ.get('VIRTUAL_ENV', '')}/bin/python", _SYSTEM):
        code = f"import {', '.join(_LIBRARIES)}"
        if (
            os.access(python, os.X_OK)
            and not subprocess.run(
                [python, "-c", code], check=False, stderr=subprocess.DEVNULL
            ).returncode
        ):
            _become(python)


def _become_test_environment() -> NoReturn:
    """Become the Python of an environment with what tests need, made on first use."""
    from mmbatch.core import cache, log, process
    from mmbatch.core.errors import MmbatchError
    from mmbatch.kernel import apt

    packages = [*(f"python3-{name}" for name in _LIBRARIES), "python3-venv"]
    lacking = apt.missing(packages)
    if lacking and _MAY_INSTALL:
        apt.install(packages)
    elif lacking:
        hint = f"give --install, or run: {apt.install_command(lacking)}"
        raise MmbatchError("make a Python environment", f"no {' and no '.join(lacking)}", hint)
    version = os.path.realpath(_SYSTEM)  # "/usr/bin/python3.11"
    key = hashlib.sha256(f"{version} {_CONSTRAINTS.read_text(encoding='utf-8')}".encode())
    venv = cache.root() / f"venv-{key.hexdigest()[:12]}"

    def fill(work: Path) -> None:
        log.say("setting up a Python environment (only the first time)")
        words: list[str | Path] = [_SYSTEM, "-m", "venv", "--system-site-packages", work]
        log_file = cache.logs() / f"{venv.name}.log"
        process.run(words, action="make a Python environment", log=log_file)
        pip: list[str | Path] = [
            work / "bin/python",
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
        ]
        process.run(
            [*pip, "--disable-pip-version-check", "--requirement", _CONSTRAINTS],
            action="install Python packages",
            log=log_file,
            timeout_s=_LIMIT_S,
        )

    cache.provide(venv, fill, "sets up a Python environment")
    _become(os.fspath(venv / "bin/python"))
