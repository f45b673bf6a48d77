# SPDX-License-Identifier: GPL-2.0-only
"""What messages of the engine about faults become for people."""

from typing import cast

import pytest

from mmbatch.hosted import run
from mmbatch.hosted.program import Program
from mmbatch.hosted.run import Place

INPUT = "combination 3: toy 7"
LINE = "mm/toys.c:12"


def explained(monkeypatch: pytest.MonkeyPatch, *ends: tuple[str, Place | None]) -> str | None:
    places = {f"hosted: {text}, {INPUT}": place for text, place in ends}
    monkeypatch.setattr(run, "_place", lambda _, line: places[line])
    return run.explain(cast(Program, None), list(places))


def at(side: str, number: int, code: str = "WARN_ON(!toy);") -> tuple[str, Place]:
    place = Place(side, "paint", LINE, code)
    return f"WARN() in kernel code at {number:#x}", place


def test_a_warning_is_named_once_with_its_condition_and_input(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = explained(monkeypatch, at("posted0", 1), at("posted0", 2))
    assert found == f"WARN() in paint() ({LINE}: WARN_ON(!toy);), {INPUT}; base does not warn"


def test_a_warning_that_base_has_too_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert explained(monkeypatch, at("base", 1), at("posted0", 2)) is None
    other = explained(monkeypatch, at("base", 1), at("posted0", 2, "WARN_ON(toy > 7);"))
    assert other and "toy > 7" in other
