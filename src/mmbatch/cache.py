# SPDX-License-Identifier: GPL-2.0-only
"""The one folder that holds everything we fetch and build, and how to write there safely."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Generator, Mapping
from pathlib import Path

from mmbatch.errors import ExitCode, MmbatchError

_TEMPORARY = re.compile(r"^\.tmp-(\d+)-")
_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "there is no permission to write",
    errno.EPERM: "there is no permission to write",
    errno.ENOTDIR: "a part of the path is not a folder",
    errno.ENAMETOOLONG: "the name is too long",
}


def error_from_os(error: OSError, tried: str) -> MmbatchError:
    """Turn an operating system's error into one sentence.

    Args:
        error: what the system said.
        tried: what was being done, as a phrase.

    Returns:
        An error which names the file, the reason, the room left, and what to do.
    """
    found = _REASONS.get(error.errno or 0, error.strerror or str(error))
    place = Path(os.fsdecode(error.filename)) if error.filename is not None else None
    if place is not None:
        found = f"{place}: {found}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        if place is not None:
            with contextlib.suppress(OSError):
                found += f", {free_bytes(place) / 1e6:.0f} MB are free"
        todo = "free some space, or set XDG_CACHE_HOME to a folder on another disk"
    else:
        todo = "make it writable, or set XDG_CACHE_HOME to a folder that is"
    return MmbatchError(tried, found, todo)


def free_bytes(path: Path) -> int:
    """Return the bytes free for us on the file system of a path, which need not exist yet."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return shutil.disk_usage(path).free


def require_space(path: Path, needed_bytes: int, what: str) -> None:
    """Raise MmbatchError unless a path's file system has that many bytes free.

    Args:
        path: where it will be written; need not exist yet.
        needed_bytes: room needed, in bytes.
        what: what needs it, as a phrase ("unpack linux 7.3").
    """
    free = free_bytes(path)
    if free < needed_bytes:
        raise MmbatchError(
            what,
            f"it needs {needed_bytes / 1e9:.1f} GB in {path} and {free / 1e9:.1f} GB are free",
            "free some space, or set XDG_CACHE_HOME to a folder on another disk",
        )


def atomic_write(path: Path, content: bytes | str) -> None:
    """Write a whole file or nothing: readers see the old content or the new.

    Args:
        path: the file; its folder is made when missing.
        content: what goes in; text is written as UTF-8.

    Raises:
        MmbatchError: no room or no permission.
    """
    data = content.encode() if isinstance(content, str) else content
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=_temporary_prefix(path), dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), 0o644)
        Path(temporary).replace(path)
        temporary = None
    except OSError as error:
        if error.filename is None:
            error.filename = os.fspath(path)
        raise error_from_os(error, f"write {path.name}") from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_dir(final: Path) -> Generator[Path, None, None]:
    """Yield a folder beside `final` which takes its place when the block ends well.

    When the block raises, the folder is removed and `final` is as it was. When it succeeds
    and `final` was there already, the new one replaces it.

    Args:
        final: the folder to make.

    Raises:
        MmbatchError: no room or no permission.
    """
    tried = f"write {final.name}"
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=_temporary_prefix(final), dir=final.parent))
        temporary.chmod(0o755)
    except OSError as error:
        raise error_from_os(error, tried) from error
    old: Path | None = None
    try:
        yield temporary
        if final.exists():
            old = temporary.with_name(temporary.name + "-old")
            final.rename(old)
        temporary.rename(final)
    except OSError as error:
        if error.errno in _REASONS:
            raise error_from_os(error, tried) from error
        raise
    finally:
        if temporary.exists():
            shutil.rmtree(temporary, ignore_errors=True)
        if old is not None:
            if not final.exists():
                old.rename(final)
            shutil.rmtree(old, ignore_errors=True)


