# SPDX-License-Identifier: GPL-2.0-only
"""Write Debian packages, and say which of ours are installed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from mmbatch.core.cache import atomic_write
from mmbatch.core.process import run

_FIELD = "Mmbatch-Digest"
"""The field of a package that tells two builds of one version apart."""


def build(root: Path, target: Path, control: str, scripts: Mapping[str, str]) -> Path:
    """Write the package of all files below a directory, and return its path.

    Args:
        root: the files, at their paths in a system. It gets a directory DEBIAN, and the directory
            around it is written into as well.
        target: the package to write.
        control: what dpkg is told about the package.
        scripts: those that dpkg runs by their name, and other files of DEBIAN.
    """
    digest = hashlib.sha256(control.encode())
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(root)} {path.stat().st_mode & 0o111:o}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    directory = root / "DEBIAN"
    directory.mkdir()
    for name, text in scripts.items():
        digest.update(f"{name}\n{text}".encode())
        script = directory / name
        script.write_text(text, encoding="utf-8")
        script.chmod(0o755 if text.startswith("#!") else 0o644)
    field = f"{_FIELD}: {digest.hexdigest()}\n"
    (directory / "control").write_text(control + field, encoding="utf-8")
    built = root.parent / "package.deb"
    argv = ["dpkg-deb", "--root-owner-group", "--build"]
    run([*argv, root, built], action=f"make the package {target.name}")
    atomic_write(target, built.read_bytes())
    return target


def digest_of(package: Path) -> str:
    """Return what tells a package from other builds of the same version."""
    done = run(["dpkg-deb", "--field", package, _FIELD], action=f"read {package.name}")
    return done.stdout.strip()


def files_of(package: Path) -> list[str]:
    """Return the paths of a package's files and directories in a system."""
    listed = run(["dpkg-deb", "--contents", package], action=f"list {package.name}").stdout
    return [f"/{line.split(' ./', 1)[1].rstrip('/')}" for line in listed.splitlines()]


def installed(pattern: str, root: Path) -> dict[str, str]:
    """Return the packages that a system has, or has files of, each with its digest.

    The digest is empty for a package that is not installed whole.

    Args:
        pattern: of their names, as the shell has them.
        root: the root directory of the system.
    """
    shown = f"${{Package}} ${{db:Status-Abbrev}} ${{{_FIELD}}}\\n"
    argv = [*_query(root), "--show", "--showformat", shown, pattern]
    found = {}
    for line in run(argv, action="ask dpkg what is installed", check=False).stdout.splitlines():
        name, status, *digest = line.split()
        if status[1:2] not in ("n", ""):
            found[name] = "".join(digest) if status == "ii" else ""
    return found


def installed_files(packages: Sequence[str], root: Path) -> list[str]:
    """Return the paths of the files and directories of packages that a system has."""
    if not packages:
        return []
    argv = [*_query(root), "--listfiles", *packages]
    return run(argv, action="list the files of packages").stdout.splitlines()


def _query(root: Path) -> tuple[str, ...]:
    return ("dpkg-query", f"--admindir={root / 'var/lib/dpkg'}")
