# SPDX-License-Identifier: GPL-2.0-only
"""Load a livepatch module into the running kernel, watch it, say what runs, and unload it."""

from __future__ import annotations

import gzip
import os
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.process import Result, run
from mmbatch.live import elf, kernel, manifest
from mmbatch.live.manifest import LiveManifest

_SIGNED = b"~Module signature appended~\n"
_PAUSE_S = 0.2
_RELEASE_S = 1.0  # the kernel releases the module a moment after the livepatch's directory
_REVERT_S = 180.0
_SHOWN_TASKS = 5
_PROGRESS = re.compile(r"livepatch: (enabling patch|'\w+': )|taints? |tainting")
_COUNT = re.compile(r"(\w+) (done|left|passed|failed) (\d+) (\d+) (\d+) ?(.*)")
_NO_LIVEPATCHES = "the kernel does not support livepatches (CONFIG_LIVEPATCH)"
_README = "see the README of the speed-up for its parameters"


@dataclass(frozen=True)
class Kernel:
    """The running kernel, as sysfs and procfs show it."""

    release: str
    sys: Path = Path("/sys")
    proc: Path = Path("/proc")
    boot: Path = Path("/boot")

    @property
    def patches(self) -> Path:
        """The directory with one subdirectory for each livepatch."""
        return self.sys / "kernel/livepatch"

    def patch(self, name: str) -> Path:
        """The directory of a livepatch, which exists while it is loaded and not yet reverted."""
        return self.patches / name

    def is_loaded(self, name: str) -> bool:
        """Return whether a module is loaded."""
        return (self.sys / "module" / name).exists()

    def in_transition(self, name: str) -> bool:
        """Return whether some tasks still must switch to or from a livepatch."""
        return read_line(self.patch(name) / "transition") == "1"

    def patchers(self, function: str) -> list[str]:
        """Return the livepatches that replace a function; the last one of them runs."""
        names = {path.parent.parent.name for path in self.patches.glob(f"*/vmlinux/{function},*")}
        newest_first = [line.split()[0] for line in read_line(self.proc / "modules").splitlines()]

        def order(name: str) -> tuple[int, int, str]:
            number = read_line(self.patch(name) / "stack_order")  # since Linux 6.14
            place = newest_first.index(name) if name in newest_first else 0
            return (int(number) if number.isdecimal() else 0, -place, name)

        return sorted(names, key=order)

    def waiting_tasks(self, wanted: str) -> str:
        """Name tasks that have not reached the wanted state of a transition."""
        names = [
            f"{read_line(path.with_name('comm'))} ({path.parent.name})"
            for path in self.proc.glob("[0-9]*/task/[0-9]*/patch_state")
            if read_line(path) not in ("-1", wanted, "")
        ]
        return ", ".join(names[:_SHOWN_TASKS]) or "some task"

    def config(self) -> dict[str, str] | None:
        """Return the options of the kernel that are set; None if they are not known."""
        installed, own = self.boot / f"config-{self.release}", self.proc / "config.gz"
        if installed.exists():
            return kernel.config_of(installed.read_text(encoding="utf-8"))
        if own.exists():
            return kernel.config_of(gzip.decompress(own.read_bytes()).decode())
        return None


def release_of(module: Path) -> str:
    """Return the release of the kernel that a module was built for."""
    match = re.search(rb"\bvermagic=(\S+) ", kernel.module_content(module))
    if match is None:
        hint = "give a file that `mmbatch live build` wrote"
        problem = "it is not a kernel module"
        raise MmbatchError(f"load {module.name}", problem, hint, ExitCode.USAGE)
    return match[1].decode()


def require_loadable(live: LiveManifest, module: Path, running: Kernel) -> None:
    """Raise MmbatchError unless the kernel may accept a module, which compares types itself."""
    action, release = f"load {live.module}", release_of(module)
    _require_root(action)
    if release != running.release:
        problem = f"it was built for Linux {release}, and Linux {running.release} is running"
        raise MmbatchError(action, problem, "rebuild it: mmbatch live build")
    if not running.patches.is_dir():
        hint = "boot a kernel that does, such as Debian's"
        raise MmbatchError(action, _NO_LIVEPATCHES, hint, ExitCode.NOT_APPLICABLE)
    _require_trust(action, module, running)
    for function in live.replaces:
        others = [name for name in running.patchers(function.name) if name != live.module]
        if others:
            by = ", ".join(others)
            problem = f"{function.name}() is replaced already, by the livepatch {by}"
            raise MmbatchError(action, problem, "unload that one first, or do without this one")
    for path in running.patches.glob("*/transition"):
        if read_line(path) == "1":
            problem = f"the livepatch {path.parent.name} is still in transition"
            raise MmbatchError(action, problem, "try again when the transition has ended")


