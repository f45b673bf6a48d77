# SPDX-License-Identifier: GPL-2.0-only
"""What a report says of hostile names, of rows without proof and of noise."""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

from fake_run import (
    FSDAX,
    SMALL,
    broken,
    case_events,
    few,
    mixed,
    noisy,
    record_of,
    run_events,
)
from mmbatch.bench import results
from mmbatch.bench.record import Record
from mmbatch.bench.store import Raw, Stored
from mmbatch.core.errors import ExitCode
from mmbatch.hosted.events import Equal, Event
from mmbatch.report import compare, html, markdown, text, words

RUNS: dict[str, Callable[[], list[Event]]] = {
    "mixed": mixed,
    "broken": broken,
    "noisy": noisy,
    "few": few,
}


def _markdown(record: Record) -> str:
    return "\n".join(markdown.table(record)) + "\n"


def _rich(record: Record, *, width: int = 120, colour: bool = False) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream,
        force_terminal=True,
        width=width,
        color_system="standard" if colour else None,
        legacy_windows=False,
    )
    text.print_run(record, console)
    return stream.getvalue()


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("width", [72, 90, 400])
def test_a_terminal_gets_the_same_text(name: str, width: int) -> None:
    record = record_of(RUNS[name]())
    assert _rich(record, width=width) == text.run(record)
    coloured = _rich(record, width=width, colour=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == text.run(record)


def test_hostile_words_stay_in_their_cells() -> None:
    events = run_events(
        list(
            case_events(
                "c[bold]ase|\x1b[31m", {**FSDAX, "a|b": 9e7}, regime="kält\x00\nline", blocks=3
            )
        )
    )
    record = record_of(events)
    printed = text.run(record)
    assert printed.isascii()
    assert "\x1b" not in printed
    assert "c[bold]ase|?[31m (k?lt? line)" in printed
    assert "\x1b[31m" not in _rich(record)
    assert "c[bold]ase|?[31m" in _rich(record)
    table = [line for line in _markdown(record).splitlines() if line.startswith("|")]
    assert any("| a\\|b |" in line for line in table)
    assert len({line.replace("\\|", "").count("|") for line in table}) == 1
    assert _markdown(record).isascii()


def test_long_names_are_clipped_to_their_column() -> None:
    name = "movdir64b-with-a-very-long-name"
    printed = text.run(record_of(run_events(list(case_events("x", {**FSDAX, name: 9e7})))))
    assert max(map(len, printed.splitlines())) <= 72
    assert "movdir64b-with-~ " in printed


def test_long_command_is_cut_between_words_and_can_be_pasted() -> None:
    command = "mmbatch bench zone_device --tree '" + "a b/" * 12 + "' " + "--json out.json " * 6
    printed = text.run(record_of(mixed(), command))
    first = printed.split("\nmachine:")[0].splitlines()
    assert len(first) > 1
    assert max(map(len, first)) <= 72
    assert all(line.endswith(" \\") for line in first[:-1])
    joined = " ".join(line.removesuffix(" \\").strip() for line in first)
    assert joined.removeprefix("$ ") == command.strip()


def test_no_number_of_an_unproven_variant_is_printed() -> None:
    """`wide` and `auto` have times that nothing else has; only the proven one may show."""
    odd = {**FSDAX, "wide": 77.77e6, "auto": 55.55e6}
    events = list(case_events("fsdax-100G", odd, noise=0))
    shown = run_events(events)
    hidden = [
        dataclasses.replace(event, equal=False)
        if isinstance(event, Equal) and event.variant == "wide"
        else event
        for event in shown
    ]
    wide, auto = (rf"{220 / ms:.3f}|\b{220 / ms:.2f}\b" for ms in (77.77, 55.55))
    for printed in _renderings(record_of(shown)):
        assert re.search(wide, printed) and re.search(auto, printed)
    for printed in _renderings(record_of(hidden)):
        assert not re.search(wide, printed)
        assert "77.77" not in printed
        assert re.search(auto, printed)
        assert "NOT EQUAL" in printed
    assert "wide in fsdax-100G" in text.run(record_of(hidden))


def _renderings(record: Record) -> Iterator[str]:
    yield text.run(record)
    yield _markdown(record)
    yield html.render([Stored("x", Path(), record, Raw.ABSENT)], Path("nowhere"))
    yield _rich(record)


def test_colours_mark_wins_and_losses() -> None:
    printed = _rich(record_of(mixed()), colour=True)
    assert "\x1b[32m" in printed
    assert "\x1b[1;31m" in printed


@pytest.mark.parametrize(
    ("median", "unit", "printed"),
    [
        (220_126_000, "ns", "220.1 ms"),
        (88_000_000, "ns", "88.00 ms"),
        (1_000_000, "ns", "1.00 ms"),
        (999_990, "ns", "1.00 ms"),
        (404_040, "ns", "404.0 us"),
        (250, "ns", "0.25 us"),
        (123_456, "instructions", "1.235e+05 instructions"),
        (None, "ns", "-"),
    ],
)
def test_durations(median: float | None, unit: str, printed: str) -> None:
    assert words.duration(median, unit) == printed


def _without_check(variant: str) -> list[Event]:
    return [
        event
        for event in run_events(list(case_events()))
        if not (isinstance(event, Equal) and event.variant == variant)
    ]


@pytest.mark.parametrize(
    ("events", "code"),
    [
        (mixed(), ExitCode.GOOD),
        (few(), ExitCode.GOOD),
        (broken(), ExitCode.FAILED),
        (noisy(), ExitCode.INCONCLUSIVE),
        (_without_check("copy"), ExitCode.FAILED),
        (_without_check("control"), ExitCode.FAILED),
        (
            [*run_events(list(case_events())), Equal("fsdax-100G", "control", False, 64, "")],
            ExitCode.FAILED,
        ),
        (run_events(list(case_events("small-hot", {**SMALL, "auto": 500e3}))), ExitCode.FAILED),
        (run_events(list(case_events("small-hot", {**SMALL, "copy": 500e3}))), ExitCode.GOOD),
        # A failed check weighs more than noise.
        ([*noisy(), Equal("small-hot", "wide", False, 64, "")], ExitCode.FAILED),
    ],
)
def test_exit_codes(events: list[Event], code: ExitCode) -> None:
    assert results.exit_code(record_of(events)) is code


def test_noise_in_one_case_says_nothing_about_the_other() -> None:
    verdicts = {(row.case, row.variant): row.verdict for row in record_of(noisy()).rows}
    assert verdicts["fsdax-100G", "auto"] == "inconclusive, too noisy"
    assert verdicts["fsdax-100G", "wide"] == "faster"  # by far more than the noise
    assert verdicts["small-hot", "auto"] == "faster"


def test_case_without_control_claims_nothing() -> None:
    times = {name: time for name, time in FSDAX.items() if name != "control"}
    record = record_of(run_events(list(case_events("fsdax-100G", times))))
    assert {row.verdict for row in record.rows} == {"base", "inconclusive"}
    assert record.controls == ()


def test_distance_is_to_the_fastest_limit() -> None:
    times = {**FSDAX, "limit:slow": 160e6, "limit:fast": 44e6}
    record = record_of(run_events(list(case_events("fsdax-100G", times))))
    wide = next(row for row in record.rows if row.variant == "wide")
    assert wide.of_limit is not None
    assert wide.of_limit.vs == "limit:fast"
    assert wide.of_limit.median == pytest.approx(2.0, rel=0.01)
    assert [limit.name for limit in record.limits] == ["rep stosq", "slow", "fast"]


def test_holm_is_taken_over_the_whole_record() -> None:
    details = [row.detail for row in record_of(mixed()).rows if row.detail and row.detail.p]
    assert len(details) == 6
    smallest = min(details, key=lambda detail: detail.p or 1)
    assert smallest.p is not None
    assert smallest.p_holm == pytest.approx(min(1, 6 * smallest.p))


@pytest.mark.parametrize(
    ("auto", "listed"), [(88e6, False), (91e6, False), (95e6, True), (300e6, False)]
)
def test_auto_is_compared_with_the_best_method(auto: float, listed: bool) -> None:
    """By pairs, and listed where another takes less than 0.95 of its time; or base does."""
    record = record_of(run_events(list(case_events("fsdax-100G", {**FSDAX, "auto": auto}))))
    (row,) = (row for row in record.rows if row.of_best)
    assert row.variant == "auto"
    assert row.of_best is not None
    assert row.of_best.vs == "wide"
    assert row.of_best.median == pytest.approx(88e6 / auto, rel=0.01)
    assert f"\nwide / auto {88e6 / auto:26.3f}"[:20] in text.run(record)
    stored = Stored("here", Path(), record, Raw.ABSENT)
    found = [regression.than for regression in compare.regressions(compare.sections([stored]))]
    assert ("'wide'" in found) is listed
