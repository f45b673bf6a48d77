# SPDX-License-Identifier: GPL-2.0-only
"""The JSON that `--json` writes, schema 1, and a strict check of it.

The dataclasses below are the schema: the check walks their annotations, so what is written and
what is accepted can't drift apart. Times are in `unit` (ns), ratios are base time divided by
variant time.
"""

from __future__ import annotations

import functools
import json
import math
import re
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from mmbatch.bench.machine import Machine
from mmbatch.bench.statistics import Verdict
from mmbatch.core.cache import atomic_write, require_writable
from mmbatch.core.errors import MmbatchError
from mmbatch.core.load import LoadError, Natural, from_json_file, load
from mmbatch.hosted.events import BASE

SCHEMA = 1
_HINT = "give a file that `mmbatch bench --json` of this version wrote"
_MOST = 1e18
"""No time, count or ratio of a run comes near it, nor does its inverse."""

_RELEASE = 64  # characters that `uname -r` can print


def _number_from(low: float, data: Any) -> Any:
    number = isinstance(data, float) and math.isfinite(data)
    number = number or (type(data) is int and abs(data) < 2**63)  # else `load` refuses it
    if number and not low <= data <= _MOST:
        raise LoadError(f"must be from {low:g} to {_MOST:g}, not {data:g}")
    return data


Positive = Annotated[float, functools.partial(_number_from, 1 / _MOST)]
"""A time, a count or a ratio."""

NotNegative = Annotated[float, functools.partial(_number_from, 0)]
"""A difference or a probability."""

EngineName = Literal["hosted", "guest-icount", "guest"]


@dataclass(frozen=True)
class KernelInfo:
    """The measured kernel: release, where its source came from, SHA-256 of its config (hex)."""

    release: str
    source: str
    config_sha256: str


@dataclass(frozen=True)
class RowRatio:
    """Median of paired ratios against `vs`, with its 95 % interval [lo, hi].

    With fewer than 6 pairs no interval is honest, and `ci95` is None.
    """

    vs: str
    median: Positive
    ci95: tuple[Positive, Positive] | None


@dataclass(frozen=True)
class Detail:
    """What the table leaves out.

    Attributes:
        pairs: pairs that the ratio was made from.
        minimum: fastest sample.
        mad: median absolute deviation of the samples, not scaled.
        p: Wilcoxon signed-rank, two-sided; None for base.
        p_holm: the same, corrected across the whole record.
    """

    pairs: Natural
    minimum: Positive
    mad: NotNegative
    p: NotNegative | None
    p_holm: NotNegative | None


@dataclass(frozen=True)
class Row:
    """One variant of one case; without a passed equality check it has no samples, no numbers.

    Attributes:
        speedup: name of the speed-up.
        case: name of the case.
        regime: what is cold or warm, in words.
        variant: base, a method or ablation step, or auto.
        unit: of samples and median.
        samples: by block and half.
        median: of the samples.
        item: what `items` counts.
        items: things done per sample.
        per_item: median divided by items.
        ratio: against base; None for base and where there are no pairs.
        of_limit: the same against the case's limit, as time of the variant by time of the limit:
            1.00 is at the limit.
        verdict: in words.
        image_equal: whether the equality check passed; None where there was none.
        detail: see `Detail`.
        starts: how many of the samples each start of the program made, in order; none if unknown.
        of_best: for `auto`, against the fastest of the other variants, as that one's time by the
            time of `auto`: below 1, another method is faster.
        of_one_cpu: in a case for several CPUs, the time of the same on one CPU by its own time.
    """

    speedup: str
    case: str
    regime: str
    variant: str
    unit: str
    samples: tuple[int, ...]
    median: Positive | None
    item: str
    items: int
    per_item: Positive | None
    ratio: RowRatio | None
    of_limit: RowRatio | None
    verdict: Verdict
    image_equal: bool | None
    detail: Detail | None
    starts: tuple[int, ...] = ()
    of_best: RowRatio | None = None
    of_one_cpu: RowRatio | None = None


@dataclass(frozen=True)
class Limit:
    """What the machine allows: the same bytes written by a plain fill, or only read.

    A case has several. The `of_limit.vs` of its rows names the one that bounds it. In a case for
    several CPUs, only that one has `of_one_cpu`: the time of the limit on one CPU by its own time.
    """

    speedup: str
    case: str
    name: str
    unit: str
    samples: tuple[int, ...]
    median: Positive
    per_item: Positive
    of_one_cpu: RowRatio | None = None


@dataclass(frozen=True)
class Control:
    """Base against its own second copy: its band is what noise alone does.

    Attributes:
        speedup: name of the speed-up.
        case: name of the case.
        unit: of samples and median.
        samples: of the second copy.
        median: of the samples; None without a passed equality check.
        per_item: median divided by items.
        ratio: median of paired ratios; None where there are no pairs.
        ci95: its 95 % interval; None with fewer than 6 pairs.
        band: how far the interval reaches from 1 at most, as a ratio above 1, minus 1; None
            without one.
        too_noisy: whether the band is so wide that only large differences can be shown.
        image_equal: see `Row`.
    """

    speedup: str
    case: str
    unit: str
    samples: tuple[int, ...]
    median: Positive | None
    per_item: Positive | None
    ratio: Positive | None
    ci95: tuple[Positive, Positive] | None
    band: NotNegative | None
    too_noisy: bool
    image_equal: bool | None


@dataclass(frozen=True)
class PostedInfo:
    """Somebody else's code that was measured.

    Attributes:
        label: its row of the table.
        source: where it comes from: files, a tree, or a range of commits.
        sha256: of what it was read from (hex).
        patches: the subjects of its patches.
        objects: the kernel's objects that it changes or adds, of those that are measured.
    """

    label: str
    source: str
    sha256: str
    patches: tuple[str, ...]
    objects: tuple[str, ...]


