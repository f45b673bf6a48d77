# SPDX-License-Identifier: GPL-2.0-only
"""Time a function of the running kernel with and without a livepatch, in one boot.

live/measure.toml of a speed-up names a module that calls the function and times it. Its methods
are compared with its base by the parameter that chooses between them, so one loaded livepatch
serves all of them. Before anything is timed, each method must have done a call itself and written
the same memory as the kernel's own function. Each block runs base, method, method, base: a machine
that slows down evenly slows both alike.
"""

from __future__ import annotations

import errno
import os
import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import comb
from pathlib import Path

from mmbatch.bench.statistics import Ratio, Verdict, beside_band, control_band
from mmbatch.core.cache import Cache
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.load import Count, from_toml, key, wrong
from mmbatch.core.process import run
from mmbatch.debian import foreign
from mmbatch.live import build, load, manifest
from mmbatch.live.kernel import Headers
from mmbatch.live.load import Kernel
from mmbatch.live.manifest import LiveManifest
from mmbatch.splice.manifest import NewFile

_NAME = "live/measure.toml"
CONTROL = "control"
"""Base, measured as if it were a method: what differs is noise."""

MIN_BLOCKS = 6
"""With fewer, no interval of their medians has 95 %."""

_ALIGN = 2 << 20
_DIGEST = "digest"  # a parameter of the module
_SEED = 20_261_123


@dataclass(frozen=True)
class Case:
    """What is timed.

    Attributes:
        name: of the module's parameter that runs it.
        function: the kernel's function that it calls.
        words: what that gets, for people.
        takes: one byte of memory is needed for so many that are asked for.
    """

    name: str
    function: str
    words: str
    takes: Count


@dataclass(frozen=True)
class Measure:
    """A speed-up's measure.toml.

    Attributes:
        module: the module that runs the cases; its source is live/MODULE.c.
        parameter: of the livepatch, that chooses a method.
        base: its value with which the kernel's own functions run.
        methods: its other values.
        cases: what is timed.
        needs: options that the kernel must have, each with what is wrong without it.
        files: headers of the module.
    """

    module: str
    parameter: str
    base: str
    methods: tuple[str, ...]
    cases: tuple[Case, ...] = field(metadata=key("case"))
    needs: Mapping[str, str] = field(default_factory=dict)
    files: tuple[NewFile, ...] = field(default=(), metadata=key("file"))


@dataclass(frozen=True)
class Call:
    """What the module says about one call.

    Attributes:
        ns: the nanoseconds that it took.
        pages: how many pages it was for.
        digest: of the memory that it wrote, 0 unless that was asked for.
    """

    ns: float
    pages: int
    digest: str


@dataclass(frozen=True)
class Row:
    """One way to do what a case does.

    Attributes:
        method: its name.
        ns: the median time.
        ratio: the median of base's times divided by its times, with its 95 % interval; None if
            it was not compared.
        verdict: what that shows.
    """

    method: str
    ns: float
    ratio: Ratio | None
    verdict: Verdict


def known(speedups: Path) -> list[str]:
    """Return the names of the speed-ups that can be measured so."""
    return sorted(path.parent.parent.name for path in speedups.glob(f"*/{_NAME}"))


def read(speedups: Path, speedup: str) -> Measure:
    """Read a speed-up's measure.toml.

    Raises:
        MmbatchError: it is missing or wrong.
    """
    directory = speedups / speedup
    try:
        found = from_toml(Measure, directory / _NAME)
    except FileNotFoundError:
        raise MmbatchError(
            f"measure '{speedup}' in the running kernel",
            "it has no test memory to bind",
            f"choose one of these: {', '.join(known(speedups)) or 'there is none'}",
            ExitCode.USAGE,
        ) from None
    files = tuple(replace(file, source=directory / file.source) for file in found.files)
    for path in (directory / f"live/{found.module}.c", *(file.source for file in files)):
        if not path.is_file():
            raise wrong(directory / _NAME, f"there is no {path.relative_to(directory)}")
    return replace(found, files=files)


