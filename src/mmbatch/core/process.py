# SPDX-License-Identifier: GPL-2.0-only
"""Run other programs: killed whole when we stop, explained in one sentence when they fail."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

from mmbatch.core.errors import FULL_HINT, MmbatchError

R = TypeVar("R")

PACKAGES = dict.fromkeys(("as", "ld", "nm", "objcopy", "objdump"), "binutils") | {
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu",
    "busybox": "busybox-static",
    "mke2fs": "e2fsprogs",
    "qemu-system-aarch64": "qemu-system-arm",
    "qemu-system-x86_64": "qemu-system-x86",
    "spatch": "coccinelle",
    "xz": "xz-utils",
}
"""The Debian packages of programs that are not named like them."""

inherited: set[int] = set()
"""Open files that every program gets: the locks that must outlive our kill -9 (`cache.lock`)."""

_TELLING = re.compile(r"\b(?:error|fatal): |undefined reference", re.IGNORECASE)
_BYTES = "surrogateescape"  # what is not UTF-8 stays as it is, from output to input
_FOREVER_S = 1e7
_TERM_GRACE_S = 3.0
_running: set[subprocess.Popen[bytes]] = set()
_ended: set[subprocess.Popen[bytes]] = set()

# A calling make's flags would change what our own makes do, and so would the variables by which
# a kernel's makefiles and gcc choose programs, flags and headers.
_NOT_INHERITED = re.compile(
    r"ARCH|COMPILER_PATH|CPATH|CROSS_COMPILE|C_INCLUDE_PATH|GCC_EXEC_PREFIX|GNUMAKEFLAGS|KAFLAGS"
    r"|KBUILD_\w+|KCFLAGS|KCONFIG_\w+|KCPPFLAGS|LANGUAGE|LIBRARY_PATH|LLVM|LLVM_IAS|LOCALVERSION"
    r"|MAKEFLAGS|MAKELEVEL|MAKEOVERRIDES|MFLAGS|TAR_OPTIONS"
    # Of git's, only who commits and which files hold the settings: a hook's variables name
    # another repository, and those that trace would change the output that we read.
    r"|GIT_(?!(?:AUTHOR|COMMITTER|TEST)_|CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM)$)\w+"
)


@dataclass(frozen=True)
class Result:
    """How a program ended; with a log, `stdout` is both of its streams."""

    rc: int  # negative for a signal
    stdout: str
    stderr: str


def run(
    argv: Sequence[str | Path],
    *,
    action: str,  # what this is for, as a phrase for error messages
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    log: Path | None = None,  # gets both streams at its end, and the command line before them
    timeout_s: float | None = None,
    check: bool = True,  # whether to raise when it ends with anything but 0
    stdin: str = "",
    foreground: bool = False,  # in our process group, on our terminal, as sudo needs it
    finish: bool = False,  # let it come to its end when we are interrupted, as dpkg must
) -> Result:
    """Run a program to its end; it and all its children are gone when this returns or raises."""
    temporary = tempfile.TemporaryFile
    with _open_log(log, argv) as out, temporary() as err, temporary() as given:
        given.write(stdin.encode(errors=_BYTES))
        given.seek(0)
        start = out.tell()
        pipes = None if foreground else (given, out, out if log else err)
        with _started(argv, action, cwd, env, pipes, guard=not finish) as process:
            try:
                process.wait(timeout_s)
            except KeyboardInterrupt:
                if finish:  # a second Ctrl-C stops it all the same
                    process.wait(timeout_s)
                raise
            except subprocess.TimeoutExpired:
                problem = f"{Path(argv[0]).name} did not finish within {timeout_s:.0f} s"
                hint = "try again, on a machine with less other load"
                raise MmbatchError(action, problem, hint) from None
        result = Result(process.returncode, _read(out, start), _read(err, 0))
    if check:
        _raise_unless_good(result, argv, action, log)
    return result


def stream(
    argv: Sequence[str | Path],
    *,
    action: str,
    cwd: Path | None = None,
    log: Path | None = None,
    timeout_s: float = _FOREVER_S,
    silence_s: float = _FOREVER_S,
) -> Generator[str, None, None]:
    """Yield a program's standard output line by line, as it comes, without line ends.

    A log gets its standard error. It is stopped `timeout_s` after its start, or if it prints
    nothing for `silence_s`. Leaving the loop early, by break or by an exception, stops the program
    and its children (use `contextlib.closing` where the moment matters).
    """
    deadline = time.monotonic() + timeout_s
    with _open_log(log, argv) as err:
        start = err.tell()
        pipes = (subprocess.DEVNULL, subprocess.PIPE, err)
        with _started(argv, action, cwd, None, pipes) as process:
            try:
                assert process.stdout is not None
                yield from _lines(process.stdout, deadline, silence_s)
                process.wait(deadline - time.monotonic())
            except (TimeoutError, subprocess.TimeoutExpired):
                problem = f"{Path(argv[0]).name} printed nothing for {silence_s:.0f} s"
                if time.monotonic() >= deadline:
                    problem = f"{Path(argv[0]).name} did not finish within {timeout_s:.0f} s"
                raise MmbatchError(action, problem, "see what it printed last") from None
        result = Result(process.returncode, "", _read(err, start))
    _raise_unless_good(result, argv, action, log)


def _raise_unless_good(
    result: Result, argv: Sequence[str | Path], action: str, log: Path | None
) -> None:
    """Raise MmbatchError with a program's last words unless it ended with 0."""
    if result.rc == 0:
        return
    lines = list(filter(None, map(str.strip, f"{result.stdout}\n{result.stderr}".splitlines())))
    last = lines[-1] if lines else "it printed nothing"
    ended = f"ended with {result.rc}"
    if result.rc < 0:
        ended = f"was ended by signal {signal.Signals(-result.rc).name}"
    if full := [line for line in lines if "No space left on device" in line]:
        last, hint = full[0], FULL_HINT
    elif log is not None:
        hint = f"read the whole output in {log}"
        last = next(filter(_TELLING.search, lines), last)
    else:
        hint = f"run it by hand to see more: {shlex.join(map(str, argv))}"
    raise MmbatchError(action, f"{Path(argv[0]).name} {ended}: {last}", hint)


