# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages of the speed-ups, and installing them so that each boot has them.

A package for each speed-up lets DKMS build its module for every kernel: it has the C that was
generated for each series, a Makefile, and copies of the Python modules that convert an object.
mmbatch-boot loads the modules before the drivers that bind devices. All that is installed belongs
to these packages, so dpkg lists it and removes it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mmbatch import VERSION
from mmbatch.core import cache, log, paths
from mmbatch.core.cache import temporary_dir
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.process import run
from mmbatch.live import build, kernel, manifest
from mmbatch.live.manifest import LiveManifest

BOOT = "mmbatch-boot"
SOFTDEP = "usr/lib/modprobe.d/mmbatch.conf"

_CERTIFICATE = "/var/lib/dkms/mok.pub"
_LIMIT_S = 3600
_OURS = "mmbatch-*"
_FIELD = "Mmbatch-Digest"  # tells two builds of one version apart
_COPIED = ("__init__.py", "live/elf.py", "live/btf.py", "live/convert.py")
_CONFIGURATION = ("etc", "run", "usr/local/lib", "usr/lib")
_LINE = re.compile(r"^\s*softdep\s+(\S+)\s+(.*)$", re.M)
_NO_MODULE = re.compile(r"no module for \S+: .*")
_SHOWN = re.compile(r"/usr/src/mmbatch[^/]+|/(?!usr/src/).*/mmbatch[^/]*")
_REMAINS = (
    *("lib/modules/*/updates/dkms/mmbatch_*", "var/lib/dkms/mmbatch-*", "usr/src/mmbatch-*"),
    *("usr/lib/mod*.d/mmbatch*", "usr/share/initramfs-tools/hooks/mmbatch*"),
    "etc/kernel/*.d/mmbatch*",
)

_HOOK = "etc/kernel/header_postinst.d/mmbatch"
_LOADED = "usr/lib/modules-load.d/mmbatch.conf"
_BOOT_FILES = {
    SOFTDEP: "modprobe.conf",
    _LOADED: "modules-load.conf",
    "usr/share/initramfs-tools/hooks/mmbatch": "initramfs-hook",
    _HOOK: "header_postinst",
}
"""The files of mmbatch-boot, each of a file of live/package."""


def _template(file: str, words: Mapping[str, str]) -> str:
    """Return a file of live/package with words in the place of @NAME@."""
    text = (paths.LIVE / "package" / file).read_text(encoding="utf-8")
    return re.sub(r"@(\w+)@", lambda match: words[match[1]], text)


def dkms_name(speedup: str) -> str:
    """Return the name of a speed-up's package."""
    return f"mmbatch-{speedup.replace('_', '-')}-dkms"


def packages(lives: Sequence[LiveManifest], directory: Path, release: str = "") -> list[Path]:
    """Write the packages of some speed-ups, and the one that loads them at boot.

    With a `release`, they have modules that are built here, for this kernel alone.
    """
    if release:
        both = zip(lives, build.build_all(lives, release), strict=True)
        made = [_module_package(live, module, release, directory) for live, module in both]
    else:
        made = [_dkms_package(live, directory) for live in lives]
    return [*made, _boot_package(lives, directory)]


def _module_package(live: LiveManifest, module: Path, release: str, directory: Path) -> Path:
    words = {
        "package": f"{dkms_name(live.speedup).removesuffix('-dkms')}-{release}".lower(),
        "provides": dkms_name(live.speedup),
        "version": VERSION,
        "module": live.module,
        "title": live.title,
        "release": release,
    }
    files = {f"usr/lib/modules/{release}/updates/{module.name}": module.read_bytes()}
    scripts = {name: _template("depmod", words) for name in ("postinst", "postrm")}
    return _package(directory, words["package"], files, _template("module-control", words), scripts)


def _dkms_package(live: LiveManifest, directory: Path) -> Path:
    package = dkms_name(live.speedup)
    series = "|".join(re.escape(each) for each in live.series)
    words = {
        "package": package,
        "name": package.removesuffix("-dkms"),
        "version": VERSION,
        "module": live.module,
        "title": live.title,
        "series": " ".join(live.series),
        "kernels": rf"^({series})(\.|-(.+-)?amd64$)",
        "options": " ".join([*live.needs, *(f"!{option}" for option in live.refuses)]),
    }
    source = {"Makefile": _template("dkms-makefile", words).encode()}
    source["dkms.conf"] = _template("dkms.conf", words).encode()
    for name in _COPIED:
        source[f"mmbatch/{name}"] = (paths.ROOT / "src/mmbatch" / name).read_bytes()
    for each in live.series:
        source[f"{each}/symbols.json"] = live.symbols(each).json().encode()
        content = build.generated(live, each)
        source |= {f"{each}/{name}": data for name, data in content.items()}
    files = {f"usr/src/{words['name']}-{VERSION}/{name}": data for name, data in source.items()}
    scripts = {name: _template(name, words) for name in ("postinst", "prerm")}
    return _package(directory, package, files, _template("dkms-control", words), scripts)


