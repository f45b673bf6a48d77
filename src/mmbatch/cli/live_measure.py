# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch live measure`: what a livepatch is worth by the clock, in the kernel that runs here."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import click

from mmbatch.bench import machine
from mmbatch.cli import answers, options
from mmbatch.cli.usage import Misuse
from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.console import Console, output_options
from mmbatch.core.disk import atomic_dir, temporary_dir
from mmbatch.core.errors import ExitCode, suggestion
from mmbatch.live import build, load, manifest, measure
from mmbatch.live import kernel as kernels
from mmbatch.live.load import Kernel
from mmbatch.live.manifest import LiveManifest
from mmbatch.live.measure import Call, Case, Measure, Row

_T = TypeVar("_T")
_UNPATCHED = "unpatched"
_AROUND = 5  # calls of the unpatched kernel, before and after
_EMULATED = "TCG"  # in the name of every CPU that QEMU emulates


@dataclass(frozen=True)
class _Subject:
    """A speed-up, and the files of its two modules."""

    live: LiveManifest
    measure: Measure
    patch: Path
    binder: Path


@dataclass(frozen=True)
class _Wanted:
    """What the user wants: bytes, methods (None for all), blocks, and seconds for a transition."""

    size: int
    methods: tuple[str, ...]
    blocks: int
    limit_s: int


@click.command("measure", short_help="Time a function of this kernel with and without a livepatch")
@options.timed_speedups
@click.option(
    "--size",
    default="16G",
    show_default=True,
    metavar="SIZE",
    callback=options.read_size,
    help="Bind this much test memory; only its memmap takes RAM, 1/64 of it",
)
@click.option(
    "--method", "methods", multiple=True, metavar="METHOD", help="Measure only this method"
)
@options.number("--blocks", 20, "Run base, method, method, base N times", measure.MIN_BLOCKS)
@click.option(
    "--modules",
    "directory",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Load the modules in this directory, such as signed ones, instead of building them",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the modules into DIR, which is new or empty, and measure nothing",
)
@options.limit
@options.json_file
@output_options
def run_measure(
    console: Console,
    /,
    speedups: tuple[str, ...],
    size: int,
    methods: tuple[str, ...],
    blocks: int,
    directory: Path | None,
    output: Path | None,
    limit_s: int,
    json_file: Path | None,
) -> int:
    """Time functions of the kernel that runs here, with SPEEDUPs and without, in one boot.

    It loads the livepatch and a module that binds test memory, which does not exist, and compares
    each method with the kernel's own function: base, method, method, base, again and again. At the
    end both modules are unloaded, also after Ctrl-C.
    """
    options.require_writable(("--json", json_file))
    if directory is not None and output is not None:
        raise Misuse("--modules and --output exclude each other", "leave out one of them")
    names = tuple(dict.fromkeys(speedups or measure.known(paths.SPEEDUPS)))
    subjects = [(name, measure.read(paths.SPEEDUPS, name)) for name in names]
    for _, each in subjects:
        _require_methods(each, methods)
    running = Kernel(kernels.running())
    here = machine.describe()
    emulated = _EMULATED in here.cpu
    cases: list[answers.MeasuredCase] = []
    written: list[str] = []
    if output is not None:
        options.require_new(output)
        with atomic_dir(output.absolute()) as place:
            for name, each in subjects:
                _build(console, manifest.load(paths.SPEEDUPS, name, "measure"), each, place)
            written = [str(output / path.name) for path in sorted(place.iterdir())]
        for path in written:
            console.result(path)
    else:
        load.require_root("measure in the running kernel")
        wanted = _Wanted(size, methods, blocks, limit_s)
        for name, each in subjects:
            measure.require_memory(each, size, here.available_bytes)
            with _modules(console, name, each, directory) as subject:
                cases += _measure(console, subject, running, wanted)
        for case in cases:
            _show(console, case)
        console.result(f"Linux {running.release} on {machine.machine_line(here)}")
        if emulated:
            console.result("This CPU is emulated, so these times say nothing about a real one.")
    answer = answers.LiveMeasure(
        running.release, machine.machine_line(here), emulated, cases, written
    )
    options.write_answer(json_file, "live measure", answer)
    return ExitCode.GOOD


def _require_methods(each: Measure, methods: tuple[str, ...]) -> None:
    for method in methods:
        if method not in each.methods:
            raise Misuse(
                f"--method {method} is none of {each.module}",
                suggestion(method, list(each.methods), "methods"),
            )


@contextmanager
def _modules(
    console: Console, name: str, each: Measure, directory: Path | None
) -> Iterator[_Subject]:
    """Yield a speed-up with its modules, which are built unless the user gave them."""
    live = manifest.load(paths.SPEEDUPS, name, "measure")
    with temporary_dir(Cache.open().downloads, "measure") as place:
        if directory is None:
            _build(console, live, each, place)
        found = [(directory or place) / f"{module}.ko" for module in (live.module, each.module)]
        for path in found:
            load.release_of(path)
        yield _Subject(live, each, *found)


