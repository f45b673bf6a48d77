# SPDX-License-Identifier: GPL-2.0-only
"""What one run measured, as JSON: samples, and what they are of.

The dataclasses are the format. Medians, ratios, intervals and verdicts are not in it: they follow
from the samples, in `table`.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from mmbatch.bench import machine
from mmbatch.bench.machine import Machine
from mmbatch.core import paths
from mmbatch.core.cache import atomic_write
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.load import Count, Natural, load
from mmbatch.hosted import events
from mmbatch.hosted.events import BASE, LIMIT_PREFIX, Check, Equal, Event, Note, Sample

SCHEMA = 2
UNKNOWN = "unknown"
_HINT = "give a record that `mmbatch bench` of this version wrote, or measure again"

Samples = tuple[tuple[tuple[Count, ...], ...], ...]
"""Times in ns, or counts: by start of the program, by block, and by half of the block."""


@dataclass(frozen=True)
class Variant:
    """A side or method: whether it produced base's memory (None: not compared), and its samples."""

    equal: bool | None
    samples: Samples


@dataclass(frozen=True, eq=False)
class Case:
    """A workload: `items` things of kind `item` in each sample."""

    regime: str  # what is cold or warm, in words
    item: str
    items: Count
    unit: str
    variants: Mapping[str, Variant]  # base, control, methods, auto, and labels of posted code
    limits: Mapping[str, Samples]  # plain fills, and reads, of the same memory
    reads: tuple[str, ...] = ()  # those of the limits that only read
    posted: tuple[str, ...] = ()  # those of the variants that are posted code, or steps


@dataclass(frozen=True)
class Kernel:
    """The measured kernel: release, where its source came from, SHA-256 of its config (hex)."""

    release: str
    source: str
    config_sha256: str


@dataclass(frozen=True)
class Code:
    """What was measured, by SHA-256; each field may be `UNKNOWN` in records of earlier versions."""

    commit: str = UNKNOWN  # of this project
    dirty: bool | None = None  # whether its files had changes; None if that is unknown
    spliced: str = UNKNOWN  # the kernel files with the speed-up in them, without comments
    objects: str = UNKNOWN  # .text, .rodata and relocations of what was measured, both sides
    workload: str = UNKNOWN  # the benchmark and the engine


@dataclass(frozen=True)
class Posted:
    """Posted code that was measured, or steps of ours, in the row `label`."""

    label: str
    source: str  # where it comes from: files, a tree, a range of commits, or a step
    sha256: str  # of what it was read from; of a step, as `Code.spliced`
    patches: tuple[str, ...]  # the subjects of its patches
    objects: tuple[str, ...]  # those that it changes or adds, of the kernel's that are measured


