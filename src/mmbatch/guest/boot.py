# SPDX-License-Identifier: GPL-2.0-only
"""What is asked of booted kernels: suites, real drivers, instruction counts."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from mmbatch.core import paths as checkout
from mmbatch.core.cache import Cache, temporary_dir
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.process import run
from mmbatch.debian import guestneeds
from mmbatch.guest import build as guestbuild
from mmbatch.guest import initramfs, qemu
from mmbatch.guest import vmalloc as guestvmalloc
from mmbatch.guest.build import ARCHES, GuestKernel, Wanted
from mmbatch.guest.qemu import Boot, Booted
from mmbatch.hosted.events import AUTO
from mmbatch.kernel.sources import Source
from mmbatch.splice import manifest
from mmbatch.splice import trees as splice
from mmbatch.splice.manifest import Manifest

METHODS = ("base", "auto", "movdir64b", "movnti", "copy", "wide")
"""Of zone_device: what its parameter takes; a machine may lack some."""

CONTROL = "control"
"""Base a second time, in measurements."""

SUITES_ON = ("kunit.enable=1", "kunit.autorun=1")
_TRIAL_GIB = 13  # where auto tries three methods; the emulated CPU has no movdir64b
_PROGRAMS = ("ndctl", "daxctl", "mke2fs")
ROOM = checkout.ROOT / "guest"
"""What guests are made from."""


@dataclass(frozen=True)
class Workshop:
    """Where guests are made, and from what.

    Attributes:
        cache: where everything is kept.
        source: the kernel.
        manifests: the speed-ups that go into it.
        options: more of its configuration.
        jobs: compilers at a time.
        say: told of each phase.
    """

    cache: Cache
    source: Source
    manifests: list[Manifest]
    options: tuple[str, ...]
    jobs: int
    say: Callable[[str], None]

    def kernel(self, arch: str, kind: str = "") -> GuestKernel:
        """Return a kernel with the speed-ups, built if it must be."""
        spliced = splice.splice(self.cache, self.source, self.manifests, checkout.MACROS, self.say)
        wanted = Wanted(ARCHES[arch], kind, self.options, ROOM)
        return guestbuild.build(self.cache, self.source, spliced, wanted, self.jobs, self.say)

    @property
    def suites(self) -> list[str]:
        """Names of the KUnit suites that the speed-ups bring."""
        return [name for one in self.manifests for name in manifest.suites_of(one)]


def choose_speedups(source: Source) -> list[Manifest]:
    """Return every speed-up that is made for a kernel and that changes kernels."""
    every = manifest.load_with_needs(checkout.SPEEDUPS, *manifest.known(checkout.SPEEDUPS))
    return [one for one in every if source.series in one.kernels]


def check_words(options: Sequence[str]) -> None:
    """Raise MmbatchError unless all options look like CONFIG_X=y."""
    for option in options:
        if not re.fullmatch(r"CONFIG_[A-Z0-9_]+=\S+", option):
            raise MmbatchError(
                f"read -K {option}", "it is not CONFIG_NAME=value", "write it so", ExitCode.USAGE
            )


def filesystem(
    cache: Cache,
    kernel: GuestKernel,
    scripts: Sequence[str],
    settings: Mapping[str, str],
    others: Mapping[str, bytes] = MappingProxyType({}),
) -> bytes:
    """Return a guest's filesystem.

    Args:
        cache: for what is compiled on the way.
        kernel: whose modules go into it.
        scripts: names of guest/scripts/NAME.sh, which run in this order.
        settings: shell variables for them.
        others: what else goes into it, name to content.
    """
    found = [(name, guestneeds.find(name)) for name in (*_PROGRAMS, "busybox")]
    absent = [name for name, path in found if path is None]
    if absent:
        raise MmbatchError(
            "make the guest's filesystem", f"no {' and no '.join(absent)}", "give --install"
        )
    *programs, busybox = [path for _, path in found if path is not None]
    files = {
        "init": (ROOM / "init").read_bytes(),
        "lib.sh": (ROOM / "lib.sh").read_bytes(),
        "scripts": " ".join(scripts).encode(),
        "settings": _settings(settings).encode(),
        "bin/map_file": compiled(cache, ROOM / "map_file.c"),
        **others,
    }
    for name in scripts:
        files[f"{name}.sh"] = (ROOM / "scripts" / f"{name}.sh").read_bytes()
    for module in kernel.modules:
        files[f"modules/{module.name}"] = module.read_bytes()
    return initramfs.make(programs, files, busybox)


def drivers(
    workshop: Workshop,
    kernel: GuestKernel,
    name: str,
    size_gib: int,
    rebinds: int,
    slow: float,
    methods: Sequence[str],
    cmdline: Sequence[str] = (),
) -> Booted:
    """Boot with the suites on, then let real drivers bind, unbind and use an NVDIMM.

    Args:
        workshop: where.
        kernel: what boots.
        name: of the guest.
        size_gib: size of the NVDIMM.
        rebinds: how often each driver is bound again with method "auto"; fewer with others.
        slow: how many times slower than an ordinary kernel this one may be.
        methods: those to try; the last is also given on the kernel's command line.
        cmdline: more of that.
    """
    others = min(rebinds, 3)
    settings = {
        "METHODS": " ".join(methods),
        "BOOT_METHOD": methods[-1],
        "TRIAL": "yes" if size_gib >= _TRIAL_GIB and len(methods) == len(METHODS) else "no",
        "REBINDS": str(rebinds),
        "OTHER_REBINDS": str(others),
        **guestvmalloc.settings(workshop.source.path),
    }
    boot = Boot(
        name,
        kernel,
        filesystem(workshop.cache, kernel, ["drivers", "hmm", "vmalloc", "ptdump"], settings),
        limit_s=slow * (300 + 2 * (rebinds + others * len(methods)) * (0.5 + size_gib * 0.15)),
        cmdline=(*SUITES_ON, f"zone_device.method={methods[-1]}", *cmdline),
        memory_gib=4 if size_gib > 8 else 2,
        pmem_gib=size_gib,
    )
    probe = Boot("kvm-probe", kernel, filesystem(workshop.cache, kernel, [], {}), 0.0)
    if qemu.kvm_works(workshop.cache, probe, workshop.say):
        boot = qemu.with_kvm(boot)
    return qemu.run(workshop.cache, boot)


def suites(
    workshop: Workshop, kernel: GuestKernel, name: str, cmdline: Sequence[str] = ()
) -> Booted:
    """Boot a kernel only to run its KUnit suites, with no filesystem."""
    boot = Boot(name, kernel, None, limit_s=600, cmdline=(*SUITES_ON, *cmdline))
    return qemu.run(workshop.cache, boot)


def bench_at_boot(workshop: Workshop, kernel: GuestKernel, speedup: str, rounds: int) -> Booted:
    """Count instructions with what a speedup measures at boot, where there are no programs."""
    boot = Boot(
        f"bench-{speedup}-{kernel.arch.name}",
        kernel,
        None,
        limit_s=300 + 60 * rounds,
        cmdline=(
            *SUITES_ON,
            f"kunit.filter_glob={speedup}",
            f"{speedup}_bench.rounds={rounds}",
            guestvmalloc.OFF,
        ),
        cpus=1,
        counted=True,
    )
    return qemu.run(workshop.cache, boot)


def bench(workshop: Workshop, kernel: GuestKernel, size_gib: int, rounds: int) -> Booted:
    """Count instructions of each method, base among them, in one boot."""
    fixed = [name for name in METHODS[1:] if name != AUTO]
    settings = {
        "METHODS": " ".join((METHODS[0], CONTROL, *fixed, AUTO)),
        "ROUNDS": str(rounds),
        "HMM_ROUNDS": str(max(10, rounds)),
    }
    boot = Boot(
        "bench",
        kernel,
        filesystem(workshop.cache, kernel, ["bench"], settings),
        limit_s=240 + 2 * rounds * len(METHODS) * (1 + size_gib),
        cmdline=SUITES_ON,
        memory_gib=4 if size_gib > 8 else 2,
        pmem_gib=size_gib,
        cpus=1,
        counted=True,
    )
    return qemu.run(workshop.cache, boot)


def cpus() -> int:
    """Return how many compilers run at a time unless the user says so."""
    return os.cpu_count() or 1


def _settings(settings: Mapping[str, str]) -> str:
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in settings.items())


def compiled(cache: Cache, source: Path) -> bytes:
    """Return a program for guests, made from one C file."""
    with temporary_dir(cache.downloads, source.stem) as folder:
        program = folder / source.stem
        run(
            ["gcc", "-static", "-O2", "-Wall", "-o", program, source],
            action=f"compile {source.name} for the guest",
        )
        return program.read_bytes()