def _boot_package(lives: Sequence[LiveManifest], directory: Path) -> Path:
    files = boot_files(lives)
    scripts = {}
    if _HOOK in files:
        when = {"postinst": "configure", "postrm": "remove"}
        scripts = {name: _template("boot-script", {"word": word}) for name, word in when.items()}
        scripts["conffiles"] = f"/{_HOOK}\n"
    words = {
        "package": BOOT,
        "version": VERSION,
        "depends": ", ".join(dkms_name(live.speedup) for live in lives),
        "modules": ", ".join(live.module for live in lives),
    }
    return _package(directory, BOOT, files, _template("boot-control", words), scripts)


def boot_files(lives: Sequence[LiveManifest]) -> dict[str, bytes]:
    """Return the files of mmbatch-boot, by their paths below /."""
    before = drivers(lives)
    words = {
        "softdeps": "\n".join(
            f"softdep {driver} pre: {' '.join(modules)}" for driver, modules in before.items()
        ),
        "lines": "\n".join(live.module for live in lives),
        "early": " ".join(live.module for live in lives if live.drivers),
    }
    # Without a driver that must find them, the initramfs needs nothing.
    needed = _BOOT_FILES if before else [_LOADED]
    return {name: _template(_BOOT_FILES[name], words).encode() for name in needed}


def drivers(lives: Sequence[LiveManifest]) -> dict[str, list[str]]:
    """Return the drivers that must find modules loaded, each with these modules."""
    found: dict[str, list[str]] = {}
    for live in lives:
        for driver in live.drivers:
            found.setdefault(driver, []).append(live.module)
    return found


def _package(
    directory: Path,
    name: str,
    files: Mapping[str, bytes],
    control: str,
    scripts: Mapping[str, str],
) -> Path:
    digest = hashlib.sha256(control.encode())
    content = {f"DEBIAN/{script}": text.encode() for script, text in scripts.items()} | {**files}
    with temporary_dir(name) as place:
        for target, data in sorted(content.items()):
            digest.update(f"{target} {len(data)}\n".encode() + data)
            path = place / "root" / target
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(0o755 if data.startswith(b"#!") else 0o644)
        (place / "root/DEBIAN").mkdir(exist_ok=True)
        field = f"{_FIELD}: {digest.hexdigest()}\n"
        (place / "root/DEBIAN/control").write_text(control + field, encoding="utf-8")
        argv = ["dpkg-deb", "--root-owner-group", "--build", str(place / "root")]
        run([*argv, str(place / "package.deb")], action=f"make the package {name}")
        arch = "amd64" if "\nArchitecture: amd64\n" in control else "all"
        made = directory / f"{name}_{VERSION}_{arch}.deb"
        cache.atomic_write(made, (place / "package.deb").read_bytes())
    return made


@dataclass(frozen=True)
class System:
    """The system that is installed into: this one, or one below a directory."""

    root: Path = Path("/")

    @property
    def own(self) -> bool:
        """Whether it is the system that runs here."""
        return self.root == Path("/")

    def installed(self) -> dict[str, str]:
        """Return which packages of ours it has, or has files of, each with its digest.

        The digest is empty for a package that is not installed whole.
        """
        shown = f"${{Package}} ${{db:Status-Abbrev}} ${{{_FIELD}}}\\n"
        found = {}
        for line in self._query("--show", "--showformat", shown, _OURS).splitlines():
            name, status, *digest = line.split()
            if status[1:2] not in ("n", ""):
                found[name] = "".join(digest) if status == "ii" else ""
        return found

    def _query(self, *words: str) -> str:
        argv = ["dpkg-query", f"--admindir={self.root / 'var/lib/dpkg'}", *words]
        return run(argv, action="ask dpkg what is installed", check=False).stdout

    def speedups(self) -> list[LiveManifest]:
        """Return the speed-ups that it has, or has files of."""
        names = self.installed()
        return [live for live in manifest.load_all(()) if dkms_name(live.speedup) in names]

    def files(self, names: Sequence[str]) -> list[str]:
        """Return the files of installed packages that matter to a boot."""
        return _shown(self._query("--listfiles", *names).splitlines()) if names else []

    def run(self, argv: Sequence[str], action: str) -> None:
        """Run a program in it, and append to the log what it prints."""
        chroot = () if self.own else ("chroot", str(self.root))
        run([*chroot, *argv], action=action, log=_log(), timeout_s=_LIMIT_S, finish=True)


