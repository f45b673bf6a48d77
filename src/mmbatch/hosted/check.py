# SPDX-License-Identifier: GPL-2.0-only
"""Run the speed-ups' own checks on each kernel, in several builds."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mmbatch.core import paths, process
from mmbatch.core.cache import Cache
from mmbatch.core.errors import MmbatchError
from mmbatch.core.interval import EVERY, Interval
from mmbatch.core.load import Count, from_toml, key
from mmbatch.core.outcomes import CaseOutcome
from mmbatch.hosted import build, events
from mmbatch.hosted.posted import NoEffectError
from mmbatch.kernel.kbuild import ObjectTree
from mmbatch.kernel.sources import Source
from mmbatch.splice import trees
from mmbatch.splice.manifest import Manifest
from mmbatch.splice.posted import PostedTree
from mmbatch.splice.trees import Spliced

_TIMEOUT_S = 600
_SANITIZED_STRIDE = 7
_MOST_AT_ONCE = 2  # so that memory and its bandwidth suffice
_SANITIZER_ENV = {
    "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigill=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


@dataclass(frozen=True)
class Mutant:
    """One piece of the spliced code, changed on purpose.

    Attributes:
        name: in a few words.
        why: what it would do.
        file: path in the spliced tree.
        old: text of ours that occurs there once.
        new: what replaces it.
        kernels: where it can be killed.
        options: configuration that it needs for that, "CONFIG_X=y" each.
        optional: not all releases of a series have the text.
        fuzz: the fuzzer must kill it.
    """

    name: str
    why: str
    file: str
    old: str
    new: str
    kernels: Interval = EVERY
    options: tuple[str, ...] = ()
    optional: bool = False
    fuzz: bool = False


@dataclass(frozen=True)
class Config:
    """A configuration to check besides the engine's own."""

    name: str
    options: tuple[str, ...] = ()
    kernels: Interval = EVERY


@dataclass(frozen=True)
class Proof:
    """A bounded proof of code in the spliced tree, by CBMC.

    Attributes:
        name: in a few words.
        harness: C file of the speed-up's directory, which includes the files and calls them.
        files: paths in the spliced tree.
        variants: macros to define, a proof for each: ["ORDER=3", "ORDER=3 STREAM"].
        unwind: how often a loop is entered, unless `loops` says so.
        loops: CBMC's name of a loop to how often that one is.
        replaced: function of these files to the one of the harness that takes its place.
        refutes: the mutants that it must refute, by their names.
        kernels: whose code the harness fits.
    """

    name: str
    harness: str
    files: tuple[str, ...]
    unwind: Count
    variants: tuple[str, ...] = ("",)
    loops: Mapping[str, Count] = field(default_factory=dict)
    replaced: Mapping[str, str] = field(default_factory=dict)
    refutes: tuple[str, ...] = ()
    kernels: Interval = EVERY


@dataclass(frozen=True)
class Extras:
    """What the check.toml of a speed-up asks for."""

    configs: tuple[Config, ...] = field(default=(), metadata=key("config"))
    mutants: tuple[Mutant, ...] = field(default=(), metadata=key("mutation"))
    proofs: tuple[Proof, ...] = field(default=(), metadata=key("proof"))


def load_extras(path: Path) -> Extras:
    """Read the check.toml of a speed-up; a missing one asks for nothing.

    Raises:
        MmbatchError: the file is wrong.
    """
    return from_toml(Extras, path) if path.exists() else Extras()


@dataclass
class Tally:
    """How the stages of a check went.

    Attributes:
        outcomes: of each stage, in the order in which they ended.
        combinations: inputs compared in all full runs.
        killed: mutant to what killed it.
    """

    outcomes: list[CaseOutcome] = field(default_factory=list)
    combinations: int = 0
    killed: dict[str, str] = field(default_factory=dict)

    @property
    def passed(self) -> int:
        """How many stages were good."""
        return sum(outcome.passed for outcome in self.outcomes)

    @property
    def failed(self) -> list[str]:
        """What was wrong, one line each."""
        return [
            f"{outcome.title}: {outcome.problem}"
            for outcome in self.outcomes
            if outcome.problem is not None
        ]

    @property
    def skipped(self) -> list[str]:
        """What could not be seen here, one line each."""
        return [
            f"{outcome.title}: {outcome.skipped}"
            for outcome in self.outcomes
            if outcome.skipped is not None
        ]

    def add(self, other: Tally) -> None:
        """Count the stages of another tally as well."""
        self.outcomes += other.outcomes
        self.combinations += other.combinations
        self.killed |= other.killed


