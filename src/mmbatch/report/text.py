# SPDX-License-Identifier: GPL-2.0-only
"""The table of a record: plain text, rich, and Markdown, all from the same rows and sentences."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mmbatch.bench.record import Record
from mmbatch.report.ascii import ascii_only, command
from mmbatch.report.lines import CaseTable, Line, case_tables, closing, head

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = ["markdown", "plain", "print_record", "rich_table"]

WIDTH = 100
_WIDTHS = (18, 10, 14, 6, 16, 23, 7)
_STYLES = {
    "faster": "green",
    "slower": "bold red",
    "NOT EQUAL, not shown": "bold red",
    "not checked, not shown": "bold red",
    "inconclusive, too noisy": "yellow",
    "inconclusive": "yellow",
    "too few pairs": "yellow",
}


def _printable(text: str) -> str:
    """Any script, but no control characters, which could drive a terminal."""
    flat = " ".join(text.split())
    return "".join(one if one.isprintable() else "?" for one in flat)


def _paragraph(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(ascii_only(text), WIDTH, subsequent_indent=indent)


def _fit(cell: str, width: int, left: bool) -> str:
    text = ascii_only(cell)
    if len(text) > width:
        text = text[: width - 1] + "~"
    return text.ljust(width) if left else text.rjust(width)


def _plain_row(cells: Iterable[str]) -> str:
    padded = [
        _fit(cell, width, index in (0, 5))
        for index, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True))
    ]
    return " ".join(padded).rstrip()


def plain(record: Record) -> str:
    """The table in ASCII, at most 100 columns wide.

    Args:
        record: what was measured.

    Returns:
        The text; its first line is the command that reproduces it, its last the verdicts.
    """
    lines = command(record.command, WIDTH)
    for sentence in head(record):
        lines += _paragraph(sentence, "  ")
    for table in case_tables(record):
        lines += ["", *_paragraph(table.title), _plain_row(table.headings)]
        lines += [_plain_row(line.cells) for line in table.lines]
    lines.append("")
    for sentence in closing(record):
        lines += _paragraph(sentence, "  ")
    return "\n".join(lines) + "\n"


def _rich_case(table: CaseTable) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    grid = Table(title=Text(_printable(table.title)), title_justify="left", box=box.SIMPLE_HEAD)
    for index, heading in enumerate(table.headings):
        grid.add_column(heading, justify="left" if index in (0, 5) else "right", no_wrap=True)
    for line in table.lines:
        cells = enumerate(map(_printable, line.cells))
        grid.add_row(*(Text(cell, style=_style(line, at)) for at, cell in cells))
    return grid


def _style(line: Line, column: int) -> str:
    if line.aside:
        return "dim"
    return _STYLES.get(line.verdict, "") if column in (3, 5) else ""


def rich_table(record: Record) -> RenderableType:
    """The table for a terminal, in colour.

    Args:
        record: what was measured.

    Returns:
        Something that a rich console prints, with the same cells and sentences as `plain`.
    """
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [
        Text(line, style="bold") for line in command(record.command, WIDTH)
    ]
    parts += [Text(_printable(sentence)) for sentence in head(record)]
    parts += [_rich_case(table) for table in case_tables(record)]
    parts += [Text(_printable(sentence)) for sentence in closing(record)]
    return Group(*parts)


def print_record(record: Record, console: Console) -> None:
    """Print a record: rich on a terminal that is wide enough, else plain ASCII.

    Args:
        record: what was measured.
        console: where to.
    """
    if console.is_terminal and console.width >= WIDTH + 5:
        console.print(rich_table(record))
    else:
        console.file.write(plain(record))


def _markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(ascii_only(cell).replace("|", "\\|") for cell in cells) + " |"


def markdown(record: Record) -> str:
    """The result tables for a README.

    Args:
        record: what was measured.

    Returns:
        Markdown: the command, the machine, a table for each case, and the verdicts.
    """
    parts = ["```\n" + "\n".join(command(record.command, WIDTH)) + "\n```\n"]
    parts += [ascii_only(sentence) + "  " for sentence in head(record)]
    for table in case_tables(record):
        parts += ["", f"**{ascii_only(table.title)}**", "", _markdown_row(table.headings)]
        parts.append("| --- | ---: | ---: | ---: | ---: | --- | ---: |")
        for line in table.lines:
            strong = line.verdict == "slower"
            parts.append(_markdown_row(f"**{c}**" if strong and c else c for c in line.cells))
    parts += ["", *(f"- {ascii_only(sentence)}" for sentence in closing(record))]
    return "\n".join(parts) + "\n"