@contextlib.contextmanager
def _started(
    argv: Sequence[str | Path],
    action: str,
    cwd: Path | None,
    env: Mapping[str, str] | None,
    pipes: Sequence[IO[bytes] | int] | None,
    *,
    guard: bool = True,
) -> Generator[subprocess.Popen[bytes], None, None]:
    """Start a program, and stop it on the way out if we leave early.

    With `pipes`, its three streams, it is in a process group of its own. The guard is that it dies
    with us, even at kill -9.
    """
    if shutil.which(argv[0]) is None:
        name = Path(argv[0]).name
        if Path(argv[0]).exists():
            hint = "set MMBATCH_CACHE to a directory that is not mounted noexec"
            raise MmbatchError(action, f"{argv[0]} may not run there", hint)
        hint = f"install it: apt-get install {PACKAGES.get(name, name)}"
        raise MmbatchError(action, f"there is no program {name} here", hint)
    prefix = ["setpriv", "--pdeathsig", "KILL", "--"] if guard else []
    stdin, stdout, stderr = pipes or (None, None, None)
    process = subprocess.Popen(
        [*prefix, *argv],
        cwd=cwd,
        env=_child_env(env),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=pipes is not None,
        pass_fds=tuple(inherited),
    )
    _running.add(process)
    try:
        yield process
        if process in _ended:  # not a failure of the program's
            raise KeyboardInterrupt
    except BaseException:
        _stop_group(process)
        raise
    finally:
        _running.discard(process)
        if process.stdout is not None:
            process.stdout.close()


def _stop_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and its group, if it has its own: TERM first, KILL for who is still there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # gone, or root's by sudo
        os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_TERM_GRACE_S)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _lines(pipe: IO[bytes], deadline: float, silence_s: float) -> Generator[str, None, None]:
    """Yield decoded lines from a pipe; TimeoutError at the deadline, or after a silence."""
    partial = b""
    while True:
        left = min(deadline - time.monotonic(), silence_s)
        if left < 0 or not select.select([pipe], [], [], left)[0]:
            raise TimeoutError
        chunk = os.read(pipe.fileno(), 1 << 16)
        if not chunk:
            break
        *whole, partial = (partial + chunk).split(b"\n")
        yield from (line.decode(errors="replace") for line in whole)
    if partial:
        yield partial.decode(errors="replace")


def _open_log(log: Path | None, argv: Sequence[str | Path]) -> IO[bytes]:
    if log is None:
        return tempfile.TemporaryFile()
    log.parent.mkdir(parents=True, exist_ok=True)
    handle = log.open("a+b")
    handle.write(f"$ {shlex.join(map(str, argv))}\n".encode(errors="replace"))
    handle.flush()
    return handle


def _read(handle: IO[bytes], start: int) -> str:
    handle.seek(start)
    return handle.read().decode(errors=_BYTES)


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
                    for process in tuple(_running):
                        _ended.add(process)
                        with contextlib.suppress(ProcessLookupError):
                            os.killpg(process.pid, signal.SIGKILL)
                    time.sleep(0.1)
            raise


def cpus() -> int:
    """Return on how many CPUs we may run."""
    return len(os.sched_getaffinity(0))


def _child_env(extra: Mapping[str, str] | None) -> dict[str, str]:
    """Return the environment every child gets: ours in plain English, less `_NOT_INHERITED`."""
    env = {"HOME": "/nonexistent"}  # or spatch dies of an exception
    env |= {name: value for name, value in os.environ.items() if not _NOT_INHERITED.fullmatch(name)}
    return env | {"LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"} | dict(extra or {})
