# SPDX-License-Identifier: GPL-2.0-only
"""Install speed-ups so that each boot has them before devices are bound, and take them away.

All that is installed belongs to Debian packages, so dpkg lists it and removes it.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core.cache import Cache
from mmbatch.core.disk import temporary_dir
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.process import run
from mmbatch.debian import deb
from mmbatch.live import boot, dkms, manifest
from mmbatch.live import kernel as kernels
from mmbatch.live.manifest import LiveManifest

OURS = "mmbatch-*"
"""The names of all packages that this module installs."""

_LIMIT_S = 3600
_CONFIGURATION = ("etc", "run", "usr/local/lib", "usr/lib")
_SOFTDEP = re.compile(r"^\s*softdep\s+(\S+)\s+(.*)$", re.M)
_NO_MODULE = re.compile(r"no module for \S+: .*")

_SHOWN = re.compile(r"/usr/src/mmbatch[^/]+|/(?!usr/src/).*/mmbatch[^/]*")

Say = Callable[[str], None]


@dataclass(frozen=True)
class System:
    """The system that is installed into: this one, or one below a directory.

    Attributes:
        root: its root directory.
    """

    root: Path = Path("/")

    @property
    def own(self) -> bool:
        """Whether it is the system that runs here."""
        return self.root == Path("/")

    @property
    def chroot(self) -> tuple[str, ...]:
        """Words before a command that run it in that system."""
        return () if self.own else ("chroot", str(self.root))

    def releases(self) -> list[str]:
        """Return the releases of the installed kernels."""
        found = [path.parent.name for path in self.root.glob("lib/modules/*/kernel")]
        return sorted(found)

    def installed(self) -> dict[str, str]:
        """Return which packages of ours it has, or has files of, each with its digest."""
        return deb.installed(OURS, self.root)

    def files(self, packages: Sequence[str]) -> list[str]:
        """Return the files of installed packages, without the sources of modules."""
        return _shown(deb.installed_files(packages, self.root))


@dataclass(frozen=True)
class Fit:
    """Whether DKMS will build a speed-up's module for an installed kernel.

    Attributes:
        release: of the kernel.
        speedup: the speed-up.
        problem: why not, as a clause; empty if it will.
    """

    release: str
    speedup: str
    problem: str = ""


def fits(system: System, lives: Sequence[LiveManifest]) -> list[Fit]:
    """Return for each installed kernel and speed-up whether DKMS will build the module."""
    return [
        Fit(release, live.speedup, _problem(system, live, release))
        for release in system.releases()
        for live in lives
    ]


def _problem(system: System, live: LiveManifest, release: str) -> str:
    try:
        chosen = manifest.of_series(live, kernels.series_of(release), release)
    except MmbatchError as error:
        return error.problem
    # The link /lib/modules/RELEASE/build may be absolute, and lead out of another root.
    headers = system.root / "usr/src" / f"linux-headers-{release}"
    if not (headers / "Module.symvers").is_file():
        return "its headers are not installed"
    try:
        manifest.require_config(chosen, kernels.at(headers, release).config, release)
    except MmbatchError as error:
        return error.problem
    return ""


def require_fit(system: System, found: Sequence[Fit]) -> None:
    """Raise MmbatchError unless every speed-up fits at least one installed kernel."""
    for speedup in dict.fromkeys(fit.speedup for fit in found):
        own = [fit for fit in found if fit.speedup == speedup]
        if all(fit.problem for fit in own):
            lacking = [fit.release for fit in own if "headers" in fit.problem]
            problems = "; ".join(f"Linux {fit.release}: {fit.problem}" for fit in own)
            raise MmbatchError(
                f"install '{speedup}'",
                f"no installed kernel can have it: {problems}",
                f"install the headers: apt-get install linux-headers-{lacking[-1]}"
                if lacking
                else "install a kernel that can, such as Debian's of a series that it supports",
                ExitCode.FAILED if lacking else ExitCode.NOT_APPLICABLE,
            )
    if not found:
        raise MmbatchError(
            "install livepatches",
            f"there is no kernel below {system.root / 'lib/modules'}",
            "install one of Debian's, with its headers",
        )


def require_free(system: System, lives: Sequence[LiveManifest]) -> None:
    """Raise MmbatchError if somebody's own softdep for a driver would hide ours.

    modprobe follows only the first softdep of each driver.
    """
    wanted = boot.drivers(lives)
    for path in _configurations(system):
        for name, words in _SOFTDEP.findall(path.read_text(encoding="utf-8", errors="replace")):
            driver = name.replace("-", "_")
            missing = [each for each in wanted.get(driver, ()) if each not in words.split()]
            if missing:
                raise MmbatchError(
                    f"load {' and '.join(missing)} before {driver}",
                    f"{path} has a softdep for {driver}, and modprobe follows only one",
                    f"add 'pre: {' '.join(missing)}' to that line, and run this again",
                )


def _configurations(system: System) -> Iterator[Path]:
    for place in _CONFIGURATION:
        for path in sorted((system.root / place / "modprobe.d").glob("*.conf")):
            if path.is_file() and path != system.root / boot.SOFTDEP:
                yield path


def build(cache: Cache, lives: Sequence[LiveManifest], directory: Path) -> list[Path]:
    """Write the packages of some speed-ups, and the one that loads them at boot."""
    packages = [dkms.package(cache, live.speedup, directory) for live in lives]
    return [*packages, boot.package(cache, lives, directory)]


def install(
    cache: Cache, system: System, lives: Sequence[LiveManifest], found: Sequence[Fit], say: Say
) -> list[str]:
    """Install speed-ups, which builds their modules.

    `require_fit` and `require_free` accepted them. If anything fails, those that were to change
    are removed, and others that were installed stay.

    Args:
        cache: keeps the log.
        system: where to.
        lives: the speed-ups, with those that are installed and stay.
        found: what `fits` said of them.
        say: called with a line for each phase.

    Returns:
        The packages that changed; none if all were there as they are now.

    Raises:
        MmbatchError: apt or dpkg failed, or a module was not built.
    """
    _require_root("install the livepatches")
    log = _new_log(cache)
    with temporary_dir(system.root / "var/tmp", "mmbatch") as place:
        place.chmod(0o755)  # apt reads it as another user
        packages = build(cache, lives, place)
        names = differing(system, packages)
        changed = [path for path in packages if _name(path) in names]
        try:
            if changed:
                say(f"installing {' '.join(names)}, which builds modules")
                _apt(system, changed, log)
            _require_built(system, found, log)
        except BaseException:
            going = [live for live in lives if dkms.package_name(live.speedup) in names]
            staying = [live for live in lives if live not in going]
            say(f"that failed, so it is removed again: {' '.join(names)}")
            with contextlib.suppress(MmbatchError):
                _remove(cache, system, going or lives, staying if going else (), log)
            raise
    return names


def differing(system: System, packages: Sequence[Path]) -> list[str]:
    """Return the names of those packages that a system does not have as they are."""
    there = system.installed()
    return [_name(path) for path in packages if there.get(_name(path)) != deb.digest_of(path)]


def files_of(packages: Sequence[Path]) -> list[str]:
    """Return the files of packages, without the sources of modules."""
    return _shown(name for path in packages for name in deb.files_of(path))


def _shown(names: Iterable[str]) -> list[str]:
    """Return the files that matter to a boot, and the directories of sources."""
    return sorted({name for name in names if _SHOWN.fullmatch(name)})


def removable(system: System, lives: Sequence[LiveManifest]) -> list[str]:
    """Return the packages that `uninstall` would remove."""
    names = system.installed()
    staying = [live for live in installed(system) if live not in lives] if lives else []
    if not staying:
        return sorted(names)
    return sorted(names.keys() & {dkms.package_name(live.speedup) for live in lives})


def uninstall(cache: Cache, system: System, lives: Sequence[LiveManifest] = ()) -> list[str]:
    """Remove speed-ups, by default everything of ours, with their part of each initramfs.

    Returns:
        The packages that were removed.

    Raises:
        MmbatchError: dpkg failed, or left something.
    """
    action = "uninstall the livepatches"
    _require_root(action)
    before = system.installed()
    staying = [live for live in installed(system) if live not in lives] if lives else []
    _remove(cache, system, lives, staying, _new_log(cache))
    if not staying and (left := remains(system)):
        raise MmbatchError(
            action, f"something is left: {', '.join(left)}", "remove it, and report this"
        )
    return sorted(before.keys() - system.installed().keys())


def installed(system: System) -> list[LiveManifest]:
    """Return the speed-ups that a system has, or has files of."""
    names = system.installed()
    return [live for live in manifest.load_all(()) if dkms.package_name(live.speedup) in names]


def _remove(
    cache: Cache,
    system: System,
    going: Sequence[LiveManifest],
    staying: Sequence[LiveManifest],
    log: Path,
) -> None:
    """Remove some speed-ups; if none stays, everything of ours."""
    names = system.installed()
    if staying:  # a package that loads these alone depends on no other
        with temporary_dir(system.root / "var/tmp", "mmbatch") as place:
            file = _inside(system, boot.package(cache, staying, place))
            _dpkg(system, ["--install", file], log)
        wanted = {dkms.package_name(live.speedup) for live in going}
        names = {name: digest for name, digest in names.items() if name in wanted}
    if names:
        _dpkg(system, ["--purge", *sorted(names, key=lambda name: name != boot.NAME)], log)


def remains(system: System) -> list[str]:
    """Return what is there of an installation besides packages."""
    patterns = (
        *("lib/modules/*/updates/dkms/mmbatch_*", "var/lib/dkms/mmbatch-*", "usr/src/mmbatch-*"),
        *("usr/lib/mod*.d/mmbatch*", "usr/share/initramfs-tools/hooks/mmbatch*"),
        "etc/kernel/*.d/mmbatch*",
    )
    found = {str(path) for pattern in patterns for path in system.root.glob(pattern)}
    return sorted(found)


def _require_root(action: str) -> None:
    if os.geteuid() != 0:
        raise MmbatchError(
            action, "only root can install packages", "run it as root", ExitCode.USAGE
        )


def _require_built(system: System, found: Sequence[Fit], log: Path) -> None:
    for fit in found:
        directory = system.root / "lib/modules" / fit.release / "updates"
        if fit.problem or any(directory.rglob(f"mmbatch_{fit.speedup}.ko*")):
            continue
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        _keep_make_logs(system, fit.speedup, log)
        reasons = _NO_MODULE.findall(text)
        raise MmbatchError(
            f"build the module of '{fit.speedup}' for Linux {fit.release}",
            reasons[-1] if reasons else "DKMS did not build it",
            f"see {log}",
        )


def _keep_make_logs(system: System, speedup: str, log: Path) -> None:
    """Append what DKMS logged of its builds, which goes when the package is removed."""
    name = dkms.package_name(speedup).removesuffix("-dkms")
    with log.open("a", encoding="utf-8") as out:
        for path in sorted((system.root / "var/lib/dkms" / name).rglob("make.log")):
            text = path.read_text(encoding="utf-8", errors="replace")
            out.write(f"\n{path}:\n{text}\n")


def _name(package: Path) -> str:
    return package.name.partition("_")[0]


def _new_log(cache: Cache) -> Path:
    log = cache.logs / "live-install.log"
    log.unlink(missing_ok=True)
    return log


def _inside(system: System, file: Path) -> str:
    """Return the path of a file as programs in the system see it."""
    return f"/{file.relative_to(system.root)}"


def _apt(system: System, packages: Sequence[Path], log: Path) -> None:
    environment = ("env", "DEBIAN_FRONTEND=noninteractive")
    apt = ("apt-get", "--quiet", "--yes", "-o", "DPkg::Lock::Timeout=120")
    options = ("--no-install-recommends", "--reinstall", "--allow-downgrades")
    files = [_inside(system, package) for package in packages]
    run(
        [*system.chroot, *environment, *apt, "install", *options, *files],
        action="install the packages",
        log=log,
        timeout_s=_LIMIT_S,
        finish=True,
    )


def _dpkg(system: System, arguments: Sequence[str], log: Path) -> None:
    run(
        [*system.chroot, "dpkg", *arguments],
        action="remove the packages",
        log=log,
        timeout_s=_LIMIT_S,
        finish=True,
    )
