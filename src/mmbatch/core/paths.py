# SPDX-License-Identifier: GPL-2.0-only
"""Where the directories of this checkout are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SPEEDUPS = ROOT / "speedups"
MACROS = SPEEDUPS / "macros.h"
HOSTED = ROOT / "hosted"
LIVE = ROOT / "live"


def cache_variable(env: Mapping[str, str]) -> str:
    """Return the name of the variable that moves the cache."""
    return "MMBATCH_CACHE"


def default_root(env: Mapping[str, str] = os.environ) -> Path:
    """See `cache.default_root`."""
    from mmbatch.core import cache

    return cache.default_root()
