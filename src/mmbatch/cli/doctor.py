# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch doctor`: what this machine has and lacks, and the one command that fixes it."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Iterator

from mmbatch.cli import options
from mmbatch.core import cache, log
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.process import PACKAGES, run
from mmbatch.kernel import apt, sources

PROGRAMS = (
    *("gcc", "make", "git", "spatch", "flex", "bison", "bc", "perl", "xz", "ld", "objcopy", "nm"),
)
HEADERS = ("libc6-dev", "libelf-dev")
"""Debian packages of headers; like the programs, all verbs but some of `live` need them."""

_STYLES = {"ok": "green", "missing": "bold red", "note": "yellow"}
_ARENA_BYTES = 2_300_000_000
"""What `bench` needs at most: the largest hosted program was measured to use 2.2 GB."""
_CACHE_BYTES = 3_000_000_000
_SILENT = ("bc",)  # prints a page for --version, or waits for input
_FOR_SOME = {"sparse": "export --check", "clang": "the fuzzer of check"}

Row = tuple[str, str, str]
"""Whether it is "ok", "missing" or a "note"; what was looked at; what was found."""


def ensure(*, install: bool) -> None:
    """Raise MmbatchError unless everything required is here, or apt may `install` it."""
    if found := _lacking(install=install):
        command = apt.install_command(sorted(set(found.values())))
        raise MmbatchError(
            "find what mmbatch needs on this machine",
            f"there is no {' and no '.join(found)}",
            f"run: {command}" if install else f"give --install, or run: {command}",
        )


def _lacking(*, install: bool) -> dict[str, str]:
    """Return what is not here, after apt had a chance to install it, and the Debian packages."""
    lacking = [name for name in PROGRAMS if apt.find_program(name) is None]
    found = {name: PACKAGES.get(name, name) for name in lacking}
    found |= {name: name for name in apt.missing(HEADERS)}
    if found and install:
        apt.install(sorted(set(found.values())))
        return _lacking(install=False)
    return found


@options.verb("doctor")
def command(install: bool = options.install) -> int:
    """Check that this machine has what mmbatch needs, and say how to get what is missing."""
    found = _lacking(install=install)
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
    for program in PROGRAMS:
        if apt.find_program(program) is not None:
            yield "ok", program, "" if program in _SILENT else _version(program)


def _version(program: str) -> str:
    printed = run([program, "--version"], action=f"ask {program}", check=False).stdout
    match = re.search(r"\d+(?:\.\d+)+", printed)
    return match[0] if match else ""


def _notes() -> Iterator[Row]:
    def noted(good: object, name: str, text: str, otherwise: str = "") -> Row:
        return ("ok", name, text) if good else ("note", name, otherwise or text)

    memory = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    text = f"{memory / 1e9:.1f} GB"
    few = f"{text}; large cases need 2.3 GB: choose others by --case"
    yield noted(memory >= _ARENA_BYTES, "memory free", text, few)
    try:
        root = cache.root()
        free = cache.free_bytes(root)
        yield noted(free >= _CACHE_BYTES, "cache directory", f"{root}, {free / 1e9:.0f} GB free")
        found = [sources.find_cached(series) for series in sources.SERIES]
        releases = ", ".join(kernel.release for kernel in found if kernel is not None)
        yield noted(releases, "kernels", releases, "none yet; bench fetches one")
    except MmbatchError as error:
        yield "note", "cache directory", f"{error.problem}; {error.hint}"
    load = os.getloadavg()[0]
    busy = f"{load:.2f}; other work makes the numbers noisy"
    yield noted(load <= 0.5 * (os.cpu_count() or 1), "load", f"{load:.2f}", busy)
    try:
        yield "ok", "apt", f"follows {', '.join(suite for suite, _ in apt.followed())}"
    except MmbatchError as error:
        yield "note", "apt", f"{error.problem}; {error.hint}"
    guests = {name for programs in apt.GUEST_PROGRAMS.values() for name in programs}
    lacking = " and no ".join(sorted(name for name in guests if apt.find_program(name) is None))
    yield noted(not lacking, "guests", "QEMU and what guests are made of", f"no {lacking}")
    yield _live()
    for program, purpose in _FOR_SOME.items():
        path = shutil.which(program)
        yield noted(path, program, str(path), f"not here, for {purpose}")


def _live() -> Row:
    """Say whether a speed-up can be loaded into the kernel that runs here."""
    from mmbatch.live import manifest

    release = platform.release()
    series = ".".join(release.split(".")[:2])
    fit = [live.speedup for live in manifest.load_all(()) if series in live.series]
    if not fit:
        return "note", "live", f"no livepatch is made for {release}"
    return "ok", "live", f"{', '.join(fit)} for {release}"
