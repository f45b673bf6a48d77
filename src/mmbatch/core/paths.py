# SPDX-License-Identifier: GPL-2.0-only
"""Where the directories of this checkout and the cache are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from mmbatch.core.errors import ExitCode, MmbatchError

ROOT = Path(__file__).resolve().parents[3]
SPEEDUPS = ROOT / "speedups"
MACROS = SPEEDUPS / "macros.h"
HOSTED = ROOT / "hosted"
LIVE = ROOT / "live"


def cache_variable(env: Mapping[str, str]) -> str:
    """Return the name of the variable that moves the cache of `default_root`."""
    return "MMBATCH_CACHE" if env.get("MMBATCH_CACHE") else "XDG_CACHE_HOME"


def default_root(env: Mapping[str, str]) -> Path:
    """Return where the cache is: MMBATCH_CACHE, else mmbatch in XDG_CACHE_HOME or ~/.cache.

    Raises:
        MmbatchError: none of these is set.
    """
    if chosen := env.get("MMBATCH_CACHE"):
        return Path(chosen).absolute()
    home = env.get("HOME", "")
    base = env.get("XDG_CACHE_HOME", "")
    if not Path(base).is_absolute():  # the XDG specification: a relative one is ignored
        if not Path(home).is_absolute():
            problem = "neither HOME nor XDG_CACHE_HOME is set"
            if base:
                problem = f"XDG_CACHE_HOME is a relative path ('{base}'), and HOME is not set"
            raise MmbatchError(
                "find the cache directory",
                problem,
                "set XDG_CACHE_HOME to the absolute path of a directory that can be written",
                ExitCode.USAGE,
            )
        base = os.fspath(Path(home) / ".cache")
    return Path(base) / "mmbatch"
