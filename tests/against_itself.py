#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run `mmbatch bench` many times, and count how often base seems to differ from itself.

Each run measures base against its own second copy in every case. That ratio is judged as if the
copy were a variant, beside the noise band of the same case in the run before.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from mmbatch.bench.statistics import Ratio, verdict  # noqa: E402


def controls(record: Path) -> dict[str, Ratio]:
    """Return the ratio of base against its second copy in each case of a record."""
    data = json.loads(record.read_text(encoding="utf-8"))
    return {
        one["case"]: Ratio(one["ratio"], one["ci95"][0], one["ci95"][1], len(one["samples"]))
        for one in data["controls"]
    }


def verdicts(runs: list[dict[str, Ratio]]) -> Counter[str]:
    """Count the verdicts on each run's controls beside those of the run before."""
    return Counter(
        str(verdict(ratio, before[case]))
        for before, run in pairwise(runs)
        for case, ratio in run.items()
    )


def main() -> None:
    """Measure, and print how often each verdict came."""
    parser = argparse.ArgumentParser(description="measure base against itself")
    parser.add_argument("count", type=int, help="how many verdicts for each case")
    parser.add_argument("bench", nargs="+", help="arguments of `mmbatch bench`")
    arguments, more = parser.parse_known_args()
    runs: list[dict[str, Ratio]] = []
    with tempfile.TemporaryDirectory() as place:
        record = Path(place) / "bench.json"
        for number in range(arguments.count + 1):
            command = [ROOT / "mmbatch", "bench", *arguments.bench, *more, "-o", place]
            subprocess.run(
                [*command, "--seed", str(number + 1)], stdout=subprocess.DEVNULL, check=False
            )
            runs.append(controls(record))
            record.unlink()
    for words, count in verdicts(runs).most_common():
        print(f"{count:5d}  {words}")


if __name__ == "__main__":
    main()
