# SPDX-License-Identifier: GPL-2.0-only
"""Boot a kernel under QEMU and wait for its end, or until it has been silent for long."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import re
import time
from dataclasses import dataclass, replace
from pathlib import Path

from mmbatch.bench import machine
from mmbatch.core import cache, log
from mmbatch.core.errors import MmbatchError
from mmbatch.core.process import cpus, stream
from mmbatch.guest import console, initramfs
from mmbatch.guest.console import Outcome
from mmbatch.guest.kernel import GuestKernel
from mmbatch.guest.plan import Boot

_LIMIT_S = 4 * 3600
_SILENCE_S = 5400
"""KUnit suites take five minutes under KASAN, and much longer on a machine that has other work."""

_PROBE_S = 20
_MOST_AT_ONCE = 2
_EACH_BYTES = 6 << 30  # what one guest may take, with 4 GiB of memory and an NVDIMM
_LAST_LINES = 12
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?=]*[A-Za-z]|c)")  # the firmware clears the screen
_FAST, _SLOW = (10, "10G"), (100, "1G")  # latency in ns, and bytes a second, as in the HMAT
_SAME_CPU = "family=15,model=107,stepping=1"
"""What QEMU 7.2 says of the CPU "max". For that of QEMU 10, Linux does not set REP_GOOD."""

_LABEL_MIB = 2  # taken from the memory after an NVDIMM, which must stay aligned
_MEMMAP_SHARE = 64
"""The memmap of so many GiB takes one. That of added memory may be in the guest's own."""


@dataclass(frozen=True)
class Guest:
    """A machine to boot."""

    boot: Boot
    kernel: GuestKernel
    initramfs: bytes | None  # None for a kernel that only runs its KUnit suites
    cmdline: tuple[str, ...] = ()  # besides that of `boot`
    title: str = ""  # of its files in the cache; by default that of `boot`
    kvm: bool = False  # ask `kvm_works` first

    @property
    def console_file(self) -> Path:
        """Where the cache keeps its console."""
        return cache.logs() / f"guest-{self.title or self.boot.title}.console"


@dataclass(frozen=True)
class Booted:
    """A guest that has ended."""

    guest: Guest
    outcome: Outcome
    lines: list[str]  # of its console
    wall_s: float
    trouble: str  # what went wrong with the boot; empty if nothing did

    @property
    def ran_stale_code(self) -> bool:
        """Whether the kernel panicked at a breakpoint that it may have removed already.

        QEMU can execute one if the kernel patches code, even at boot, while several threads
        emulate its CPUs.
        """
        boot = self.guest.boot
        threads = not (self.guest.kvm or boot.one_thread or boot.counted)
        return threads and any("Oops: int3:" in line for line in self.lines)

    @property
    def last_lines(self) -> str:
        """The last lines of its console, for an error message."""
        lines = [line for line in self.lines if line.strip()][-_LAST_LINES:]
        return "\n".join(f"    {line}" for line in lines)


def command(guest: Guest, filesystem: Path | None) -> list[str]:
    """Return QEMU's command line."""
    boot = guest.boot
    arm = boot.arch == "arm64"
    cpu = "host" if guest.kvm else "max,pauth-impdef=on" if arm else f"max,{_SAME_CPU}"
    cpu += "".join(f",-{feature}" for feature in boot.without)
    accel = "kvm" if guest.kvm else "tcg,thread=single" if boot.one_thread else "tcg"
    words = ["qemu-system-aarch64" if arm else "qemu-system-x86_64", "-accel", accel, "-cpu", cpu]
    words += [*_memory(boot), "-kernel", str(guest.kernel.image)]
    line = ["panic=-1", "oops=panic", "log_buf_len=8M", *guest.cmdline]
    line += [word.format_map(boot.settings) for word in boot.cmdline]
    line.insert(0, f"console={'ttyAMA0' if arm else 'ttyS0'}")
    if not arm:  # on a busy machine, the kernel panics when it checks the emulated timer
        line += ["no_timer_check"]
    if filesystem is None:
        line += ["kunit_shutdown=poweroff"]
    else:
        words += ["-initrd", str(filesystem)]
        line += ["quiet"]
    if boot.counted:
        words += ["-icount", "shift=0,align=off,sleep=off", "-seed", "42"]
        words += ["-rtc", "base=2026-01-01,clock=vm"]
        line += ["nokaslr", "tsc_early_khz=1000000", "tsc=reliable"]
    words += ["-append", " ".join(line)]
    return [*words, "-nographic", "-no-reboot", "-nodefaults", "-serial", "stdio"]


