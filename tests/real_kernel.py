# SPDX-License-Identifier: GPL-2.0-only
"""Real kernels of the user's cache, and hosted programs of them, for tests."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from mmbatch.core import paths, process
from mmbatch.core.cache import Cache
from mmbatch.core.errors import MmbatchError
from mmbatch.core.paths import default_root
from mmbatch.hosted.events import Event, parse
from mmbatch.hosted.program import Program
from mmbatch.kernel.sources import SERIES, Source, find_cached
from mmbatch.splice.manifest import load_with_needs


def newest(env: Mapping[str, str] | None = None) -> tuple[Cache, Source]:
    """Return the cache and the newest kernel in it; skip the test if there is none.

    Args:
        env: the environment that says where the cache is; by default our own.
    """
    try:
        root = default_root(os.environ if env is None else env)
    except MmbatchError:
        pytest.skip("no cache")
    cache = Cache(root) if root.is_dir() else None
    for series in SERIES if cache else ():
        assert cache is not None
        if source := find_cached(cache, series):
            return cache, source
    pytest.skip("no kernel in the cache")


def hosted_program(speedup: str) -> Path:
    """Return the hosted program of a speed-up on the newest kernel."""
    _, source = newest()
    return Program(source, load_with_needs(paths.SPEEDUPS, speedup)).path


def hosted_events(program: Path, *arguments: str) -> list[Event]:
    """Run a hosted program, and return what it printed."""
    done = process.run([program, *arguments], action="run a hosted program", timeout_s=300)
    return [parse(line, number) for number, line in enumerate(done.stdout.splitlines(), 1)]
