# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch bench`: base and patched kernel code against each other, here, now."""

from __future__ import annotations

import functools
import json
import shlex
from collections.abc import Sequence
from pathlib import Path

import click
from click.core import ParameterSource

from mmbatch.bench import record, session, table
from mmbatch.cli import doctor, options, posted
from mmbatch.cli.options import Names, file, flag, number, value, values
from mmbatch.cli.usage import Misuse
from mmbatch.core import cache, log, paths
from mmbatch.core.cache import atomic_write
from mmbatch.core.errors import ExitCode
from mmbatch.hosted.run import Request
from mmbatch.kernel import sources
from mmbatch.report import html, text

_PAIRS = 24
_BUDGET_S = 12
_QUICK_PAIRS = 12
_QUICK_PART = 4  # `--quick` divides the size of the large cases by this
_QUICK_BUDGET_S = 4
_PFN_BYTES = 4096  # of device memory, on the kernels measured here
_MOST_PAIRS = 1_000  # the bootstrap takes memory with the square of them
_MOST_SEED = (1 << 64) - 1
_MEASURED = (
    *("tree", "settings", "patch", "against", "range", "each", "until", "entries", "only_posted"),
    *("show_unequal", "cases", "extra", "quick", "size", "repeats", "seed", "features"),
)
"""Parameters that decide what is measured."""


@options.verb("bench")
def command(
    speedups: Names = options.measured,
    kernel: str | None = options.kernel,
    settings: Names = options.settings,
    asked: posted.Asked = posted.asked,
    only_posted: bool = flag("--only-posted", "Leave out our own variants"),
    show_unequal: bool = flag(
        "--show-unequal", "Measure a posted series even if it produces other memory than base"
    ),
    cases: Names = values("--case NAME", "Run this case only"),
    extra: bool = flag("--all", "Run also the cases that run only on request"),
    list_only: bool = flag("--list", "List the cases and end"),
    quick: bool = flag("--quick", "Measure a quarter of the size with half the pairs"),
    size: int | None = value(
        "--size SIZE",
        "Set the size of the large cases in bytes of device memory, such as 10T",
        type=options.size,
    ),
    repeats: int | None = number(
        "--repeats N",
        f"Measure N pairs of each comparison, by default up to {_PAIRS}",
        most=_MOST_PAIRS,
    ),
    seed: int = number("--seed N", "Seed the order of the runs", 0, _MOST_SEED, default=1),
    features: Names = values(
        "--cpu FEATURE=0|1",
        "Switch a CPU feature off or on",
        options.like("[a-z0-9_]+=[01]", "FEATURE=0 or FEATURE=1", "fsrm=0"),
    ),
    json_file: Path | None = options.json_file,
    record_file: Path | None = file("--record", "Write the record of one speed-up to FILE"),
    ktap: Path | None = options.ktap,
    junit: Path | None = options.junit,
    cover: bool = flag("--cover", "Print a table of 72 columns, for a cover letter"),
    html_file: Path | None = file("--html", "Write the report's page of this session to FILE"),
    jobs: int = options.jobs,
    install: bool = options.install,
) -> int:
    """Measure SPEEDUPs, by default all that support the kernel, on this machine.

    The kernel's own objects, as they are and with the speed-up in them, are linked into one
    process. Nothing is timed until both produce identical memory. The process is started several
    times, in turns with those of other speed-ups.
    """
    if (only_posted or show_unequal) and not asked.code:
        strange = "--only-posted" if only_posted else "--show-unequal"
        raise Misuse(f"{strange} is for posted code", "give that with --patch FILE")
    if record_file is not None and len(speedups) != 1:
        raise Misuse("--record holds one speed-up", "name one")
    request = Request(
        cases=cases,
        items=max(1, size // _PFN_BYTES) if size else None,
        pairs=repeats or (_QUICK_PAIRS if quick else _PAIRS),
        seed=seed,
        budget_s=None if repeats else _QUICK_BUDGET_S if quick else _BUDGET_S,
        features=features,
        extra=extra,
        only_posted=only_posted,
        show_unequal=show_unequal,
    )
    hosted = session.hosted(speedups, harnesses=bool(asked))
    if not hosted or (list_only and _list([each.speedup for each in hosted])):
        return ExitCode.GOOD
    doctor.ensure(install=install)
    source = sources.get(kernel, asked.tree)
    names = tuple(m.speedup for m in hosted if speedups or source.series in m.kernels)
    prepare = functools.partial(
        session.prepare,
        source,
        request=request,
        part=_QUICK_PART if quick and not size else 1,
        posted=posted.make_trees(source, asked),
        options=settings,
        jobs=jobs,
        renamed=asked.entries,
    )
    prepared = posted.for_each_harness(names, prepare, named=bool(speedups))
    if list_only:
        log.table([[c.case, c.regime, f"{c.items:,} {c.item}s"] for p in prepared for c in p.cases])
        return ExitCode.GOOD
    repeated = _repeated(names, source.series if asked.tree is None else None)
    found = session.measure(prepared, repeated, text.provisional)
    records = list(found.values())
    if json_file is not None:
        atomic_write(json_file, record.to_json([row for r in records for row in table.answer(r)]))
    if record_file is not None:
        record.write(record_file, records[0])
    shown = [text.report(result, every=log.is_verbose(), cover=cover) for result in records]
    text.show("\n".join(shown))
    outcomes = [outcome for result in records for outcome in table.outcomes(result)]
    options.write_outcomes(outcomes, ktap, junit)
    if html_file is not None:
        options.write_page(html_file, html.render(record.named(records)), "page")
    for path in found:
        log.say(f"every method: ./mmbatch report --text {path}")
    return table.exit_code(*records)


def _repeated(names: Sequence[str], series: str | None) -> str:
    """Return the command that repeats a run: as it was given, with the kernel and the seed."""
    context = click.get_current_context()
    words = ["./mmbatch", "bench", *names, *(("--kernel", series) if series else ())]
    for parameter in context.command.params:
        name, option = parameter.name or "", parameter.opts[-1]
        given = context.get_parameter_source(name) != ParameterSource.DEFAULT
        value = context.params.get(name)
        if name in _MEASURED and (given or name == "seed") and value is not None:
            for each in value if isinstance(value, tuple) else (value,):
                words += [option] if each is True else [option, str(each)]
    return shlex.join(words)


def _list(names: Sequence[str]) -> bool:
    """List the cases of speed-ups by their last records; return whether any has one."""
    kept = record.newest(cache.runs())
    rows = []
    for name in names:
        published = sorted((paths.ROOT / "results").glob(f"{name}-*.json"))
        path = kept.get(name, published[-1] if published else None)
        if path is None:
            log.say(f"{name} has no record yet: ./mmbatch bench {name} --list builds it first")
            continue
        for case, held in json.loads(path.read_text(encoding="utf-8"))["cases"].items():
            rows.append([name, case, held["regime"], f"{held['items']:,} {held['item']}s"])
    if rows:
        log.table([row if len(names) > 1 else row[1:] for row in rows])
    return bool(rows)
