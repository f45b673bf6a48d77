# SPDX-License-Identifier: GPL-2.0-only
"""What the README of a speed-up says about it, for cover letters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_HEADING = re.compile(r"^##+ .*who benefits.*$", re.IGNORECASE | re.MULTILINE)
_COMPARED = re.compile(r"^## Compared with the .*$", re.MULTILINE)
_SECTION_END = re.compile(r"^(#|\||- |```|    |<!--)", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\[(])")
_OF_THIS_TOOL = re.compile(r"mmbatch|\]\((?!https?:|#)")


def who_benefits(directory: Path, *, for_mail: bool = False) -> list[str]:
    """Return what a speed-up's README says about who benefits, paragraphs without Markdown.

    Args:
        directory: of the speed-up.
        for_mail: leave out sentences that only make sense beside this tool.
    """
    try:
        text = (directory / "README.md").read_text(encoding="utf-8")
    except OSError:
        return []
    heading = _HEADING.search(text)
    if heading is None:
        return []
    section = text[heading.end() :].lstrip("\n")
    end = _SECTION_END.search(section)
    paragraphs = section[: end.start() if end else None].split("\n\n")
    if for_mail:
        paragraphs = list(map(_for_mail, paragraphs))
    return [plain for paragraph in paragraphs if (plain := _plain(paragraph))]


def compared(directory: Path) -> Iterator[str]:
    """Yield how a speed-up differs from a posted series, as its README says, without Markdown.

    Yields:
        The paragraphs before the table of that section, without sentences that only make sense
        beside this tool, and an item for each of its rows.
    """
    try:
        text = (directory / "README.md").read_text(encoding="utf-8")
    except OSError:
        return
    heading = _COMPARED.search(text)
    if heading is None:
        return
    section = text[heading.end() :].partition("\n## ")[0]
    before, _, table = section.partition("\n|")
    paragraphs = map(_for_mail, before.split("\n\n"))
    yield from (plain for paragraph in paragraphs if (plain := _plain(paragraph)))
    rows = [line.strip().strip("|").split("|") for line in table.split("\n")[2:] if "|" in line]
    for cells in rows:
        posted_way, here, *why = (_plain(cell) for cell in cells)
        reason = f" Why: {why[0]}." if why and why[0] else ""
        yield f"- Posted: {posted_way}. Here: {here}.{reason}"


def _for_mail(paragraph: str) -> str:
    """Return a paragraph without the sentences that name mmbatch or link to a file of ours.

    "It helps. See [our results](../results/README.md). So do not wait." becomes "It helps. So do
    not wait."
    """
    sentences = _BETWEEN_SENTENCES.split(paragraph.strip())
    return " ".join(words for words in sentences if not _OF_THIS_TOOL.search(words))


def _plain(paragraph: str) -> str:
    words = " ".join(_LINK.sub(r"\1", paragraph).split())
    return words.replace("**", "").replace("`", "")
