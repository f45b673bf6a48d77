# SPDX-License-Identifier: GPL-2.0-only
"""Write docs/series.md, the lines that each patch adds: python3 -m mmbatch.series.lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from mmbatch.core import cache, log, paths
from mmbatch.kernel import sources as kernels
from mmbatch.series.export import plan_series
from mmbatch.splice.apply import choose
from mmbatch.splice.manifest import CORE, cut, known

PAGE = paths.ROOT / "docs/series.md"
_COMMENT = re.compile(r"\s*(/\*|\*[ /]|\*$|//|$)")
_HEAD = """\
<!-- SPDX-License-Identifier: GPL-2.0-only -->
<!-- Written by `PYTHONPATH=src python3 -m mmbatch.series.lines`. -->
# How long each series is

Lines that the patches add to Linux {series}. *Code* is neither a test, a comment
nor empty. [`export`](export.md) writes the core by default. What a speed-up
needs from another one comes first in its series, and counts.

| series | step | part | lines | code | tests |
| --- | --- | --- | ---: | ---: | ---: |
"""


def of_step(name: str, diff: str) -> Counter[str]:
    """Return the lines that a step adds, those of code, and those of tests."""
    found: Counter[str] = Counter()
    path = ""
    for line in diff.splitlines():
        if line.startswith("+++ "):
            path = line
        elif line.startswith("+"):
            is_test = name in ("kunit", "bench") or "_kunit" in path or ".kunitconfig" in path
            is_code = not is_test and not _COMMENT.match(line[1:])
            found.update(lines=1, tests=is_test, code=is_code)
    return found


def page(source: kernels.Source) -> Iterator[str]:
    """Yield the lines of docs/series.md for a kernel."""

    def row(step: str, part: str, found: Counter[str]) -> str:
        cells = (f"{found[key]:,}" for key in ("lines", "code", "tests"))
        return f"| {' | '.join((name, step, part, *cells))} |\n"

    yield _HEAD.format(series=source.series)
    for name in known(paths.SPEEDUPS):
        every = choose(paths.SPEEDUPS, [name], source.series, source.release)
        core = {(held.speedup, step.name) for held in cut(every, CORE) for step in held.steps}
        sums: dict[str, Counter[str]] = {"core": Counter(), "optional": Counter()}
        for step in plan_series(source, every).steps:
            found = of_step(step.name, step.diff)
            part = "core" if (step.speedup, step.name) in core else "optional"
            sums[part] += found
            yield row(f"`{step.speedup}`: `{step.name}`", part, found)
        yield row("**all**", "core", sums["core"])
        yield row("**all**", "both", sums["core"] + sums["optional"])


if __name__ == "__main__":
    cache.atomic_write(PAGE, "".join(page(kernels.get())))
    log.say(f"wrote {PAGE}")
