# SPDX-License-Identifier: GPL-2.0-only
"""What changed between two runs on one machine, and since a run in the code that it measured.

Times of two runs are never compared: base was measured in both, and only the ratios to it are.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from mmbatch.bench import machine, record, session
from mmbatch.bench.record import UNKNOWN, Record
from mmbatch.bench.statistics import NOISE, Ratio
from mmbatch.bench.table import tables
from mmbatch.core import paths
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.hosted.events import BASE
from mmbatch.kernel import sources
from mmbatch.report.text import between, columns, paragraph
from mmbatch.splice import apply, manifest
from mmbatch.splice.posted import digest

SLOWER = "slower"
FASTER = "faster"
SAME = "no difference"
TOO_FEW = "too few pairs"
GONE = "NOT SHOWN"
"""The row had a ratio, and has none now: it is not equal, or was not measured."""

_REPORTS = (
    *(":!speedups/*/check*", ":!hosted/host/check.c", ":!hosted/host/faults.c"),
    *(":!hosted/host/host.h", ":!hosted/include/report.h", ":!hosted/kernel/bugs.c"),
    *(":!hosted/host/events.c", ":!hosted/host/memmap.c"),
)
"""What of a benchmark and of the engine does not run while anything is timed."""

_BUSIER = 0.5
"""By how much loads differ if it is worth a word."""

_read = functools.cache(record.read)
_workload = functools.cache(session.workload)


@dataclass(frozen=True)
class Change:
    """One variant of one case in two runs: its ratios, and the newer one by the older one."""

    case: str
    variant: str
    old: Ratio
    new: Ratio | None
    factor: Ratio | None
    verdict: str


def changes(old: Record, new: Record) -> list[Change]:
    """Return what changed for each row that has a ratio in the older of two comparable runs."""
    action, hint = "compare two runs", "give two runs of one speed-up on one machine"
    if old.where != new.where:
        problem = f"one is of {old.where}, the other of {new.where}"
        raise MmbatchError(action, problem, hint, ExitCode.USAGE)
    after = {(case, row.name): row.ratio for case, each in tables(new).items() for row in each.rows}
    before = [
        (case, row.name, row.ratio)
        for case, each in tables(old).items()
        for row in each.rows
        if row.name != BASE and row.ratio
    ]
    shared = [(case, name) for case, name, _ in before if (case, name) in after]
    if old.speedup != new.speedup or not shared:
        raise MmbatchError(action, "they have no row in common", hint, ExitCode.USAGE)
    return [_change(case, name, ratio, after.get((case, name))) for case, name, ratio in before]


def _change(case: str, variant: str, old: Ratio, new: Ratio | None) -> Change:
    if new is None:
        return Change(case, variant, old, None, None, GONE)
    # The runs are independent, so the halves of their intervals add as errors do.
    middle = math.log(new.median / old.median)
    down = math.hypot(math.log(new.median / new.lo), math.log(old.hi / old.median))
    up = math.hypot(math.log(new.hi / new.median), math.log(old.median / old.lo))
    ends = math.exp(middle - down), math.exp(middle + up)
    factor = Ratio(new.median / old.median, *ends, min(old.pairs, new.pairs))
    verdict = SAME
    if factor.interval is None:
        verdict = TOO_FEW
    elif factor.lo > 1 + NOISE:
        verdict = FASTER
    elif factor.hi < 1 / (1 + NOISE):
        verdict = SLOWER
    return Change(case, variant, old, new, factor, verdict)


def differences(old: Record, new: Record) -> list[str]:
    """Return in which circumstances two runs differ, in words: "load 0.4, now 9.0"."""

    def told(held: Record) -> dict[str, str]:
        of = held.machine
        named = {
            "CPU": f"{of.cpu} {of.family}/{of.model}/{of.stepping}",
            "flags": " ".join(flag for flag, present in of.flags.items() if present),
            "cores": f"{of.cores}",
            "hypervisor": of.hypervisor or "none",
            "host kernel": of.host_kernel,
            "compiler": of.compiler,
            "binutils": of.binutils,
            "kernel": held.kernel.release,
            "configuration": held.kernel.config_sha256[:12],
            "benchmark": held.code.workload[:12],
        }
        return {name: text for name, text in named.items() if text not in ("", UNKNOWN)}

    before, after = told(old), told(new)
    found = [
        f"{name} {before[name]}, now {after[name]}"
        for name in before
        if name in after and before[name] != after[name]
    ]
    loads = old.machine.load, new.machine.load
    if abs(loads[0] - loads[1]) >= _BUSIER:
        found.append(f"load {loads[0]:.1f}, now {loads[1]:.1f}")
    return found


def text(old: Record, new: Record, found: Sequence[Change]) -> str:
    """Return the changes as a table, a line for each row."""
    lines: list[str] = []
    for name, run in (("old", old), ("new", new)):
        about = f"{run.speedup}, {run.where}, Linux {run.kernel.release}, {run.started}"
        lines += paragraph(f"{name}: {about}, commit {run.code.commit[:12]}")
    apart = "; ".join(differences(old, new)) or "nothing that is recorded"
    lines += paragraph(f"differs: {apart}")
    lines += paragraph(
        "old and new: times as fast as the kernel in each run; change: new / old, above 1 is "
        "faster than before; what code layout alone can do is no difference"
    )
    rows = [["case and variant", "old", "new", "change", "95 % interval", "result"]]
    for change in found:
        new_ratio = f"{change.new.median:.2f}" if change.new else "-"
        factor = f"{change.factor.median:.2f}" if change.factor else "-"
        name = f"{change.case} {change.variant}"
        cells = [name, f"{change.old.median:.2f}", new_ratio, factor]
        rows.append([*cells, between(change.factor), change.verdict])
    return "\n".join([*lines, "", *columns(rows, (0, 5))]) + "\n"


@dataclass(frozen=True)
class Age:
    """How the code of a record differs from this checkout's, in words, and the commits since."""

    words: str
    is_today: bool = False
    commits: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """It, for people who read the record."""
        if self.words == UNKNOWN:
            return "the record does not name its code, which may be older than this checkout's"
        since = f" (the last is {self.commits[0]})" if self.commits else ""
        return f"compared with this checkout, its code is {self.words}{since}"


