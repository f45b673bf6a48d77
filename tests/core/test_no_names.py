# SPDX-License-Identifier: GPL-2.0-only
"""The tool finds speed-ups by looking in speedups/, and names none of them."""

import re
from pathlib import Path

import mmbatch
from mmbatch.core.paths import SPEEDUPS

SOURCES = Path(mmbatch.__file__).parent


def lines_with(names: list[str], text: str) -> list[str]:
    """Return the lines that have a name, alone or as a part of an identifier."""
    pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(names)})(?![A-Za-z0-9])")
    return [line for line in text.splitlines() if pattern.search(line)]


def test_the_tool_names_no_speedup() -> None:
    names = sorted(
        path.parent.name
        for path in SPEEDUPS.glob("*/speedup.toml")
        if not path.parent.name.startswith("_")
    )
    assert len(names) >= 4
    found = {
        str(path.relative_to(SOURCES)): lines
        for path in SOURCES.rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and (lines := lines_with(names, path.read_text(encoding="utf-8")))
    }
    assert found == {}
