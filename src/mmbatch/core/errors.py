# SPDX-License-Identifier: GPL-2.0-only
"""Errors that a user can act on, and exit codes."""

from __future__ import annotations

import difflib
import errno
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of every verb; `./mmbatch --help` explains them."""

    GOOD = 0
    FAILED = 1
    USAGE = 2
    SPLICE = 3
    INCONCLUSIVE = 4
    SLOWER = 5
    NOT_APPLICABLE = 77


class MmbatchError(Exception):
    """A failure that a user can act on, printed as an `error:` and a `hint:` line.

    Args:
        action: what the tool could not do, as an infinitive phrase ("fetch linux-source-7.3").
        problem: why not, as a clause ("apt knows no such package").
        hint: what the reader can do about it, as an imperative ("update apt's lists").
        code: the process's exit code.
    """

    def __init__(
        self, action: str, problem: str, hint: str, code: ExitCode = ExitCode.FAILED
    ) -> None:
        super().__init__(f"cannot {action}: {problem}; {hint}")
        self.action = action
        self.problem = problem
        self.hint = hint
        self.code = code


@dataclass(frozen=True)
class CaseOutcome:
    """How one test ended.

    Attributes:
        suite: what was tested, such as a speed-up on a kernel.
        case: which test it was; empty for the plain one of the suite.
        problem: why it failed; None if it did not.
        skipped: why it was not run; None if it was.
        detail: more for people to read.
        seconds: that it took; None if that is not known.
    """

    suite: str
    case: str = ""
    problem: str | None = None
    skipped: str | None = None
    detail: str = ""
    seconds: float | None = None

    @property
    def title(self) -> str:
        """The suite and the case."""
        return f"{self.suite}, {self.case}" if self.case else self.suite

    @property
    def name(self) -> str:
        """The case; KTAP needs a name that differs from that of the suite."""
        return self.case or "plain"

    @property
    def passed(self) -> bool:
        """Whether it was run and did not fail."""
        return self.problem is None and self.skipped is None


def message(error: MmbatchError) -> str:
    """Return what a person reads of an error: an `error:` and a `hint:` line, as git has them."""
    parts = (error.action, error.problem, error.hint)  # two lines, whatever a part quotes
    action, problem, hint = (re.sub(r"\s*\n\s*", " ", part).strip().rstrip(".") for part in parts)
    return f"error: cannot {action}: {problem}\nhint: {hint}"


def error_from_os(error: OSError, action: str) -> MmbatchError:
    """Return the error for what the operating system refused."""
    problem = error.strerror or str(error)
    if error.filename is not None:
        problem = f"{os.fsdecode(error.filename)}: {problem}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return MmbatchError(action, problem, full_hint())
    return MmbatchError(action, problem, "see its owner and permissions, or choose another place")


def full_hint() -> str:
    """Return what to do about a full disk."""
    return "free some space, or set MMBATCH_CACHE to a directory on another disk"


def suggestion(word: str, known: Sequence[str], kind: str) -> str:
    """Return a hint about a name that nothing has: the closest known name, or all of them.

    Args:
        word: the name.
        known: the names that there are.
        kind: what they name, in the plural ("kernels").
    """
    close = difflib.get_close_matches(word, known, 1)
    return f"did you mean '{close[0]}'?" if close else f"known {kind}: {', '.join(known) or 'none'}"
