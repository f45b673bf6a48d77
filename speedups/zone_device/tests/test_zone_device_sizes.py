# SPDX-License-Identifier: GPL-2.0-only
"""Sizes of `struct page` that no configuration of a measured kernel has."""

import platform
import re
from pathlib import Path

import pytest

from mmbatch.core import paths, process

SOURCE = Path(__file__).with_name("page_sizes.c")
TREES = [paths.SPEEDUPS / name / "tree" for name in ("zone_device", "streaming_copy")]
COMPAT = paths.SPEEDUPS / "zone_device" / "compat"
FOLDERS = [
    *(tree / folder for tree in TREES for folder in ("mm", "include", "arch/x86/include")),
    *(COMPAT / "7.x/mm", COMPAT / "pageblock-by-caller/mm", paths.SPEEDUPS / "common/mm"),
]


def stand_ins(folder: Path) -> None:
    """Make an empty header for each of the kernel's own that the code includes."""
    for path in (path for place in FOLDERS for path in place.rglob("*.[ch]")):
        names = re.findall(r'^#include [<"](.+)[>"]', path.read_text(), re.MULTILINE)
        for name in names:
            if not any((place / name).exists() for place in FOLDERS):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).touch()


@pytest.mark.parametrize("differ", [False, True], ids=["same", "differ"])
@pytest.mark.parametrize("size", [56, 64, 72, 80, 88, 96])
def test_every_byte_is_that_of_a_simple_loop(tmp_path: Path, size: int, differ: bool) -> None:
    stand_ins(tmp_path / "include")
    options = ["-fno-strict-aliasing", f"-DPAGE_BYTES={size}", *(["-DDIFFER"] if differ else [])]
    includes = [f"-I{folder}" for folder in (*FOLDERS, tmp_path / "include")]
    program = tmp_path / "page_sizes"
    process.run(
        ["gcc", "-O1", *options, *includes, "-o", program, SOURCE],
        action="compile the stand-in kernel",
    )
    lines = process.run([program], action=f"compare {size} bytes").stdout.splitlines()
    x86 = platform.machine() == "x86_64"
    streaming = ["wide", "movnti"] if x86 and size == 64 else ["movnti"] if x86 else []
    compared = dict(line.split(" compared ") for line in lines if " compared " in line)
    assert compared == dict.fromkeys(["auto", "copy", *streaming], "63")
    preferred = (streaming or ["copy"])[0]
    assert lines[-6:] == [
        "small: copy",
        f"large: {preferred}",
        f"large, compounds: {preferred}",
        "large, but most of it shared: copy",
        f"large, no FPU: {(streaming or ['copy'])[-1]}",
        "warnings 0",
    ]
