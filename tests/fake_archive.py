# SPDX-License-Identifier: GPL-2.0-only
"""A Debian archive in a directory, made by ourselves and signed with a key of its own."""

import hashlib
import shutil
import subprocess
from collections.abc import Mapping
from email.utils import formatdate
from pathlib import Path
from typing import Self

import pytest

from expect import printed
from mmbatch.guest import initramfs
from mmbatch.kernel import apt, foreign
from mmbatch.kernel.sources import Source

_LACKS = [name for name in ("dpkg-deb", "gpg", "xz") if shutil.which(name) is None]
needs_archive = pytest.mark.skipif(bool(_LACKS), reason=f"lacks {' '.join(_LACKS)}")


def make_kernel(tree: Path, release: str = "7.3.4", extra: str = "") -> Path:
    """Make a directory that looks like a kernel tree, with a Makefile of our own."""
    version, patchlevel, sublevel = release.split(".")
    for directory in ("mm", "scripts", "include/linux"):
        (tree / directory).mkdir(parents=True, exist_ok=True)
    for name in ("Kbuild", "Kconfig", "mm/mm_init.c", "scripts/config", "include/linux/mm.h"):
        (tree / name).touch()
    (tree / "Makefile").write_text(
        f"VERSION = {version}\nPATCHLEVEL = {patchlevel}\nSUBLEVEL = {sublevel}\n"
        f"EXTRAVERSION ={extra and ' ' + extra}\nNAME = Made By A Test\n"
    )
    return tree


def source_of(tree: Path) -> Source:
    """Return a made-up tree as one that `sources` found."""
    return Source("7.3", "7.3.4", tree, "toys", "toys", "1")


class FakeArchive:
    """Holds suites of packages."""

    @classmethod
    def followed(cls, place: Path, gpg_home: Path, monkeypatch: pytest.MonkeyPatch) -> Self:
        """Return an archive in a directory, which the system seems to follow."""
        made = cls(place / "archive", gpg_home)
        made.follow(monkeypatch, made.sources)
        return made

    def follow(self, monkeypatch: pytest.MonkeyPatch, sources: str) -> None:
        """Let the system's apt seem to have some sources."""
        listed = self.root.parent / "debian.sources"
        listed.write_text(sources)
        config = self.root.parent / "apt.conf"
        config.write_text(f'Dir::Etc::sourcelist "{listed}";\nDir::Etc::sourceparts "/dev/null";\n')
        monkeypatch.setenv("APT_CONFIG", str(config))
        monkeypatch.setattr(apt, "KEYRING", self.keyring)
        apt._states_at.cache_clear()

    def __init__(self, root: Path, gpg_home: Path) -> None:
        root.mkdir(parents=True)
        self.root = root
        self.keyring = root.parent / "keyring.gpg"
        self._gpg = ["gpg", "--homedir", str(gpg_home), "--batch", "--quiet", "--yes"]
        self.keyring.write_bytes(
            subprocess.run([*self._gpg, "--export"], check=True, capture_output=True).stdout
        )
        self._packages: dict[str, list[str]] = {}
        self.architecture = printed("dpkg", "--print-architecture").strip()

    @property
    def sources(self) -> str:
        """What a user's .sources file would say."""
        return (
            f"Types: deb\nURIs: copy:{self.root}\nSuites: trixie trixie-updates\n"
            f"Components: main\nSigned-By: {self.keyring}\n"
        )

    def add_kernel(self, suite: str, series: str, version: str) -> Path:
        """Put a package with a fake kernel tree into a suite; return its .deb."""
        name = f"linux-source-{series}"
        tree = self.root.parent / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        make_kernel(tree / name, version.partition("-")[0])
        tarball = self.root.parent / f"{name}.tar.xz"
        subprocess.run(["tar", "-C", tree, "-cJf", tarball, name], check=True)
        return self.add(suite, name, version, {f"usr/src/{name}.tar.xz": tarball})

    def add(
        self, suite: str, name: str, version: str, files: Mapping[str, Path], *needs: str
    ) -> Path:
        """Put a package with copies of some files into a suite; return its .deb."""
        package = self.root.parent / "package"
        shutil.rmtree(package, ignore_errors=True)
        (package / "DEBIAN").mkdir(parents=True)
        control = (
            f"Package: {name}\nVersion: {version}\nArchitecture: all\n"
            + (f"Depends: {', '.join(needs)}\n" if needs else "")
            + "Maintainer: Nobody <nobody@mirror.example>\nDescription: made by a test\n"
        )
        (package / "DEBIAN" / "control").write_text(control)
        for place, source in files.items():
            (package / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, package / place)
        deb = self.root / "pool" / f"{name}_{version}_all.deb"
        deb.parent.mkdir(parents=True, exist_ok=True)
        printed("dpkg-deb", "--build", package, deb)
        content = deb.read_bytes()
        self._packages.setdefault(suite, []).append(
            f"{control}Filename: pool/{deb.name}\nSize: {len(content)}\n"
            f"SHA256: {hashlib.sha256(content).hexdigest()}\n"
        )
        self.publish(suite)
        return deb

    def clear(self, suite: str) -> None:
        """Take all packages out of a suite; publish afterwards."""
        self._packages[suite] = []

    def publish(self, suite: str, *, sign: bool = True) -> None:
        """Write a suite's index, signed or not."""
        directory = self.root / "dists" / suite
        index = directory / "main" / f"binary-{self.architecture}" / "Packages"
        index.parent.mkdir(parents=True, exist_ok=True)
        index.write_text("\n".join(self._packages[suite]))
        content = index.read_bytes()
        release = directory / "Release"
        release.write_text(
            f"Origin: Test\nSuite: {suite}\nCodename: {suite}\nDate: {formatdate(usegmt=True)}\n"
            f"Architectures: {self.architecture}\nComponents: main\nSHA256:\n"
            f" {hashlib.sha256(content).hexdigest()} {len(content)}"
            f" {index.relative_to(directory)}\n"
        )
        signed = directory / "InRelease"
        signed.unlink(missing_ok=True)
        if sign:
            printed(*self._gpg, "--clearsign", "--output", signed, release)


def libraries(program: str) -> dict[str, Path]:
    """What a program of this machine needs, by its place in a directory of packages."""
    found = [Path(library) for library in initramfs.libraries(Path(program))]
    return {f"usr/lib/{foreign.TUPLE}/{path.name}": path for path in found}


def wanting(program: Path, target: Path) -> Path:
    """Make of a program one that asks for versions which no library has."""
    content = program.read_bytes()
    target.write_bytes(content.replace(b"\0GLIBC_2.", b"\0GLIBX_2."))
    assert target.read_bytes() != content
    target.chmod(0o755)
    return target
