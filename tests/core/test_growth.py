# SPDX-License-Identifier: GPL-2.0-only
import time
from pathlib import Path

from mmbatch.core.console import directory_bytes, growth


class Seen:
    def __init__(self) -> None:
        self.values: list[float] = []

    def advance(self, amount: float = 1) -> None:
        raise AssertionError("sizes are set, not added")

    def update(self, done: float, text: str | None = None) -> None:
        self.values.append(done)


def test_growth_is_followed_in_megabytes_and_then_no_more(tmp_path: Path) -> None:
    seen = Seen()
    with growth(tmp_path, seen):
        (tmp_path / "partial").mkdir()
        (tmp_path / "partial" / "file").write_bytes(bytes(2_000_000))
        deadline = time.monotonic() + 300
        while 2.0 not in [round(value, 2) for value in seen.values]:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    count = len(seen.values)
    time.sleep(0.5)
    assert len(seen.values) == count


def test_a_directory_that_is_gone_is_empty(tmp_path: Path) -> None:
    assert directory_bytes(tmp_path / "gone") == 0
