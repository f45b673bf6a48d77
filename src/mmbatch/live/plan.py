# SPDX-License-Identifier: GPL-2.0-only
"""What the devices of a machine gain from speed-ups: rates of a benchmark times their pages.

live/plan.toml of a speed-up says which devices its function is called for, and which case of its
bench.c is like each of them.
"""

from __future__ import annotations

import ctypes
import mmap
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from mmbatch.bench.record import Record
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.load import Count, Natural, from_toml, key
from mmbatch.hosted.events import AUTO, BASE, CONTROL
from mmbatch.live.devices import PAGE_BYTES, Device

_NAME = "live/plan.toml"
_SIZE = r"\d+[KMGT]?"
_FRESH_BYTES = 128 << 20


@dataclass(frozen=True)
class Match:
    """Devices that gain, and the case of the benchmark that is like them.

    Attributes:
        mode: of the device.
        case: its name in bench.c. It measures an item for each page of the device.
        memmap: where the memmap must be, "any" for everywhere.
        least_align: bytes that a compound page must have at least.
        least_size: bytes that it must have at least.
        most_size: bytes that it must have at most; 0 for any.
        most_items: items that are written at most for each compound page; 0 for all of its pages.
        block: bytes of a memory block in the case, if what is saved grows with the number of
            pages times the number of blocks; 0 if it grows with the pages.
    """

    mode: str
    case: str
    memmap: Literal["device", "ram", "any"] = "any"
    least_align: Natural = 0
    least_size: Natural = 0
    most_size: Natural = 0
    most_items: Natural = 0
    block: Natural = 0

    def fits(self, device: Device) -> bool:
        """Return whether a device is of this kind."""
        return (
            device.mode == self.mode
            and self.memmap in ("any", device.memmap)
            and device.align >= self.least_align
            and device.size >= self.least_size
            and (not self.most_size or device.size <= self.most_size)
        )

    def items(self, device: Device) -> int:
        """Return how many items the case would have with this device."""
        pages = device.align // PAGE_BYTES
        if not self.most_items or self.most_items >= pages:
            return device.pages
        return device.pages // pages * self.most_items

    def times(self, device: Device, rate: Rate) -> tuple[float, float]:
        """Return what a device takes now, and with the speed-up."""
        items = self.items(device)
        then = items * rate.patched
        saved = items * (rate.base - rate.patched)
        if self.block:
            saved *= items / rate.items * self.block / (device.block or self.block)
        return then + saved, then

    def is_case(self, name: str) -> bool:
        """Return whether a row of a record is of this case, whose name there has a size."""
        before, at, after = self.case.partition("@")
        size = _SIZE if at else f"(-{_SIZE})?"
        pattern = re.escape(before) + size + re.escape(after)
        return re.fullmatch(pattern, name, re.IGNORECASE) is not None


@dataclass(frozen=True)
class Plan:
    """A speed-up's plan.toml.

    Attributes:
        function: the function of the kernel that the cases measure.
        item_bytes: bytes that an item writes.
        unchanged: what binding takes beside, a clause each.
        matches: devices that gain; the first that fits, and whose case was measured, counts.
    """

    function: str
    item_bytes: Count
    unchanged: tuple[str, ...] = ()
    matches: tuple[Match, ...] = field(default=(), metadata=key("device"))

    def match(self, device: Device) -> Match | None:
        """Return which case is measured for a device, or None."""
        return next((match for match in self.matches if match.fits(device)), None)


@dataclass(frozen=True)
class Rate:
    """What an item takes, as measured.

    Attributes:
        base: with the kernel's own function.
        patched: with the speed-up.
        unit: of both.
        items: how many the case had.
        interval: the 95 % interval of `patched`, by that of the ratio; None where there is none.
    """

    base: float
    patched: float
    unit: str
    items: int
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class Estimate:
    """What binding a device takes in one function.

    Attributes:
        device: the device.
        speedup: what changes the function.
        function: its name.
        now: with the kernel's own function.
        then: with the speed-up.
        memmap_bytes: what the function writes.
        unit: of `now` and `then`.
        less: the 95 % interval of what is saved; None where there is none.
    """

    device: Device
    speedup: str
    function: str
    now: float
    then: float
    memmap_bytes: int
    unit: str
    less: tuple[float, float] | None = None


