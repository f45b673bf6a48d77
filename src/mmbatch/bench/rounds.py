# SPDX-License-Identifier: GPL-2.0-only
"""Several short runs of one program taken as one run, so that programs can take turns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from mmbatch.hosted.events import Case, Check, Done, Engine, Event, Note, Sample

ROUNDS = 3
_SEEDS = 1 << 64


def share(pairs: int, number: int) -> int:
    """Return how many of all pairs a round gets: whole blocks of two, the first rounds more.

    Args:
        pairs: of each comparison, in all rounds together.
        number: of the round, from 0.
    """
    blocks, rest = divmod(pairs, 2)
    mine = blocks // ROUNDS + (number < blocks % ROUNDS)
    return 2 * mine + (rest if number == ROUNDS - 1 else 0)


def seed(first: int, number: int) -> int:
    """Return a round's seed, another for each, and the user's own for the first."""
    return (first + number * 0x9E3779B97F4A7C15) % _SEEDS


def join(runs: Sequence[Sequence[Event]]) -> list[Event]:
    """Make one run of several of the same program: its blocks are numbered on.

    Args:
        runs: what the program said each time.

    Returns:
        The events of one run. A case comes once, with all of its pairs; what was said in the
        same words before is left out; it ends with `Done` if all did.
    """
    pairs: dict[str, int] = {}
    for event in (event for run in runs for event in run):
        if isinstance(event, Case):
            pairs[event.case] = pairs.get(event.case, 0) + event.pairs
    joined: list[Event] = []
    said: set[str] = set()
    for event in _numbered_on(runs):
        if isinstance(event, (Engine, Case, Note, Check)):
            words = f"case {event.case}" if isinstance(event, Case) else repr(event)
            if words in said:
                continue
            said.add(words)
        whole = replace(event, pairs=pairs[event.case]) if isinstance(event, Case) else event
        joined.append(whole)
    if all(run and isinstance(run[-1], Done) for run in runs):
        joined.append(Done())
    return joined


def _numbered_on(runs: Iterable[Iterable[Event]]) -> Iterator[Event]:
    """Yield all events but `Done`, each run's blocks after those of the run before."""
    after: dict[str, int] = {}
    for run in runs:
        before = dict(after)
        for event in run:
            if isinstance(event, Sample):
                block = event.block + before.get(event.case, 0)
                after[event.case] = max(after.get(event.case, 0), block + 1)
                yield replace(event, block=block)
            elif not isinstance(event, Done):
                yield event
