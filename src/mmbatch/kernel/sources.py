# SPDX-License-Identifier: GPL-2.0-only
"""Get a kernel's source: one of Debian's packages, or a snapshot of a tree of the user's."""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import interval
from mmbatch.core.cache import Cache
from mmbatch.core.console import Progressing, growth, spoken
from mmbatch.core.disk import (
    atomic_dir,
    damaged,
    error_from_os,
    is_whole,
    real_path,
    remove_unused,
    require_space,
    temporary_dir,
    write_mark,
)
from mmbatch.core.errors import ExitCode, MmbatchError, suggestion
from mmbatch.core.process import pipeline, run
from mmbatch.debian.apt import Apt, not_there
from mmbatch.kernel import copies

SERIES = interval.SERIES
"""Those whose sources can be had, newest first."""

_TREE_BYTES = 2_500_000_000
_UNPACK_LIMIT_S = 1800
SOURCE_PARTS = (
    *("Kbuild", "Kconfig", "Makefile", "arch/x86", "include", "init"),
    *("kernel", "lib", "mm", "scripts"),
)
"""What hosted builds read of a kernel tree, which every command checks."""

HOOK_PARTS = ("Documentation/admin-guide", "arch/arm64/include", "drivers/dma-buf")
"""Where hooks change other files, which every command checks too."""

_EVERY_FILE = ".mmbatch-every-file"
"""Like `disk.MARK` for all files of a tree; reading it and them takes more than a second."""

_SIGNS = ("Makefile", "Kbuild", "Kconfig", "mm/mm_init.c", "scripts/config")

Say = Callable[[str], None]


@dataclass(frozen=True)
class Source:
    """A kernel source tree in our cache, which nobody else writes.

    Attributes:
        series: "7.3".
        release: "7.3.4", with an extra version where the tree has one.
        path: the top of the tree.
        origin: where it comes from, for people.
        ident: short name of its place in the cache, safe as a file name.
        state: digest that is another whenever a file of the tree is; the ident for Debian's.
    """

    series: str
    release: str
    path: Path
    origin: str
    ident: str
    state: str


def resolve(
    cache: Cache,
    kernel: str | None,
    tree: Path | None,
    say: Say,
    progress: Progressing | None = None,
    *,
    every_file: bool = False,
) -> Source:
    """Return the kernel source that the user asked for, fetching it when it must be.

    Args:
        cache: where it is kept.
        kernel: a series or its release; None for the newest that is here or can be had.
        tree: an unpacked tree to take instead; it is only read.
        say: called with a line for each phase.
        progress: shows long work, as `Console.progress` does; by default `say` gets a line for it.
        every_file: check all files for damage, and not only those of hosted builds and hooks.

    Raises:
        MmbatchError: it can't be had, is not a kernel, or is of an unsupported series.
    """
    progress = progress or spoken(say)
    if tree is not None:
        if kernel is not None:
            raise MmbatchError(
                "choose a kernel",
                "both --kernel and --tree",
                "give one of them",
                ExitCode.USAGE,
            )
        return _of_tree(cache, tree, say, progress, every_file=every_file)
    get_apt = functools.cache(lambda: Apt(cache, say))  # so that a dead network is met once

    def fetch(series: str) -> Source:
        return _fetch(cache, series, say, progress, get_apt, every_file=every_file)

    if kernel is not None:
        wanted = kernel.removeprefix("v")
        series = _series(wanted)
        source = find_cached(cache, series, say, every_file=every_file) or fetch(series)
        if wanted not in (series, source.release):
            raise MmbatchError(
                f"choose kernel {kernel}",
                f"{series} has the release {source.release} here",
                f"use --kernel {series}, or a tree of {wanted} with --tree",
                ExitCode.NOT_APPLICABLE,
            )
        return source
    failure: MmbatchError | None = None
    for series in SERIES:
        cached = find_cached(cache, series, say, every_file=every_file)
        if cached is not None:
            return cached
        try:
            return fetch(series)
        except MmbatchError as error:
            say(f"linux {series} can't be had: {error.problem}")
            failure = failure or error
    assert failure is not None
    raise failure


def _series(kernel: str) -> str:
    """Return the series of a kernel that the user named: "7.3" of "7.3" and of "7.3.4"."""
    parts = re.fullmatch(r"(\d+\.\d+)(\.\d+.*)?", kernel)
    if parts is None or parts[1] not in SERIES:
        raise MmbatchError(
            f"choose kernel {kernel}",
            "it is not a supported kernel",
            suggestion(parts[1] if parts else kernel, SERIES, "kernels"),
            ExitCode.NOT_APPLICABLE,
        )
    return parts[1]


