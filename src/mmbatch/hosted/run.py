# SPDX-License-Identifier: GPL-2.0-only
"""Run a hosted program: see that it fits into memory, collect its events, and name faults."""

from __future__ import annotations

import contextlib
import functools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path

from mmbatch.core import cache, log, process
from mmbatch.core.errors import ExitCode, MmbatchError, suggestion
from mmbatch.hosted import posted
from mmbatch.hosted.events import AUTO, BASE, Case, Done, Engine, Equal, Event, Note, Sample, parse
from mmbatch.hosted.posted import source_of
from mmbatch.hosted.program import ENGINE_OBJECTS, SANITIZED, Program
from mmbatch.kernel import kbuild

WARNED = "hosted: WARN()"
NOTE = "hosted: note: "
_MARK = re.compile(r"hosted_code_(\w+?)_?\d(?:_ref)?")
_ENTRY = re.compile(r"__(?:base|control|patched|posted\d+_)\d$")
_AT = re.compile(r"(kernel )?code at (0x[0-9a-f]+)")
_ASKING = "ask the hosted program for its cases"
_SLACK_BYTES = 96 << 20
_HUGE = 2 << 20
_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUP = Path("/proc/self/cgroup")


@dataclass(frozen=True)
class Request:
    """What to run."""

    cases: tuple[str, ...]  # their names; none means all
    items: int | None  # size of the large cases; None for their own
    pairs: int  # of each comparison
    seed: int  # of the order of runs
    budget_s: int | None  # what the pairs of a case may take; slow machines run fewer pairs then
    features: tuple[str, ...]  # CPU features to switch, "fsrm=0" each
    extra: bool = False  # also the cases that run only on request, if no case is named
    compared: bool = False  # an earlier start compared the images, so this one does not
    cached_bytes: int | None = None  # sizes hot cases; 0 if it is unknown, None to measure it
    only_posted: bool = False  # leave out the variants of the patched side
    show_unequal: bool = False  # also time posted variants whose images differ from base's

    def arguments(self) -> list[str]:
        """Return it as arguments of the program."""
        words = ["--pairs", str(self.pairs), "--seed", str(self.seed)]
        words += [word for case in self.cases for word in ("--case", case)]
        words += [word for feature in self.features for word in ("--cpu", feature)]
        numbers = {"--items": self.items, "--budget": self.budget_s, "--cached": self.cached_bytes}
        words += [w for name, n in numbers.items() if n is not None for w in (name, str(n))]
        words += ["--all"] if self.extra else []
        words += ["--compared"] if self.compared else []
        words += ["--only-posted"] if self.only_posted else []
        words += ["--show-unequal"] if self.show_unequal else []
        return words


def with_cache(program: Path, request: Request) -> Request:
    """Let a program measure the cache, so that every later one has cases of the same size."""
    sizes = [event.cached_bytes for event in _listed(program, []) if isinstance(event, Engine)]
    return replace(request, cached_bytes=sizes[0] if sizes else 0)


def plan(program: Path, request: Request) -> list[Case]:
    """Return the cases that a request would run, without running any.

    Raises:
        MmbatchError: it names a case or a CPU feature that there is none of.
    """
    try:
        events = _listed(program, request.arguments())
    except MmbatchError:
        _refuse_unknown(program, request)
        raise
    return [event for event in events if isinstance(event, Case)]


def resized(program: Path, request: Request, items: int) -> Request:
    """Return a request for the same cases in another size, which is part of some names."""
    full, other = (
        plan(program, replace(request, cases=(), extra=True, items=size))
        for size in (request.items, items)
    )
    names = {case.case: small.case for case, small in zip(full, other, strict=True)}
    cases = tuple(names.get(case, case) for case in request.cases)
    return replace(request, items=items, cases=cases)