def _shown(names: Iterable[str]) -> list[str]:
    """Return the files that matter to a boot, and the directories of sources."""
    return sorted({name for name in names if _SHOWN.fullmatch(name)})


def files_of(made: Iterable[Path]) -> list[str]:
    """Return the files of packages that matter to a boot."""
    argv = [["dpkg-deb", "--contents", str(path)] for path in made]
    listed = "".join(run(each, action="list the files of packages").stdout for each in argv)
    return _shown(f"/{line.split(' ./', 1)[1].rstrip('/')}" for line in listed.splitlines())


def certificate(system: System) -> str:
    """Return the file with the certificate of the key with which DKMS signs modules."""
    place = system.root / "etc/dkms"
    configured = [place / "framework.conf", *sorted(place.glob("framework.conf.d/*.conf"))]
    text = "\n".join(path.read_text(encoding="utf-8") for path in configured if path.exists())
    found = re.findall(r"^\s*mok_certificate=[\"']?([^\"'\s]+)", text, re.M)
    return str(found[-1]) if found else _CERTIFICATE


class Fit(NamedTuple):
    """Why DKMS won't build a speed-up's module for an installed kernel; empty if it will."""

    release: str
    speedup: str
    problem: str


def fits(system: System, lives: Sequence[LiveManifest]) -> list[Fit]:
    """Return for each installed kernel and speed-up whether DKMS will build the module."""
    releases = sorted(path.parent.name for path in system.root.glob("lib/modules/*/kernel"))
    if not releases:
        problem = f"there is no kernel below {system.root / 'lib/modules'}"
        hint = "install one of Debian's, with its headers"
        raise MmbatchError("install livepatches", problem, hint)
    found = []
    for live in lives:
        own = [Fit(release, live.speedup, _problem(system, live, release)) for release in releases]
        found += own
        if all(fit.problem for fit in own):
            lacking = [fit.release for fit in own if "headers" in fit.problem]
            problems = "; ".join(f"Linux {fit.release}: {fit.problem}" for fit in own)
            problem = f"no installed kernel can have it: {problems}"
            hint, code = "install a kernel that can, such as Debian's", ExitCode.NOT_APPLICABLE
            if lacking:
                hint = f"install the headers: apt-get install linux-headers-{lacking[-1]}"
                code = ExitCode.FAILED
            raise MmbatchError(f"install '{live.speedup}'", problem, hint, code)
    return sorted(found)


def _problem(system: System, live: LiveManifest, release: str) -> str:
    series = kernel.series_in(release)
    if series not in live.series:
        return manifest.problem(live, series, {})
    # The link /lib/modules/RELEASE/build may be absolute, and lead out of another root.
    headers = system.root / "usr/src" / f"linux-headers-{release}"
    if not (headers / "Module.symvers").is_file():
        return "its headers are not installed"
    config = kernel.config_of((headers / ".config").read_text(encoding="utf-8"))
    return manifest.problem(live, series, config)


def require_free(system: System, lives: Sequence[LiveManifest]) -> None:
    """Raise MmbatchError if the user's own softdep for a driver would hide ours.

    modprobe follows only the first softdep of each driver.
    """
    wanted = drivers(lives)
    places = [system.root / place / "modprobe.d" for place in _CONFIGURATION]
    for path in (path for place in places for path in sorted(place.glob("*.conf"))):
        if path == system.root / SOFTDEP:
            continue
        for name, words in _LINE.findall(path.read_text(encoding="utf-8", errors="replace")):
            driver = name.replace("-", "_")
            missing = [each for each in wanted.get(driver, ()) if each not in words.split()]
            if missing:
                problem = f"{path} has a softdep for {driver}, and modprobe follows only one"
                hint = f"add 'pre: {' '.join(missing)}' to that line, and run this again"
                raise MmbatchError(f"load {' and '.join(missing)} before {driver}", problem, hint)


