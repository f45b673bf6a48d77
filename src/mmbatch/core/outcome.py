# SPDX-License-Identifier: GPL-2.0-only
"""How a program ended, and what to tell a person when it ended badly."""

from __future__ import annotations

import os
import re
import shlex
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core.errors import MmbatchError

_TELLING = re.compile(r"\b(?:error|fatal): |undefined reference", re.IGNORECASE)


def message(error: MmbatchError) -> str:
    """Return what a person reads of an error: an `error:` and a `hint:` line, as git has them."""
    problem = " ".join(error.problem.split()).rstrip(".")
    return f"error: cannot {error.action}: {problem}\nhint: {error.hint.rstrip('.')}"


@dataclass(frozen=True)
class Result:
    """How a program ended.

    Attributes:
        rc: exit status, negative for a signal.
        stdout: what it printed; with a log, the last 64 KiB of both of its streams.
        stderr: what it printed there; empty with a log.
    """

    rc: int
    stdout: str
    stderr: str


def too_slow(argv: Sequence[str | Path], action: str, timeout_s: float | None) -> MmbatchError:
    """Return the error for a program that ran past its time limit, in seconds."""
    return MmbatchError(
        action,
        f"{Path(argv[0]).name} did not finish within {timeout_s:g} s",
        "try again, on a machine with less other load",
    )


def raise_unless_good(
    result: Result, argv: Sequence[str | Path], action: str, log: Path | None
) -> None:
    """Raise MmbatchError with a program's last words unless it ended with 0.

    Args:
        result: how it ended.
        argv: program and arguments.
        action: what it was for.
        log: where all of its output is, if anywhere.
    """
    if result.rc == 0:
        return
    lines = [line for line in (result.stdout + "\n" + result.stderr).splitlines() if line.strip()]
    last = lines[-1].strip() if lines else "it said nothing"
    ended = f"ended with {result.rc}"
    if result.rc < 0:
        ended = f"was ended by signal {signal.Signals(-result.rc).name}"
    full = [line.strip() for line in lines if "No space left on device" in line]
    if full:
        last = full[0]
        hint = "free some space on that disk, or set XDG_CACHE_HOME to a folder on another one"
    elif log is not None:
        hint = f"read the whole output in {os.fspath(log)}"
        last = next((line.strip() for line in lines if _TELLING.search(line)), last)
    else:
        hint = "run it by hand to see more: " + shlex.join([os.fspath(word) for word in argv])
    raise MmbatchError(action, f"{Path(argv[0]).name} {ended}: {last}", hint)