def reaching(program: Program, request: Request) -> Request:
    """Return a request for those cases in which base comes to a function that posted code changes.

    Until then, posted code does what base does.
    """
    cases, changed = plan(program.path, request), posted.changed_functions(program)
    with cache.temporary_dir("traps") as work:
        names = ((at, _ENTRY.sub("", name).partition(".")[0]) for at, name in _names(program.path))
        places = [at for at, name in names if name in changed]
        trapped = kbuild.with_traps(program.path, places, work / "hosted")

        def reaches(case: Case) -> bool:
            words = [*replace(request, cases=(case.case,)).arguments(), "--check-only"]
            lines = process.stream([trapped, *words], action="run the hosted program")
            with contextlib.suppress(MmbatchError), contextlib.closing(lines):
                return not any('"equal"' in line for line in lines)  # base comes first
            return True

        jobs = [functools.partial(reaches, case) for case in cases]
        found = list(compress(cases, process.side_by_side(jobs, 2))) if changed else cases
    what, name = f"what {program.posted[-1].posted.label} changes", program.manifest.speedup
    if not found:
        problem = f"no case of {name} reaches {', '.join(sorted(changed))}"
        hint = "leave out --quick to measure all cases all the same"
        raise posted.NoEffectError(f"measure {what}", problem, hint, ExitCode.NOT_APPLICABLE)
    log.say(f"{len(found)} of {len(cases)} cases of {name} reach {what}")
    return replace(request, cases=tuple(c.case for c in found if len(found) < len(cases)))


def _refuse_unknown(program: Path, request: Request) -> None:
    """Raise MmbatchError for the first case or CPU feature that the program does not know."""
    every = _listed(program, replace(request, cases=(), features=(), extra=True).arguments())
    known = [event.case for event in every if isinstance(event, Case)]
    flags = [flag for event in every if isinstance(event, Engine) for flag in event.cpu_flags]
    names = [("case", name, known) for name in request.cases]
    names += [("CPU feature", name.partition("=")[0], flags) for name in request.features]
    for kind, name, all_names in names:
        if name not in all_names:
            raise MmbatchError(
                f"find the {kind} '{name}'",
                "there is none of this name",
                suggestion(name, all_names, f"{kind}s"),
                ExitCode.USAGE,
            )


def _listed(program: Path, arguments: Sequence[str]) -> list[Event]:
    listed = process.run([program, *arguments, "--list"], action=_ASKING)
    return [parse(line, number) for number, line in enumerate(listed.stdout.splitlines(), 1)]


def require_memory(cases: Sequence[Case], available_bytes: int) -> None:
    """Raise MmbatchError, with the largest size that fits, unless there is memory for all cases.

    One arena is as large as the largest of them.
    """
    largest = max(cases, key=_memory)
    needed = _memory(largest) + _SLACK_BYTES
    if needed <= available_bytes:
        return
    item_bytes = _memory(largest) // largest.items
    fits = max(0, available_bytes - _SLACK_BYTES) // _HUGE * _HUGE // item_bytes
    hint = "free some memory"
    if largest.fixed:
        hint += ", or name smaller cases with --case"
    elif fits:
        hint = f"the largest size that fits is --size {fits * 4 // 1024}M"
    raise MmbatchError(
        f"get the memory for {largest.case}",
        f"its memory takes {needed / 2**30:.1f} GiB and {available_bytes / 2**30:.1f} GiB are free",
        hint,
        ExitCode.NOT_APPLICABLE,
    )


def _memory(case: Case) -> int:
    return max(case.memory, case.bytes)


def available_memory(machine_bytes: int) -> int:
    """Return the bytes that we may use: the machine's, or what control groups leave of them."""
    ours = _OWN_CGROUP.read_text(encoding="utf-8") if _OWN_CGROUP.exists() else ""
    group = _CGROUPS / ours.partition("0::/")[2].strip()
    free = [machine_bytes]
    for directory in (group, *group.parents):  # a limit of any parent counts
        with contextlib.suppress(OSError, ValueError):
            limit = int((directory / "memory.max").read_text())
            free.append(max(0, limit - int((directory / "memory.current").read_text())))
    return min(free)


