# SPDX-License-Identifier: GPL-2.0-only
"""Copy the sources of a tree of the user's, and bring the copy up to date."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from mmbatch.core.console import Progressing
from mmbatch.core.disk import error_from_os, require_space
from mmbatch.core.errors import MmbatchError
from mmbatch.core.process import run

_MARGIN_BYTES = 200_000_000
# Another user's tree too, but then git must not run the program that its settings may name.
_TRUSTED = ("-c", "safe.directory=*", "-c", "core.fsmonitor=false")
_LIST_FILES = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
# What a kernel build leaves in a tree; `git ls-files --exclude-standard` leaves out the like.
_PRODUCTS = re.compile(
    r"^(?:.*\.(?:o|ko|a|mod|mod\.c)|\..*\.(?:cmd|d)|\.config.*|vmlinux(?:\.(?:o|a|map|unstripped))?"
    r"|modules\.(?:order|builtin.*)|Module\.symvers|System\.map|\.tmp_.*|\.git)$"
)
_PRODUCT_DIRECTORIES = re.compile(
    r"^(?:include/(?:config|generated)|arch/[^/]+/include/generated)$"
)


def refresh(tree: Path, place: Path, progress: Progressing) -> str:
    """Make `place`/linux the same as a tree's sources, by size and time; the tree is only read.

    Killed in the middle, it is completed the next time, because each file is compared.

    Returns:
        A digest of the copy's state, which is another whenever a file is.

    Raises:
        MmbatchError: a file can't be read, or there is no space left.
    """
    copy = place / "linux"
    try:
        copy.mkdir(parents=True, exist_ok=True)
        wanted = _list_git(tree) if (tree / ".git").exists() else None
        names = set(_list_directory(tree) if wanted is None else wanted)
        state, changed = _compare(tree, copy, names)
        require_space(copy, sum(size for _, size in changed) + _MARGIN_BYTES, "copy the tree")
        with progress(f"copying what changed in {tree}", len(changed), "files") as bar:
            for name, _ in changed:
                _make_directory(copy, (copy / name).parent)
                _copy(tree / name, copy / name)
                bar.advance()
        _remove_others(copy, names)
    except OSError as error:
        unreadable = os.fsdecode(error.filename or "")
        if error.errno != errno.ENOSPC and Path(unreadable).is_relative_to(tree):
            raise MmbatchError(
                f"copy the tree {tree}",
                f"{unreadable} can't be read ({error.strerror})",
                "make it readable, and leave the tree alone while it is copied",
            ) from error
        raise error_from_os(error, f"copy the tree {tree}") from error
    return state


def _list_git(tree: Path) -> list[str]:
    """Return the files of the working tree: those in git and new ones that it does not ignore."""
    listing = run(
        ["git", *_TRUSTED, "-C", tree, *_LIST_FILES],
        action=f"list the files of {tree}",
        errors="surrogateescape",
    ).stdout
    return [name for name in listing.split("\0") if name]


def _list_directory(tree: Path) -> Iterator[str]:
    """Yield the files of a tree without git, less what a build left there."""
    stack = [""]
    while stack:
        directory = stack.pop()
        for entry in os.scandir(tree / directory):
            name = f"{directory}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if entry.name != ".git" and not _PRODUCT_DIRECTORIES.match(name):
                    stack.append(f"{name}/")
            elif _PRODUCTS.match(entry.name):
                continue
            elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
                yield name


def _compare(tree: Path, copy: Path, names: set[str]) -> tuple[str, list[tuple[str, int]]]:
    """Compare by kind, size, time and mode; names that are no file in the tree are dropped.

    Returns:
        The state's digest and the (name, bytes) of the files to copy.
    """
    digest = hashlib.sha256()
    changed = []
    for name in sorted(names):
        try:
            original = (tree / name).lstat()
        except FileNotFoundError:  # deleted, and git still lists it
            names.discard(name)
            continue
        if stat.S_ISDIR(original.st_mode):  # a submodule
            names.discard(name)
            continue
        digest.update(f"{name}\0{_signature(original)}\n".encode(errors="surrogateescape"))
        try:
            copied = (copy / name).lstat()
        except (FileNotFoundError, NotADirectoryError):
            changed.append((name, original.st_size))
            continue
        if _signature(copied) != _signature(original):
            changed.append((name, original.st_size))
    return digest.hexdigest()[:16], changed


def _signature(status: os.stat_result) -> tuple[int, int, int]:
    when = 0 if stat.S_ISLNK(status.st_mode) else status.st_mtime_ns
    return status.st_mode, status.st_size, when


def _make_directory(copy: Path, directory: Path) -> None:
    """Make a directory below the copy, in place of a file or link of one of its names."""
    if directory == copy or (directory.is_dir() and not directory.is_symlink()):
        return
    _make_directory(copy, directory.parent)
    directory.unlink(missing_ok=True)
    directory.mkdir()


def _copy(source: Path, target: Path) -> None:
    """Copy one file with its time, or a link as a link; the time is set last."""
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    target.unlink(missing_ok=True)
    shutil.copy2(source, target, follow_symlinks=False)


def _remove_others(copy: Path, names: set[str]) -> None:
    """Remove files that the tree no longer has, and the directories they leave empty."""
    for directory, directories, files in os.walk(copy, topdown=False):
        place = Path(directory)
        prefix = os.fspath(place.relative_to(copy)) + "/" if place != copy else ""
        links = [name for name in directories if (place / name).is_symlink()]
        for name in files + links:
            if prefix + name not in names:
                (place / name).unlink()
        if place != copy:
            with contextlib.suppress(OSError):
                place.rmdir()