class Cache:
    """The cache folder, swept of what dead processes left when it is opened.

    Args:
        root: the folder; made when missing.

    Raises:
        MmbatchError: it can't be written, or its path has a space or a colon, which the
            kernel's makefiles refuse.
    """

    def __init__(self, root: Path) -> None:
        """Make what is missing of the folder and sweep it."""
        self.root = root
        self.trees = root / "trees"
        self.builds = root / "builds"
        self.splices = root / "splices"
        self.apt = root / "apt"
        self.downloads = root / "downloads"
        self.logs = root / "logs"
        self.runs = root / "runs"
        self._locks = root / "locks"
        self._held: set[str] = set()
        tried = "open the cache folder"
        if re.search(r"[\s:]", os.fspath(root)):
            raise MmbatchError(
                tried,
                f"its path '{root}' has a space or a colon, which the kernel's build refuses",
                "set XDG_CACHE_HOME to a folder without them",
                ExitCode.USAGE,
            )
        try:
            for folder in self._folders():
                folder.mkdir(parents=True, exist_ok=True)
            if not os.access(root, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(root))
            self._sweep()
        except OSError as error:
            raise error_from_os(error, tried) from error

    @classmethod
    def open(cls, env: Mapping[str, str] | None = None) -> Cache:
        """Open the user's cache folder.

        Args:
            env: the environment to read it from; by default our own.

        Raises:
            MmbatchError: no folder can be told, or it can't be written.
        """
        return cls(default_root(os.environ if env is None else env))

    def _folders(self) -> tuple[Path, ...]:
        return (
            self.trees,
            self.builds,
            self.splices,
            self.apt,
            self.downloads,
            self.logs,
            self.runs,
            self._locks,
        )

    @contextlib.contextmanager
    def lock(
        self, name: str, doing: str = "", say: Callable[[str], None] | None = None
    ) -> Generator[None, None, None]:
        """Hold a lock against all other mmbatch processes on this cache.

        The system lets go of it when the holder ends, however it ends.

        Args:
            name: what is locked; safe as a file name.
            doing: what the holder does, told to those who wait ("fetches linux 7.3").
            say: called with one line when we have to wait.
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
                    pid, _, what = os.pread(handle, 4096, 0).decode(errors="replace").partition(" ")
                    say(f"waiting for another mmbatch (pid {pid}) that {what or 'works here'}")
                fcntl.flock(handle, fcntl.LOCK_EX)
            with contextlib.suppress(OSError):
                os.ftruncate(handle, 0)
                os.pwrite(handle, f"{os.getpid()} {doing}".encode(), 0)
            self._held.add(name)
            yield
        finally:
            self._held.discard(name)
            os.close(handle)

    def _sweep(self) -> None:
        """Remove temporary files and folders of processes that are no more."""
        for folder in (self.root, *self._folders()):
            for entry in os.scandir(folder):
                match = _TEMPORARY.match(entry.name)
                if match is None or _alive(int(match[1])):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    Path(entry.path).unlink(missing_ok=True)


def default_root(env: Mapping[str, str]) -> Path:
    """Return where the cache lies: MMBATCH_CACHE, else mmbatch in XDG_CACHE_HOME or ~/.cache.

    Args:
        env: the environment that tells.

    Raises:
        MmbatchError: none of these is set.
    """
    if chosen := env.get("MMBATCH_CACHE"):
        return Path(chosen).absolute()
    home = env.get("HOME", "")
    base = env.get("XDG_CACHE_HOME", "")
    if not Path(base).is_absolute():  # the XDG specification: a relative one is ignored
        if not Path(home).is_absolute():
            raise MmbatchError(
                "find the cache folder",
                "neither HOME nor XDG_CACHE_HOME is set",
                "set XDG_CACHE_HOME to a folder that can be written",
                ExitCode.USAGE,
            )
        base = os.fspath(Path(home) / ".cache")
    return Path(base) / "mmbatch"


def _temporary_prefix(final: Path) -> str:
    return f".tmp-{os.getpid()}-{final.name[:40]}-"


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
