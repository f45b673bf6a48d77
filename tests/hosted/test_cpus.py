# SPDX-License-Identifier: GPL-2.0-only
"""The threads that are CPUs of the hosted engine, under ThreadSanitizer."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from mmbatch.core.paths import HOSTED

HERE = Path(__file__).parent


def build(directory: Path, source: str) -> Path:
    """Compile the threads with the program that uses them."""
    changed = directory / "cpus_under_test.c"
    changed.write_text(source, encoding="utf-8")
    program = directory / "cpus"
    words = ["gcc", "-O1", "-g", "-fsanitize=thread", "-Wall", f"-I{HOSTED}/include"]
    words += [f"-I{HOSTED}/host", "-o", str(program), str(changed), str(HERE / "cpus.c")]
    subprocess.run([*words, "-pthread"], check=True)
    return program


def lacks_a_fixed_layout() -> bool:
    """Return whether this place has no setarch, or refuses its -R, as some containers do."""
    if shutil.which("setarch") is None:
        return True
    done = subprocess.run(["setarch", "-R", "true"], capture_output=True, check=False)
    return done.returncode != 0


pytestmark = [
    pytest.mark.skipif(shutil.which("gcc") is None, reason="lacks gcc"),
    pytest.mark.skipif(lacks_a_fixed_layout(), reason="lacks setarch, or its -R is refused here"),
]


def run(program: Path) -> subprocess.CompletedProcess[str]:
    """Run it without random addresses, which ThreadSanitizer of older gccs can't have."""
    words = ["setarch", "-R", str(program)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)


@pytest.fixture(scope="module")
def source() -> str:
    return (HOSTED / "host" / "cpus.c").read_text(encoding="utf-8")


def test_threads_have_no_data_race(tmp_path: Path, source: str) -> None:
    done = run(build(tmp_path, source))
    assert (done.returncode, done.stderr) == (0, "")


NO_WAIT = ("\t\twait_for(item);\n\t}\n", "\t}\n")
UNLOCKED = (
    "\t\tpthread_mutex_lock(&lock);\n\t\titem->state = FREE;\n",
    "\t\titem->state = FREE;\n\t\tpthread_mutex_lock(&lock);\n",
)


@pytest.mark.parametrize(("old", "new"), [NO_WAIT, UNLOCKED])
def test_an_error_in_them_is_found(tmp_path: Path, source: str, old: str, new: str) -> None:
    assert source.count(old) == 1
    done = run(build(tmp_path, source.replace(old, new)))
    assert done.returncode
    assert "ThreadSanitizer: " in done.stderr or "a chunk was not done once" in done.stderr
