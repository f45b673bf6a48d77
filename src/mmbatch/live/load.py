# SPDX-License-Identifier: GPL-2.0-only
"""Load a livepatch module into the running kernel, watch its transition, and unload it."""

from __future__ import annotations

import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.process import Result, run
from mmbatch.live import elf
from mmbatch.live.btf import Btf
from mmbatch.live.kernel import series_of
from mmbatch.live.manifest import LiveManifest, of_series, require_types

_SIGNED = b"~Module signature appended~\n"
_PAUSE_S = 0.2
_RELEASE_S = 1.0  # the kernel releases the module a moment after the livepatch's directory
_REVERT_S = 180.0
_SHOWN_TASKS = 5
_PROGRESS = re.compile(r"livepatch: (enabling patch|'\w+': )|taints? |tainting")
_COUNT = re.compile(r"(\w+) (done|left|passed|failed) (\d+) (\d+) ?(.*)")


@dataclass(frozen=True)
class Kernel:
    """The running kernel, as sysfs and procfs show it.

    Attributes:
        release: as printed by `uname -r`.
        sys: where sysfs is mounted.
        proc: where procfs is mounted.
    """

    release: str
    sys: Path = Path("/sys")
    proc: Path = Path("/proc")

    @property
    def patches(self) -> Path:
        """The directory with one subdirectory for each livepatch."""
        return self.sys / "kernel/livepatch"

    def patch(self, name: str) -> Path:
        """The directory of a livepatch, which exists while it is loaded and not yet reverted."""
        return self.patches / name

    def in_transition(self, name: str) -> bool:
        """Return whether some tasks still must switch to or from a livepatch."""
        return read_line(self.patch(name) / "transition") == "1"

    def patchers(self, function: str) -> list[str]:
        """Return the livepatches that replace a function."""
        found = self.patches.glob(f"*/vmlinux/{function},*")
        return sorted(path.parent.parent.name for path in found)

    def types(self) -> Btf:
        """Return the kernel's types.

        Raises:
            ValueError: the kernel does not describe them.
        """
        try:
            return Btf((self.sys / "kernel/btf/vmlinux").read_bytes())
        except OSError as error:
            raise ValueError("it does not describe its types (CONFIG_DEBUG_INFO_BTF)") from error

    def waiting_tasks(self, wanted: str) -> list[str]:
        """Return the names of tasks that have not reached the wanted state of a transition."""
        names = []
        for path in self.proc.glob("[0-9]*/patch_state"):
            if read_line(path) not in ("-1", wanted, ""):
                names.append(f"{read_line(path.with_name('comm'))} ({path.parent.name})")
        return names


def release_of(module: Path) -> str:
    """Return the release of the kernel that a module was built for.

    Raises:
        MmbatchError: it is not a module.
    """
    match = re.search(rb"\0vermagic=(\S+) ", module.read_bytes() if module.is_file() else b"")
    if match is None:
        raise MmbatchError(
            f"load {module.name}",
            "it is not a kernel module" if module.is_file() else f"there is no {module}",
            "give a file that `mmbatch live build` wrote",
            ExitCode.USAGE,
        )
    return match[1].decode()


def require_loadable(live: LiveManifest, module: Path, release: str, kernel: Kernel) -> None:
    """Raise MmbatchError unless the running kernel will accept a module; change nothing.

    The release is that of the kernel for which the module was built.
    """
    action = f"load {live.module}"
    require_root(action)
    if release != kernel.release:
        raise MmbatchError(
            action,
            f"it was built for Linux {release}, and Linux {kernel.release} is running",
            "rebuild it: mmbatch live build",
        )
    if not kernel.patches.is_dir():
        raise MmbatchError(
            action,
            "the running kernel does not support livepatches (CONFIG_LIVEPATCH)",
            "boot a kernel that does, such as Debian's",
            ExitCode.NOT_APPLICABLE,
        )
    require_trust(action, module, kernel)
    live = of_series(live, series_of(release), release)
    for function in live.replaces:
        others = [name for name in kernel.patchers(function.name) if name != live.module]
        if others:
            raise MmbatchError(
                action,
                f"{function.name}() is replaced already, by the livepatch {', '.join(others)}",
                "unload that one first, or do without this one",
            )
    for path in kernel.patches.glob("*/transition"):
        if read_line(path) == "1":
            raise MmbatchError(
                action,
                f"the livepatch {path.parent.name} is still in transition",
                "try again when the transition has ended",
            )
    _require_symbols(action, live.symbols, kernel)
    try:
        types = kernel.types()
    except ValueError as error:
        raise MmbatchError(action, str(error), "use one that does, such as Debian's") from error
    require_types(live, types, kernel.release)


