# SPDX-License-Identifier: GPL-2.0-only
"""What ndctl, daxctl and cxl print about devices, merged into what sysfs shows.

These programs read sysfs too, and know the layouts of later kernels. So where they are installed,
they add devices that sysfs did not show, and what they say of a device counts. They don't say all:
where the memmap of system RAM is, is in sysfs only.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmbatch.core.errors import MmbatchError
from mmbatch.core.process import run
from mmbatch.live import devices
from mmbatch.live.devices import DEFAULT_ALIGN, PAGE_BYTES, Device, Memmap

_SYSFS = Path("/sys")
_LIMIT_S = 30

_NDCTL = ("ndctl", "list", "--namespaces", "--verbose")
_DAXCTL = ("daxctl", "list")
_CXL = ("cxl", "list", "--regions", "--dax")
_NVIDIA = ("nvidia-smi", "--query-gpu=index,memory.total", "--format=csv,noheader,nounits")

_MAPS = {"dev": Memmap.DEVICE, "mem": Memmap.RAM}

Ask = Callable[[Sequence[str]], str]
"""Runs a program and returns what it prints: nothing if it is missing or fails."""


def find(sys: Path) -> list[Device]:
    """Return the devices of this machine, or those of another sysfs alone."""
    own = devices.from_sysfs(sys)
    return merge(own, run_installed) if sys == _SYSFS else own


def run_installed(argv: Sequence[str]) -> str:
    """Return what a program prints: nothing if it is missing or fails."""
    if shutil.which(argv[0]) is None:
        return ""
    try:
        done = run(argv, action="list the devices", timeout_s=_LIMIT_S, check=False)
    except MmbatchError:
        return ""
    return "" if done.rc else done.stdout


def merge(own: Sequence[Device], ask: Ask) -> list[Device]:
    """Return devices that sysfs showed, corrected and completed by what programs say."""
    found = {device.name: device for device in own}
    namespaces = list(_items(ask(_NDCTL), "namespaces", "dev"))
    holders = {char: space["dev"] for space in namespaces for char in _characters(space)}
    for space in namespaces:
        _put(found, space["dev"], "ndctl", space, Memmap.NONE)
    for device in _items(ask(_DAXCTL), "devices", "chardev"):
        name = holders.get(device["chardev"])
        if name is not None:  # a namespace, of which this is the character device
            if device.get("mode") == "system-ram" and name in found:
                found[name] = replace(found[name], mode="system-ram", align=PAGE_BYTES)
        else:
            _put(found, device["chardev"], "daxctl", device, Memmap.RAM)
    for region in _items(ask(_CXL), "regions", "region"):
        if region.get("type") != "pmem" and not _characters(region):
            _put(found, region["region"], "cxl", {**region, "mode": "devdax"}, Memmap.RAM)
    return [*found.values(), *_nvidia(ask(_NVIDIA))]


def _put(
    found: dict[str, Device], name: str, program: str, item: dict[str, Any], memmap: Memmap
) -> None:
    """Add a device, or correct it, by an item of a program; `memmap` is where it is by default."""
    size, mode = item.get("size"), item.get("mode")
    if not isinstance(size, int) or not isinstance(mode, str) or size <= 0:
        return
    usual = DEFAULT_ALIGN if mode == "devdax" else PAGE_BYTES
    known = found.get(name) or Device(name, mode, size, memmap, usual)
    align = item.get("align") if mode == "devdax" else PAGE_BYTES
    node = item.get("numa_node", item.get("target_node"))
    found[name] = replace(
        known,
        mode=mode,
        size=size,
        memmap=_MAPS.get(str(item.get("map")), known.memmap),
        align=align if isinstance(align, int) and align > 0 else known.align,
        node=node if isinstance(node, int) and known.node < 0 else known.node,
        bound=item.get("state") != "disabled" and known.bound,
        source=program,
    )


def _items(text: str, group: str, name: str) -> Iterator[dict[str, Any]]:
    """Yield the objects with a name in what a program printed, which may be one, many or none."""
    try:
        data = json.loads(text or "[]")
    except ValueError:
        return
    if isinstance(data, dict):
        data = data.get(group, [data])
    for item in data if isinstance(data, list) else ():
        if isinstance(item, dict) and isinstance(item.get(name), str):
            yield item


def _characters(item: dict[str, Any]) -> list[str]:
    """Return the names of the character devices of a namespace or region."""
    region = item.get("daxregion")
    below = region.get("devices", []) if isinstance(region, dict) else []
    every: Iterable[Any] = [item, *(below if isinstance(below, list) else ())]
    names = [each.get("chardev") for each in every if isinstance(each, dict)]
    return [name for name in names if isinstance(name, str)]


def _nvidia(text: str) -> Iterator[Device]:
    """Yield NVIDIA's GPUs, whose driver shows their memory through its own program only."""
    for line in text.splitlines():
        index, _, mib = (part.strip() for part in line.partition(","))
        if index.isdecimal() and mib.isdecimal():
            name = f"nvidia{index}"
            yield Device(name, "private", int(mib) << 20, Memmap.RAM, source="nvidia-smi")