def _require_trust(action: str, module: Path, running: Kernel) -> None:
    """Raise MmbatchError if the kernel takes only signed modules and this one is not signed."""
    if kernel.module_content(module).endswith(_SIGNED):
        return  # the kernel itself says whether it knows the key
    lockdown = re.search(r"\[(\w+)\]", read_line(running.sys / "kernel/security/lockdown"))
    if lockdown is not None and lockdown[1] != "none":
        problem = f"the kernel is locked down ({lockdown[1]}) and takes only signed modules"
    elif read_line(running.sys / "module/module/parameters/sig_enforce") == "Y":
        problem = "the kernel takes only signed modules (module.sig_enforce)"
    else:
        return
    raise MmbatchError(action, problem, "sign it, as docs/live.md says")


def require_parameters(module: Path, parameters: Iterable[str]) -> None:
    """Raise MmbatchError if a module lacks a "NAME=VALUE": the kernel would only log it."""
    content = kernel.module_content(module)
    for parameter in parameters:
        name = parameter.partition("=")[0]
        if f"{name}\0".encode() not in content:
            action, problem = f"load {module.name}", f"it has no parameter {name}"
            raise MmbatchError(action, problem, _README, ExitCode.USAGE)


def set_parameters(live: LiveManifest, parameters: Sequence[str], running: Kernel) -> None:
    """Set parameters ("NAME=VALUE" each) of a module that is loaded."""
    directory = running.sys / "module" / live.module / "parameters"
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        action = f"set {name} of {live.module}"
        if not (directory / name).exists():
            problem = "the module that is loaded has no such parameter"
            raise MmbatchError(action, problem, _README, ExitCode.USAGE)
        _require_root(action)
        try:
            (directory / name).write_text(value)
        except OSError as error:
            problem = f"it does not take '{value}': {error.strerror}"
            raise MmbatchError(action, problem, _README, ExitCode.USAGE) from error


def require_same(live: LiveManifest, module: Path, running: Kernel) -> None:
    """Raise MmbatchError if the module that is loaded is from another build than a file."""
    loaded = running.sys / "module" / live.module / "notes" / elf.BUILD_ID
    section = elf.parse(kernel.module_content(module)).find(elf.BUILD_ID)
    if section and loaded.exists() and loaded.read_bytes() != section.content:
        hint = f"unload that one first: mmbatch live unload {live.speedup}"
        raise MmbatchError(f"load {module.name}", "another build of it is loaded", hint)


def load(
    live: LiveManifest, module: Path, parameters: Sequence[str], running: Kernel, limit_s: float
) -> None:
    """Load a module and wait until it is in use everywhere; take it back after that limit."""
    action = f"load {live.module}"
    if running.is_loaded(live.module) and not running.patch(live.module).exists():
        # Its livepatch is off, so nothing uses it any more.
        remove(live.module, action)
    before = _log()
    done = run(["insmod", module, *parameters], action=action, check=False, finish=True)
    if done.rc:
        raise MmbatchError(action, _refusal(live.module, before, done), "see dmesg")
    try:
        deadline = time.monotonic() + limit_s
        while running.in_transition(live.module) and time.monotonic() < deadline:
            time.sleep(_PAUSE_S)
    except KeyboardInterrupt:
        _take_back(live, running, action, "it was interrupted")
        raise
    if running.in_transition(live.module):
        tasks = running.waiting_tasks("1")
        problem = f"after {limit_s:.0f} s {tasks} was still in the old function"
        _take_back(live, running, action, problem)
        hint = "try again, or allow more time with --limit"
        raise MmbatchError(action, f"{problem}, so the load was undone", hint)


def _take_back(live: LiveManifest, running: Kernel, action: str, problem: str) -> None:
    """Unload a module that did not come into use; raise MmbatchError if it can't be."""
    try:
        unload(live.module, running, _REVERT_S)
    except MmbatchError as error:
        problem = f"{problem}, and taking it back has not ended: {error.problem}"
        hint = f"end it later: mmbatch live unload {live.speedup}"
        raise MmbatchError(action, problem, hint) from error


def unload(name: str, running: Kernel, limit_s: float) -> bool:
    """Revert a livepatch and remove its module; return whether it was loaded."""
    action = f"unload {name}"
    if not running.is_loaded(name):
        return False
    _require_root(action)
    directory = running.patch(name)
    if read_line(directory / "enabled") == "1":
        try:
            (directory / "enabled").write_text("0")
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            problem = f"the kernel does not disable its livepatch now ({why})"
            hint = "another livepatch may be in transition: unload it again later"
            raise MmbatchError(action, problem, hint) from error
    deadline = time.monotonic() + limit_s
    while directory.exists():
        if time.monotonic() > deadline:
            problem = f"after {limit_s:.0f} s {running.waiting_tasks('0')} still used it"
            raise MmbatchError(action, problem, "unload it again later")
        time.sleep(_PAUSE_S)
    remove(name, action)
    return True


def remove(name: str, action: str) -> None:
    """Remove a module, which the kernel may release only after a moment."""
    deadline = time.monotonic() + _RELEASE_S
    argv = ["rmmod", name]
    while run(argv, action=action, check=time.monotonic() > deadline, finish=True).rc:
        time.sleep(_PAUSE_S)


