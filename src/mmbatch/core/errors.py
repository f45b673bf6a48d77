# SPDX-License-Identifier: GPL-2.0-only
"""What a user is told when something can't be done, and with which exit code."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of every verb; docs/reference.md explains them."""

    GOOD = 0
    FAILED = 1
    USAGE = 2
    SPLICE = 3
    INCONCLUSIVE = 4
    NOT_APPLICABLE = 77


class MmbatchError(Exception):
    """A failure that a user can act on, told as an `error:` and a `hint:` line.

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