def differing(system: System, files: Sequence[Path]) -> list[str]:
    """Return the names of those packages that a system does not have as they are."""
    there = system.installed()
    argv = ["dpkg-deb", "--show", f"--showformat=${{Package}} ${{{_FIELD}}}"]
    shown = (run([*argv, path], action=f"read {path.name}").stdout.split() for path in files)
    return [name for name, digest in shown if there.get(name) != digest]


def install(system: System, lives: Sequence[LiveManifest], found: Sequence[Fit]) -> list[str]:
    """Install speed-ups, those that are there among them, and return the packages that changed.

    If anything fails, those that were to change are removed, and others stay.
    """
    _begin("install the livepatches")
    with temporary_dir("mmbatch", system.root / "var/tmp") as place:
        place.chmod(0o755)  # apt reads it as another user
        made = packages(lives, place)
        names = differing(system, made)
        changed = [path for path in made if path.name.partition("_")[0] in names]
        try:
            if changed:
                log.say(f"installing {' '.join(names)}, which builds modules")
                argv = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet", "--yes"]
                argv += ["-o", "DPkg::Lock::Timeout=120", "install", "--no-install-recommends"]
                argv += ["--reinstall", "--allow-downgrades"]
                argv += [_inside(system, path) for path in changed]
                system.run(argv, "install the packages")
            _require_built(system, found)
        except BaseException:
            going = [live for live in lives if dkms_name(live.speedup) in names]
            log.say(f"that failed, so it is removed again: {' '.join(names)}")
            with contextlib.suppress(MmbatchError):
                _remove(system, going)
            raise
    return names


def uninstall(system: System, going: Sequence[LiveManifest]) -> list[str]:
    """Remove speed-ups, everything of ours if none stays, and return the packages that went."""
    action = "uninstall the livepatches"
    _begin(action)
    before = system.installed()
    _remove(system, going)
    if not system.speedups() and (left := remains(system)):
        problem = f"something is left: {', '.join(left)}"
        raise MmbatchError(action, problem, "remove it, and report this")
    return sorted(before.keys() - system.installed().keys())


def _remove(system: System, going: Sequence[LiveManifest]) -> None:
    action, names = "remove the packages", set(system.installed())
    staying = [live for live in system.speedups() if live not in going]
    if staying:  # a package that loads these alone depends on no other
        names &= {dkms_name(live.speedup) for live in going}
        with temporary_dir("mmbatch", system.root / "var/tmp") as place:
            file = _inside(system, _boot_package(staying, place))
            system.run(["dpkg", "--install", file], action)
    if names:
        argv = ["dpkg", "--purge", *sorted(names, key=lambda name: (name != BOOT, name))]
        system.run(argv, action)


def remains(system: System) -> list[str]:
    """Return what is there of an installation besides packages."""
    return sorted({str(path) for pattern in _REMAINS for path in system.root.glob(pattern)})


def _begin(action: str) -> None:
    if os.geteuid() != 0:
        problem = "only root can install packages"
        raise MmbatchError(action, problem, "run it as root", ExitCode.USAGE)
    _log().unlink(missing_ok=True)


def _require_built(system: System, found: Sequence[Fit]) -> None:
    for fit in found:
        directory = system.root / "lib/modules" / fit.release / "updates"
        if fit.problem or any(directory.rglob(f"mmbatch_{fit.speedup}.ko*")):
            continue
        text = _log().read_text(encoding="utf-8", errors="replace") if _log().exists() else ""
        reasons = _NO_MODULE.findall(text)
        # What DKMS logged of its builds goes when the package is removed.
        name = dkms_name(fit.speedup).removesuffix("-dkms")
        with _log().open("a", encoding="utf-8") as out:
            for path in sorted((system.root / "var/lib/dkms" / name).rglob("make.log")):
                out.write(f"\n{path}:\n{path.read_text(encoding='utf-8', errors='replace')}\n")
        action = f"build the module of '{fit.speedup}' for Linux {fit.release}"
        problem = reasons[-1] if reasons else "DKMS did not build it"
        raise MmbatchError(action, problem, f"see {_log()}")


def _log() -> Path:
    return cache.logs() / "live-install.log"


def _inside(system: System, file: Path) -> str:
    """Return the path of a file as programs in the system see it."""
    return f"/{file.relative_to(system.root)}"