def require_parameters(module: Path, parameters: Iterable[str]) -> None:
    """Raise MmbatchError if a module lacks a parameter: the kernel would only log that.

    Each parameter is "NAME=VALUE".
    """
    content = module.read_bytes()
    for parameter in parameters:
        name = parameter.partition("=")[0]
        if f"{name}\0".encode() not in content:
            raise MmbatchError(
                f"load {module.name}",
                f"it has no parameter {name}",
                "see the README of the speed-up for its parameters",
                ExitCode.USAGE,
            )


def set_parameters(live: LiveManifest, parameters: Sequence[str], kernel: Kernel) -> None:
    """Set parameters ("NAME=VALUE" each) of a module that is loaded.

    Raises:
        MmbatchError: the module has no such parameter, or does not take the value.
    """
    directory = kernel.sys / "module" / live.module / "parameters"
    pairs = [(parameter.partition("=")[0], parameter.partition("=")[2]) for parameter in parameters]
    for name, _ in pairs:
        if not (directory / name).exists():
            raise MmbatchError(
                f"set {name} of {live.module}",
                "the module that is loaded has no such parameter",
                "see the README of the speed-up for its parameters",
                ExitCode.USAGE,
            )
    for name, value in pairs:
        action = f"set {name} of {live.module}"
        require_root(action)
        try:
            (directory / name).write_text(value)
        except OSError as error:
            raise MmbatchError(
                action,
                f"it does not take '{value}': {error.strerror}",
                "see the README of the speed-up for what it takes",
                ExitCode.USAGE,
            ) from error


def load(
    live: LiveManifest, module: Path, parameters: Sequence[str], kernel: Kernel, limit_s: float
) -> None:
    """Load a module and wait until it is in use everywhere.

    `require_loadable` accepted it, and its livepatch is not enabled. After `limit_s` seconds it is
    taken back.

    Raises:
        MmbatchError: the kernel refused the module, or a task did not switch in time.
    """
    action = f"load {live.module}"
    if (kernel.sys / "module" / live.module).exists() and not kernel.patch(live.module).exists():
        # It was taken back earlier, and nothing uses it any more.
        remove(live.module, action)
    before = _log()
    done = run(["insmod", module, *parameters], action=action, check=False, finish=True)
    if done.rc:
        raise MmbatchError(action, _refusal(live.module, before, done), "see dmesg")
    try:
        switched = _finishes_transition(live.module, kernel, limit_s)
    except KeyboardInterrupt:
        _take_back(live, kernel, action, "it was interrupted")
        raise
    if not switched:
        tasks = kernel.waiting_tasks("1")
        shown = ", ".join(tasks[:_SHOWN_TASKS]) or "some task"
        problem = f"after {limit_s:.0f} s {shown} was still in the old function"
        _take_back(live, kernel, action, problem)
        raise MmbatchError(
            action,
            f"{problem}, so it was taken back",
            "try again, or allow more time with --limit",
        )


def _take_back(live: LiveManifest, kernel: Kernel, action: str, problem: str) -> None:
    """Unload a module that did not come into use; raise MmbatchError if it can't be."""
    try:
        unload(live.module, kernel, _REVERT_S)
    except MmbatchError as error:
        raise MmbatchError(
            action,
            f"{problem}, and taking it back has not ended: {error.problem}",
            f"end it later: mmbatch live unload {live.speedup}",
        ) from error


def require_same(live: LiveManifest, module: Path, kernel: Kernel) -> None:
    """Raise MmbatchError if a speed-up's module that is loaded is from another build than a file.

    Without build IDs nothing can be said, and it returns.
    """
    loaded = kernel.sys / "module" / live.module / "notes" / elf.BUILD_ID
    section = elf.read(module).find(elf.BUILD_ID)
    if section and loaded.exists() and loaded.read_bytes() != section.content:
        raise MmbatchError(
            f"load {module.name}",
            "another build of it is loaded",
            f"unload that one first: mmbatch live unload {live.speedup}",
        )


def unload(name: str, kernel: Kernel, limit_s: float) -> bool:
    """Revert a livepatch and remove its module, within so many seconds.

    Returns:
        Whether it was loaded.

    Raises:
        MmbatchError: a task did not leave it in time, or the module is in use.
    """
    action = f"unload {name}"
    if not (kernel.sys / "module" / name).exists():
        return False
    require_root(action)
    directory = kernel.patch(name)
    if directory.exists() and read_line(directory / "enabled") == "1":
        try:
            (directory / "enabled").write_text("0")
        except OSError as error:
            why = error.strerror.lower() if error.strerror else str(error)
            raise MmbatchError(
                action,
                f"the kernel does not disable its livepatch now ({why})",
                "another livepatch may be in transition: unload it again later",
            ) from error
    deadline = time.monotonic() + limit_s
    while directory.exists():
        if time.monotonic() > deadline:
            shown = ", ".join(kernel.waiting_tasks("0")[:_SHOWN_TASKS]) or "some task"
            raise MmbatchError(
                action, f"after {limit_s:.0f} s {shown} still used it", "unload it again later"
            )
        time.sleep(_PAUSE_S)
    remove(name, action)
    return True


