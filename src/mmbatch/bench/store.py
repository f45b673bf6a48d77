# SPDX-License-Identifier: GPL-2.0-only
"""Runs that were measured before: found, read, and compared with the samples beside them."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from mmbatch.bench.machine import with_model
from mmbatch.bench.record import Record, read
from mmbatch.core.errors import ExitCode, MmbatchError

RECORD = "bench.json"
SAMPLES = "samples.jsonl"


class Raw(StrEnum):
    """What is known of the samples that a record was made from, in the words that are printed."""

    SAME = "samples.jsonl beside it has this hash"
    ABSENT = "samples.jsonl is not beside it"
    DIFFERS = "DOES NOT MATCH the samples.jsonl beside it"
    UNREADABLE = "CANNOT BE COMPARED with the samples.jsonl beside it, which can't be read"

    @property
    def wrong(self) -> bool:
        """Whether there are samples, but none that the record is proven to be made from."""
        return self in (Raw.DIFFERS, Raw.UNREADABLE)


@dataclass(frozen=True)
class Stored:
    """A run and the name that a report calls it by: its machine and kernel."""

    name: str
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
        paths: directories that `bench` made, or files that `bench --json` wrote.

    Raises:
        MmbatchError: one is neither, or one run was given twice.
    """
    found: list[tuple[Path, Record]] = []
    for run in paths:
        try:
            path = run / RECORD if run.is_dir() else run
        except OSError:  # of which `read` says what is wrong
            path = run
        record = read(path)
        if not record.rows:
            raise MmbatchError(f"report on {run}", "it has no rows", "leave it out")
        for other_path, other in found:
            if (other.samples_sha256, other.started) == (record.samples_sha256, record.started):
                raise MmbatchError(
                    f"report on {run}",
                    f"it is the same run as {other_path}",
                    "give each run once",
                    ExitCode.USAGE,
                )
        found.append((path, record))
    names = run_names([record for _, record in found])
    return [
        Stored(name, path, record, _raw(path, record))
        for name, (path, record) in zip(names, found, strict=True)
    ]


def run_names(records: Sequence[Record]) -> Iterator[str]:
    """Name runs by machine and kernel, so that no two runs of a speed-up have one name.

    Args:
        records: the runs of a report.

    Yields:
        A name for each. Runs of several speed-ups on one machine share it, since a reader wants to
        see that they belong together. Where it would be ambiguous, it has the CPU's family and
        model too, or the time of the start.
    """
    plain = [f"{name}, Linux {record.kernel.release}" for name, record in _on_machines(records)]
    timed = [
        f"{name}, {datetime.fromisoformat(record.started):%Y-%m-%d %H:%M}"
        for name, record in zip(plain, records, strict=True)
    ]
    speedups = [{row.speedup for row in record.rows} for record in records]

    def same(names: list[str], at: int) -> list[int]:
        others = range(len(names))
        return [i for i in others if names[i] == names[at] and speedups[i] & speedups[at]]

    for at, name in enumerate(plain):
        if len(same(plain, at)) == 1:
            yield name
        elif len(alike := same(timed, at)) == 1:
            yield timed[at]
        else:
            yield f"{timed[at]} (run {1 + alike.index(at)})"


def _on_machines(records: Sequence[Record]) -> Iterator[tuple[str, Record]]:
    """Yield each record with its machine's name: virtual machines often call all CPUs alike."""
    names = [machine_name(record) for record in records]
    models: dict[str, set[tuple[int | None, int | None]]] = {}
    for name, record in zip(names, records, strict=True):
        models.setdefault(name, set()).add((record.machine.family, record.machine.model))
    for name, record in zip(names, records, strict=True):
        guest = record.engine == "guest-icount"
        yield name if guest or len(models[name]) == 1 else with_model(name, record.machine), record


def machine_name(record: Record) -> str:
    """Return a short name of the machine that a run is about: its CPU, or the emulated guest."""
    if record.engine == "guest-icount":
        return f"emulated {guest_arch(record) or record.machine.arch}"
    clutter = r"\((R|TM)\)|\b(CPU|Processor)(?=\s*(@|$))|@.*"
    name = re.sub(clutter, " ", record.machine.cpu, flags=re.I)
    return " ".join(name.split()) or record.machine.arch


def guest_arch(record: Record) -> str:
    """Return what a guest was, where its command says that; the machine may be another."""
    try:
        words = shlex.split(record.command)
    except ValueError:
        return ""
    return words[words.index("--arch") + 1] if "--arch" in words[:-1] else ""


def newest(
    runs: Path, release: str | None = None, say: Callable[[str], None] | None = None
) -> dict[str, Path]:
    """Return the last whole hosted run of each speed-up in a directory of runs.

    Passed over are runs that can't be read, such as those of another version, and those in which
    the user left out cases, which may be the slower ones, or changed the machine or kernel.

    Args:
        runs: the directory, whose entries begin with the time.
        release: of this kernel only.
        say: called with a line for each run whose record is damaged.

    Returns:
        Speed-up to the run's directory, sorted by the speed-ups' names.
    """
    found: dict[str, Path] = {}
    for path in sorted(runs.glob(f"*/{RECORD}")):
        try:
            record = read(path)
        except MmbatchError as error:
            if say is not None and _is_damaged(path):
                say(f"left out {path}: {error.problem}")
            continue
        if _whole(record) and release in (None, record.kernel.release):
            found |= {row.speedup: path.parent for row in record.rows}
    return {name: found[name] for name in sorted(found)}


def _is_damaged(path: Path) -> bool:
    """Return whether a record can't be read as JSON; one of another version can."""
    try:
        json.loads(path.read_bytes() if path.is_file() else b"")
    except (OSError, ValueError, RecursionError):
        return True
    return False


def _whole(record: Record) -> bool:
    words = {word.partition("=")[0] for word in record.command.split()}
    return record.engine == "hosted" and not words & {"--case", "--cpu", "--tree", "-K"}


def _raw(path: Path, record: Record) -> Raw:
    samples = path.with_name(SAMPLES)
    if not samples.exists():
        return Raw.ABSENT
    if not samples.is_file():  # a pipe could make us wait for ever
        return Raw.UNREADABLE
    try:
        content = samples.read_bytes()
    except OSError:
        return Raw.UNREADABLE
    same = hashlib.sha256(content).hexdigest() == record.samples_sha256
    return Raw.SAME if same else Raw.DIFFERS
