# SPDX-License-Identifier: GPL-2.0-only
"""Boot a distribution's kernel as it is, and patch it while it runs."""

from __future__ import annotations

import hashlib
import lzma
import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core.cache import Cache
from mmbatch.core.errors import MmbatchError
from mmbatch.guest import boots, qemu
from mmbatch.guest import plan as guestplan
from mmbatch.guest.build import ARCHES, GuestKernel
from mmbatch.guest.log import Heard
from mmbatch.guest.qemu import Boot, Booted
from mmbatch.live import refused as liverefused
from mmbatch.live import tool as livetool
from mmbatch.live.build import Module

OBSERVERS = ("memmap_image", "vmap_image", "folio_image")
"""Modules of ours, in guest/, that look at what is left behind."""

LEAST = {
    "fsdax": 2.5,
    "devdax-2m": 2.5,
    "vmap-order-1": 0.95,
    "vmap-order4": 2.5,
    "vmap-order8": 2.5,
    "vmap-order9": 5.0,
}
"""How many times fewer instructions each case has to take when it is patched."""

_CONTROL = 0.01  # how far from each other may be before, and after unload

_SCRIPTS = (
    *("live_start", "live", "live_vmap", "live_folio_copy", "live_stacked"),
    *("live_tool", "live_refused", "live_signed"),
)
_DRIVERS = ("nfit", "nd_pmem", "device_dax", "dax_pmem")
_SPARE = "dummy"
_MOVERS = ("move_pages", "move_huge")
_LIMIT_S = 1800
_SECONDS_A_ROUND = 30
_ROUNDS_GIB = 1

# With it a stock kernel dies under QEMU 7.2, before any module of ours is there: its flags
# are garbage after cmpxchg16b.
_BROKEN = ("cx16",)


@dataclass(frozen=True)
class Stock:
    """A distribution's kernel, unpacked.

    Attributes:
        release: of it.
        folder: where its package lies.
    """

    release: str
    folder: Path

    def modules(self, names: Sequence[str]) -> dict[str, bytes]:
        """Return modules and all that they need, in an order in which they can be loaded.

        Those that are built into the kernel are left out.

        Raises:
            MmbatchError: there is none of a name.
        """
        found: dict[str, bytes] = {}

        def visit(name: str) -> None:
            if name in found or name in self._built_in():
                return
            content = self._read(name)
            for need in _needs(content):
                visit(need)
            found[name] = content

        for name in names:
            visit(name)
        return found

    def kernel(self) -> GuestKernel:
        """Return it as what QEMU boots."""
        config = self._part("config").read_bytes()
        return GuestKernel(
            self.release,
            f"Debian's {self.release}",
            ARCHES["x86_64"],
            self._part("vmlinuz"),
            (),
            hashlib.sha256(config).hexdigest(),
        )

    def _part(self, name: str) -> Path:
        """Return a file that is in boot/, or beside the modules in newer packages."""
        boot = self.folder / f"boot/{name}-{self.release}"
        return boot if boot.exists() else self._library / name

    def _built_in(self) -> set[str]:
        text = (self._library / "modules.builtin").read_text(encoding="utf-8")
        return {Path(line).stem.replace("-", "_") for line in text.splitlines()}

    def _read(self, name: str) -> bytes:
        pattern = re.compile(name.replace("_", "[-_]") + r"\.ko(\.xz)?")
        for path in self._library.rglob("*.ko*"):
            if pattern.fullmatch(path.name):
                content = path.read_bytes()
                return lzma.decompress(content) if path.suffix == ".xz" else content
        raise MmbatchError(
            f"take the module {name} from Linux {self.release}",
            "it is not in its package",
            "use another of the distribution's kernels",
        )

    @property
    def _library(self) -> Path:
        merged = self.folder / "usr/lib/modules" / self.release
        return merged if merged.exists() else self.folder / "lib/modules" / self.release


def _needs(module: bytes) -> list[str]:
    match = re.search(rb"\0depends=([^\0]*)\0", b"\0" + module)
    names = match[1].decode().replace("-", "_").split(",") if match else []
    return [name for name in names if name]


@dataclass(frozen=True)
class Plan:
    """What is to be asked of a patched kernel.

    Attributes:
        size_gib: size of the NVDIMM.
        rounds: how often the module goes in and out under load.
        samples: how often each side is counted.
    """

    size_gib: int
    rounds: int
    samples: int


@dataclass(frozen=True)
class Cargo:
    """What a guest is given to load.

    Attributes:
        modules: the speed-ups, by name.
        observers: modules that look at what was done, by name.
        signed: one of the speed-ups, with the signature of a key that the kernel lacks.
        rival: a livepatch of another name that replaces what one of them does.
    """

    modules: Mapping[str, Module]
    observers: Mapping[str, bytes]
    signed: bytes
    rival: Module

    def files(self) -> dict[str, bytes]:
        """Return the files of a guest, by name."""
        every = [*self.modules.values(), self.rival]
        ours = {f"modules/{one.name}.ko": one.path.read_bytes() for one in every}
        return ours | {f"modules/{name}.ko": content for name, content in self.observers.items()}

    def settings(self) -> dict[str, str]:
        """Return what the scripts are told of it."""
        return {
            "SPEEDUPS": " ".join(self.modules),
            "OBSERVERS": " ".join(self.observers),
            "RIVAL": self.rival.speedup,
        }


