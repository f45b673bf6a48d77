# SPDX-License-Identifier: GPL-2.0-only
"""What is made of the instructions that guests of `mmbatch live test` counted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import pytest

from mmbatch.guest.build import GuestKernel
from mmbatch.guest.qemu import Boot, Booted, Outcome
from mmbatch.live.guest import ratios, report_count

LEAST = {"few": 2.5, "many": 0.95}


def ended(outcome: Outcome) -> Booted:
    boot = Boot("guest", cast(GuestKernel, None), None, 1.0)
    return Booted(boot, outcome, [], 1.0, "")


def counted(patched: float, cases: Iterable[str] = LEAST, control: float = 5001.0) -> Booted:
    values = []
    for case in cases:
        values.append((f"{case} items", 100.0))
        for variant, count in (("base", 5000.0), ("patched", patched), ("control", control)):
            values += [(f"{case} {variant}", count)] * 3
    return ended(Outcome(values=values, finished=True))


def test_what_was_counted() -> None:
    assert list(ratios(counted(1000.0, ["few"]).outcome)) == [("few", 50.0, 10.0, 50.01)]


@pytest.mark.parametrize(("patched", "good"), [(1000.0, True), (2001.0, False)])
def test_a_gain_that_is_too_small_fails(patched: float, good: bool) -> None:
    messages: list[str] = []

    assert report_count(counted(patched), LEAST, messages.append) is good
    assert any("FAILED" in line for line in messages) is not good


@pytest.mark.parametrize(
    ("control", "good"), [(4951.0, True), (5049.0, True), (4949.0, False), (5051.0, False)]
)
def test_an_original_that_does_not_come_back_fails(control: float, good: bool) -> None:
    messages: list[str] = []

    assert report_count(counted(500.0, control=control), LEAST, messages.append) is good
    assert any("FAILED few: after unload" in line for line in messages) is not good


@pytest.mark.parametrize("variant", ["base", "patched", "control"])
def test_an_interrupt_changes_no_count(variant: str) -> None:
    booted = counted(500.0)
    before = list(ratios(booted.outcome))
    samples = [at for at, (key, _) in enumerate(booted.outcome.values) if key == f"few {variant}"]
    for at in samples[:2]:
        key, number = booted.outcome.values[at]
        booted.outcome.values[at] = (key, number + 1000.0)
    assert list(ratios(booted.outcome)) == before


@pytest.mark.parametrize("patched", [0.0, -1.0])
def test_a_count_that_can_not_be_fails(patched: float) -> None:
    messages: list[str] = []

    assert not report_count(counted(patched), LEAST, messages.append)
    assert "FAILED few was not counted" in messages


def test_nothing_counted_fails() -> None:
    messages: list[str] = []

    assert not report_count(ended(Outcome(finished=True)), LEAST, messages.append)
    assert "FAILED few was not counted" in messages


def test_a_case_of_no_manifest_fails() -> None:
    messages: list[str] = []

    assert not report_count(counted(500.0, [*LEAST, "more"]), LEAST, messages.append)
    assert "FAILED more: no guest.toml says how many times fewer it must take" in messages
