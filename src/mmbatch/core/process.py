# SPDX-License-Identifier: GPL-2.0-only
"""Run other programs: killed whole when we stop, explained in one sentence when they fail.

The packages that carry them and the environment that they get are here, too.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

from mmbatch.core.errors import MmbatchError
from mmbatch.core.paths import cache_variable

_TELLING = re.compile(r"\b(?:error|fatal): |undefined reference", re.IGNORECASE)
_TERM_GRACE_S = 3.0
_ORPHAN_GRACE_S = 0.3  # for its children, once the program itself has ended
_MOST_PATIENCE = 10.0
_LOAD_PERIOD_S = 10.0
_KEPT_BYTES = 64 * 1024
_STOP_PERIOD_S = 0.1
_NOT_OURS = (ProcessLookupError, PermissionError)  # gone, or root's by sudo
_running: set[subprocess.Popen[bytes]] = set()
R = TypeVar("R")
PROGRAM_PACKAGES: Mapping[str, str] = {
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu",
    "apt-cache": "apt",
    "apt-config": "apt",
    "apt-get": "apt",
    "as": "binutils",
    "bc": "bc",
    "bison": "bison",
    "busybox": "busybox-static",
    "clang": "clang",
    "cpio": "cpio",
    "daxctl": "daxctl",
    "dpkg": "dpkg",
    "dpkg-deb": "dpkg",
    "dpkg-query": "dpkg",
    "flex": "flex",
    "gcc": "gcc",
    "git": "git",
    "ld": "binutils",
    "make": "make",
    "mke2fs": "e2fsprogs",
    "ndctl": "ndctl",
    "nm": "binutils",
    "objcopy": "binutils",
    "objdump": "binutils",
    "openssl": "openssl",
    "perl": "perl",
    "qemu-system-aarch64": "qemu-system-arm",
    "qemu-system-x86_64": "qemu-system-x86",
    "spatch": "coccinelle",
    "sudo": "sudo",
    "tar": "tar",
    "xz": "xz-utils",
}
"""The Debian package that carries each program we call."""

# A calling make's flags and a calling git hook's paths would change what our own children do.
# So would the variables by which a kernel's makefiles and gcc choose programs, flags and headers:
# a cached build is found again by the programs that made it, which must be those that we know of.
_NOT_INHERITED = (
    "ARCH",
    "COMPILER_PATH",
    "CPATH",
    "CROSS_COMPILE",
    "C_INCLUDE_PATH",
    "GCC_EXEC_PREFIX",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_WORK_TREE",
    "GNUMAKEFLAGS",
    "KAFLAGS",
    "KBUILD_AFLAGS",
    "KBUILD_CFLAGS",
    "KBUILD_CPPFLAGS",
    "KBUILD_EXTMOD",
    "KBUILD_OUTPUT",
    "KCFLAGS",
    "KCONFIG_CONFIG",
    "KCPPFLAGS",
    "LANGUAGE",
    "LIBRARY_PATH",
    "LLVM",
    "LLVM_IAS",
    "MAKEFLAGS",
    "MAKELEVEL",
    "MAKEOVERRIDES",
    "MFLAGS",
    "TAR_OPTIONS",
)


@dataclass(frozen=True)
class Result:
    """How a program ended.

    Attributes:
        rc: exit status, negative for a signal.
        stdout: what it printed; with a log, the last 64 KiB of both of its streams.
        stderr: what it printed there; empty with a log.
    """

    rc: int
    stdout: str
    stderr: str


def run(
    argv: Sequence[str | Path],
    *,
    action: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    log: Path | None = None,
    timeout_s: float | None = None,
    check: bool = True,
    stdin: str | None = None,
    errors: str = "replace",
    foreground: bool = False,
    finish: bool = False,
    keep: int | None = None,
) -> Result:
    """Run a program to its end; it and all its children are gone when this returns or raises.

    Args:
        argv: program and arguments.
        action: what this is for, as a phrase for error messages.
        cwd: its working directory.
        env: variables to add to its environment.
        log: file to append both of its streams to, with the command line before them.
        timeout_s: seconds after which it is stopped on an idle machine; see `patience`.
        check: raise when it ends with anything but 0.
        stdin: text for its standard input; none means an empty one.
        errors: how to decode output that is not UTF-8, as `bytes.decode` takes it.
        foreground: leave it in our process group, on our terminal; for sudo and the like.
        finish: let it come to its end when we are interrupted, as dpkg must, and only then stop.
        keep: a file that it and its children keep open: a lock that outlives our kill -9.

    Returns:
        Its exit status and output.

    Raises:
        MmbatchError: there is no such program, it took too long, or (with check) it failed.
    """
    if foreground:
        return _run_in_foreground(argv, action, cwd, env, check=check, finish=finish)
    with contextlib.ExitStack() as stack:
        if log is None:
            out: IO[bytes] = stack.enter_context(tempfile.TemporaryFile())
            err: IO[bytes] = stack.enter_context(tempfile.TemporaryFile())
        else:
            out = err = stack.enter_context(_open_log(log, argv))
        input_file = stack.enter_context(tempfile.TemporaryFile())
        input_file.write((stdin or "").encode())
        input_file.seek(0)
        start = out.tell()
        pipes = {"stdin": input_file, "stdout": out, "stderr": err}
        fds = () if keep is None else (keep,)
        guard = not finish
        with _started(argv, action, cwd=cwd, env=env, **pipes, guard=guard, fds=fds) as process:
            limit = _Limit(timeout_s)
            try:
                _wait(process, limit, finish)
            except TimeoutError:
                raise _too_slow(argv, action, limit) from None
        if log is None:
            result = Result(process.returncode, _read(out, 0, errors), _read(err, 0))
        else:
            size = os.fstat(out.fileno()).st_size
            result = Result(process.returncode, _read(out, max(start, size - _KEPT_BYTES)), "")
    if check:
        raise_unless_good(result, argv, action, log)
    return result


@dataclass(frozen=True)
class Toolchain:
    """The programs that make objects.

    Attributes:
        compiler: first line of the compiler's `--version`.
        binutils: that of the first of the other programs, the assembler; empty without any.
        identity: a text that differs for other programs, for the keys of cached builds.
    """

    compiler: str
    binutils: str
    identity: str


def toolchain(compiler: str | Path, *others: str | Path) -> Toolchain:
    """Return what a compiler and the programs that work with it are.

    Raises:
        MmbatchError: one of them is not there or does not run.
    """
    versions, identities = [], []
    for program in (compiler, *others):
        printed = run([program, "--version"], action=f"ask {program} for its version").stdout
        versions.append(printed.partition("\n")[0].strip())
        # Another program can print the same version: a wrapper, or a build of one's own.
        path = Path(shutil.which(program) or program).resolve()
        status = path.stat()
        identities.append(f"{path} {status.st_size} {status.st_mtime_ns} {versions[-1]}")
    return Toolchain(versions[0], versions[1] if others else "", "\n".join(identities))


def stream(
    argv: Sequence[str | Path],
    *,
    action: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    log: Path | None = None,
    timeout_s: float | None = None,
    check: bool = True,
    started: Callable[[int], object] | None = None,
) -> Generator[str, None, None]:
    """Yield a program's standard output line by line, as it comes, without line ends.

    The arguments are those of `run`. A log gets its standard error, and `timeout_s` counts from its
    start. `started` is called with its process id.

    Leaving the loop early, by break or by an exception, stops the program and its children
    (use `contextlib.closing` where the moment matters).

    Raises:
        MmbatchError: there is no such program, it took too long, or (with check) it failed.
    """
    with contextlib.ExitStack() as stack:
        err = stack.enter_context(_open_log(log, argv))
        start = err.tell()
        with _started(
            argv,
            action,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=err,
        ) as process:
            limit = _Limit(timeout_s)
            if started is not None:
                started(process.pid)
            try:
                assert process.stdout is not None
                yield from _lines(process.stdout, limit)
                _wait(process, limit)
            except TimeoutError:
                raise _too_slow(argv, action, limit) from None
        result = Result(process.returncode, "", _read(err, start))
    if check:
        raise_unless_good(result, argv, action, log)


def pipeline(
    stages: Sequence[Sequence[str | Path]],
    *,
    action: str,
    cwd: Path | None = None,
    timeout_s: float | None = None,
) -> Result:
    """Run programs joined by pipes; the first failing one fails the whole.

    Returns:
        The last stage's standard output and everyone's standard error.

    Raises:
        MmbatchError: a program is missing, failed, or the whole took too long.
    """
    joined = " | ".join(shlex.join(guarded(stage, action)) for stage in stages)
    return run(
        ["bash", "-c", f"set -o pipefail; {joined}"], action=action, cwd=cwd, timeout_s=timeout_s
    )


def _too_slow(argv: Sequence[str | Path], action: str, limit: _Limit) -> MmbatchError:
    """Return the error for a program that ran past its time limit."""
    return MmbatchError(
        action,
        f"{Path(argv[0]).name} did not finish within {limit.spent():.1f} s",
        "try again, on a machine with less other load" if patience() > 1 else "try again",
    )


def raise_unless_good(
    result: Result, argv: Sequence[str | Path], action: str, log: Path | None
) -> None:
    """Raise MmbatchError with a program's last words unless it ended with 0."""
    if result.rc == 0:
        return
    lines = [line for line in (result.stdout + "\n" + result.stderr).splitlines() if line.strip()]
    last = lines[-1].strip() if lines else "it printed nothing"
    ended = f"ended with {result.rc}"
    if result.rc < 0:
        ended = f"was ended by signal {signal.Signals(-result.rc).name}"
    full = [line.strip() for line in lines if "No space left on device" in line]
    if full:
        last = full[0]
        variable = cache_variable(os.environ)
        hint = f"free some space on that disk, or set {variable} to a directory on another one"
    elif log is not None:
        hint = f"read the whole output in {os.fspath(log)}"
        last = next((line.strip() for line in lines if _TELLING.search(line)), last)
    else:
        hint = "run it by hand to see more: " + shlex.join([os.fspath(word) for word in argv])
    raise MmbatchError(action, f"{Path(argv[0]).name} {ended}: {last}", hint)


