# SPDX-License-Identifier: GPL-2.0-only
"""Anchored edits: changes that spatch can't make, counted as strictly as its matches."""

from __future__ import annotations

import re

from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.splice.manifest import Edit


def apply_edit(content: str, edit: Edit) -> str:
    """Return a file's content with an edit made.

    Args:
        content: the file as it is.
        edit: what to do at which anchor.

    Raises:
        MmbatchError: exit code 3; the anchor did not match as often as the manifest says, or
            what should follow it is not there.
    """
    lines = split_lines(content)
    low, high = _extent(lines, edit) if edit.function else (0, len(lines))
    found = [i for i in range(low, high) if re.search(edit.anchor, lines[i].rstrip("\n"))]
    if len(found) != edit.matches:
        raise mismatch(
            edit.file,
            f"the anchor '{edit.anchor}' matched {len(found)} lines instead of {edit.matches}"
            + (f" in {edit.function}()" if edit.function else ""),
        )
    for at in reversed(found):
        first, end = _span(lines, at, high, edit)
        lines[first:end] = split_lines(edit.text)
    return "".join(lines)


def mismatch(file: str, problem: str) -> MmbatchError:
    """Return the error of a tree in which a hook does not fit."""
    return MmbatchError(
        f"splice into {file}",
        problem,
        "the tree differs from the kernels this was made for; the hook needs to be adapted",
        ExitCode.SPLICE,
    )


def split_lines(content: str) -> list[str]:
    """Split at newlines only, which are kept; str.splitlines() splits at form feeds too."""
    lines = content.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def function_extent(content: str, function: str) -> tuple[int, int] | None:
    """Return the lines of a function's definition as [first, end), counted from 0.

    Kernel style is relied on: a definition starts in the first column, and the braces of its
    body stand alone in lines of their own, there too.
    """
    lines = content.split("\n")
    for i, line in enumerate(lines):
        if not re.match(rf"(?:[A-Za-z_][^;=]*)?\b{re.escape(function)}\(", line):
            continue
        body = next((j for j in range(i, len(lines)) if lines[j][-1:] in ("{", ";")), None)
        if body is not None and lines[body] == "{":
            end = next((j for j in range(body, len(lines)) if lines[j] == "}"), None)
            return None if end is None else (i, end + 1)
    return None


def _extent(lines: list[str], edit: Edit) -> tuple[int, int]:
    assert edit.function is not None
    extent = function_extent("".join(lines), edit.function)
    if extent is None:
        raise mismatch(edit.file, f"there is no function {edit.function}()")
    return extent


def _span(lines: list[str], at: int, high: int, edit: Edit) -> tuple[int, int]:
    """Return the lines [first, end) that an edit's text takes the place of."""
    if edit.op == "before":
        return at, at
    if edit.op == "after":
        return at + 1, at + 1
    if edit.op == "comment":
        first = next((i for i in range(at, -1, -1) if "/*" in lines[i]), None)
        last = next((i for i in range(at, high) if "*/" in lines[i]), None)
        if first is None or last is None or any("*/" in line for line in lines[first:at]):
            raise mismatch(edit.file, f"'{edit.anchor}' does not stand in a comment")
        return first, last + 1
    assert edit.last is not None
    last = next((i for i in range(at, high) if re.search(edit.last, lines[i].rstrip("\n"))), None)
    if last is None:
        raise mismatch(edit.file, f"no line '{edit.last}' follows '{edit.anchor}'")
    return at, last + 1
