# SPDX-License-Identifier: GPL-2.0-only
"""The functions that a file defines, as gcc writes them, without the names of parameters."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mmbatch.core import process
from mmbatch.hosted import posted

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="lacks gcc")

CODE = """
struct toy { int size; };
typedef unsigned long count;
void declared_only(int size);
void init(struct toy *toy, count nr, int (*cb)(int x, int y)) { cb(toy->size, nr); }
struct toy *find(const struct toy *const *toys, count toys_nr) { return 0; }
static int nothing(void) { return 0; }
int many(const char *format, ...) { return nothing(); }
"""


def prototypes(directory: Path, code: str) -> list[str]:
    (directory / "toys.c").write_text(code)
    types = directory / "toys.types"
    process.run(
        ["gcc", "-aux-info", types, "-fsyntax-only", directory / "toys.c"], action="compile toys"
    )
    return list(posted.prototypes(types).values())


def test_types_are_kept_and_names_are_not(tmp_path: Path) -> None:
    place = tmp_path / "a directory"
    place.mkdir()
    found = prototypes(place, CODE)
    assert found == [
        "void init (struct toy *, count, int (*) (int, int))",
        "struct toy *find (const struct toy *const *, count)",
        "int nothing (void)",
        "int many (const char *format, ...)",
    ]
    renamed = CODE.replace("toy *toy,", "toy *one,").replace("toy->size", "one->size")
    assert prototypes(place, renamed) == found
    other = CODE.replace("count nr,", "int nr,")
    assert prototypes(place, other)[0] == "void init (struct toy *, int, int (*) (int, int))"
