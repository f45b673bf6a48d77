# SPDX-License-Identifier: GPL-2.0-only
"""Pack an initramfs for guests: busybox, programs with their libraries, and scripts."""

from __future__ import annotations

import gzip
import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mmbatch.core.errors import MmbatchError
from mmbatch.core.process import run

_NODES = {"dev/console": (5, 1), "dev/null": (1, 3), "dev/ttyS0": (4, 64)}
_DIRECTORIES = ("dev", "proc", "sys", "tmp", "mnt", "bin", "sbin", "modules")


@dataclass
class Archive:
    """A cpio archive in the kernel's format. The same input gives the same bytes."""

    _entries: dict[str, tuple[int, bytes, tuple[int, int]]] = field(default_factory=dict)

    def directory(self, name: str) -> None:
        """Add a directory and its parents."""
        above, _, _ = name.rpartition("/")
        if above and above not in self._entries:
            self.directory(above)
        self._entries.setdefault(name, (stat.S_IFDIR | 0o755, b"", (0, 0)))

    def file(self, name: str, content: bytes, mode: int = 0o644) -> None:
        """Add a file and its parent directories."""
        self._add(name, stat.S_IFREG | mode, content)

    def link(self, name: str, target: str) -> None:
        """Add a symbolic link."""
        self._add(name, stat.S_IFLNK | 0o777, target.encode())

    def node(self, name: str, number: tuple[int, int]) -> None:
        """Add a character device."""
        self._add(name, stat.S_IFCHR | 0o600, b"", number)

    def _add(self, name: str, mode: int, content: bytes, number: tuple[int, int] = (0, 0)) -> None:
        above, _, _ = name.rpartition("/")
        if above:
            self.directory(above)
        self._entries[name] = (mode, content, number)

    def pack(self) -> bytes:
        """Return the compressed archive."""
        out = bytearray()
        for number, (name, (mode, content, device)) in enumerate(self._entries.items(), 1):
            out += _entry(name, number, mode, content, device)
        out += _entry("TRAILER!!!", 0, 0, b"", (0, 0))
        return gzip.compress(bytes(out), compresslevel=1, mtime=0)


def _entry(name: str, number: int, mode: int, content: bytes, device: tuple[int, int]) -> bytes:
    path = name.encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(path), 0)
    head = b"070701" + b"".join(b"%08X" % value for value in fields) + path
    return _padded(head) + _padded(content)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def make(
    programs: Iterable[Path],
    files: Mapping[str, bytes],
    busybox: Path = Path("/bin/busybox"),
) -> bytes:
    """Return an initramfs with busybox as its shell.

    Programs of this machine go to /bin with all their libraries. Other files, by name, are all
    executable.

    Raises:
        MmbatchError: a program or a library does not exist.
    """
    archive = Archive()
    for name in _DIRECTORIES:
        archive.directory(name)
    for name, number in _NODES.items():
        archive.node(name, number)
    archive.file("bin/busybox", _content(busybox), 0o755)
    listed = run([busybox, "--list"], action="ask busybox what it has").stdout.split()
    for applet in listed:
        if applet != "busybox":  # the link would point to itself
            archive.link(f"bin/{applet}", "busybox")
    for library in libraries(busybox):
        archive.file(library.lstrip("/"), _content(Path(library)), 0o755)
    for program in programs:
        archive.file(f"bin/{program.name}", _content(program), 0o755)
        for library in libraries(program):
            archive.file(library.lstrip("/"), _content(Path(library)), 0o755)
    for name, content in files.items():
        archive.file(name, content, 0o755)
    return archive.pack()


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise MmbatchError(
            "make the guest's filesystem",
            f"there is no {path}",
            "give --install",
        ) from None


def libraries(program: Path) -> list[str]:
    """Return the paths of a program's libraries; none if it is static."""
    action = f"list the libraries of {program.name}"
    output = run(["ldd", os.fspath(program)], action=action, check=False).stdout
    return re.findall(r"(?:=>\s*|^\s*)(/\S+)\s+\(0x", output, re.M)
