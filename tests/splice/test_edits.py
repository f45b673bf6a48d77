# SPDX-License-Identifier: GPL-2.0-only
from dataclasses import replace
from pathlib import Path

import pytest

from expect import fails
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.splice.hooks import apply_edit, fold, function_extent
from mmbatch.splice.manifest import Edit

TOYS = (Path(__file__).parents[1] / "data" / "edits" / "toys.c").read_text()
PAINT = Edit("mm/toys.c", "after", 1, "\tdry(toy);\n", line=r"^\tpaint", function="toy_second")
RANGE = replace(PAINT, op="replace", line=None, first=PAINT.line, last="lost")


def test_before_and_after() -> None:
    after = apply_edit(TOYS, PAINT)
    assert after == TOYS.replace("\tpaint(toy);\n#ifdef", "\tpaint(toy);\n\tdry(toy);\n#ifdef")
    before = apply_edit(TOYS, replace(PAINT, op="before"))
    assert before == TOYS.replace("\tpaint(toy);\n#ifdef", "\tdry(toy);\n\tpaint(toy);\n#ifdef")


def test_every_match_is_edited_where_several_are_expected() -> None:
    both = apply_edit(TOYS, replace(PAINT, function=None, matches=2))
    assert both == TOYS.replace("\tpaint(toy);\n", "\tpaint(toy);\n\tdry(toy);\n")


def test_replace_goes_from_first_to_last() -> None:
    edit = replace(RANGE, first="^#ifdef TOYS$", last="^#endif$")
    assert apply_edit(TOYS, edit) == TOYS.replace(
        "#ifdef TOYS\n\tglue(toy);\n#endif\n", "\tdry(toy);\n"
    )


def test_comment_replaces_all_of_it() -> None:
    edit = replace(PAINT, op="comment", line="red ones")
    old = "\t/*\n\t * Of all toys\n\t * the red ones.\n\t */\n"
    assert apply_edit(TOYS, edit) == TOYS.replace(old, "\tdry(toy);\n")


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (replace(PAINT, line="lost"), "'lost' matched 0 lines instead of 1 in toy_second()"),
        (replace(PAINT, function=None), "matched 2 lines instead of 1"),
        (replace(PAINT, matches=2), "matched 1 lines instead of 2 in toy_second()"),
        (replace(PAINT, function="toy_third"), "there is no function toy_third()"),
        (replace(PAINT, op="comment"), r"'^\tpaint' does not stand in a comment"),
        (RANGE, r"no line 'lost' follows '^\tpaint'"),
        (
            replace(RANGE, function="toy_first", last="^#endif"),
            r"no line '^#endif' follows '^\tpaint'",
        ),
    ],
)
def test_what_does_not_fit_is_exit_code_3(edit: Edit, found: str) -> None:
    with fails("splice into mm/toys.c", found, code=ExitCode.SPLICE):
        apply_edit(TOYS, edit)


def test_functions_are_found_by_their_definition() -> None:
    lines = TOYS.splitlines()
    for text in ("x(int y);\n", "int x(int y)\n{\n\treturn 1;\n"):
        with pytest.raises(MmbatchError, match=r"no function x\(\)"):
            function_extent(text, "x", "mm/toys.c")
    extent = function_extent(TOYS, "toy_second", "mm/toys.c")
    assert lines[extent[0]] == "static int toy_second(int toy,"
    assert extent[1] == len(lines)


HEAD = "/* SPDX-License-Identifier: GPL-2.0-only */\n#ifndef _TOY_COMPAT_H\n#define _TOY_COMPAT_H\n"
TAIL = "\n#endif /* _TOY_COMPAT_H */\n"
C_FILE = """\
// SPDX-License-Identifier: GPL-2.0-only
#include <linux/list.h>
#include <linux/mm.h>

#include "internal.h"
#include "toy_compat.h"
#include "toys.h"

int toy;
"""


def folded(body: str, c_file: str = C_FILE) -> str:
    return fold(c_file, HEAD + body + TAIL, "toy_compat.h", "mm/toys.c")


def test_a_header_is_folded_into_the_file_that_includes_it() -> None:
    assert folded("\n/* Of this kernel. */\n#define TOY 1\n") == C_FILE.replace(
        '#include "toy_compat.h"\n#include "toys.h"\n',
        '#include "toys.h"\n\n/* Of this kernel. */\n#define TOY 1\n',
    )
    body = '\n/* Where toys are declared. */\n#include <linux/align.h>\n#include "mm_init.h"\n'
    assert folded(body) == C_FILE.replace(
        "#include <linux/list.h>\n", "#include <linux/align.h>\n#include <linux/list.h>\n"
    ).replace('#include "toy_compat.h"\n', '#include "mm_init.h"\n')
    assert folded("\n#include <linux/mm.h>\n") == C_FILE.replace('#include "toy_compat.h"\n', "")
    with fails("does not include", code=ExitCode.SPLICE):
        folded("#define TOY 1\n", C_FILE.replace("toy_compat.h", "other.h"))
