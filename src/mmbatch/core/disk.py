# SPDX-License-Identifier: GPL-2.0-only
"""Write whole files and directories or none, and explain it when the disk refuses them."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import glob
import itertools
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mmbatch.core.errors import MmbatchError
from mmbatch.core.load import OTHER_KEYS, from_json
from mmbatch.core.paths import cache_variable, default_root

STDOUT = Path("/dev/stdout")
"""Standard output, which `atomic_write` prints to instead of reopening it."""

MARK = ".mmbatch-complete"
"""The file that `write_mark` writes."""

_TEMPORARY = ".mmbatch-tmp-"
"""How the name of every temporary starts."""

_KEPT = 4

_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission is denied",
    errno.EPERM: "permission is denied",
    errno.ELOOP: "its symbolic links form a loop",
    errno.ENOTDIR: "a part of the path is not a directory",
    errno.EEXIST: "something else is in its place",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EFBIG: "the file would exceed the limit on the size of files",
    errno.EMFILE: "too many files are open",
    errno.EIO: "reading or writing failed",
    errno.ESTALE: "its server no longer has it",
}
_ANYWHERE = {
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EFBIG: "raise that limit (ulimit -f)",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.EIO: "see the kernel's messages (dmesg) for what failed",
    errno.ESTALE: "run it again",
}
"""What to do about an error, wherever the file is."""
_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)


def error_from_os(error: OSError, action: str) -> MmbatchError:
    """Turn an operating system's error into one sentence.

    Returns:
        An error which names the file, the reason, the space left, and what to do.
    """
    problem = _REASONS.get(error.errno or 0, error.strerror or str(error))
    place = Path(os.fsdecode(error.filename)) if error.filename is not None else None
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    if place is not None:
        problem = f"{place}: {problem}"
        if full and not _is_device(place):
            with contextlib.suppress(OSError):
                problem += f", {free_bytes(place) / 1e6:.0f} MB are free"
    return MmbatchError(action, problem, _remedy(place, error.errno or 0, full=full))


def _remedy(place: Path | None, number: int, *, full: bool) -> str:
    """Return what to do about a path that the system refuses; only the cache can be moved."""
    if number in _ANYWHERE:
        return _ANYWHERE[number]
    if place is None:
        return "free some space" if full else "run it with -v to see what it does then"
    if _is_in_cache(place):
        gone = "something removed it meanwhile: run it again"
        return gone if number == errno.ENOENT else cache_remedy(full=full)
    if _is_device(place) or place.is_relative_to("/proc") or place.is_relative_to("/sys"):
        return "choose another place, which is not a part of the system"
    if full:
        return "free some space, or choose a place on another disk"
    look = "see its owner and permissions with ls -ld, or " if number in _REFUSED else ""
    return f"{look}choose another place"


def cache_remedy(*, full: bool) -> str:
    """Return what to do about a cache directory that the system refuses."""
    variable = cache_variable(os.environ)
    if full:
        return f"free some space, or set {variable} to a directory on another disk"
    return f"set {variable} to a directory that can be written, or make this one writable"


def _is_device(place: Path) -> bool:
    with contextlib.suppress(OSError):
        return place.is_char_device() or place.is_block_device()
    return False


def _is_in_cache(place: Path) -> bool:
    try:
        root = default_root(os.environ)
        return place.is_relative_to(root) or place.is_relative_to(os.path.realpath(root))
    except MmbatchError:
        return False


def real_path(path: Path, action: str) -> Path:
    """Return a path as absolute and without links; the end of it need not exist.

    Raises:
        MmbatchError: its links form a loop.
    """
    try:
        return path.absolute().resolve()
    except RuntimeError as error:  # Python 3.11 and 3.12 raise this for a loop of links
        loop = OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
        raise error_from_os(loop, action) from error


def free_bytes(path: Path) -> int:
    """Return the bytes free for us on the file system of a path, which need not exist yet."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return shutil.disk_usage(path).free


def require_space(path: Path, needed_bytes: int, action: str) -> None:
    """Raise MmbatchError unless a path's file system has that many bytes free.

    Args:
        path: where it will be written; need not exist yet.
        needed_bytes: space needed, in bytes.
        action: what needs it, as a phrase ("unpack linux 7.3").
    """
    free = free_bytes(path)
    if free < needed_bytes:
        raise MmbatchError(
            action,
            f"it needs {_size(needed_bytes)} in {path} and {_size(free)} are free",
            cache_remedy(full=True),
        )


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.0f} MB"


