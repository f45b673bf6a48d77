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
    fields = json.loads(record.read_text(encoding="utf-8"))
    return {
        control["case"]: Ratio(
            control["ratio"], control["ci95"][0], control["ci95"][1], len(control["samples"])
        )
        for control in fields["controls"]
    }


def verdicts(runs: list[dict[str, Ratio]]) -> Counter[str]:
    """Count the verdicts on each run's controls beside those of the run before."""
    return Counter(
        str(verdict(ratio, before[case]))
        for before, run in pairwise(runs)
        for case, ratio in run.items()
    )


def measure(command: list[str | Path], count: int) -> list[dict[str, Ratio]]:
    """Run `bench` up to `count` times, each with another seed, and return their controls.

    Ctrl-C ends the measurement, and the runs that are complete count.
    """
    runs: list[dict[str, Ratio]] = []
    with tempfile.TemporaryDirectory() as place:
        record = Path(place) / "bench.json"
        try:
            for number in range(count):
                words = [*command, "-o", place, "--seed", str(number + 1)]
                subprocess.run(words, stdout=subprocess.DEVNULL, check=False)
                if not record.exists():
                    sys.exit("error: cannot go on: the bench left no record\nhint: see its message")
                runs.append(controls(record))
                record.unlink()
        except KeyboardInterrupt:
            print(f"ended after {len(runs)} runs", file=sys.stderr)
    return runs


def main() -> None:
    """Measure, and print how often each verdict came."""
    parser = argparse.ArgumentParser(description="measure base against itself")
    parser.add_argument("count", type=int, help="how many verdicts for each case")
    parser.add_argument("bench", nargs="+", help="arguments of `mmbatch bench`")
    arguments, more = parser.parse_known_args()
    command = [ROOT / "mmbatch", "bench", *arguments.bench, *more]
    runs = measure(command, arguments.count + 1)
    for words, count in verdicts(runs).most_common():
        print(f"{count:5d}  {words}")


if __name__ == "__main__":
    main()
