# SPDX-License-Identifier: GPL-2.0-only
"""Which devices a sysfs shows: made-up ones, and that of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from fake_sysfs import make_sysfs
from mmbatch.live import devices
from mmbatch.live.devices import Device, Memmap

GIB, MIB = 1 << 30, 1 << 20


def found(name: str, tmp_path: Path) -> list[Device]:
    return devices.from_sysfs(make_sysfs(name, tmp_path / name))


def test_three_namespaces(tmp_path: Path) -> None:
    assert found("three", tmp_path) == [
        Device("namespace0.0", "fsdax", 100 * GIB - 1602 * MIB, Memmap.DEVICE, 4096, 0),
        Device("namespace0.1", "devdax", 200 * GIB - 3202 * MIB, Memmap.DEVICE, 2 * MIB, 0),
        Device("namespace1.0", "devdax", 50 * GIB, Memmap.RAM, 2 * MIB, 1),
    ]


def test_what_a_namespace_that_is_not_bound_will_have(tmp_path: Path) -> None:
    """The kernel tells the size of the rest only while a driver is bound."""
    root = make_sysfs("three", tmp_path / "sys")
    before = devices.from_sysfs(root)[0]
    holder = root / "bus/nd/devices/pfn0.1"
    (holder / "size").unlink()
    (holder / "driver").unlink()
    after = devices.from_sysfs(root)[0]
    assert (before.bound, after.bound) == (True, False)
    assert after.size == before.size


def test_a_namespace_that_became_system_ram(tmp_path: Path) -> None:
    root = make_sysfs("three", tmp_path / "sys")
    driver = root / "bus/nd/devices/dax1.1/dax1.0/driver"
    driver.unlink()
    driver.symlink_to(root / "bus/dax/drivers/kmem")
    assert devices.from_sysfs(root)[2].mode == "system-ram"


def test_cxl_and_soft_reserved_memory(tmp_path: Path) -> None:
    assert found("cxl", tmp_path) == [
        Device("dax0.0", "system-ram", 512 * GIB, Memmap.DEVICE, 4096, 2, block=2 * GIB),
        Device("dax3.0", "devdax", 16 * GIB, Memmap.RAM, 2 * MIB, 1),
        Device("dax12.0", "devdax", 8 * GIB, Memmap.RAM, 2 * MIB, 1, bound=False),
        Device("region1", "devdax", 256 * GIB, Memmap.RAM, 2 * MIB, bound=False),
    ]


def test_other_namespaces(tmp_path: Path) -> None:
    memmap = 64 * GIB // 64 + 8192
    rest = 64 * GIB - -(-memmap // (2 * MIB)) * 2 * MIB
    assert found("others", tmp_path) == [
        Device("namespace0.0", "raw", 4 * GIB, Memmap.NONE, bound=False, node=0),
        Device("namespace0.1", "sector", 4 * GIB, Memmap.NONE, node=0),
        Device("namespace0.2", "fsdax", 4 * GIB, Memmap.RAM, node=-1),
        Device("namespace0.9", "devdax", 64 * GIB - memmap, Memmap.DEVICE, 4096, 0, bound=False),
        Device("namespace0.10", "fsdax", rest, Memmap.DEVICE, 4096, 0, bound=False),
    ]


def test_gpus(tmp_path: Path) -> None:
    assert found("gpu", tmp_path) == [Device("card1", "private", 64 * GIB, Memmap.RAM, node=1)]


@pytest.mark.parametrize("name", ["nothing", "missing"])
def test_no_devices(name: str, tmp_path: Path) -> None:
    root = make_sysfs(name, tmp_path / name) if name == "nothing" else tmp_path / name
    assert devices.from_sysfs(root) == []


def test_files_that_hold_no_number(tmp_path: Path) -> None:
    root = make_sysfs("three", tmp_path / "sys")
    for path in root.glob("devices/*/*/*/*/*/namespace*/size"):
        path.write_bytes(b"\xff\n")
    assert devices.from_sysfs(root) == []


def test_this_machine() -> None:
    for device in devices.from_sysfs(Path("/sys")):
        assert device.name
        assert device.size > 0
        assert device.align >= devices.PAGE_BYTES
        assert device.mode in {"fsdax", "devdax", "system-ram", "private", "raw", "sector"}