def find_cached(
    cache: Cache, series: str, say: Say | None = None, *, every_file: bool = False
) -> Source | None:
    """Return the newest of Debian's trees of a series in the cache, or None.

    `say` is called with a line for each tree that is damaged; who gives it also lets damaged ones
    be removed if there is a whole one. For `every_file` see `resolve`.
    """
    package = f"linux-source-{series}"
    found: list[tuple[list[tuple[int, str]], Source]] = []
    broken: list[Path] = []
    for place in cache.trees.glob(f"{package}_*"):
        path = place / "linux"
        if not _is_good(place, None, every_file=every_file):
            broken.append(place)
            continue
        version = (place / "version").read_text().strip()
        source = Source(
            series=series,
            release=read_release(path),
            path=path,
            origin=f"{package} {version} (Debian)",
            ident=place.name,
            state=place.name,
        )
        found.append((_version_key(version), source))
    if say is not None:
        for place in broken:
            if not found:
                _is_good(place, say, every_file=every_file)
            elif remove_unused(place):
                say(f"removed {place}, which was incomplete; there is another one")
    return max(found, key=lambda pair: pair[0])[1] if found else None


def _tree_parts() -> list[str]:
    """Return what every command checks of a tree's directory."""
    return [_EVERY_FILE, *(f"linux/{part}" for part in (*SOURCE_PARTS, *HOOK_PARTS))]


def _is_good(place: Path, say: Say | None, *, every_file: bool) -> bool:
    """Return whether no file of a tree is damaged, as far as its marks tell."""
    if not is_whole(place, say):
        return False
    return not (every_file and _is_listed(place)) or is_whole(place, say, _EVERY_FILE)


def _is_listed(place: Path) -> bool:
    """Return whether there is a list of all files of a tree; older mmbatch wrote none."""
    return (place / _EVERY_FILE).exists()


def name_unchecked(error: MmbatchError, source: Source) -> MmbatchError:
    """Return the error of a failed build, which says what to remove if a file could be damaged."""
    place = source.path.parent
    if _is_listed(place):
        return error
    hint = (
        f"{error.hint}; if it names a damaged kernel file, remove {place}, which is fetched again"
    )
    return MmbatchError(error.action, error.problem, hint, error.code)


def require_every_file(source: Source) -> None:
    """Check all files of a tree, since its makefiles read more than every command checks.

    A damaged Kconfig file could give another configuration, and no error.

    Raises:
        MmbatchError: one is missing or damaged.
    """
    place = source.path.parent
    name = damaged(place, _EVERY_FILE) if _is_listed(place) else None
    if name is not None:
        raise MmbatchError(
            f"build Linux {source.release}",
            f"{place / name} is missing or damaged",
            f"remove {place}; the next command makes it again",
        )


