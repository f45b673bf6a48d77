# SPDX-License-Identifier: GPL-2.0-only
"""What machine a number was measured on: read from /proc, /sys and two small commands.

Parsers take text, so that tests feed them samples of other machines.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import process
from mmbatch.core.errors import MmbatchError
from mmbatch.core.load import Count, Natural

FLAGS = ("rep_good", "erms", "fsrm", "movdir64b", "clzero", "avx512f")
"""CPU flags that choose between copy methods, as /proc/cpuinfo spells them."""


@dataclass(frozen=True)
class Machine:
    """The machine of a run; fields that it doesn't have are None or empty.

    Attributes:
        cpu: model name, or implementer and part where there is none (arm64).
        arch: as `uname -m` says.
        family: CPU family (x86).
        model: CPU model number (x86).
        stepping: stepping (x86) or revision (arm64).
        flags: whether the CPU has each of `FLAGS`.
        cores: CPUs that this process may run on.
        llc_bytes: size of one last-level cache.
        mem_bytes: memory of the machine.
        available_bytes: memory that could be had without swapping, at the start of the run.
        hypervisor: name of the hypervisor, "unknown" for one without name, empty on bare metal.
        load: 1 minute load average at the start of the run.
        governor: frequency governor of CPU 0, empty where there is none.
        thp: setting of transparent huge pages.
        host_kernel: release of the running kernel (not the measured one).
        compiler: first line of the `--version` of the compiler that built what was measured;
            that of gcc where nothing was.
        cached_bytes: memory that was found to stay in the cache; None where nobody measured it.
        binutils: first line of the `--version` of the assembler that went with the compiler; empty
            where nothing was built.
    """

    cpu: str
    arch: str
    family: Natural | None
    model: Natural | None
    stepping: Natural | None
    flags: Mapping[str, bool]
    cores: Count
    llc_bytes: Natural | None
    mem_bytes: Natural | None
    available_bytes: Natural | None
    hypervisor: str
    load: float | None
    governor: str
    thp: str
    host_kernel: str
    compiler: str
    cached_bytes: Count | None = None
    binutils: str = ""


@dataclass(frozen=True)
class Cpu:
    """What /proc/cpuinfo has about the first CPU; see `Machine`."""

    name: str
    family: int | None
    model: int | None
    stepping: int | None
    flags: frozenset[str]


def parse_cpuinfo(text: str) -> Cpu:
    """Read the first CPU of /proc/cpuinfo, of x86 or arm64.

    Args:
        text: the file.

    Returns:
        Its CPU; a name of "unknown CPU" where the file names none.
    """
    fields: dict[str, str] = {}
    for line in text.strip().split("\n\n")[0].splitlines():
        key, _, value = line.partition(":")
        fields[key.strip()] = value.strip()

    def number(key: str) -> int | None:
        value = fields.get(key, "")
        return int(value) if value.isdecimal() else None

    name = fields.get("model name", "")
    if not name and "CPU implementer" in fields:
        name = f"implementer {fields['CPU implementer']} part {fields.get('CPU part', '?')}"
    stepping = number("stepping") if "stepping" in fields else number("CPU revision")
    flags = fields.get("flags", fields.get("Features", "")).split()
    return Cpu(
        " ".join(name.split()) or "unknown CPU",
        number("cpu family"),
        number("model"),
        stepping,
        frozenset(flags),
    )


def parse_meminfo(text: str) -> dict[str, int]:
    """Read /proc/meminfo into bytes by name ("MemTotal", "MemAvailable", ...)."""
    found = re.findall(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)
    return {name: int(kilobytes) * 1024 for name, kilobytes in found}


def parse_size(text: str) -> int | None:
    """Read a cache size as sysfs writes it ("512K", "32M") into bytes; None if it isn't one."""
    match = re.fullmatch(r"(\d+)([KMG]?)", text.strip())
    if not match:
        return None
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]]


def pick_llc(caches: Iterable[tuple[str, str, str]]) -> int | None:
    """Size in bytes of the last-level cache.

    Args:
        caches: (level, type, size) of each cache of a CPU, as sysfs writes them.

    Returns:
        The size of the data or unified cache of the highest level; None where there is none.
    """
    sizes = {
        int(level): size
        for level, kind, text in caches
        if level.isdecimal() and kind != "Instruction" and (size := parse_size(text))
    }
    return sizes[max(sizes)] if sizes else None


def parse_getconf_llc(text: str) -> int | None:
    """Read the last-level cache from `getconf -a`; it prints 0 or nothing where it doesn't know."""
    found = re.findall(r"^LEVEL(\d)_(?:D?CACHE)_SIZE\s+(\d+)\s*$", text, re.MULTILINE)
    sizes = {int(level): int(size) for level, size in found if int(size)}
    return sizes[max(sizes)] if sizes else None


def parse_chosen(text: str) -> str:
    """The bracketed word of a sysfs choice ("always [madvise] never"), else empty."""
    match = re.search(r"\[(\S+)\]", text)
    return match[1] if match else ""


