# SPDX-License-Identifier: GPL-2.0-only
"""How many lines a series adds."""

from __future__ import annotations

import pytest

import real_kernel
from mmbatch.series import export

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
    assert export.lines_of_step("rows", DIFF) == {"lines": 8, "code": 2, "tests": 2}
    assert export.lines_of_step("kunit", DIFF) == {"lines": 8, "code": 0, "tests": 8}


@pytest.mark.kernel
def test_the_page_is_current() -> None:
    source = real_kernel.newest()
    assert export.LINES_PAGE.read_text() == "".join(export.lines_page(source))
