# SPDX-License-Identifier: GPL-2.0-only
"""Packages of the tool import downwards only."""

import re
from pathlib import Path

import mmbatch

SOURCES = Path(mmbatch.__file__).parent
_UPPER = ["bench", "report", "series", "live", "guest", "cli"]
ORDER = ["core", "kernel", "splice", "hosted", *_UPPER]  # from the bottom up


def test_imports_go_down() -> None:
    assert {path.parent.name for path in SOURCES.glob("*/__init__.py")} == set(ORDER)
    for path in SOURCES.glob("*/*.py"):
        below = ORDER[: ORDER.index(path.parent.name) + 1]
        text = path.read_text(encoding="utf-8")
        found = re.findall(r"^ *(?:from|import) mmbatch\.(\w+)", text, re.MULTILINE)
        found += re.findall(r"^ *from mmbatch import (\w+)", text, re.MULTILINE)
        assert not (set(ORDER) & set(found)) - set(below), path