def known(speedups: Path) -> list[str]:
    """Return the names of the speed-ups that devices gain from."""
    return sorted(path.parent.parent.name for path in speedups.glob(f"*/{_NAME}"))


def load(speedups: Path, speedup: str) -> Plan:
    """Read a speed-up's plan.toml.

    Raises:
        MmbatchError: it is missing or wrong.
    """
    try:
        return from_toml(Plan, speedups / speedup / _NAME)
    except FileNotFoundError:
        raise MmbatchError(
            f"plan with '{speedup}'",
            "no device is bound faster with it",
            f"choose one of these: {', '.join(known(speedups)) or 'there is none'}",
            ExitCode.USAGE,
        ) from None


def cases(plan: Plan, devices: Iterable[Device]) -> tuple[str, ...]:
    """Return the cases that devices need, each once."""
    found = (plan.match(device) for device in devices)
    return tuple(dict.fromkeys(match.case for match in found if match is not None))


def rate(record: Record, match: Match) -> Rate | None:
    """Return what a record says about a case, None if it says nothing."""
    rows = [row for row in record.rows if match.is_case(row.case)]
    base = next((row for row in rows if row.variant == BASE), None)
    ours = [row for row in rows if row.variant not in (BASE, CONTROL) and row.ratio is not None]
    if base is None or base.per_item is None or not ours:
        return None
    best = next((row for row in ours if row.variant == AUTO), ours[-1])
    assert best.ratio is not None
    each, ratio = base.per_item, best.ratio
    interval = None if ratio.ci95 is None else (each / ratio.ci95[1], each / ratio.ci95[0])
    return Rate(each, each / ratio.median, base.unit, base.items, interval)


def estimate(speedup: str, plan: Plan, record: Record, devices: Sequence[Device]) -> list[Estimate]:
    """Return what each device gains, by the rates of a record.

    Raises:
        MmbatchError: the record lacks all cases that are like a device.
    """
    found = []
    for device in devices:
        fitting = [match for match in plan.matches if match.fits(device)]
        rates = [(match, rate(record, match)) for match in fitting]
        chosen = next(((match, each) for match, each in rates if each is not None), None)
        if chosen is not None:
            found.append(_of(speedup, plan, device, *chosen))
        elif fitting:
            raise MmbatchError(
                f"tell what {device.name} gains from '{speedup}'",
                f"the record has no measured case {fitting[0].case}",
                f"give one of `mmbatch bench {speedup} --case {fitting[0].case} --json FILE`, or "
                "leave --record out",
                ExitCode.USAGE,
            )
    return found


def _of(speedup: str, plan: Plan, device: Device, match: Match, measured: Rate) -> Estimate:
    now, then = match.times(device, measured)
    written = match.items(device) * plan.item_bytes
    less = _saved(match, device, measured)
    return Estimate(device, speedup, plan.function, now, then, written, measured.unit, less)


def _saved(match: Match, device: Device, rate: Rate) -> tuple[float, float] | None:
    """Return the interval of what a device saves."""
    if rate.interval is None:
        return None
    low, high = rate.interval
    ends = [match.times(device, replace(rate, patched=patched)) for patched in (high, low)]
    return ends[0][0] - ends[0][1], ends[1][0] - ends[1][1]


def fresh_ns_per_byte(size: int = _FRESH_BYTES) -> float:
    """Return how much longer a byte takes to be written for the first time than once more.

    This is what page faults cost, those of this kernel and, in a virtual machine, those of its
    host. Huge pages are asked for, as the kernel maps a memmap with them.
    """
    with mmap.mmap(-1, size) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        view = (ctypes.c_char * size).from_buffer(memory)
        times = []
        for _ in range(2):
            start = time.monotonic_ns()
            ctypes.memset(view, 1, size)
            times.append(time.monotonic_ns() - start)
        del view
    return max(0, times[0] - times[1]) / size
