# SPDX-License-Identifier: GPL-2.0-only
"""What changes a file of the tree, each match counted: semantic patches, edits, folded headers.

spatch ends with 0 when a rule matched nothing, and skips a function that it could not parse
without a word. So matches are counted on the diff, and the parse is looked at first. Edits are
for what spatch can't change.
"""

from __future__ import annotations

import functools
import re
import tempfile
from pathlib import Path

from mmbatch.core import paths, process
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.splice.manifest import Edit, Rule

OLDEST = (1, 1, 1)
_TIMEOUT_S = 300
_TROUBLE = re.compile(
    r"^parse error\s*\n = File .*\n(?:.*\n)*?  whole content = (?P<source>.*)\n"
    r"badcount: \d+\n(?P<skipped>(?:(?:bad:|BAD:!!!!!) .*\n)*)",
    re.MULTILINE,
)


@functools.cache
def spatch_version() -> tuple[int, ...]:
    """Return the version of the spatch on this machine, which must be new enough."""
    with tempfile.TemporaryDirectory() as directory:
        text = _spatch(["--version"], Path(directory), action="look for spatch").stdout
    match = re.search(r"spatch version (\d+(?:\.\d+)*)", text)
    numbers = tuple(int(part) for part in match[1].split(".")) if match else ()
    if numbers < OLDEST:
        problem = f"version {match[1] if match else 'unknown'} is too old"
        hint = f"install coccinelle {'.'.join(map(str, OLDEST))} or newer"
        raise MmbatchError("look for spatch", problem, hint)
    return numbers


def trouble_at(output: str, opening: str) -> str | None:
    """Return the source line that made `spatch --parse-c` skip a function, None if it did not.

    spatch prints all that it skips, which the `opening`, the first line of the function's
    definition, tells; the place of the error itself may lie in a macro's definition far away.
    """
    for match in _TROUBLE.finditer(output):
        skipped = match["skipped"].split("\n")
        if f"bad: {opening}" in skipped or f"BAD:!!!!! {opening}" in skipped:
            return match["source"].strip()
    return None


def apply_rule(content: str, rule: Rule) -> str:
    """Return a file's content as a rule changes it, if each hook matches as often as it should.

    Nor is it changed if spatch can't parse the function that the rule is about.
    """
    first, _ = function_extent(content, rule.function, rule.file)
    common: tuple[str | Path, ...] = ("--no-includes", "--macro-file", paths.MACROS)
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        name = f"input{Path(rule.file).suffix}"  # -o gives paths to a shell, unquoted
        (home / name).write_bytes(content.encode(errors="surrogateescape"))
        action = f"parse {rule.file} with spatch"
        parsed = _spatch([*common, "--parse-c", name], home, action, check=False)
        source = trouble_at(parsed.stdout + parsed.stderr, content.split("\n")[first])
        if source is not None:
            problem = f"spatch can't parse {rule.function}(), it stumbles at: {source}"
            raise mismatch(rule.file, problem, "describe the macro in speedups/macros.h")
        words = ["--very-quiet", *common, "--sp-file", rule.cocci, "-o", "output", name]
        result = _spatch(words, home, f"run {rule.cocci.name} on {rule.file}")
        if (home / "output").exists():
            content = (home / "output").read_bytes().decode(errors="surrogateescape")
    for hook, count in count_matches(result.stdout, rule).items():
        if count != rule.matches[hook]:
            times = f"matched {count} times instead of {rule.matches[hook]}"
            raise mismatch(rule.file, f"the hook '{hook}' of {rule.cocci.name} {times}")
    return content


def count_matches(diff: str, rule: Rule) -> dict[str, int]:
    """Return how often each hook of a rule matched, by the lines of the diff it left."""
    lines = [line for line in diff.split("\n") if not line.startswith(("+++ ", "--- "))]
    return {
        hook: sum(re.search(mark, line) is not None for line in lines)
        for hook, mark in rule.marks.items()
    }


def _spatch(
    arguments: list[str | Path], home: Path, action: str, check: bool = True
) -> process.Result:
    """Run spatch with nobody's .cocciconfig: kernel trees have one, and home directories may.

    It reads them in its working directory and in HOME, without which it does not even start.
    """
    argv, env = ["spatch", *arguments], {"HOME": str(home)}
    return process.run(argv, action=action, cwd=home, env=env, timeout_s=_TIMEOUT_S, check=check)


def apply_edit(content: str, edit: Edit) -> str:
    """Return a file's content with an edit made, if its anchor matches as often as it says."""
    lines = split_lines(content)
    low, high = 0, len(lines)
    if edit.function:
        low, high = function_extent(content, edit.function, edit.file)
    found = [i for i in range(low, high) if re.search(edit.anchor, lines[i].rstrip("\n"))]
    if len(found) != edit.matches:
        where = f" in {edit.function}()" if edit.function else ""
        times = f"matched {len(found)} lines instead of {edit.matches}{where}"
        raise mismatch(edit.file, f"the anchor '{edit.anchor}' {times}")
    for at in reversed(found):
        first, end = _span(lines, at, high, edit)
        lines[first:end] = split_lines(edit.text)
    return "".join(lines)


_ADAPT = "the tree differs from the kernels this was made for; the hook needs to be adapted"


def mismatch(file: str, problem: str, hint: str = _ADAPT) -> MmbatchError:
    """Return the error of a tree in which a hook does not fit."""
    return MmbatchError(f"splice into {file}", problem, hint, ExitCode.SPLICE)


def split_lines(content: str) -> list[str]:
    """Split at newlines only, which are kept; str.splitlines() splits at form feeds too."""
    return re.findall(r"[^\n]*\n|[^\n]+", content)


def function_extent(content: str, function: str, file: str) -> tuple[int, int]:
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
    raise mismatch(file, f"there is no function {function}()")


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
    follows them, with its comments. If it defines nothing, its comments are left out. The C file
    includes the header by this `name`; `file` is its path, for error messages.
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
