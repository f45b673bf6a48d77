# SPDX-License-Identifier: GPL-2.0-only
"""Printable ASCII for tables, mails and commands that are pasted."""

from __future__ import annotations

import shlex


def ascii_only(text: str) -> str:
    """Printable ASCII on one line: anything else, control characters too, is a question mark."""
    return "".join(one if " " <= one <= "~" else "?" for one in " ".join(text.split()))


def command(text: str, width: int) -> list[str]:
    """A command in lines of at most a width, each a word or more, ready to be pasted.

    A single word that is longer stands on a line of its own.
    """
    lines = ["$"]
    try:
        words = [shlex.quote(word) for word in shlex.split(text)]
    except ValueError:
        words = text.split()
    for word in map(ascii_only, words):
        if len(lines[-1]) + 1 + len(word) + 2 > width and lines[-1] != "$":
            lines[-1] += " \\"
            lines.append("     " + word)
        else:
            lines[-1] += " " + word
    return lines
