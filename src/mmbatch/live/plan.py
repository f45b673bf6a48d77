# SPDX-License-Identifier: GPL-2.0-only
"""What the devices of a machine gain: the times of a record multiplied by their pages.

Devices are those that sysfs shows. A gain is claimed only for what is bound now, and by a driver
that calls the function that a speed-up replaces. [[device]] in live.toml says which case of
bench.c is like which device.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mmbatch.bench import machine
from mmbatch.bench import record as records
from mmbatch.bench.record import Record
from mmbatch.bench.table import tables
from mmbatch.core import paths
from mmbatch.core.load import release_numbers
from mmbatch.live.load import read_line
from mmbatch.live.manifest import LiveManifest, Match

PAGE = 4096
_PAGE_STRUCT = 64
_INFO = 8192  # what a namespace keeps for itself before the memmap
_ALIGN = 2 << 20
_CPUINFO = Path("/proc/cpuinfo")
_MODES = {"memory": "fsdax", "dax": "devdax", "safe": "sector", "raw": "raw"}
_DAX_DRIVERS = {"kmem": "system-ram", "device_dax": "devdax", "fsdev_dax": "fsdax"}


@dataclass(frozen=True)
class Device:
    """Memory that a driver binds, or that may come.

    `mode` is fsdax, devdax, system-ram, sector, raw, cxl, virtio-mem or acpi. `size` is the bytes
    for which the kernel writes a memmap, 0 if sysfs does not say, `align` those of a compound page
    and `block` those of a block of system RAM. `now`, `then` and the interval `less` of what is
    saved are in the unit of the plan.
    """

    device: str
    mode: str
    size: int
    memmap: str = "none"
    align: int = PAGE
    node: int = -1
    bound: bool = True
    block: int = 0
    note: str = ""
    speedup: str = ""
    now: float | None = None
    then: float | None = None
    less: tuple[float, float] | None = None


@dataclass(frozen=True)
class Source:
    """The record that times are from, and how similar its CPU is to this one."""

    file: str
    cpu: str
    kernel: str
    similar: str


@dataclass(frozen=True)
class Plan:
    """What devices gain each time all of them are bound, in a unit: ns or instructions."""

    release: str
    devices: list[Device]
    now: float = 0.0
    then: float = 0.0
    less: tuple[float, float] = (0.0, 0.0)
    sources: dict[str, Source] = field(default_factory=dict)
    unit: str = "ns"


def devices(sys: Path) -> list[Device]:
    """Return the memory of devices that a sysfs shows."""
    found = [*_namespaces(sys), *_dax_devices(sys)]
    used = [path.resolve() for path in (sys / "bus/dax/devices").glob("dax*")]
    for path in _sorted(sys / "bus/cxl/devices", "region*"):
        size = _number(path / "size")
        pmem = read_line(path / "mode") == "pmem"  # which has namespaces
        if size and not pmem and not any(each.is_relative_to(path.resolve()) for each in used):
            note = "no DAX device uses this CXL region"
            found.append(Device(path.name, "cxl", size, bound=False, note=note))
    block = _number(sys / "devices/system/memory/block_size_bytes", base=16)
    coming = f"it comes and goes in blocks of {size_text(block)}; sysfs does not say how much"
    for path in _sorted(sys / "bus/virtio/drivers/virtio_mem", "virtio*"):
        found.append(Device(path.name, "virtio-mem", 0, "ram", block=block, note=coming))
    for path in _sorted(sys / "bus/acpi/devices", "PNP0C80:*"):
        found.append(Device(path.name, "acpi", 0, "ram", block=block, note=coming))
    return found


def _namespaces(sys: Path) -> Iterator[Device]:
    """Yield the namespaces of NVDIMMs, those without memory left out."""
    bus = sys / "bus/nd/devices"
    for path in _sorted(bus, "namespace*"):
        size, node = _number(path / "size"), _number(path / "numa_node", -1)
        mode = _MODES.get(read_line(path / "mode"), "raw")
        holder = bus / (read_line(path / "holder") or ".")
        held = holder != bus
        bound = ((holder if held else path) / "driver").exists()
        if not size:  # a namespace that nobody has made yet
            continue
        if mode not in ("fsdax", "devdax"):
            yield Device(path.name, mode, size, node=node, bound=bound)
            continue
        memmap = "device" if held and read_line(holder / "mode") == "pmem" else "ram"
        align = (_number(holder / "align") if held else 0) or _ALIGN
        if memmap == "device":  # the memmap describes what is left beside it
            reserved = _INFO + size // PAGE * _PAGE_STRUCT
            size = _number(holder / "size") or size - -(-reserved // align) * align
        if mode == "devdax" and held:
            drivers = [_driver(child) for child in holder.glob("dax*") if (child / "size").exists()]
            mode = next((_DAX_DRIVERS[name] for name in drivers if name in _DAX_DRIVERS), mode)
        yield _compound(Device(path.name, mode, size, memmap, align, node, bound), sys)


def _dax_devices(sys: Path) -> Iterator[Device]:
    """Yield DAX devices, those of namespaces left out."""
    for path in _sorted(sys / "bus/dax/devices", "dax*"):
        size, driver = _number(path / "size"), _driver(path)
        if not size or (path.resolve().parent / "namespace").exists():
            continue
        mode = _DAX_DRIVERS.get(driver, "devdax")
        own = mode == "system-ram" and _number(path / "memmap_on_memory") == 1
        node = _number(path / "target_node", _number(path / "numa_node", -1))
        align = _number(path / "align") or _ALIGN
        memmap = "device" if own else "ram"
        found = Device(path.name, mode, size, memmap, align, node, bool(driver))
        yield _compound(found, sys, _number(path / "resource", -1))


def _compound(device: Device, sys: Path, start: int = -1) -> Device:
    """Return a device with the bytes of its compound pages, and what of system RAM is online."""
    if device.mode != "system-ram":
        return device if device.mode == "devdax" else replace(device, align=PAGE)
    memory = sys / "devices/system/memory"
    block = _number(memory / "block_size_bytes", base=16)
    in_blocks = f"in blocks of {size_text(block)}"
    device = replace(device, align=PAGE, block=block, note=in_blocks)
    if start < 0 or not block:
        return device
    # Only whole blocks are added.
    blocks = range(-(-start // block), (start + device.size) // block)
    states = [read_line(memory / f"memory{number}/state") for number in blocks]
    online = states.count("online")
    note = f"{online} of {len(states)} memory blocks are online, {in_blocks}"
    return replace(device, size=online * block, note=note)


@dataclass(frozen=True)
class Rate:
    """What an item of a case takes, and the 95 % interval of the second."""

    base: float
    patched: float
    items: int
    interval: tuple[float, float] | None


def rates(record: Record) -> dict[str, Rate]:
    """Return what each case of a record says."""
    found = {}
    for case, table in tables(record).items():
        each, ratio = table.base.each, table.chosen.ratio
        if each is not None and ratio is not None:
            interval = (each / ratio.hi, each / ratio.lo) if ratio.interval else None
            found[case] = Rate(each, each / ratio.median, table.case.items, interval)
    return found


def most_similar(speedup: str, release: str) -> tuple[Path, Record, str]:
    """Return the record of the most similar CPU and kernel in results/, and how similar it is."""
    cpu = machine.fields(_CPUINFO.read_text(encoding="utf-8"))
    vendor = {"AuthenticAMD": "AMD", "GenuineIntel": "Intel"}.get(cpu.get("vendor_id", ""), "-")
    family, model = int(cpu.get("cpu family", 0)), int(cpu.get("model", 0))
    series = release_numbers(release)[:2]

    def rank(found: tuple[Path, Record]) -> tuple[bool, ...]:
        its = found[1].machine
        is_vendor = its.cpu.startswith(vendor)
        is_family = is_vendor and its.family == family
        is_model = is_family and its.model == model
        is_series = release_numbers(found[1].kernel.release)[:2] == series
        return is_model, is_family, is_vendor, is_series

    # Of equal ones the first: a later kernel.
    paths_of = sorted((paths.ROOT / "results").glob(f"{speedup}-*-*.json"), reverse=True)
    found = [(path, records.read(path)) for path in paths_of if "icount" not in path.name]
    best = max(found, key=rank)
    words = ("the same model", "the same family", "the same vendor", "another vendor")
    how = words[[*rank(best)[:3], True].index(True)]
    kernel = "the same" if rank(best)[3] else "another"
    return (*best, f"{how} of CPU, {kernel} kernel series")


def estimate(live: LiveManifest, device: Device, known: dict[str, Rate]) -> Device:
    """Return a device with what it gains from a speed-up; unchanged if it gains nothing."""
    fitting = [match for match in live.devices if _fits(match, device)]
    for match in fitting:
        rate = next((rate for case, rate in known.items() if _is_case(match, case)), None)
        if rate is None:
            continue
        now, then = _times(match, device, rate)
        less = None
        if rate.interval is not None:
            ends = [_times(match, device, replace(rate, patched=end)) for end in rate.interval]
            less = (ends[1][0] - ends[1][1], ends[0][0] - ends[0][1])
        return replace(device, speedup=live.speedup, now=now, then=then, less=less)
    note = f"the record has no case {fitting[0].case}" if fitting else device.note
    return replace(device, note=note)


def _fits(match: Match, device: Device) -> bool:
    return (
        device.bound
        and match.mode == device.mode
        and match.memmap in ("any", device.memmap)
        and device.align >= match.least_align
        and match.least_size <= device.size <= (match.most_size or device.size)
    )


def _is_case(match: Match, case: str) -> bool:
    """Return whether a case of a record, whose name has a size, is the one that is meant."""
    before, at, after = match.case.partition("@")
    size = r"\d+[KMGT]?" if at else r"(-\d+[KMGT]?)?"
    return re.fullmatch(re.escape(before) + size + re.escape(after), case, re.I) is not None


def _times(match: Match, device: Device, rate: Rate) -> tuple[float, float]:
    """Return what a device takes now, and with the speed-up."""
    items, pages = device.size // PAGE, device.align // PAGE
    if 0 < match.most_items < pages:
        items = items // pages * match.most_items
    then, saved = items * rate.patched, items * (rate.base - rate.patched)
    if match.block:  # each block is a scan of those before
        saved *= items / rate.items * match.block / (device.block or match.block)
    return then + saved, then


def size_text(count: int) -> str:
    """Return a number of bytes for people: "98.44 GiB"."""
    unit, shift = next((row for row in (("TiB", 40), ("GiB", 30)) if count >> row[1]), ("MiB", 20))
    return f"{count / (1 << shift):.4g} {unit}"


def amount_text(number: float, unit: str = "ns") -> str:
    """Return a time or a count for people: "0.076 s", "12.7 M instructions"."""
    if unit != "ns":
        return f"{number / 1e6:,.1f} M {unit}"
    if number >= 1e7:
        return f"{number / 1e9:.3f} s"
    return f"{number / 1e6:.2g} ms" if number >= 1e5 else f"{number / 1e3:.3g} us"


def total(
    release: str, found: Sequence[Device], sources: dict[str, Source], unit: str = "ns"
) -> Plan:
    """Return the sums over all devices that gain."""
    now, then = sum(each.now or 0 for each in found), sum(each.then or 0 for each in found)
    ends = [device.less or (0.0, 0.0) for device in found]
    less = (sum(low for low, _ in ends), sum(high for _, high in ends))
    return Plan(release, list(found), now, then, less, sources, unit)


def _driver(path: Path) -> str:
    return (path / "driver").resolve().name if (path / "driver").exists() else ""


def _sorted(directory: Path, pattern: str) -> list[Path]:
    """Return paths by the numbers in their names: namespace9.0 before namespace10.0."""
    return sorted(directory.glob(pattern), key=lambda path: release_numbers(path.name))


def _number(path: Path, default: int = 0, base: int = 0) -> int:
    try:
        return int(read_line(path), base)
    except ValueError:
        return default
