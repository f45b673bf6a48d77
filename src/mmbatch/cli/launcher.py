# SPDX-License-Identifier: GPL-2.0-only
"""Run mmbatch from a checkout, in a virtual environment that is made on first use.

Runs on the system's Python, so only the standard library is used here and in what this
imports. Knobs, all environment variables: MMBATCH_DEV=1 adds what the tests need,
MMBATCH_INSTALL=1 allows apt to install python3-venv (as --install does), MMBATCH_NO_VENV=1
takes this Python where it has all that is needed.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import sys
import time
import tomllib
from pathlib import Path
from typing import NoReturn

from mmbatch import VERSION
from mmbatch.core import process
from mmbatch.core.cache import Cache
from mmbatch.core.disk import (
    error_from_os,
    forget_oldest,
    is_whole,
    require_space,
    require_working_directory,
    siblings,
    use,
    write_mark,
)
from mmbatch.core.errors import MmbatchError, message
from mmbatch.core.paths import default_root
from mmbatch.debian import packages

_ROOT = Path(__file__).resolve().parents[3]
_SOURCES = _ROOT / "src"
_PROJECT = _ROOT / "pyproject.toml"
_CONSTRAINTS = _ROOT / "constraints.txt"
"""The versions that were tested; tests/fresh/pin.sh refreshes them."""
_VENV_BYTES = 400_000_000
_LIMIT_S = 900
_COMPLETING = "_MMBATCH_COMPLETE"
"""By this variable a shell asks while someone types: not the time to install anything."""
_HELP = """\
Usage: mmbatch COMMAND [ARGS]...

mmbatch needs Python packages that this Python lacks. The first command sets up an environment
with them in the cache directory, which takes a minute and needs the network. After that,
--help lists all commands.
"""
_START = time.monotonic()


def say(text: str) -> None:
    """Print one phase line, unless told to be quiet."""
    if not {"-q", "--quiet"} & set(sys.argv[1:]):
        print(f"[{time.monotonic() - _START:3.0f} s] {text}", file=sys.stderr, flush=True)


def requirements() -> list[str]:
    """Return the project's dependencies, with those of its tests when MMBATCH_DEV is set."""
    project = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]
    names: list[str] = list(project["dependencies"])
    if os.environ.get("MMBATCH_DEV") == "1":
        names += project["optional-dependencies"]["dev"]
    return names


def importable(names: list[str]) -> bool:
    """Tell whether this Python has all requirements, whatever their versions."""
    modules = [re.split(r"[^A-Za-z0-9_-]", name)[0].replace("-", "_") for name in names]
    return all(importlib.util.find_spec(module) is not None for module in modules)


def make_sure_of_venv(cache: Cache) -> None:
    """Install Debian's python3-venv when this Python can't make environments, if allowed to.

    Raises:
        MmbatchError: it can't be had, or we may not install it.
    """
    if importlib.util.find_spec("ensurepip") and importlib.util.find_spec("venv"):
        return
    action = "make a Python environment"
    system = Path(sys.base_prefix) == Path("/usr")
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv" if system else "python3-venv"
    if os.environ.get("MMBATCH_INSTALL") != "1" and "--install" not in sys.argv[1:]:
        raise MmbatchError(
            action,
            "this Python has no venv module",
            f"give --install, or run: {packages.install_command([name])}",
        )
    packages.install([name], say, cache.logs / "apt-install.log")
    importlib.invalidate_caches()
    if importlib.util.find_spec("ensurepip") is None:
        raise MmbatchError(
            action, f"{sys.executable} has no venv module even so", "use Debian's /usr/bin/python3"
        )


def build(cache: Cache, venv: Path, names: list[str]) -> None:
    """Make an environment with some packages, which is marked as whole last.

    Raises:
        MmbatchError: it can't be made.
    """
    make_sure_of_venv(cache)
    require_space(cache.root, _VENV_BYTES, "make a Python environment")
    say("setting up a Python environment (only the first time)")
    log = cache.logs / f"{venv.name}.log"
    log.unlink(missing_ok=True)
    shutil.rmtree(venv, ignore_errors=True)
    try:
        process.run(
            [sys.executable, "-m", "venv", venv], action="make a Python environment", log=log
        )
        if names:
            _install(venv, names, log)
        write_mark(venv)
    except BaseException:
        shutil.rmtree(venv, ignore_errors=True)
        raise


def _install(venv: Path, names: list[str], log: Path) -> None:
    """Install packages into an environment with its own pip."""
    pip = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-compile"]
    done = process.run(
        [venv / "bin" / "python", *pip, "--constraint", _CONSTRAINTS, *names],
        action="install Python packages",
        log=log,
        timeout_s=_LIMIT_S,
        check=False,
    )
    if done.rc:
        errors = [line for line in done.stdout.splitlines() if line.startswith("ERROR")]
        problem = errors[0].removeprefix("ERROR: ") if errors else f"pip ended with {done.rc}"
        raise MmbatchError(
            f"install {' '.join(names)} with pip",
            problem,
            f"check the network; pip's whole output is in {log}",
        )