@contextlib.contextmanager
def _started(
    argv: Sequence[str | Path],
    action: str,
    *,
    cwd: Path | None,
    env: Mapping[str, str] | None,
    stdin: IO[bytes] | int,
    stdout: IO[bytes] | int,
    stderr: IO[bytes] | int,
    guard: bool = True,
    fds: tuple[int, ...] = (),
) -> Generator[subprocess.Popen[bytes], None, None]:
    """Start a program in a process group of its own, and stop the group on the way out."""
    try:
        process = subprocess.Popen(
            guarded(argv, action, die_with_us=guard),
            cwd=cwd,
            env=child_env(env),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            pass_fds=fds,
        )
    except OSError as error:
        raise MmbatchError(
            action, f"{argv[0]} could not be started ({error.strerror})", "check it by hand"
        ) from error
    _running.add(process)
    try:
        yield process
    except BaseException:
        _stop_group(process)
        raise
    finally:
        _running.discard(process)
        if process.stdout is not None:
            process.stdout.close()


def patience() -> float:
    """Return how many times longer things may take here than on an idle machine, from 1 to 10.

    That is the load average of the whole machine, divided by the number of CPUs that we may run
    on. A quota of CPU time, as containers may have, does not count.
    """
    try:
        load = max(os.getloadavg()[:2])
    except OSError:
        return 1.0
    return min(max(load / cpus(), 1.0), _MOST_PATIENCE)


