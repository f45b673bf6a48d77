# SPDX-License-Identifier: GPL-2.0-only
"""The words, numbers and sentences of a report, in no particular markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from mmbatch.bench.machine import machine_line
from mmbatch.bench.record import Control, PostedInfo, Record, Row, RowRatio
from mmbatch.bench.results import asked
from mmbatch.bench.statistics import Verdict, claimed_from
from mmbatch.hosted.events import AUTO, BASE

COLUMNS = (
    "ratio: base time / variant time, median of pairs (above 1: faster); xlim: time / limit's time"
)
"""What the columns of a table mean."""

_COUNTED = (
    "ratio: base count / variant count, median of pairs (above 1: fewer); instructions are not time"
)

_SHORT = {
    Verdict.FEWER: "fewer",
    Verdict.MORE: "more",
    Verdict.NO_DIFFERENCE: "no difference",
    Verdict.TOO_NOISY: "TOO NOISY",
    Verdict.NOT_EQUAL: "NOT EQUAL",
    Verdict.NOT_CHECKED: "NOT CHECKED",
}

_HEADING = re.compile(r"^##+ .*who benefits.*$", re.IGNORECASE | re.MULTILINE)
_COMPARED = re.compile(r"^## Compared with the .*$", re.MULTILINE)
_SECTION_END = re.compile(r"^(#|\||- |```|    |<!--)", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\[(])")
_OF_THIS_TOOL = re.compile(r"mmbatch|\]\((?!https?:|#)")


def duration(median: float | None, unit: str) -> str:
    """Return a median in `unit` with about four digits, "-" for None.

    Nanoseconds become us, ms or s, so that they have eight characters at most.
    """
    if median is None:
        return "-"
    if unit != "ns":
        return f"{median:.4g} {unit}"
    steps = ((1e3, "us"), (1e6, "ms"), (1e9, "s"))
    scale, name = next(((size, text) for size, text in steps if median < 999.95 * size), steps[-1])
    scaled = median / scale
    return f"{scaled:.{1 if scaled >= 99.995 else 2}f} {name}"


def each(per_item: float | None) -> str:
    """A median by item, without its unit: two digits after the point."""
    return "-" if per_item is None else f"{per_item:.2f}"


def interval(ci95: tuple[float, float] | None) -> str:
    """Both ends of an interval of ratios."""
    return f"{ci95[0]:.3f} .. {ci95[1]:.3f}" if ci95 else "-"


def short(verdict: str) -> str:
    """A verdict in 14 characters at most, for tables."""
    return _SHORT.get(Verdict(verdict), verdict)


def noise(control: Control) -> str:
    """What a control shows: its band, or why it has none."""
    if control.image_equal is not True:
        return short(Verdict.NOT_EQUAL if control.image_equal is False else Verdict.NOT_CHECKED)
    if control.band is None:
        return Verdict.TOO_FEW
    return f"noise +-{100 * control.band:.{1 if control.band < 1 else 0}f} %"


def head(record: Record) -> Iterator[str]:
    """The lines between the command and the tables: machine, kernel, run, what columns mean."""
    yield f"machine: {machine_line(record.machine)}"
    kernel = record.kernel
    yield f"kernel: {kernel.release} ({kernel.source}, config {kernel.config_sha256[:12]})"
    yield (
        f"run: {record.engine} engine, {record.started}, "
        f"samples.jsonl sha256 {record.samples_sha256[:12]}"
    )
    yield from posted(record)
    yield COLUMNS if all(row.unit == "ns" for row in record.rows) else _COUNTED


def posted(record: Record) -> Iterator[str]:
    """Yield a line for each posted series: its rows, where it is from, and its SHA-256."""
    files: dict[tuple[str, str], list[PostedInfo]] = {}
    for code in record.posted:
        files.setdefault((code.source, code.sha256), []).append(code)
    for (source, sha256), rows in files.items():
        last = rows[-1]
        labels = last.label if len(rows) == 1 else f"{rows[0].label} to {last.label}"
        patches = f", {len(last.patches)} patches" if len(last.patches) > 1 else ""
        objects = ", ".join(last.objects)
        yield f"{labels}: {source}{patches}, changes {objects}, sha256 {sha256}"


def _change(ratio: RowRatio) -> str:
    words = f"ratio {ratio.median:.3f}"
    if ratio.ci95:
        words += f", 95 % interval {ratio.ci95[0]:.3f} to {ratio.ci95[1]:.3f}"
    return words


def sentence(row: Row) -> str:
    """Say what a row shows against base, with its numbers, without a full stop."""
    if row.variant == BASE and row.of_limit is not None:
        return f"{row.case}: base takes {row.of_limit.median:.2f} times as long as the limit"
    if row.ratio is None:
        name = "" if row.variant in (AUTO, BASE) else f"{row.variant}: "
        return f"{row.case}: {name}{row.verdict}"
    limit = f"; {row.of_limit.median:.2f} x the limit" if row.of_limit else ""
    if row.verdict == Verdict.FASTER:
        words = f"{row.variant} is {row.ratio.median:.2f} times as fast as base"
    elif row.verdict == Verdict.SLOWER:
        words = (
            f"{row.variant} is SLOWER: it takes {1 / row.ratio.median:.2f} times as long as base"
        )
    else:
        words = f"{row.variant} against base: {row.verdict}"
    return f"{row.case}: {words} ({_change(row.ratio)}{limit})"


def _named(rows: Iterable[Row]) -> str:
    return ", ".join(
        f"{row.variant} in {row.case}" + (f" ({row.ratio.median:.3f})" if row.ratio else "")
        for row in rows
    )


def _regressions(record: Record) -> Iterator[str]:
    worse = [row for row in record.rows if row.verdict in (Verdict.SLOWER, Verdict.MORE)]
    shown = (Verdict.BASE, Verdict.FASTER, Verdict.FEWER, Verdict.NO_DIFFERENCE)
    unjudged = [row for row in record.rows if row.verdict not in shown]
    decisive = [row for row in asked(record) if row in unjudged and row.image_equal is True]
    words = (
        "slower than base" if all(row.unit == "ns" for row in record.rows) else "worse than base"
    )
    if worse:
        yield f"{words.capitalize()}: {_named(worse)}."
    elif not unjudged:
        yield f"No row is {words}."
    elif decisive or any(row.image_equal is not True for row in unjudged):
        named = f": {_named(decisive)}" if decisive else ""
        yield f"No row is shown to be {words}, but not every row could be judged{named}."
    else:
        named = _named(unjudged)
        yield f"No row is shown to be {words}. Users get none of those not judged: {named}."
    slightly = [
        row
        for row in record.rows
        if row.verdict == Verdict.NO_DIFFERENCE
        and row.ratio
        and row.ratio.ci95
        and row.ratio.ci95[1] < 1
    ]
    if slightly:
        yield f"Below 1, but within what noise or code layout explains: {_named(slightly)}."


def caveats(record: Record) -> Iterator[str]:
    """Yield notes, failed checks, noise and slower rows of a record, in sentences."""
    for note in record.notes:
        yield f"note: {note}"
    unproven = [row for row in record.rows if row.image_equal is not True]
    if unproven:
        yield (
            "Equality with base failed or was not checked, so no number is shown: "
            f"{_named(unproven)}."
        )
    for control in record.controls:
        if control.too_noisy and control.band is not None:
            yield (
                f"Noisy: in {control.case} base differs from its own copy by up to "
                f"{100 * control.band:.0f} %, so differences below "
                f"{100 * claimed_from(control.band):.0f} % are not reported there."
            )
    yield from _regressions(record)


def closing(record: Record) -> Iterator[str]:
    """Yield the caveats, and at last a verdict on `auto` and posted code for each case."""
    yield from caveats(record)
    judged = {AUTO, *(code.label for code in record.posted)}
    for row in record.rows:
        if row.variant in judged:
            yield sentence(row) + "."


def who_benefits(directory: Path, *, for_mail: bool = False) -> list[str]:
    """Return what a speed-up's README says about who benefits, paragraphs without Markdown.

    Args:
        directory: of the speed-up.
        for_mail: leave out sentences that only make sense beside this tool.
    """
    try:
        text = (directory / "README.md").read_text(encoding="utf-8")
    except OSError:
        return []
    heading = _HEADING.search(text)
    if heading is None:
        return []
    section = text[heading.end() :].lstrip("\n")
    end = _SECTION_END.search(section)
    paragraphs = section[: end.start() if end else None].split("\n\n")
    if for_mail:
        paragraphs = list(map(_for_mail, paragraphs))
    return [plain for paragraph in paragraphs if (plain := _plain(paragraph))]


def compared(directory: Path) -> Iterator[str]:
    """Yield how a speed-up differs from a posted series, as its README says, without Markdown.

    Yields:
        The paragraphs before the table of that section, without sentences that only make sense
        beside this tool, and an item for each of its rows.
    """
    try:
        text = (directory / "README.md").read_text(encoding="utf-8")
    except OSError:
        return
    heading = _COMPARED.search(text)
    if heading is None:
        return
    section = text[heading.end() :].partition("\n## ")[0]
    before, _, table = section.partition("\n|")
    paragraphs = map(_for_mail, before.split("\n\n"))
    yield from (plain for paragraph in paragraphs if (plain := _plain(paragraph)))
    rows = [line.strip().strip("|").split("|") for line in table.split("\n")[2:] if "|" in line]
    for cells in rows:
        posted_way, here, *why = (_plain(cell) for cell in cells)
        reason = f" Why: {why[0]}." if why and why[0] else ""
        yield f"- Posted: {posted_way}. Here: {here}.{reason}"


def _for_mail(paragraph: str) -> str:
    """Return a paragraph without the sentences that name mmbatch or link to a file of ours.

    "It helps. See [our results](../results/README.md). So do not wait." becomes "It helps. So do
    not wait."
    """
    sentences = _BETWEEN_SENTENCES.split(paragraph.strip())
    return " ".join(words for words in sentences if not _OF_THIS_TOOL.search(words))


def _plain(paragraph: str) -> str:
    words = " ".join(_LINK.sub(r"\1", paragraph).split())
    return words.replace("**", "").replace("`", "")
