# SPDX-License-Identifier: GPL-2.0-only
"""Bounded proofs of which `struct page`s are written, and with what; see hosted/prove.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "hosted"))

from prove import prove_all

WRITTEN = {
    "harness": "memmap.c",
    "file": "mm/mm_init.c",
    "variants": [f"ORDER={order}{how}" for order in range(4) for how in ("", " STREAM")],
    "unwind": 9,
    "loops": {
        "zone_device_compound.0": 4,
        "zone_device_compound.1": 3,
        "zone_device_take_part.0": 1,
        "zone_device_write_all.0": 2,
        "zone_device_write_all.1": 1,
    },
    "refutes": [
        "seeded too late",
        "stale tail",
        "missing word",
        "one too few",
        "no drain",
        "order left in a tail",
        "second tail of 7.x",
        "tail with a reference",
        "head without its flag",
        "shared vmemmap pages",
        "empty range",
    ],
}
SHARED_BY_CPUS = {
    "harness": "chunks.c",
    "file": "mm/mm_init.c",
    "variants": ["ORDER=0", "ORDER=1", "ORDER=3"],
    "unwind": 6,
    "loops": {
        "zone_device_write_all.0": 4,
        "zone_device_write_all.1": 3,
        "maybe_help.0": 3,
        "cancel_work_sync.0": 3,
    },
    "replaced": {"zone_device_write": "write_chunk"},
    "refutes": [
        "chunk after the end",
        "compound cut into chunks",
        "chunk left out",
        "worker left",
        "no worker, no memmap",
        "worker on the caller's CPU",
    ],
}

sys.exit(prove_all("zone_device", WRITTEN, SHARED_BY_CPUS))