class _Limit:
    """A time limit from now on, for which time counts less while this machine has a load.

    Attributes:
        seconds: after which it is reached on an idle machine; None means never.
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._start = self._asked = time.monotonic()
        self._counted_s = 0.0

    def spent(self) -> float:
        """Return how many seconds ago it began."""
        return time.monotonic() - self._start

    def left(self) -> float | None:
        """Return how many seconds to wait before this is asked again; None means for ever.

        Raises:
            TimeoutError: it is reached.
        """
        if self.seconds is None:
            return None
        now, slower = time.monotonic(), patience()
        self._counted_s += (now - self._asked) / slower
        self._asked = now
        if self._counted_s >= self.seconds:
            raise TimeoutError
        return min((self.seconds - self._counted_s) * slower, _LOAD_PERIOD_S)


def _wait(process: subprocess.Popen[bytes], limit: _Limit, finish: bool = False) -> None:
    """Wait for a process to end; TimeoutError when the limit is reached first."""
    while True:
        try:
            process.wait(timeout=limit.left())
        except subprocess.TimeoutExpired:
            continue
        except KeyboardInterrupt:
            if finish:  # a second Ctrl-C stops it all the same
                _wait(process, _Limit(limit.seconds))
            raise
        return


def _stop_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and all of its group: TERM first, KILL for who is still there."""
    try:
        with contextlib.suppress(*_NOT_OURS):
            os.killpg(process.pid, signal.SIGTERM)
            deadline = time.monotonic() + _TERM_GRACE_S
            ended = False
            while time.monotonic() < deadline:
                if process.poll() is not None and not ended:
                    ended = True
                    deadline = min(deadline, time.monotonic() + _ORPHAN_GRACE_S)
                os.killpg(process.pid, 0)
                time.sleep(0.02)
    finally:
        with contextlib.suppress(*_NOT_OURS):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _lines(pipe: IO[bytes], limit: _Limit) -> Generator[str, None, None]:
    """Yield decoded lines from a pipe; TimeoutError when the limit is reached first."""
    partial = b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            if not selector.select(limit.left()):
                continue
            chunk = os.read(pipe.fileno(), 1 << 16)
            *whole, partial = (partial + chunk).split(b"\n")
            for line in whole:
                yield line.decode(errors="replace")
            if not chunk:
                break
    if partial:
        yield partial.decode(errors="replace")