@dataclass(frozen=True)
class Record:
    """Everything that one `bench` measured; `started` is ISO 8601 with an offset."""

    schema: int
    command: str
    started: str
    machine: Machine
    kernel: KernelInfo
    engine: EngineName
    rows: tuple[Row, ...]
    limits: tuple[Limit, ...]
    controls: tuple[Control, ...]
    notes: tuple[str, ...]
    samples_sha256: str
    posted: tuple[PostedInfo, ...] = ()


def _require(fits: bool, problem: str) -> None:
    if not fits:
        raise LoadError(problem)


def _check_cases(record: Record) -> None:
    """Require what a report relies on: each case has base once, and no variant twice."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in record.rows:
        # A speed-up's name is that of its directory.
        fits = re.fullmatch(r"[a-z0-9_][a-z0-9_.-]*", row.speedup)
        _require(bool(fits), f"{row.speedup!r} is not the name of a speed-up")
        _require(bool(row.case and row.variant), "a row has no case or no variant")
        variants = found.setdefault((row.speedup, row.case), [])
        _require(row.variant not in variants, f"row {row.variant} of {row.case} comes twice")
        variants.append(row.variant)
    for (_, case), variants in found.items():
        _require(BASE in variants, f"{case} has no row of {BASE}")


def _check_numbers(record: Record) -> None:
    parts: tuple[Row | Limit | Control, ...] = (*record.rows, *record.limits, *record.controls)
    for part in parts:
        _require(min(part.samples, default=1) > 0, f"a sample of {part.case} is below 1")
    for row in record.rows:
        place = f"row {row.variant} of {row.case}"
        numbers = (row.median, row.per_item, row.detail)
        shown = all(value is not None for value in numbers)
        _require(shown or not any(value is not None for value in numbers), f"{place} is half empty")
        _require(shown == bool(row.samples), f"{place} has numbers without samples or the reverse")
        proven = row.image_equal is True or row.variant == BASE
        _require(proven or not shown, f"{place} has numbers but no passed equality check")
        _require(row.items > 0, f"{place} has no items")
    intervals = [
        value.ci95
        for row in record.rows
        for value in (row.ratio, row.of_limit, row.of_best, row.of_one_cpu)
        if value
    ]
    intervals += [limit.of_one_cpu.ci95 for limit in record.limits if limit.of_one_cpu]
    intervals += [control.ci95 for control in record.controls]
    for interval in intervals:
        _require(not interval or interval[0] <= interval[1], "an interval is not lo <= hi")


def validate(data: Any) -> Record:
    """Check what `json.loads` returned strictly, and make a record of it.

    Raises:
        MmbatchError: naming the first place that breaks the schema.
    """
    try:
        return _checked(load(Record, data))
    except LoadError as error:
        raise MmbatchError("use the result", str(error), _HINT) from None


def _checked(record: Record) -> Record:
    """Return a record whose values go together; LoadError if they don't."""
    _require(record.schema == SCHEMA, f"schema: must be {SCHEMA}, not {record.schema}")
    _require(
        bool(re.fullmatch(r"[0-9a-f]{64}", record.samples_sha256)),
        "samples_sha256: is not a SHA-256 in hexadecimal",
    )
    try:
        aware = datetime.fromisoformat(record.started).tzinfo is not None
    except ValueError:
        aware = False
    _require(aware, f"started: is not a time with an offset from UTC: {record.started!r}")
    release = record.kernel.release
    _require(len(release) <= _RELEASE, f"kernel: release: is longer than {_RELEASE} characters")
    for code in record.posted:
        _require(bool(code.label), "posted: one has no label")
        _require(
            bool(re.fullmatch(r"[0-9a-f]{64}", code.sha256)),
            f"posted: {code.label}: sha256: is no SHA-256 in hexadecimal",
        )
    _check_cases(record)
    _check_numbers(record)
    return record


def to_dict(record: Record) -> dict[str, Any]:
    """The record as JSON data, keys in the order of the dataclasses."""
    data: dict[str, Any] = json.loads(json.dumps(asdict(record), allow_nan=False))
    return data


_NUMBERS = re.compile(r"\[\n\s+([^\[\]{}\"]+?)\n\s+\]")


def compact(data: Any) -> str:
    """Write JSON data indented, with each list of numbers on one line.

    A run has tens of thousands of samples, and one a line would make its file unreadable. A line
    break in the text is never part of a string, since JSON escapes those.
    """
    text = json.dumps(data, indent=1, allow_nan=False) + "\n"
    return _NUMBERS.sub(lambda numbers: f"[{' '.join(numbers[1].split())}]", text)


def write(path: Path, record: Record) -> None:
    """Write a record so that readers see the old file or the whole new one.

    Raises:
        MmbatchError: the record breaks the schema, or the file can't be written.
    """
    data = to_dict(record)
    validate(data)
    require_writable(path, "--json")
    atomic_write(path, compact(data))


def read(path: Path) -> Record:
    """Read a record that `write` wrote.

    Raises:
        MmbatchError: it can't be read, is not JSON, or breaks the schema.
    """
    try:
        if path.exists() and not path.is_file():  # a pipe could make us wait for ever
            raise MmbatchError(f"read {path}", "it is not a regular file", _HINT)
        return _checked(from_json_file(Record, path, _HINT))
    except OSError as error:
        raise MmbatchError(f"read {path}", error.strerror or str(error), _HINT) from None
    except LoadError as error:
        raise MmbatchError(f"read {path}", str(error), _HINT) from None
