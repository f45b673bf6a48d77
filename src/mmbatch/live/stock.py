# SPDX-License-Identifier: GPL-2.0-only
"""A distribution's kernel as it is, unpacked: its image, and the modules of its package."""

from __future__ import annotations

import hashlib
import lzma
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core.errors import MmbatchError
from mmbatch.guest.build import ARCHES, GuestKernel


@dataclass(frozen=True)
class Stock:
    """A distribution's kernel, unpacked.

    Attributes:
        release: as printed by `uname -r`.
        directory: where its package is unpacked.
    """

    release: str
    directory: Path

    def modules(self, names: Sequence[str]) -> dict[str, bytes]:
        """Return modules and their dependencies, in an order in which they can be loaded.

        Modules that are built into the kernel are left out.

        Raises:
            MmbatchError: the kernel has no module of a name.
        """
        found: dict[str, bytes] = {}

        def visit(name: str) -> None:
            if name in found or name in self._built_in():
                return
            content = self._read(name)
            for needed in _dependencies(content):
                visit(needed)
            found[name] = content

        for name in names:
            visit(name)
        return found

    def has(self, name: str) -> bool:
        """Return whether the kernel has a module, or has it built in."""
        return name in self._built_in() or self._find(name) is not None

    def kernel(self) -> GuestKernel:
        """Return it in the form that QEMU boots."""
        config = self._part("config").read_bytes()
        return GuestKernel(
            self.release,
            f"Debian's {self.release}",
            ARCHES["x86_64"],
            self._part("vmlinuz"),
            (),
            hashlib.sha256(config).hexdigest(),
            "",
        )

    def _part(self, name: str) -> Path:
        """Return a file that is in boot/, or beside the modules in newer packages."""
        in_boot = self.directory / f"boot/{name}-{self.release}"
        return in_boot if in_boot.exists() else self._library / name

    def _built_in(self) -> set[str]:
        text = (self._library / "modules.builtin").read_text(encoding="utf-8")
        return {Path(line).stem.replace("-", "_") for line in text.splitlines()}

    def _find(self, name: str) -> Path | None:
        pattern = re.compile(name.replace("_", "[-_]") + r"\.ko(\.xz)?")
        found = (path for path in self._library.rglob("*.ko*") if pattern.fullmatch(path.name))
        return next(found, None)

    def _read(self, name: str) -> bytes:
        path = self._find(name)
        if path is None:
            raise MmbatchError(
                f"take the module {name} from Linux {self.release}",
                "its package does not have it",
                "use another of the distribution's kernels",
            )
        content = path.read_bytes()
        return lzma.decompress(content) if path.suffix == ".xz" else content

    @property
    def _library(self) -> Path:
        merged = self.directory / "usr/lib/modules" / self.release
        return merged if merged.exists() else self.directory / "lib/modules" / self.release


def _dependencies(module: bytes) -> list[str]:
    match = re.search(rb"\0depends=([^\0]*)\0", b"\0" + module)
    names = match[1].decode().replace("-", "_").split(",") if match else []
    return [name for name in names if name]
