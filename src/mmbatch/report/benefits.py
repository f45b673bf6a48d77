# SPDX-License-Identifier: GPL-2.0-only
"""Who benefits from a speed-up: what its README says under that heading, as plain words."""

from __future__ import annotations

import re
from pathlib import Path

_HEADING = re.compile(r"^##+ .*who benefits.*$", re.IGNORECASE | re.MULTILINE)
_NEXT = re.compile(r"^(#|\||- |```|    |<!--)", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def who_benefits(directory: Path) -> list[str]:
    """Return the paragraphs of that section, without Markdown; none where there is none.

    Args:
        directory: the speed-up's directory.
    """
    try:
        text = (directory / "README.md").read_text(encoding="utf-8")
    except OSError:
        return []
    heading = _HEADING.search(text)
    if heading is None:
        return []
    rest = text[heading.end() :].lstrip("\n")
    end = _NEXT.search(rest)
    paragraphs = rest[: end.start() if end else None].split("\n\n")
    return [plain for one in paragraphs if (plain := _plain(one))]


def _plain(paragraph: str) -> str:
    words = " ".join(_LINK.sub(r"\1", paragraph).split())
    return words.replace("**", "").replace("`", "")
