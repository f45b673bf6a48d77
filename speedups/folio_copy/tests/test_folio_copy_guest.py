# SPDX-License-Identifier: GPL-2.0-only
"""Folios that move in guests: what is asked, what is counted, and what does not pass."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from expect import printed
from mmbatch.core.paths import ROOT, SPEEDUPS
from mmbatch.guest import console
from mmbatch.guest.console import Outcome

DIRECTORY = SPEEDUPS / "folio_copy/guest"


def judged(folder: Path, counts: Mapping[str, Mapping[int, int]], event: str) -> Outcome:
    """Return what copies.sh makes of counts: 8 folios of 512 pages should be copied by `event`."""
    for name in ("mc", "plain", "page", "auto", "bulk", "stream"):
        place = folder / "events/kprobes" / name
        place.mkdir(parents=True)
        lines = [
            f"{{ n: {n:10} }} hitcount: {hits:10}\n" for n, hits in counts.get(name, {}).items()
        ]
        (place / "hist").write_text("".join(["# event histogram\n", *lines, "Totals:\n"]))
    script = f"""
    . '{ROOT}/guest/lib.sh'
    . '{DIRECTORY}/copies.sh'
    TRACING={folder}
    copied_by case {event} 8 512
    end
    """
    return console.read(printed("sh", "-c", script).splitlines())


BULK = {"mc": {64: 11}, "bulk": {512: 8}, "page": {4096: 3}}
PAGES = {"mc": {64: 8}, "page": {4096: 8 * 512}}
AUTO = {"mc": {64: 8}, "auto": {512: 8}, "bulk": {512: 5}, "stream": {512: 3}}


@pytest.mark.parametrize(
    ("counts", "event", "passed"), [(BULK, "bulk", 4), (PAGES, "pages", 6), (AUTO, "auto", 2)]
)
def test_counts_that_are_as_they_should_be(
    tmp_path: Path, counts: Mapping[str, Mapping[int, int]], event: str, passed: int
) -> None:
    outcome = judged(tmp_path, counts, event)

    assert outcome.failed == []
    assert len(outcome.passed) == passed


@pytest.mark.parametrize(
    ("counts", "event", "failed"),
    [
        (PAGES, "bulk", ["copied as folios", "not page by page"]),
        (PAGES | {"mc": {64: 8 * 512}}, "pages", ["not as single pages"]),
        (BULK, "pages", ["bulk did not", "page by page"]),
        (BULK, "auto", ["copied as folios"]),
        ({"bulk": {16: 256}}, "bulk", ["copied as folios of 512 pages"]),
        (BULK | {"bulk": {512: 7}}, "bulk", ["copied as folios"]),
    ],
)
def test_counts_that_tell_of_another_way(
    tmp_path: Path, counts: Mapping[str, Mapping[int, int]], event: str, failed: list[str]
) -> None:
    outcome = judged(tmp_path, counts, event)

    assert len(outcome.failed) == len(failed)
    for problem, expected in zip(outcome.failed, failed, strict=True):
        assert problem.startswith(f"case: {expected}")