@dataclass(frozen=True)
class Bench:
    """A speed-up on one kernel, which can be built in several ways.

    Attributes:
        cache: where all is built.
        source: the kernel.
        manifests: the speed-up after those that it needs.
        jobs: how many compilers at a time.
        tree: the kernel with the speed-ups in it, where that exists already.
        posted: trees of somebody else's patches, each of which becomes a side of its own.
        renamed: function of the harness to the name that it has in some of these.
    """

    cache: Cache
    source: Source
    manifests: Sequence[Manifest]
    jobs: int
    tree: Spliced | None = None
    posted: Sequence[PostedTree] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def manifest(self) -> Manifest:
        """The speed-up."""
        return self.manifests[-1]

    @functools.cached_property
    def extras(self) -> Extras:
        """What its check.toml asks for."""
        return load_extras(self.manifest.directory / "check.toml")

    @functools.cached_property
    def spliced(self) -> Spliced:
        """The kernel with the speed-ups in it."""
        return self.tree or trees.splice(
            self.cache, self.source, list(self.manifests), paths.MACROS, _silent
        )

    def program(
        self, options: tuple[str, ...] = (), *, sanitize: bool = False, fuzz: bool = False
    ) -> Path:
        """Build the hosted program."""
        return self.build(options, sanitize=sanitize, fuzz=fuzz).path

    def build(
        self, options: tuple[str, ...] = (), *, sanitize: bool = False, fuzz: bool = False
    ) -> build.Program:
        """Build the hosted program, and return what is known of it, too."""
        return build.build(
            *(self.cache, self.source, self.spliced, self.manifest, paths.HOSTED),
            options,
            self.jobs,
            _silent,
            sanitize=sanitize,
            fuzz=fuzz,
            posted=self.posted,
            renamed=self.renamed,
        )

    def compile_posted(self) -> None:
        """Compile posted code, for which no tree with the speed-ups in it is made."""
        build.compile_posted(
            *(self.cache, self.source, self.manifest, paths.HOSTED, (), self.jobs, _silent),
            posted=self.posted,
            renamed=self.renamed,
        )

    def objects(self, options: tuple[str, ...]) -> ObjectTree:
        """Build the kernel's own objects."""
        return build.objects(
            *(self.cache, self.source, self.manifest, paths.HOSTED, options, self.jobs, _silent)
        )


def _silent(text: str) -> None:
    """Print no phase: a check is one line once it has ended."""


def run(
    bench: Bench,
    say: Callable[[str], None],
    tally: Tally,
    *,
    stride: int = 1,
    stride_others: int = 1,
    only_first: bool = False,
) -> None:
    """Check a speed-up on one kernel, without mutants.

    Args:
        bench: the speed-up on that kernel.
        say: called with a line for each stage that ends.
        tally: counts the stages.
        stride: check every combination (1), every second one (2), and so on.
        stride_others: the same for configurations other than the engine's own.
        only_first: leave out those, and the check with sanitizers.
    """
    name = f"{bench.manifest.speedup} on {bench.source.release}"
    building = threading.Lock()  # a build has compilers enough of its own

    def full(config: str, options: tuple[str, ...]) -> None:
        with stage(name, config, say, tally) as result:
            with building:
                program = bench.program(options)
            event = check_program(program, stride_others if config else stride)
            result.judge(event)
            with building:
                tally.combinations += event.combinations

    def sanitized() -> None:
        with stage(name, "ASan and UBSan", say, tally) as result:
            with building:
                program = bench.program(sanitize=True)
            result.judge(check_program(program, _SANITIZED_STRIDE, sanitized=True))

    if only_first:
        full("", ())
        return
    at_once(
        min(bench.jobs, _MOST_AT_ONCE),
        [
            *(
                functools.partial(full, *config)
                for config in _configs(bench.extras, bench.source.series)
            ),
            sanitized,
        ],
    )


