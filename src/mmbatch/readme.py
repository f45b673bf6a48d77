# SPDX-License-Identifier: GPL-2.0-only
"""Keep the results in README.md and results/*.md the same as results/*.json.

Run `PYTHONPATH=src python3 -m mmbatch.readme` in a checkout after a file of results was put
there or taken away. Each record gets a page with all of its rows beside it; the README gets a
short table of the newest kernel of each speed-up and machine, and a line of each older one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from mmbatch import checkout, report
from mmbatch.disk import atomic_write
from mmbatch.errors import ExitCode, MmbatchError
from mmbatch.outcome import one_line
from mmbatch.record import Record, Row, read
from mmbatch.samples import AUTO, BASE
from mmbatch.statistics import NOISE, Verdict

BEGIN = "<!-- results -->"
END = "<!-- /results -->"
_COPY = "copy"


def pages(root: Path) -> dict[Path, str]:
    """Return what every file that holds results should hold.

    Args:
        root: top of a checkout.

    Returns:
        Path to content: the README, and a page for each record.

    Raises:
        MmbatchError: a record is wrong, or the README has no place for results.
    """
    records = {path: read(path) for path in sorted((root / "results").glob("*.json"))}
    made = {path.with_suffix(".md"): _page(record) for path, record in records.items()}
    readme = root / "README.md"
    made[readme] = _between(readme, "\n".join(_tables(records)))
    return made


def write(root: Path) -> list[Path]:
    """Write the files that differ from what they should hold, and return their paths."""
    differing = {
        path: text
        for path, text in pages(root).items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    }
    for path, text in differing.items():
        atomic_write(path, text)
    return list(differing)


def _page(record: Record) -> str:
    return (
        "<!-- SPDX-License-Identifier: GPL-2.0-only -->\n"
        "<!-- Made from the JSON of the same name: python3 -m mmbatch.readme -->\n"
        f"# {_title(record)}\n\n{report.markdown(record)}"
    )


def _between(readme: Path, text: str) -> str:
    """Return the README with `text` between its two marks."""
    old = readme.read_text(encoding="utf-8")
    head, begin, rest = old.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise MmbatchError(
            "put the results into README.md",
            f"it has no {BEGIN} followed by {END}",
            "write both where the results belong",
            ExitCode.USAGE,
        )
    return f"{head}{BEGIN}\n{text}\n{END}{tail}"


def _title(record: Record) -> str:
    what = f"{record.rows[0].speedup}, Linux {record.kernel.release}"
    if not _timed(record):
        return f"{what}: instructions, counted by QEMU; no time"
    machine = record.machine
    parts = [machine.cpu]
    if machine.family is not None:
        parts[0] += f" (family {machine.family} model {machine.model})"
    parts.append(f"{machine.cores} cores")
    if machine.llc_bytes:
        parts.append(f"LLC {machine.llc_bytes >> 20} MiB")
    parts.append(f"VM ({machine.hypervisor})" if machine.hypervisor else "bare metal")
    return f"{what}: {', '.join(parts)}"


def _timed(record: Record) -> bool:
    return all(row.unit == "ns" for row in record.rows)


def _tables(records: Mapping[Path, Record]) -> Iterator[str]:
    """Yield a table of the newest kernel of each speed-up and machine, and a line of the others."""
    groups: dict[tuple[bool, str, str, int], list[tuple[Path, Record]]] = {}
    for path, record in records.items():
        machine = record.machine
        key = (not _timed(record), record.rows[0].speedup, machine.cpu, machine.cores)
        groups.setdefault(key, []).append((path, record))
    for key in sorted(groups):
        (path, record), *others = sorted(groups[key], key=lambda one: _release(one[1]))[::-1]
        yield f"\n**{_title(record)}** ([all rows](results/{path.stem}.md))\n"
        yield from _table(record)
        if others:
            yield "\nThe same on other kernels:\n"
        for path, record in others:
            yield f"- Linux {record.kernel.release} ([all rows](results/{path.stem}.md)): " + (
                _in_short(record)
            )


def _release(record: Record) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", record.kernel.release)]


def _in_short(record: Record) -> str:
    """Say how the last variant does, and which rows are slower than base."""
    last = record.rows[-1].variant
    ratios = [row.ratio.median for row in record.rows if row.variant == last and row.ratio]
    slower = [
        f"{row.variant} in {row.case} ({row.ratio.median:.2f})"
        for row in record.rows
        if row.ratio and row.verdict == Verdict.SLOWER
    ]
    losses = f"**slower: {', '.join(slower)}**" if slower else "no row is slower than base"
    shown = f"{last} {min(ratios):.2f} to {max(ratios):.2f}; " if ratios else ""
    return f"{shown}{losses}"


def _table(record: Record) -> Iterator[str]:
    cases: dict[str, dict[str, Row]] = {}
    for row in record.rows:
        cases.setdefault(row.case, {})[row.variant] = row
    variants = list(dict.fromkeys(row.variant for row in record.rows if row.variant != BASE))
    last = variants[-1]
    item = record.rows[0].item
    yield _line(
        "case", f"base, per {item}", *variants, f"95 % interval of {last}", f"{last}, x limit"
    )
    yield _line("---", *["---:"] * (len(variants) + 3))
    for rows in cases.values():
        base, shown = rows[BASE], rows.get(last)
        interval = shown.ratio.ci95 if shown and shown.ratio else None
        yield _line(
            f"{base.case} ({base.regime})",
            "-" if base.per_item is None else f"{base.per_item:.2f} {base.unit}",
            *(_cell(rows.get(variant)) for variant in variants),
            f"{interval[0]:.3f} .. {interval[1]:.3f}" if interval else "-",
            f"{shown.of_limit.median:.2f}" if shown and shown.of_limit else "-",
        )
    losses = [loss for rows in cases.values() for loss in _losses(rows)]
    if losses and _timed(record):
        yield f"\nSlower than `{_COPY}`, by the medians: {'; '.join(losses)}."


def _cell(row: Row | None) -> str:
    if row is None:
        return "-"
    if row.ratio is None:
        return row.verdict
    number = f"{row.ratio.median:.2f}"
    if row.verdict in (Verdict.FASTER, Verdict.FEWER):
        return number
    words = f"{number} {row.verdict}"
    return f"**{words}**" if row.verdict == Verdict.SLOWER else words


def _losses(rows: Mapping[str, Row]) -> Iterator[str]:
    """Say which variants of a case take longer than the plain copy of the same case."""
    copy = rows.get(_COPY)
    if copy is None or copy.median is None:
        return
    for variant, row in rows.items():
        if variant in (BASE, _COPY) or row.median is None:
            continue
        if row.median > copy.median * (1 + NOISE):
            mark = "**auto**" if variant == AUTO else variant
            yield f"{mark} in {row.case} ({row.median / copy.median:.2f} times its time)"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Write what differs in this checkout; say which files."""
    try:
        for path in write(checkout.ROOT):
            print(f"wrote {path.relative_to(checkout.ROOT)}")
    except MmbatchError as error:
        print(one_line(error), file=sys.stderr)
        return int(error.code)
    return int(ExitCode.GOOD)


if __name__ == "__main__":
    sys.exit(main())