def _run_in_foreground(
    argv: Sequence[str | Path],
    action: str,
    cwd: Path | None,
    env: Mapping[str, str] | None,
    *,
    check: bool,
    finish: bool,
) -> Result:
    sys.stdout.flush()
    process = subprocess.Popen(
        guarded(argv, action, die_with_us=not finish), cwd=cwd, env=child_env(env)
    )
    try:
        _wait(process, _Limit(None), finish)
    except BaseException:
        process.terminate()
        process.wait()
        raise
    result = Result(process.returncode, "", "")
    if check:
        raise_unless_good(result, argv, action, None)
    return result


def _open_log(log: Path | None, argv: Sequence[str | Path]) -> IO[bytes]:
    if log is None:
        return tempfile.TemporaryFile()
    log.parent.mkdir(parents=True, exist_ok=True)
    handle = log.open("a+b")
    handle.write(f"$ {shlex.join([os.fspath(word) for word in argv])}\n".encode(errors="replace"))
    handle.flush()
    return handle


def _read(handle: IO[bytes], start: int, errors: str = "replace") -> str:
    handle.seek(start)
    return handle.read().decode(errors=errors)


def side_by_side(jobs: Sequence[Callable[[], R]], most: int) -> Generator[R, None, None]:
    """Run jobs in threads, `most` at a time, and yield what they return, in their order.

    If one of them raises, or we are interrupted or leave, all programs that run are ended. That is
    for jobs which spend minutes in a program each, as guests do.
    """
    with futures.ThreadPoolExecutor(most) as pool:
        started: list[futures.Future[R]] = []
        try:
            started += (pool.submit(job) for job in jobs)
            for future in started:
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            while not all(future.done() for future in started):
                with contextlib.suppress(KeyboardInterrupt):  # another one: this is the way out
                    _kill_running()
                    time.sleep(_STOP_PERIOD_S)
            raise


def _kill_running() -> None:
    """End all programs that any thread of ours runs."""
    for process in tuple(_running):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def cpus() -> int:
    """Return on how many CPUs we may run."""
    return len(os.sched_getaffinity(0))


def child_env(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment every child gets: ours in plain English, less a calling make's."""
    env = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    env.setdefault("HOME", "/nonexistent")  # or spatch dies of an exception
    env |= {"LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    return env | dict(extra or {})


@functools.cache
def _setpriv() -> str | None:
    return shutil.which("setpriv")


def guarded(argv: Sequence[str | Path], action: str, *, die_with_us: bool = True) -> list[str]:
    """Return argv with its program found, and, if asked, made to die with us even at kill -9.

    Raises:
        MmbatchError: there is no such program; names its Debian package where we know it.
    """
    words = [os.fspath(word) for word in argv]
    found = shutil.which(words[0])
    if found is None:
        name = Path(words[0]).name
        package = PROGRAM_PACKAGES.get(name)
        hint = f"install it: apt-get install {package}" if package else "install it"
        raise MmbatchError(action, f"there is no program {name} here", hint)
    guard = _setpriv() if die_with_us else None
    prefix = [guard, "--pdeathsig", "KILL", "--"] if guard else []
    return [*prefix, found, *words[1:]]
