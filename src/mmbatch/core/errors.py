# SPDX-License-Identifier: GPL-2.0-only
"""Errors that a user can act on, and exit codes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
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

    The tool cannot `action` ("fetch linux-source-7.3"): `problem` ("apt knows no such package").
    What the reader can do is `hint` ("update apt's lists").
    """

    def __init__(
        self, action: str, problem: str, hint: str, code: ExitCode = ExitCode.FAILED
    ) -> None:
        super().__init__(f"cannot {action}: {problem}; {hint}")
        self.action = action
        self.problem = problem
        self.hint = hint
        self.code = code


def message(error: MmbatchError) -> str:
    """Return what a person reads of an error: an `error:` and a `hint:` line, as git has them."""
    parts = (error.action, error.problem, error.hint)  # two lines, whatever a part quotes
    action, problem, hint = (re.sub(r"\s*\n\s*", " ", part).strip().rstrip(".") for part in parts)
    return f"error: cannot {action}: {problem}\nhint: {hint}"


FULL_HINT = "free some space, or set MMBATCH_CACHE to a directory on another disk"


def suggestion(word: str, known: Sequence[str], kind: str) -> str:
    """Return a hint about a name that nothing has: the closest known one, or all ("kernels")."""
    close = difflib.get_close_matches(word, known, 1)
    return f"did you mean '{close[0]}'?" if close else f"known {kind}: {', '.join(known) or 'none'}"
