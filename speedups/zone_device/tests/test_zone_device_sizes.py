# SPDX-License-Identifier: GPL-2.0-only
"""Sizes of `struct page` that no configuration of a measured kernel has."""

import platform
import re
from pathlib import Path

import pytest

from mmbatch.core import paths, process
from mmbatch.splice.hooks import apply_edit
from mmbatch.splice.manifest import load_with_needs

SOURCE = Path(__file__).with_name("page_sizes.c")
SHARED = paths.SPEEDUPS / "common/mm"
PARTS = ("mm", "include", "arch/x86/include")


def spliced(folder: Path) -> list[Path]:
    """Write our C files as they are before other CPUs take part, and return their directories."""
    *needed, own = load_with_needs(paths.SPEEDUPS, "zone_device")
    for speedup in (*needed, own.until("wide")):
        tree = speedup.directory / "tree"
        found = (path for part in PARTS for path in (tree / part).rglob("*.[ch]"))
        files = {path: path.relative_to(tree) for path in found}
        if speedup.speedup == "zone_device":
            files[own.directory / "live/mm_init.c"] = Path("mm/mm_init.c")
        for path, name in files.items():
            content = path.read_text()
            for step in speedup.steps:
                for edit in (edit for edit in step.edits if edit.file == str(name)):
                    if "7.3" in edit.kernels and edit.when is None:
                        content = apply_edit(content, edit)
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
    return [folder / part for part in PARTS]


def stand_ins(folder: Path, folders: list[Path]) -> None:
    """Make an empty header for each of the kernel's own that the code includes."""
    for path in (path for place in folders for path in place.rglob("*.[ch]")):
        names = re.findall(r'^#include [<"](.+)[>"]', path.read_text(), re.MULTILINE)
        for name in names:
            if not any((place / name).exists() for place in folders):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).touch()


def compiled(tmp_path: Path, *options: str) -> Path:
    folders = [*spliced(tmp_path / "spliced"), SHARED]
    stand_ins(tmp_path / "stand-ins", folders)
    includes = [f"-I{folder}" for folder in (*folders, tmp_path / "stand-ins")]
    program = tmp_path / "page_sizes"
    process.run(
        ["gcc", "-O1", "-fno-strict-aliasing", *options, *includes, "-o", program, SOURCE],
        action="compile the stand-in kernel",
    )
    return program


@pytest.mark.parametrize("size", [56, 64, 72, 80, 88, 96])
def test_every_byte_is_that_of_a_simple_loop(tmp_path: Path, size: int) -> None:
    program = compiled(tmp_path, f"-DPAGE_BYTES={size}")
    lines = process.run([program], action=f"compare {size} bytes").stdout.splitlines()
    methods = ("auto", "copy", "movnti", "wide", "wide, no FPU")
    compared = dict(line.split(" compared ") for line in lines if " compared " in line)
    assert compared == dict.fromkeys(methods, "63")
    wide = platform.machine() == "x86_64" and size == 64
    assert lines[-5:] == [
        "small: copy",
        "large: wide",
        "large, compounds: wide",
        "large, but most of it shared: copy",
        f"FPU used: {'yes' if wide else 'no'}",
    ]


def test_descriptors_that_hold_their_address_are_left_to_the_slow_path(tmp_path: Path) -> None:
    program = compiled(tmp_path, "-DPAGE_BYTES=64", "-DWANT_PAGE_VIRTUAL")
    process.run([program], action="ask for a range")
