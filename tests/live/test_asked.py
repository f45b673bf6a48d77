# SPDX-License-Identifier: GPL-2.0-only
"""What ndctl, daxctl, cxl and nvidia-smi say about devices, as they print it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fake_sysfs import make_sysfs
from mmbatch.live import asked, devices
from mmbatch.live.devices import Device, Memmap

GIB, MIB = 1 << 30, 1 << 20


def merge(own: Sequence[Device], **said: Any) -> list[Device]:
    def ask(argv: Sequence[str]) -> str:
        answer = said.get(argv[0].replace("-", "_"), "")
        return answer if isinstance(answer, str) else json.dumps(answer)

    return asked.merge(own, ask)


def test_no_program(tmp_path: Path) -> None:
    own = devices.from_sysfs(make_sysfs("three", tmp_path / "sys"))
    assert merge(own) == own


def test_namespaces() -> None:
    fsdax = {"dev": "namespace0.0", "mode": "fsdax", "map": "dev", "size": 98 * GIB}
    devdax = {"dev": "namespace0.1", "mode": "devdax", "map": "mem", "size": 50 * GIB}
    assert merge(
        [Device("namespace0.0", "raw", 100 * GIB, Memmap.NONE, node=1)],
        ndctl=[
            {**fsdax, "align": 2 * MIB, "blockdev": "pmem0", "numa_node": 0},
            {**devdax, "align": 2 * MIB, "chardev": "dax0.1", "state": "disabled"},
            {"dev": "namespace0.2", "mode": "sector", "size": GIB, "sector_size": 4096},
        ],
    ) == [
        Device("namespace0.0", "fsdax", 98 * GIB, Memmap.DEVICE, 4096, 1, source="ndctl"),
        Device(
            "namespace0.1", "devdax", 50 * GIB, Memmap.RAM, 2 * MIB, bound=False, source="ndctl"
        ),
        Device("namespace0.2", "sector", GIB, Memmap.NONE, source="ndctl"),
    ]


@pytest.mark.parametrize("nested", [False, True])
def test_a_namespace_that_became_system_ram(nested: bool) -> None:
    space: dict[str, Any] = {"dev": "namespace0.0", "mode": "devdax", "map": "dev", "size": GIB}
    space |= (
        {"daxregion": {"id": 0, "devices": [{"chardev": "dax0.0"}]}}
        if nested
        else {"chardev": "dax0.0"}
    )
    character = {"chardev": "dax0.0", "size": GIB, "mode": "system-ram", "target_node": 2}
    (found,) = merge([], ndctl={"namespaces": [space]}, daxctl=[character])
    assert (found.name, found.mode, found.align) == ("namespace0.0", "system-ram", 4096)


def test_dax_devices_and_regions() -> None:
    ram = Device("dax0.0", "system-ram", 512 * GIB, Memmap.DEVICE, 4096, 2)
    system = {"chardev": "dax0.0", "size": 512 * GIB, "target_node": 2, "mode": "system-ram"}
    other = {
        "chardev": "dax1.0",
        "size": 16 * GIB,
        "target_node": 1,
        "align": GIB,
        "mode": "devdax",
    }
    used = {"region": "region0", "size": 512 * GIB, "type": "ram"}
    assert merge(
        [ram],
        daxctl=[system, other],
        cxl=[
            {**used, "daxregion": {"devices": [{"chardev": "dax0.0"}]}},
            {"region": "region1", "size": 256 * GIB, "type": "ram"},
            {"region": "region2", "size": 256 * GIB, "type": "pmem"},
        ],
    ) == [
        Device("dax0.0", "system-ram", 512 * GIB, Memmap.DEVICE, 4096, 2, source="daxctl"),
        Device("dax1.0", "devdax", 16 * GIB, Memmap.RAM, GIB, 1, source="daxctl"),
        Device("region1", "devdax", 256 * GIB, Memmap.RAM, 2 * MIB, source="cxl"),
    ]


def test_nvidia() -> None:
    (found,) = merge([], nvidia_smi="0, 143771\nFailed to initialize NVML\n")
    assert found == Device("nvidia0", "private", 143771 << 20, Memmap.RAM, source="nvidia-smi")


@pytest.mark.parametrize(
    "said",
    [
        "",
        "[",
        "[]",
        "null",
        "7",
        "[7, {}]",
        '{"dev": 7}',
        '[{"dev": "a", "size": "1"}]',
        '[{"dev": "a", "mode": "raw", "size": 0}]',
    ],
)
def test_what_says_nothing(said: str) -> None:
    assert merge([], ndctl=said, daxctl=said, cxl=said, nvidia_smi=said) == []


def test_programs_that_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    for name, script in {"ndctl": "echo '[]'; exit 1", "daxctl": "echo good"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    assert asked.run_installed(["ndctl", "list"]) == ""
    assert asked.run_installed(["daxctl", "list"]) == "good\n"
    assert asked.run_installed(["no-such-program"]) == ""


def test_another_sysfs_asks_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "run_installed", lambda _: pytest.fail("it was asked"))
    assert len(asked.find(make_sysfs("three", tmp_path / "sys"))) == 3


def test_this_machine() -> None:
    names = [device.name for device in asked.find(Path("/sys"))]
    assert len(names) == len(set(names))