def remove(name: str, action: str) -> None:
    """Remove a module, which the kernel may release only after a moment."""
    deadline = time.monotonic() + _RELEASE_S
    while time.monotonic() < deadline:
        if run(["rmmod", name], action=action, check=False, finish=True).rc == 0:
            return
        time.sleep(_PAUSE_S)
    run(["rmmod", name], action=action, finish=True)


def status(live: LiveManifest, kernel: Kernel) -> dict[str, str]:
    """Return, for each function that a speed-up replaces, what runs in its place now."""
    found = {}
    for function in live.replaces:
        names = kernel.patchers(function.name)
        if not names:
            found[function.name] = "the kernel's own"
            continue
        moving = [name for name in names if kernel.in_transition(name)]
        state = "some tasks have not switched yet" if moving else "in use everywhere"
        found[function.name] = f"{' over '.join(reversed(names))}, {state}"
    return found


@dataclass(frozen=True)
class Count:
    """Calls of a function that a loaded module replaces.

    Attributes:
        function: its name.
        outcome: "done" by the speed-up, "left" to the kernel, or, of proofs before use, "passed"
            and "failed".
        calls: how many.
        pages: how many pages these were for.
        reason: why they were left to the kernel.
    """

    function: str
    outcome: str
    calls: int
    pages: int
    reason: str


def counts(live: LiveManifest, kernel: Kernel) -> list[Count] | None:
    """Return what a loaded module has counted, None if it is not loaded or counts nothing."""
    text = read_line(kernel.sys / "module" / live.module / "parameters/counts")
    found = [_COUNT.fullmatch(line.strip()) for line in text.splitlines()]
    rows = [
        Count(match[1], match[2], int(match[3]), int(match[4]), match[5])
        for match in found
        if match is not None
    ]
    return rows or None


def method(live: LiveManifest, kernel: Kernel) -> str | None:
    """Return the method that a loaded module uses, None if it is not loaded or has only one."""
    parameters = kernel.sys / "module" / live.module / "parameters"
    return read_line(parameters / f"{live.speedup}.method") or None


def parameter(live: LiveManifest, name: str, kernel: Kernel) -> str | None:
    """Return the value of a parameter of a loaded module, None if there is none of this name."""
    return read_line(kernel.sys / "module" / live.module / "parameters" / name) or None


def active(live: LiveManifest, function: str, kernel: Kernel) -> bool:
    """Return whether a speed-up's module is the one that all tasks run for a function."""
    names = kernel.patchers(function)
    enabled = read_line(kernel.patch(live.module) / "enabled") == "1"
    return live.module in names and enabled and not kernel.in_transition(live.module)


def require_root(action: str) -> None:
    """Raise MmbatchError unless the running kernel may be changed."""
    if os.geteuid() != 0:
        raise MmbatchError(
            action, "only root can change the running kernel", "run it as root", ExitCode.USAGE
        )


def require_trust(action: str, module: Path, kernel: Kernel) -> None:
    """Raise MmbatchError if the kernel takes only signed modules and this one is not signed."""
    if module.read_bytes().endswith(_SIGNED):
        return  # the kernel itself says whether it knows the key
    enforced = read_line(kernel.sys / "module/module/parameters/sig_enforce") == "Y"
    lockdown = re.search(r"\[(\w+)\]", read_line(kernel.sys / "kernel/security/lockdown"))
    if lockdown is not None and lockdown[1] != "none":
        problem = f"the kernel is locked down ({lockdown[1]}) and takes only signed modules"
    elif enforced:
        problem = "the kernel takes only signed modules (module.sig_enforce)"
    else:
        return
    raise MmbatchError(action, problem, "sign it, as docs/live.md says")


def _require_symbols(action: str, names: Iterable[str], kernel: Kernel) -> None:
    wanted = set(names)
    found: Counter[str] = Counter()
    with (kernel.proc / "kallsyms").open(encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if len(words) == 3 and words[2] in wanted:  # a module's symbol has a fourth
                found[words[2]] += 1
    for name in sorted(wanted):
        if found[name] != 1:
            count = f"{found[name]} symbols" if found[name] else "no symbol"
            raise MmbatchError(
                action,
                f"the running kernel has {count} {name}",
                "use another kernel",
                ExitCode.NOT_APPLICABLE,
            )


def _finishes_transition(name: str, kernel: Kernel, limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while kernel.in_transition(name):
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_S)
    return True


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
    if done.rc < 0:
        name = signal.Signals(-done.rc).name
        return f"insmod was killed ({name}), perhaps because memory was short"
    return done.stderr.strip() or "insmod failed"


def read_line(path: Path) -> str:
    """Return what a small file has, without spaces around it; nothing if it is missing."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