def parse_hypervisor(detect_virt: str, lscpu: str, cpu_flags: Iterable[str]) -> str:
    """Name the hypervisor.

    Args:
        detect_virt: what `systemd-detect-virt --vm` printed; empty where it couldn't run.
        lscpu: what `lscpu` printed, which every Debian has; likewise.
        cpu_flags: the CPU's flags, whose "hypervisor" is CPUID's word for it.

    Returns:
        Its name, "unknown" for one that only CPUID tells of, empty on bare metal.
    """
    name = detect_virt.strip()
    if name and name != "none":
        return name
    vendor = re.search(r"^Hypervisor vendor:\s+(\S+)", lscpu, re.MULTILINE)
    if vendor is not None:
        return vendor[1].lower()  # as the other program spells it
    return "unknown" if "hypervisor" in set(cpu_flags) else ""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _say(argv: Sequence[str]) -> str:
    """Output of a small command, empty where it can't be run."""
    try:
        return process.run(argv, action="describe this machine", timeout_s=10, check=False).stdout
    except MmbatchError:
        return ""


def _caches(root: Path) -> list[tuple[str, str, str]]:
    directories = sorted((root / "sys/devices/system/cpu/cpu0/cache").glob("index*"))
    names = ("level", "type", "size")
    read = [[_read(directory / name).strip() for name in names] for directory in directories]
    return [(level, kind, size) for level, kind, size in read]


def describe(root: Path = Path("/"), say: Callable[[Sequence[str]], str] = _say) -> Machine:
    """Describe this machine.

    Args:
        root: where /proc and /sys are; tests give a directory.
        say: runs a command and returns what it prints, empty where there is none.

    Returns:
        The machine; what can't be read is None or empty, never an error.
    """
    cpu = parse_cpuinfo(_read(root / "proc/cpuinfo"))
    memory = parse_meminfo(_read(root / "proc/meminfo"))
    load = _read(root / "proc/loadavg").split()
    compiler = say(["gcc", "--version"]).splitlines()
    return Machine(
        cpu=cpu.name,
        arch=platform.machine(),
        family=cpu.family,
        model=cpu.model,
        stepping=cpu.stepping,
        flags={flag: flag in cpu.flags for flag in FLAGS},
        cores=len(os.sched_getaffinity(0)),
        llc_bytes=pick_llc(_caches(root)) or parse_getconf_llc(say(["getconf", "-a"])),
        mem_bytes=memory.get("MemTotal"),
        available_bytes=memory.get("MemAvailable"),
        hypervisor=parse_hypervisor(
            say(["systemd-detect-virt", "--vm"]), say(["lscpu"]), cpu.flags
        ),
        load=float(load[0]) if load else None,
        governor=_read(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip(),
        thp=parse_chosen(_read(root / "sys/kernel/mm/transparent_hugepage/enabled")),
        host_kernel=platform.release(),
        compiler=compiler[0].strip() if compiler else "",
    )


def _binary(count: int) -> str:
    for shift, unit in ((30, "GiB"), (20, "MiB")):
        if count >= 1 << shift:
            return f"{count / (1 << shift):.4g} {unit}"
    return f"{count / 1024:.4g} KiB"


def with_model(name: str, machine: Machine) -> str:
    """Put family and model of a CPU after its name, where the machine gives them."""
    if machine.family is None:
        return name
    return f"{name} (family {machine.family} model {machine.model})"


def _cache(machine: Machine) -> str:
    if not machine.llc_bytes:
        return ""
    cached = machine.cached_bytes
    if cached is None or cached >= machine.llc_bytes:
        return f"LLC {_binary(machine.llc_bytes)}"
    return f"LLC {_binary(machine.llc_bytes)} ({_binary(cached)} stay cached)"


def machine_line(machine: Machine) -> str:
    """One line for a table, without what isn't known."""
    numbers = [
        f"{name} {value}"
        for name, value in (
            ("family", machine.family),
            ("model", machine.model),
            ("stepping", machine.stepping),
        )
        if value is not None
    ]
    flags = [name for name, present in machine.flags.items() if present]
    parts = [
        machine.cpu + (f" ({' '.join(numbers)})" if numbers else ""),
        machine.arch,
        f"{machine.cores} core{'s' if machine.cores != 1 else ''}",
        _cache(machine),
        f"RAM {_binary(machine.mem_bytes)}" if machine.mem_bytes else "",
        f"VM ({machine.hypervisor})" if machine.hypervisor else "bare metal",
        f"load {machine.load:.2f}" if machine.load is not None else "",
        f"governor {machine.governor}" if machine.governor else "",
        f"THP {machine.thp}" if machine.thp else "",
        f"flags {' '.join(flags)}" if flags else "",
        f"host kernel {machine.host_kernel}" if machine.host_kernel else "",
        machine.compiler,
    ]
    return ", ".join(part for part in parts if part)
