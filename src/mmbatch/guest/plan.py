# SPDX-License-Identifier: GPL-2.0-only
"""The table of boots: guest/guest.toml has those of all speed-ups, theirs add to it."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from mmbatch.core import load, paths
from mmbatch.core.errors import ExitCode, MmbatchError, suggestion

Arch = Literal["x86_64", "arm64"]
Kernel = Literal["plain", "debug", "kasan", "kcsan", "stock"]

COMMON = paths.ROOT / "guest"
"""What all guests are made from."""

STOCK = "stock"
"""A distribution's kernel as it is, which livepatches are loaded into."""

ALL = "*"
"""Stands for each speed-up, before the name of a script, or for all KUnit suites."""

_FILE = "guest/guest.toml"


@dataclass(frozen=True)
class Boot:
    """A machine, and what runs in it. Rows of the same name add up to one boot.

    docs/guest-internals.md explains each key of guest.toml, of this table and of `Plan`.
    """

    kernels: tuple[Kernel, ...]  # one in each boot that `boots()` returns
    name: str = ""
    arch: Arch = "x86_64"
    scripts: tuple[str, ...] = ()  # if there is none, the kernel only runs its KUnit suites
    suites: tuple[str, ...] = ()  # of KUnit; the kernel runs none if empty
    settings: Mapping[str, str] = field(default_factory=dict)
    cmdline: tuple[str, ...] = ()  # can have values of `settings` as {NAME}
    passes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by the option they need
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()  # all of which each row must have
    least: Mapping[str, float] = field(default_factory=dict)  # times fewer than base, by row
    by_name: bool = False
    memory_gib: load.Count = 2  # to which comes what the memmap of added memory may take
    pmem_gib: load.Natural = 0
    dimm_gib: load.Natural = 0
    virtio_mem_gib: load.Natural = 0
    cpus: load.Count = 2
    nodes: load.Count = 1
    slow_mib: load.Natural = 0  # memory of one more node, of a lower tier
    # Needed by scripts that make the kernel patch code that another CPU runs: with a thread for
    # each CPU, QEMU may go on with a breakpoint that the kernel has removed.
    one_thread: bool = False
    without: tuple[str, ...] = ()  # features of its CPUs, as QEMU calls them
    counted: bool = False  # whether a nanosecond of its clock is one instruction

    @property
    def kernel(self) -> Kernel:
        """The one kernel that boots it."""
        return self.kernels[0]

    @property
    def title(self) -> str:
        """Its name for people, such as x86_64-kasan-moves or live-rounds."""
        kernel = "" if self.kernel == "plain" else self.kernel
        words = ["live"] if self.kernel == STOCK else [self.arch, kernel]
        return "-".join(word for word in (*words, self.name) if word)

    @property
    def added_gib(self) -> int:
        """The memory beside `memory_gib`."""
        return self.pmem_gib + self.dimm_gib + self.virtio_mem_gib

    def with_size(self, gib: int) -> Boot:
        """Return it with another size of its NVDIMM, or of what adds memory, if there is any."""
        added: dict[str, Any] = dict.fromkeys(("pmem_gib", "dimm_gib", "virtio_mem_gib"), gib)
        return replace(self, **{name: size for name, size in added.items() if getattr(self, name)})


@dataclass(frozen=True)
class Count:
    """What `mmbatch guest bench` counts of a speed-up."""

    boot: str  # the name of the boot that counts
    item_bytes: load.Count
    cases: Mapping[str, str]  # a description of each
    proof: str  # the KUnit cases that must pass begin so, and go on with a method


@dataclass(frozen=True)
class Plan:
    """A guest.toml."""

    boots: tuple[Boot, ...] = field(default=(), metadata=load.key("boot"))
    programs: tuple[str, ...] = ()  # C files beside it, without .c
    modules: tuple[str, ...] = ()  # the same, for stock kernels
    observers: tuple[str, ...] = ()  # more modules, which look at results and are loaded first
    drivers: tuple[str, ...] = ()  # the stock kernel's own modules that are loaded first
    optional: tuple[str, ...] = ()  # more of them, without which a speed-up can still be used
    count: Count | None = None
    tool: Mapping[str, str] = field(default_factory=dict)  # shell variables TOOL_KEY
    directory: Path = field(default=Path(), metadata=load.NOT_IN_FILE)

    @property
    def speedup(self) -> str:
        """Name of the speed-up; empty for what all share."""
        return "" if self.directory == paths.ROOT else self.directory.name

    @property
    def folders(self) -> tuple[Path, Path]:
        """The directories of its scripts and C files."""
        live = paths.LIVE / "guest" if not self.speedup else self.directory / "live"
        return self.directory / "guest", live

    def find(self, name: str) -> Path:
        """Return a script or C file by its name, which must be there."""
        found = [folder / name for folder in self.folders if (folder / name).exists()]
        if not found:
            raise load.wrong(self.directory / _FILE, f"there is no {name} beside it")
        return found[0]


def read(directory: Path) -> Plan:
    """Read the guest.toml of a speed-up's directory, or of the repository for all."""
    plan = replace(load.from_toml(Plan, directory / _FILE), directory=directory)
    for name in [*plan.programs, *plan.modules, *plan.observers]:
        plan.find(f"{name}.c")
    if not plan.speedup:
        return plan
    for boot in plan.boots:
        for name in boot.scripts:
            plan.find(f"{name}.sh")
    named = (
        replace(boot, scripts=tuple(f"{plan.speedup}/{name}" for name in boot.scripts))
        for boot in plan.boots
    )
    return replace(plan, boots=tuple(named))


@functools.cache
def common() -> Plan:
    """Return the plan that all speed-ups share."""
    return read(paths.ROOT)


@functools.cache
def plans(speedups: Path = paths.SPEEDUPS) -> Mapping[str, Plan]:
    """Return the plans of all speed-ups that have one, by name."""
    found = sorted(path.parent.parent for path in speedups.glob(f"[!_]*/{_FILE}"))
    return {directory.name: read(directory) for directory in found}


def boots(speedups: Path = paths.SPEEDUPS) -> list[Boot]:
    """Return all boots, in the order of their first rows."""
    found: dict[str, Boot] = {}
    for plan in (common(), *plans(speedups).values()):
        for row in plan.boots:
            for kernel in row.kernels:
                boot = replace(row, kernels=(kernel,))
                before = found.get(boot.title)
                found[boot.title] = boot if before is None else _add(before, boot)
    return list(found.values())


def choose(every: Sequence[Boot], patterns: Sequence[str]) -> list[Boot]:
    """Return the boots that patterns such as x86_64-debug* name, or all that need no name."""
    titles = [boot.title for boot in every]
    chosen: set[str] = set()
    for pattern in patterns:
        if not (named := fnmatch.filter(titles, pattern)):
            problem, hint = "there is no boot of this name", suggestion(pattern, titles, "boots")
            raise MmbatchError(f"boot '{pattern}'", problem, hint, ExitCode.USAGE)
        chosen.update(named)
    return [boot for boot in every if boot.title in chosen or not (patterns or boot.by_name)]


def _add(first: Boot, more: Boot) -> Boot:
    """Return two rows as one: lists and tables add up, and what `more` sets otherwise counts."""
    both: dict[str, Any] = {}
    for each in fields(Boot):
        if each.name in ("kernels", "name", "arch"):
            continue
        one, other = getattr(first, each.name), getattr(more, each.name)
        if isinstance(one, tuple):
            both[each.name] = one + other
        elif isinstance(one, Mapping):
            both[each.name] = {**one, **other}
        elif other != each.default:
            both[each.name] = other
    return replace(first, **both)