def run_posted(bench: Bench, say: Callable[[str], None], tally: Tally) -> None:
    """Check posted code on one kernel, as `run` does a speed-up, but without mutants.

    Args:
        bench: a speed-up whose check is used, on that kernel, with the posted code.
        say: called with a line for each stage that ends.
        tally: counts the stages.

    Raises:
        MmbatchError: the code can't be compiled, or changes nothing that the check runs.
    """
    # What fails here is for the user to mend, and no stage.
    bench.compile_posted()
    bench.build()
    for config, options in _configs(bench.extras, bench.source.series):
        _run_posted(bench, config, options, 1, say, tally)
    _run_posted(bench, "ASan and UBSan", (), _SANITIZED_STRIDE, say, tally, sanitize=True)


def _run_posted(
    bench: Bench,
    config: str,
    options: tuple[str, ...],
    stride: int,
    say: Callable[[str], None],
    tally: Tally,
    *,
    sanitize: bool = False,
) -> None:
    """Check each posted code in one configuration."""
    name = f"{bench.manifest.speedup} on {bench.source.release}"
    try:
        program = bench.build(options, sanitize=sanitize)
    except MmbatchError as error:
        with stage(name, config, say, tally) as result:
            if not isinstance(error, NoEffectError):
                raise
            result.skipped = str(error)
        return
    for number, side in enumerate(program.posted):
        case = f"{side.label}, {config}" if config else side.label
        with stage(name, case, say, tally) as result:
            event = check_program(program.path, stride, sanitized=sanitize, posted=number)
            result.judge(event)
            tally.combinations += 0 if sanitize else event.combinations


def at_once(workers: int, jobs: Sequence[Callable[[], None]]) -> None:
    """Do some things, a few at a time; an interrupt keeps the rest from beginning."""
    with ThreadPoolExecutor(workers) as pool:
        try:
            for _ in pool.map(lambda job: job(), jobs):
                pass
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def plain(
    cache: Cache, source: Source, spliced: Spliced, manifest: Manifest, jobs: int
) -> list[str]:
    """Check a speed-up in a tree, with the engine's configuration only; return what is wrong."""
    tally = Tally()
    bench = Bench(cache, source, [manifest], jobs, spliced)
    with stage(manifest.speedup, "", _silent, tally) as result:
        result.judge(check_program(bench.program(), 1))
    return tally.failed


def _configs(extras: Extras, series: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "", ()
    for config in extras.configs:
        if series in config.kernels:
            yield config.name, config.options


class Stage:
    """One line of the report, in the making."""

    def __init__(self) -> None:
        self.text = ""
        self.problem: str | None = None
        self.skipped: str | None = None

    def judge(self, event: events.Check) -> None:
        """Take how a check ended."""
        self.text = (
            f"{event.combinations} combinations, {event.runs} runs, "
            f"{event.bytes / 1e9:.1f} GB compared"
        )
        if event.stepped:
            self.text += f", {event.streamed} streaming stores followed to their drain"
        if not event.good:
            self.problem = event.text


@contextmanager
def stage(suite: str, case: str, say: Callable[[str], None], tally: Tally) -> Iterator[Stage]:
    """Count what is done in the block as one stage, and print how it ended.

    Args:
        suite: what is checked: a speed-up on a kernel.
        case: what distinguishes the stage from the plain one; empty for that.
        say: called with its line.
        tally: counts it.
    """
    start = time.monotonic()
    result = Stage()
    try:
        yield result
    except MmbatchError as error:
        result.problem = str(error)
    seconds = time.monotonic() - start
    ended = CaseOutcome(suite, case, result.problem, result.skipped, result.text, seconds)
    tally.outcomes.append(ended)
    if ended.passed:
        say(f"ok    {ended.title}: {result.text} ({seconds:.0f} s)")
    elif result.problem is not None:
        say(f"FAIL  {ended.title}: {result.problem}")


def check_program(
    program: Path, stride: int, *, sanitized: bool = False, posted: int | None = None
) -> events.Check:
    """Run a program's check; a program that dies, be it at its very end, has failed it."""
    of_posted = [] if posted is None else [f"--posted={posted}"]
    result = process.run(
        [program, f"--check={stride}", *of_posted],
        action="run the check",
        env=_SANITIZER_ENV if sanitized else None,
        timeout_s=_TIMEOUT_S,
        check=False,
    )
    for number, line in enumerate(result.stdout.splitlines(), 1):
        event = events.parse(line, number)
        if isinstance(event, events.Check) and (result.rc == 0 or not event.good):
            return event
    lines = result.stderr.splitlines()
    cause = next((line for line in lines if "ERROR:" in line or "hosted:" in line), None)
    return events.Check(False, 0, 0, 0, 0, 0, cause or f"ended with {result.rc}")
