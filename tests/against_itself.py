#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run `mmbatch bench` many times, and count how often base seems to differ from itself.

Each run measures base against its own second copy in every case. That ratio is judged as if the
copy were a variant, beside the noise band of the same case in the run before.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from mmbatch.bench import record  # noqa: E402
from mmbatch.bench.statistics import Ratio, control_band, verdict  # noqa: E402
from mmbatch.bench.table import tables  # noqa: E402


def controls(file: Path) -> dict[str, Ratio]:
    """Return the ratio of base against its second copy in each case of a record."""
    found = tables(record.read(file)).items()
    return {case: each.control.ratio for case, each in found if each.control and each.control.ratio}


def verdicts(runs: list[dict[str, Ratio]]) -> Counter[str]:
    """Count the verdicts on each run's controls beside those of the run before."""
    return Counter(
        str(verdict(ratio, control_band(before[case])))
        for before, run in pairwise(runs)
        for case, ratio in run.items()
    )


def main() -> None:
    """Run `bench`, each time with another seed, and print how often each verdict came."""
    parser = argparse.ArgumentParser(description="measure base against itself")
    parser.add_argument("count", type=int, help="how many verdicts for each case")
    parser.add_argument("speedup", help="what to measure; more arguments of bench may follow")
    given, more = parser.parse_known_args()
    runs: list[dict[str, Ratio]] = []
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "record.json"
        for number in range(given.count + 1):
            words = [ROOT / "mmbatch", "bench", given.speedup, *more]
            words += ["--record", file, "--seed", str(number + 1)]
            subprocess.run(words, stdout=subprocess.DEVNULL, check=False)
            runs.append(controls(file))
            file.unlink()
    for word, count in verdicts(runs).most_common():
        print(f"{count:5d}  {word}")


if __name__ == "__main__":
    main()
