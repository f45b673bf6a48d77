# SPDX-License-Identifier: GPL-2.0-only
"""A distribution's kernels, their modules and headers, installed or fetched into the cache."""

from __future__ import annotations

import lzma
import platform
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import cache, log
from mmbatch.core.cache import atomic_write, require_space
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.load import SERIES, release_numbers
from mmbatch.kernel import apt
from mmbatch.kernel.foreign import make_runnable

FLAVOUR = "cloud-amd64"
"""Which of Debian's kernels is used if a series is named and no release."""

_PACKAGE_BYTES = 200_000_000
# "6.12.95+deb12-cloud-amd64"; a kernel of Debian's before its first point release is "7.3-amd64".
_RELEASE = re.compile(r"(\d+\.\d+)(?:\.\d+[^\s/]*|-(?:[^\s/]+-)?amd64)")
_META = re.compile(r"(?:linux-(?:image|headers)-)?([^\s/]*amd64)")
_RUNNING_TYPES = Path("/sys/kernel/btf/vmlinux")


@dataclass(frozen=True)
class Headers:
    """The headers of a kernel, from which its modules are built."""

    release: str
    series: str
    path: Path
    config: Mapping[str, str]

    @property
    def types(self) -> Path:
        """The file that describes the kernel's types. The running kernel describes its own."""
        vmlinux = self.path / "vmlinux"
        own = self.release == running() and _RUNNING_TYPES.exists()
        return _RUNNING_TYPES if own and not vmlinux.exists() else vmlinux


def running() -> str:
    """Return the release of the running kernel."""
    return platform.release()


def choose(name: str | None) -> str:
    """Return the release that the user asked for, by default that of the running kernel.

    What is named may also be a package that depends on the newest kernel ("cloud-amd64"), or a
    series, of which it is the newest that Debian has.
    """
    if name in SERIES:
        return newest(name)
    if name is None:
        return running()
    meta = _META.fullmatch(name)
    if meta is None or _RELEASE.fullmatch(meta[1]):
        return name if meta is None else meta[1]
    package = f"linux-headers-{meta[1]}"
    found = (_needed(package, version) for version, _ in apt.find(package))
    return next(filter(None, found), None) or series_of(meta[1])


def _needed(package: str, version: str) -> str | None:
    """Return the release whose headers a package depends on."""
    names = (name.removeprefix("linux-headers-") for name in apt.depends(package, version))
    return next((name for name in names if _RELEASE.fullmatch(name)), None)


def series_of(release: str) -> str:
    """Return the series of a release; MmbatchError if it is none."""
    if not (series := series_in(release)):
        action, hint = f"choose kernel {release}", "give one as printed by `uname -r`"
        raise MmbatchError(action, "it is not a release", hint, ExitCode.USAGE)
    return series


def series_in(release: str) -> str:
    """Return the series of what may be a release, or nothing."""
    match = _RELEASE.fullmatch(release)
    return match[1] if match else ""


def find(release: str) -> Headers:
    """Return the headers of a kernel, installed or fetched."""
    return find_installed(release) or fetch(release)


def find_installed(release: str, root: Path = Path("/")) -> Headers | None:
    """Return the installed headers of a kernel, or None."""
    for place in (f"lib/modules/{release}/build", f"usr/src/linux-headers-{release}"):
        path = root / place
        if (path / "Module.symvers").is_file() and (path / "Makefile").is_file():
            return at(path, release)
    return None


def at(path: Path, release: str) -> Headers:
    """Return the headers in a directory."""
    lacking = [name for name in (".config", "Module.symvers") if not (path / name).is_file()]
    if lacking:
        problem = f"{path} has no {' and no '.join(lacking)}"
        hint = f"install them: apt-get install linux-headers-{release}"
        raise MmbatchError(f"find the headers of Linux {release}", problem, hint)
    config = config_of((path / ".config").read_text(encoding="utf-8"))
    return Headers(release, series_of(release), path.resolve(), config)


def config_of(text: str) -> dict[str, str]:
    """Return the options that a kernel's configuration sets, with their values."""
    return dict(re.findall(r"^(CONFIG_\w+)=(.*)$", text, re.M))


def newest(series: str, suite: str = "") -> str:
    """Return the release of Debian's newest cloud kernel of a series, at best that of a suite."""
    package = f"linux-headers-{FLAVOUR}"
    versions = [pair for pair in apt.find(package) if pair[0].startswith(f"{series}.")]
    for version, _ in sorted(versions, key=lambda pair: pair[1] != suite):
        if found := _needed(package, version):
            return found
    # A suite that has moved on to another series keeps this one's kernels for a while.
    releases = [
        name.removeprefix("linux-headers-")
        for name in apt.names(f"linux-headers-{series}.")
        if name.endswith(f"-{FLAVOUR}")
    ]
    if releases:
        return max(releases, key=release_numbers)
    action, problem = f"find a kernel of series {series}", f"the mirror has no {package} of it"
    hint = "name one with --kernel"
    raise MmbatchError(action, problem, hint, ExitCode.NOT_APPLICABLE)


def fetch(release: str) -> Headers:
    """Return the headers of one of Debian's kernels, unpacked into the cache."""
    contents = f"the headers of Linux {release}"

    def fill(unpacked: Path) -> None:
        _unpack(f"linux-headers-{release}", unpacked, r"linux-(headers|kbuild)-\d.*", contents)
        _join_makefiles(unpacked / "usr/src")
        for directory in unpacked.glob("usr/lib/linux-kbuild-*"):
            make_runnable(unpacked, directory, directory.name)

    place = cache.provide(cache.live() / f"headers-{release}", fill, f"fetches {contents}")
    return at(place / "usr/src" / f"linux-headers-{release}", release)


def fetch_image(release: str) -> Path:
    """Return the directory in which one of Debian's kernels is unpacked, with its modules."""
    parts = f".*-{re.escape(release)}"  # in which newer kernels come

    def fill(unpacked: Path) -> None:
        _unpack(f"linux-image-{release}", unpacked, parts, f"Linux {release}")

    return cache.provide(cache.live() / f"image-{release}", fill, f"fetches Linux {release}")


def _unpack(package: str, place: Path, parts: str, contents: str) -> None:
    """Fetch a package, and those of its dependencies whose names are like its parts'."""
    found = apt.find(package)
    if not found:
        problem = "no package on the Debian mirror has them"
        hint = "install them, or name one of Debian's kernels with --kernel"
        raise MmbatchError(f"fetch {contents}", problem, hint, ExitCode.NOT_APPLICABLE)
    version = found[0][0]
    require_space(cache.live(), _PACKAGE_BYTES, f"unpack {contents}")
    names = [package, *filter(re.compile(parts).fullmatch, apt.depends(package, version))]
    log.say(f"fetching {package} {version} and its dependencies")
    for name in names:
        apt.unpack(name, version, place)


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


def module_content(path: Path) -> bytes:
    """Return a kernel module, which may be compressed as distributions have them."""
    content = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(content)
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dcq"], input=content, stdout=-1, check=True).stdout
    return content
