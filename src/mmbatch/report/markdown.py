# SPDX-License-Identifier: GPL-2.0-only
"""Records as Markdown: a line for each case, as results/README.md has them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from mmbatch.bench.machine import with_model
from mmbatch.bench.record import Record, Row
from mmbatch.bench.statistics import Verdict
from mmbatch.bench.store import Stored, guest_arch
from mmbatch.core.cache import STDOUT
from mmbatch.core.errors import ExitCode, MmbatchError, error_from_os
from mmbatch.hosted.events import AUTO, BASE
from mmbatch.report import compare
from mmbatch.report.text import ascii_only
from mmbatch.report.words import posted

BEGIN = "<!-- results -->"
END = "<!-- /results -->"

Case = Mapping[str, Row]
"""The rows of a case, by variant."""

_LONG = 20  # cases; more are hard to read
_FEW = 3
_READ = "read back"  # a case of its own, where others do the same on another CPU


def into(path: Path, runs: Sequence[Stored]) -> str:
    """Return what a file holds with the tables of some runs between its two marks.

    STDOUT holds nothing, so only the tables are returned for it.

    Raises:
        MmbatchError: it can't be read, or has no place for them.
    """
    if path == STDOUT:
        return tables(runs).lstrip("\n")
    action, hint = f"put the tables into {path}", f"name a file that has {BEGIN} and {END}"
    try:
        if path.exists() and not path.is_file():  # a pipe, or a device that never ends
            raise MmbatchError(action, "it is not a regular file", hint, ExitCode.USAGE)
        old = path.read_text(encoding="utf-8")
    except OSError as error:
        raise MmbatchError(action, error_from_os(error, "").problem, hint, ExitCode.USAGE) from None
    except UnicodeDecodeError:
        raise MmbatchError(action, "it is not UTF-8", hint, ExitCode.USAGE) from None
    head, begin, after = old.partition(BEGIN)
    _, end, tail = after.partition(END)
    if not begin or not end:
        raise MmbatchError(
            action,
            f"it has no {BEGIN} followed by {END}",
            "write both where the tables belong",
            ExitCode.USAGE,
        )
    return f"{head}{BEGIN}\n{tables(runs, path.parent)}{END}{tail}"


def tables(runs: Sequence[Stored], place: Path = Path()) -> str:
    """Return the tables of some runs, those of a speed-up's older kernels folded.

    Links to the records are relative to `place`, where the text will be.
    """
    lines: list[str] = []
    for newest, *others in compare.by_machine(runs):
        lines += ["", f"**{ascii_only(_title(newest.record))}** ({_link(newest, place)})", ""]
        lines += table(newest.record)
        lines += [f"\n{ascii_only(words)}." for words in posted(newest.record)]
        if newest.record.notes:
            lines += [f"\nNotes: {ascii_only('; '.join(_notes(newest.record)))}."]
        if others:
            lines += ["", "The same on other kernels:", ""]
        for run in others:
            run_name = f"Linux {run.record.kernel.release} ({_link(run, place)})"
            lines.append(f"- {ascii_only(run_name)}: {in_short(run.record)}")
        for run in others:
            cases = _cases(run.record)
            title = f"All {len(cases)} cases of Linux {run.record.kernel.release}"
            lines += ["", *_folded(title, _grid(run.record, cases))]
    return "\n".join(lines) + "\n"


def table(record: Record) -> Iterator[str]:
    """Yield a line for each case, those folded that matter less where there are many."""
    cases = _cases(record)
    last = _variants(record)[-1]
    shown, varied, alike = _choose(cases, last)
    yield from _grid(record, shown)
    if alike:
        names = ", ".join(ascii_only(_name(rows)) for rows in alike)
        yield f"\n{len(alike)} more cases, no difference shown in any: {names}."
    if varied:
        words = dict.fromkeys(_regime(rows).rpartition(", ")[2] for rows in varied)
        yield (
            f"\n{len(varied)} more cases are some of these again ({'; '.join(words)}): "
            f"{_summary(varied, last)}."
        )
    if alike or varied:
        title = f"The other {len(alike) + len(varied)} cases"
        yield ""
        yield from _folded(title, _grid(record, [case for case in cases if case not in shown]))
    several = ". ".join(filter(None, map(compare.by_cpus, compare.entries_of(record))))
    if several:
        yield f"\n{ascii_only(several)}."
    slower = [words for entry in compare.entries_of(record) for words in _slower(entry)]
    if slower and record.rows[0].unit == "ns":
        yield f"\nSlower than `{compare.COPY}`, by the medians: {'; '.join(slower)}."


def _notes(record: Record) -> Iterator[str]:
    """Yield the notes of a record, one for all cases of which the same is said."""
    cases: dict[str, list[str]] = {}
    for note in record.notes:
        case, _, words = note.partition(": ")
        cases.setdefault(words, []).append(case)
    for words, names in cases.items():
        yield f"{', '.join(names)}: {words}" if words else ", ".join(names)


def in_short(record: Record) -> str:
    """Say how the last variant does, and which rows are worse than base."""
    last = record.rows[-1].variant
    ratios = _ratios(row for row in record.rows if row.variant == last)
    slower = _regressions(record.rows) or "no row is slower than base"
    shown = f"{last} {min(ratios):.2f} to {max(ratios):.2f}; " if ratios else ""
    return f"{shown}{slower}"


def _folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield f"<details><summary>{title}</summary>\n"
    yield from lines
    yield "\n</details>"


def _link(run: Stored, place: Path) -> str:
    return f"[record]({os.path.relpath(run.path, place)})"


def _title(record: Record) -> str:
    subject = f"{record.rows[0].speedup}, Linux {record.kernel.release}"
    if not compare.timed(record):
        arch = guest_arch(record)
        return f"{subject}{f', {arch}' if arch else ''}: instructions, counted by QEMU; no time"
    machine = record.machine
    parts = [with_model(machine.cpu, machine), f"{machine.cores} cores"]
    if machine.llc_bytes:
        parts.append(f"LLC {machine.llc_bytes >> 20} MiB")
    parts.append(f"VM ({machine.hypervisor})" if machine.hypervisor else "bare metal")
    return f"{subject}: {', '.join(parts)}"


def _cases(record: Record) -> list[Case]:
    return [{row.variant: row for row in entry.rows} for entry in compare.entries_of(record)]


def _variants(record: Record) -> list[str]:
    """Return the columns: the variants, or base where nothing is compared with it."""
    names = dict.fromkeys(row.variant for row in record.rows if row.variant != BASE)
    # Some variants are rows of one case only, but what users get comes last.
    chosen = [name for name in names if name == AUTO]
    return [*(name for name in names if name not in chosen), *chosen] or [BASE]


def _choose(
    cases: Sequence[Case], last: str
) -> tuple[Sequence[Case], Sequence[Case], Sequence[Case]]:
    """Return (cases to show, those that vary one of these, those in which nothing shows).

    A case in which `last`, which is what users get, is slower is always shown.
    """
    shown: list[Case] = []
    varied: list[Case] = []
    alike: list[Case] = []
    for rows in cases:
        if len(cases) <= _LONG or (last in rows and compare.is_slower(rows[last])):
            shown.append(rows)
        elif any(_varies(rows, other) for other in cases):
            varied.append(rows)
        elif all(row.verdict in (Verdict.BASE, Verdict.NO_DIFFERENCE) for row in rows.values()):
            alike.append(rows)
        else:
            shown.append(rows)
    return shown, varied, alike


def _varies(rows: Case, other: Case) -> bool:
    """Return whether a case is another one with a word more in its name and in its regime."""
    regime, _, word = _regime(rows).rpartition(", ")
    longer = _name(rows).startswith(f"{_name(other)}-")
    return word != _READ and regime == _regime(other) and longer


def _summary(cases: Sequence[Case], last: str) -> str:
    """Say how the last variant does in some cases, and which of the others are worse than base."""
    last_rows = [rows[last] for rows in cases if last in rows]
    ratios = _ratios(last_rows)
    verdicts = Counter(str(row.verdict) for row in last_rows)
    ended = ", ".join(f"{word} in {count}" for word, count in verdicts.most_common())
    text = f"{last} {min(ratios):.2f} to {max(ratios):.2f}, {ended}" if ratios else ended
    slower = _regressions(row for rows in cases for row in rows.values())
    return f"{text}; {slower}" if slower else text


def _regressions(rows: Iterable[Row]) -> str:
    """Name slower rows, or count them where a variant has many; nothing where there is none."""
    by_variant: dict[str, list[Row]] = {}
    for row in filter(compare.is_slower, rows):
        by_variant.setdefault(row.variant, []).append(row)
    parts: list[str] = []
    for variant, slower in by_variant.items():
        ratios = _ratios(slower)
        if len(slower) <= _FEW:
            parts += [
                f"{variant} in {row.case} ({ratio:.2f})"
                for row, ratio in zip(slower, ratios, strict=True)
            ]
        else:
            parts.append(
                f"{variant} in {len(slower)} cases ({min(ratios):.2f} to {max(ratios):.2f})"
            )
    words = {str(row.verdict): None for slower in by_variant.values() for row in slower}
    return f"**{' or '.join(words)}: {', '.join(parts)}**" if parts else ""


def _ratios(rows: Iterable[Row]) -> list[float]:
    return [row.ratio.median for row in rows if row.ratio is not None]


def _name(rows: Case) -> str:
    return rows[BASE].case


def _regime(rows: Case) -> str:
    return rows[BASE].regime


def _grid(record: Record, cases: Sequence[Case]) -> Iterator[str]:
    variants = _variants(record)
    limited = any(row.of_limit for row in record.rows)
    head = ["case", f"base, per {record.rows[0].item}", *variants]
    head.append(f"95 % interval of {variants[-1]}")
    if limited:
        head.append(f"{variants[-1]}, x limit")
    yield table_row(*head)
    yield table_row("---", *["---:"] * (len(head) - 1))
    for rows in cases:
        yield _case(rows, variants, limited=limited)


def _case(rows: Case, variants: Sequence[str], *, limited: bool) -> str:
    base, last = rows[BASE], rows.get(variants[-1])
    interval = last.ratio.ci95 if last and last.ratio else None
    of_limit = f"{last.of_limit.median:.2f}" if last and last.of_limit else "-"
    return table_row(
        f"{base.case} ({base.regime})",
        "-" if base.per_item is None else f"{base.per_item:.2f} {base.unit}",
        *(_cell(rows.get(variant)) for variant in variants),
        f"{interval[0]:.3f} .. {interval[1]:.3f}" if interval else "-",
        *([of_limit] if limited else []),
    )


def _cell(row: Row | None) -> str:
    if row is None:
        return "-"
    if row.ratio is None:
        return f"**{row.verdict}**" if row.verdict == Verdict.NOT_EQUAL else row.verdict
    number = f"{row.ratio.median:.2f}"
    if compare.is_faster(row):
        return number
    words = f"{number} {row.verdict}"
    return f"**{words}**" if compare.is_slower(row) else words


def _slower(entry: compare.Entry) -> Iterator[str]:
    """Say which variants of a case take longer than the plain copy of the same case."""
    for row, factor in compare.slower_than_copy(entry):
        mark = "**auto**" if row.variant == AUTO else row.variant
        yield f"{mark} in {row.case} ({factor:.2f} times its time)"


def table_row(*cells: str) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(ascii_only(cell).replace('|', chr(92) + '|') for cell in cells)} |"
