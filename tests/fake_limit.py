# SPDX-License-Identifier: GPL-2.0-only
"""Time limits that are reached by an event, so that no test has to guess how long it takes."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

_ASKED_EVERY_S = 0.05
_READS = 2  # what was written before the event may need one more read


class LimitOfFile:
    """In place of `process._Limit`: reached soon after there is a file that is not empty."""

    def __init__(self, file: Path, seconds: float | None) -> None:
        self.seconds = seconds
        self._file = file
        self._asked = 0

    def spent(self) -> float:
        return self.seconds or 0.0

    def left(self) -> float | None:
        if self.seconds is None:
            return None
        if self._file.exists() and self._file.read_text().strip():
            self._asked += 1
            if self._asked > _READS:
                raise TimeoutError
        return _ASKED_EVERY_S


def reach_limits_with(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    """Let every time limit of `process` be reached once the file is there."""
    limit = functools.partial(LimitOfFile, file)
    monkeypatch.setattr("mmbatch.core.process._Limit", limit)
