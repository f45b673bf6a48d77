# SPDX-License-Identifier: GPL-2.0-only
"""`live plan`: which devices a sysfs shows, and what they gain by a record."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

from fake_live import live
from mmbatch.bench import record
from mmbatch.cli import main as cli
from mmbatch.core import paths
from mmbatch.live import kernel, plan
from mmbatch.live.manifest import Match
from mmbatch.live.plan import PAGE, Device, Rate

GIB, MIB = 1 << 30, 1 << 20
RESULTS = paths.ROOT / "results"
DATA = paths.ROOT / "tests/data/sysfs"


def make_sysfs(name: str, root: Path) -> Path:
    """Make the tree NAME.txt in a new directory and return it."""
    for line in (DATA / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if " -> " in line:
            link, target = line.split(" -> ")
            _above(root / link).symlink_to(target)
        else:
            file, content = line.split(" =", 1)
            if file.endswith("/"):
                (root / file).mkdir(parents=True)
            else:
                _above(root / file).write_text(f"{content.strip()}\n")
    dangling = [path for path in root.rglob("*") if path.is_symlink() and not path.exists()]
    assert not dangling
    return root


def _above(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def found(name: str, tmp_path: Path) -> list[Device]:
    return plan.devices(make_sysfs(name, tmp_path / name))


def test_three_namespaces(tmp_path: Path) -> None:
    assert found("three", tmp_path) == [
        Device("namespace0.0", "fsdax", 100 * GIB - 1602 * MIB, "device", PAGE, 0),
        Device("namespace0.1", "devdax", 200 * GIB - 3202 * MIB, "device", 2 * MIB, 0),
        Device("namespace1.0", "devdax", 50 * GIB, "ram", 2 * MIB, 1),
    ]


def test_system_ram_that_is_half_online(tmp_path: Path) -> None:
    """What is offline has a memmap that nobody wrote."""
    root = make_sysfs("cxl", tmp_path / "sys")
    (root / "bus/dax/devices/dax0.0/resource").write_text(f"{hex(4 * GIB)}\n")
    for number in range(2, 258):
        state = root / f"devices/system/memory/memory{number}/state"
        _above(state).write_text("online\n" if number < 66 else "offline\n")
    half = plan.devices(root)[0]
    note = "64 of 256 memory blocks are online, in blocks of 2 GiB"
    assert (half.size, half.note) == (128 * GIB, note)


def test_cxl_and_soft_reserved_memory(tmp_path: Path) -> None:
    ram, devdax, free, region = found("cxl", tmp_path)
    note = "in blocks of 2 GiB"
    assert ram == Device("dax0.0", "system-ram", 512 * GIB, "device", PAGE, 2, True, 2 * GIB, note)
    assert devdax == Device("dax3.0", "devdax", 16 * GIB, "ram", 2 * MIB, 1)
    assert (free.device, free.bound) == ("dax12.0", False)
    assert (region.device, region.mode, region.bound) == ("region1", "cxl", False)


def device(mode: str = "fsdax", size: int = 100 * GIB, **changes: Any) -> Device:
    return Device("it", mode, size, **{"memmap": "device", **changes})


def times(known: Device, *matches: Match, **rates: Rate) -> tuple[float | None, float | None]:
    rates = {name.replace("_", "-"): rate for name, rate in rates.items()}
    gained = plan.estimate(live(devices=matches), known, rates)
    return gained.now, gained.then


ONE = Rate(4, 2, 1000, (1, 4))


def test_what_is_claimed() -> None:
    pages = 100 * GIB // PAGE
    assert times(device(), Match("fsdax", "one"), one_25G=ONE) == (4 * pages, 2 * pages)
    nothing = (None, None)
    assert times(device(bound=False), Match("fsdax", "one"), one_25G=ONE) == nothing
    assert times(device("raw"), Match("fsdax", "one"), one_25G=ONE) == nothing
    assert times(device(), Match("fsdax", "one", memmap="ram"), one_25G=ONE) == nothing
    assert times(device(size=GIB), Match("fsdax", "one", least_size=GIB + 1), one=ONE) == nothing
    lacking = plan.estimate(live(devices=[Match("fsdax", "one")]), device(), {"two": ONE})
    assert lacking.note == "the record has no case one"
    less = plan.estimate(live(devices=[Match("fsdax", "one")]), device(size=PAGE), {"one": ONE})
    assert less.less == (0, 3)


def test_the_first_that_fits_and_was_measured() -> None:
    small = Match("fsdax", "small", most_size=GIB)
    assert times(device(size=GIB), small, Match("fsdax", "one"), one=ONE)[0] == 4 * GIB // PAGE
    large = Rate(40, 2, 1000, None)
    found = times(device(size=GIB), small, Match("fsdax", "one"), small=large, one=ONE)
    assert found[0] == 40 * GIB // PAGE


def test_compounds_that_share_their_tails() -> None:
    match = Match("devdax", "one", most_items=128)
    compound = device("devdax", align=2 * MIB)
    assert times(compound, match, one=ONE)[1] == 2 * 100 * 512 * 128
    assert times(dataclasses.replace(compound, align=GIB), match, one=ONE)[1] == 2 * 100 * 128


def test_memory_blocks() -> None:
    """Twice the memory in blocks half as large is scanned eight times as long."""
    match = Match("system-ram", "plug-@-block128M", block=128 * MIB)
    rate = {"plug_64G_block128M": Rate(3, 1, 1000, None)}
    known = device("system-ram", 1000 * PAGE, block=128 * MIB)
    assert times(known, match, **rate) == (3000, 1000)
    larger = device("system-ram", 2000 * PAGE, block=64 * MIB)
    assert times(larger, match, **rate) == (2000 + 8 * 2000, 2000)


@pytest.mark.parametrize(
    ("cpu", "release", "file", "words"),
    [
        (("AuthenticAMD", 26, 2), "6.12.107-amd64", "6.12-zen5", "the same model of CPU, the same"),
        (("AuthenticAMD", 25, 99), "7.3.4-amd64", "7.3-zen4", "the same family of CPU, the same"),
        (("CentaurHauls", 7, 1), "7.3.4-amd64", "7.3-", "another vendor of CPU, the same kernel"),
    ],
)
def test_the_record_of_the_most_similar_cpu(
    cpu: tuple[str, int, int],
    release: str,
    file: str,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    vendor, family, model = cpu
    text = f"vendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: x\n"
    cpuinfo.write_text(f"processor\t: 0\n{text}\n")
    monkeypatch.setattr(plan, "_CPUINFO", cpuinfo)
    path, read, similar = plan.most_similar("zone_device", release)
    assert path.name.startswith(f"zone_device-{file}")
    assert similar.startswith(words)
    assert {"fsdax-100G", "devdax-2M-100G"} <= plan.rates(read).keys()


def planned(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[str, dict[str, Any]]:
    sysfs, file = make_sysfs(name, tmp_path / "sys"), tmp_path / "plan.json"
    assert cli.main(["live", "plan", *words, "--sysfs", str(sysfs), "--json", str(file)]) == 0
    written: dict[str, Any] = json.loads(file.read_text())
    return capsys.readouterr().out, written


def test_what_may_come_and_gpus_are_claimed_for_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed, written = planned("grows", tmp_path / "grows", capsys)
    assert [(row["device"], row["mode"], row["now"]) for row in written["devices"]] == [
        ("virtio3", "virtio-mem", None),
        ("PNP0C80:00", "acpi", None),
    ]
    assert printed.startswith("No gain is claimed: memory may come")
    assert "no claim; it comes and goes in blocks of 128 MiB" in printed
    printed, written = planned("gpu", tmp_path / "gpu", capsys)
    assert (written["devices"], written["now"]) == ([], 0)
    assert printed.startswith("Nothing to gain: ")
    assert "GPUs: no gain is claimed." in printed


def test_counts_are_planned_as_instructions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = str(RESULTS / "zone_device-7.3-icount.json")
    printed, written = planned("three", tmp_path, capsys, "zone_device", "--record", given)
    assert written["unit"] == "instructions"
    assert re.match(r"To gain: [\d.,]+ M instructions of [\d.,]+ M instructions", printed)
    assert cli.main(["live", "plan", "--record", given]) == 2
    assert "name only zone_device" in capsys.readouterr().err


def test_what_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "running", lambda: "6.18.44-fc-v669")
    given = RESULTS / "zone_device-7.3-zen5-2c.json"
    printed, written = planned("three", tmp_path, capsys, "--record", str(given))

    rate = plan.rates(record.read(given))["fsdax-100G"]
    fsdax = written["devices"][0]
    assert fsdax["now"] == pytest.approx(fsdax["size"] / PAGE * rate.base)
    assert fsdax["then"] == pytest.approx(fsdax["size"] / PAGE * rate.patched)
    assert written["now"] == pytest.approx(sum(row["now"] for row in written["devices"]))
    less = written["now"] - written["then"]
    assert written["less"][0] < less < written["less"][1]
    now = written["now"] / 1e9
    assert printed.startswith(f"To gain: {less / 1e9:.3f} s of {now:.3f} s each time all of these")
    assert f"zone_device: times of {given.name}, measured on Zen 5" in printed
    assert "Linux 7.3.4 (as given" in printed
    assert "GPUs: no gain is claimed." in printed
    assert "memory_hotplug, zone_device can't run on Linux 6.18.44-fc-v669: it is none" in printed
