# SPDX-License-Identifier: GPL-2.0-only
"""Instructions that the hosted engine executes for CPUs that do not have them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from mmbatch.core.paths import HOSTED

HERE = Path(__file__).parent

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="lacks gcc")


def run(directory: Path, name: str = "", old: str = "", new: str = "") -> str:
    """Compile what executes them, changed in one place, and return what is wrong with it."""
    sources = []
    for source in ("emulate.c", "poison.c"):
        text = (HOSTED / "host" / source).read_text(encoding="utf-8")
        assert source != name or text.count(old) == 1
        sources.append(directory / source)
        changed = text.replace(old, new) if source == name else text
        sources[-1].write_text(changed, encoding="utf-8")
    program = directory / "emulate"
    words = ["gcc", "-O1", "-g", "-std=gnu11", f"-I{HOSTED}/include", f"-I{HOSTED}/host"]
    words += ["-o", str(program), *map(str, sources), str(HERE / "emulate.c")]
    subprocess.run(words, check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=600)
    assert done.stderr == ""
    if done.returncode < 0:
        return f"signal {-done.returncode}"
    assert done.returncode == (1 if done.stdout else 0)
    return done.stdout.strip()


def test_a_line_is_copied_and_poison_stops_it(tmp_path: Path) -> None:
    assert run(tmp_path) == ""


@pytest.mark.parametrize(
    ("name", "old", "new", "wrong"),
    [
        ("emulate.c", "REG_RIP] += 5", "REG_RIP] += 4", "the instruction is not passed"),
        ("poison.c", "code[4] >> 3 & 7", "7", "signal"),
        ("emulate.c", " || regs[numbers[to]] & 63", "", "that is not aligned is accepted"),
        ("poison.c", "is_left() && line_in(from, bytes)", "is_left()", "next to a line stops"),
        ("poison.c", "\tif (poison && is_left() &&", "\tif (poison && !is_left() &&", "not stop a"),
    ],
)
def test_an_error_in_it_is_found(tmp_path: Path, name: str, old: str, new: str, wrong: str) -> None:
    assert wrong in run(tmp_path, name, old, new)