def run(
    program: Path,
    request: Request,
    cases: Sequence[Case],
    file: Path,
    events: list[Event],
    above: Sequence[str] = (),
    case_ended: Callable[[Sequence[Event]], object] = lambda _: None,
) -> None:
    """Run the program to its end and add its events to those; its complaints go to a file.

    The lines `above` the progress bar may be changed by `case_ended`, which gets the events of
    each case when they are complete.

    Raises:
        MmbatchError: it ended early; with the kernel symbol that it touched, where that is why.
    """
    sizes = {case.case: case.pairs * len(case.variants) for case in cases}
    done = begun = 0
    wrong: MmbatchError | None = None
    ended = "it ended before its last line"
    file.unlink(missing_ok=True)
    lines = process.stream(
        [program, *request.arguments()], action="run the hosted program", log=file
    )
    try:
        with (
            contextlib.closing(lines),
            log.progress("measuring", sum(sizes.values()), "runs", above) as show,
        ):
            for number, line in enumerate(lines, 1):
                try:
                    event = parse(line, number)
                except MmbatchError as error:
                    wrong = wrong or error
                    continue
                if isinstance(event, Case | Done):
                    case_ended(events[begun:])
                    begun = len(events)
                events.append(event)
                if isinstance(event, Case):
                    show(completed=done, description=f"{event.case}: equal?")
                    done += sizes.get(event.case, 0)
                elif isinstance(event, Sample):
                    show(advance=1)
                elif isinstance(event, Equal) and event.variant == AUTO:
                    finished = done - sizes.get(event.case, 0)
                    show(completed=finished, description=event.case)
    except MmbatchError as error:  # an unequal image is for the report to tell
        ended, wrong = error.problem.partition(":")[0], None
    if wrong is not None:
        raise wrong
    if not events or not isinstance(events[-1], Done):
        raise _ended_early(file, ended)


def explained(
    program: Program,
    request: Request,
    cases: Sequence[Case],
    file: Path,
    above: Sequence[str],
    case_ended: Callable[[Sequence[Event]], object],
) -> list[Event]:
    """Run a program as `run` does; what the engine says of its code is in the events, too.

    If posted code dies, its row of that case is one that differs, and the next case is run.
    """
    found: list[Event] = []
    try:
        run(program.path, request, cases, file, found, above, case_ended)
    except MmbatchError as error:
        problem = explain(program, [error.problem]) or error.problem
        row = re.search(r", while '(.*)' ran", problem)
        died = next((event for event in reversed(found) if isinstance(event, Case)), None)
        if not row or not died or row[1] not in died.posted or "touched" in problem:
            raise MmbatchError(error.action, problem, error.hint, error.code) from error
        found.append(Equal(died.case, row[1], False, 0, f"none, because of {problem}"))
        rest = cases[[case.case for case in cases].index(died.case) + 1 :]
        request = replace(request, cases=tuple(case.case for case in rest))
        more = explained(program, request, rest, file, above, case_ended) if rest else [Done()]
        return [*found, *more]
    said = file.read_text("utf-8", "replace").splitlines() if file.exists() else []
    notes = [line.removeprefix(NOTE) for line in said if line.startswith(NOTE)]
    warned = explain(program, [line for line in said if line.startswith(WARNED)])
    return [*found, *(Note("", text) for text in (*notes, *([warned] if warned else [])))]


def _ended_early(file: Path, ended: str) -> MmbatchError:
    """Return why the program ended early, from its last message or from how it ended."""
    said = re.findall("^hosted: (.*)", file.read_text("utf-8", "replace"), re.MULTILINE)
    problem = said[-1] if said else ended
    symbol = re.search(r"touched '(\w+)'", problem)
    if symbol:
        hint = f"add the object that defines {symbol[1]} to `shared` of speedup.toml, or a stand-in"
        hint += " to hosted/kernel/stubs.c"
    elif "SIGKILL" in problem:
        hint = "the system ends what takes too much memory: give a smaller --size"
    else:
        hint = f"its output is in {file}"
    return MmbatchError("run the hosted program", problem, hint)


@dataclass(frozen=True)
class Place:
    """A line of kernel code of a side; `file` and `code` are empty if they are not known."""

    side: str
    function: str
    file: str = ""
    code: str = ""

    def __str__(self) -> str:
        """It, for people."""
        about = ": ".join(filter(None, (self.file, self.code)))
        whose = f" of {self.side}" if self.side == BASE else ""
        return f"{self.function}(){whose}" + (f" ({about})" if about else "")


