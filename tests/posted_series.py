# SPDX-License-Identifier: GPL-2.0-only
"""Patches and mails that tests write, against whatever a tree holds."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

from mmbatch.splice.hooks import function_extent


def diff(tree: Path, contents: Mapping[str, str], base: Mapping[str, str] | None = None) -> str:
    """Return a patch that gives some files of a tree new contents, which held those of `base`."""
    text = ""
    for name, content in contents.items():
        old = (tree / name).read_text() if (tree / name).exists() else None
        old = (base or {}).get(name) or old
        lines = difflib.unified_diff(
            (old or "").splitlines(keepends=True),
            content.splitlines(keepends=True),
            f"a/{name}" if old is not None else "/dev/null",
            f"b/{name}",
        )
        text += f"diff --git a/{name} b/{name}\n"
        text += "new file mode 100644\n" if old is None else ""
        text += "".join(lines)
    return text


def at_the_end_of(content: str, function: str, statement: str) -> str:
    """Return a file with one more statement at the end of a function."""
    extent = function_extent(content, function, "mm/toys.c")
    lines = content.split("\n")
    lines.insert(extent[1] - 1, f"\t{statement}")
    return "\n".join(lines)


def at_the_start_of(content: str, function: str, statement: str) -> str:
    """Return a file with one more statement before all others of a function."""
    extent = function_extent(content, function, "mm/toys.c")
    lines = content.split("\n")
    lines.insert(lines.index("{", extent[0]) + 1, f"\t{statement}")
    return "\n".join(lines)


def mail(subject: str, patch: str, sender: str = "A Developer <dev@example.org>") -> str:
    """Return a mail as git format-patch writes it."""
    head = "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001"
    return (
        f"{head}\nFrom: {sender}\nDate: Sun, 1 Nov 2026 10:00:00 +0000\n"
        f"Subject: {subject}\n\nToys were slow.\n\nSigned-off-by: {sender}\n---\n"
        f" toys.c | 2 +-\n\n{patch}-- \n2.39.5\n\n"
    )
