# SPDX-License-Identifier: GPL-2.0-only
"""Pack an initramfs for guests: busybox, programs with their libraries, and scripts."""

from __future__ import annotations

import gzip
import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from mmbatch.core.process import run
from mmbatch.kernel import apt

_PROGRAMS = ("busybox", "ndctl", "daxctl", "mke2fs")
_DIRECTORIES = ("dev", "proc", "sys", "tmp", "mnt", "bin", "sbin", "modules")


def make(files: Mapping[str, bytes]) -> bytes:
    """Return an initramfs with busybox as its shell, ndctl, daxctl and mke2fs, and more files.

    Files are all executable. The kernel itself makes /dev/console.
    """
    content = dict(files)
    for name in _PROGRAMS:
        program = apt.find_program(name)
        assert program is not None, name  # since `apt.require` has looked
        content[f"bin/{name}"] = program.read_bytes()
        for library in libraries(program):
            content[library.lstrip("/")] = Path(library).read_bytes()
    applets = run(["busybox", "--list"], action="ask busybox what it has").stdout.split()
    links = {f"bin/{name}": "busybox" for name in applets if f"bin/{name}" not in content}
    return pack(content, links, _DIRECTORIES)


def pack(
    files: Mapping[str, bytes], links: Mapping[str, str], directories: Iterable[str] = ()
) -> bytes:
    """Return a compressed cpio archive in the kernel's format; the same input gives the same."""
    entries: dict[str, tuple[int, bytes]] = {}

    def add(name: str, mode: int, content: bytes) -> None:
        above, _, _ = name.rpartition("/")
        if above and above not in entries:
            add(above, stat.S_IFDIR | 0o755, b"")
        entries[name] = (mode, content)

    for name in directories:
        add(name, stat.S_IFDIR | 0o755, b"")
    for name, content in files.items():
        add(name, stat.S_IFREG | 0o755, content)
    for name, target in links.items():
        add(name, stat.S_IFLNK | 0o777, target.encode())
    add("TRAILER!!!", 0, b"")
    out = bytearray()
    for number, (name, (mode, content)) in enumerate(entries.items(), 1):
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name.encode()) + 1, 0)
        out += b"070701" + b"".join(b"%08X" % value for value in fields) + name.encode() + b"\0"
        out += bytes(-len(out) % 4) + content
        out += bytes(-len(out) % 4)
    return gzip.compress(bytes(out), compresslevel=1, mtime=0)


def libraries(program: Path) -> list[str]:
    """Return the paths of a program's libraries; none if it is static."""
    action = f"list the libraries of {program.name}"
    output = run(["ldd", os.fspath(program)], action=action, check=False).stdout
    return re.findall(r"(?:=>\s*|^\s*)(/\S+)\s+\(0x", output, re.M)
