# SPDX-License-Identifier: GPL-2.0-only
"""Read speedups/NAME/guest/guest.toml: what booted kernels run and count of a speed-up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from mmbatch.core import paths
from mmbatch.core.toml import Table
from mmbatch.guest.build import ARCHES
from mmbatch.guest.kernel_test import KernelTest

KINDS = {"plain": "", "debug": "debug", "kasan": "kasan"}
"""Kinds of x86-64 kernels: the name on the command line, and the one in file names."""

_FILE = "guest/guest.toml"
_BOOT_LIMIT_S = 600
_BOOT_MEMORY_GIB = 2

T = TypeVar("T")


@dataclass(frozen=True)
class Methods:
    """The methods that a speed-up's scripts try in turn.

    Attributes:
        parameter: "module.parameter" as on the kernel's command line, which gets the last one.
        values: the methods.
        kinds: for some kinds of kernels (see `KINDS`), the fewer methods that are tried there.
    """

    parameter: str
    values: tuple[str, ...]
    kinds: Mapping[str, tuple[str, ...]]

    def of(self, kind: str) -> tuple[str, ...]:
        """Return the methods to try on a kind of kernel."""
        return self.kinds.get(kind, self.values)


@dataclass(frozen=True)
class ExtraBoot:
    """A boot that one speed-up needs besides those that run everything.

    Attributes:
        name: the last part of its name, such as "base" in "arm64-base".
        arch: the architecture.
        scripts: what runs in it, in this order; none in a boot of KUnit suites alone.
        suites: the KUnit suites that must run; the kernel runs none if empty.
        kernel_test: whether the kernel test that is built into the kernel runs.
        cmdline: added to the kernel's command line.
        limit_s: seconds after which the boot is stopped, on a plain kernel.
        memory_gib: memory in GiB.
        nodes: the NUMA nodes that the memory is spread over.
        slow_mib: MiB of memory on one more node, of a lower tier; none if 0.
        rows: names of measurements, of which each must have all columns.
        columns: names of the numbers in each row.
        settings: shell variables for the scripts.
        kinds: for each kind of kernel, more variables and the CPU features to leave out.
    """

    name: str
    arch: str
    scripts: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    kernel_test: bool = False
    cmdline: tuple[str, ...] = ()
    limit_s: int = _BOOT_LIMIT_S
    memory_gib: int = _BOOT_MEMORY_GIB
    nodes: int = 1
    slow_mib: int = 0
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, KindSettings] = field(default_factory=dict)


@dataclass(frozen=True)
class KindSettings:
    """What differs in an extra boot of one kind of kernel.

    Attributes:
        settings: more shell variables for the scripts.
        without: features that its CPUs lack, as QEMU calls them.
    """

    settings: Mapping[str, str]
    without: tuple[str, ...]


@dataclass(frozen=True)
class Count:
    """What `mmbatch guest bench` counts.

    Attributes:
        speedup: the speed-up.
        arches: the architectures on which it can be counted.
        item_bytes: bytes of one item; counts are divided by the number of items.
        cases: a description by case.
        proof: start of the names of KUnit cases, which go on with a method; a method's numbers
            are shown only if its case passed.
        least: by architecture and case, how many times fewer instructions `auto` must need.
        script: the script that counts on an NVDIMM; if empty, the kernel counts at boot.
        suites: the KUnit suites that must pass; those of all speed-ups if empty.
        cmdline: added to the kernel's command line, with {rounds} for the number of rounds.
        twice: whether `mmbatch test` boots twice and compares the counts.
    """

    speedup: str
    arches: tuple[str, ...]
    item_bytes: int
    cases: Mapping[str, str]
    proof: str
    least: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    script: str = ""
    suites: tuple[str, ...] = ()
    cmdline: tuple[str, ...] = ()
    twice: bool = False


@dataclass(frozen=True)
class Plan:
    """What booted kernels run and count of one speed-up.

    Attributes:
        speedup: the speed-up.
        folder: its guest/ directory.
        programs: C files in it, without .c, that the scripts need as programs.
        methods: the methods that its scripts try, if any.
        scripts: its scripts in every boot that has programs, in this order.
        boots: boots of its own.
        kernel_test: a test of the kernel itself that covers what the speed-up changes, if any.
        count: what is counted, if anything.
    """

    speedup: str
    folder: Path
    programs: tuple[str, ...] = ()
    methods: Methods | None = None
    scripts: tuple[str, ...] = ()
    boots: tuple[ExtraBoot, ...] = ()
    kernel_test: KernelTest | None = None
    count: Count | None = None


def load_all(speedups: Path = paths.SPEEDUPS) -> dict[str, Plan]:
    """Return the plans of all speed-ups that have one, by name.

    Raises:
        MmbatchError: a guest.toml is wrong.
    """
    found = sorted(path.parent.parent for path in speedups.glob(f"*/{_FILE}"))
    return {folder.name: load(folder) for folder in found if not folder.name.startswith("_")}


def chosen(speedups: Iterable[str]) -> list[Plan]:
    """Return the plans of some speed-ups, in this order."""
    every = load_all()
    return [every[name] for name in speedups if name in every]


def load(folder: Path) -> Plan:
    """Read the guest.toml of a speed-up's directory.

    Raises:
        MmbatchError: it is wrong; the message names the key.
    """
    table = Table.load(folder / _FILE)
    scripts = []
    for row in table.tables("script"):
        scripts.append(row.text("name"))
        row.finish()
    plan = Plan(
        folder.name,
        folder / "guest",
        table.texts("programs"),
        _optional(table, "method", _methods),
        tuple(scripts),
        tuple(_boot(row) for row in table.tables("boot")),
        _optional(table, "kernel_test", KernelTest.read),
        _optional(table, "count", lambda row: _count(row, folder.name)),
    )
    table.finish()
    _check_files(table, plan)
    return plan


def _optional(table: Table, key: str, read: Callable[[Table], T]) -> T | None:
    inner = table.table(key)
    if inner is None:
        return None
    value = read(inner)
    inner.finish()
    return value


def _methods(table: Table) -> Methods:
    parameter, values = table.text("parameter"), table.texts("values")
    kinds = _optional(table, "kinds", lambda row: row.lists()) or {}
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not values or not all(kinds.values()):
        raise table.wrong(f"unknown kind '{unknown[0]}'" if unknown else "there are no methods")
    return Methods(parameter, values, kinds)


def _boot(table: Table) -> ExtraBoot:
    boot = ExtraBoot(
        table.text("name"),
        _arch(table, table.text("arch")),
        table.texts("scripts"),
        table.texts("suites"),
        _flag(table, "kernel_test"),
        table.texts("cmdline"),
        table.count("limit_s") if table.has("limit_s") else _BOOT_LIMIT_S,
        table.count("memory_gib") if table.has("memory_gib") else _BOOT_MEMORY_GIB,
        table.count("nodes") if table.has("nodes") else 1,
        table.count("slow_mib") if table.has("slow_mib") else 0,
        table.texts("rows"),
        table.texts("columns"),
        _optional(table, "settings", Table.sentences) or {},
        _optional(table, "kinds", _kinds) or {},
    )
    table.finish()
    if bool(boot.scripts) == bool(boot.suites):
        raise table.wrong("either 'scripts' or 'suites' is needed")
    return boot


def _kinds(table: Table) -> dict[str, KindSettings]:
    found = {}
    for kind in KINDS:
        settings = _optional(table, kind, _kind)
        if settings is not None:
            found[kind] = settings
    return found


def _kind(table: Table) -> KindSettings:
    settings = _optional(table, "settings", Table.sentences) or {}
    return KindSettings(settings, table.texts("without"))


def _count(table: Table, speedup: str) -> Count:
    cases = _optional(table, "cases", Table.sentences) or {}
    count = Count(
        speedup,
        tuple(_arch(table, name) for name in table.texts("arches")),
        table.count("item_bytes"),
        cases,
        table.text("proof"),
        _optional(table, "least", lambda row: _least(row, cases)) or {},
        table.text("script") if table.has("script") else "",
        table.texts("suites"),
        table.texts("cmdline"),
        _flag(table, "twice"),
    )
    if not count.arches or not cases:
        raise table.wrong("'arches' and 'cases' must not be empty")
    return count


def _least(table: Table, cases: Mapping[str, str]) -> dict[str, dict[str, float]]:
    found = {}
    for arch in ARCHES:
        inner = table.table(arch)
        if inner is None:
            continue
        found[arch] = {case: inner.get(case, float) for case in cases if inner.has(case)}
        inner.finish()
    return found


def _arch(table: Table, name: str) -> str:
    if name not in ARCHES:
        raise table.wrong(f"unknown architecture '{name}'")
    return name


def _flag(table: Table, key: str) -> bool:
    return table.has(key) and table.get(key, bool)


def _check_files(table: Table, plan: Plan) -> None:
    """Raise MmbatchError if a script or a program that the plan names does not exist."""
    scripts = [*plan.scripts, *(name for boot in plan.boots for name in boot.scripts)]
    if plan.count is not None and plan.count.script:
        scripts.append(plan.count.script)
    names = [*(f"{name}.sh" for name in scripts), *(f"{name}.c" for name in plan.programs)]
    for name in names:
        if not (plan.folder / name).exists():
            raise table.wrong(f"there is no {name} beside it")
