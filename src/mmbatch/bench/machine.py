# SPDX-License-Identifier: GPL-2.0-only
"""What machine a number was measured on: read from /proc, /sys and a few small commands."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import process
from mmbatch.core.errors import MmbatchError
from mmbatch.core.load import Count, Natural

FLAGS = ("rep_good", "erms", "fsrm", "movdir64b", "clzero", "avx512f")
"""CPU flags that choose between copy methods, as /proc/cpuinfo spells them."""

_NAMES = {
    (23, 1): "Zen",
    (23, 49): "Zen 2",
    (25, 1): "Zen 3",
    (25, 17): "Zen 4",
    (26, 2): "Zen 5",
    (6, 85): "Skylake",
    (6, 106): "Ice Lake",
    (6, 143): "Sapphire Rapids",
    (6, 173): "Granite Rapids",
    (6, 207): "Emerald Rapids",
}
"""What people call a CPU of this family and model; virtual machines call all of them alike."""


@dataclass(frozen=True)
class Machine:
    """The machine of a run; fields that it doesn't have are None or empty."""

    cpu: str  # model name, or implementer and part where there is none (arm64)
    arch: str
    family: Natural | None
    model: Natural | None
    stepping: Natural | None
    flags: Mapping[str, bool]
    cores: Count  # CPUs that this process may run on
    llc_bytes: Natural | None  # of one last-level cache
    mem_bytes: Natural
    available_bytes: Natural
    hypervisor: str  # its name, "unknown" for one without, empty on bare metal
    load: float  # of the last minute before the run
    governor: str
    thp: str
    host_kernel: str  # release of the running kernel (not the measured one)
    compiler: str  # first line of the `--version` of what built the measured code, or of gcc
    cached_bytes: Count | None = None  # memory that was found to stay in the cache
    binutils: str = ""


def fields(text: str) -> dict[str, str]:
    """Return the values by key of the first block of lines such as "key: value"."""
    pairs = (line.partition(":") for line in text.strip().split("\n\n")[0].splitlines())
    return {key.strip(): " ".join(value.split()) for key, _, value in pairs}


def _read(path: str) -> str:
    """Return what a file of /proc or /sys holds, empty where there is none."""
    return Path(path).read_text(encoding="utf-8") if Path(path).exists() else ""


def output(*argv: str) -> str:
    """Return what a small command prints, empty where it can't be run."""
    try:
        return process.run(argv, action="look at this machine", check=False).stdout
    except MmbatchError:
        return ""


def describe() -> Machine:
    """Describe this machine; what can't be read is None or empty, never an error."""
    cpu, memory = fields(_read("/proc/cpuinfo")), fields(_read("/proc/meminfo"))
    flags = cpu.get("flags", cpu.get("Features", "")).split()
    implementer = f"implementer {cpu.get('CPU implementer')} part {cpu.get('CPU part')}"
    chosen = re.search(r"\[(\S+)\]", _read("/sys/kernel/mm/transparent_hugepage/enabled"))
    hypervisor = fields(output("lscpu")).get("Hypervisor vendor", "").lower()

    def number(*keys: str) -> int | None:
        return next((int(cpu[key]) for key in keys if cpu.get(key, "").isdecimal()), None)

    return Machine(
        cpu=cpu.get("model name") or implementer,
        arch=platform.machine(),
        family=number("cpu family"),
        model=number("model"),
        stepping=number("stepping", "CPU revision"),
        flags={flag: flag in flags for flag in FLAGS},
        cores=process.cpus(),
        llc_bytes=int(output("getconf", "LEVEL3_CACHE_SIZE").strip() or 0) or None,
        mem_bytes=int(memory["MemTotal"].removesuffix(" kB")) * 1024,
        available_bytes=int(memory["MemAvailable"].removesuffix(" kB")) * 1024,
        hypervisor=hypervisor or ("unknown" if "hypervisor" in flags else ""),
        load=round(os.getloadavg()[0], 2),
        governor=_read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip(),
        thp=chosen[1] if chosen else "",
        host_kernel=platform.release(),
        compiler=output("gcc", "--version").partition("\n")[0].strip(),
    )


def name(machine: Machine) -> str:
    """Return what people call the CPU, or its own name with family and model."""
    known = _NAMES.get((machine.family or 0, machine.model or 0))
    if known:
        return known
    clutter = r"\((R|TM)\)|\b(CPU|Processor)(?=\s*(@|$))|@.*"
    own = " ".join(re.sub(clutter, " ", machine.cpu, flags=re.I).split())
    if machine.family is None:
        return own
    return f"{own} (family {machine.family} model {machine.model})"


def line(machine: Machine) -> str:
    """Describe a machine in a line of at most 80 columns, without what isn't known."""
    numbers = (machine.family, machine.model, machine.stepping)
    shown = "/".join(str(number) for number in numbers if number is not None)
    where = name(machine) + (f" ({shown})" if shown else "")
    cpus = f"{machine.cores} CPU{'s' if machine.cores > 1 else ''}"
    cpus += " of a VM" if machine.hypervisor else ", no VM"
    compiler = re.sub(r"^gcc \(.*\) ", "gcc ", machine.compiler)
    return f"{where}, {cpus}, load {machine.load:.1f}, {compiler}"


def details(machine: Machine) -> str:
    """Describe the rest of a machine: caches, memory, settings and programs."""
    flags = " ".join(flag for flag, present in machine.flags.items() if present)
    parts = [
        machine.cpu,
        machine.arch,
        f"last-level cache {machine.llc_bytes >> 20} MiB" if machine.llc_bytes else "",
        f"{machine.cached_bytes >> 20} MiB stay cached" if machine.cached_bytes else "",
        f"RAM {machine.mem_bytes / 2**30:.1f} GiB",
        f"hypervisor {machine.hypervisor}" if machine.hypervisor else "",
        f"governor {machine.governor}" if machine.governor else "",
        f"THP {machine.thp}" if machine.thp else "",
        f"flags {flags}" if flags else "",
        f"host kernel {machine.host_kernel}",
        machine.compiler,
        machine.binutils,
    ]
    return ", ".join(part for part in parts if part)