def age(held: Record) -> Age:
    """Compare the code of a record with that of this checkout.

    If commits since changed it, what counts is the code that is spliced into the very kernel of
    the record, without comments. If that differs, its machine code may still be that of a record
    of today's code, of the same compiler. Where that kernel is not here, only the commits tell.
    """
    code = held.code
    if code.commit == UNKNOWN:
        return Age(UNKNOWN)
    is_other = code.workload not in (UNKNOWN, _workload(held.speedup))
    is_other = is_other and _is_other_workload(code.commit, held.speedup)
    ending = ", other workload" if is_other else ""
    commits = _commits_since(code.commit, held.speedup)
    is_same = commits == () and code.dirty is False
    is_open = not is_same and code.spliced != UNKNOWN
    today = _code_today(held.speedup, held.kernel) if is_open else ""
    if is_same or today == code.spliced:
        return Age(f"same{ending}", is_today=True)
    if today and _is_same_machine_code(held, today):
        return Age(f"same machine code{ending}", is_today=True)
    if commits is None:
        return Age(f"older (this clone lacks its commit, as shallow ones do){ending}")
    if not today and not commits:
        return Age(f"{UNKNOWN} without Linux {held.kernel.release}{ending}")
    number = f"{len(commits)} commit{'s' if len(commits) > 1 else ''}"
    return Age(f"{f'{number} older' if commits else 'another'}{ending}", commits=commits)


@functools.cache
def _is_other_workload(base: str, speedup: str) -> bool:
    """Whether the benchmark or the engine changed since a commit, but for what only reports."""
    git = ("git", "-C", str(paths.ROOT))
    if machine.output(*git, "cat-file", "-t", base).strip() != "commit":
        return True
    places = ("--", "hosted/*.[ch]", f":(glob)speedups/{speedup}/*.[ch]", *_REPORTS)
    names = machine.output(*git, "diff", "--name-only", base, *places).split()
    after = {name: path.read_bytes() for name in names if (path := paths.ROOT / name).exists()}
    before = {name: machine.output(*git, "show", f"{base}:{name}").encode() for name in names}
    return digest(before) != digest(after)  # without comments


@functools.cache
def _code_today(speedup: str, kernel: record.Kernel) -> str:
    """Return the hash of today's code in the kernel of a record; empty if that is not here."""
    source = sources.find_cached(".".join(kernel.release.split(".")[:2]))
    if source is None or source.origin != kernel.source:
        return ""
    manifests = manifest.load_with_needs(paths.SPEEDUPS, speedup)
    try:
        return session.spliced_code(apply.splice(source, manifests))
    except MmbatchError:  # spatch is missing, where nothing is built
        return ""


def _is_same_machine_code(held: Record, today: str) -> bool:
    def built(one: Record) -> tuple[str, ...]:
        tools = (one.machine.compiler, one.machine.binutils)
        return (*tools, one.kernel.release, one.kernel.config_sha256, one.code.objects)

    files = (paths.ROOT / "results").rglob(f"{held.speedup}-*.json")
    peers = [_read(path) for path in files if today in path.read_text(encoding="utf-8")]
    alike = any(peer.code.spliced == today and built(peer) == built(held) for peer in peers)
    return alike and held.code.objects != UNKNOWN


@functools.cache
def _commits_since(base: str, speedup: str) -> tuple[str, ...] | None:
    """Return the commits since one that changed a speed-up's code, None if that one is not here.

    What is not committed yet counts as one.
    """
    speedups = [each.speedup for each in manifest.load_with_needs(paths.SPEEDUPS, speedup)]
    parts = ("splice", "tree", "speedup.toml")
    places = ("--", *(f"speedups/{name}/{part}" for name in speedups for part in parts))
    git = ("git", "-C", str(paths.ROOT))
    if machine.output(*git, "cat-file", "-t", base).strip() != "commit":
        return None
    commits = machine.output(*git, "log", "--format=%h %s", f"{base}..HEAD", *places).splitlines()
    changed = machine.output(*git, "diff", "--name-only", "HEAD", *places)
    return (*(["what is not committed"] if changed else []), *commits)
