# SPDX-License-Identifier: GPL-2.0-only
"""What the boots of a stock kernel showed becomes one line of a kept run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from mmbatch.core.cache import Cache
from mmbatch.core.console import Console
from mmbatch.guest.log import Heard
from mmbatch.live import guest as liveguest
from mmbatch.live import kernel as livekernel
from mmbatch.live import test as livetest
from mmbatch.report import seen

BOOTS = {"count": 1, "functional": 20, "rounds": 300}


@pytest.mark.parametrize("failing", ["", *BOOTS])
def test_the_checks_of_all_boots_are_added_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    for name, passed in BOOTS.items():
        heard = Heard(passed=["it"] * passed, failed=["not it"] if name == failing else [])
        booted = SimpleNamespace(heard=heard, trouble="", wall_s=1.0)
        monkeypatch.setattr(liveguest, name, lambda *_, booted=booted: booted)
    monkeypatch.setattr(liveguest, "report_count", liveguest.report)
    for module, name in ((livetest, "build"), (livekernel, "fetch_image"), (livekernel, "find")):
        monkeypatch.setattr(module, name, lambda *_: None)
    cargo = SimpleNamespace(modules={"toy": None, "other": None})
    monkeypatch.setattr(livetest, "_cargo", lambda *_: cargo)
    log = seen.Log()
    cache, plan = Cache(tmp_path / "cache"), livetest.QUICK
    assert livetest.run_all(Console(-1), cache, "6.12-amd64", plan, log) is (not failing)
    assert log.lives == [seen.Live("6.12-amd64", ("toy", "other"), not failing, 321, plan.rounds)]
