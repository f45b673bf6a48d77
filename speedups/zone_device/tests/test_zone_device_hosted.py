# SPDX-License-Identifier: GPL-2.0-only
"""The hosted program of zone_device: all methods are equal."""

from pathlib import Path

import pytest

import real_kernel
from mmbatch.hosted.events import Case, Equal
from real_kernel import hosted_events

SIZE = 4096
METHODS = {"copy", "movnti", "wide"}
FEATURES = ("rep_good", "erms", "fsrm")

pytestmark = real_kernel.MARKS


@pytest.fixture(scope="module")
def program() -> Path:
    return real_kernel.hosted_program("zone_device")


@pytest.mark.parametrize("value", [None, 0, 1])
def test_every_variant_leaves_what_base_leaves(program: Path, value: int | None) -> None:
    switched = [] if value is None else [w for f in FEATURES for w in ("--cpu", f"{f}={value}")]
    found: dict[str, dict[str, bool]] = {}
    for event in hosted_events(program, "--check-only", "--items", str(SIZE), *switched):
        if isinstance(event, Equal):
            found.setdefault(event.case, {})[event.variant] = event.equal
    cases = [
        c.case
        for c in hosted_events(program, "--list", "--items", str(SIZE))
        if isinstance(c, Case)
    ]
    assert list(found) == cases
    for variants in found.values():
        assert variants.keys() >= {"control", "auto", *METHODS}
        assert set(variants.values()) == {True}
