# SPDX-License-Identifier: GPL-2.0-only
"""What the names of changed files alone say about posted code."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmbatch.core.errors import ExitCode
from mmbatch.hosted.posted import NoEffectError, require_touched
from mmbatch.splice.posted import Posted, PostedTree

LINKED = ("mm/toys.o", "arch/x86/lib/copy_toys.o")


def tree(*names: str) -> PostedTree:
    contents = dict.fromkeys(names, b"")
    return PostedTree(Posted("v2", "v2.mbox", "ab" * 32, (), contents), Path("v2"), "v2-1")


@pytest.mark.parametrize(
    "name",
    [
        "mm/toys.c",
        "arch/x86/lib/copy_toys.S",
        "include/linux/toys.h",
        "mm/Makefile",
        "lib/toys.inc",
    ],
)
def test_a_file_that_may_change_an_object(name: str) -> None:
    require_touched(LINKED, [tree("mm/other.c"), tree("mm/other.c", name)])


@pytest.mark.parametrize(
    "name",
    ["mm/other.c", "lib/toys.c", "fs/toys.h", "Documentation/mm/toys.rst", "tools/mm/Makefile"],
)
def test_a_file_that_changes_no_object(name: str) -> None:
    with pytest.raises(NoEffectError, match=r"it changes .*, and none of the code") as caught:
        require_touched(LINKED, [tree(name)])
    assert caught.value.code == ExitCode.NOT_APPLICABLE