def _build(console: Console, live: LiveManifest, each: Measure, place: Path) -> None:
    """Write both modules for the running kernel into a directory."""
    cache = Cache.open()
    release = kernels.choose(cache, None, None, console.say)
    made = build.build_all(cache, [live], release, console.say)[0]
    headers = kernels.find(cache, release, console.say)
    binder = measure.build_module(cache, paths.SPEEDUPS, live, each, headers)
    (place / f"{live.module}.ko").write_bytes(made.path.read_bytes())
    (place / f"{each.module}.ko").write_bytes(binder)


def _measure(
    console: Console, subject: _Subject, running: Kernel, wanted: _Wanted
) -> list[answers.MeasuredCase]:
    live, each = subject.live, subject.measure
    is_ours = not running.patch(live.module).exists()
    if is_ours:
        load.require_loadable(live, subject.patch, load.release_of(subject.patch), running)
    load.require_trust(f"load {each.module}", subject.binder, running)
    affinity = os.sched_getaffinity(0)
    found = []
    try:
        with measure.loaded(each.module, subject.binder, running) as parameters:
            measure.stay_on_node(running, parameters)
            for case in each.cases:
                found.append(_case(console, subject, running, wanted, parameters, case, is_ours))
    finally:
        os.sched_setaffinity(0, affinity)
    return found


def _case(
    console: Console,
    subject: _Subject,
    running: Kernel,
    wanted: _Wanted,
    parameters: Path,
    case: Case,
    is_ours: bool,
) -> answers.MeasuredCase:
    live, each = subject.live, subject.measure
    methods = wanted.methods or each.methods
    around: list[float] = []

    def run_once() -> float:
        return measure.once(parameters, case, wanted.size).ns

    def digested() -> Call:
        return measure.once(parameters, case, wanted.size, digest=True)

    def unpatched() -> None:
        if is_ours:
            around.extend(run_once() for _ in range(_AROUND))

    own = digested()
    unpatched()
    rows: list[Row] = []
    try:
        if is_ours:
            console.say(f"loading {live.module}")
            load.load(live, subject.patch, [], running, wanted.limit_s)
        with (
            measure.method_kept(live, each, running) as choose,
            console.progress(
                f"{case.function}()", wanted.blocks * (len(methods) + 1), "blocks"
            ) as progress,
        ):
            measure.require_equal(
                _switching(choose, digested),
                own.digest,
                each.base,
                methods,
                lambda: measure.handled(live, running),
            )
            rows = measure.compare(
                _switching(choose, run_once), each.base, methods, wanted.blocks, progress.advance
            )
    finally:
        if is_ours:
            load.unload(live.module, running, wanted.limit_s)
    unpatched()
    return answers.MeasuredCase(
        live.speedup,
        case.name,
        case.function,
        case.words,
        wanted.size,
        own.pages,
        own.digest,
        wanted.blocks,
        [*_around(around, own.pages), *(_answer(row, own.pages) for row in rows)],
    )


def _switching(choose: Callable[[str], None], run_once: Callable[[], _T]) -> Callable[[str], _T]:
    def run(method: str) -> _T:
        choose(method)
        return run_once()

    return run


def _around(times: list[float], pages: int) -> list[answers.MeasuredMethod]:
    if not times:
        return []
    ns = statistics.median(times)
    return [answers.MeasuredMethod(_UNPATCHED, ns, ns / pages, None, None, "not compared")]


def _answer(row: Row, pages: int) -> answers.MeasuredMethod:
    ratio = row.ratio
    return answers.MeasuredMethod(
        row.method,
        row.ns,
        row.ns / pages,
        None if ratio is None else ratio.median,
        None if ratio is None else (ratio.lo, ratio.hi),
        str(row.verdict),
    )


def _show(console: Console, case: answers.MeasuredCase) -> None:
    console.result(
        f"{case.function}() of {case.bytes / 2**30:.4g} GiB of {case.words} "
        f"({case.pages:,} pages), {case.blocks} blocks for each method:"
    )
    console.result(f"All methods produce identical memory (digest {case.digest}).")
    rows = [("method", "time", "a page", "ratio", "95 % interval", "verdict")]
    for each in case.methods:
        rows.append(
            (
                each.method,
                f"{each.ns / 1e6:.3f} ms",
                f"{each.ns_per_page:.2f} ns",
                "" if each.ratio is None else f"{each.ratio:.3f}",
                "" if each.ci95 is None else f"{each.ci95[0]:.3f} .. {each.ci95[1]:.3f}",
                each.verdict,
            )
        )
    console.table(rows)
