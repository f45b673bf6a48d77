# SPDX-License-Identifier: GPL-2.0-only
"""Read speedups/NAME/guest/guest.toml: what booted kernels run and count of a speed-up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from mmbatch.core import load, paths
from mmbatch.core.errors import MmbatchError

PLAIN = "plain"
KINDS = {PLAIN: "", "debug": "debug", "kasan": "kasan", "kcsan": "kcsan"}
"""Kinds of x86-64 kernels: the name on the command line, and the one in file names."""

ON_REQUEST = ("kcsan",)
"""Kinds that are built only if somebody names them or one of their boots."""

Arch = Literal["x86_64", "arm64"]
_FILE = "guest/guest.toml"
_ONLY_A_MODULE = re.compile(r"^\s+depends on m$", re.MULTILINE)


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
    kinds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ValueError if a kind is unknown or has no methods."""
        _check_kinds(self.kinds)
        if not self.values or not all(self.kinds.values()):
            raise ValueError("there must be at least one method")

    def of(self, kind: str) -> tuple[str, ...]:
        """Return the methods to try on a kind of kernel."""
        return self.kinds.get(kind, self.values)


@dataclass(frozen=True)
class KernelTest:
    """A test of the kernel itself, built in or a module, that runs a list of tests by a mask.

    Each of its threads prints a line for each test, which `mmbatch.guest.qemu` reads:
    "Summary: NAME passed: N failed: N".

    Attributes:
        module: name of the module.
        source: its file in the kernel's source.
        tests: pattern whose first group is the name of a test there.
        kconfig: the file that has its option.
        option: the option, without CONFIG_.
        mask: the parameter that chooses tests, bit 0 the first.
        threads: the parameter that says how many threads run each test.
        parameters: all parameters that it gets, those two among them.
        debug_parameters: those that differ in kernels with debugging options, where a test can
            take a hundred times as long.
    """

    module: str
    source: str
    tests: load.Pattern
    kconfig: str
    option: str
    mask: str
    threads: str
    parameters: Mapping[str, load.Count]
    debug_parameters: Mapping[str, load.Count] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ValueError if one is missing, or would be another in some kernels."""
        for name in (self.mask, self.threads):
            if name not in self.parameters:
                raise ValueError(f"'parameters' has no {name}")
        for name in self.debug_parameters:
            if name not in self.parameters or name == self.threads:
                raise ValueError(f"'debug_parameters' cannot set {name}")

    @property
    def cmdline(self) -> tuple[str, ...]:
        """The kernel's command line that runs it where it is built in."""
        return tuple(f"{self.module}.{name}={value}" for name, value in self.parameters.items())

    def settings(self, tree: Path, kind: str) -> dict[str, str]:
        """Return the shell variables for the script that loads it.

        TEST_PARAMETERS are the module's, and TEST_SUMMARIES is the number of lines that it
        prints.
        """
        words = (f"{name}={value}" for name, value in self._values(kind).items())
        summaries = len(self.chosen(tree, kind)) * self.parameters[self.threads]
        return {"TEST_PARAMETERS": " ".join(words), "TEST_SUMMARIES": str(summaries)}

    def _values(self, kind: str) -> dict[str, int]:
        return {**self.parameters, **({} if kind == PLAIN else self.debug_parameters)}

    def chosen(self, tree: Path, kind: str) -> list[str]:
        """Return the names of the tests that run on a kind of kernel, of those in its source.

        Raises:
            MmbatchError: the source has none at the expected place.
        """
        path = tree / self.source
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        names = re.findall(self.tests, text, re.MULTILINE)
        if not names:
            raise MmbatchError(
                f"list the tests of {self.module}",
                f"there is no list of tests in {self.source}",
                "see where this kernel has them, and correct guest.toml",
            )
        mask = self._values(kind)[self.mask]
        return [name for bit, name in enumerate(names) if mask >> bit & 1]

    def only_a_module(self, tree: Path) -> bool:
        """Return whether it cannot be built in, so that a script must load it."""
        path = tree / self.kconfig
        pattern = rf"^config {re.escape(self.option)}\n((?:[ \t].*\n|\n)*)"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        entry = re.search(pattern, text, re.MULTILINE)
        return entry is not None and _ONLY_A_MODULE.search(entry[1]) is not None

    def absent(self, tree: Path, kind: str, passed: Iterable[str]) -> list[str]:
        """Return a sentence for each test that should have passed and did not."""
        passed_names = set(passed)
        return [
            f"{self.module}: {name} did not pass"
            for name in self.chosen(tree, kind)
            if name not in passed_names
        ]


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
        limit_s: seconds after which the boot is stopped, on a plain kernel and an idle machine.
        memory_gib: memory in GiB.
        pmem_gib: size of its NVDIMM in GiB; none if 0.
        cpus: number of CPUs.
        one_thread: whether one thread of QEMU emulates all CPUs. Needed by scripts that make
            the kernel patch code that another CPU runs: with a thread for each CPU, QEMU may
            go on with a breakpoint that the kernel has taken back.
        nodes: the NUMA nodes that the memory is spread over.
        slow_mib: MiB of memory on one more node, of a lower tier; none if 0.
        rows: names of measurements, of which each must have all columns.
        columns: names of the numbers in each row.
        settings: shell variables for the scripts.
        kinds: for each kind of kernel, more variables and what else differs.
        by_name: kinds of kernels that boot it only if somebody names it.
        counted: whether its clock counts instructions, as in `mmbatch guest bench`.
        least: by row that the kernel itself counts, how many times fewer "auto" must need than
            "base".
    """

    name: str
    arch: Arch
    scripts: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    kernel_test: bool = False
    cmdline: tuple[str, ...] = ()
    limit_s: load.Count = 600
    memory_gib: load.Count = 2
    pmem_gib: load.Natural = 0
    cpus: load.Count = 2
    one_thread: bool = False
    nodes: load.Count = 1
    slow_mib: load.Natural = 0
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, KindSettings] = field(default_factory=dict)
    by_name: tuple[str, ...] = ()
    counted: bool = False
    least: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ValueError if a kind is unknown, or nothing or too much runs."""
        _check_kinds((*self.kinds, *self.by_name))
        if bool(self.scripts) == bool(self.suites):
            raise ValueError("either 'scripts' or 'suites' is needed")


