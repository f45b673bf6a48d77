# SPDX-License-Identifier: GPL-2.0-only
"""The one directory that holds everything we fetch and build, and its locks."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import os
import re
import weakref
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path

from mmbatch.core import log
from mmbatch.core.disk import (
    atomic_dir,
    cache_remedy,
    error_from_os,
    forget_oldest,
    is_whole,
    real_path,
    siblings,
    sweep,
    use,
    write_mark,
)
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.paths import cache_variable, default_root


class Cache:
    """The cache directory, made when missing, and swept of what dead processes left in it.

    Raises:
        MmbatchError: it can't be written, or its path has a space or a colon, which the
            kernel's makefiles refuse.
    """

    def __init__(self, root: Path) -> None:
        """Make what is missing of the directory and sweep it."""
        action = "open the cache directory"
        self.root = root = real_path(root, action)
        # The kernel's build names files by their real paths, and so must we.
        self.trees = real_path(root / "trees", action)
        self.builds = real_path(root / "builds", action)
        self.splices = real_path(root / "splices", action)
        self.apt = root / "apt"
        self.downloads = root / "downloads"
        self.logs = root / "logs"
        self.runs = root / "runs"
        self.live = root / "live"
        self._locks = root / "locks"
        self._held: set[str] = set()
        if re.search(r"[\s:]", os.fspath(root)):
            raise MmbatchError(
                action,
                f"its path '{root}' has a space or a colon, which the kernel's build refuses",
                f"set {cache_variable(os.environ)} to a directory without them",
                ExitCode.USAGE,
            )
        try:
            for directory in self._directories():
                directory.mkdir(parents=True, exist_ok=True)
            if not os.access(root, os.W_OK | os.X_OK):
                read_only = os.statvfs(root).f_flag & os.ST_RDONLY
                code = errno.EROFS if read_only else errno.EACCES
                raise OSError(code, os.strerror(code), os.fspath(root))
            self._sweep()
        except OSError as error:
            if error.errno == errno.EEXIST:  # a file, or a link that leads nowhere
                error = OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), error.filename)
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            problem = error_from_os(error, action).problem
            raise MmbatchError(action, problem, cache_remedy(full=full)) from error

    @classmethod
    def open(cls, env: Mapping[str, str] | None = None) -> Cache:
        """Open the user's cache directory, which the environment names.

        Raises:
            MmbatchError: the environment names no directory, or it can't be written.
        """
        return cls(default_root(os.environ if env is None else env))

    def _directories(self) -> tuple[Path, ...]:
        return (
            self.trees,
            self.builds,
            self.splices,
            self.apt,
            self.downloads,
            self.logs,
            self.runs,
            self.live,
            self._locks,
        )

    @contextlib.contextmanager
    def lock(
        self, name: str, doing: str = "", say: Callable[[str], None] | None = None
    ) -> Generator[int, None, None]:
        """Hold a lock against all other mmbatch processes on this cache; yield its open file.

        The system lets go of it when the holder ends, however it ends, and all programs that
        were given the file (`process.run(keep=...)`).

        Args:
            name: what is locked; safe as a file name.
            doing: what the holder does, for the message to those who wait ("fetches linux 7.3").
            say: called with one line when we must wait.
        """
        if name in self._held:
            raise RuntimeError(f"lock {name} is held by this process already")
        path = self._locks / f"{name}.lock"
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise error_from_os(error, f"lock {name}") from error
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if say is not None:
                    pid, _, task = os.pread(handle, 4096, 0).decode(errors="replace").partition(" ")
                    holder = f"another mmbatch (pid {pid})" if pid else "another mmbatch"
                    say(f"waiting for {holder} that {task or 'works here'}")
                fcntl.flock(handle, fcntl.LOCK_EX)
            except OSError as error:
                raise _without_locks(path, error) from error
            with contextlib.suppress(OSError):
                os.ftruncate(handle, 0)
                os.pwrite(handle, f"{os.getpid()} {doing}".encode(), 0)
            self._held.add(name)
            yield handle
        finally:
            self._held.discard(name)
            os.close(handle)

    def provide(
        self,
        final: Path,
        fill: Callable[[Path], None],
        doing: str,
        say: Callable[[str], None],
        *,
        lock: str = "",
        keep_few: bool = False,
        parts: Sequence[str] = (".",),
        check: Callable[[Path, Callable[[str], None]], bool] | None = None,
    ) -> Path:
        """Return a finished directory of the cache, made first if it is not there or damaged.

        Nobody removes it while this process lives.

        Args:
            final: the directory.
            fill: called with an empty directory that becomes it.
            doing: what `fill` does, for the message to those who wait for the lock.
            say: called with a line for each phase.
            lock: held meanwhile; by default the directory's name.
            keep_few: keep only the last few directories that differ in the digest at the end of
                their names.
            parts: what matters in it, as for `write_mark`.
            check: returns whether the directory is good, and says so if not; by default
                `is_whole`.
        """
        with self.lock(lock or final.name, doing, say), contextlib.ExitStack() as in_use:
            # It is locked before it is looked at, or another process could forget it in between.
            with contextlib.suppress(FileNotFoundError):
                in_use.callback(os.close, use(final))
            if not (check or is_whole)(final, say):
                in_use.close()
                if keep_few:
                    forget_oldest(siblings(final))
                with atomic_dir(final) as work:
                    fill(work)
                    write_mark(work, parts)
            self.keep(final)
        return final

    def keep(self, directory: Path) -> None:
        """Let nobody forget a directory while this process uses the cache, nor soon after."""
        os.utime(directory)
        weakref.finalize(self, os.close, use(directory))

    def _sweep(self) -> None:
        for directory in (self.root, *self._directories()):
            sweep(directory)


def _without_locks(path: Path, error: OSError) -> MmbatchError:
    return MmbatchError(
        "lock the cache",
        f"the file system of {path.parent} can't lock files ({error.strerror})",
        f"set {cache_variable(os.environ)} to a directory on a local disk",
    )


@functools.lru_cache(maxsize=8)
def _at(place: Path) -> Cache:
    return Cache(place)


def opened() -> Cache:
    """Return the user's cache, opened once in a process."""
    return _at(default_root(os.environ))


