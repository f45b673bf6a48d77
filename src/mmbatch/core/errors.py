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
    """A failure that a user can act on: one sentence each for what was tried, found and to do.

    Args:
        tried: what the tool was doing, as a phrase ("fetch linux-source-7.3").
        found: what it met instead.
        todo: what the reader can do about it.
        code: the process's exit code.
    """

    def __init__(self, tried: str, found: str, todo: str, code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(f"{tried}: {found}; {todo}")
        self.tried = tried
        self.found = found
        self.todo = todo
        self.code = code
