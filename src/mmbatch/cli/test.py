# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch test`: everything that must pass before a change lands, stage by stage."""

from __future__ import annotations

import errno
import functools
import importlib.util
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from mmbatch.cli import check as check_verb
from mmbatch.cli import options, requirements
from mmbatch.cli.usage import Misuse
from mmbatch.core import disk, paths
from mmbatch.core.cache import Cache
from mmbatch.core.console import RESULTS_TO_STDERR, Console, output_options
from mmbatch.core.errors import ExitCode, MmbatchError, message
from mmbatch.core.process import cpus, run
from mmbatch.debian import packages
from mmbatch.guest import suites as guesttest
from mmbatch.hosted import fuzz
from mmbatch.kernel import sources
from mmbatch.live import guest as liveguest
from mmbatch.live.guests import QUICK
from mmbatch.report import matrix

_STAGES = ("style and types", "kernels", "the tool", "equality", "guests", "livepatches")
_FOR_TESTS = (
    ("chromium", "fonts-dejavu-core"),
    ("cpio", "fish", "gnupg", "sparse", "zsh"),
)
"""Debian packages that only tests need, in groups that are installed or missed together."""
_STRIDE_OTHERS = 3
"""A third of the combinations is checked in further configurations, and on 7.2, whose code is that
of 7.3 or of 6.12 mostly."""
_LINTERS = (
    ("ruff", "check", "--no-cache", ".", "mmbatch"),
    ("ruff", "format", "--check", "--no-cache", ".", "mmbatch"),
)


@click.command(
    "test",
    context_settings={"ignore_unknown_options": True},
)
@options.install
@click.option("--lint", is_flag=True, help="Check style and types only")
@click.option("--tool", is_flag=True, help="Run the tool's tests only, without kernels")
@options.seen_file
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
@output_options
def command(
    console: Console,
    install: bool,
    lint: bool,
    tool: bool,
    json_file: Path | None,
    pytest_args: tuple[str, ...],
) -> int:
    """Run the tests of this project; what follows is given to pytest.

    Stages: style and types; the tool's tests, those on real kernels among them; then what
    `mmbatch check` does: equality on three kernels (a third of it on 7.2 and in further
    configurations), sanitizers, mutants; then what `mmbatch guest test` and `guest bench` do:
    kernels that boot; then what `mmbatch live test` does, with less of each.
    """
    if json_file is not None:
        _check_place(json_file, partial=lint or tool or bool(pytest_args))
    _require_environment()
    cache = Cache.open()
    requirements.ensure(console.say, install=install, log=cache.logs / "apt-install.log")
    if install and not lint:
        _install_for_tests(console, cache)
        fuzz.try_to_install(console.say, cache.logs / "apt-install.log")
        if not tool:
            _install_for_guests(console, cache)
    log = matrix.Log()
    stages: list[tuple[str, Callable[[], int]]] = [("style and types", lambda: _lint(cache))]
    if not lint:
        chosen = [*pytest_args, *(("-m", "not kernel") if tool else ())]
        if not tool:
            stages.append(("kernels", lambda: _fetch(cache, console)))
        stages.append(("the tool", lambda: _pytest(cache, chosen)))
        if not tool and not pytest_args:
            stages.append(("equality", functools.partial(_check, console, cache, log)))
            guests = functools.partial(guesttest.run_all, console, cache, install=install, log=log)
            stages.append(("guests", guests))
            stages.append(("livepatches", lambda: _live(cache, console, log)))
    console.say(f"stages: {', '.join(name for name, _ in stages)}")
    log.stages = [
        matrix.Stage(name, _passes(name, f"stage {number} of {len(stages)}", stage, console))
        for number, (name, stage) in enumerate(stages, 1)
    ]
    failed = [stage.name for stage in log.stages if not stage.passed]
    skipped = len(_STAGES) - len(stages)
    console.result(
        f"stages: {len(stages) - len(failed)} passed, {len(failed)} failed, {skipped} skipped"
    )
    for name in failed:
        console.result(f"failed: {name}")
    if json_file is not None:
        log.write(json_file)
    return ExitCode.FAILED if failed else ExitCode.GOOD


def _check_place(json_file: Path, *, partial: bool) -> None:
    """Raise unless a run that takes an hour can be kept, and has all that is to be kept."""
    if partial:
        raise Misuse("--json keeps a run of all tests, and this is one of some", "leave out --json")
    matrix.check_place(json_file)


