#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Measure speed-ups both as they are and as the series that `mmbatch export` writes of them.

Both rows hold the same code, so `bench --patch` must give the same ratios as the speed-up's own
row. Printed are both in each case; the exit code is 1 if they differ by more than the noise.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LABEL = "posted"
LEAST = 0.05
"""Two medians of the same code may differ by so much, or by twice the noise band."""


@dataclass(frozen=True)
class Both:
    """Ratios to base of the same code, and the noise band of the case (0.01 is 1 %)."""

    case: str
    own: float
    posted: float
    band: float

    @property
    def alike(self) -> bool:
        """Whether they differ by no more than noise."""
        return abs(self.posted / self.own - 1) <= max(LEAST, 2 * self.band)


def compare(record: dict[str, Any]) -> Iterator[Both]:
    """Yield each case of a record in which both rows have numbers."""
    bands = {control["case"]: control["band"] or 0.0 for control in record["controls"]}
    rows = {(row["case"], row["variant"]): row["ratio"] for row in record["rows"]}
    for case, band in bands.items():
        names = [name for found, name in rows if found == case and name not in ("base", LABEL)]
        own = rows[case, "auto" if "auto" in names else names[-1]]
        posted = rows[case, LABEL]
        if own is not None and posted is not None:
            yield Both(case, own["median"], posted["median"], band)


def unequal(record: dict[str, Any]) -> list[str]:
    """Return the cases in which the series left other memory than base."""
    rows = [row for row in record["rows"] if row["variant"] == LABEL]
    return [row["case"] for row in rows if row["image_equal"] is not True]


def measure(name: str, words: list[str], work: Path) -> dict[str, Any]:
    """Export a speed-up, measure it both ways, and return the record."""
    kernel = [word for option in ("--kernel", "--tree") for word in _value(words, option)]
    tool = [ROOT / "mmbatch"]
    subprocess.run(
        [*tool, "export", name, *kernel, "-q", "--until", "all", "-o", work / "series"], check=True
    )
    patch = f"{LABEL}={work / 'series' / name}"
    file = work / f"{name}.json"
    subprocess.run([*tool, "bench", name, "--patch", patch, *words, "--json", file], check=False)
    if not file.exists():
        sys.exit("error: cannot go on: the bench left no record\nhint: see its message")
    record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return record


def _value(words: list[str], option: str) -> list[str]:
    return words[words.index(option) :][:2] if option in words else []


def main() -> int:
    """Measure, print both rows of each case, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("speedups", nargs="+", metavar="SPEEDUP")
    parser.add_argument("--bench", default="--quick", help="options of bench, in one argument")
    given = parser.parse_args()
    wrong = 0
    for name in given.speedups:
        with tempfile.TemporaryDirectory() as place:
            record = measure(name, given.bench.split(), Path(place))
        for case in unequal(record):
            wrong += 1
            print(f"{name}: {case}: NOT EQUAL")
        for both in compare(record):
            wrong += not both.alike
            word = "alike" if both.alike else "DIFFERENT"
            print(
                f"{name}: {both.case}: {both.own:.3f} by itself, {both.posted:.3f} as posted, "
                f"noise {100 * both.band:.1f} %: {word}"
            )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