def _memory(boot: Boot) -> list[str]:
    """Return QEMU's arguments for the board, its memory and its CPUs."""
    board = "virt" if boot.arch == "arm64" else "q35"
    board += ",nvdimm=on" if boot.pmem_gib else ""
    board += ",hmat=on" if boot.slow_mib else ""
    own_mib = 1024 * (boot.memory_gib + boot.added_gib // _MEMMAP_SHARE)
    memory = f"{own_mib + boot.slow_mib}M"
    words = []
    if boot.added_gib:
        memory += f",slots=4,maxmem={own_mib // 1024 + 2 * boot.added_gib + 64}G"
    if boot.pmem_gib:
        size = boot.pmem_gib * 1024 + _LABEL_MIB
        words += ["-object", f"memory-backend-ram,id=pm0,size={size}M,share=on,reserve=off"]
        words += ["-device", f"nvdimm,memdev=pm0,id=nv0,label-size={_LABEL_MIB}M"]
    if boot.dimm_gib:
        words += ["-object", f"memory-backend-ram,id=ram-dimm,size={boot.dimm_gib}G,reserve=off"]
        words += ["-device", "pc-dimm,id=dimm,memdev=ram-dimm"]
    if size := boot.virtio_mem_gib:
        words += ["-object", f"memory-backend-ram,id=ram-vm,size={size}G,reserve=off"]
        words += ["-device", f"virtio-mem-pci,memdev=ram-vm,requested-size={size}G"]
    apart = f",sockets={boot.cpus}" if boot.slow_mib else ""  # no socket is on two nodes
    words += ["-machine", board, "-m", memory, "-smp", f"{boot.cpus}{apart}"]
    sizes = [own_mib // boot.nodes] * boot.nodes + ([boot.slow_mib] if boot.slow_mib else [])
    if len(sizes) == 1:
        return words

    for node, size in enumerate(sizes):
        words += ["-object", f"memory-backend-ram,id=ram{node},size={size}M"]
        words += ["-numa", f"node,nodeid={node},memdev=ram{node}"]
    if not boot.slow_mib:
        return words

    words[-1] += ",initiator=0"
    for number in range(boot.cpus):
        words += ["-numa", f"cpu,node-id={number % boot.nodes},socket-id={number}"]
    for initiator in range(boot.nodes):
        for target in range(len(sizes)):
            latency, bandwidth = _SLOW if target == boot.nodes else _FAST
            pair = f"hmat-lb,initiator={initiator},target={target},hierarchy=memory"
            words += ["-numa", f"{pair},data-type=access-latency,latency={latency}"]
            words += ["-numa", f"{pair},data-type=access-bandwidth,bandwidth={bandwidth}"]
    return words


def run(guest: Guest, limit_s: float = _LIMIT_S) -> Booted:
    """Boot a guest and wait for its end. No process of it is left when this returns.

    The cache keeps its console in logs/, written line by line.
    """
    lines: list[str] = []
    trouble = ""
    start = time.monotonic()
    with contextlib.ExitStack() as stack:
        filesystem = None
        if guest.initramfs is not None:
            directory = stack.enter_context(cache.temporary_dir("guest"))
            filesystem = directory / "initramfs.gz"
            filesystem.write_bytes(guest.initramfs)
        guest.console_file.unlink(missing_ok=True)  # another command may be writing it
        copy = stack.enter_context(guest.console_file.open("w", buffering=1, encoding="utf-8"))
        printed = stream(
            command(guest, filesystem),
            action=f"boot {guest.boot.title}",
            timeout_s=limit_s,
            silence_s=_SILENCE_S,
            log=guest.console_file.with_suffix(".qemu.log"),
        )
        stack.enter_context(contextlib.closing(printed))
        try:
            for line in printed:
                lines.append(_ESCAPES.sub("", line.rstrip("\r")))
                copy.write(f"{lines[-1]}\n")
        except MmbatchError as error:
            trouble = error.problem
    outcome = console.read(lines)
    if guest.initramfs is not None and not outcome.finished and not trouble:
        trouble = "the guest ended without a result"
    booted = Booted(guest, outcome, lines, time.monotonic() - start, trouble)
    if booted.ran_stale_code:
        log.say(f"{guest.boot.title} panicked at a breakpoint; booting it again with one thread")
        alone = replace(guest.boot, one_thread=True)
        return run(replace(guest, boot=alone, title=f"{guest.boot.title}-again"))
    return booted


def at_once() -> int:
    """Return how many guests may run beside each other here."""
    available = machine.describe().available_bytes
    return max(1, min(_MOST_AT_ONCE, cpus(), available // _EACH_BYTES))


@functools.cache
def kvm_works(kernel: GuestKernel) -> bool:
    """Return whether KVM really runs a kernel here; a device that opens does not prove it."""
    if kernel.arch.machine != platform.machine() or not os.access("/dev/kvm", os.W_OK):
        return False
    log.say(f"testing whether KVM runs a guest here (at most {_PROBE_S} s)")
    files = {"init": b"#!/bin/sh\necho '@@ end 0 0'\nbusybox poweroff -f\n"}
    probe = Guest(Boot(("plain",)), kernel, initramfs.make(files), title="kvm-probe", kvm=True)
    works = not run(probe, _PROBE_S).trouble
    log.say("KVM works" if works else "KVM does not run guests here; using emulation")
    return works
