# SPDX-License-Identifier: GPL-2.0-only
"""Parts of the hosted engine alone: threads, emulated instructions, the size of the cache."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from mmbatch.core import process
from mmbatch.core.paths import HOSTED

HERE = Path(__file__).parent
FIXED = ["setarch", "-R", "true"]  # without random addresses, as ThreadSanitizer of gcc 12 needs it
INCLUDE = (f"-I{HOSTED}/include", f"-I{HOSTED}/host")

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="lacks gcc")

# ns of a line by MiB
ALL_32 = {1: 0.9, 2: 0.9, 4: 1.0, 8: 1.1, 12: 1.1, 16: 1.1, 24: 1.2, 32: 1.3}
SHARE_44 = {8: 2.6, 16: 2.9, 24: 3.0, 32: 3.2, 48: 7.1, 65: 8.5}


def build(output: Path, *words: str | Path) -> Path:
    """Compile files of the engine, which are named alone, and others."""
    sources = [HOSTED / "host" / word if str(word).endswith(".c") else word for word in words]
    process.run(["gcc", "-g", "-std=gnu11", *INCLUDE, "-o", output, *sources], action="compile")
    return output


@pytest.mark.skipif(
    shutil.which("setarch") is None or bool(subprocess.run(FIXED, check=False).returncode),
    reason="lacks setarch, or its -R is refused here, as in some containers",
)
def test_threads_have_no_data_race(tmp_path: Path) -> None:
    words = ("-O1", "-fsanitize=thread", "-Wall", "-pthread", "cpus.c", HERE / "cpus.c")
    program = build(tmp_path / "cpus", *words)
    done = process.run([*FIXED[:2], program], action="run", check=False, timeout_s=600)
    assert (done.rc, done.stderr) == (0, "")


def test_a_line_is_copied_and_poison_stops_it(tmp_path: Path) -> None:
    program = build(tmp_path / "emulate", "-O1", "emulate.c", "poison.c", HERE / "emulate.c")
    done = process.run([program], action="run", check=False, timeout_s=600)
    assert (done.rc, done.stdout, done.stderr) == (0, "", "")


class Cache(ctypes.Structure):
    _fields_ = (
        ("reported", ctypes.c_ulong),
        ("kept", ctypes.c_ulong),
        ("hot_ns", ctypes.c_double),
        ("cold_ns", ctypes.c_double),
    )


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    library = tmp_path_factory.mktemp("cache") / "cache.so"
    loaded = ctypes.CDLL(str(build(library, "-shared", "-fPIC", "cache.c", "clock.c")))
    loaded.cache_largest.restype = loaded.cache_step.restype = ctypes.c_ulong
    loaded.cache_is_hot.restype = loaded.cache_tells.restype = ctypes.c_bool
    return loaded


@pytest.mark.parametrize(
    ("times", "hot", "cold", "expected"),
    [
        (ALL_32, 0.9, 3.0, 32),
        (SHARE_44, 2.6, 8.1, 32),
        ({**SHARE_44, 16: 30.0}, 2.6, 8.1, 32),  # a disturbed time below others that fit
        ({**ALL_32, 24: 2.9, 32: 3.0}, 0.9, 3.0, 16),  # neighbours use the rest
        ({1: 3.0, 2: 3.0}, 0.9, 3.0, 0),  # nothing stays
        (ALL_32, 0.9, 1.2, 0),  # memory that is not slower tells nothing
        ({}, 0.9, 3.0, 0),
    ],
)
def test_largest_size_that_stays_cached(
    engine: ctypes.CDLL, times: Mapping[int, float], hot: float, cold: float, expected: int
) -> None:
    cache = Cache(0, 0, hot, cold)
    sizes = (ctypes.c_ulong * len(times))(*(mib << 20 for mib in times))
    ns = (ctypes.c_double * len(times))(*times.values())
    assert engine.cache_largest(ctypes.byref(cache), sizes, ns, len(times)) >> 20 == expected


@pytest.mark.parametrize(("ns", "hot"), [(0.5, True), (4.5, True), (4.7, False), (99, False)])
def test_a_line_is_hot_if_its_time_is_nearer_to_that_of_the_cache(
    engine: ctypes.CDLL, ns: float, hot: bool
) -> None:
    assert engine.cache_is_hot(ctypes.byref(Cache(0, 0, 2.6, 8.1)), ctypes.c_double(ns)) is hot
    assert engine.cache_tells(ctypes.byref(Cache(0, 0, 2.0, 3.0)))
    assert not engine.cache_tells(ctypes.byref(Cache(0, 0, 2.0, 2.9)))


@pytest.mark.parametrize("lines", [1, 2, 64, 1 << 15])
def test_each_line_is_visited_once(engine: ctypes.CDLL, lines: int) -> None:
    visited = [engine.cache_step(ctypes.c_ulong(i), ctypes.c_ulong(lines)) for i in range(lines)]
    assert sorted(visited) == list(range(lines))
