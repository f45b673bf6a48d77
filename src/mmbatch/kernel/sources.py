# SPDX-License-Identifier: GPL-2.0-only
"""Get a kernel's source: one of Debian's packages, or a snapshot of a tree of the user's."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import cache, load, log
from mmbatch.core.errors import ExitCode, MmbatchError, suggestion
from mmbatch.core.process import run
from mmbatch.kernel import apt

SERIES = load.SERIES

_TREE_BYTES = 2_500_000_000
_SIGNS = ("Makefile", "Kbuild", "Kconfig", "mm/mm_init.c", "scripts/config")
# Another user's tree too, but then git must not run the program that its settings may name.
_LIST_FILES = ("-c", "safe.directory=*", "-c", "core.fsmonitor=false", "ls-files", "-z", "--others")
# What a kernel build leaves in a tree, as a .gitignore has it.
_PRODUCTS = (
    "*.o *.ko *.a *.mod *.mod.c .*.cmd .*.d .tmp_* modules.order modules.builtin* Module.symvers"
    " /.config* /vmlinux* /System.map /include/config /include/generated /arch/*/include/generated"
)


@dataclass(frozen=True)
class Source:
    """A kernel source tree in our cache, which nobody else writes."""

    series: str  # "7.3"
    release: str  # "7.3.4", with an extra version where the tree has one
    path: Path
    origin: str  # where it comes from, for people
    ident: str  # short name of its place in the cache, safe as a file name
    state: str  # digest that is another whenever a file of the tree is; the ident for Debian's


def get(kernel: str | None = None, tree: Path | None = None) -> Source:
    """Return the kernel source that the user asked for, fetching it when it must be.

    The kernel is a series or its release, by default the newest that is here or can be had. A tree
    is taken instead, and only read.
    """
    if tree is not None:
        if kernel is not None:
            problem, hint = "both --kernel and --tree", "give one of them"
            raise MmbatchError("choose a kernel", problem, hint, ExitCode.USAGE)
        return _of_tree(tree)
    if kernel is None:
        return _newest()
    wanted = kernel.removeprefix("v")
    series = _series(wanted)
    source = find_cached(series) or _fetch(series)
    if wanted not in (series, source.release):
        problem = f"{series} has the release {source.release} here"
        hint = f"use --kernel {series}, or a tree of {wanted} with --tree"
        raise MmbatchError(f"choose kernel {kernel}", problem, hint, ExitCode.NOT_APPLICABLE)
    return source


def _newest() -> Source:
    failures = []
    for series in SERIES:
        try:
            return find_cached(series) or _fetch(series)
        except MmbatchError as error:
            log.say(f"doing without Linux {series}: {error.problem}")
            failures.append(error)
    raise failures[0]


def _series(kernel: str) -> str:
    """Return the series of a kernel that the user named: "7.3" of "7.3" and of "7.3.4"."""
    parts = re.fullmatch(r"(\d+\.\d+)(\.\d+.*)?", kernel)
    if parts is None or parts[1] not in SERIES:
        action, problem = f"choose kernel {kernel}", "it is not a supported kernel"
        hint = suggestion(parts[1] if parts else kernel, SERIES, "kernels")
        raise MmbatchError(action, problem, hint, ExitCode.NOT_APPLICABLE)
    return parts[1]


def find_cached(series: str) -> Source | None:
    """Return the newest of Debian's trees of a series in the cache, or None."""
    places = cache.trees().glob(f"linux-source-{series}_*")
    for place in sorted(places, key=lambda path: load.release_numbers(path.name), reverse=True):
        if cache.use(place):
            path, version = place / "linux", (place / "version").read_text().strip()
            origin = f"linux-source-{series} {version} (Debian)"
            return Source(series, read_release(path), path, origin, place.name, place.name)
    return None


