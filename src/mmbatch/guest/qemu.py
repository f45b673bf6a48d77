# SPDX-License-Identifier: GPL-2.0-only
"""Boot a kernel under QEMU, within a time limit, and read its console.

The console has the results of scripts and KUnit, and the kernel's complaints.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from mmbatch.bench import machine
from mmbatch.core.cache import Cache
from mmbatch.core.disk import atomic_write, temporary_dir
from mmbatch.core.errors import MmbatchError
from mmbatch.core.load import from_json
from mmbatch.core.process import cpus, stream
from mmbatch.guest.build import GuestKernel
from mmbatch.guest.faults import FaultCounter

PROBE_LIMIT_S = 20
_MOST_AT_ONCE = 2
_EACH_BYTES = 6 << 30  # what one guest may take, with 4 GiB of memory and an NVDIMM
_LAST_LINES = 12
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?=]*[A-Za-z]|c)")  # the firmware clears the screen
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_FAST, _SLOW = (10, "10G"), (100, "1G")  # latency in ns, and bytes a second, as in the HMAT
_SAME_CPU = "family=15,model=107,stepping=1"
"""What QEMU 7.2 says of the CPU "max". For that of QEMU 10, Linux does not set REP_GOOD."""

_LABEL_MIB = 2  # taken from the memory after an NVDIMM, which must stay aligned
_STAMP = re.compile(r"^(?:<\d+>)?\[\s*\d+\.\d+\](?:\[\s*[TC]\d+\])? ?")
_RESULT = re.compile(
    r"^(?P<indent> *)(?P<word>ok|not ok) \d+(?: -)? ?(?P<name>[^#]*?)\s*(?P<rest>#.*)?$"
)
_SKIP = re.compile(r"# SKIP\b")
_RESULTS = ("pass", "fail", "skip", "value")
_EXPECTATION = re.compile(r"^# \S+: (?:EXPECTATION|ASSERTION) FAILED at ")
_COUNT = re.compile(r"^\w+_bench: case=(\S+) method=(\S+) ns=(\d+) items=(\d+)$")
_SUMMARY = re.compile(r"^Summary: (\w+) passed: (\d+) failed: (\d+) ")
# KCSAN reports data races all over a kernel. Scripts look for those that concern them.
_COMPLAINTS = re.compile(
    r"cut here|Call [Tt]race:|WARNING: |\bBUG: (?!KCSAN: )|\bBUG \S+ \(|kernel BUG at |"
    r"\bKASAN: |\bUBSAN: |rcu\S* .*detected .*stall|soft lockup|INFO: task .* blocked for more|"
    r"possible (?:circular|recursive) locking|inconsistent lock state|suspicious RCU usage|"
    r"non-static key|lockdep is turned off|sleeping function called|"
    r"Kernel panic|Oops: |Internal error: |general protection fault|Unable to handle kernel|"
    r"Bad page (?:state|map)|pagealloc: |list_\w+ corruption|unregister_netdevice"
)


@dataclass(frozen=True)
class Boot:
    """A guest to boot.

    Attributes:
        name: name of its files in the cache.
        kernel: the kernel.
        initramfs: its filesystem; None for a kernel that only runs its KUnit suites.
        limit_s: seconds after which it is stopped on an idle machine; see `process.patience`.
        cmdline: added to the kernel's command line.
        memory_gib: its memory in GiB.
        pmem_gib: size of its NVDIMM in GiB; none if 0.
        dimm_gib: size of a DIMM that its firmware says was plugged; none if 0.
        virtio_mem_gib: size of the memory that virtio-mem plugs; none if 0.
        cpus: number of CPUs.
        nodes: number of NUMA nodes that its memory is spread over.
        slow_mib: MiB of memory on one more node, without a CPU and of a lower tier; none if 0.
        one_thread: whether one thread of QEMU emulates all CPUs.
        without: features that its CPUs lack, as QEMU calls them.
        counted: whether it runs under -icount, where a nanosecond of its time is one instruction.
        kvm: whether it runs under KVM; ask `kvm_works` first.
    """

    name: str
    kernel: GuestKernel
    initramfs: bytes | None
    limit_s: float
    cmdline: tuple[str, ...] = ()
    memory_gib: int = 2
    pmem_gib: int = 0
    dimm_gib: int = 0
    virtio_mem_gib: int = 0
    cpus: int = 2
    nodes: int = 1
    slow_mib: int = 0
    one_thread: bool = False
    without: tuple[str, ...] = ()
    counted: bool = False
    kvm: bool = False


@dataclass(frozen=True)
class Booted:
    """A guest that has ended.

    Attributes:
        boot: how it was booted.
        outcome: what its console shows.
        lines: all lines of its console.
        wall_s: how long it ran, in seconds.
        trouble: what went wrong with the boot; empty if nothing did.
    """

    boot: Boot
    outcome: Outcome
    lines: list[str]
    wall_s: float
    trouble: str

    @property
    def ran_stale_code(self) -> bool:
        """Whether the kernel panicked at a breakpoint that it may have removed already.

        QEMU can execute one if the kernel patches code, even at boot, while several threads
        emulate its CPUs.
        """
        threads = not (self.boot.kvm or self.boot.one_thread or self.boot.counted)
        return threads and any("Oops: int3:" in line for line in self.lines)


def command(boot: Boot, initramfs: Path | None) -> list[str]:
    """Return QEMU's command line."""
    arm = boot.kernel.arch.name == "arm64"
    program = "qemu-system-aarch64" if arm else "qemu-system-x86_64"
    machine = "virt" if arm else "q35"
    machine += ",nvdimm=on" if boot.pmem_gib else ""
    machine += ",hmat=on" if boot.slow_mib else ""
    cpu = "host" if boot.kvm else "max,pauth-impdef=on" if arm else f"max,{_SAME_CPU}"
    memory = f"{boot.memory_gib * 1024 + boot.slow_mib}M"
    cpu += "".join(f",-{feature}" for feature in boot.without)
    accel = "kvm" if boot.kvm else "tcg,thread=single" if boot.one_thread else "tcg"
    words = [program, "-name", f"{boot.name},debug-threads=on", "-accel", accel, "-cpu", cpu]
    added = boot.pmem_gib + boot.dimm_gib + boot.virtio_mem_gib
    if added:
        memory += f",slots=4,maxmem={boot.memory_gib + 2 * added + 64}G"
    if boot.pmem_gib:
        size = boot.pmem_gib * 1024 + _LABEL_MIB
        words += ["-object", f"memory-backend-ram,id=pm0,size={size}M,share=on,reserve=off"]
        words += ["-device", f"nvdimm,memdev=pm0,id=nv0,label-size={_LABEL_MIB}M"]
    if boot.dimm_gib:
        words += ["-object", f"memory-backend-ram,id=ram-dimm,size={boot.dimm_gib}G,reserve=off"]
        words += ["-device", "pc-dimm,id=dimm,memdev=ram-dimm"]
    if boot.virtio_mem_gib:
        size = boot.virtio_mem_gib
        words += ["-object", f"memory-backend-ram,id=ram-vm,size={size}G,reserve=off"]
        words += ["-device", f"virtio-mem-pci,memdev=ram-vm,requested-size={size}G"]
    apart = f",sockets={boot.cpus}" if boot.slow_mib else ""  # no socket is on two nodes
    words += ["-machine", machine, "-m", memory, "-smp", f"{boot.cpus}{apart}"]
    words += _nodes(boot)
    words += ["-kernel", str(boot.kernel.image)]
    if initramfs is not None:
        words += ["-initrd", str(initramfs)]
    console = "ttyAMA0" if arm else "ttyS0"
    line = [f"console={console}", "panic=-1", "oops=panic", "log_buf_len=8M", *boot.cmdline]
    if not arm:  # on a busy machine, the kernel panics when it checks the emulated timer
        line += ["no_timer_check"]
    if initramfs is None:
        line += ["kunit_shutdown=poweroff"]
    else:
        line += ["quiet"]
    if boot.counted:
        words += ["-icount", "shift=0,align=off,sleep=off", "-seed", "42"]
        words += ["-rtc", "base=2026-01-01,clock=vm"]
        line += ["nokaslr", "tsc_early_khz=1000000", "tsc=reliable"]
    words += ["-append", " ".join(line)]
    return [*words, "-nographic", "-no-reboot", "-nodefaults", "-serial", "stdio"]


