# SPDX-License-Identifier: GPL-2.0-only
"""Real kernels of the user's cache, and hosted programs of them, for tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mmbatch.core import paths, process
from mmbatch.hosted.events import Event, parse
from mmbatch.hosted.program import Program
from mmbatch.kernel.sources import SERIES, Source, find_cached
from mmbatch.splice.manifest import load_with_needs

_PROGRAMS = ("spatch", "gcc", "make", "flex", "bison", "bc", "objcopy")
_LACKS = [name for name in _PROGRAMS if shutil.which(name) is None]
MARKS = [pytest.mark.kernel, pytest.mark.skipif(bool(_LACKS), reason=f"lacks {', '.join(_LACKS)}")]
"""Of tests that build hosted programs."""


def newest() -> Source:
    """Return the newest kernel in the cache; skip the test if there is none."""
    for series in SERIES:
        if source := find_cached(series):
            return source
    pytest.skip("no kernel in the cache")


def hosted_program(speedup: str) -> Path:
    """Return the hosted program of a speed-up on the newest kernel."""
    return Program(newest(), load_with_needs(paths.SPEEDUPS, speedup)).path


def hosted_events(program: Path, *arguments: str) -> list[Event]:
    """Run a hosted program, and return what it printed."""
    done = process.run([program, *arguments], action="run a hosted program", timeout_s=300)
    return [parse(line, number) for number, line in enumerate(done.stdout.splitlines(), 1)]
