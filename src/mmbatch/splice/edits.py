# SPDX-License-Identifier: GPL-2.0-only
"""Anchored edits: changes that spatch can't make, counted as strictly; and folded headers."""

from __future__ import annotations

import re

from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.splice.manifest import Edit


def apply_edit(content: str, edit: Edit) -> str:
    """Return a file's content with an edit made, if its anchor matches as often as it says."""
    lines = split_lines(content)
    low, high = 0, len(lines)
    if edit.function:
        low, high = require_function(content, edit.function, edit.file)
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
        if body is not None and lines[body] == "{" and "}" in lines[body:]:
            return i, lines.index("}", body) + 1
    return None


def require_function(content: str, function: str, file: str) -> tuple[int, int]:
    """Return what `function_extent` does, where there must be such a function."""
    extent = function_extent(content, function)
    if extent is None:
        raise mismatch(file, f"there is no function {function}()")
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


# What a header folded into the C file that includes it must look like.
_GUARD = re.compile(
    r"\A/\* SPDX-License-Identifier: [^\n]*\n#ifndef (\w+)\n#define \1\n"
    r"(.*)\n#endif /\* \1 \*/\n\Z",
    re.DOTALL,
)
_INCLUDE = re.compile(r'^#include [<"].*\n', re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def fold(content: str, header: str, name: str, file: str) -> str:
    """Return a C file with the content of a header in the place of its #include.

    Our sources include small headers for what differs between kernels, and a series is for one
    kernel. What the header includes goes to the other #include lines, sorted; what it defines
    follows them, with its comments. If it defines nothing, its comments are left out.

    Args:
        content: the C file.
        header: the header, with SPDX line and guard.
        name: by which the C file includes the header.
        file: the C file's path, for error messages.
    """
    lines = split_lines(content)
    own = f'#include "{name}"\n'
    guarded = _GUARD.match(header)
    if guarded is None or lines.count(own) != 1:
        raise mismatch(file, f"it does not include {name} once, or that has no guard")
    lines.remove(own)
    for include in _INCLUDE.findall(guarded[2]):
        _add_include(lines, include)
    body = _INCLUDE.sub("", guarded[2]).strip("\n")
    if _COMMENT.sub("", body).strip():
        last = max(i for i, line in enumerate(lines) if _INCLUDE.match(line))
        lines.insert(last + 1, f"\n{body}\n")
    return "".join(lines)


def _add_include(lines: list[str], include: str) -> None:
    """Insert an #include into the lines of its kind, <> or "", at the place of its name."""
    if include in lines:
        return
    every = [i for i, line in enumerate(lines) if _INCLUDE.match(line)]
    found = [i for i in every if lines[i].startswith(include[: len("#include <")])]
    later = [i for i in found if lines[i] > include]
    lines.insert(later[0] if later else (found or every)[-1] + 1, include)
