# SPDX-License-Identifier: GPL-2.0-only
"""Keep the tables in results/*.md the same as results/*.json.

Run `PYTHONPATH=src python3 -m mmbatch.report.readme` in a checkout after a file of results was put
there or taken away. Each record gets a page with all of its rows beside it; results/README.md
gets a short table of the newest kernel of each speed-up and machine, and a line of each older one.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from mmbatch.bench.record import Record, read
from mmbatch.core import paths as checkout
from mmbatch.core.disk import atomic_write
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.outcome import message
from mmbatch.report import table as resulttable
from mmbatch.report import text as report

BEGIN = "<!-- results -->"
END = "<!-- /results -->"


def pages(root: Path) -> dict[Path, str]:
    """Return what every file that holds results should hold.

    Args:
        root: top of a checkout.

    Returns:
        Path to content: results/README.md, and a page for each record.

    Raises:
        MmbatchError: a record is wrong, or results/README.md has no place for them.
    """
    records = {path: read(path) for path in sorted((root / "results").glob("*.json"))}
    made = {path.with_suffix(".md"): _page(record) for path, record in records.items()}
    readme = root / "results/README.md"
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
        "<!-- Made from the JSON of the same name: python3 -m mmbatch.report.readme -->\n"
        f"# {_title(record)}\n\n{report.markdown(record)}"
    )


def _between(readme: Path, text: str) -> str:
    """Return the README with `text` between its two marks."""
    old = readme.read_text(encoding="utf-8")
    head, begin, rest = old.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise MmbatchError(
            "put the tables into results/README.md",
            f"it has no {BEGIN} followed by {END}",
            "write both where the tables belong",
            ExitCode.USAGE,
        )
    return f"{head}{BEGIN}\n{text}\n{END}{tail}"


def _title(record: Record) -> str:
    what = f"{record.rows[0].speedup}, Linux {record.kernel.release}"
    if not _timed(record):
        arch = _arch(record)
        return f"{what}{f', {arch}' if arch else ''}: instructions, counted by QEMU; no time"
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


def _arch(record: Record) -> str:
    """Return what a guest was, where its command says that; the machine may be another."""
    words = shlex.split(record.command)
    return words[words.index("--arch") + 1] if "--arch" in words[:-1] else ""


def _tables(records: Mapping[Path, Record]) -> Iterator[str]:
    """Yield a table of the newest kernel of each speed-up and machine, and a line of the others."""
    groups: dict[tuple[bool, str, str, int, str], list[tuple[Path, Record]]] = {}
    for path, record in records.items():
        machine = record.machine
        where = (machine.cpu, machine.cores, _arch(record))
        key = (not _timed(record), record.rows[0].speedup, *where)
        groups.setdefault(key, []).append((path, record))
    for key in sorted(groups):
        (path, record), *others = sorted(groups[key], key=lambda one: _release(one[1]))[::-1]
        yield f"\n**{_title(record)}** ([all rows]({path.stem}.md))\n"
        yield from resulttable.table(record)
        if others:
            yield "\nThe same on other kernels:\n"
        for path, record in others:
            yield f"- Linux {record.kernel.release} ([all rows]({path.stem}.md)): " + (
                resulttable.in_short(record)
            )


def _release(record: Record) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", record.kernel.release)]


def main() -> int:
    """Write what differs in this checkout; say which files."""
    try:
        for path in write(checkout.ROOT):
            print(f"wrote {path.relative_to(checkout.ROOT)}")
    except MmbatchError as error:
        print(message(error), file=sys.stderr)
        return int(error.code)
    return int(ExitCode.GOOD)


if __name__ == "__main__":
    sys.exit(main())
