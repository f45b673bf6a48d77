# SPDX-License-Identifier: GPL-2.0-only
"""How many lines a series adds."""

from __future__ import annotations

import pytest

from mmbatch.core import paths
from mmbatch.core.load import SERIES
from mmbatch.kernel import sources
from mmbatch.series import lines
from mmbatch.series.lines import Lines
from mmbatch.splice.manifest import known, load

DIFF = """\
--- /dev/null
+++ b/mm/toys.c
@@ -0,0 +1,7 @@
+// SPDX-License-Identifier: GPL-2.0-only
+/* Toys
+ * in rows. */
+
+int toys;
+	*toys = 1;
--- a/mm/toys_kunit.c\t
+++ b/mm/toys_kunit.c\t
@@ -1,2 +1,2 @@
-int gone;
+int test;
+
"""


def test_code_and_tests_are_told_apart() -> None:
    assert lines.of_step("rows", DIFF) == Lines(every=8, code=2, tests=2)


def test_a_step_of_tests_has_nothing_else() -> None:
    assert lines.of_step("kunit", DIFF) == Lines(every=8, code=0, tests=8)


@pytest.mark.kernel
def test_the_steps_of_a_speedup_add_up() -> None:
    source = sources.get(SERIES[0], None)
    head, *tables = lines.page(source).split("\n## ")
    names = [
        name for name in known(paths.SPEEDUPS) if SERIES[0] in load(paths.SPEEDUPS / name).kernels
    ]

    assert [table.partition("\n")[0] for table in tables] == names
    for name, table in zip(names, tables, strict=True):
        rows = [line.strip("| ").split(" | ") for line in table.splitlines() if " `" in line]
        own = [row[0].strip("`") for row in rows if " of " not in row[0]]
        steps = [
            step.name for step in load(paths.SPEEDUPS / name).steps if SERIES[0] in step.kernels
        ]
        assert own == steps
        totals = next(line for line in head.splitlines() if line.startswith(f"| {name} |"))
        counts = [[int(cell.replace(",", "")) for cell in row[2:]] for row in rows]
        core = [each for row, each in zip(rows, counts, strict=True) if row[1] == "core"]
        wanted = [sum(column) for group in (core, counts) for column in zip(*group, strict=True)]
        assert totals == f"| {name} | {' | '.join(f'{number:,}' for number in wanted)} |"
