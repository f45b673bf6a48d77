# SPDX-License-Identifier: GPL-2.0-only
"""What decides, without a kernel, whether posted code can be measured and is checked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mmbatch.core import paths, process
from mmbatch.core.errors import ExitCode
from mmbatch.hosted.posted import NoEffectError, require_touched
from mmbatch.kernel import kbuild
from mmbatch.splice.posted import Posted, PostedTree

NEEDS_GCC = pytest.mark.skipif(shutil.which("gcc") is None, reason="lacks gcc")
LINKED = ("mm/toys.o", "arch/x86/lib/copy_toys.o")
CODE = """
struct toy { int size; };
typedef unsigned long count;
void declared_only(int size);
void init(struct toy *toy, count nr, int (*cb)(int x, int y)) { cb(toy->size, nr); }
struct toy *find(const struct toy *const *toys, count toys_nr) { return 0; }
static int nothing(void) { return 0; }
int many(const char *format, ...) { return nothing(); }
"""
TOYS = """
static int limit = 3;
__attribute__((noinline)) static int paint(int i) { return i * 5; }
int first(int i) { return paint(i) + 1; }
int set(int i) { return limit = i; }
int second(int i) { return i + limit; }
"""
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include "host.h"

unsigned int hosted_layout;

void event_check(const struct hosted_check *check, bool good)
{
	puts(good ? "good" : "bad");
}

void hosted_die(const char *what)
{
	puts(what);
	exit(70);
}

static int toys_check(struct hosted_check *check)
{
	ASK;
	return 0;
}

const struct hosted_bench hosted_bench = { .check = toys_check };

void faults_in_check(const struct hosted_check *check)
{
}

void faults_end_check(bool good)
{
}

int main(int argc, char **argv)
{
	return check_run(1, atoi(argv[1])) ? 0 : 1;
}
"""


def tree(*names: str) -> PostedTree:
    contents = dict.fromkeys(names, b"")
    return PostedTree(Posted("v2", "v2.mbox", "ab" * 32, (), contents), Path("v2"), "v2-1")


@pytest.mark.parametrize(
    "name",
    [
        *("mm/toys.c", "arch/x86/lib/copy_toys.S", "include/linux/toys.h"),
        *("mm/Makefile", "lib/toys.inc"),
    ],
)
def test_a_file_that_may_change_an_object(name: str) -> None:
    require_touched(LINKED, [tree("mm/other.c"), tree("mm/other.c", name)])


@pytest.mark.parametrize("name", ["mm/other.c", "lib/toys.c", "fs/toys.h", "tools/mm/Makefile"])
def test_a_file_that_changes_no_object(name: str) -> None:
    with pytest.raises(NoEffectError, match=r"it changes .*, and none of the code") as caught:
        require_touched(LINKED, [tree(name)])
    assert caught.value.code == ExitCode.NOT_APPLICABLE


def prototypes(directory: Path, code: str) -> list[str]:
    (directory / "toys.c").write_text(code)
    types = directory / "toys.types"
    process.run(
        ["gcc", "-aux-info", types, "-fsyntax-only", directory / "toys.c"], action="compile toys"
    )
    return list(kbuild.prototypes(types).values())


@NEEDS_GCC
def test_types_of_parameters_count_and_names_do_not(tmp_path: Path) -> None:
    found = prototypes(tmp_path, CODE)
    assert found == [
        "void init (struct toy *, count, int (*) (int, int))",
        "struct toy *find (const struct toy *const *, count)",
        "int nothing (void)",
        "int many (const char *format, ...)",
    ]
    renamed = CODE.replace("toy *toy,", "toy *one,").replace("toy->size", "one->size")
    assert prototypes(tmp_path, renamed) == found
    other = CODE.replace("count nr,", "int nr,")
    assert prototypes(tmp_path, other)[0] == "void init (struct toy *, int, int (*) (int, int))"


@NEEDS_GCC
@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("i * 5", "i * 6", {"paint"}),
        ("limit = 3", "limit = 4", {"second", "set"}),
        ("limit; }", "limit; }\nint third(int i) { return set(i), paint(i); }", set()),
    ],
)
def test_functions_that_differ_or_use_data_that_differs(
    tmp_path: Path, old: str, new: str, found: set[str]
) -> None:
    gcc = ("gcc", "-O2", "-ffunction-sections", "-fdata-sections", "-xc", "-c", "-")
    base, other = tmp_path / "base.o", tmp_path / "other.o"
    for path, code in ((base, TOYS), (other, TOYS.replace(old, new))):
        process.run([*gcc, "-o", path], action="compile toys", stdin=code)
    assert kbuild.changed_functions(base, other) == found


@NEEDS_GCC
@pytest.mark.parametrize(
    ("ask", "side", "printed"),
    [
        ("", "2", "good"),
        ("", "3", "the check of this harness compares its own code only"),
        ("if (hosted_checked(check) != HOSTED_PATCHED) return -1", "2", "good"),
        ("if (hosted_checked(check) != HOSTED_POSTED) return -1", "3", "good"),
    ],
)
def test_a_check_must_ask_whose_code_it_compares(
    tmp_path: Path, ask: str, side: str, printed: str
) -> None:
    host, include = paths.HOSTED / "host", paths.HOSTED / "include"
    (tmp_path / "toys.c").write_text(PROGRAM)
    words = ["gcc", "-std=gnu11", f"-I{host}", f"-I{include}", f"-DASK={ask}"]
    process.run(
        [*words, "-o", tmp_path / "toys", tmp_path / "toys.c", host / "check.c"], action="compile"
    )
    done = process.run([tmp_path / "toys", side], action="run", check=False, timeout_s=600)
    assert done.stdout.strip() == printed
