# SPDX-License-Identifier: GPL-2.0-only
"""Start mmbatch from a checkout, by a Python that has the libraries that it needs.

They are Debian's own packages. Only the standard library is used here and in what this imports.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[3]
_SYSTEM = "/usr/bin/python3"
_LIBRARIES = ("click", "rich", "numpy", "jinja2")
_MAY_INSTALL = "--install" in sys.argv[1:] or os.environ.get("MMBATCH_INSTALL") == "1"


def main() -> int:
    """Run the command line; by another Python if this one lacks a library."""
    if all(importlib.util.find_spec(name) for name in _LIBRARIES):
        from mmbatch.cli.main import main as run

        return run()
    from mmbatch.core.errors import MmbatchError, message
    from mmbatch.kernel import apt

    logging.basicConfig(format="%(message)s", level=logging.INFO)
    packages = [f"python3-{name}" for name in _LIBRARIES]
    try:
        _become_one_that_has_them()
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
    except MmbatchError as error:
        print(message(error), file=sys.stderr)
        return int(error.code)


def _become_one_that_has_them() -> None:
    """Become the Python of an active environment or of the system, if that has the libraries."""
    for python in (f"{os.environ.get('VIRTUAL_ENV', '')}/bin/python", _SYSTEM):
        argv = [python, "-c", f"import {', '.join(_LIBRARIES)}"]
        if not os.access(python, os.X_OK):
            continue
        if subprocess.run(argv, check=False, stderr=subprocess.DEVNULL).returncode == 0:
            os.execv(python, [python, os.fspath(_ROOT / "mmbatch"), *sys.argv[1:]])
