# SPDX-License-Identifier: GPL-2.0-only
"""Files that several speed-ups bring, and edits whose text is a file."""

from pathlib import Path

import pytest

from expect import fails
from mmbatch.core.errors import ExitCode
from mmbatch.splice.apply import Applied, apply_steps, is_applied
from mmbatch.splice.manifest import load

STEP = """
title = "toys"
[[step]]
name = "{0}"
subject = "toys: {0}"
body = "For tests."
common = ["mm/shared.h"]
"""
EDIT = """
  [[step.edit]]
  file = "mm/toys.c"
  op = "{0}"
  line = '{1}'
  matches = 1
  text_file = "more.c"
"""
MORE = "// SPDX-License-Identifier: GPL-2.0-only\n// Why it is there.\n\nint more;\n"


@pytest.fixture
def speedups(tmp_path: Path) -> Path:
    speedups = tmp_path / "speedups"
    (speedups / "common" / "mm").mkdir(parents=True)
    (speedups / "common" / "mm" / "shared.h").write_text("/* shared */\n")
    for name in ("dolls", "trains"):
        (speedups / name / "splice").mkdir(parents=True)
        (speedups / name / "speedup.toml").write_text(STEP.format(name))
    return speedups


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "linux"
    (tree / "mm").mkdir(parents=True)
    (tree / "mm" / "toys.c").write_text("/* toys */\nint toys;\nint last;\n")
    return tree


def take(tree: Path, speedups: Path, *names: str) -> list[Applied]:
    return list(apply_steps(tree, "7.3", [load(speedups / name) for name in names]))


def test_the_first_of_two_speedups_brings_what_both_share(speedups: Path, tree: Path) -> None:
    applied = take(tree, speedups, "dolls", "trains")
    assert [list(step.contents) for step in applied] == [["mm/shared.h"]]  # none is empty
    assert (tree / "mm" / "shared.h").read_text() == "/* shared */\n"
    assert all(is_applied(tree, "7.3", load(speedups / name)) for name in ("dolls", "trains"))


def test_a_shared_file_that_differs_is_refused(speedups: Path, tree: Path) -> None:
    (tree / "mm" / "shared.h").write_text("/* another's */\n")
    with fails("has a file of this name already", code=ExitCode.SPLICE):
        take(tree, speedups, "trains")


@pytest.mark.parametrize(
    ("op", "line", "lines"),
    [
        ("before", "^int toys", ["/* toys */", "int more;", "", "int toys;", "int last;"]),
        ("after", "^int toys", ["/* toys */", "int toys;", "", "int more;", "int last;"]),
        ("comment", "toys \\*", ["int more;", "int toys;", "int last;"]),
    ],
)
def test_the_text_of_an_edit_may_be_a_file(
    speedups: Path, tree: Path, op: str, line: str, lines: list[str]
) -> None:
    manifest = speedups / "dolls" / "speedup.toml"
    manifest.write_text(manifest.read_text() + EDIT.format(op, line))
    (manifest.parent / "splice" / "more.c").write_text(MORE)
    take(tree, speedups, "dolls")
    assert (tree / "mm" / "toys.c").read_text().splitlines() == lines
