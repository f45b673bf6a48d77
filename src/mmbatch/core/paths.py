# SPDX-License-Identifier: GPL-2.0-only
"""Where the directories of this checkout are."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SPEEDUPS = ROOT / "speedups"
MACROS = SPEEDUPS / "macros.h"
HOSTED = ROOT / "hosted"
LIVE = ROOT / "live"