def _nodes(boot: Boot) -> list[str]:
    """Return QEMU's arguments for NUMA nodes; none if there is one node."""
    if boot.nodes < 2 and not boot.slow_mib:
        return []
    words = []
    share = boot.memory_gib * 1024 // boot.nodes
    sizes = [share] * boot.nodes + ([boot.slow_mib] if boot.slow_mib else [])
    for node, size in enumerate(sizes):
        words += ["-object", f"memory-backend-ram,id=ram{node},size={size}M"]
        words += ["-numa", f"node,nodeid={node},memdev=ram{node}"]
    if not boot.slow_mib:
        return words

    words[-1] += ",initiator=0"
    for cpu in range(boot.cpus):
        words += ["-numa", f"cpu,node-id={cpu % boot.nodes},socket-id={cpu}"]
    for initiator in range(boot.nodes):
        for target in range(len(sizes)):
            kind = _SLOW if target == boot.nodes else _FAST
            pair = f"hmat-lb,initiator={initiator},target={target},hierarchy=memory"
            words += ["-numa", f"{pair},data-type=access-latency,latency={kind[0]}"]
            words += ["-numa", f"{pair},data-type=access-bandwidth,bandwidth={kind[1]}"]
    return words


def console_file(cache: Cache, boot: Boot) -> Path:
    """Return where the cache keeps a guest's console."""
    return cache.logs / f"guest-{boot.name}.console"