def read_release(tree: Path) -> str:
    """Return a tree's release ("7.3.4", "7.3.4-rc1-mine") from its top Makefile."""
    text = (tree / "Makefile").read_text(errors="replace")
    values: dict[str, str] = dict(
        re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION)[ \t]*=[ \t]*(\S*)", text, re.M)
    )
    if not all(values.get(name, "").isdigit() for name in ("VERSION", "PATCHLEVEL")):
        raise _no_kernel(tree, "its Makefile has no VERSION and PATCHLEVEL")
    numbers = [values[name] for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL") if values.get(name)]
    return ".".join(numbers) + values.get("EXTRAVERSION", "")


def check_tree(tree: Path) -> tuple[str, str]:
    """Return (series, release) of a tree that is a kernel we support."""
    if not tree.is_dir():
        raise _no_kernel(tree, "there is no such directory")
    missing = [name for name in _SIGNS if not (tree / name).exists()]
    if missing:
        raise _no_kernel(tree, f"it has no {missing[0]}")
    release = read_release(tree)
    series = ".".join(re.findall(r"\d+", release)[:2])
    if series not in SERIES:
        problem, hint = f"linux {release}", f"supported are {', '.join(SERIES)}"
        raise MmbatchError(f"use the tree {tree}", problem, hint, ExitCode.NOT_APPLICABLE)
    return series, release


def _no_kernel(tree: Path, problem: str) -> MmbatchError:
    action, hint = f"use {tree} as a kernel tree", "give the top of a kernel tree"
    return MmbatchError(action, problem, hint, ExitCode.USAGE)


def _fetch(series: str) -> Source:
    package = f"linux-source-{series}"
    with cache.lock(package, f"fetches linux {series}"):
        if (cached := find_cached(series)) is not None:  # by whom we waited for
            return cached
        cache.require_space(cache.trees(), _TREE_BYTES, f"unpack linux {series}")
        wanted, suite = apt.need(package)
        with cache.temporary_dir(package) as directory:
            log.say(f"fetching {package} {wanted} from Debian {suite}")
            (deb,) = apt.download(package, wanted, directory)
            version = deb.name.split("_")[1]  # another one, if that was replaced meanwhile
            log.say(f"unpacking {package} {version}")

            def fill(place: Path) -> None:
                (place / "linux").mkdir()
                action = f"unpack {package}"
                run(["dpkg-deb", "--extract", deb, directory], action=action)
                archive = directory / f"usr/src/{package}.tar.xz"
                tar = ["tar", "-I", "xz -T0", "--strip-components=1", "--no-same-owner"]
                run([*tar, "-C", place / "linux", "-xf", archive], action=action)
                (place / "version").write_text(version + "\n")
                check_tree(place / "linux")

            name = re.sub(r"[^A-Za-z0-9.+_-]", "-", f"{package}_{version}")
            cache.provide(cache.trees() / name, fill, f"unpacks {package}")
    fetched = find_cached(series)
    assert fetched is not None
    return fetched


def _of_tree(tree: Path) -> Source:
    """Return a snapshot of a user's tree.

    Builds read it for minutes, while the user edits the tree, so each state has a directory of its
    own. Files that are as in an earlier snapshot, by size and time, are hard links to that one's.
    """
    tree = tree.resolve()
    series, release = check_tree(tree)
    ident = f"tree-{hashlib.sha256(os.fsencode(tree)).hexdigest()[:12]}"
    files = dict(_files(tree))
    listing = "".join(f"{name}\0{files[name]}\n" for name in sorted(files))
    state = hashlib.sha256(os.fsencode(listing)).hexdigest()[:16]
    place = cache.trees() / f"{ident}-{state}"

    def fill(work: Path) -> None:
        earlier = [path for path in cache.trees().glob(f"{ident}-*") if cache.use(path)]
        last = max(earlier, key=lambda path: path.stat().st_mtime, default=None)
        cache.require_space(work, 0 if last else _TREE_BYTES, f"copy {tree}")
        with log.progress(f"copying {tree}", len(files), "files") as show:
            for name, signature in files.items():
                _copy(tree / name, work / "linux" / name, last and last / "linux" / name, signature)
                show(advance=1)

    cache.provide(place, fill, f"copies {tree}", lock=ident)
    return Source(series, release, place / "linux", f"tree {tree}", ident, state)


Signature = tuple[int, int, int]


def _files(tree: Path) -> Iterator[tuple[str, Signature]]:
    """Yield the source files of a tree with their mode, size and time.

    They are those of its git and new ones that it does not ignore, or all but what a build left.
    """
    action = f"list the files of {tree}"
    with cache.temporary_dir("git") as empty:
        where: list[str | Path] = ["git", "-C", tree]
        options = ["--cached", "--exclude-standard"]
        if not (tree / ".git").exists():
            run(["git", "init", "--quiet", "--bare", empty], action=action)
            where += ["--git-dir", empty, "--work-tree", tree]
            options = [f"--exclude={pattern}" for pattern in _PRODUCTS.split()]
        listing = run([*where, *_LIST_FILES, *options], action=action).stdout
    for name in filter(None, listing.split("\0")):
        try:
            signature = _signature(tree / name)
        except FileNotFoundError:  # deleted, and git still lists it
            continue
        if not stat.S_ISDIR(signature[0]):  # a submodule
            yield name, signature


def _signature(path: Path) -> Signature:
    status = path.lstat()
    when = 0 if stat.S_ISLNK(status.st_mode) else status.st_mtime_ns
    return status.st_mode, status.st_size, when


def _copy(source: Path, target: Path, earlier: Path | None, signature: Signature) -> None:
    """Copy a file with its time, or link to that of an earlier snapshot where it is the same."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        if earlier and _signature(earlier) == signature:
            os.link(earlier, target, follow_symlinks=False)
            return
    except (FileNotFoundError, NotADirectoryError):
        pass
    shutil.copy2(source, target, follow_symlinks=False)
