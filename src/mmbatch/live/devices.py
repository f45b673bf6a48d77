# SPDX-License-Identifier: GPL-2.0-only
"""The device memory of this machine, for which the kernel keeps a memmap.

All of it is read from sysfs. `mmbatch.live.asked` adds what programs say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

PAGE_BYTES = 4096
"""Of device memory for each struct page, on x86-64."""

DEFAULT_ALIGN = 2 << 20
"""Bytes of a compound page of devdax, unless something else was asked for."""

_PAGE_STRUCT_BYTES = 64
_INFO_BYTES = 8192  # what a namespace keeps for itself before the memmap

_MODES = {"memory": "fsdax", "dax": "devdax", "safe": "sector", "raw": "raw"}
"""The words of a namespace's file `mode`, and what ndctl calls them."""

_DAX_DRIVERS = {"kmem": "system-ram", "device_dax": "devdax", "fsdev_dax": "fsdax"}


class Memmap(StrEnum):
    """Where the memmap of a device is."""

    DEVICE = "device"
    RAM = "ram"
    NONE = "none"


@dataclass(frozen=True)
class Device:
    """Memory of a device that a driver binds.

    Attributes:
        name: in sysfs, such as "namespace0.0".
        mode: fsdax, devdax, system-ram, private (memory of a GPU), raw or sector.
        size: bytes for which the kernel writes a memmap when the driver binds.
        memmap: where that is.
        align: bytes of a compound page; a page where there are none.
        node: NUMA node, -1 if there is none.
        bound: whether a driver is bound to it now.
        source: who described it: sysfs or the name of a program.
        block: bytes of the memory blocks in which system RAM is added, 0 for all other modes.
    """

    name: str
    mode: str
    size: int
    memmap: Memmap
    align: int = PAGE_BYTES
    node: int = -1
    bound: bool = True
    source: str = "sysfs"
    block: int = 0

    @property
    def pages(self) -> int:
        """Number of its struct pages."""
        return self.size // PAGE_BYTES


def from_sysfs(sys: Path) -> list[Device]:
    """Return the devices that a sysfs shows."""
    found = [*_namespaces(sys), *_dax_devices(sys), *_regions(sys), *_cards(sys)]
    block = _number(sys / "devices/system/memory/block_size_bytes", base=16)
    return [
        replace(device, block=block) if device.mode == "system-ram" else device for device in found
    ]


def _namespaces(sys: Path) -> Iterator[Device]:
    """Yield the namespaces of NVDIMMs, those without memory left out."""
    bus = sys / "bus/nd/devices"
    for path in _sorted(bus.glob("namespace*")):
        size = _number(path / "size")
        mode = _MODES.get(_text(path / "mode"), "raw")
        node = _number(path / "numa_node", -1)
        if not size:  # a namespace that nobody has made yet
            continue
        name = _text(path / "holder")
        if mode not in ("fsdax", "devdax"):
            bound = (bus / name / "driver" if name else path / "driver").exists()
            yield Device(path.name, mode, size, Memmap.NONE, node=node, bound=bound)
        elif name:
            yield _held(path.name, mode, size, node, bus / name)
        else:  # memory of an old BIOS or of memmap=, which has no place for a memmap
            bound = (path / "driver").exists()
            yield Device(path.name, mode, size, Memmap.RAM, node=node, bound=bound)


def _held(name: str, mode: str, size: int, node: int, holder: Path) -> Device:
    """Return a namespace whose memmap a device of its own, the holder, describes."""
    memmap = Memmap.DEVICE if _text(holder / "mode") == "pmem" else Memmap.RAM
    align = _number(holder / "align") or DEFAULT_ALIGN
    if memmap is Memmap.DEVICE:  # the memmap describes what is left beside it
        size = _number(holder / "size") or size - _reserved(size, align)
    if mode == "devdax":
        for child in _children(holder):
            mode = _DAX_DRIVERS.get(_driver(child), mode)
    bound = (holder / "driver").exists()
    return Device(name, mode, size, memmap, _compound(mode, align), node, bound)


def _reserved(size: int, align: int) -> int:
    """Return the bytes of a namespace that its memmap takes."""
    memmap = _INFO_BYTES + size // PAGE_BYTES * _PAGE_STRUCT_BYTES
    return -(-memmap // align) * align


def _dax_devices(sys: Path) -> Iterator[Device]:
    """Yield DAX devices, those of namespaces left out."""
    for path in _sorted((sys / "bus/dax/devices").glob("dax*")):
        size = _number(path / "size")
        if not size or (path.resolve().parent / "namespace").exists():
            continue
        driver = _driver(path)
        mode = _DAX_DRIVERS.get(driver, "devdax")
        # Memory that becomes system RAM may hold its own memmap. devdax has it in RAM, unless
        # the device is a namespace.
        own = mode == "system-ram" and _number(path / "memmap_on_memory") == 1
        align = _compound(mode, _number(path / "align") or DEFAULT_ALIGN)
        memmap = Memmap.DEVICE if own else Memmap.RAM
        node = _number(path / "target_node", _number(path / "numa_node", -1))
        yield Device(path.name, mode, size, memmap, align, node, bool(driver))


def _regions(sys: Path) -> Iterator[Device]:
    """Yield CXL regions that no DAX device uses yet. Those of pmem have namespaces."""
    used = [path.resolve() for path in (sys / "bus/dax/devices").glob("dax*")]
    for path in _sorted((sys / "bus/cxl/devices").glob("region*")):
        size = _number(path / "size")
        if not size or _text(path / "mode") == "pmem":
            continue
        if not any(device.is_relative_to(path.resolve()) for device in used):
            yield Device(path.name, "devdax", size, Memmap.RAM, DEFAULT_ALIGN, bound=False)


def _cards(sys: Path) -> Iterator[Device]:
    """Yield GPUs whose driver tells how much memory they have."""
    for path in _sorted((sys / "class/drm").glob("card*")):
        size = _number(path / "device/mem_info_vram_total")
        if size and re.fullmatch(r"card\d+", path.name):
            node = _number(path / "device/numa_node", -1)
            yield Device(path.name, "private", size, Memmap.RAM, node=node)


def _compound(mode: str, align: int) -> int:
    """Return the bytes of a compound page: only devdax makes some."""
    return align if mode == "devdax" else PAGE_BYTES


def _children(holder: Path) -> list[Path]:
    return [path for path in holder.glob("dax*") if (path / "size").exists()]


def _driver(path: Path) -> str:
    driver = path / "driver"
    return driver.resolve().name if driver.exists() else ""


def _sorted(paths: Iterator[Path]) -> list[Path]:
    """Return paths by the numbers in their names: namespace9.0 before namespace10.0."""
    return sorted(paths, key=lambda path: [int(text) for text in re.findall(r"\d+", path.name)])


def _text(path: Path) -> str:
    """Return the content of a file; nothing if it has none now, as a size of what is not bound."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _number(path: Path, default: int = 0, base: int = 0) -> int:
    try:
        return int(_text(path), base)
    except ValueError:
        return default