@dataclass(frozen=True)
class Left:
    """Calls that a speed-up left to the kernel's own function."""

    reason: str
    calls: int
    pages: int


@dataclass(frozen=True)
class Function:
    """What runs for a function, and what was handled of it; None if that is not loaded.

    `ns` is the time that all of `calls` took, 0 if they were not timed.
    """

    speedup: str
    function: str
    runs: str
    active: bool
    calls: int | None = None
    pages: int | None = None
    ns: int | None = None
    left: list[Left] = field(default_factory=list)


@dataclass(frozen=True)
class Speedup:
    """The state of a speed-up, how its proofs before use ended, and why the kernel can't take it.

    `problem` is empty if it can.
    """

    speedup: str
    loaded: bool
    method: str | None
    proof: str | None
    problem: str


def functions(live: LiveManifest, running: Kernel) -> list[Function]:
    """Return what runs for each function of a speed-up, and what was counted."""
    counted = _counts(live, running)
    found = []
    for name in dict.fromkeys(function.name for function in live.replaces):
        runs, active = _runs(live, name, running)
        done = [row[2:5] for row in counted if row[:2] == (name, "done")]
        calls, pages, ns = done[0] if done else (None, None, None)
        left = [Left(row[5], *row[2:4]) for row in counted if row[:2] == (name, "left") and row[2]]
        found.append(Function(live.speedup, name, runs, active, calls, pages, ns, left))
    return found


def _runs(live: LiveManifest, function: str, running: Kernel) -> tuple[str, bool]:
    """Return what runs for a function, and whether all tasks run the speed-up's."""
    names = running.patchers(function)
    ours = live.module
    off = ""
    if running.is_loaded(ours) and not running.patch(ours).exists():
        others = sorted(path.name for path in running.patches.glob("*") if path.name != ours)
        why = f"replaced by the livepatch {', '.join(others)}" if others else "disabled"
        off = f"; {ours} is loaded, but {why}"
    if not names:
        return f"the kernel's own{off}", False
    shown = " over ".join(reversed(names))
    moving = [name for name in names if running.in_transition(name)]
    if moving:
        wanted = read_line(running.patch(moving[-1]) / "enabled")
        tasks = running.waiting_tasks(wanted)
        return f"{shown}, some tasks have not switched yet: {tasks}{off}", False
    return f"{shown}, in use everywhere{off}", names[-1] == ours


def _counts(live: LiveManifest, running: Kernel) -> list[tuple[str, str, int, int, int, str]]:
    """Return function, outcome, calls, pages, ns and reason as a loaded module has counted them."""
    text = read_line(running.sys / "module" / live.module / "parameters/counts")
    found = [_COUNT.fullmatch(line.strip()) for line in text.splitlines()]
    return [(m[1], m[2], int(m[3]), int(m[4]), int(m[5]), m[6]) for m in found if m]


def state(live: LiveManifest, running: Kernel) -> Speedup:
    """Return the state of a speed-up, and whether the running kernel can take it."""
    method = running.sys / "module" / live.module / "parameters" / f"{live.speedup}.method"
    proofs = [row for row in _counts(live, running) if row[1] in ("passed", "failed")]
    ended = [row[1] for row in proofs if row[2]]
    proof = ("failed" if "failed" in ended else "passed" if ended else "none") if proofs else None
    loaded = running.is_loaded(live.module)
    problem = "" if loaded else _unsupported(live, running)
    return Speedup(live.speedup, loaded, read_line(method) or None, proof, problem)


def _unsupported(live: LiveManifest, running: Kernel) -> str:
    """Return why a speed-up can't run on the running kernel, or nothing."""
    config = running.config()
    series = kernel.series_in(running.release)
    why = manifest.problem(live, series, live.needs if config is None else config)
    why = why.replace(f"'{live.speedup}' supports only", "it is none of")  # alike for several
    return why or ("" if running.patches.is_dir() else _NO_LIVEPATCHES)


def _require_root(action: str) -> None:
    if os.geteuid() != 0:
        problem = "only root can change the running kernel"
        raise MmbatchError(action, problem, "run it as root", ExitCode.USAGE)


def _log() -> list[str]:
    return run(["dmesg"], action="read the kernel's log", check=False).stdout.splitlines()


def _refusal(module: str, before: Sequence[str], done: Result) -> str:
    """Return why insmod failed: what the kernel's log has since then, or what insmod said."""
    lines = _log()
    if before and before[-1] in lines:
        lines = lines[lines.index(before[-1]) + 1 :]
    found = [line for line in lines if f"{module}: " in line or "livepatch: " in line]
    reasons = [line for line in found if not _PROGRESS.search(line)]
    if reasons:
        return re.sub(r"^\[[^]]*\] ", "", reasons[-1])
    return done.stderr.strip() or f"insmod ended with {done.rc}"


def read_line(path: Path) -> str:
    """Return what a small file has, without spaces around it; nothing if it can't be read."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):  # as the size of a device that is not bound
        return ""