@dataclass(frozen=True, eq=False)
class Record:
    """Everything that one `bench` measured of one speed-up; `started` is ISO 8601."""

    schema: Natural
    speedup: str
    command: str
    started: str
    code: Code
    machine: Machine
    kernel: Kernel
    engine: Literal["hosted", "guest-icount", "live"]
    cases: Mapping[str, Case]
    posted: tuple[Posted, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise ValueError for another schema."""
        if self.schema != SCHEMA:
            raise ValueError(f"schema: must be {SCHEMA}, not {self.schema}")

    @property
    def timed(self) -> bool:
        """Whether time was measured, and nothing counted."""
        return self.engine != "guest-icount"

    @property
    def where(self) -> str:
        """The CPU, or the architecture of the emulated one."""
        if self.timed:
            return machine.name(self.machine)
        arch = re.search(r"--arch (\w+)", self.command)
        return f"emulated {arch[1] if arch else self.machine.arch}"


def cases_of(starts: Sequence[Iterable[Event]]) -> tuple[dict[str, Case], tuple[str, ...]]:
    """Return the cases of the events of each start, and notes: of the program, and what failed."""
    cases: dict[str, events.Case] = {}
    runs: dict[str, list[dict[str, dict[int, tuple[int, ...]]]]] = {}
    equal: dict[tuple[str, str], bool] = {}
    notes: dict[str, None] = {}
    void = False
    for event in itertools.chain(*starts):
        if isinstance(event, events.Case):
            cases.setdefault(event.case, event)
            runs.setdefault(event.case, []).append({})
        elif isinstance(event, Sample):
            blocks = runs[event.case][-1].setdefault(event.variant, {})
            blocks[event.block] = (*blocks.get(event.block, ()), event.ns)
        elif isinstance(event, Equal):
            before = equal.get((event.case, event.variant), True)
            equal[event.case, event.variant] = before and event.equal
            if before and not event.equal:
                detail = f": {event.detail}" if event.detail else ""
                text = f"{event.case}: {event.variant} produced other memory than base{detail}"
                notes[text] = None
        elif isinstance(event, Note):
            notes[f"{event.case}: {event.text}" if event.case else event.text] = None
        elif isinstance(event, Check) and not event.good:
            void = True
            notes[f"CHECK FAILED, so nothing was timed: {event.text}"] = None
    found = {}
    for name, case in cases.items():
        variants, limits = {}, {}
        for variant in case.variants:
            samples = tuple(tuple(each.get(variant, {}).values()) for each in runs[name])
            if variant.startswith(LIMIT_PREFIX):
                limits[variant.removeprefix(LIMIT_PREFIX)] = samples
                continue
            # Base is the oracle: it needs no check of its own, but if one failed, nothing counts.
            whole = any(samples) if variant == BASE else None
            same = False if void else equal.get((name, variant), whole)
            variants[variant] = Variant(same, samples)
        reads = tuple(limit.removeprefix(LIMIT_PREFIX) for limit in case.reads)
        found[name] = Case(
            case.regime, case.item, case.items, case.unit, variants, limits, reads, case.posted
        )
    return found, tuple(notes)


def checkout() -> tuple[str, bool | None]:
    """Return the commit of this checkout, and whether other files than pages and records differ."""
    words = ("git", "-C", str(paths.ROOT))
    commit = machine.output(*words, "rev-parse", "HEAD").strip()
    code = ("--", ":/", ":!/results", ":!/*.md")  # `make results` writes the others
    changed = machine.output(*words, "status", "--porcelain", "--untracked-files=no", *code)
    return (commit, bool(changed)) if commit else (UNKNOWN, None)


def to_json(data: Any) -> str:
    """Write JSON data indented, with each list of numbers on one line."""
    text = json.dumps(data, indent=1, allow_nan=False) + "\n"
    return re.sub(r"\[[\[\]\d\s,.e+-]*\]", lambda match: "".join(match[0].split()), text)


def write(path: Path, record: Record) -> None:
    """Write a record so that readers see the old file or the whole new one."""
    atomic_write(path, to_json(asdict(record)))


def read(path: Path) -> Record:
    """Read what `write` or a rebind.sh wrote; MmbatchError if it is none of this version."""
    try:
        text = path.read_text(encoding="utf-8")
        return _of_binds(text) if text.startswith("# ") else load(Record, json.loads(text))
    except OSError as error:
        raise MmbatchError(f"read {path}", f"{error.strerror}", _HINT, ExitCode.USAGE) from None
    except ValueError as error:
        raise MmbatchError(f"read {path}", f"it is no record: {error}", _HINT) from None


def _of_binds(text: str) -> Record:
    """Return what a rebind.sh measured on this machine: milliseconds, by the kernel's jiffies."""
    head = re.match(r"# (\w+): (.+), Linux (\S+)\n", text)
    rows = re.findall(r"^(\w+) (\d+) ms (\d+) pages$", text, re.M)
    if head is None or not rows:
        raise ValueError("it is neither JSON nor what rebind.sh prints")
    times: dict[str, list[tuple[int]]] = {}
    for method, ms, _ in rows:
        times.setdefault(method, []).append((max(int(ms), 1) * 1_000_000,))
    equal = text.endswith("# proof passed\n") or None
    variants = {name: Variant(equal, (tuple(found),)) for name, found in times.items()}
    case = Case("bound again", "page", int(rows[0][2]), "ns", variants, {})
    started = datetime.now().astimezone().isoformat(timespec="seconds")
    about = (SCHEMA, head[1], "rebind.sh", started, Code(), machine.describe())
    return Record(*about, Kernel(head[3], "as it runs", UNKNOWN), "live", {head[2]: case})


def named(records: Sequence[Record]) -> dict[str, Record]:
    """Name runs by speed-up, CPU and kernel, and by their start where that is not enough.

    A run that is given twice is in it once.
    """
    plain = [f"{each.speedup}: {each.where}, Linux {each.kernel.release}" for each in records]
    found = {}
    for name, each in zip(plain, records, strict=True):
        start = f", {each.started[:19].replace('T', ' ')}" if plain.count(name) > 1 else ""
        found[f"{name}{start}"] = each
    return found


def newest(runs: Path, release: str | None = None) -> dict[str, Path]:
    """Return the last whole hosted run of each speed-up, or only those on a `release`.

    Runs of another version, of some cases only, or on a changed machine or kernel do not count.
    """
    found: dict[str, Path] = {}
    for path in sorted(runs.glob("*.json"), reverse=True):
        if any(f"-{speedup}-" in path.name for speedup in found):
            continue  # a later one is found
        with contextlib.suppress(MmbatchError):
            record = read(path)
            partial = re.search(r" (--case|--cpu|--tree|-K)\b", record.command)
            if record.timed and not partial and release in (None, record.kernel.release):
                found.setdefault(record.speedup, path)
    return dict(sorted(found.items()))
