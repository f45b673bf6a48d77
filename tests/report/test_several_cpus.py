# SPDX-License-Identifier: GPL-2.0-only
"""A case for several CPUs: how much faster they are than one, in records and every report."""

from __future__ import annotations

from pathlib import Path

import pytest

from fake_run import FSDAX, case_events, record_of, run_events
from mmbatch.bench.record import Limit, Record, Row, read, write
from mmbatch.bench.store import Raw, Stored
from mmbatch.hosted.events import Event
from mmbatch.report import html, markdown, text

IN_WORDS = (
    "fsdax-2cpu-100G: auto is 1.50 (1.50 to 1.50) times as fast as on one CPU and the limit, "
    "movnt 8, is 1.80 (1.80 to 1.80) times as fast as on one CPU"
)


def two_cpus() -> list[Event]:
    """The fastest fill of two CPUs is another one than that of one."""
    times = {name: time for name, time in FSDAX.items() if name != "auto"}
    times |= {
        "auto, 1 CPU": 150e6,
        "auto": 100e6,
        "limit:rep stosq": 90e6,
        "limit:rep stosq, 1 CPU": 135e6,
        "limit:movnt 8": 75e6,
        "limit:movnt 8, 1 CPU": 140e6,
    }
    return list(case_events("fsdax-2cpu-100G", times, noise=0))


@pytest.fixture(scope="module")
def record() -> Record:
    return record_of(run_events(list(case_events()), two_cpus()))


def test_what_users_get_and_the_limit_are_compared_with_themselves_on_one_cpu(
    record: Record,
) -> None:
    parts: list[Row | Limit] = [*record.rows, *record.limits]
    found = {
        part.variant if isinstance(part, Row) else part.name: (ratio.vs, round(ratio.median, 6))
        for part in parts
        if (ratio := part.of_one_cpu)
    }
    assert found == {
        "auto": ("auto, 1 CPU", 1.5),
        "movnt 8": ("limit:rep stosq, 1 CPU", 1.8),
    }
    of_limit = {row.of_limit.vs for row in record.rows if row.of_limit and "2cpu" in row.case}
    assert of_limit == {"limit:movnt 8"}


def test_table_has_a_line_for_each(record: Record) -> None:
    printed = text.run(record)
    assert "\n1 CPU / auto                      1.500 1.500..1.500      1 CPU / all\n" in printed
    assert "\n1 CPU / limit                     1.800 1.800..1.800      1 CPU / all\n" in printed
    assert f"{IN_WORDS}." in " ".join(printed.split())


def test_reports_say_it_in_a_sentence(record: Record) -> None:
    stored = [Stored("here", Path(), record, Raw.ABSENT)]
    assert IN_WORDS in markdown.tables(stored)
    assert IN_WORDS in html.render(stored, Path())
    assert IN_WORDS in " ".join(text.report(stored, Path()).split())


def test_what_users_get_stays_the_last_column(record: Record) -> None:
    """The row of one CPU comes in the second case only."""
    stored = [Stored("here", Path(), record, Raw.ABSENT)]
    assert "| copy | wide | auto, 1 CPU | auto | 95 % interval of auto |" in markdown.tables(stored)


def test_record_can_be_read_back(record: Record, tmp_path: Path) -> None:
    write(tmp_path / "record.json", record)
    assert read(tmp_path / "record.json") == record
