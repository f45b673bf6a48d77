# SPDX-License-Identifier: GPL-2.0-only
"""Boot kernels: with KUnit suites, scripts and programs, or to count instructions."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.disk import temporary_dir
from mmbatch.core.errors import MmbatchError
from mmbatch.core.process import run
from mmbatch.debian import packages
from mmbatch.guest import build, initramfs, qemu
from mmbatch.guest.build import ARCHES, GuestKernel, Wanted
from mmbatch.guest.plan import PLAIN, Count, ExtraBoot, KindSettings, Plan, plans_of
from mmbatch.guest.qemu import Boot, Booted
from mmbatch.hosted.events import AUTO
from mmbatch.kernel.sources import Source
from mmbatch.splice import trees
from mmbatch.splice.manifest import Manifest, known, load_with_needs, suites_of

BASE = "base"
CONTROL = "control"
"""Base, measured a second time."""

SUITES_ON = ("kunit.enable=1", "kunit.autorun=1")
_SLOWER = {PLAIN: 1.0, "debug": 4.0, "kasan": 6.0, "kcsan": 6.0}
"""How many times slower than a plain kernel each kind may be."""

_PROGRAMS = ("ndctl", "daxctl", "mke2fs")
FILES = paths.ROOT / "guest"
"""What every guest is made from."""


@dataclass(frozen=True)
class GuestSetup:
    """Everything that guests are made from.

    Attributes:
        cache: the cache that keeps kernels and logs.
        source: the kernel's source.
        manifests: the speed-ups that are spliced into it.
        options: options added to its configuration, CONFIG_X=y each.
        jobs: how many compilers run at a time.
        say: called with a line for each phase.
    """

    cache: Cache
    source: Source
    manifests: list[Manifest]
    options: tuple[str, ...]
    jobs: int
    say: Callable[[str], None]

    def kernel(self, arch: str, kind: str = "") -> GuestKernel:
        """Return a kernel with the speed-ups, built unless the cache has it."""
        spliced = trees.splice(self.cache, self.source, self.manifests, paths.MACROS, self.say)
        fragments = (
            FILES,
            *(paths.SPEEDUPS / manifest.speedup / "guest" for manifest in self.manifests),
        )
        wanted = Wanted(ARCHES[arch], kind, self.options, fragments)
        return build.build(self.cache, self.source, spliced, wanted, self.jobs, self.say)

    @property
    def plans(self) -> list[Plan]:
        """What the guests run and count of each speed-up."""
        return plans_of(manifest.speedup for manifest in self.manifests)

    @property
    def suites(self) -> list[str]:
        """Names of the KUnit suites that the speed-ups add."""
        return [name for manifest in self.manifests for name in suites_of(manifest)]


def known_suites() -> list[str]:
    """Return the names of all KUnit suites that speed-ups add."""
    every = load_with_needs(paths.SPEEDUPS, *known(paths.SPEEDUPS))
    return [name for manifest in every for name in suites_of(manifest)]


def choose_speedups(source: Source) -> list[Manifest]:
    """Return every speed-up that is made for a kernel and that changes kernels."""
    every = load_with_needs(paths.SPEEDUPS, *known(paths.SPEEDUPS))
    return [manifest for manifest in every if source.series in manifest.kernels]


def filesystem(
    cache: Cache,
    kernel: GuestKernel,
    scripts: Sequence[str],
    settings: Mapping[str, str],
    others: Mapping[str, bytes] = MappingProxyType({}),
) -> bytes:
    """Return a guest's filesystem.

    Args:
        cache: keeps what is compiled on the way.
        kernel: its modules go into the filesystem.
        scripts: names of scripts, which run in this order; each is NAME.sh in `others`.
        settings: shell variables for them.
        others: more files, name to content.
    """
    found = [(name, packages.find_program(name)) for name in (*_PROGRAMS, "busybox")]
    absent = [name for name, path in found if path is None]
    if absent:
        raise MmbatchError(
            "make the guest's filesystem", f"no {' and no '.join(absent)}", "give --install"
        )
    *programs, busybox = [path for _, path in found if path is not None]
    files = {
        "init": (FILES / "init").read_bytes(),
        "lib.sh": (FILES / "lib.sh").read_bytes(),
        "scripts": " ".join(scripts).encode(),
        "settings": _settings(settings),
        **others,
    }
    for module in kernel.modules:
        files[f"modules/{module.name}"] = module.read_bytes()
    return initramfs.make(programs, files, busybox)


def speedup_files(cache: Cache, plan: Plan, settings: Mapping[str, str]) -> dict[str, bytes]:
    """Return the files of a speed-up in a guest: its scripts and settings, and its programs.

    The settings are shell variables, which init reads before each of its scripts.
    """
    files = {
        f"{plan.speedup}/{path.name}": path.read_bytes() for path in plan.directory.glob("*.sh")
    }
    files[f"{plan.speedup}/settings"] = _settings(settings)
    for name in plan.programs:
        files[f"bin/{name}"] = compiled(cache, plan.directory / f"{name}.c")
    return files


def programs(
    setup: GuestSetup, kernel: GuestKernel, name: str, kind: str, size_gib: int, rebinds: int
) -> Booted:
    """Boot with the KUnit suites, then run the scripts of all speed-ups on an NVDIMM.

    Args:
        setup: what the guest is made from.
        kernel: the kernel.
        name: name of the guest.
        kind: kind of the kernel, see `plan.KINDS`.
        size_gib: size of the NVDIMM in GiB.
        rebinds: how often a driver is bound again with method "auto"; at most 3 times with others.
    """
    others = min(rebinds, 3)
    common = {
        "KIND": kind,
        "NVDIMM_GIB": str(size_gib),
        "REBINDS": str(rebinds),
        "OTHER_REBINDS": str(others),
    }
    plans = [plan for plan in setup.plans if plan.scripts]
    files: dict[str, bytes] = {}
    words = [*SUITES_ON, *cmdline_of(kind)]
    tried = 0
    for plan in plans:
        settings = dict(common)
        if plan.methods is not None:
            methods = plan.methods.of(kind)
            tried += len(methods)
            settings |= {"METHODS": " ".join(methods), "BOOT_METHOD": methods[-1]}
            words.append(f"{plan.methods.parameter}={methods[-1]}")
        if plan.kernel_test is not None:
            settings |= plan.kernel_test.settings(setup.source.path, kind)
        files |= speedup_files(setup.cache, plan, settings)
    scripts = [f"{plan.speedup}/{script}" for plan in plans for script in plan.scripts]
    boot = Boot(
        name,
        kernel,
        filesystem(setup.cache, kernel, scripts, {}, files),
        limit_s=_SLOWER[kind] * (300 + 2 * (rebinds + others * tried) * (0.5 + size_gib * 0.15)),
        cmdline=tuple(words),
        memory_gib=_memory_gib(size_gib),
        pmem_gib=size_gib,
    )
    probe = Boot("kvm-probe", kernel, filesystem(setup.cache, kernel, [], {}), 0.0)
    if qemu.kvm_works(setup.cache, probe, setup.say):
        boot = replace(boot, kvm=True)
    return qemu.run(setup.cache, boot)


def cmdline_of(kind: str) -> tuple[str, ...]:
    """Return what the command line of a kind of kernel has for its checks of memory."""
    words = ("page_poison=1",) if kind in ("debug", "kasan") else ()
    # identify_cpu() forgets for a moment that there are five levels of page tables. KASAN
    # then takes every address that an interrupt uses for a wild one.
    return (*words, "no5lvl") if kind == "kasan" else words


def suites(
    setup: GuestSetup, kernel: GuestKernel, name: str, cmdline: Sequence[str] = ()
) -> Booted:
    """Boot a kernel only to run its KUnit suites, with no filesystem."""
    boot = Boot(name, kernel, None, limit_s=600, cmdline=(*SUITES_ON, *cmdline))
    return qemu.run(setup.cache, boot)


def extra(
    setup: GuestSetup, kernel: GuestKernel, name: str, kind: str, plan: Plan, wanted: ExtraBoot
) -> Booted:
    """Boot what one speed-up asks for in its plan besides the boots that run everything."""
    words = [*(SUITES_ON if wanted.suites else ()), *wanted.cmdline, *cmdline_of(kind)]
    if wanted.kernel_test and plan.kernel_test is not None:
        words += plan.kernel_test.cmdline
    special = wanted.kinds.get(kind, KindSettings())
    first = None
    if wanted.scripts:
        settings = {**wanted.settings, **special.settings}
        files = speedup_files(setup.cache, plan, settings)
        scripts = [f"{plan.speedup}/{script}" for script in wanted.scripts]
        first = filesystem(setup.cache, kernel, scripts, {}, files)
    boot = Boot(
        name,
        kernel,
        first,
        limit_s=_SLOWER[kind] * wanted.limit_s,
        cmdline=tuple(words),
        memory_gib=wanted.memory_gib,
        pmem_gib=wanted.pmem_gib,
        cpus=wanted.cpus,
        one_thread=wanted.one_thread and not special.threads,
        nodes=wanted.nodes,
        slow_mib=wanted.slow_mib,
        without=special.without,
        counted=wanted.counted,
    )
    return qemu.run(setup.cache, boot)


def count_at_boot(setup: GuestSetup, kernel: GuestKernel, count: Count, rounds: int) -> Booted:
    """Count instructions with what the kernel itself runs at boot, where it has no programs."""
    boot = Boot(
        f"bench-{count.speedup}-{kernel.arch.name}",
        kernel,
        None,
        limit_s=300 + 60 * rounds,
        cmdline=(*SUITES_ON, *(word.replace("{rounds}", str(rounds)) for word in count.cmdline)),
        cpus=1,
        counted=True,
    )
    return qemu.run(setup.cache, boot)


def count_by_script(
    setup: GuestSetup, kernel: GuestKernel, count: Count, size_gib: int, rounds: int
) -> Booted:
    """Count instructions of each method, base among them, with a script on an NVDIMM."""
    (plan,) = plans_of([count.speedup])
    values = plan.methods.values if plan.methods is not None else (BASE, AUTO)
    fixed = [name for name in values if name not in (BASE, AUTO)]
    settings = {"METHODS": " ".join((BASE, CONTROL, *fixed, AUTO)), "ROUNDS": str(rounds)}
    files = speedup_files(setup.cache, plan, settings)
    boot = Boot(
        f"bench-{count.speedup}-{kernel.arch.name}",
        kernel,
        filesystem(setup.cache, kernel, [f"{plan.speedup}/{count.script}"], {}, files),
        limit_s=240 + 2 * rounds * len(values) * (1 + size_gib),
        cmdline=(*SUITES_ON, *count.cmdline),
        memory_gib=_memory_gib(size_gib),
        pmem_gib=size_gib,
        cpus=1,
        counted=True,
    )
    return qemu.run(setup.cache, boot)


def _memory_gib(size_gib: int) -> int:
    """Return the memory in GiB of a guest that has the memmap of an NVDIMM in it."""
    return 4 if size_gib > 8 else 2


def _settings(settings: Mapping[str, str]) -> bytes:
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in settings.items()).encode()


def compiled(cache: Cache, source: Path) -> bytes:
    """Return a program for guests, made from one C file."""
    with temporary_dir(cache.downloads, source.stem) as directory:
        program = directory / source.stem
        run(
            ["gcc", "-static", "-O2", "-Wall", "-o", program, source],
            action=f"compile {source.name} for the guest",
        )
        return program.read_bytes()