def read_release(tree: Path) -> str:
    """Return a tree's release ("7.3.4") from its top Makefile.

    Raises:
        MmbatchError: it has none, so it is not a kernel.
    """
    makefile = tree / "Makefile"
    if makefile.exists() and not makefile.is_file():  # reading a pipe would wait for ever
        raise _no_kernel(tree, "its Makefile is not a file")
    try:
        text = makefile.read_text(errors="replace")
    except PermissionError as error:
        raise error_from_os(error, f"use {tree} as a kernel tree") from error
    except OSError as error:
        raise _no_kernel(tree, f"its Makefile can't be read ({error.strerror})") from error
    values: dict[str, str] = dict(
        re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION)[ \t]*=[ \t]*(\S*)", text, re.M)
    )
    # Not isdigit(), which takes other scripts' digits and superscripts for digits too.
    if not all(re.fullmatch("[0-9]+", values.get(name, "")) for name in ("VERSION", "PATCHLEVEL")):
        raise _no_kernel(tree, "its Makefile has no VERSION and PATCHLEVEL")
    if not re.fullmatch("[0-9]*", values.get("SUBLEVEL", "")):
        raise _no_kernel(tree, f"its SUBLEVEL is '{values['SUBLEVEL']}'")
    numbers = [values[name] for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL") if values.get(name)]
    return ".".join(numbers) + values.get("EXTRAVERSION", "")


def check_tree(tree: Path) -> tuple[str, str]:
    """Return (series, release) of a tree that is a kernel we support.

    Raises:
        MmbatchError: it is not a kernel (USAGE) or an unsupported one (NOT_APPLICABLE).
    """
    if not tree.is_dir():
        raise _no_kernel(tree, "there is no such directory")
    missing = [name for name in _SIGNS if not (tree / name).exists()]
    if missing:
        raise _no_kernel(tree, f"it has no {missing[0]}")
    release = read_release(tree)
    match = re.match(r"\d+\.\d+", release)
    series = match[0] if match else release
    if series not in SERIES:
        raise MmbatchError(
            f"use the tree {tree}",
            f"linux {release}",
            f"supported are {', '.join(SERIES)}",
            ExitCode.NOT_APPLICABLE,
        )
    return series, release


def _of_tree(
    cache: Cache, tree: Path, say: Say, progress: Progressing, *, every_file: bool
) -> Source:
    tree = real_path(tree, f"use {tree} as a kernel tree")
    series, release = check_tree(tree)
    digest = hashlib.sha256(os.fsencode(tree)).hexdigest()[:12]
    ident = f"tree-{digest}"
    with cache.lock(ident, f"copies {tree}", say):
        state = copies.refresh(tree, cache.trees / ident, progress)
        place = _keep_state(cache, ident, state, say, every_file=every_file)
    return Source(series, release, place / "linux", f"tree {tree}", ident=ident, state=state)


def _keep_state(cache: Cache, ident: str, state: str, say: Say, *, every_file: bool) -> Path:
    """Return a directory with the state that a copy of a user's tree has now.

    Builds read it for minutes. Meanwhile the user edits the tree, and another command refreshes
    the copy, so each state has a directory of its own. Its files are hard links to those of the
    copy, which `refresh_copy` replaces and never writes to.
    """

    def fill(work: Path) -> None:
        copy = cache.trees / ident / "linux"
        run(["cp", "-al", copy, work], action="keep the copied tree as it is")
        write_mark(work, ("linux",), _EVERY_FILE)

    return cache.provide(
        cache.trees / f"{ident}-{state}",
        fill,
        "keeps a copied tree",
        say,
        keep_few=True,
        parts=_tree_parts(),
        check=functools.partial(_is_good, every_file=every_file),
    )


def _fetch(
    cache: Cache,
    series: str,
    say: Say,
    progress: Progressing,
    get_apt: Callable[[], Apt],
    *,
    every_file: bool,
) -> Source:
    package = f"linux-source-{series}"
    with cache.lock(package, f"fetches linux {series}", say):
        cached = find_cached(cache, series, every_file=every_file)  # by whom we waited for
        if cached is not None:
            return cached
        require_space(cache.trees, _TREE_BYTES, f"unpack linux {series}")
        apt = get_apt()
        versions = apt.madison(package)
        if not versions:
            raise not_there(package)
        version, suite = versions[0]
        size = apt.size(package, version)
        with temporary_dir(cache.downloads, package) as directory:
            title = f"fetching {package} {version} from Debian {suite}"
            with progress(title, size and size / 1e6, "MB") as bar, growth(directory, bar):
                deb = apt.download(package, version, directory)
            _unpack(cache, package, deb, say)
    fetched = find_cached(cache, series)
    assert fetched is not None
    return fetched


def _unpack(cache: Cache, package: str, deb: Path, say: Say) -> None:
    action = f"unpack {package}"
    version = run(["dpkg-deb", "--field", deb, "Version"], action=action).stdout.strip()
    say(f"unpacking {package} {version}")
    name = re.sub(r"[^A-Za-z0-9.+_-]", "-", f"{package}_{version}")
    with atomic_dir(cache.trees / name) as place:
        (place / "linux").mkdir()
        pipeline(
            [
                ["dpkg-deb", "--fsys-tarfile", deb],
                ["tar", "-xO", f"./usr/src/{package}.tar.xz"],
                ["xz", "-dc", "-T0"],
                ["tar", "-x", "--strip-components=1", "--no-same-owner", "-C", place / "linux"],
            ],
            action=action,
            timeout_s=_UNPACK_LIMIT_S,
        )
        (place / "version").write_text(version + "\n")
        check_tree(place / "linux")
        write_mark(place, ("linux",), _EVERY_FILE)
        write_mark(place, ("version", *_tree_parts()))


def _version_key(version: str) -> list[tuple[int, str]]:
    """Return a key which sorts Debian versions of one package well enough."""
    parts = re.findall(r"\d+|~|[^\d~]+", version)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _no_kernel(tree: Path, problem: str) -> MmbatchError:
    return MmbatchError(
        f"use {tree} as a kernel tree", problem, "give the top of a kernel tree", ExitCode.USAGE
    )
