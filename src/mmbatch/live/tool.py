# SPDX-License-Identifier: GPL-2.0-only
"""Put this very tool into a guest, with the Python that runs it."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from mmbatch.core import paths as checkout
from mmbatch.guest import initramfs

_PACKAGES = ("click", "rich")
_ROOMS = ("live", "speedups", "src")
_LEFT_OUT = {"__pycache__", "ensurepip", "idlelib", "lib2to3", "site-packages", "test", "tkinter"}


def files() -> dict[str, bytes]:
    """Return a guest's files, by name: python3, its library, click, rich, and ours in /mmbatch."""
    python = Path(sys.executable).resolve()
    library = Path(sysconfig.get_path("stdlib"))
    found = {"bin/python3": python.read_bytes()}
    place = f"usr/lib/{library.name}"
    for path, name in _below(library, place):
        if not name.startswith((f"{place}/config-", f"{place}/dist-packages")):
            found[name] = path.read_bytes()
    for package in _PACKAGES:
        spec = find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        for path, name in _below(Path(spec.origin).parent, f"mmbatch/site/{package}"):
            found[name] = path.read_bytes()
    for room in _ROOMS:
        for path, name in _below(checkout.ROOT / room, f"mmbatch/{room}"):
            found[name] = path.read_bytes()
    for program in (python, *library.glob("lib-dynload/*.so")):
        for needed in initramfs.libraries(program):
            found[needed.lstrip("/")] = Path(needed).read_bytes()
    return found


def _below(folder: Path, name: str) -> Iterator[tuple[Path, str]]:
    """Yield the files in a folder, each with its name in the guest."""
    for path in sorted(folder.iterdir()):
        if path.name in _LEFT_OUT:
            continue
        if path.is_dir():
            yield from _below(path, f"{name}/{path.name}")
        else:
            yield path, f"{name}/{path.name}"
