# SPDX-License-Identifier: GPL-2.0-only
"""Run the speed-ups' own checks on each kernel, in several builds, and against mistakes."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mmbatch.core import disk, process
from mmbatch.core import paths as checkout
from mmbatch.core.cache import Cache
from mmbatch.core.errors import MmbatchError
from mmbatch.hosted import build as hostedbuild
from mmbatch.hosted import events as samples
from mmbatch.hosted.mutants import Extras, Mutant, fits, load_extras, mutate
from mmbatch.kernel.kbuild import ObjectTree
from mmbatch.kernel.sources import Source
from mmbatch.splice import trees as splice
from mmbatch.splice.manifest import Manifest
from mmbatch.splice.trees import Spliced

_TIMEOUT_S = 600
_MUTANT_STRIDE = 11
_SANITIZED_STRIDE = 7
_MOST_AT_ONCE = 2  # so that memory and its bandwidth suffice
_SANITIZER_ENV = {
    "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigill=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


@dataclass
class Tally:
    """How the stages of a check went.

    Attributes:
        passed: stages that were good.
        failed: what was wrong, one line each.
        skipped: what could not be seen here, one line each.
        combinations: inputs compared in all full runs.
        caught: mutant to what caught it.
    """

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    combinations: int = 0
    caught: dict[str, str] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        """Count the stages of another tally as well."""
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.combinations += other.combinations
        self.caught |= other.caught


@dataclass(frozen=True)
class Bench:
    """A speed-up on one kernel, ready to be built in several ways."""

    cache: Cache
    source: Source
    spliced: Spliced
    manifest: Manifest
    jobs: int
    say: Callable[[str], None]

    def program(
        self, options: tuple[str, ...] = (), *, sanitize: bool = False, fuzz: bool = False
    ) -> Path:
        """Build the hosted program."""
        return hostedbuild.build(
            self.cache,
            self.source,
            self.spliced,
            self.manifest,
            checkout.HOSTED,
            options,
            self.jobs,
            self.say,
            sanitize=sanitize,
            fuzz=fuzz,
        ).path

    def tree(self, options: tuple[str, ...]) -> ObjectTree:
        """Make the kernel's own objects, which all mistakes of a configuration share."""
        return hostedbuild.objects(
            self.cache,
            self.source,
            self.manifest,
            checkout.HOSTED,
            options,
            self.jobs,
            self.say,
        )


def run(
    cache: Cache,
    source: Source,
    manifests: list[Manifest],
    jobs: int,
    say: Callable[[str], None],
    tally: Tally,
    *,
    mutants: bool,
) -> None:
    """Check the last of some speed-ups on one kernel.

    Args:
        cache: where all is built.
        source: the kernel.
        manifests: the speed-up after those that it needs.
        jobs: how many compilers at a time.
        say: told of each stage as it ends.
        tally: counts them.
        mutants: try the deliberate mistakes too.
    """
    manifest = manifests[-1]
    spliced = splice.splice(cache, source, manifests, checkout.MACROS, say)
    bench = Bench(cache, source, spliced, manifest, jobs, lambda text: None)
    extras = load_extras(manifest.room / "check.toml")
    name = f"{manifest.speedup} on {source.release}"
    building = threading.Lock()  # a build has compilers enough of its own

    def full(config: str, options: tuple[str, ...]) -> None:
        with stage(f"{name}{config}", say, tally) as one:
            with building:
                program = bench.program(options)
            event = _check(program, 1)
            one.judge(event)
            with building:
                tally.combinations += event.combinations

    def sanitized() -> None:
        with stage(f"{name}, ASan and UBSan", say, tally) as one:
            with building:
                program = bench.program(sanitize=True)
            one.judge(_check(program, _SANITIZED_STRIDE, sanitized=True))

    _at_once(
        min(jobs, _MOST_AT_ONCE),
        [
            *(functools.partial(full, *config) for config in _configs(extras, source.series)),
            sanitized,
        ],
    )
    if mutants:
        chosen = [one for one in extras.mutants if source.series in one.kernels and not one.fuzz]
        trees = {one.options: bench.tree(one.options) for one in chosen}
        _at_once(
            jobs,
            [
                functools.partial(_try_mutant, bench, one, trees[one.options], name, say, tally)
                for one in chosen
            ],
        )


