# SPDX-License-Identifier: GPL-2.0-only
"""Headers that become a part of the C file that includes them."""

from __future__ import annotations

import pytest

from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.splice.headers import fold

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


def test_definitions_follow_the_includes_with_their_comments() -> None:
    assert folded("\n/* Of this kernel. */\n#define TOY 1\n") == C_FILE.replace(
        '#include "toy_compat.h"\n#include "toys.h"\n',
        '#include "toys.h"\n\n/* Of this kernel. */\n#define TOY 1\n',
    )


def test_includes_are_sorted_into_those_of_their_kind() -> None:
    body = '\n/* Where toys are declared. */\n#include <linux/align.h>\n#include "mm_init.h"\n'
    assert folded(body) == C_FILE.replace(
        "#include <linux/list.h>\n", "#include <linux/align.h>\n#include <linux/list.h>\n"
    ).replace('#include "toy_compat.h"\n', '#include "mm_init.h"\n')


@pytest.mark.parametrize("include", ["<linux/mm.h>", '"toys.h"'])
def test_nothing_is_included_twice(include: str) -> None:
    assert folded(f"\n#include {include}\n") == C_FILE.replace('#include "toy_compat.h"\n', "")


def test_the_last_of_its_kind_comes_last() -> None:
    code = folded("\n#include <linux/unroll.h>\n\n#define TOY 1\n")
    assert "#include <linux/mm.h>\n#include <linux/unroll.h>\n\n" in code
    assert '#include "toys.h"\n\n#define TOY 1\n\nint toy;' in code


def test_misfits_are_refused() -> None:
    with pytest.raises(MmbatchError, match="0 times") as caught:
        folded("#define TOY 1\n", C_FILE.replace("toy_compat.h", "other.h"))
    assert caught.value.code == ExitCode.SPLICE
    with pytest.raises(MmbatchError, match="no guard"):
        fold(C_FILE, "#define TOY 1\n", "toy_compat.h", "mm/toys.c")
