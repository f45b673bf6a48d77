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

from mmbatch import guest, liverefused, livetool, qemu
from mmbatch.cache import Cache
from mmbatch.errors import MmbatchError
from mmbatch.guestbuild import ARCHES, GuestKernel
from mmbatch.guestlog import Heard
from mmbatch.livebuild import Module
from mmbatch.qemu import Boot, Booted

SPEEDUP = "zone_device"

LEAST = 2.5
"""How many times fewer instructions a patched rebind has to take."""

_DRIVERS = ("nfit", "nd_pmem", "device_dax", "dax_pmem")
_SPARE = "dummy"
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
        config = (self.folder / f"boot/config-{self.release}").read_bytes()
        return GuestKernel(
            self.release,
            f"Debian's {self.release}",
            ARCHES["x86_64"],
            self.folder / f"boot/vmlinuz-{self.release}",
            (),
            hashlib.sha256(config).hexdigest(),
        )

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


def functional(cache: Cache, stock: Stock, module: Module, digests: bytes, plan: Plan) -> Booted:
    """Boot; see that both write the same memmap, and that unfit modules are refused.

    The CPUs are emulated in one thread: in several, under QEMU 7.2, a guest died at a breakpoint
    that the kernel's own patching of its code had set and taken away.

    Args:
        cache: where what is made on the way is kept.
        stock: the kernel.
        module: for it.
        digests: the module that tells digests of a memmap.
        plan: what is asked.
    """
    unfit = liverefused.variants(module.path)
    refused = {f"refused/{name}.ko": content for name, (content, _) in unfit.items()}
    refused |= {f"refused/{name}.txt": words.encode() for name, (_, words) in unfit.items()}
    settings = {
        "DIGESTS": "memmap_image",
        "METHODS": " ".join(guest.METHODS),
        "REFUSED": " ".join(unfit),
    }
    boot = _boot(
        cache,
        "live",
        stock,
        module,
        ["live_start", "live", "live_tool", "live_refused"],
        settings,
        {
            **refused,
            **livetool.files(),
            "modules/memmap_image.ko": digests,
        },
        limit_s=_LIMIT_S,
        one_thread=True,
        pmem_gib=plan.size_gib,
    )
    return qemu.run(cache, boot)


def rounds(cache: Cache, stock: Stock, module: Module, digests: bytes, plan: Plan) -> Booted:
    """Boot; load and unload again and again while memory is moved, mapped and bound.

    See `functional` for the arguments, and why one thread emulates all CPUs.
    """
    boot = _boot(
        cache,
        "live-rounds",
        stock,
        module,
        ["live_start", "live_rounds"],
        {"DIGESTS": "memmap_image", "ROUNDS": str(plan.rounds), "SPARE_MODULE": _SPARE},
        {
            "modules/memmap_image.ko": digests,
            "bin/move_pages": guest.compiled(cache, guest.ROOM / "move_pages.c"),
        },
        limit_s=_LIMIT_S + plan.rounds * _SECONDS_A_ROUND,
        nodes=2,
        one_thread=True,
        pmem_gib=_ROUNDS_GIB,
    )
    return qemu.run(cache, boot)


def count(cache: Cache, stock: Stock, module: Module, plan: Plan) -> Booted:
    """Boot; count the instructions of both in one boot."""
    settings = {"ROUNDS": str(plan.samples)}
    boot = _boot(
        cache,
        "live-count",
        stock,
        module,
        ["live_start", "live_count"],
        settings,
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
    module: Module,
    scripts: Sequence[str],
    settings: Mapping[str, str],
    files: Mapping[str, bytes],
    **fields: object,
) -> Boot:
    drivers = stock.modules(_DRIVERS)
    spare = stock.modules([_SPARE])
    modules = {f"modules/{one}.ko": content for one, content in (drivers | spare).items()}
    modules[f"modules/{module.name}.ko"] = module.path.read_bytes()
    kernel = stock.kernel()
    first = guest.filesystem(
        cache,
        kernel,
        scripts,
        {"DRIVER_MODULES": " ".join(drivers), **settings},
        {**modules, **files, "stock.sh": (guest.ROOM / "stock.sh").read_bytes()},
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
    """Yield (case, base, patched, control) in instructions a descriptor, by medians."""
    counts: dict[str, dict[str, list[float]]] = {}
    for key, number in heard.values:
        case, _, variant = key.partition(" ")
        counts.setdefault(case, {}).setdefault(variant, []).append(number)
    for case, found in counts.items():
        if {"items", "base", "patched", "control"} <= set(found):
            items = found["items"][0]
            base, patched, control = (
                statistics.median(found[variant]) / items
                for variant in ("base", "patched", "control")
            )
            yield case, base, patched, control


def report_count(booted: Booted, tell: Callable[[str], None]) -> bool:
    """Tell what was counted, and whether it is enough."""
    good = report(booted, tell)
    found = list(ratios(booted.heard))
    for case, base, patched, control in found:
        tell(
            f"{case}: {base:.2f} instructions a descriptor, patched {patched:.2f}, "
            f"after unload {control:.2f}: {base / patched:.2f} times fewer"
        )
        if base / patched < LEAST:
            tell(f"FAILED {case}: at least {LEAST} times fewer are asked for")
            good = False
    if not found:
        tell("FAILED nothing was counted")
    return good and bool(found)


def report(booted: Booted, tell: Callable[[str], None]) -> bool:
    """Tell what a guest found, and whether all of it was good."""
    passed, failed, _ = booted.heard.verdicts(())
    if booted.trouble:
        failed.append(f"{booted.trouble}; its last lines:\n{qemu.last_lines(booted)}")
    for one in failed:
        tell(f"FAILED {one}")
    tell(f"{len(passed)} passed, {len(failed)} failed ({booted.wall_s:.0f} s)")
    return not failed
