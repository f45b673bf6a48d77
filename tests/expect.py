# SPDX-License-Identifier: GPL-2.0-only
"""What tests expect of errors for people, and of programs that they run."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mmbatch.core.errors import MmbatchError


@contextmanager
def fails(*words: str, code: int | None = None) -> Iterator[None]:
    """Expect an error that has some words in it, and an exit code if one is given."""
    with pytest.raises(MmbatchError) as caught:
        yield
    text = str(caught.value)  # cannot ACTION: PROBLEM; HINT
    assert [each for each in words if each not in text] == [], text
    assert code in (None, caught.value.code)


def printed(*argv: object, **more: Any) -> str:
    """Run a program, which must end well, and return what it printed."""
    words = list(map(str, argv))
    return str(subprocess.run(words, check=True, capture_output=True, text=True, **more).stdout)


def gone(pid: int) -> bool:
    """Tell whether a process ends (or is only a zombie that nobody reaps) in time."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state in "ZX":
            return True
        time.sleep(0.02)
    return False
