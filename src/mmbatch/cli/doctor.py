# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch doctor`: what this machine has and lacks, and the one command that fixes it."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Iterator

import click

from mmbatch.cli import options, requirements
from mmbatch.core import cache, log
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.process import run
from mmbatch.kernel import apt, sources

_STYLES = {"ok": "green", "missing": "bold red", "note": "yellow"}
_ARENA_BYTES = 2_300_000_000
"""What `bench` needs at most: the largest hosted program was measured to use 2.2 GB."""
_CACHE_BYTES = 3_000_000_000
_SILENT = ("bc",)  # prints a page for --version, or waits for input
_FOR_SOME = {"sparse": "export --check", "clang": "the fuzzer of check"}

Row = tuple[str, str, str]
"""Whether it is "ok", "missing" or a "note"; what was looked at; what was found."""


@click.command("doctor")
@options.install
@options.output
def command(install: bool) -> int:
    """Check that this machine has what mmbatch needs, and say how to get what is missing."""
    found = requirements.lacking()
    if found and install:
        apt.install(sorted(set(found.values())))
        found = requirements.lacking()
    rows = [*_programs(), *(("missing", name, "") for name in found), *_notes()]
    log.table(rows, [_STYLES[state] for state, *_ in rows])
    if not found:
        log.result("nothing is missing")
        return ExitCode.GOOD
    log.result(f"missing: {', '.join(found)}")
    log.result(f"install them with: {apt.install_command(sorted(set(found.values())))}")
    log.result("or let mmbatch do that: mmbatch doctor --install")
    return ExitCode.FAILED


def _programs() -> Iterator[Row]:
    for program in requirements.PROGRAMS:
        if apt.find_program(program) is not None:
            yield "ok", program, "" if program in _SILENT else _version(program)


def _version(program: str) -> str:
    printed = run([program, "--version"], action=f"ask {program}", check=False).stdout
    match = re.search(r"\d+(?:\.\d+)+", printed)
    return match[0] if match else ""


def _notes() -> Iterator[Row]:
    memory = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    enough = memory >= _ARENA_BYTES
    text = "" if enough else "; large cases need 2.3 GB: choose others by --case"
    yield "ok" if enough else "note", "memory free", f"{memory / 1e9:.1f} GB{text}"
    yield from _cache()
    load = os.getloadavg()[0]
    busy = load > 0.5 * (os.cpu_count() or 1)
    text = "; other work makes the numbers noisy" if busy else ""
    yield "note" if busy else "ok", "load", f"{load:.2f}{text}"
    try:
        yield "ok", "apt", f"follows {', '.join(suite for suite, _ in apt.followed())}"
    except MmbatchError as error:
        yield "note", "apt", f"{error.problem}; {error.hint}"
    guests = {name for programs in apt.GUEST_PROGRAMS.values() for name in programs}
    lacking = sorted(name for name in guests if apt.find_program(name) is None)
    text = f"no {' and no '.join(lacking)}" if lacking else "QEMU and what guests are made of"
    yield "note" if lacking else "ok", "guests", text
    yield from _live()
    for program, purpose in _FOR_SOME.items():
        path = shutil.which(program)
        yield "ok" if path else "note", program, path or f"not here, for {purpose}"


def _cache() -> Iterator[Row]:
    try:
        root = cache.root()
    except MmbatchError as error:
        yield "note", "cache directory", f"{error.problem}; {error.hint}"
        return
    free = cache.free_bytes(root)
    state = "ok" if free >= _CACHE_BYTES else "note"
    yield state, "cache directory", f"{root}, {free / 1e9:.0f} GB free"
    found = [sources.find_cached(series) for series in sources.SERIES]
    releases = ", ".join(kernel.release for kernel in found if kernel is not None)
    yield "ok" if releases else "note", "kernels", releases or "none yet; bench fetches one"


def _live() -> Iterator[Row]:
    """Say whether a speed-up can be loaded into the kernel that runs here."""
    from mmbatch.core import paths
    from mmbatch.live import manifest

    release = platform.release()
    series = ".".join(release.split(".")[:2])
    known = manifest.known(paths.SPEEDUPS)
    fit = [name for name in known if series in manifest.load(paths.SPEEDUPS, name).series]
    text = f"{', '.join(fit)} for {release}" if fit else f"no livepatch is made for {release}"
    yield "ok" if fit else "note", "live", text