def find_python(cache: Cache) -> Path:
    """Return the Python to run mmbatch with, made ready.

    Its environment stays while this process lives, whatever program it becomes. The last few
    environments are kept, and all that other processes use.
    """
    names = requirements()
    if os.environ.get("MMBATCH_NO_VENV") == "1" and importable(names):
        return Path(sys.executable)
    venv = _place_of_venv(cache.root)
    python = venv / "bin" / "python"
    if not _take(venv):
        with cache.lock(venv.name, "sets up a Python environment", say):
            if not (is_whole(venv, say) and _take(venv)):
                forget_oldest(path for path in siblings(venv) if path != venv)
                build(cache, venv, names)
                _take(venv)
    with contextlib.suppress(OSError):  # somebody else's
        os.utime(venv)
    return python


def _place_of_venv(root: Path) -> Path:
    """Return the directory of the environment, whose name tells what it was made for."""
    # An older mmbatch marks its environments in another way, and each would rebuild the other's.
    parts = ["marked", sys.version, sys.base_prefix, os.environ.get("MMBATCH_DEV", "")]
    parts += [path.read_text(encoding="utf-8") for path in (_PROJECT, _CONSTRAINTS)]
    return root / f"venv-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:12]}"


def _take(venv: Path) -> bool:
    """Let nobody forget an environment while this process lives; return whether it is usable.

    Each process on a Python environment keeps one open file, which its programs do not get.
    """
    try:
        handle = use(venv)
    except OSError:
        return False
    if _is_usable(venv):  # looked at when it is locked, or it could be forgotten in between
        os.set_inheritable(handle, True)  # by the program that this process becomes
        return True
    os.close(handle)
    return False


def _is_usable(venv: Path) -> bool:
    return is_whole(venv) and os.access(venv / "bin" / "python", os.X_OK)


def _find_python_at_hand() -> tuple[Path, str] | None:
    """Return a Python that has click, and its bytecode's directory; write and install nothing."""
    try:
        root = default_root(os.environ)
    except MmbatchError:
        root = Path(os.devnull)
    venv = _place_of_venv(root)
    allowed = os.environ.get("MMBATCH_NO_VENV") == "1"
    if not allowed and _take(venv):
        return venv / "bin" / "python", os.fspath(root / "pycache")
    if importable(["click"]):  # the other packages are imported by what follows the help
        return Path(sys.executable), os.fspath(root / "pycache")
    return None


def _become(python: Path, bytecode: str, *options: str) -> NoReturn:
    """Run the command line by another Python instead of this process."""
    os.environ["PYTHONPATH"] = os.fspath(_SOURCES)
    os.environ["PYTHONPYCACHEPREFIX"] = bytecode
    os.environ.pop("PYTHONHOME", None)
    os.execv(python, [os.fspath(python), "-P", *options, "-m", "mmbatch", *sys.argv[1:]])


def _is_question(words: list[str]) -> bool:
    """Tell whether arguments ask for help only, or a shell asks for completions."""
    options = words[: words.index("--")] if "--" in words else words
    return _COMPLETING in os.environ or not words or bool({"-h", "--help"} & set(options))


def _answer() -> int:
    """Print a help text or completions without a cache; return only when that can't be."""
    found = _find_python_at_hand()
    if found is not None:
        _become(*found, "-B")
    if _COMPLETING in os.environ:
        return 1
    print(_HELP, end="")
    return 0


def _print_completion() -> None:
    """Print a shell's script without a cache; return only when that can't be.

    click makes the script. Where no Python at hand has it, an environment is needed after all.
    """
    found = _find_python_at_hand()
    if found is not None:
        _become(*found, "-B")


def main() -> int:
    """Become `python -m mmbatch` in the environment; returns only when that can't be."""
    try:
        if sys.argv[1:] == ["--version"]:
            print(f"mmbatch, version {VERSION}")
            return 0
        if _is_question(sys.argv[1:]):
            return _answer()
        if sys.argv[1:2] == ["completion"]:
            _print_completion()
        require_working_directory()
        cache = Cache.open()
        _become(find_python(cache), os.fspath(cache.root / "pycache"))
    except OSError as error:
        failure = error_from_os(error, "start")
    except MmbatchError as error:
        failure = error
    except KeyboardInterrupt:
        print("mmbatch: interrupted; nothing was left half-written", file=sys.stderr)
        return 130
    print(message(failure), file=sys.stderr)
    return int(failure.code)
