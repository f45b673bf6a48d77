#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Measure speed-ups both as they are and as the series that `mmbatch export` writes of them.

Both rows hold the same code, so `bench --patch` must give the same ratios as the speed-up's own
row. Printed are both in each case; the exit code is 1 if they differ by more than the noise.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from mmbatch.bench import record  # noqa: E402
from mmbatch.bench.record import Record  # noqa: E402
from mmbatch.bench.table import tables  # noqa: E402

LABEL = "posted"
LEAST = 0.05
"""Two medians of the same code may differ by so much, or by twice the noise band."""


def compare(found: Record) -> Iterator[tuple[str, bool]]:
    """Yield a line for each case, and whether both rows are alike."""
    for case, table in tables(found).items():
        posted = next(row for row in table.rows if row.name == LABEL)
        own = table.chosen.ratio
        if not posted.equal:
            yield f"{case}: NOT EQUAL", False
        elif own and posted.ratio:
            band = table.band or 0.0
            alike = abs(posted.ratio.median / own.median - 1) <= max(LEAST, 2 * band)
            both = f"{own.median:.3f} by itself, {posted.ratio.median:.3f} as posted"
            word = "alike" if alike else "DIFFERENT"
            yield f"{case}: {both}, noise {100 * band:.1f} %: {word}", alike


def measure(name: str, words: list[str], work: Path) -> Record:
    """Export a speed-up, measure it both ways, and return the record."""
    kernel = [word for option in ("--kernel", "--tree") for word in _value(words, option)]
    tool = [ROOT / "mmbatch"]
    words_of_export: list[str | Path] = [
        "export",
        name,
        *kernel,
        "-q",
        "--until",
        "all",
        "-o",
        work / "series",
    ]
    subprocess.run([ROOT / "mmbatch", *words_of_export], check=True)
    patch = f"{LABEL}={work / 'series' / name}"
    file = work / f"{name}.json"
    subprocess.run([*tool, "bench", name, "--patch", patch, *words, "--record", file], check=False)
    return record.read(file)


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
            for line, alike in compare(measure(name, given.bench.split(), Path(place))):
                wrong += not alike
                print(f"{name}: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
