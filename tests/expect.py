"""What tests expect of errors for people, and of programs that they run."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
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