def build_module(
    cache: Cache, speedups: Path, live: LiveManifest, measure: Measure, headers: Headers
) -> bytes:
    """Return the module that runs the cases, for one kernel.

    Raises:
        MmbatchError: it can't be built for this kernel.
    """
    terms = replace(live, needs=measure.needs, refuses={})
    manifest.require_config(terms, headers.config, headers.release)
    others = {
        file.target: file.source.read_bytes()
        for file in measure.files
        if headers.series in file.kernels
    }
    source = speedups / live.speedup / f"live/{measure.module}.c"
    compiler = foreign.find_compiler(cache, headers, lambda _: None)
    log = cache.logs / f"{measure.module}-{headers.release}.log"
    return build.plain(cache, source, headers, compiler, log, others)


@contextmanager
def loaded(name: str, path: Path, kernel: Kernel) -> Iterator[Path]:
    """Load the module that runs the cases, and yield the directory of its parameters.

    It is removed at the end, also after Ctrl-C.

    Raises:
        MmbatchError: the kernel refused it.
    """
    action = f"load {name}"
    if (kernel.sys / "module" / name).exists():
        load.remove(name, f"unload {name}, which an earlier run left")
    try:
        done = run(["insmod", path], action=action, check=False, finish=True)
        if done.rc:
            raise MmbatchError(action, done.stderr.strip() or "insmod failed", "see dmesg")
        yield kernel.sys / "module" / name / "parameters"
    finally:
        if (kernel.sys / "module" / name).exists():
            load.remove(name, f"unload {name}")


@contextmanager
def method_kept(
    live: LiveManifest, measure: Measure, kernel: Kernel
) -> Iterator[Callable[[str], None]]:
    """Yield a function that sets the method of a loaded livepatch; it gets its own back."""
    parameter = f"{live.speedup}.{measure.parameter}"
    before = load.parameter(live, parameter, kernel)

    def choose(value: str) -> None:
        load.set_parameters(live, [f"{parameter}={value}"], kernel)

    if before is None:
        raise MmbatchError(
            f"measure '{live.speedup}'",
            f"the module that is loaded has no parameter {parameter}",
            f"unload it: mmbatch live unload {live.speedup}",
        )
    try:
        yield choose
    finally:
        if kernel.patch(live.module).exists():
            choose(before)


def require_memory(measure: Measure, size: int, available: int | None) -> None:
    """Raise MmbatchError unless a size can be bound, with as much memory left as it takes."""
    action = f"bind {size} bytes"
    if size % _ALIGN:
        problem, hint = "it is not a multiple of 2 MiB", "give a size such as 16G"
        raise MmbatchError(action, problem, hint, ExitCode.USAGE)
    needed = 2 * size // min(case.takes for case in measure.cases)
    if available is not None and needed > available:
        raise MmbatchError(
            action,
            f"it takes {needed >> 21} MiB, of which as much again should stay free, and "
            f"{available >> 20} MiB are available",
            "give a smaller --size",
        )


def once(parameters: Path, case: Case, size: int, *, digest: bool = False) -> Call:
    """Run a case, and return what the module says about it.

    Raises:
        MmbatchError: the kernel could not.
    """
    file = parameters / case.name
    try:
        (parameters / _DIGEST).write_text("Y" if digest else "N")
        file.write_text(str(size))
        ns, pages, found = file.read_text().split()
    except OSError as error:
        hint = "see dmesg"
        if error.errno in (errno.ENOMEM, errno.ERANGE, errno.EBUSY):
            hint = "give a smaller --size"
        raise MmbatchError(
            f"call {case.function}() for {size} bytes of {case.words}",
            error.strerror or str(error),
            hint,
        ) from error
    return Call(float(ns), int(pages), found)


def handled(live: LiveManifest, kernel: Kernel) -> tuple[int, dict[str, int]]:
    """Return how many calls a loaded livepatch did itself, and how many it left, by reason."""
    counts = load.counts(live, kernel) or []
    left = {count.reason: count.calls for count in counts if count.outcome == "left"}
    return sum(count.calls for count in counts if count.outcome == "done"), left


