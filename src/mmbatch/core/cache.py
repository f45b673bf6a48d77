# SPDX-License-Identifier: GPL-2.0-only
"""The one directory of all that is fetched and built, its locks, and files written whole or not.

A directory in it is finished when it has `.done`, which is written last. It is made
below tmp/ and renamed, under a lock of its name. Who uses one holds a shared lock of it as long as
the process lives, and `prune` leaves it alone. What dead processes left below tmp/ is swept.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import glob
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

from mmbatch.core import log, process
from mmbatch.core.errors import FULL_HINT, ExitCode, MmbatchError

DONE = ".done"
STDOUT = Path("/dev/stdout")
"""Standard output, which `atomic_write` prints to instead of reopening it."""

_KEPT = 4
_NO_WAIT = fcntl.LOCK_EX | fcntl.LOCK_NB
_used: dict[Path, int] = {}


def default_root() -> Path:
    """Return where the cache is: MMBATCH_CACHE, else mmbatch in XDG_CACHE_HOME or ~/.cache."""
    if chosen := os.environ.get("MMBATCH_CACHE"):
        return Path(chosen).absolute()
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "mmbatch"


def root() -> Path:
    """Return the cache directory, made and swept when it is first asked for."""
    return _open(default_root())


@functools.cache
def _open(place: Path) -> Path:
    real = place.resolve()  # the kernel's build names files by their real paths
    if re.search(r"[\s:]", os.fspath(real)):
        problem = f"its path '{real}' has a space or a colon, which the kernel's build refuses"
        hint = "set MMBATCH_CACHE to a directory without them"
        raise MmbatchError("open the cache directory", problem, hint, ExitCode.USAGE)
    for name in ("locks", "tmp"):
        (real / name).mkdir(parents=True, exist_ok=True)
    _sweep(real / "tmp")
    return real


def _below(name: str) -> Path:
    (root() / name).mkdir(exist_ok=True)
    return root() / name


trees = functools.partial(_below, "trees")  # kernel sources
builds = functools.partial(_below, "builds")  # objects, programs and kernels
splices = functools.partial(_below, "splices")  # kernels with speed-ups in them
logs = functools.partial(_below, "logs")  # what programs printed
runs = functools.partial(_below, "runs")  # records of measured runs
live = functools.partial(_below, "live")  # livepatches


@contextlib.contextmanager
def lock(name: str, doing: str = "") -> Generator[None, None, None]:
    """Hold a lock against all other mmbatch processes on this cache.

    Programs that are run meanwhile hold it too: what they started may outlive us, and write.
    Others that wait print what the holder is `doing` ("fetches linux 7.3").
    """
    handle = os.open(root() / "locks" / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(handle, _NO_WAIT)
        except BlockingIOError:
            pid, _, task = os.pread(handle, 4096, 0).decode(errors="replace").partition(" ")
            log.say(f"waiting for another mmbatch (pid {pid}) that {task or 'works here'}")
            fcntl.flock(handle, fcntl.LOCK_EX)
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()} {doing}".encode(), 0)
        process.inherited.add(handle)
        yield
    finally:
        process.inherited.discard(handle)
        fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)


_hold = lock


def provide(final: Path, fill: Callable[[Path], None], doing: str, *, lock: str = "") -> Path:
    """Return a finished directory of the cache; if it is not there, `fill` fills an empty one.

    Nobody removes it while this process lives. `doing` is for those who wait for the lock, which
    has the directory's name by default.
    """
    if use(final):  # and wait for nobody who makes another one
        return final
    with _hold(lock or final.name, doing):
        if not use(final):
            with atomic_dir(final) as work:
                fill(work)
                (work / DONE).touch()
            use(final)
            prune(final)
    return final


def use(directory: Path) -> bool:
    """Return whether a directory is finished, and let nobody remove it while this process lives."""
    try:
        keep(directory)
    except FileNotFoundError:
        return False
    # It is looked at when it is locked, or another process could remove it in between.
    return (directory / DONE).exists()


def keep(directory: Path) -> None:
    """Let nobody remove a directory while this process lives, nor soon after."""
    handle = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    fcntl.flock(handle, fcntl.LOCK_SH)
    os.utime(directory)
    if directory in _used:
        os.close(_used[directory])
    _used[directory] = handle


def prune(directory: Path) -> None:
    """Keep the last few directories whose names differ from one in the digest at the end only.

    Those that somebody uses stay. The names of other kernels can begin alike: "toys-1-123456" is
    pruned with "toys-1-abcdef", and not with "toys-123456".
    """
    name, _, digest = directory.name.rpartition("-")
    pattern = f"{glob.escape(name)}-{'[0-9a-f]' * len(digest)}"
    with contextlib.suppress(FileNotFoundError):  # another process removes the same ones
        every = sorted(directory.parent.glob(pattern), key=lambda path: path.stat().st_mtime)
        for path in every[:-_KEPT]:
            remove(path)


def remove(path: Path) -> None:
    """Remove a directory of the cache unless somebody uses it."""
    with contextlib.suppress(OSError), _flocked(path, _NO_WAIT), temporary_dir(path.name) as grave:
        path.rename(grave / path.name)


@contextlib.contextmanager
def atomic_dir(final: Path) -> Generator[Path, None, None]:
    """Yield an empty directory which takes the place of `final` when the block ends well."""
    ours = final.is_relative_to(root())
    name, beside = (final.name, None) if ours else (f".{final.name}", final.parent)
    with temporary_dir(name, beside) as directory:
        work = directory / "new"
        work.mkdir()
        yield work
        if final.exists():
            final.rename(directory / "old")
        work.rename(final)


@contextlib.contextmanager
def temporary_dir(name: str, parent: Path | None = None) -> Generator[Path, None, None]:
    """Yield a directory, by default in the cache, that is gone or swept when we end."""
    tmp, prefix = parent or root() / "tmp", f"{name[:40]}-"
    with contextlib.ExitStack() as in_use:
        with _flocked(tmp, fcntl.LOCK_SH):  # no sweep comes between making and locking it
            made = tempfile.TemporaryDirectory(dir=tmp, prefix=prefix, ignore_cleanup_errors=True)
            place = Path(in_use.enter_context(made))
            in_use.enter_context(_flocked(place, fcntl.LOCK_EX))
        place.chmod(0o755)
        yield place


def _sweep(tmp: Path) -> None:
    """Remove temporary directories whose maker has ended, unless another process is at it."""
    with contextlib.suppress(OSError), _flocked(tmp, _NO_WAIT):
        for path in tmp.iterdir():
            with contextlib.suppress(OSError), _flocked(path, _NO_WAIT):
                shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _flocked(path: Path, how: int) -> Generator[None, None, None]:
    """Hold a lock of a file or directory; it stays with it through a rename."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, how)
        yield
    finally:
        os.close(handle)


def atomic_write(path: Path, content: bytes | str, mode: int = 0o644) -> None:
    """Write a whole file or nothing."""
    if path == STDOUT:
        print(content, end="", flush=True)
        return
    data = content.encode() if isinstance(content, str) else content
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            path.write_bytes(data)  # a device, a pipe or a link is not replaced
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name[:40]}-") as place:
            written = Path(place) / "new"
            written.touch(mode)
            written.write_bytes(data)
            written.replace(path)
    except OSError as error:
        error.filename = os.fspath(path)  # that of the whole file, for people
        raise


def free_bytes(path: Path) -> int:
    """Return the bytes free for us on the file system of a path, which need not exist yet."""
    return shutil.disk_usage(path).free if path.exists() else free_bytes(path.parent)


def require_space(path: Path, needed_bytes: int, action: str) -> None:
    """Raise MmbatchError if a file system has too little space; the path may not exist yet."""
    if (free := free_bytes(path)) < needed_bytes:
        problem = f"it needs {needed_bytes / 1e9:.1f} GB in {path} and {free / 1e9:.1f} GB are free"
        raise MmbatchError(action, problem, FULL_HINT)
