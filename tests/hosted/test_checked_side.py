# SPDX-License-Identifier: GPL-2.0-only
"""A check that never asks whose code it compares is not believed when that is posted code."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from mmbatch.core import paths, process

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="lacks gcc")

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

int main(int argc, char **argv)
{
	return check_run(1, atoi(argv[1])) ? 0 : 1;
}
"""
PATCHED, POSTED = "2", "3"


@pytest.mark.parametrize(
    ("ask", "side", "printed"),
    [
        ("", PATCHED, "good"),
        ("", POSTED, "the check of this harness compares its own code only"),
        ("if (hosted_checked(check) != HOSTED_PATCHED) return -1", PATCHED, "good"),
        ("if (hosted_checked(check) != HOSTED_POSTED) return -1", POSTED, "good"),
    ],
)
def test_posted_code_is_asked_for(tmp_path: Path, ask: str, side: str, printed: str) -> None:
    host, include = paths.HOSTED / "host", paths.HOSTED / "include"
    (tmp_path / "toys.c").write_text(PROGRAM)
    process.run(
        [
            *("gcc", "-std=gnu11", f"-I{host}", f"-I{include}", f"-DASK={ask}"),
            *("-o", tmp_path / "toys", tmp_path / "toys.c", host / "check.c"),
        ],
        action="compile a check",
    )
    done = subprocess.run(
        [tmp_path / "toys", side], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.stdout.strip() == printed
