# SPDX-License-Identifier: GPL-2.0-only
"""A distribution's kernels and their headers, installed or fetched into the cache."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core.cache import Cache
from mmbatch.core.disk import atomic_write, require_space
from mmbatch.core.errors import ExitCode, MmbatchError, suggestion
from mmbatch.core.interval import SERIES, release_numbers
from mmbatch.debian import foreign
from mmbatch.debian.apt import Apt
from mmbatch.live import btf
from mmbatch.live.btf import Btf

FLAVOUR = "cloud-amd64"
"""Which of Debian's kernels is used if a series is named and no release."""

_PACKAGE_BYTES = 200_000_000
# "6.12.95+deb12-cloud-amd64"; a kernel of Debian's before its first point release is "7.3-amd64".
_RELEASE = re.compile(r"(\d+\.\d+)(?:\.\d+[^\s/]*|-(?:[^\s/]+-)?amd64)")
_META = re.compile(r"(?:linux-(?:image|headers)-)?([^\s/]*amd64)")
_RUNNING_TYPES = Path("/sys/kernel/btf/vmlinux")

Say = Callable[[str], None]


@dataclass(frozen=True)
class Headers:
    """The headers of a kernel, from which its modules are built.

    Attributes:
        release: of the kernel, as printed by `uname -r`.
        series: of the kernel, "6.12".
        path: the directory in which make runs.
        config: the options of the kernel that are set, with their values.
    """

    release: str
    series: str
    path: Path
    config: Mapping[str, str]

    @property
    def exports(self) -> str:
        """Content of its Module.symvers."""
        return (self.path / "Module.symvers").read_text(encoding="utf-8")

    def types(self) -> Btf:
        """Return the kernel's types. The running kernel describes its own."""
        vmlinux = self.path / "vmlinux"
        if not vmlinux.exists() and self.release == running() and _RUNNING_TYPES.exists():
            return Btf(_RUNNING_TYPES.read_bytes())
        return btf.of_kernel(vmlinux)


def running() -> str:
    """Return the release of the running kernel."""
    return platform.release()


def choose(cache: Cache, release: str | None, series: str | None, say: Say) -> str:
    """Return the release that the user asked for.

    Args:
        cache: where package lists are kept.
        release: of the kernel, or one of Debian's packages that depend on the newest kernel
            ("cloud-amd64"). If None, the newest packaged kernel of the series is chosen;
            without a series, the running kernel.
        series: "6.12", or None.
        say: called with a line for each phase.

    Raises:
        MmbatchError: both are given, the release is empty, the series is not supported, or no
            such kernel is packaged.
    """
    if release is not None and series is not None:
        raise MmbatchError(
            "choose a kernel",
            "--kernel and --kernel-release exclude each other",
            "give one of them",
            ExitCode.USAGE,
        )
    if series is not None:
        _require_supported(series)
        return newest(cache, series, say)
    if release is None:
        return running()
    if not release:
        hint = "give one as printed by uname -r, or leave the option out for the running kernel"
        raise MmbatchError("choose a kernel", "its release is empty", hint, ExitCode.USAGE)
    meta = _META.fullmatch(release)
    if meta is None:
        return release
    return meta[1] if _RELEASE.fullmatch(meta[1]) else _newest_of(cache, meta[1], say)


def _require_supported(series: str) -> None:
    if series not in SERIES:  # the mirror need not be asked
        raise MmbatchError(
            f"choose kernel {series}",
            "it is not a supported series",
            suggestion(series, SERIES, "series"),
            ExitCode.NOT_APPLICABLE,
        )


def _newest_of(cache: Cache, meta: str, say: Say) -> str:
    """Return the release that one of Debian's packages of the newest kernel depends on."""
    apt = Apt(cache, say)
    package = f"linux-headers-{meta}"
    for version, _ in apt.madison(package):
        if found := _needed(apt, package, version):
            return found
    raise _no_release(meta)


def _needed(apt: Apt, package: str, version: str) -> str | None:
    """Return the release whose headers a package depends on."""
    names = (name.removeprefix("linux-headers-") for name in apt.depends(package, version))
    return next((name for name in names if _RELEASE.fullmatch(name)), None)


def series_of(release: str) -> str:
    """Return the series of a release.

    Raises:
        MmbatchError: it is not a release.
    """
    match = _RELEASE.fullmatch(release)
    if match is None:
        raise _no_release(release)
    return match[1]


def _no_release(name: str) -> MmbatchError:
    return MmbatchError(
        f"choose kernel {name}",
        "it is not a release",
        "give one as printed by `uname -r`",
        ExitCode.USAGE,
    )


def is_of(release: str, series: Collection[str]) -> bool:
    """Return whether a text is a release of one of some series."""
    match = _RELEASE.fullmatch(release)
    return match is not None and match[1] in series


def find(cache: Cache, release: str, say: Say) -> Headers:
    """Return the headers of a kernel. Fetch the distribution's packages if they are not installed.

    Raises:
        MmbatchError: they are not installed and can't be fetched.
    """
    return find_installed(release) or fetch(cache, release, say)


def find_installed(release: str, root: Path = Path("/")) -> Headers | None:
    """Return the installed headers of a kernel, or None."""
    for place in (f"lib/modules/{release}/build", f"usr/src/linux-headers-{release}"):
        path = root / place
        if (path / "Module.symvers").is_file() and (path / "Makefile").is_file():
            return at(path, release)
    return None