def root() -> Path:
    """Return the cache directory."""
    return opened().root


def trees() -> Path:
    """Return the directory of kernel sources."""
    return opened().trees


def builds() -> Path:
    """Return the directory of built objects, programs and kernels."""
    return opened().builds


def splices() -> Path:
    """Return the directory of kernels with speed-ups in them."""
    return opened().splices


def apt() -> Path:
    """Return the directory of apt's lists and state."""
    return opened().apt


def downloads() -> Path:
    """Return the directory of fetched packages."""
    return opened().downloads


def logs() -> Path:
    """Return the directory of what programs printed."""
    return opened().logs


def runs() -> Path:
    """Return the directory of measured runs."""
    return opened().runs


def live() -> Path:
    """Return the directory of livepatches."""
    return opened().live


def lock(name: str, doing: str = "") -> contextlib.AbstractContextManager[int]:
    """See `Cache.lock`."""
    return opened().lock(name, doing, log.say)


def provide(  # see `Cache.provide`
    final: Path,
    fill: Callable[[Path], None],
    doing: str,
    *,
    lock: str = "",
    keep_few: bool = False,
    parts: Sequence[str] = (".",),
    check: Callable[[Path, Callable[[str], None]], bool] | None = None,
) -> Path:
    """Return a finished directory of the cache, made by `fill` if it is not there."""
    return opened().provide(
        final, fill, doing, log.say, lock=lock, keep_few=keep_few, parts=parts, check=check
    )


def keep(directory: Path) -> None:
    """See `Cache.keep`."""
    opened().keep(directory)