def run(cache: Cache, boot: Boot) -> Booted:
    """Boot a guest and wait for its end. No process of it is left when this returns.

    The cache keeps its console in logs/, written line by line.
    """
    lines: list[str] = []
    trouble = ""
    copied = console_file(cache, boot)
    faults = FaultCounter()
    start = time.monotonic()
    with temporary_dir(cache.downloads, f"guest-{boot.name}") as directory:
        initramfs = None
        if boot.initramfs is not None:
            initramfs = directory / "initramfs.gz"
            initramfs.write_bytes(boot.initramfs)
        argv = command(boot, initramfs)
        try:
            with contextlib.closing(
                stream(
                    argv,
                    action=f"boot {boot.name}",
                    timeout_s=boot.limit_s,
                    log=cache.logs / f"guest-{boot.name}.qemu.log",
                    started=faults.started,
                )
            ) as console:
                copied.parent.mkdir(parents=True, exist_ok=True)
                with copied.open("w", buffering=1, encoding="utf-8") as copy:
                    for line in console:
                        lines.append(_ESCAPES.sub("", line.rstrip("\r")))
                        copy.write(f"{lines[-1]}\n")
                        faults.read(lines[-1])
        except MmbatchError as error:
            trouble = error.problem
    wall_s = time.monotonic() - start
    outcome = read_console(lines)
    outcome.values += faults.values
    if boot.initramfs is not None and not outcome.finished and not trouble:
        trouble = "the guest ended without a result"
    return Booted(boot, outcome, lines, wall_s, trouble)


