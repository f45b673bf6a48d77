#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What a hosted program prints, made up: one case for each kind of result."""

import json
import sys
from pathlib import Path

SERIES = {"base": 220, "control": 220, "copy": 150, "wide": 88, "auto": 88, "limit:rep stosq": 82}
CASES: dict[str, tuple[str, int, dict[str, float]]] = {
    "faster": ("cold, altmap", 26_214_400, {}),
    "slower": ("hot", 131_072, {"copy": 221, "wide": 242, "auto": 260}),
    "same": ("hot, read back", 131_072, {"copy": 219, "wide": 221, "auto": 222}),
    "noisy": ("cold", 1_048_576, {"control": 253, "auto": 195}),
    "unequal": ("hot", 131_072, {}),
}
"""Name to regime, items, and the milliseconds that differ from those of the series."""


def say(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, **fields}))


def options(name: str) -> list[str]:
    """Return the values of an option, which can come several times."""
    return [value for word, value in zip(sys.argv, sys.argv[1:], strict=False) if word == name]


def measure(name: str, posted: list[str]) -> None:
    regime, items, changed = CASES[name]
    times = {**SERIES, **changed, **dict.fromkeys(posted, 110)}
    times["auto"] += 20 * ("erms=0" in sys.argv)
    pairs = int(options("--pairs")[0]) if options("--pairs") else 24
    given = {"unit": "ns", "item": "struct page", "items": items, "bytes": 64 * items}
    say("case", case=name, regime=regime, variants=[*times], pairs=pairs, posted=posted, **given)
    if "--list" in sys.argv:
        return
    wrong = ["wide", *posted] if name == "unequal" else []
    for variant in times:
        if variant != "base" and not variant.startswith("limit:"):
            equal = {"equal": variant not in wrong, "bytes": 64 * items}
            detail = "byte 40 of item 7" if variant in wrong else ""
            say("equal", case=name, variant=variant, detail=detail, **equal)
    for run in range(pairs):
        for pos, (variant, ms) in enumerate(times.items()):
            wobble = (7 * run + (1 + pos) * (run // 2 + 2)) % 5 - 2
            place = {"block": run // 2, "half": run % 2, "pos": pos}
            if variant not in wrong:
                say(
                    "sample", case=name, variant=variant, ns=round(1e6 * ms + 5e5 * wobble), **place
                )


posted = ["v2"] if "posted" in sys.argv[0] else []
flags = {"page_bytes": 64, "cpu_flags": {"erms": True}, "cached_bytes": 44 << 20}
say("engine", speedup=Path(sys.argv[0]).parent.name, sides=["base", "control", "patched"], **flags)
if not {*options("--case")} <= {*CASES} or not {*options("--cpu")} <= {"erms=0", "erms=1"}:
    sys.exit(2)  # a name that is unknown
for name in options("--case") or CASES:
    measure(name, posted)
if "--list" not in sys.argv:
    say("done")
