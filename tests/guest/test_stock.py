# SPDX-License-Identifier: GPL-2.0-only
"""Guests with a distribution's kernel: what runs in them, and which speed-ups they can use."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmbatch.core import paths
from mmbatch.guest import boots, initramfs, plan, stock
from mmbatch.guest.plan import Boot
from mmbatch.guest.stock import Stock
from mmbatch.live import kernel, manifest


class FakeStock(Stock):
    """A kernel that lacks one driver."""

    def has(self, name: str) -> bool:
        return name != "nd_pmem"


@pytest.fixture
def livepatched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> stock.Livepatched:
    image = FakeStock("6.12.9-amd64", tmp_path)
    monkeypatch.setattr(kernel, "fetch_image", lambda _: tmp_path)
    monkeypatch.setattr(stock, "Stock", lambda *_: image)
    monkeypatch.setattr(kernel, "find", lambda _: None)
    monkeypatch.setattr(stock, "_payload", lambda *_: ({"modules/x.ko": b"x"}, {"SPARE": "y"}))
    monkeypatch.setattr(boots, "compiled", lambda _: b"program")
    made = stock.Livepatched.of("6.12.9-amd64")
    lacking = [name for name, each in plan.plans().items() if "nd_pmem" in each.drivers]
    for name in lacking:
        assert f"not {name}: Linux 6.12.9-amd64 has no nd_pmem" in capsys.readouterr().out
    assert lacking
    return made


def test_what_a_guest_gets(livepatched: stock.Livepatched, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, bytes] = {}
    monkeypatch.setattr(initramfs, "make", lambda files: seen.update(files) or b"packed")
    names = [each.speedup for each in livepatched.plans]
    assert set(names) < set(manifest.known(paths.SPEEDUPS))
    row = Boot(("stock",), scripts=("*/compare", "stacked"), settings={"ROUNDS": "3"})

    guest = livepatched.prepare(row)

    scripts = ["start", *(f"{name}/compare" for name in names), "stacked"]
    assert seen["scripts"].decode().split() == scripts
    assert {f"{name}.sh" for name in scripts} <= set(seen)
    assert {"modules/x.ko", "live.sh", "lib.sh", "init", *(f"{n}/guest.sh" for n in names)} < set(
        seen
    )
    assert seen["settings"] == b"SPARE=y\nROUNDS=3\n"
    assert "bin/python3" not in seen  # only where the tool is tested
    assert guest.boot.without == ("cx16",)
    assert guest.initramfs == b"packed"