def at(path: Path, release: str) -> Headers:
    """Return the headers in a directory.

    Raises:
        MmbatchError: the directory has none.
    """
    lacking = [name for name in (".config", "Module.symvers") if not (path / name).is_file()]
    if lacking:
        raise MmbatchError(
            f"find the headers of Linux {release}",
            f"{path} has no {' and no '.join(lacking)}",
            f"install them: apt-get install linux-headers-{release}",
        )
    text = (path / ".config").read_text(encoding="utf-8")
    config = dict(re.findall(r"^(CONFIG_\w+)=(.*)$", text, re.M))
    return Headers(release, series_of(release), path.resolve(), config)


def newest(cache: Cache, series: str, say: Say, suite: str = "") -> str:
    """Return the release of the newest cloud kernel of a series that Debian has.

    That of the suite ("bookworm-backports") is preferred.

    Raises:
        MmbatchError: it has none.
    """
    apt = Apt(cache, say)
    package = f"linux-headers-{FLAVOUR}"
    versions = [pair for pair in apt.madison(package) if pair[0].startswith(f"{series}.")]
    for version, _ in sorted(versions, key=lambda pair: pair[1] != suite):
        if found := _needed(apt, package, version):
            return found
    # A suite that has moved on to another series keeps this one's kernels for a while.
    releases = [
        name.removeprefix("linux-headers-")
        for name in apt.names(f"linux-headers-{series}.")
        if name.endswith(f"-{FLAVOUR}")
    ]
    if releases:
        return max(releases, key=release_numbers)
    raise MmbatchError(
        f"find a kernel of series {series}",
        f"the Debian mirror has no {package} of it",
        "name one with --kernel-release",
        ExitCode.NOT_APPLICABLE,
    )


def fetch(cache: Cache, release: str, say: Say) -> Headers:
    """Return the headers of one of Debian's kernels, unpacked into the cache.

    Raises:
        MmbatchError: the mirror lacks them.
    """
    contents = f"the headers of Linux {release}"
    place = cache.live / f"headers-{release}"

    def fill(unpacked: Path) -> None:
        _unpack(cache, f"linux-headers-{release}", unpacked, _is_headers, contents, say)
        _join_makefiles(unpacked / "usr/src")
        _make_runnable(cache, release, unpacked, say)

    cache.provide(place, fill, f"fetches {contents}", say)
    return at(place / "usr/src" / f"linux-headers-{release}", release)


def fetch_image(cache: Cache, release: str, say: Say) -> Path:
    """Return the directory in which one of Debian's kernels, with its modules, is unpacked.

    Raises:
        MmbatchError: the mirror lacks it.
    """
    place = cache.live / f"image-{release}"

    def fill(unpacked: Path) -> None:
        # Newer kernels come in parts: the kernel, its modules, its configuration.
        def is_part(package: str) -> bool:
            return package.endswith(f"-{release}")

        _unpack(cache, f"linux-image-{release}", unpacked, is_part, f"Linux {release}", say)

    cache.provide(place, fill, f"fetches Linux {release}", say)
    return place


def _unpack(
    cache: Cache, package: str, place: Path, belongs: Callable[[str], bool], contents: str, say: Say
) -> None:
    """Fetch a package, and those of its dependencies that belong to it, into a directory."""
    apt = Apt(cache, say)
    found = apt.madison(package)
    if not found:
        raise _not_packaged(contents)
    version = found[0][0]
    require_space(cache.live, _PACKAGE_BYTES, f"unpack {contents}")
    names = [package, *filter(belongs, apt.depends(package, version))]
    say(f"fetching {package} {version} and its dependencies")
    for name in names:
        foreign.unpack(cache, apt, name, version, place)


def _is_headers(package: str) -> bool:
    return re.match(r"linux-(headers|kbuild)-\d", package) is not None


def _join_makefiles(sources: Path) -> None:
    """Let unpacked makefiles include each other, and not those where apt installs them."""
    beside = "$(dir $(abspath $(lastword $(MAKEFILE_LIST))))../"
    for makefile in sources.glob("*/Makefile"):
        text = makefile.read_text(encoding="utf-8")
        found = text.replace("include /usr/src/", f"include {beside}")
        # The makefile that this one includes uses it.
        found = found.replace("KBUILD_OUTPUT=/usr/src/", f"KBUILD_OUTPUT := {beside}")
        if found != text:
            atomic_write(makefile, found)


def _make_runnable(cache: Cache, release: str, place: Path, say: Say) -> None:
    """Let programs among the headers run here that were built for a newer Debian release."""
    directories = list(place.glob("usr/lib/linux-kbuild-*"))
    programs = foreign.unrunnable(directories[0]) if directories else []
    if not programs:
        return
    apt = Apt(cache, say)
    package = directories[0].name
    found = apt.madison(package)
    if not found:
        raise _not_packaged(f"the headers of Linux {release}")
    say(f"fetching the libraries that programs of {package} need here")
    for name, version in foreign.closure(apt, package, *found[0]).items():
        if name != package:
            foreign.unpack(cache, apt, name, version, place)
    foreign.wrap_in_place(place, programs)


def _not_packaged(contents: str) -> MmbatchError:
    return MmbatchError(
        f"fetch {contents}",
        "no package on the Debian mirror has them",
        "install them with your distribution's package manager, or name one of Debian's kernels "
        "with --kernel-release, or a series with --kernel",
        ExitCode.NOT_APPLICABLE,
    )
