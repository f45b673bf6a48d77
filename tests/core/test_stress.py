# SPDX-License-Identifier: GPL-2.0-only
"""Eight processes work on one cache whose trees are a year old, and some are killed.

MMBATCH_STRESS_S is for how long, in seconds. MMBATCH_STRESS_KERNEL=1 takes the newest kernel of
the user's cache, by hard links, and builds, measures and checks it too. It also builds modules
for the newest kernel whose headers are in that cache. MMBATCH_STRESS_REPORT is a file to write
the counts to. A made-up kernel has no modules and does not boot, and building a guest's kernel
takes longer than a run, so `guest` is left out.
"""

import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

import mmbatch
from fake_tree import lacks_for_apply, left_over, make_tree
from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.disk import is_whole, write_mark
from mmbatch.core.interval import release_numbers
from real_kernel import newest

WORKERS = 8
SECONDS = float(os.environ.get("MMBATCH_STRESS_S", "20"))
REAL = os.environ.get("MMBATCH_STRESS_KERNEL") == "1"
REPORT = os.environ.get("MMBATCH_STRESS_REPORT", "")
USER = dict(os.environ)  # a fixture moves the cache of the tests
ENDS = ("finished", "killed", "failed")
YEAR_AGO = time.time() - 365 * 24 * 3600
TREE = "linux-source-7.3_7.3.4-1"
SPLICER = """
import os, sys, time
from pathlib import Path
from mmbatch.core.cache import Cache
from mmbatch.core import paths
from mmbatch.kernel.sources import SERIES, find_cached
from mmbatch.splice.manifest import load_with_needs
from mmbatch.splice.tree import splice
cache = Cache(Path(os.environ["MMBATCH_CACHE"]))
source = next(filter(None, (find_cached(cache, series, print) for series in SERIES)))
manifests = load_with_needs(paths.SPEEDUPS, "zone_device")
paths.MACROS = Path(sys.argv[1])
spliced = splice(source, manifests)
os.utime(spliced.path, (0, 0))  # the first to be forgotten
time.sleep(float(sys.argv[2]))
for name in spliced.files:
    (spliced.path / name).read_bytes()
"""

pytestmark = pytest.mark.skipif(bool(lacks_for_apply()), reason="lacks git or spatch")


class Stress:
    """Runs verbs on one cache, and notes those that fail without having been killed."""

    def __init__(self, place: Path, tree: Path, releases: list[str], seed: int) -> None:
        self.place = place
        self.tree = tree
        self.releases = releases
        self.seed = seed
        self.random = random.Random(seed)
        self.count = 0
        self.ended: Counter[tuple[str, str]] = Counter()
        self.failures: list[str] = []
        self.lock = threading.Lock()
        self.macros = [place / f"macros-{number}.h" for number in range(7)]
        for number, path in enumerate(self.macros):
            path.write_text(paths.MACROS.read_text() + "\n" * number)
        self.env = dict(
            os.environ,
            MMBATCH_CACHE=str(place / "cache"),
            PYTHONPATH=str(Path(mmbatch.__file__).parents[1]),
        )

    def commands(self) -> list[list[object]]:
        """Return a command line for each verb, with a place of its own for what it writes."""
        with self.lock:
            self.count += 1
            number = self.count
            macros, wait = self.random.choice(self.macros), self.random.random()
        verb = [sys.executable, "-m", "mmbatch"]
        results = sorted((paths.ROOT / "results").glob("*.json"))[:2]
        mails = self.place / f"mails-{number}"
        lines: list[list[object]] = [
            [sys.executable, "-c", SPLICER, macros, wait],
            [sys.executable, "-c", SPLICER, macros, wait],
            [*verb, "apply", "-n", self.tree, "zone_device"],
            [*verb, "export", "zone_device", "-o", mails],
            [*verb, "doctor"],
            [*verb, "report", "--text", *results],
            [sys.executable, paths.ROOT / "mmbatch", "--version"],
        ]
        if REAL:
            lines += [
                [*verb, "bench", "vmap", "--quick"],
                [*verb, "bench", "zone_device", "--quick"],
                [*verb, "check", "folio_copy", "--only", "equality", "--kernel", "7.3"],
            ]
        for release in self.releases[-1:]:
            for speedup in ("vmap", "zone_device"):
                lines += [[*verb, "live", "build", speedup, "--kernel-release", release]]
        return lines

    def run(self, line: list[object], kill_after_s: float | None = None) -> None:
        """Run a command, and note how it ended."""
        with subprocess.Popen(
            [str(word) for word in line],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=self.env,
            cwd=self.place,
        ) as process:
            try:
                output, _ = process.communicate(timeout=kill_after_s)
            except subprocess.TimeoutExpired:
                process.kill()
                self.note(line, "killed")
                return
        good = {0, 1} if "doctor" in line else {0, 4} if "bench" in line else {0}
        if REAL and "bench" in line and "error:" not in output:
            good.add(1)  # measured beside others, something may be slower
        if process.returncode not in good or "Traceback" in output:
            words = " ".join(str(word) for word in line if word != SPLICER)
            self.failures.append(f"{words} ended with {process.returncode}:\n{output[-2000:]}")
            self.note(line, "failed")
            return
        self.note(line, "finished")

    def note(self, line: list[object], end: str) -> None:
        """Count how a command ended."""
        verb = "splice" if SPLICER in line else str(line[3 if "-m" in line else 2])
        verb = "live build" if verb == "live" else verb
        with self.lock:
            self.ended[verb, end] += 1

    def report(self) -> str:
        """Return how many commands of each verb finished, were killed, and failed."""
        kernel = "a real kernel" if REAL else "a made-up kernel"
        lines = [
            f"{WORKERS} processes for {SECONDS:g} s on {kernel}, seed {self.seed}",
            f"{'verb':<12}{''.join(f'{end:>10}' for end in ENDS)}",
        ]
        for verb in sorted({verb for verb, _ in self.ended}):
            counts = "".join(f"{self.ended[verb, end]:>10}" for end in ENDS)
            lines.append(f"{verb:<12}{counts}")
        lines.append(f"{'all':<12}{''.join(f'{self.total(end):>10}' for end in ENDS)}")
        return "\n".join([*lines, *self.failures])

    def total(self, end: str) -> int:
        """Return how many commands ended one way."""
        return sum(count for (_, how), count in self.ended.items() if how == end)

    def work(self, until: float) -> None:
        """Run verbs at random until a time of the monotonic clock; kill every third of them.

        The first is killed soon, so that some are killed on any machine.
        """
        self.run(self.commands()[0], self.random.uniform(0.1, 1))
        while time.monotonic() < until:
            line = self.random.choice(self.commands())
            kill = self.random.random() < 1 / 3
            slow = {"bench", "check", "live"} & set(map(str, line))
            wait = self.random.uniform(0.1, 60 if slow else 4)
            self.run(line, wait if kill else None)


