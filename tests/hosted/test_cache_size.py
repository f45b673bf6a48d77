# SPDX-License-Identifier: GPL-2.0-only
"""How much memory stays cached: the decision of hosted/host/cache.c, with made-up times."""

from __future__ import annotations

import ctypes
import mmap
import shutil
from collections.abc import Mapping

import pytest

from mmbatch.core import paths, process

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="lacks gcc")

# ns of a line by MiB; what is known about the machine: (ns in the cache, ns in memory).
ALL_32 = {1: 0.9, 2: 0.9, 4: 1.0, 8: 1.1, 12: 1.1, 16: 1.1, 24: 1.2, 32: 1.3}
SHARE_44 = {8: 2.6, 16: 2.9, 24: 3.0, 32: 3.2, 48: 7.1, 65: 8.5}
NO_L2_PLATEAU = {1: 0.5, 2: 1.1, 4: 1.1, 8: 1.2, 12: 1.2, 16: 2.9, 24: 3.0}


class Cache(ctypes.Structure):
    _fields_ = (
        ("reported", ctypes.c_ulong),
        ("kept", ctypes.c_ulong),
        ("hot_ns", ctypes.c_double),
        ("cold_ns", ctypes.c_double),
    )


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    directory = tmp_path_factory.mktemp("cache")
    source, include = paths.HOSTED / "host", paths.HOSTED / "include"
    library = directory / "cache.so"
    process.run(
        [
            *("gcc", "-std=gnu11", "-shared", "-fPIC", f"-I{source}", f"-I{include}"),
            *("-o", library, source / "cache.c", source / "clock.c"),
        ],
        action="compile the measurement of the cache",
    )
    loaded = ctypes.CDLL(str(library))
    loaded.cache_largest.restype = loaded.cache_step.restype = ctypes.c_ulong
    loaded.cache_rewrite.restype = ctypes.c_double
    loaded.cache_is_hot.restype = loaded.cache_tells.restype = ctypes.c_bool
    return loaded


def largest(engine: ctypes.CDLL, times: Mapping[int, float], hot: float, cold: float) -> int:
    """Return the largest size that stays cached, in MiB."""
    cache = Cache(0, 0, hot, cold)
    sizes = (ctypes.c_ulong * len(times))(*(mib << 20 for mib in times))
    ns = (ctypes.c_double * len(times))(*times.values())
    found: int = engine.cache_largest(ctypes.byref(cache), sizes, ns, len(times))
    return found >> 20


def resident(start: int, nbytes: int) -> list[bool]:
    """Return which pages of this memory were touched."""
    pages = (ctypes.c_ubyte * (nbytes // mmap.PAGESIZE))()
    libc = ctypes.CDLL(None)
    assert libc.mincore(ctypes.c_void_p(start), ctypes.c_size_t(nbytes), pages) == 0
    return [bool(page & 1) for page in pages]


@pytest.mark.parametrize(
    ("times", "hot", "cold", "expected"),
    [
        (ALL_32, 0.9, 3.0, 32),
        (SHARE_44, 2.6, 8.1, 32),
        (NO_L2_PLATEAU, 0.5, 3.0, 12),  # the smallest size is in the L2 cache
        ({**SHARE_44, 16: 30.0}, 2.6, 8.1, 32),  # a disturbed time below others that fit
        ({**ALL_32, 24: 2.9, 32: 3.0}, 0.9, 3.0, 16),  # neighbours use the rest
        ({1: 3.0, 2: 3.0}, 0.9, 3.0, 0),  # nothing stays
        (ALL_32, 0.9, 1.2, 0),  # memory that is not slower tells nothing
        (ALL_32, 0.0, 0.0, 0),  # not measured
        ({}, 0.9, 3.0, 0),
    ],
)
def test_largest_size_that_stays_cached(
    engine: ctypes.CDLL, times: Mapping[int, float], hot: float, cold: float, expected: int
) -> None:
    assert largest(engine, times, hot, cold) == expected


@pytest.mark.parametrize(
    ("ns", "hot"), [(0.5, True), (2.6, True), (4.5, True), (4.7, False), (8.1, False), (99, False)]
)
def test_a_line_is_hot_if_its_time_is_nearer_to_that_of_the_cache(
    engine: ctypes.CDLL, ns: float, hot: bool
) -> None:
    assert engine.cache_is_hot(ctypes.byref(Cache(0, 0, 2.6, 8.1)), ctypes.c_double(ns)) is hot


@pytest.mark.parametrize("lines", [1 << order for order in range(16)])
def test_each_line_is_visited_once(engine: ctypes.CDLL, lines: int) -> None:
    visited = [engine.cache_step(ctypes.c_ulong(i), ctypes.c_ulong(lines)) for i in range(lines)]
    assert sorted(visited) == list(range(lines))


@pytest.mark.parametrize("nbytes", [1, 64, 4095, 3 * 4096, 2 << 20, (4 << 20) + 5 * 4096 + 1])
def test_all_of_the_memory_is_rewritten(engine: ctypes.CDLL, nbytes: int) -> None:
    with mmap.mmap(-1, 8 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        assert not any(resident(start, len(memory)))
        assert engine.cache_rewrite(ctypes.c_void_p(start), ctypes.c_ulong(nbytes)) > 0
        touched = resident(start, len(memory))
        pages = -(-nbytes // mmap.PAGESIZE)
        assert all(touched[:pages]) and not any(touched[pages:])


def test_without_contrast_nothing_is_told(engine: ctypes.CDLL) -> None:
    assert engine.cache_tells(ctypes.byref(Cache(0, 0, 2.0, 3.0)))
    assert not engine.cache_tells(ctypes.byref(Cache(0, 0, 2.0, 2.9)))
