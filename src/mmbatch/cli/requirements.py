# SPDX-License-Identifier: GPL-2.0-only
"""Check what this machine has of what mmbatch needs."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from mmbatch.bench import machine
from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.disk import cache_remedy, free_bytes
from mmbatch.core.errors import MmbatchError
from mmbatch.core.process import run
from mmbatch.debian import archives, packages
from mmbatch.debian.apt import source_files
from mmbatch.kernel import sources
from mmbatch.live import kernel, manifest

SPATCH_FLOOR = (1, 1, 1)
"""The oldest Coccinelle whose parser takes the kernels that we splice."""

REQUIRED_PACKAGES = {
    "C compiler": "gcc",
    "C headers": "libc6-dev",
    "make": "make",
    "git": "git",
    "spatch": "coccinelle",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "perl": "perl",
    "xz": "xz-utils",
    "linker": "binutils",
    "libelf": "libelf-dev",
}
"""What must be here, and the Debian package that brings it."""

_PROGRAMS = {
    "C compiler": ("gcc",),
    "make": ("make",),
    "git": ("git",),
    "spatch": ("spatch",),
    "flex": ("flex",),
    "bison": ("bison",),
    "bc": ("bc",),
    "perl": ("perl",),
    "xz": ("xz",),
    "linker": ("ld", "objcopy", "nm"),
}
_HEADERS = {
    "C headers": ("stdio.h",),
    "libelf": ("libelf.h", "gelf.h"),
}
_INCLUDES = Path("/usr/include")
_ARENA_BYTES = 2_300_000_000
"""What `bench` needs at most: the largest hosted program was measured to use 2.2 GB."""
_CACHE_BYTES = 3_000_000_000
_SILENT = ("bc",)  # prints a page for --version, or waits for input


class State(StrEnum):
    """What a check found."""

    OK = "ok"
    MISSING = "missing"
    NOTE = "note"


@dataclass(frozen=True)
class Check:
    """One line of the doctor's report.

    Attributes:
        name: what was looked at.
        state: MISSING only for what bench can't do without.
        detail: what was found.
        remedy: what to do; empty when nothing need be done.
    """

    name: str
    state: State
    detail: str
    remedy: str = ""


def diagnose(which: Callable[[str], str | None] = shutil.which) -> list[Check]:
    """Look at everything, required first.

    Args:
        which: finds a program's path by its name.
    """
    return [*_required(which), *_notes()]


def missing_packages(checks: Iterable[Check]) -> list[str]:
    """Return the Debian packages that would turn every missing check into a good one."""
    return [
        REQUIRED_PACKAGES[check.name]
        for check in checks
        if check.state is State.MISSING and check.name in REQUIRED_PACKAGES
    ]


def ensure(say: Callable[[str], None], *, install: bool, log: Path | None = None) -> None:
    """Make sure that everything required is here.

    Args:
        say: told what is being installed.
        install: may use apt to install what is missing.
        log: where apt's output goes.

    Raises:
        MmbatchError: something is missing and could not be, or must not be, installed.
    """
    lacking = [check for check in _required(shutil.which) if check.state is State.MISSING]
    names = missing_packages(lacking)
    if names and install:
        packages.install(names, say, log)
        lacking = [check for check in _required(shutil.which) if check.state is State.MISSING]
        names = missing_packages(lacking)
    if lacking:
        remedy = packages.install_command(names) if names else lacking[0].remedy
        raise MmbatchError(
            "find what mmbatch needs on this machine",
            "; ".join(f"{check.name}: {check.detail}" for check in lacking),
            f"give --install, or run: {remedy}" if names and not install else f"run: {remedy}",
        )


def ensure_sparse(say: Callable[[str], None], *, install: bool) -> None:
    """Make sure that sparse is here, which only `export --check` needs.

    Raises:
        MmbatchError: it is not, and could not be, or must not be, installed.
    """
    if shutil.which("sparse") is None and install:
        packages.install(["sparse"], say)
    if shutil.which("sparse") is None:
        raise MmbatchError(
            "find what export --check needs",
            "no sparse",
            f"give --install, or run: {packages.install_command(['sparse'])}",
        )


def spatch_version(text: str) -> tuple[int, ...] | None:
    """Return the version in what `spatch --version` printed, or None."""
    match = re.search(r"spatch version (\d+(?:\.\d+)*)", text)
    return tuple(int(number) for number in match[1].split(".")) if match else None


def _required(which: Callable[[str], str | None]) -> Iterator[Check]:
    version = ".".join(str(number) for number in sys.version_info[:3])
    state = State.OK if sys.version_info >= (3, 11) else State.MISSING
    yield Check("python", state, version, "" if state is State.OK else "install Python 3.11")
    for name, package in REQUIRED_PACKAGES.items():
        remedy = packages.install_command([package])
        absent = [program for program in _PROGRAMS.get(name, ()) if which(program) is None]
        absent += [header for header in _HEADERS.get(name, ()) if not _header_exists(header)]
        if absent:
            yield Check(name, State.MISSING, f"no {' and no '.join(absent)}", remedy)
        elif name == "spatch":
            yield _spatch(remedy)
        elif name in _PROGRAMS:
            yield Check(name, State.OK, _version(_PROGRAMS[name][0]))
        else:
            yield Check(name, State.OK, ", ".join(_HEADERS[name]))


def _header_exists(header: str) -> bool:
    return (_INCLUDES / header).exists() or any(_INCLUDES.glob(f"*-linux-gnu/{header}"))


def _spatch(remedy: str) -> Check:
    version = spatch_version(run(["spatch", "--version"], action="ask spatch", check=False).stdout)
    if version is None:
        return Check("spatch", State.MISSING, "it tells no version", remedy)
    shown = ".".join(map(str, version))
    if version < SPATCH_FLOOR:
        floor = ".".join(map(str, SPATCH_FLOOR))
        return Check("spatch", State.MISSING, f"{shown} is older than {floor}", remedy)
    return Check("spatch", State.OK, shown)


def _version(program: str) -> str:
    """Return a program's name and version, or where it lies when it tells none."""
    if program in _SILENT:
        return shutil.which(program) or program
    printed = run([program, "--version"], action=f"ask {program}", check=False, timeout_s=20).stdout
    match = re.search(r"\d+(?:\.\d+)+", printed)
    return f"{program} {match[0]}" if match else (shutil.which(program) or program)