def require_equal(
    run_once: Callable[[str], Call],
    digest: str,
    base: str,
    methods: Sequence[str],
    tell: Callable[[], tuple[int, dict[str, int]]],
) -> None:
    """Raise MmbatchError unless each method does the call itself, and writes what base writes.

    Args:
        run_once: runs a method, and takes the digest.
        digest: of what the kernel's own function wrote.
        base: with which the kernel's own function runs.
        methods: the others.
        tell: returns what `handled` returns.
    """
    for name in (base, *methods):
        done, left = tell()
        found = run_once(name)
        now_done, now_left = tell()
        action = f"measure the method {name}"
        if name == base and now_done != done:
            problem = "the replacement ran in the place of the kernel's own function"
            raise MmbatchError(action, problem, "report it")
        if name != base and now_done == done:
            grown = [reason for reason, calls in now_left.items() if calls > left.get(reason, 0)]
            problem = f"it left the call to the kernel: {', '.join(grown) or 'nobody says why'}"
            raise MmbatchError(action, problem, "see dmesg, or choose others with --method")
        if found.digest != digest:
            problem = f"the memory that it wrote differs ({found.digest}, not {digest})"
            raise MmbatchError(action, problem, "do not use it on this kernel, and report it")


def compare(
    run_once: Callable[[str], float],
    base: str,
    methods: Sequence[str],
    blocks: int,
    advance: Callable[[], None],
) -> list[Row]:
    """Compare methods with base.

    Args:
        run_once: runs a method and returns the nanoseconds.
        base: the method that others are compared with.
        methods: these others.
        blocks: so many for each of them, at least `MIN_BLOCKS`.
        advance: called after each block.

    Returns:
        A row for base, one for the control, and one for each of them.
    """
    runs = {CONTROL: base, **{name: name for name in methods}}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    own: dict[str, list[float]] = {name: [] for name in runs}
    for name in (base, *methods):  # the first call may prove the method, and fetches memory
        run_once(name)
    order = list(runs)
    chance = random.Random(_SEED)
    for _ in range(blocks):
        chance.shuffle(order)
        for name in order:
            found = [run_once(each) for each in (base, runs[name], runs[name], base)]
            times[name].append((found[0] + found[3], found[1] + found[2]))
            own[name] += found[1:3]
            advance()
    ratios = {name: ratio(pairs) for name, pairs in times.items()}
    band = control_band(ratios[CONTROL])
    every = [total / 2 for pairs in times.values() for total, _ in pairs]
    rows = [Row(base, statistics.median(every), None, Verdict.BASE)]
    for name in runs:
        verdict = beside_band(ratios[name], band)
        if name == CONTROL:
            verdict = Verdict.NO_DIFFERENCE
        rows.append(Row(name, statistics.median(own[name]), ratios[name], verdict))
    return rows


def ratio(pairs: Sequence[tuple[float, float]]) -> Ratio:
    """Return the median of ratios with the 95 % interval that their order gives.

    Of n values, the median of what they are drawn from is below the k-th smallest with the
    probability that at most k - 1 of n coins show heads. So it assumes nothing of how times vary,
    except that blocks do not depend on each other.
    """
    values = sorted(base / method for base, method in pairs)
    count = len(values)
    rank, below = 0, 0.0
    while below + comb(count, rank) / 2**count <= 0.025:
        below += comb(count, rank) / 2**count
        rank += 1
    at = max(rank - 1, 0)
    return Ratio(statistics.median(values), values[at], values[count - 1 - at], count)


def stay_on_node(kernel: Kernel, parameters: Path) -> None:
    """Run on the CPUs of the node whose memory the module binds, if it tells one."""
    node = load.read_line(parameters / "node")
    cpus = _cpu_list(load.read_line(kernel.sys / f"devices/system/node/node{node}/cpulist"))
    usable = cpus & os.sched_getaffinity(0)
    if usable:
        os.sched_setaffinity(0, usable)


def _cpu_list(text: str) -> set[int]:
    """Return the CPUs in a list of the kernel's, such as "0-3,8"."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal():
            found |= set(range(int(first), int(last or first) + 1))
    return found
