# SPDX-License-Identifier: GPL-2.0-only
"""The distribution's kernels: their headers, installed or fetched into the cache."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core.cache import Cache, atomic_dir, atomic_write, require_space
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.debian import foreign
from mmbatch.debian.apt import Apt
from mmbatch.live import btf
from mmbatch.live.btf import Btf

FLAVOUR = "cloud-amd64"
"""Which of Debian's kernels a series is taken from when no release is named."""

_HEADERS_BYTES = 200_000_000
_RELEASE = re.compile(r"(\d+\.\d+)\.\d+\S*")
_RUNNING_TYPES = Path("/sys/kernel/btf/vmlinux")

Say = Callable[[str], None]


@dataclass(frozen=True)
class Headers:
    """What modules for a kernel are built from.

    Attributes:
        release: of the kernel, as uname tells it.
        series: "6.12".
        path: the folder that make is run in.
        config: its options that are set, with their values.
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
        """Return the kernel's types; those of the running kernel come from itself."""
        vmlinux = self.path / "vmlinux"
        if not vmlinux.exists() and self.release == running() and _RUNNING_TYPES.exists():
            return Btf(_RUNNING_TYPES.read_bytes())
        return btf.of_kernel(vmlinux)


def running() -> str:
    """Return the release of the kernel that runs here."""
    return platform.release()


def choose(cache: Cache, release: str | None, series: str | None, say: Say) -> str:
    """Return the release that the user asked for.

    Args:
        cache: where package lists are kept.
        release: which kernel; None for the newest packaged one of a series, or, without a
            series too, for the one that runs here.
        series: "6.12".
        say: told of each phase.

    Raises:
        MmbatchError: both are given, or nothing of the series is packaged.
    """
    if release is not None and series is not None:
        raise MmbatchError(
            "choose a kernel",
            "both --kernel and --kernel-release",
            "give one of them",
            ExitCode.USAGE,
        )
    return newest(cache, series, say) if series is not None else release or running()


def series_of(release: str) -> str:
    """Return the series of a release.

    Raises:
        MmbatchError: it is none.
    """
    match = _RELEASE.fullmatch(release)
    if match is None:
        raise MmbatchError(
            f"choose kernel {release}",
            "it is no release",
            "give one as uname -r tells it",
            ExitCode.USAGE,
        )
    return match[1]


def is_of(release: str, series: Collection[str]) -> bool:
    """Tell whether a release is of some series; what is no release is of none."""
    match = _RELEASE.fullmatch(release)
    return match is not None and match[1] in series


def find(cache: Cache, release: str, say: Say) -> Headers:
    """Return the headers of a kernel, fetched as the distribution's packages when they must be.

    Args:
        cache: where fetched ones are kept; nothing is installed.
        release: of the kernel.
        say: told of each phase.

    Raises:
        MmbatchError: they can't be had.
    """
    return find_installed(release) or fetch(cache, release, say)


def find_installed(release: str, root: Path = Path("/")) -> Headers | None:
    """Return the headers that are installed for a kernel, or None."""
    for place in (f"lib/modules/{release}/build", f"usr/src/linux-headers-{release}"):
        path = root / place
        if (path / "Module.symvers").is_file() and (path / "Makefile").is_file():
            return at(path, release)
    return None


