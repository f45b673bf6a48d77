# SPDX-License-Identifier: GPL-2.0-only
"""How many lines each series adds to a kernel: docs/series.md.

Run `PYTHONPATH=src python3 -m mmbatch.series.lines` in a checkout after a step was changed. It
needs the source of the newest kernel, which it downloads, and spatch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mmbatch.core import paths
from mmbatch.core.cache import atomic_write
from mmbatch.core.load import SERIES
from mmbatch.kernel import sources
from mmbatch.kernel.sources import Source
from mmbatch.splice.apply import Applied, contents_in, named_files, plan
from mmbatch.splice.manifest import CORE, Manifest, cut, known, load, load_with_needs

PAGE = paths.ROOT / "docs/series.md"

_TESTS = ("kunit", "bench")
"""Steps that only add tests."""

_FILE = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]+)")
_COMMENT = re.compile(r"\s*(/\*|\*[ /]|\*$|//|$)")

_HEAD = """\
<!-- SPDX-License-Identifier: GPL-2.0-only -->
<!-- Written by `PYTHONPATH=src python3 -m mmbatch.series.lines`. -->
# How long each series is

Lines that the patches add to Linux {series}. *Code* is neither a test, a comment
nor empty. *Tests* are KUnit tests and benchmarks, with their comments.
[`export`](export.md) writes the core of a speed-up, which is all of it if no
steps are optional. What a speed-up needs from another one comes first in its
series, and counts.
"""


@dataclass(frozen=True)
class Lines:
    """Lines that patches add.

    Attributes:
        every: all of them.
        code: those that are neither of tests, nor comments, nor empty.
        tests: those of tests.
    """

    every: int = 0
    code: int = 0
    tests: int = 0

    def __add__(self, other: Lines) -> Lines:
        """Return the lines of both."""
        return Lines(self.every + other.every, self.code + other.code, self.tests + other.tests)


def of_step(name: str, diff: str) -> Lines:
    """Return what a step adds, by its name and its unified diff."""
    total, path = Lines(), ""
    for line in diff.splitlines():
        if match := _FILE.match(line):
            path = match[1]
        elif line.startswith("+"):
            is_test = name in _TESTS or "_kunit" in path or path.endswith(".kunitconfig")
            is_code = not is_test and not _COMMENT.match(line[1:])
            total += Lines(1, int(is_code), int(is_test))
    return total


def page(source: Source) -> str:
    """Return docs/series.md for a kernel."""
    names = [
        name
        for name in known(paths.SPEEDUPS)
        if source.series in load(paths.SPEEDUPS / name).kernels
    ]
    rows, tables = [], []
    for name in names:
        every = load_with_needs(paths.SPEEDUPS, name)
        steps = _applied(source, every)
        core = {(held.speedup, step.name) for held in cut(every, CORE) for step in held.steps}
        counts = [(step, of_step(step.name, step.diff)) for step in steps]
        whole = sum((lines for _, lines in counts), Lines())
        first = sum((n for step, n in counts if (step.speedup, step.name) in core), Lines())
        rows.append((name, *_cells(first), *_cells(whole)))
        tables.append(_table(name, counts, core))
    head = ("speed-up", "core", "code", "tests", "all", "code", "tests")
    return "\n".join([_HEAD.format(series=source.series), *_markdown(head, rows), "", *tables])


def _applied(source: Source, every: Sequence[Manifest]) -> list[Applied]:
    contents = contents_in(source.path, named_files(source.series, every))
    return plan(every, source.series, source.release, contents)


def _cells(lines: Lines) -> tuple[str, str, str]:
    return f"{lines.every:,}", f"{lines.code:,}", f"{lines.tests:,}"


def _table(
    name: str, counts: Sequence[tuple[Applied, Lines]], core: Iterable[tuple[str, str]]
) -> str:
    rows = []
    for step, lines in counts:
        whose = "" if step.speedup == name else f" of `{step.speedup}`"
        part = "core" if (step.speedup, step.name) in core else "optional"
        rows.append((f"`{step.name}`{whose}", part, *_cells(lines)))
    table = _markdown(("step", "part", "lines", "code", "tests"), rows)
    return "\n".join([f"## {name}\n", *table, ""])


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table; the cells of a column are numbers unless it has one of these names."""
    marks = ("---" if name in ("speed-up", "step", "part") else "---:" for name in head)
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join(marks)} |"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def main() -> None:
    """Write docs/series.md."""
    source = sources.get(SERIES[0], None)
    atomic_write(PAGE, page(source).encode())
    print(f"wrote {PAGE.relative_to(paths.ROOT)}")


if __name__ == "__main__":
    main()
