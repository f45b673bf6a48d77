# SPDX-License-Identifier: GPL-2.0-only
"""Bounded proofs of the ranges that are copied, and of what is reported; see hosted/prove.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "hosted"))

from prove import prove_all

COMMON = {"harness": "ranges.c", "file": "mm/folio_copy.c", "unwind": 9, "loops": {"machine.0": 3}}
PIECES = {
    **COMMON,
    "variants": [""],
    "refutes": [
        "poisoned page not confirmed",
        "every page confirmed",
        "one line too few is unsure",
        "destination reported",
        "reschedule after the last piece",
    ],
}
COPY_ON_WRITE = {
    **COMMON,
    "variants": ["USER"],
    "refutes": [
        "written page first",
        "written page left out",
        "another page last",
        "first page left out",
        "poison in a range forgotten",
        "ranges without machine checks",
    ],
}

sys.exit(prove_all("folio_copy", PIECES, COPY_ON_WRITE))