def _at_once(workers: int, jobs: Sequence[Callable[[], None]]) -> None:
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
    bench = Bench(cache, source, spliced, manifest, jobs, lambda text: None)
    with stage(manifest.speedup, lambda text: None, tally) as one:
        one.judge(_check(bench.program(), 1))
    return tally.failed


def _configs(extras: Extras, series: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "", ()
    for config in extras.configs:
        if series in config.kernels:
            yield f", {config.name}", config.options


class Stage:
    """One line of the report, in the making."""

    def __init__(self) -> None:
        self.text = ""
        self.problem: str | None = None
        self.skipped: str | None = None

    def judge(self, event: samples.Check) -> None:
        """Take what a check said."""
        self.text = (
            f"{event.combinations} combinations, {event.runs} runs, "
            f"{event.bytes / 1e9:.1f} GB compared"
        )
        if event.stepped:
            self.text += f", {event.streamed} streaming stores followed to their drain"
        if not event.good:
            self.problem = event.text


@contextmanager
def stage(title: str, say: Callable[[str], None], tally: Tally) -> Iterator[Stage]:
    """Count what is done in the block as one stage, and say how it went."""
    start = time.monotonic()
    one = Stage()
    try:
        yield one
    except MmbatchError as error:
        one.problem = str(error)
    seconds = time.monotonic() - start
    if one.skipped is not None:
        tally.skipped.append(f"{title}: {one.skipped}")
    elif one.problem is None:
        tally.passed += 1
        say(f"ok    {title}: {one.text} ({seconds:.0f} s)")
    else:
        tally.failed.append(f"{title}: {one.problem}")
        say(f"FAIL  {title}: {one.problem}")


def _check(program: Path, stride: int, *, sanitized: bool = False) -> samples.Check:
    """Run a program's check; a program that dies, be it at its very end, has failed it."""
    result = process.run(
        [program, f"--check={stride}"],
        action="run the check",
        env=_SANITIZER_ENV if sanitized else None,
        timeout_s=_TIMEOUT_S,
        check=False,
    )
    for number, line in enumerate(result.stdout.splitlines(), 1):
        event = samples.parse(line, number)
        if isinstance(event, samples.Check) and (result.rc == 0 or not event.good):
            return event
    words = [line for line in result.stderr.splitlines() if line.strip()]
    said = next((line for line in words if "ERROR:" in line or "hosted:" in line), None)
    return samples.Check(False, 0, 0, 0, 0, 0, said or f"ended with {result.rc}")


def _try_mutant(
    bench: Bench,
    mutant: Mutant,
    tree: ObjectTree,
    name: str,
    say: Callable[[str], None],
    tally: Tally,
) -> None:
    """See that a mistake is caught; count it as a stage."""
    title = f"{name}, mistake '{mutant.name}'"
    with (
        stage(title, say, tally) as one,
        disk.temporary_dir(bench.cache.builds, "mutant") as work,
    ):
        if not fits(mutant, bench.spliced.path):
            one.skipped = "this release does not have the code"
            return
        (work / "tree").mkdir()
        mutated = mutate(mutant, bench.spliced.path, work / "tree")
        program = hostedbuild.link(
            work, tree, mutated, bench.manifest, checkout.HOSTED, 1, work / "mutant.log"
        )
        event = _check(program, _MUTANT_STRIDE)
        if event.good:
            one.problem = f"it was not caught; {mutant.why}"
        else:
            one.text = f"caught by {event.text}"
            tally.caught[title] = event.text
