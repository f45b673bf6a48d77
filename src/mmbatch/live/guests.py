# SPDX-License-Identifier: GPL-2.0-only
"""The guests of `mmbatch live test`: what each one boots with, and what it runs."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mmbatch.core.cache import Cache
from mmbatch.guest import boots, qemu
from mmbatch.guest.build import ARCHES, GuestKernel
from mmbatch.guest.qemu import Boot, Booted
from mmbatch.live import payload
from mmbatch.live.kernel import Stock
from mmbatch.live.payload import Payload

PLUGS = {"dimm": "dimm_gib", "virtio-mem": "virtio_mem_gib", "dax": "pmem_gib"}
"""How memory can come to a guest, and what of `Boot` says how much."""

_SPARE = "dummy"  # a module of the stock kernel that nobody needs
_LIMIT_S = 1800
_SECONDS_A_ROUND = 30
_SECONDS_A_PLUGGED_GIB = 20
_ROUNDS_GIB = 1
_MEMORY_GIB = 4
_MEMMAP_SHARE = 64
"""The memmap of so many GiB takes one. That of the NVDIMM may be in the guest's memory."""

# With this CPU feature, a stock kernel dies under QEMU 7.2 before any of our modules is
# loaded: its flags are garbage after cmpxchg16b.
_BROKEN = ("cx16",)


@dataclass(frozen=True)
class Plan:
    """How much is tested.

    Attributes:
        size_gib: size of the NVDIMM.
        rounds: how often a module is loaded and unloaded under load.
        samples: how often each side is counted.
    """

    size_gib: int
    rounds: int
    samples: int


QUICK = Plan(size_gib=1, rounds=3, samples=3)
"""What the tests of the project run."""


def functional(cache: Cache, stock: Stock, load: Payload, plan: Plan) -> Booted:
    """Boot; compare the results of both sides, run the tool, and load modules that don't fit.

    One thread emulates all CPUs: with several, under QEMU 7.2, a guest died at a breakpoint
    that the kernel's patching of its own code had set and already removed.
    """
    compare = [test.script for test in load.tests]
    boot = _boot(
        cache,
        "live",
        stock,
        load,
        ["start", *compare, "stacked", "tool", "faults", "refused", "signed"],
        {"REFUSED": " ".join(load.refused), **load.tool_settings()},
        {
            **load.refused_files(),
            **load.fault_files(),
            **payload.tool_files(),
            **_programs(cache, load),
        },
        limit_s=_LIMIT_S,
        one_thread=True,
        pmem_gib=plan.size_gib,
    )
    return qemu.run(cache, boot)


def once(cache: Cache, stock: Stock, load: Payload) -> Booted:
    """Boot; load all speed-ups, use them, and unload them.

    See `functional` for why one thread emulates all CPUs.
    """
    boot = _boot(
        cache,
        "live-once",
        stock,
        load,
        ["start", "stacked"],
        {},
        {},
        limit_s=_LIMIT_S,
        one_thread=True,
        pmem_gib=_ROUNDS_GIB,
    )
    return qemu.run(cache, boot)


def extra(
    cache: Cache, stock: Stock, load: Payload, speedup: str, wanted: payload.ExtraBoot
) -> Booted:
    """Boot what one speed-up asks for besides the boots of all.

    See `functional` for why one thread emulates all CPUs.
    """
    boot = _boot(
        cache,
        f"live-{speedup}-{wanted.name}",
        stock,
        load,
        ["start", f"{speedup}_{wanted.name}"],
        {},
        {},
        limit_s=_LIMIT_S,
        one_thread=True,
        cmdline=wanted.cmdline,
        cpus=wanted.cpus,
        pmem_gib=wanted.pmem_gib,
    )
    return qemu.run(cache, boot)


def rounds(cache: Cache, stock: Stock, load: Payload, plan: Plan) -> Booted:
    """Boot; load and unload again and again while the memory is in use.

    See `functional` for why one thread emulates all CPUs.
    """
    boot = _boot(
        cache,
        "live-rounds",
        stock,
        load,
        ["start", "rounds"],
        {"ROUNDS": str(plan.rounds)},
        {**_programs(cache, load), "bin/random_calls": boots.compiled(cache, payload.RANDOM_CALLS)},
        limit_s=_LIMIT_S + plan.rounds * _SECONDS_A_ROUND,
        nodes=2,
        one_thread=True,
        pmem_gib=_ROUNDS_GIB,
    )
    return qemu.run(cache, boot)


def count(cache: Cache, stock: Stock, load: Payload, plan: Plan) -> Booted:
    """Boot; count the instructions of both sides in one boot."""
    boot = _boot(
        cache,
        "live-count",
        stock,
        load,
        ["start", "count"],
        {"ROUNDS": str(plan.samples)},
        {},
        limit_s=_LIMIT_S,
        counted=True,
        cpus=1,
        pmem_gib=plan.size_gib,
    )
    return qemu.run(cache, boot)


def plugged(cache: Cache, stock: Stock, load: Payload, kind: str, gib: int) -> Booted:
    """Boot; let memory come and go, and count the instructions of both sides in one boot.

    Args:
        cache: for the guest.
        stock: its kernel.
        load: what it loads.
        kind: how the memory comes; of PLUGS.
        gib: how much. Nothing touches it but its memmap, which is in the guest's own memory.
    """
    boot = _boot(
        cache,
        f"live-plug-{kind}",
        stock,
        load,
        ["start", "plug"],
        {"PLUG": kind},
        {},
        limit_s=_LIMIT_S + gib * _SECONDS_A_PLUGGED_GIB,
        counted=True,
        cpus=1,
        cmdline=("memhp_default_state=offline",),
        **{PLUGS[kind]: gib},
    )
    return qemu.run(cache, boot)


def _boot(
    cache: Cache,
    name: str,
    stock: Stock,
    load: Payload,
    scripts: Sequence[str],
    settings: Mapping[str, str],
    files: Mapping[str, bytes],
    **fields: object,
) -> Boot:
    drivers = stock.modules([*load.drivers, *(name for name in load.optional if stock.has(name))])
    spare = stock.modules([_SPARE])
    modules = {f"modules/{module}.ko": content for module, content in (drivers | spare).items()}
    digest = hashlib.sha256(stock.part("config").read_bytes()).hexdigest()
    image, title = stock.part("vmlinuz"), f"Debian's {stock.release}"
    stock_kernel = GuestKernel(stock.release, title, ARCHES["x86_64"], image, (), digest, "")
    filesystem = boots.filesystem(
        cache,
        stock_kernel,
        scripts,
        {
            "DRIVER_MODULES": " ".join(drivers),
            "SPARE_MODULE": _SPARE,
            **load.settings(),
            **settings,
        },
        {**modules, **load.files(), **files},
    )
    boot = Boot(
        name,
        stock_kernel,
        filesystem,
        memory_gib=_MEMORY_GIB,
        without=_BROKEN,
        **fields,  # type: ignore[arg-type]
    )
    added = boot.pmem_gib + boot.dimm_gib + boot.virtio_mem_gib
    return dataclasses.replace(boot, memory_gib=_MEMORY_GIB + added // _MEMMAP_SHARE)


def _programs(cache: Cache, load: Payload) -> dict[str, bytes]:
    """Return the programs of the speed-ups' guest.toml, by file name."""
    names = dict.fromkeys(name for test in load.tests for name in test.programs)
    return {f"bin/{name}": boots.compiled(cache, payload.source(name)) for name in names}
