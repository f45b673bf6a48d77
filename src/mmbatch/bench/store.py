# SPDX-License-Identifier: GPL-2.0-only
"""Runs that were measured before: found, read, and compared with the samples beside them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from mmbatch.bench.record import Record, read
from mmbatch.core.errors import ExitCode, MmbatchError

RECORD = "bench.json"
SAMPLES = "samples.jsonl"


class Raw(StrEnum):
    """What is known of the samples that a record was made from, in the words that are printed."""

    SAME = "samples.jsonl beside it has this hash"
    ABSENT = "samples.jsonl is not beside it"
    DIFFERS = "DOES NOT MATCH the samples.jsonl beside it"


@dataclass(frozen=True)
class Stored:
    """A run and the letter that a report calls it by."""

    label: str
    path: Path
    record: Record
    raw: Raw

    @property
    def speedups(self) -> list[str]:
        """The speed-ups that were measured, in the order of the run."""
        return list(dict.fromkeys(row.speedup for row in self.record.rows))


def load(paths: Sequence[Path]) -> list[Stored]:
    """Read runs in the order given.

    Args:
        paths: folders that `bench` made, or files that `bench --json` wrote.

    Raises:
        MmbatchError: one is neither, or one run was given twice.
    """
    runs: list[Stored] = []
    for number, given in enumerate(paths):
        path = given / RECORD if given.is_dir() else given
        record = read(path)
        if not record.rows:
            raise MmbatchError(f"report on {given}", "it has no rows", "leave it out")
        for other in runs:
            if (other.record.samples_sha256, other.record.started) == (
                record.samples_sha256,
                record.started,
            ):
                raise MmbatchError(
                    f"report on {given}",
                    f"it is the same run as {other.path}",
                    "give each run once",
                    ExitCode.USAGE,
                )
        runs.append(Stored(letters(number), path, record, _raw(path, record)))
    return runs


def newest(runs: Path, release: str | None = None) -> dict[str, Path]:
    """Return the last whole hosted run of each speed-up in a folder of runs.

    Passed over are runs that can't be read, such as those of another version, and those in which
    the user left out cases, which may be the losing ones, or made it another machine or kernel.

    Args:
        runs: the folder, whose entries begin with the time.
        release: of this kernel only.

    Returns:
        Speed-up to the run's folder, sorted by the speed-ups' names.
    """
    found: dict[str, Path] = {}
    for path in sorted(runs.glob(f"*/{RECORD}")):
        try:
            record = read(path)
        except MmbatchError:
            continue
        if _whole(record) and release in (None, record.kernel.release):
            found |= {row.speedup: path.parent for row in record.rows}
    return {name: found[name] for name in sorted(found)}


def letters(number: int) -> str:
    """Name the runs of a report: A, B, ... Z, AA, AB, ..."""
    rest, last = divmod(number, 26)
    return (letters(rest - 1) if rest else "") + chr(ord("A") + last)


def _whole(record: Record) -> bool:
    words = {word.partition("=")[0] for word in record.command.split()}
    return record.engine == "hosted" and not words & {"--case", "--cpu", "--tree", "-K"}


def _raw(path: Path, record: Record) -> Raw:
    try:
        content = path.with_name(SAMPLES).read_bytes()
    except OSError:
        return Raw.ABSENT
    same = hashlib.sha256(content).hexdigest() == record.samples_sha256
    return Raw.SAME if same else Raw.DIFFERS
