# SPDX-License-Identifier: GPL-2.0-only
"""The tool finds speed-ups by looking in speedups/, and names none of them."""

import re
from pathlib import Path

import mmbatch
from mmbatch.core.paths import SPEEDUPS

SOURCES = Path(mmbatch.__file__).parent


def test_the_tool_names_no_speedup() -> None:
    names = sorted(path.parent.name for path in SPEEDUPS.glob("[!_]*/speedup.toml"))
    assert len(names) >= 4
    # Alone or as a part of an identifier.
    pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(names)})(?![A-Za-z0-9])")
    for path in SOURCES.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert not pattern.search(path.read_text(encoding="utf-8")), path
