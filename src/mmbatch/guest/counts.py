# SPDX-License-Identifier: GPL-2.0-only
"""What is counted of each speed-up in guests, and how much fewer it has to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Counts:
    """What is counted of a speed-up.

    Attributes:
        speedup: its name.
        item_bytes: size of what an instruction count is divided by.
        regimes: name of each case, and what it is.
        proof: KUnit case whose parameters are the methods; it has to pass for a number to show.
        least: for some cases, how many times fewer instructions `auto` has to take.
    """

    speedup: str
    item_bytes: int
    regimes: Mapping[str, str]
    proof: str
    least: Mapping[str, float] = field(default_factory=dict)


ZONE_DEVICE = Counts(
    "zone_device",
    64,
    {
        "fsdax": "memmap_init_zone_device(), nd_pmem bound again",
        "devdax-2m": "memmap_init_zone_device(), dax_pmem bound again, align 2M",
        "hmm": "memremap_pages(), test_hmm loaded again, DEVICE_PRIVATE",
    },
    "zone_device.zone_device_same_image.",
    {"fsdax": 3.0},
)

_MAPPED = {
    "vmap-100M-order8": "vmap(), 100 MB in blocks of order 8, none next to the one before",
    "vmap-100M-order0": "vmap(), 100 MB of scattered pages",
    "vmap-1-page": "vmap() of 1 page, 64 times",
    "vmap-64K-order0": "vmap() of 16 scattered pages, 64 times",
    "vmap-64K-order4": "vmap() of 16 pages that follow each other, 64 times",
    "vmap-1M-order8": "vmap() of 256 pages that follow each other, 64 times",
    "vmalloc-1M": "huge vmalloc() of 1 MB, mapping only, 16 times",
    "ioremap-1M": "ioremap() of 1 MB, 16 times",
}
_NEVER_WORSE = {
    **{f"{name}-unmap": 0.98 for name in _MAPPED},
    "vmap-100M-order0": 0.98,
    "vmap-1-page": 0.98,
    "vmap-64K-order0": 0.98,
    "vmap-64K-order4": 0.98,
    "vmap-1M-order8": 0.98,
}


_REGIMES = {**_MAPPED, **{f"{name}-unmap": f"unmapping after {_MAPPED[name]}" for name in _MAPPED}}
_PROOF = "vmap.vmap_arrays."

VMAP = {
    "arm64": Counts(
        "vmap",
        4096,
        _REGIMES,
        _PROOF,
        {
            **_NEVER_WORSE,
            "vmap-100M-order8": 8.3,
            "ioremap-1M": 1.35,
            "vmalloc-1M": 1.42,
        },
    ),
    "x86_64": Counts("vmap", 4096, _REGIMES, _PROOF),
}
"""By architecture. Nothing is asked where `make test` counts nothing: x86-64 can be timed."""
