# SPDX-License-Identifier: GPL-2.0-only
"""A session of `bench`: one or several speed-ups prepared, measured in turns, and kept."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from mmbatch.bench import machine, record, table
from mmbatch.bench.record import Code, Posted, Record
from mmbatch.bench.table import Table
from mmbatch.core import cache, log, paths
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.hosted import events, run
from mmbatch.hosted.events import Check, Equal, Event, Note
from mmbatch.hosted.program import Program
from mmbatch.hosted.run import Request
from mmbatch.kernel.sources import Source
from mmbatch.splice import manifest
from mmbatch.splice.apply import Spliced
from mmbatch.splice.posted import PostedTree, digest

STARTS = 4
"""How many times a program is started, so that its samples show what a start decides by chance."""

AGAIN_S = 60
"""Seconds that the cases of a session may take which are measured again, because of noise."""

_SECTION = re.compile(r"^(?=Contents of section|RELOCATION RECORDS FOR)", re.MULTILINE)
_CODE = re.compile(r"[A-Z][a-zA-Z ]+ \[?\.(?:ref\.|init\.)?(?:text|rodata)")


@dataclass(frozen=True)
class Prepared:
    """A speed-up that is built, the cases that were asked for, and the events of each start."""

    speedup: str
    program: Program
    request: Request
    cases: Sequence[events.Case]
    starts: list[list[Event]] = field(default_factory=list)


def hosted(speedups: Sequence[str], *, harnesses: bool) -> list[manifest.Manifest]:
    """Return what has a hosted part; harnesses show nothing without posted code."""
    names = speedups or (manifest.measured if harnesses else manifest.known)(paths.SPEEDUPS)
    every = [manifest.load(paths.SPEEDUPS / name) for name in names]
    for each in (each for each in every if each.hosted is None):
        log.say(f"{each.speedup} has no hosted part; to count it in a guest: {each.measured_by}")
    return [each for each in every if each.hosted]


def prepare(
    source: Source,
    speedup: str,
    request: Request,
    *,
    part: int,
    posted: Sequence[PostedTree],
    options: tuple[str, ...],
    jobs: int,
    renamed: Mapping[str, str],
) -> Prepared:
    """Build a speed-up's program, and ask it what it will run, in `part` of the usual size."""
    manifests = manifest.load_with_needs(paths.SPEEDUPS, speedup)
    program = Program(source, manifests, options, jobs, posted=posted, renamed=renamed)
    request = run.with_cache(program.path, request)
    cases = run.plan(program.path, request)
    for case in cases:
        for label in case.posted:
            if case.variants.count(label) > 1:
                problem = f"{case.case} has a variant of this name"
                hint = "choose another label, as in --patch LABEL=FILE"
                raise MmbatchError(f"measure '{label}'", problem, hint, ExitCode.USAGE)
    sizes = [case.items for case in cases if not case.fixed]
    if part > 1 and sizes:
        request = run.resized(program.path, request, max(sizes) // part)
    if part > 1 and posted and not request.cases:
        request = run.reaching(program, request)
    return Prepared(speedup, program, request, run.plan(program.path, request))


def measure(
    prepared: Sequence[Prepared],
    command: str,
    overview: Callable[[Mapping[str, Table]], Sequence[str]],
) -> dict[Path, Record]:
    """Measure speed-ups in turns, and keep the record of each in the cache.

    Each program is started several times, so that what it draws by lot at its start is in the
    result, and so that what changes during the session is in all speed-ups alike. Cases in
    which noise hides the result are measured once again. The `command` repeats the session.
    Meanwhile a terminal shows what the first start found, as the lines of an `overview`.
    """
    started = datetime.now().astimezone().isoformat(timespec="seconds")
    here = machine.describe()
    for work in prepared:
        run.require_memory(work.cases, run.available_memory(here.available_bytes))
    budgets = [len(work.cases) * (work.request.budget_s or 0) for work in prepared]
    if all(budgets):
        minutes = max(1, round(1.5 * sum(budgets) / 60))  # comparing memory takes time, too
        log.say(f"measuring takes about {minutes} min")
    lines: list[str] = []
    tables: dict[str, Table] = {}

    def show(speedup: str, of_case: Sequence[Event]) -> None:
        for name, case in record.cases_of([of_case])[0].items():
            tables[name if len(prepared) == 1 else f"{speedup}: {name}"] = table.rows(case)
        lines[:] = overview(tables)

    _in_turns(prepared, 0, lines, show)
    found = [_record(work, command, started, here) for work in prepared]
    if _measure_again(prepared, [table.hidden(result) for result in found]):
        found = [_record(work, command, started, here) for work in prepared]
    time = started[:19].replace(":", "")
    results = {cache.runs() / f"{time}-{r.speedup}-{r.kernel.release}.json": r for r in found}
    for path, result in results.items():
        record.write(path, result)
    return results


def share(pairs: int, number: int) -> int:
    """Return how many of all pairs start `number`, from 0, gets: whole blocks of two."""
    blocks, odd = divmod(pairs, 2)
    own_blocks = blocks // STARTS + (number < blocks % STARTS)
    return 2 * own_blocks + (odd if number == STARTS - 1 else 0)


def start_seed(first: int, number: int) -> int:
    """Return a start's seed: the user's own for the first, then others.

    The seed modulo the number of layouts is the first layout of the code. Each start adds 1 to
    that, so that few blocks in each reach all of them.
    """
    return (first + number * 0x9E3779B97F4A7C15) % (1 << 64)


def _in_turns(
    prepared: Sequence[Prepared],
    first: int,
    above: Sequence[str] = (),
    show: Callable[[str, Sequence[Event]], None] = lambda *_: None,
) -> None:
    """Start the programs in turns, and the first of them again in the order of a mirror."""
    for number in range(STARTS):
        for work in prepared if number % 2 == 0 else prepared[::-1]:
            request, labels = work.request, {side.label for side in work.program.sides}
            pairs = share(request.pairs, number)
            before = [event for start in work.starts for event in start]
            unequal = {e.variant for e in before if isinstance(e, Equal) and not e.equal}
            failed = any(isinstance(event, Check) and not event.good for event in before)
            if not pairs or failed or unequal - labels:
                continue
            # Only the start that compares knows which posted variants to leave out.
            compared = bool(before) and not unequal
            log.say(f"start {number + 1} of {STARTS}: {work.speedup}")
            budget_s = request.budget_s and -(-request.budget_s // STARTS)
            cases = [replace(c, pairs=c.pairs * pairs // request.pairs) for c in work.cases]
            seed = start_seed(request.seed, first + number)
            request = replace(request, pairs=pairs, seed=seed, budget_s=budget_s, compared=compared)
            log_file = cache.logs() / f"hosted-{work.speedup}-{first + number + 1}.log"
            show_case = functools.partial(show if not before else lambda *_: None, work.speedup)
            ended = run.explained(work.program, request, cases, log_file, above, show_case)
            work.starts.append(ended)


def _measure_again(prepared: Sequence[Prepared], hidden: Sequence[Sequence[str]]) -> bool:
    """Measure the cases again in which noise hides the result, and return whether there are any.

    That is done once, within `AGAIN_S`, and all samples count: measuring until something shows
    would find differences that are none. If the user chose the number of pairs, it stays.
    """
    count = sum(map(len, hidden))
    again = []
    for work, names in zip(prepared, hidden, strict=True):
        request = work.request
        if not names or request.budget_s is None:
            continue
        budget_s = max(STARTS, min(request.budget_s, AGAIN_S // count))
        log.say(
            f"noise hides the result in {len(names)} of {len(work.cases)} cases of "
            f"{work.speedup}, so they are measured again, for about {budget_s * len(names)} s"
        )
        cases = [case for case in work.cases if case.case in names]
        request = replace(request, cases=tuple(names), budget_s=budget_s)
        again.append(replace(work, request=request, cases=cases))  # and the same list of starts
    _in_turns(again, STARTS)
    for work in again:
        text = "measured again, since noise hid the result"
        work.starts[-1] += [Note(name, text) for name in work.request.cases]
    return bool(again)


def _record(work: Prepared, command: str, started: str, here: machine.Machine) -> Record:
    """Make the record of what was measured of a speed-up."""
    program, objects, source = work.program, work.program.objects, work.program.source
    cases, notes = record.cases_of(work.starts)
    engines = [event for event in work.starts[0] if isinstance(event, events.Engine)]
    posted = [
        Posted(each.label, code.source, code.sha256, code.patches, tuple(each.compiled))
        for each in program.sides
        for code in [each.posted]
    ]
    return Record(
        schema=record.SCHEMA,
        speedup=work.speedup,
        command=command,
        started=started,
        code=_code(work),
        machine=replace(
            here,
            compiler=objects.compiler,
            binutils=objects.binutils,
            cached_bytes=engines[0].cached_bytes or None,
        ),
        kernel=record.Kernel(source.release, source.origin, objects.config_sha256),
        engine="hosted",
        cases=cases,
        posted=tuple(posted),
        notes=notes,
    )


def _code(work: Prepared) -> Code:
    directory = work.program.path.parent
    sides = [directory / f"side-{side}0.o" for side in ("base", "patched")]
    return Code(
        *record.checkout(),
        spliced_code(work.program.spliced),
        hashlib.sha256("".join(map(machine_code, sides)).encode()).hexdigest(),
        workload(work.speedup),
    )


def spliced_code(spliced: Spliced) -> str:
    """Return the hash of the kernel files that speed-ups wrote, without their comments."""
    return digest({name: (spliced.path / name).read_bytes() for name in spliced.files})


def workload(speedup: str) -> str:
    """Return the hash of a benchmark and of the engine, without their comments."""
    own = (paths.SPEEDUPS / speedup).glob("*.[ch]")
    files = [path for path in own if not path.name.startswith("check")]
    files += paths.HOSTED.rglob("*.[ch]")
    return digest({str(path.relative_to(paths.ROOT)): path.read_bytes() for path in files})


def machine_code(path: Path) -> str:
    """Return the code, constants and relocations of an object, as objdump prints them."""
    parts = _SECTION.split(machine.output("objdump", "-s", "-r", str(path)))
    return "".join(part for part in parts if _CODE.match(part))