def explain(program: Program, lines: Sequence[str]) -> str | None:
    """Return what the engine's messages say, with names in the place of addresses.

    None if there is no message but of WARN()s that base has too, or alone.
    """
    found = {line: _place(program, line) for line in lines}
    of_base = {(each.function, each.code) for each in found.values() if each and each.side == BASE}
    told: dict[object, str] = {}
    for line, place in found.items():
        text, warned = line.removeprefix("hosted: "), line.startswith(WARNED)
        key = (place.function, place.code) if place else line
        if not (warned and key in of_base):
            text = _AT.sub(str(place or "code").replace("\\", r"\\"), text, count=1)
            told.setdefault(key, f"{text}; base does not warn" if warned else text)
    return "; ".join(told.values()) or None


def _place(program: Program, line: str) -> Place | None:
    match = _AT.search(line)
    if match is None:
        return None
    at = int(match[2], 16)
    names = _names(program.path)
    number = bisect_right(names, (at, "\uffff")) - 1
    marks = (_MARK.fullmatch(name) for _, name in names[number::-1])
    side = next((mark[1] for mark in marks if mark), "")
    start, name = next(
        ((start, name) for start, name in names[number::-1] if not _MARK.fullmatch(name)), (0, "")
    )
    function = _ENTRY.sub("", name)
    try:
        return _line(program, side, function, at - start)
    except MmbatchError:  # it does not compile by itself
        return Place(side, function)


def tables(program: Program) -> str:
    """Return the addresses of the harness's tables of functions, as the engine takes them."""
    functions = {name for _, name in _names(program.path)}
    entries = [name for name in program.hosted.entries if f"{name}__base0" in functions]
    found = _names(program.path, "dr")
    return ",".join(f"{at:x}" for at, name in found if name.removesuffix("_of") in entries)


@functools.lru_cache(maxsize=4)
def _names(path: Path, kinds: str = "tT") -> list[tuple[int, str]]:
    """Return the functions of a program by address, and the marks where a side's code begins."""
    printed = process.run(["nm", path], action="read the symbols of the program").stdout
    words = (line.split() for line in printed.splitlines())
    return sorted((int(each[0], 16), each[2]) for each in words if each[1:2] and each[1] in kinds)


def _line(program: Program, side: str, function: str, offset: int) -> Place:
    """Compile the object that has a function once more, to learn the line of an instruction."""
    for compiled, name, tree in _objects(program, side):
        if function not in kbuild.functions(compiled):
            continue
        file = source_of(tree, name)
        with cache.temporary_dir("debug") as work:
            kbuild.compile_like(
                *(program.objects, program.like(file), file, work / "debug.o"),
                other_source=None if tree == program.source.path else tree,
                options=("-g", *(SANITIZED if program.sanitize and side != BASE else ())),
                log=work / "log",
            )
            section, start = kbuild.functions(work / "debug.o")[function]
            words = ("addr2line", "-i", "-e", work / "debug.o", "-j", section, hex(start + offset))
            printed = process.run(words, action="find the line of an instruction").stdout
        where, _, number = printed.split()[0].rpartition(":")
        source = Path(where)
        if not source.is_file():
            break
        code = source.read_text(encoding="utf-8", errors="replace").splitlines()[int(number) - 1]
        short = source.relative_to(tree) if source.is_relative_to(tree) else source.name
        is_shared = compiled == program.objects.path / name and name not in program.hosted.objects
        own = "" if is_shared else side
        return Place(own, function, f"{short}:{number}", " ".join(code.split()))
    return Place(side, function)


def _objects(program: Program, side: str) -> Iterator[tuple[Path, str, Path]]:
    """Yield the objects of a side: what was linked, the kernel's name, and the tree."""
    base, hosted = program.source.path, program.hosted
    if side.startswith("posted"):
        posted = program.sides[int(side.removeprefix("posted"))]
        (tree,) = (each.path for each in program.posted if each.posted is posted.posted)
        yield from ((path, name, tree) for name, path in posted.compiled.items())
    if side == "patched":
        for name in (*hosted.objects, *hosted.added):
            file = f"patched-{Path(name).stem}.o"
            yield program.path.parent / file, name, program.spliced.path
    for name in (*hosted.objects, *hosted.shared, *ENGINE_OBJECTS):
        yield program.objects.path / name, name, base
