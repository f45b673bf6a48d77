# SPDX-License-Identifier: GPL-2.0-only
"""Programs of this machine that stand for those of another release."""

from __future__ import annotations

from pathlib import Path

from mmbatch.guest import initramfs
from mmbatch.kernel import foreign


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
