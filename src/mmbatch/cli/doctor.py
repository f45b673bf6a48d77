# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch doctor`: what this machine has and lacks, and the one command that fixes it."""

from __future__ import annotations

from mmbatch.cli import options
from mmbatch.core import cache, log
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.process import PACKAGES
from mmbatch.kernel import apt, sources

PROGRAMS = (
    *("gcc", "make", "git", "spatch", "patch", "flex", "bison", "bc", "perl", "xz"),
    *("ld", "objcopy", "nm"),
)
HEADERS = ("libc6-dev", "libelf-dev")
"""Debian packages of headers; like the programs, all verbs but some of `live` need them."""

_FOR_SOME = {"sparse": "export --check", "clang": "the fuzzer of check"}
_FOR_SOME |= {name: "guests" for names in apt.GUEST_PROGRAMS.values() for name in names}
_STYLES = {"ok": "green", "missing": "bold red", "note": "yellow"}


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
    rows = [("missing", name, "") for name in found]
    for program in (*PROGRAMS, *_FOR_SOME):
        if path := apt.find_program(program):
            rows.append(("ok", program, str(path)))
        elif program in _FOR_SOME:
            rows.append(("note", program, f"not here, for {_FOR_SOME[program]}"))
    cached = filter(None, map(sources.find_cached, sources.SERIES))
    kernels = ", ".join(source.release for source in cached) or "none yet; bench fetches one"
    rows += [("ok", "cache", str(cache.root())), ("ok", "kernels", kernels)]
    log.table(rows, [_STYLES[state] for state, *_ in rows])
    if not found:
        log.result("nothing is missing")
        return ExitCode.GOOD
    log.result(f"missing: {', '.join(found)}")
    log.result(f"install them with: {apt.install_command(sorted(set(found.values())))}")
    log.result("or let mmbatch do that: mmbatch doctor --install")
    return ExitCode.FAILED
