# SPDX-License-Identifier: GPL-2.0-only
"""What `live plan` prints and writes, on made-up devices and with records of results/."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fake_sysfs import make_sysfs
from mmbatch.bench import record
from mmbatch.cli import live_plan
from mmbatch.cli import main as cli
from mmbatch.core import paths
from mmbatch.live import kernel
from mmbatch.live.devices import PAGE_BYTES

SPEEDUP = "zone_device"
RECORD = paths.ROOT / "results/zone_device-7.3-zen5-2c.json"
COUNTED = paths.ROOT / "results/zone_device-7.3-icount.json"
OTHER = paths.ROOT / "results/vmap-7.3-zen5-2c.json"


@pytest.fixture(autouse=True)
def release(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kernel, "running", lambda: "6.18.44-fc-v669")
    monkeypatch.setenv("MMBATCH_CACHE", str(tmp_path / "cache"))


def plan(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[list[str], dict[str, Any]]:
    sysfs, file = make_sysfs(name, tmp_path / "sys"), tmp_path / "plan.json"
    words = ["live", "plan", *arguments, "--sysfs", str(sysfs), "--json", str(file)]
    assert cli.main(words) == 0
    written: dict[str, Any] = json.loads(file.read_text())
    return capsys.readouterr().out.splitlines(), written


def per_page(case: str) -> tuple[float, float]:
    """Return what a page takes by the record, now and then."""
    rows = {row.variant: row for row in record.read(RECORD).rows if row.case == f"{case}-100G"}
    base, ratio = rows["base"].per_item, rows["auto"].ratio
    assert base is not None and ratio is not None
    return base, base / ratio.median


def test_three_namespaces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed, written = plan("three", tmp_path, capsys, SPEEDUP, "--record", str(RECORD))

    assert written["gains"]
    assert written["unit"] == "ns"
    assert [row["device"] for row in written["devices"]] == [
        "namespace0.0",
        "namespace0.1",
        "namespace1.0",
    ]
    shares = {"namespace1.0": 1 / 4}  # two of the eight pages of a compound's memmap
    for row in written["devices"]:
        now, then = per_page("fsdax" if row["mode"] == "fsdax" else "devdax-2M")
        pages = row["size"] / PAGE_BYTES * shares.get(row["device"], 1)
        assert row["now"] == pytest.approx(pages * now)
        assert row["then"] == pytest.approx(pages * then)
        assert row["first"] is None
    assert written["now"] == pytest.approx(sum(row["now"] for row in written["devices"]))
    less = (written["now"] - written["then"]) / 1e9
    assert written["less"][0] / 1e9 < less < written["less"][1] / 1e9
    assert printed[0].startswith(f"To gain: {less:.3f} s of {written['now'] / 1e9:.3f} s")
    assert "First bind: not measured, because --record was given." in printed
    assert any(line.startswith("Unchanged: allocating and mapping") for line in printed)
    assert any(line.startswith("Measured before on AMD EPYC: ") for line in printed)
    assert any(f"can't take {SPEEDUP}: it supports only Linux" in line for line in printed)


def test_instructions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed, written = plan("three", tmp_path, capsys, SPEEDUP, "--record", str(COUNTED))
    assert written["unit"] != "ns"
    assert written["unit"] in printed[0]


@pytest.mark.parametrize("name", ["nothing", "others"])
def test_nothing_to_gain(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sysfs = make_sysfs(name, tmp_path / "sys")
    for path in sysfs.glob("bus/nd/devices/*"):
        if path.name not in ("namespace0.0", "namespace0.1", "btt0.1"):
            path.unlink()
    file = tmp_path / "plan.json"
    assert cli.main(["live", "plan", "--sysfs", str(sysfs), "--json", str(file)]) == 0
    printed, written = capsys.readouterr().out.splitlines(), json.loads(file.read_text())
    assert printed[0].startswith("Nothing to gain: ")
    assert not written["gains"]
    assert (written["now"], written["then"], written["unit"]) == (None, None, None)
    assert len(written["devices"]) == (0 if name == "nothing" else 2)
    assert {row["speedup"] for row in written["devices"]} <= {None}


def test_this_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A CI machine has no such device; where there is one, the record of another says enough."""
    file = tmp_path / "plan.json"
    words = ["live", "plan", SPEEDUP, "--record", str(RECORD), "--json", str(file)]
    assert cli.main(words) == 0
    printed, written = capsys.readouterr().out, json.loads(file.read_text())
    assert printed.startswith("To gain: " if written["gains"] else "Nothing to gain: ")


def test_a_first_bind_in_a_virtual_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = record.read(RECORD)
    measured = live_plan.Measured({SPEEDUP: read}, {SPEEDUP: "here"}, 0.5)
    monkeypatch.setattr(live_plan, "measure", lambda *_, **__: measured)
    printed, written = plan("three", tmp_path, capsys, SPEEDUP)
    fsdax = written["devices"][0]
    assert fsdax["first"] == pytest.approx(0.5 * 64 * fsdax["size"] / PAGE_BYTES)
    assert written["first"] == pytest.approx(sum(row["first"] for row in written["devices"]))
    assert any(line.startswith("First bind: about ") for line in printed)
    assert "Measured just now on AMD EPYC: here" in printed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--record", str(OTHER)], "is of 'vmap'"),
        (["vmap"], "no device is bound faster with it"),
        (["zone_devise"], "did you mean 'zone_device'?"),
        (["--record", "/nonexistent"], "cannot read /nonexistent"),
        (["--sysfs", "/nonexistent"], "does not exist"),
    ],
)
def test_wrong_usage(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["live", "plan", *arguments]) in (1, 2)
    assert words in capsys.readouterr().err
