# SPDX-License-Identifier: GPL-2.0-only
"""Coccinelle: run a semantic patch on one file, and make its silences speak.

spatch ends with 0 when a rule matched nothing, and skips a function that it could not parse
without a word. So matches are counted on the diff, and the parse is looked at first.
"""

from __future__ import annotations

import functools
import re
import shutil
import tempfile
from pathlib import Path

from mmbatch.core import paths, process
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.splice.edits import mismatch, require_function
from mmbatch.splice.manifest import Rule

OLDEST = (1, 1, 1)
_TIMEOUT_S = 300
_TROUBLE = re.compile(
    r"^parse error\s*\n = File .*\n(?:.*\n)*?  whole content = (?P<source>.*)\n"
    r"badcount: \d+\n(?P<skipped>(?:(?:bad:|BAD:!!!!!) .*\n)*)",
    re.MULTILINE,
)


@functools.cache
def program() -> tuple[int, ...]:
    """Return the version of the spatch on this machine, which must be new enough."""
    with tempfile.TemporaryDirectory() as directory:
        text = _spatch(["--version"], Path(directory), action="look for spatch").stdout
    match = re.search(r"spatch version (\d+(?:\.\d+)*)", text)
    numbers = tuple(int(part) for part in match[1].split(".")) if match else ()
    if numbers < OLDEST:
        raise MmbatchError(
            "look for spatch",
            f"version {match[1] if match else 'unknown'} is too old",
            f"install coccinelle {'.'.join(map(str, OLDEST))} or newer",
        )
    return numbers


def check_parse(path: Path, rule: Rule) -> None:
    """Raise exit code 3 when spatch can't parse the function that a rule is about."""
    content = path.read_bytes().decode(errors="replace")
    first, _ = require_function(content, rule.function, rule.file)
    with tempfile.TemporaryDirectory() as directory:
        result = _spatch(
            ["--no-includes", "--macro-file", paths.MACROS, "--parse-c", path],
            Path(directory),
            action=f"parse {rule.file} with spatch",
            check=False,
        )
    source = trouble_at(result.stdout + result.stderr, content.split("\n")[first])
    if source is not None:
        raise MmbatchError(
            f"splice into {rule.file}",
            f"spatch can't parse {rule.function}(), it stumbles at: {source}",
            "describe the macro in speedups/macros.h",
            ExitCode.SPLICE,
        )


def trouble_at(output: str, opening: str) -> str | None:
    """Return the source line that made `spatch --parse-c` skip a function, None if it did not.

    Args:
        output: what spatch printed.
        opening: the first line of the function's definition. spatch prints all that it skips;
            the place of the error itself may lie in a macro's definition far away.
    """
    for match in _TROUBLE.finditer(output):
        skipped = match["skipped"].split("\n")
        if f"bad: {opening}" in skipped or f"BAD:!!!!! {opening}" in skipped:
            return match["source"].strip()
    return None


def apply_rule(path: Path, rule: Rule) -> bytes:
    """Return a file's content as a rule changes it, if each hook matches as often as it should."""
    with tempfile.TemporaryDirectory() as directory:  # -o gives its paths to a shell, unquoted
        shutil.copyfile(path, Path(directory) / f"input{path.suffix}")
        result = _spatch(
            [
                *("--very-quiet", "--no-includes", "--macro-file", paths.MACROS),
                *("--sp-file", rule.cocci, "-o", "output", f"input{path.suffix}"),
            ],
            Path(directory),
            action=f"run {rule.cocci.name} on {rule.file}",
        )
        output = Path(directory) / "output"
        content = output.read_bytes() if output.exists() else path.read_bytes()
    for hook, count in count_matches(result.stdout, rule).items():
        if count != rule.matches[hook]:
            raise mismatch(
                rule.file,
                f"the hook '{hook}' of {rule.cocci.name} matched {count} times"
                f" instead of {rule.matches[hook]}",
            )
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
    return process.run(
        ["spatch", *arguments],
        action=action,
        cwd=home,
        env={"HOME": str(home)},
        timeout_s=_TIMEOUT_S,
        check=check,
    )