def made_up_kernel(cache: Cache) -> Path:
    place = cache.trees / TREE
    make_tree(place / "linux")
    (place / "version").write_text("7.3.4-1\n")
    write_mark(place)
    return place / "linux"


def linked_kernel(cache: Cache) -> Path:
    _, source = newest(USER)
    place = cache.trees / source.ident
    subprocess.run(["cp", "-al", source.path.parent, place], check=True)
    return place / "linux"


def linked_headers(cache: Cache) -> list[str]:
    """Link headers and compilers of the user's cache into another.

    Returns:
        The kernels' releases, newest last.
    """
    places = [path for path in newest(USER)[0].live.glob("[hc]*-*") if is_whole(path)]
    for path in places:
        subprocess.run(["cp", "-al", path, cache.live / path.name], check=True)
    names = [path.name for path in places if path.name.startswith("headers-")]
    return sorted((name.removeprefix("headers-") for name in names), key=release_numbers)


def test_processes_that_share_a_cache(tmp_path: Path, git_user: Path) -> None:
    assert git_user.exists()
    seed = random.SystemRandom().randrange(1000)
    print(f"seed {seed}")
    # Hard links need the disk of the cache.
    place = Path(tmp_path if not REAL else newest(USER)[0].root / f"stress-{os.getpid()}")
    try:
        cache = Cache(place / "cache")
        tree = linked_kernel(cache) if REAL else made_up_kernel(cache)
        releases = linked_headers(cache) if REAL else []
        for path in (tree.parent, tree, *tree.glob("*"), *cache.live.glob("*")):
            if path.is_dir():  # files are links to those of the user's cache
                os.utime(path, (YEAR_AGO, YEAR_AGO))
        stress = Stress(place, tree, releases, seed)
        until = time.monotonic() + SECONDS
        workers = [threading.Thread(target=stress.work, args=(until,)) for _ in range(WORKERS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if not stress.failures:
            for line in stress.commands():
                stress.run(line)
        print(stress.report())
        if REPORT:
            Path(REPORT).write_text(stress.report() + "\n")
        assert not stress.failures
        assert stress.total("killed") > 0
        cache = Cache(cache.root)
        assert left_over(cache.root) == []
        finished = [path for path in cache.splices.iterdir() if path.is_dir()]
        assert finished
        assert all(is_whole(path, print) for path in finished)
    finally:
        if REAL:
            shutil.rmtree(place, ignore_errors=True)