@dataclass(frozen=True)
class KindSettings:
    """What differs in an extra boot of one kind of kernel.

    Attributes:
        settings: more shell variables for the scripts.
        without: features that its CPUs lack, as QEMU calls them.
        threads: whether each CPU has a thread of QEMU here, even if the boot has `one_thread`.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    threads: bool = False


@dataclass(frozen=True)
class Count:
    """What `mmbatch guest bench` counts.

    Attributes:
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
        speedup: the speed-up.
    """

    arches: tuple[Arch, ...]
    item_bytes: load.Count
    cases: Mapping[str, str]
    proof: str
    least: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    script: str = ""
    suites: tuple[str, ...] = ()
    cmdline: tuple[str, ...] = ()
    twice: bool = False
    speedup: str = field(default="", metadata=load.NOT_IN_FILE)

    def __post_init__(self) -> None:
        """Raise ValueError if nothing is counted, or something else must be counted."""
        if not self.arches or not self.cases:
            raise ValueError("'arches' and 'cases' must not be empty")
        for arch, cases in self.least.items():
            unknown = sorted(set(cases) - set(self.cases))
            if arch not in self.arches or unknown:
                raise ValueError(f"'least' has the unknown {unknown[0] if unknown else arch}")


@dataclass(frozen=True)
class Plan:
    """What booted kernels run and count of one speed-up.

    Attributes:
        programs: C files in it, without .c, that the scripts need as programs.
        methods: the methods that its scripts try, if any.
        scripts: its scripts in every boot that has programs, in this order.
        boots: boots of its own.
        kernel_test: a test of the kernel itself that covers what the speed-up changes, if any.
        count: what is counted, if anything.
        speedup: the speed-up.
        directory: its guest/ directory.
    """

    programs: tuple[str, ...] = ()
    methods: Methods | None = field(default=None, metadata=load.key("method"))
    scripts: tuple[str, ...] = ()
    boots: tuple[ExtraBoot, ...] = field(default=(), metadata=load.key("boot"))
    kernel_test: KernelTest | None = None
    count: Count | None = None
    speedup: str = field(default="", metadata=load.NOT_IN_FILE)
    directory: Path = field(default=Path(), metadata=load.NOT_IN_FILE)


def load_plans(speedups: Path = paths.SPEEDUPS) -> dict[str, Plan]:
    """Return the plans of all speed-ups that have one, by name.

    Raises:
        MmbatchError: a guest.toml is wrong.
    """
    found = sorted(path.parent.parent for path in speedups.glob(f"*/{_FILE}"))
    return {
        directory.name: read(directory) for directory in found if not directory.name.startswith("_")
    }


def plans_of(speedups: Iterable[str]) -> list[Plan]:
    """Return the plans of some speed-ups, in this order."""
    every = load_plans()
    return [every[name] for name in speedups if name in every]


def read(directory: Path) -> Plan:
    """Read the guest.toml of a speed-up's directory.

    Raises:
        MmbatchError: it is wrong, or a file that it names does not exist.
    """
    path = directory / _FILE
    plan = load.from_toml(Plan, path)
    if plan.count is not None:
        plan = replace(plan, count=replace(plan.count, speedup=directory.name))
    plan = replace(plan, speedup=directory.name, directory=path.parent)
    scripts = [*plan.scripts, *(name for boot in plan.boots for name in boot.scripts)]
    if plan.count is not None and plan.count.script:
        scripts.append(plan.count.script)
    for name in [*(f"{name}.sh" for name in scripts), *(f"{name}.c" for name in plan.programs)]:
        if not (plan.directory / name).exists():
            raise load.wrong(path, f"there is no {name} beside it")
    return plan


def _check_kinds(kinds: Iterable[str]) -> None:
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise ValueError(f"unknown kind '{unknown[0]}'")