def atomic_write(path: Path, content: bytes | str, mode: int = 0o644) -> None:
    """Write a whole file or nothing: readers see the old content or the new.

    Args:
        path: the file; its directory is made when missing. STDOUT is printed to as it is.
        content: what goes in; text is written as UTF-8.
        mode: its permissions.

    Raises:
        MmbatchError: no space left or no permission.
    """
    data = content.encode() if isinstance(content, str) else content
    if path == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    temporary: str | None = None
    try:
        if is_special(path):
            path.write_bytes(data)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = _locked_file(path.parent, path.name)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            os.fchmod(handle, mode)
            file.flush()
            Path(temporary).replace(path)  # while it is locked, or a sweep could take it
        temporary = None
    except OSError as error:
        if error.filename is None:
            error.filename = os.fspath(path)
        raise error_from_os(error, f"write {path.name}") from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def require_working_directory() -> None:
    """Raise MmbatchError if the working directory was deleted: nothing relative has a place."""
    try:
        Path.cwd()
    except FileNotFoundError as error:
        raise MmbatchError(
            "start", "the working directory was deleted", "change to another directory"
        ) from error


def require_place(directory: Path, option: str) -> None:
    """Raise MmbatchError if no file can be made in a directory: now, not when results are there.

    The hint names the option by which the user chose it.
    """
    try:
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        reason = error_from_os(OSError(error.errno, error.strerror), "").problem
        if error.errno == errno.ENOENT:
            reason = "there is no such directory, or none that takes files"
        raise MmbatchError(
            f"write results into {directory}", reason, f"choose another place with {option}"
        ) from error


def require_file(path: Path, option: str) -> None:
    """Raise MmbatchError if a file that an option names can't be written, as `require_place`."""
    require_no_loop(path, option)
    if not is_special(path):
        require_place(path.absolute().parent, option)


def require_no_loop(path: Path, option: str) -> None:
    """Raise MmbatchError if the links of a path that an option names form a loop."""
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise MmbatchError(
                f"write results into {path}", _REASONS[errno.ELOOP], f"choose another with {option}"
            ) from error


def is_special(path: Path) -> bool:
    """Return whether a path is a device, a pipe or a link: to be written into, not replaced."""
    return path.is_symlink() or (path.exists() and not path.is_file())


@contextlib.contextmanager
def atomic_dir(final: Path) -> Generator[Path, None, None]:
    """Yield a directory beside `final` which takes its place when the block ends well.

    When the block raises, the directory is removed and `final` is as it was. When it succeeds
    and `final` was there already, the new one replaces it.

    Raises:
        MmbatchError: no space left or no permission.
    """
    action = f"write {final.name}"
    with contextlib.ExitStack() as locks:
        try:
            final.parent.mkdir(parents=True, exist_ok=True)
            temporary = locks.enter_context(_locked_dir(final.parent, final.name))
            temporary.chmod(0o755)
        except OSError as error:
            raise error_from_os(error, action) from error
        old: Path | None = None
        try:
            yield temporary
            if final.exists():
                # Somebody who uses it has locked it, and keeps it under the name of a temporary.
                with contextlib.suppress(OSError):
                    locks.enter_context(_locked(final, wait=False))
                old = temporary.with_name(temporary.name + "-old")
                final.rename(old)
            temporary.rename(final)
        except OSError as error:
            if error.errno in _REASONS:
                raise error_from_os(error, action) from error
            raise
        finally:
            if temporary.exists():
                shutil.rmtree(temporary, ignore_errors=True)
            if old is not None and not final.exists():
                old.rename(final)
    if old is not None:
        remove_unused(old)


def write_mark(directory: Path, parts: Sequence[str] = (".",), name: str = MARK) -> None:
    """Write last into a finished directory how large its files are, for `is_whole`.

    Args:
        directory: what is finished.
        parts: the files and directories in it that matter, by default all. What is left out is
            not looked at later: a kernel has 90,000 files.
        name: the file to write.
    """
    sizes = {file: size for part in parts for file, size in _sizes(directory, part)}
    atomic_write(directory / name, json.dumps(sizes))


@dataclass(frozen=True)
class _Mark:
    """What `MARK` holds: path to bytes."""

    sizes: Mapping[str, int] = field(metadata=OTHER_KEYS)


def _sizes(directory: Path, part: str) -> Iterator[tuple[str, int]]:
    """Yield (path, bytes) of a file, or of all files below a directory but Python's caches."""
    path = directory / part
    if path.is_dir() and not path.is_symlink():
        for place, subdirectories, files in os.walk(path):
            subdirectories[:] = [name for name in subdirectories if name != "__pycache__"]
            for name in files:
                file = os.path.join(place, name)  # noqa: PTH118 (thousands of them)
                yield os.path.relpath(file, directory), os.lstat(file).st_size
    elif os.path.lexists(path):
        yield part, path.lstat().st_size


def is_whole(
    directory: Path, say: Callable[[str], None] | None = None, mark_name: str = MARK
) -> bool:
    """Return whether a directory is finished, and has what mattered when `write_mark` was called.

    A file counts as whole if its size is what it was. Its content is not read. `say` is called
    with a line if the directory is there and not whole, since it is rebuilt then.
    """
    name = damaged(directory, mark_name)
    if name is not None and say is not None and directory.exists():
        say(f"{directory} is incomplete, since {name} is missing or damaged: replacing it")
    return name is None


