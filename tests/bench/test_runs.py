# SPDX-License-Identifier: GPL-2.0-only
"""Several runs of one program taken as one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fake_run import case_events, run_events
from mmbatch.bench import runs
from mmbatch.hosted.events import Case, Done, Engine, Equal, Event, Note, Sample


def _run(blocks: int) -> list[Event]:
    return run_events(list(case_events("a", blocks=blocks)), list(case_events("b")))


@pytest.mark.parametrize("pairs", [1, 2, 3, 5, 6, 7, 12, 20, 24, 25, 120])
def test_shares_add_up_in_whole_blocks(pairs: int) -> None:
    shares = [runs.share(pairs, number) for number in range(runs.STARTS)]
    assert sum(shares) == pairs
    assert all(share % 2 == 0 for share in shares[:-1])
    assert max(shares) - min(shares) <= 3


def test_seeds_differ_and_fit() -> None:
    for first in (0, 1, (1 << 64) - 1):
        seeds = [runs.start_seed(first, number) for number in range(2 * runs.STARTS)]
        assert len(set(seeds)) == 2 * runs.STARTS
        assert all(0 <= seed < 1 << 64 for seed in seeds)
        assert seeds[0] == first
        assert [seed % 4 for seed in seeds] == [
            (first + number) % 4 for number in range(len(seeds))
        ]


def test_no_sample_is_lost_and_no_two_share_a_place() -> None:
    parts = [_run(4), _run(3), _run(5)]
    joined = runs.join(parts)
    run = runs.collect(joined)  # which refuses a place that comes twice
    assert run.complete
    before = [event for part in parts for event in part if isinstance(event, Sample)]
    after = [event for event in joined if isinstance(event, Sample)]
    plain = [replace(event, block=0, start=0) for event in after]
    assert plain == [replace(event, block=0) for event in before]
    starts = run.cases["a"].pairs("base", "auto").starts
    assert starts == (0,) * 8 + (1,) * 6 + (2,) * 10
    assert sorted({event.block for event in after if event.case == "a"}) == list(range(12))
    assert run.cases["a"].case.pairs == 24
    assert len(run.cases["a"].pairs("base", "auto").blocks) == 24
    assert len([event for event in joined if isinstance(event, (Engine, Case))]) == 3


def test_one_bad_round_is_enough() -> None:
    bad: list[Event] = [
        replace(event, equal=False)
        if isinstance(event, Equal) and event.variant == "auto"
        else event
        for event in _run(4)
    ]
    run = runs.collect(runs.join([_run(4), bad, _run(4)]))
    assert run.cases["a"].equality("auto") is False
    assert run.cases["a"].times("auto") == []


def test_notes_are_said_once() -> None:
    first: list[Event] = [*_run(2)[:-1], Note("a", "cold"), Note("", "all"), Done()]
    second: list[Event] = [*_run(2)[:-1], Note("a", "cold"), Note("a", "warm"), Done()]
    notes = [event for event in runs.join([first, second]) if isinstance(event, Note)]
    assert notes == [Note("a", "cold"), Note("", "all"), Note("a", "warm")]


def test_a_round_that_was_cut_short_leaves_the_whole_incomplete() -> None:
    assert not runs.collect(runs.join([_run(4), _run(4)[:-1]])).complete


def test_other_builds_are_refused() -> None:
    other: list[Event] = [
        replace(event, page_bytes=80) if isinstance(event, Engine) else event for event in _run(2)
    ]
    with pytest.raises(Exception, match="two different engines"):
        runs.collect(runs.join([_run(2), other]))