def _notes() -> Iterator[Check]:
    here = machine.describe()
    available = here.available_bytes or 0
    yield Check(
        "memory free",
        State.OK if available >= _ARENA_BYTES else State.NOTE,
        f"{available / 1e9:.1f} GB",
        "" if available >= _ARENA_BYTES else "large cases need 2.3 GB; choose others by --case",
    )
    yield from _cache_notes()
    flags = " ".join(
        name if here.flags.get(name) else f"no-{name}"
        for name in ("rep_good", "erms", "fsrm", "movdir64b", "clzero")
    )
    yield Check("CPU", State.OK, f"{here.cpu}, {here.cores} cores; {flags}")
    yield Check("huge pages", State.OK, here.thp or "this kernel has none")
    load = here.load or 0.0
    busy = load > 0.5 * (os.cpu_count() or 1)
    yield Check(
        "load",
        State.NOTE if busy else State.OK,
        f"{load:.2f}",
        "other work makes the numbers noisy" if busy else "",
    )
    yield Check("hypervisor", State.OK, here.hypervisor or "none")
    yield _apt()
    yield _guests()
    yield _live()
    yield _optional("sparse", "sparse", "export --check")
    yield _optional("clang", "clang", "the fuzzer of check")
    yield _optional("browser", "chromium", "the test of the report's page")


def _live() -> Check:
    """Say whether a speed-up can be loaded into the kernel that runs here."""
    release = kernel.running()
    fit = [
        name
        for name in manifest.known(paths.SPEEDUPS)
        if kernel.series_in(release) in manifest.load(paths.SPEEDUPS, name).series
    ]
    if not fit:
        found = f"no livepatch is made for {release}"
        return Check("live", State.NOTE, found, "./mmbatch live test boots a kernel that has one")
    installed = kernel.find_installed(release) is not None
    state = "installed" if installed else "not installed, fetched when wanted"
    return Check("live", State.OK, f"{', '.join(fit)} for {release}; its headers are {state}")


def _guests() -> Check:
    lacking = packages.missing_for_guests(("x86_64", "arm64"))
    if not lacking:
        return Check("guests", State.OK, "QEMU and what guests are made of")
    remedy = packages.install_command(sorted(set(lacking.values())))
    return Check("guests", State.NOTE, f"no {' and no '.join(lacking)}", remedy)


def _optional(name: str, program: str, purpose: str) -> Check:
    """Look for a program that has its Debian package's name and that few verbs need."""
    path = shutil.which(program)
    if path is not None:
        return Check(name, State.OK, path)
    remedy = packages.install_command([program])
    return Check(name, State.NOTE, f"no {program}, for {purpose}", remedy)


def _cache_notes() -> Iterator[Check]:
    try:
        cache = Cache.open()
    except MmbatchError as error:
        yield Check("cache directory", State.MISSING, error.problem, error.hint)
        return
    free = free_bytes(cache.root)
    yield Check(
        "cache directory",
        State.OK if free >= _CACHE_BYTES else State.NOTE,
        f"{cache.root}, {free / 1e9:.0f} GB free",
        "" if free >= _CACHE_BYTES else cache_remedy(full=True),
    )
    found = [sources.find_cached(cache, series) for series in sources.SERIES]
    releases = [source.release for source in found if source is not None]
    yield Check(
        "kernels",
        State.OK if releases else State.NOTE,
        ", ".join(releases) if releases else "none cached yet",
        "" if releases else "bench fetches one (170 MB)",
    )


def _apt() -> Check:
    try:
        suites = archives.configured(source_files())
        main = archives.main_suite(suites)
    except MmbatchError as error:
        return Check("apt", State.NOTE, error.problem, error.hint)
    security = any(suite.is_security for suite in suites)
    more = "and its security updates" if security else "without its security updates"
    return Check("apt", State.OK, f"follows Debian {main.name} {more}")