def damaged(directory: Path, mark_name: str = MARK) -> str | None:
    """Return a file that is not as `write_mark` found it, or the mark itself; None without any."""
    name = mark_name
    try:
        mark = from_json(_Mark, (directory / name).read_text(encoding="utf-8"))
        for name, size in mark.sizes.items():
            if os.lstat(f"{directory}/{name}").st_size != size:
                return name
    except (OSError, ValueError):
        return name
    return None


def marked(directory: Path) -> set[str]:
    """Return the files that a directory that `is_whole` had when `write_mark` was called."""
    mark = from_json(_Mark, (directory / MARK).read_text(encoding="utf-8"))
    return set(mark.sizes)


def siblings(directory: Path) -> list[Path]:
    """Return the directories whose names differ in the digest at the end only.

    The names of other kernels can begin alike: "toys-1-123456" is a sibling of "toys-1-abcdef",
    and not of "toys-123456".
    """
    name, _, digest = directory.name.rpartition("-")
    return list(directory.parent.glob(f"{glob.escape(name)}-{'[0-9a-f]' * len(digest)}"))


def forget_oldest(directories: Iterable[Path]) -> None:
    """Keep the last few directories of one kind, one of which is about to be made.

    Those that were touched last stay, and those that somebody uses (`use`).
    """
    age: dict[Path, float] = {}
    for path in directories:
        with contextlib.suppress(FileNotFoundError):
            age[path] = path.stat().st_mtime
    for path in sorted(age, key=lambda path: age[path])[: -(_KEPT - 1)]:
        remove_unused(path)


def use(directory: Path) -> int:
    """Open a directory, which `forget_oldest` leaves alone until it is closed."""
    handle = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(handle, fcntl.LOCK_SH)
    return handle


def remove_unused(path: Path) -> bool:
    """Remove a directory unless somebody has locked it; a later sweep or call does it then.

    Nor is it removed where the file system has no locks, since nobody knows who uses it there.

    Returns:
        Whether it was removed by this call.
    """
    try:
        with _locked(path, wait=False):
            shutil.rmtree(path, ignore_errors=True)
    except OSError:
        return False
    return not path.exists()


def temporary_prefix(name: str) -> str:
    """Return how the name of a temporary starts that becomes `name`, by which it is swept."""
    return f"{_TEMPORARY}{name[:40]}-"


def sweep(directory: Path, name: str = "") -> None:
    """Remove temporary files and directories, of one name or all, whose maker has ended.

    A maker holds a lock on each of its temporaries, and the system releases that lock when
    the maker ends. Neither age nor process number decides: `cp -al` and `dpkg-deb` give new
    directories old times, and containers that share a cache number their processes alike.
    """
    start = _TEMPORARY + name[:40]
    for entry in os.scandir(directory):
        if entry.name.startswith(start) and not entry.is_symlink():
            with contextlib.suppress(OSError), _locked(Path(entry.path), wait=False):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    Path(entry.path).unlink(missing_ok=True)


def _locked_file(parent: Path, name: str) -> tuple[int, str]:
    """Make and open a temporary file that no sweep takes until it is closed."""
    while True:
        handle, place = tempfile.mkstemp(prefix=temporary_prefix(name), dir=parent)
        _lock(handle)
        if Path(place).exists():
            return handle, place
        os.close(handle)  # a sweep came between making and locking it


@contextlib.contextmanager
def _locked_dir(parent: Path, name: str) -> Generator[Path, None, None]:
    """Make a temporary directory that no sweep takes while the block runs."""
    while True:
        place = Path(tempfile.mkdtemp(prefix=temporary_prefix(name), dir=parent))
        with contextlib.ExitStack() as lock:
            try:
                lock.enter_context(_locked(place))
                still_there = place.exists()
            except FileNotFoundError:
                still_there = False
            if still_there:  # else a sweep came between making and locking it
                yield place
                return


@contextlib.contextmanager
def _locked(path: Path, *, wait: bool = True) -> Generator[None, None, None]:
    """Hold the lock of a file or directory; it stays with it through a rename."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        _lock(handle, wait=wait)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, *, wait: bool = True) -> None:
    """Lock an open file against `sweep()`.

    Raises:
        OSError: somebody else holds it and `wait` is False, or there is no lock. Who would
            wait goes on without a lock where the file system has none for directories: sweeps
            there can't lock either, and remove nothing.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        if not wait:
            raise


@contextlib.contextmanager
def temporary_dir(directory: Path, name: str) -> Generator[Path, None, None]:
    """Yield a directory that is gone after the block, or when the cache is opened after kill -9.

    Raises:
        MmbatchError: no space left or no permission.
    """
    with contextlib.ExitStack() as lock:
        try:
            place = lock.enter_context(_locked_dir(directory, name))
        except OSError as error:
            raise error_from_os(error, f"make a directory for {name}") from error
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)


def new_dir(parent: Path, name: str) -> Path:
    """Make a directory that nobody else has, though they started in the same second."""
    for more in itertools.chain([""], (f"-{number}" for number in itertools.count(2))):
        with contextlib.suppress(FileExistsError):
            (parent / f"{name}{more}").mkdir(parents=True)
            return parent / f"{name}{more}"
    raise AssertionError