def at_once() -> int:
    """Return how many guests of one thread may run beside each other here."""
    available = machine.describe().available_bytes or 0
    return max(1, min(_MOST_AT_ONCE, cpus(), available // _EACH_BYTES))


def last_lines(booted: Booted) -> str:
    """Return the last lines of a guest's console, for an error message."""
    lines = [line for line in booted.lines if line.strip()][-_LAST_LINES:]
    return "\n".join(f"    {line}" for line in lines)


@dataclass(frozen=True)
class _KvmAnswer:
    """Whether KVM works, and since which boot of this machine that is known."""

    boot_id: str
    works: bool


def kvm_works(cache: Cache, boot: Boot, say: Callable[[str], None]) -> bool:
    """Return whether KVM really runs a guest here; a device that opens does not prove it.

    `boot` is a guest that starts and ends at once.

    The answer is remembered until this machine boots again.
    """
    if boot.kernel.arch.machine != platform.machine() or not os.access("/dev/kvm", os.W_OK):
        return False
    known = cache.root / "kvm.json"
    boot_id = _BOOT_ID.read_text(encoding="utf-8").strip()
    with contextlib.suppress(OSError, ValueError):
        answer = from_json(_KvmAnswer, known.read_text(encoding="utf-8"))
        if answer.boot_id == boot_id:
            return answer.works
    say(f"testing whether KVM runs a guest here (at most {PROBE_LIMIT_S} s)")
    booted = run(cache, replace(boot, name="kvm-probe", kvm=True, limit_s=PROBE_LIMIT_S))
    works = not booted.trouble
    atomic_write(known, json.dumps(asdict(_KvmAnswer(boot_id, works))) + "\n")
    say("KVM works" if works else "KVM does not run guests here; using emulation")
    return works


@dataclass(frozen=True)
class Case:
    """One KUnit case, or one of its parameters.

    Attributes:
        name: "suite.case" or "suite.case.parameter".
        state: "ok", "not ok" or "skipped".
        detail: the message of the test.
    """

    name: str
    state: str
    detail: str


@dataclass
class Outcome:
    """What the console of a guest shows.

    Attributes:
        passed: checks of the scripts that passed.
        failed: checks of the scripts that failed, each with its message.
        skipped: checks that are impossible on this machine.
        values: names and numbers that were measured, in order.
        stages: scripts that began, and the uptime in seconds at which they did.
        suites: the KUnit suites that finished, and whether they passed.
        cases: the KUnit cases.
        complaints: lines of the kernel's log that report a problem.
        finished: whether all scripts ended.
    """

    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    values: list[tuple[str, float]] = field(default_factory=list)
    stages: list[tuple[str, float]] = field(default_factory=list)
    suites: dict[str, bool] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    finished: bool = False

    def verdicts(self, suites: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
        """Return (passed, failed, skipped) by name; a wanted suite that did not run has failed."""
        passed = [*self.passed]
        failed = [*self.failed]
        skipped = [*self.skipped]
        for case in self.cases:
            place = {"ok": passed, "not ok": failed, "skipped": skipped}[case.state]
            place.append(f"{case.name}: {case.detail}" if case.detail else case.name)
        for suite in suites:
            if suite not in self.suites:
                failed.append(f"{suite}: the KUnit suite did not run to its end")
                continue
            states = {case.state for case in self.cases if case.name.startswith(f"{suite}.")}
            if not self.suites[suite] and "not ok" not in states:
                failed.append(f"{suite}: the KUnit suite failed")
            elif self.suites[suite] and "ok" not in states:
                failed.append(f"{suite}: nothing in the KUnit suite ran")
        failed += [f"the kernel complained: {line}" for line in self.complaints]
        return passed, failed, skipped


def read_console(lines: Iterable[str]) -> Outcome:
    """Read all lines that a guest printed on its console."""
    outcome = Outcome()
    log: list[str] = []
    in_log = False
    results = 0
    for line in lines:
        mark = re.search(r"@@ (\w+)(?: (.*))?$", line)
        if mark is not None:
            results += mark[1] in _RESULTS
            _mark(outcome, mark[1], (mark[2] or "").strip(), results)
            if mark[1] == "dmesg":
                in_log = True
                log.clear()  # the log repeats what the console had
        elif _STAMP.match(line) or in_log:
            log.append(line)
    kernel = [_STAMP.sub("", line) for line in log]
    _read_ktap(outcome, kernel)
    _read_counts(outcome, kernel)
    outcome.complaints = [line.strip() for line in kernel if _COMPLAINTS.search(line)]
    return outcome


def _mark(outcome: Outcome, word: str, words: str, results: int) -> None:
    if word == "pass":
        outcome.passed.append(words)
    elif word == "fail":
        outcome.failed.append(words)
    elif word == "skip":
        outcome.skipped.append(words)
    elif word == "begin":
        name, _, uptime = words.partition(" ")
        outcome.stages.append((name, float(uptime or 0)))
    elif word == "value":
        name, _, number = words.rpartition(" ")
        if re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d{1,2})?", number):
            outcome.values.append((name, float(number)))
        else:
            outcome.failed.append(f"{name or words}: '{number}' is not a number")
    elif word == "end":
        outcome.finished = True
        _, _, number = words.partition(" ")
        if number != str(results):
            outcome.failed.append(f"{results} of {number or 'unknown'} results arrived whole")


def _read_counts(outcome: Outcome, lines: Sequence[str]) -> None:
    """Read what the kernel itself measured, and the summaries of its own tests."""
    for line in lines:
        if count := _COUNT.match(line):
            case, method, number, items = count.groups()
            outcome.values += [(f"{case} {method}", float(number)), (f"{case} items", float(items))]
        elif test := _SUMMARY.match(line):
            name = test[1]
            if test[3] == "0" and test[2] != "0":
                if name not in outcome.passed:  # each of its threads prints one
                    outcome.passed.append(name)
            else:
                outcome.failed.append(f"{name}: {test[3]} failed, {test[2]} passed")


def _read_ktap(outcome: Outcome, lines: Sequence[str]) -> None:
    """Read KTAP: suites at the left edge, cases one step in, parameters two."""
    waiting: list[tuple[int, str, str, str]] = []
    messages: list[list[str]] = []
    for line in lines:
        match = _RESULT.match(line)
        if match is None:
            _add_message(messages, line.strip())
            continue
        depth = len(match["indent"]) // 4
        comment = match["rest"] or ""
        state = "skipped" if match["word"] == "ok" and _SKIP.match(comment) else match["word"]
        detail = comment.lstrip("# ").removeprefix("SKIP").strip()
        if state == "not ok" and messages:
            more = f" (and {len(messages) - 1} more)" if len(messages) > 1 else ""
            detail = "; ".join(messages[0]) + more
        messages.clear()
        if depth > 0:
            waiting.append((depth, match["name"], state, detail))
            continue
        outcome.suites[match["name"]] = match["word"] == "ok"
        outcome.cases += _named(match["name"], waiting)
        waiting.clear()


def _add_message(messages: list[list[str]], line: str) -> None:
    """Add a line to the messages of failed expectations; each starts with a source line."""
    if _EXPECTATION.search(line):
        messages.append([line.rpartition(" at ")[2]])
    elif messages and line and not re.match(r"#|KTAP version|\d+\.\.\d+", line):
        messages[-1].append(line)


def _named(suite: str, waiting: Sequence[tuple[int, str, str, str]]) -> list[Case]:
    """Return the cases. Parameters come before their case, and replace it under its name."""
    cases: list[Case] = []
    inner: list[tuple[str, str, str]] = []
    for depth, name, state, detail in waiting:
        if depth > 1:
            inner.append((name, state, detail))
            continue
        if inner:
            cases += [Case(f"{suite}.{name}.{other}", st, text) for other, st, text in inner]
        else:
            cases.append(Case(f"{suite}.{name}", state, detail))
        inner = []
    return cases