def at(path: Path, release: str) -> Headers:
    """Return the headers in a folder.

    Raises:
        MmbatchError: it has none.
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


def _numbers(release: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", release)]


def newest(cache: Cache, series: str, say: Say) -> str:
    """Return the release of the newest cloud kernel of a series that the mirror carries.

    Raises:
        MmbatchError: it carries none.
    """
    apt = Apt(cache, say)
    package = f"linux-headers-{FLAVOUR}"
    for version, _ in apt.madison(package):
        if version.startswith(f"{series}."):
            for name in apt.depends(package, version):
                if name.endswith(f"-{FLAVOUR}") and name.startswith("linux-headers-"):
                    return name.removeprefix("linux-headers-")
    # A suite that went on to another series keeps this one's kernels for a while.
    releases = [
        name.removeprefix("linux-headers-")
        for name in apt.names(f"linux-headers-{series}.")
        if name.endswith(f"-{FLAVOUR}")
    ]
    if releases:
        return max(releases, key=_numbers)
    raise MmbatchError(
        f"find a kernel of series {series}",
        f"no {package} of it on the Debian mirror",
        "name one with --kernel-release",
        ExitCode.NOT_APPLICABLE,
    )


def fetch(cache: Cache, release: str, say: Say) -> Headers:
    """Return the headers of one of Debian's kernels, unpacked into the cache.

    Raises:
        MmbatchError: the mirror lacks them.
    """
    place = cache.live / f"headers-{release}"
    folder = place / "usr/src" / f"linux-headers-{release}"
    with cache.lock(f"headers-{release}", f"fetches the headers of Linux {release}", say):
        if not place.exists():
            package = f"linux-headers-{release}"
            apt = Apt(cache, say)
            found = apt.madison(package)
            if not found:
                raise _not_packaged(release)
            version = found[0][0]
            require_space(cache.live, _HEADERS_BYTES, f"unpack the headers of Linux {release}")
            names = [package, *filter(_belongs, apt.depends(package, version))]
            say(f"fetching {package} {version} and what it needs")
            with atomic_dir(place) as unpacked:
                for name in names:
                    foreign.unpack(cache, apt, name, version, unpacked)
        _find_each_other(place / "usr/src")
        _make_run(cache, release, place, say)
    return at(folder, release)


def fetch_image(cache: Cache, release: str, say: Say) -> Path:
    """Return the folder in which one of Debian's kernels, with its modules, is unpacked.

    Raises:
        MmbatchError: the mirror lacks it.
    """
    place = cache.live / f"image-{release}"
    with cache.lock(f"image-{release}", f"fetches Linux {release}", say):
        if not place.exists():
            package = f"linux-image-{release}"
            apt = Apt(cache, say)
            found = apt.madison(package)
            if not found:
                raise _not_packaged(release)
            require_space(cache.live, _HEADERS_BYTES, f"unpack Linux {release}")
            version = found[0][0]
            # Newer ones come in parts: the kernel, its modules, its configuration.
            parts = [one for one in apt.depends(package, version) if one.endswith(f"-{release}")]
            say(f"fetching {package} {version}")
            with atomic_dir(place) as unpacked:
                for name in (package, *parts):
                    foreign.unpack(cache, apt, name, version, unpacked)
    return place


def _belongs(package: str) -> bool:
    return re.match(r"linux-(headers|kbuild)-\d", package) is not None


def _find_each_other(sources: Path) -> None:
    """Let the makefiles in a folder find the others beside it, and not where apt installs them."""
    beside = "$(dir $(abspath $(lastword $(MAKEFILE_LIST))))../"
    for makefile in sources.glob("*/Makefile"):
        text = makefile.read_text(encoding="utf-8")
        found = text.replace("include /usr/src/", f"include {beside}")
        # It is used in a makefile that this one includes.
        found = found.replace("KBUILD_OUTPUT=/usr/src/", f"KBUILD_OUTPUT := {beside}")
        if found != text:
            atomic_write(makefile, found)


def _make_run(cache: Cache, release: str, place: Path, say: Say) -> None:
    """Let programs among the headers in a folder run that were built for a newer release."""
    folders = list(place.glob("usr/lib/linux-kbuild-*"))
    programs = foreign.strangers(folders[0]) if folders else []
    if not programs:
        return
    apt = Apt(cache, say)
    package = folders[0].name
    found = apt.madison(package)
    if not found:
        raise _not_packaged(release)
    say(f"fetching what programs of {package} need to run here")
    for name, version in foreign.closure(apt, package, *found[0]).items():
        if name != package:
            foreign.unpack(cache, apt, name, version, place)
    foreign.adopt(place, programs)


def _not_packaged(release: str) -> MmbatchError:
    return MmbatchError(
        f"fetch the headers of Linux {release}",
        "no package of Debian's has them",
        f"install them (apt-get install linux-headers-{release}), or name a kernel of Debian's "
        "with --kernel-release, or a series with --kernel",
        ExitCode.NOT_APPLICABLE,
    )