def functional(cache: Cache, stock: Stock, cargo: Cargo, plan: Plan) -> Booted:
    """Boot; see that both leave the same behind, and that unfit modules are refused.

    The CPUs are emulated in one thread: in several, under QEMU 7.2, a guest died at a breakpoint
    that the kernel's own patching of its code had set and taken away.

    Args:
        cache: where what is made on the way is kept.
        stock: the kernel.
        cargo: for it.
        plan: what is asked.
    """
    unfit = liverefused.all_variants(cargo.modules)
    refused = {f"refused/{name}.ko": content for name, (content, _) in unfit.items()}
    refused["refused/signed.ko"] = cargo.signed
    refused |= {f"refused/{name}.txt": words.encode() for name, (_, words) in unfit.items()}
    methods = guestplan.load_all()["zone_device"].methods
    settings = {
        "METHODS": " ".join(methods.values if methods else ()),
        "REFUSED": " ".join(unfit),
        "SPARE_MODULE": _SPARE,
    }
    boot = _boot(
        cache,
        "live",
        stock,
        cargo,
        _SCRIPTS,
        settings,
        {**refused, **livetool.files()},
        limit_s=_LIMIT_S,
        one_thread=True,
        pmem_gib=plan.size_gib,
    )
    return qemu.run(cache, boot)


def rounds(cache: Cache, stock: Stock, cargo: Cargo, plan: Plan) -> Booted:
    """Boot; load and unload again and again while memory is moved, mapped and bound.

    See `functional` for the arguments, and why one thread emulates all CPUs.
    """
    boot = _boot(
        cache,
        "live-rounds",
        stock,
        cargo,
        ["live_start", "live_rounds"],
        {"ROUNDS": str(plan.rounds), "SPARE_MODULE": _SPARE},
        {f"bin/{name}": boots.compiled(cache, boots.FILES / f"{name}.c") for name in _MOVERS},
        limit_s=_LIMIT_S + plan.rounds * _SECONDS_A_ROUND,
        nodes=2,
        one_thread=True,
        pmem_gib=_ROUNDS_GIB,
    )
    return qemu.run(cache, boot)


def count(cache: Cache, stock: Stock, cargo: Cargo, plan: Plan) -> Booted:
    """Boot; count the instructions of both in one boot."""
    boot = _boot(
        cache,
        "live-count",
        stock,
        cargo,
        ["live_start", "live_count"],
        {"ROUNDS": str(plan.samples)},
        {},
        limit_s=_LIMIT_S,
        counted=True,
        cpus=1,
        pmem_gib=plan.size_gib,
    )
    return qemu.run(cache, boot)


def _boot(
    cache: Cache,
    name: str,
    stock: Stock,
    cargo: Cargo,
    scripts: Sequence[str],
    settings: Mapping[str, str],
    files: Mapping[str, bytes],
    **fields: object,
) -> Boot:
    drivers = stock.modules(_DRIVERS)
    spare = stock.modules([_SPARE])
    modules = {f"modules/{one}.ko": content for one, content in (drivers | spare).items()}
    kernel = stock.kernel()
    first = boots.filesystem(
        cache,
        kernel,
        scripts,
        {"DRIVER_MODULES": " ".join(drivers), **cargo.settings(), **settings},
        {
            **modules,
            **cargo.files(),
            **files,
            "stock.sh": (boots.FILES / "stock.sh").read_bytes(),
            "zone_device/lib.sh": guestplan.load_all()["zone_device"]
            .folder.joinpath("lib.sh")
            .read_bytes(),
        },
    )
    return Boot(
        name,
        kernel,
        first,
        memory_gib=4,
        without=_BROKEN,
        **fields,  # type: ignore[arg-type]
    )


def ratios(heard: Heard) -> Iterator[tuple[str, float, float, float]]:
    """Yield (case, base, patched, control) in instructions an item, by medians."""
    counts: dict[str, dict[str, list[float]]] = {}
    for key, number in heard.values:
        case, _, variant = key.partition(" ")
        counts.setdefault(case, {}).setdefault(variant, []).append(number)
    for case, found in counts.items():
        if {"items", "base", "patched", "control"} <= set(found):
            base, patched, control = (
                statistics.median(found[variant]) / max(found["items"][0], 1)
                for variant in ("base", "patched", "control")
            )
            if min(base, patched, control) > 0:
                yield case, base, patched, control


def report_count(booted: Booted, tell: Callable[[str], None]) -> bool:
    """Tell what was counted, and whether it is enough."""
    good = report(booted, tell)
    found = list(ratios(booted.heard))
    for case, base, patched, control in found:
        tell(
            f"{case}: {base:.2f} instructions a page, patched {patched:.2f}, "
            f"after unload {control:.2f}: {base / patched:.2f} times fewer"
        )
        if base / patched < LEAST[case]:
            tell(f"FAILED {case}: at least {LEAST[case]} times fewer are asked for")
            good = False
        if abs(control / base - 1) > _CONTROL:
            tell(f"FAILED {case}: after unload it is not what it was, to {_CONTROL:.0%}")
            good = False
    for case in LEAST.keys() - {case for case, *_ in found}:
        tell(f"FAILED {case} was not counted")
        good = False
    return good


def report(booted: Booted, tell: Callable[[str], None]) -> bool:
    """Tell what a guest found, and whether all of it was good."""
    passed, failed, _ = booted.heard.verdicts(())
    if booted.trouble:
        failed.append(f"{booted.trouble}; its last lines:\n{qemu.last_lines(booted)}")
    for one in failed:
        tell(f"FAILED {one}")
    tell(f"{len(passed)} passed, {len(failed)} failed ({booted.wall_s:.0f} s)")
    return not failed