def _require_environment() -> None:
    if not (paths.ROOT / "tests").is_dir():
        raise MmbatchError(
            "run mmbatch's own tests",
            "this is not a checkout of its repository",
            "clone the repository and run ./mmbatch test there",
            ExitCode.USAGE,
        )
    needed = ("ruff", "mypy", "pytest", "hypothesis", "xdist")
    if any(importlib.util.find_spec(name) is None for name in needed):
        raise MmbatchError(
            "run mmbatch's own tests",
            f"this Python environment lacks one of {', '.join(needed)}",
            "use make test, or set MMBATCH_DEV=1",
            ExitCode.USAGE,
        )


def _install_for_tests(console: Console, cache: Cache) -> None:
    """Install what tests need; without it they are skipped, and say why."""
    for names in _FOR_TESTS:
        try:
            packages.install(names, console.say, cache.logs / "apt-install.log")
        except MmbatchError as error:
            console.say(f"tests that need {' or '.join(names)} are skipped: {error.problem}")


def _install_for_guests(console: Console, cache: Cache) -> None:
    """Install what guests need, because a test of the tool boots one before their stage."""
    try:
        packages.ensure_guests(
            guesttest.ARCHES, console.say, may_install=True, log=cache.logs / "apt-install.log"
        )
    except MmbatchError as error:
        console.say(f"no guests yet, so the test that boots one is skipped: {error.problem}")


def _passes(name: str, place: str, stage: Callable[[], int], console: Console) -> bool:
    """Run a stage and say how it ended and how long it took."""
    console.say(f"{place}: {name}")
    start = time.monotonic()
    try:
        good = stage() == ExitCode.GOOD
    except MmbatchError as error:
        console.result(message(error))
        good = False
    except OSError as error:
        if error.errno == errno.EPIPE:  # nobody reads what we say
            raise
        console.result(message(disk.error_from_os(error, f"run the stage {name}")))
        good = False
    word = "passed" if good else "FAILED"
    console.say(f"{place}: {name} {word} ({time.monotonic() - start:.0f} s)")
    return good


def _lint(cache: Cache) -> int:
    commands = (*_LINTERS, ("mypy", "--cache-dir", f"{cache.root}/mypy"))
    return max([_python(["-m", *words]) for words in commands])


def _fetch(cache: Cache, console: Console) -> int:
    for series in sources.SERIES:
        sources.resolve(cache, series, None, console.say)
    return ExitCode.GOOD


def _check(console: Console, cache: Cache, log: matrix.Log) -> int:
    return check_verb.run_all(console, cache, stride_others=_STRIDE_OTHERS, log=log)


def _live(cache: Cache, console: Console, log: matrix.Log) -> int:
    release = liveguest.default_release(cache, console.say)
    found = liveguest.run_all(console, cache, release, QUICK)
    log.lives.append(found)
    release = liveguest.newest_release(cache, console.say)
    planned = liveguest.run_planned(console, cache, release)
    good = found.good and planned.good
    return ExitCode.GOOD if good else ExitCode.FAILED


def _pytest(cache: Cache, arguments: list[str]) -> int:
    """Run pytest with a worker for each CPU; a file's tests stay together, with what they build.

    Files keep their order, in which those that take long are first (tests/conftest.py). What took
    longest is listed.
    """
    workers = ["-n", str(cpus()), "--dist", "loadfile", "--no-loadscope-reorder"]
    asked = any(word.startswith("--durations") for word in arguments)
    slowest = [] if asked else ["--durations", "20", "--durations-min", "10"]
    where = f"cache_dir={cache.root}/pytest"
    return _python(
        ["-m", "pytest", "-o", where, *workers, *slowest, *arguments],
        {"HYPOTHESIS_STORAGE_DIRECTORY": f"{cache.root}/hypothesis"},
    )


def _python(arguments: list[str], env: Mapping[str, str] | None = None) -> int:
    """Run this Python in the repository, on our terminal; return its exit status."""
    action = f"run {arguments[1]}"
    # With --json - standard output is the file's.
    here = ["sh", "-c", 'exec "$@" >&2', "sh"] if _json_is_stdout() else []
    done = run(
        [*here, sys.executable, *arguments],
        action=action,
        cwd=paths.ROOT,
        env=env,
        check=False,
        foreground=True,
    )
    return done.rc


def _json_is_stdout() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(RESULTS_TO_STDERR))
