# SPDX-License-Identifier: GPL-2.0-only
"""Modules that the kernel must refuse, because one thing about each does not fit.

refused.toml of a speed-up lists them. They are made from its good module.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.load import from_toml, key
from mmbatch.live import elf
from mmbatch.live.elf import Elf

_REFUSED = "live/refused.toml"
_PLACE = struct.Struct("<QQII")
_VERSION = struct.Struct("<Q56s")
_VERSIONS = "__versions"
_HAS_VERSIONS = re.compile(rb"vermagic=[^\0]*\bmodversions\b")
_MAGIC = b" SMP preempt"


@dataclass(frozen=True)
class Misfit:
    """How a good module is turned into one that does not fit.

    Attributes:
        name: of the variant.
        kind: what is changed; one of `KINDS`.
        old: the string or symbol that is replaced; empty for kinds that replace none.
        new: what replaces it, as long as `old` for a string.
        words: what the kernel's log must say when it refuses the module.
    """

    name: str
    kind: str = field(metadata=key("change"))
    old: str = field(default="", metadata=key("from"))
    new: str = field(default="", metadata=key("to"))
    words: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError for a kind that there is not, or that lacks or has what it replaces."""
        if self.kind not in KINDS:
            raise ValueError(f"change: must be one of {', '.join(KINDS)}, not '{self.kind}'")
        if not self.words:
            raise ValueError("'words' is missing")
        for name, value in (("from", self.old), ("to", self.new)):
            if self.kind in _REPLACING and not value:
                raise ValueError(f"'{name}' is missing")
            if self.kind not in _REPLACING and value:
                raise ValueError(f"unknown key '{name}' for change '{self.kind}'")


@dataclass(frozen=True)
class _RefusedFile:
    """What refused.toml holds."""

    misfits: tuple[Misfit, ...] = field(default=(), metadata=key("module"))


def load_misfits(speedups: Path, speedup: str) -> list[Misfit]:
    """Read a speed-up's refused.toml.

    Raises:
        MmbatchError: it is missing or wrong.
    """
    path = speedups / speedup / _REFUSED
    try:
        return list(from_toml(_RefusedFile, path).misfits)
    except FileNotFoundError:
        raise MmbatchError(
            f"test the livepatch of '{speedup}'",
            f"there is no {_REFUSED} in its directory",
            "write one, as docs/live-internals.md says",
            ExitCode.USAGE,
        ) from None


def variants(misfits: list[Misfit], module: Path) -> dict[str, tuple[bytes, str]]:
    """Return modules that do not fit, by name, each with the words that the log must have.

    A kernel without module versions can't refuse a wrong one, so that variant is left out.

    Raises:
        MmbatchError: the module lacks what is to be changed.
    """
    found = {}
    has_versions = _HAS_VERSIONS.search(module.read_bytes())
    for misfit in misfits:
        if misfit.kind == "version" and not has_versions:
            continue
        content = elf.read(module)
        KINDS[misfit.kind](content, misfit)
        found[misfit.name] = (content.pack(), misfit.words)
    return found


def older(module: Path) -> bytes:
    """Return a module as if it was built for a kernel whose release begins with 5."""
    content, hits = re.subn(rb"\0vermagic=\d", rb"\0vermagic=5", b"\0" + module.read_bytes())
    if hits != 1:
        raise MmbatchError(
            f"change the version magic of {module.name}", "it has none", "rebuild the module"
        )
    return content[1:]


def rebuilt(module: Path) -> bytes:
    """Return a module as if it came from another build: with another build ID."""
    content = elf.read(module)
    section = content.find(elf.BUILD_ID)
    if section is None:
        raise MmbatchError(
            f"change the build ID of {module.name}", "it has none", "rebuild the module"
        )
    section.content = section.content[:-1] + bytes([section.content[-1] ^ 1])
    return content.pack()


def _change_string(module: Elf, misfit: Misfit) -> None:
    """Change a string in the module's tables."""
    old, new = f"\0{misfit.old}\0".encode(), f"\0{misfit.new}\0".encode()
    hits = 0
    for section in module.sections:
        if section.name.startswith(".rodata"):
            before = b"\0" + section.content
            after = before.replace(old, new)
            hits += before != after
            section.content = after[1:]
    _require(hits == 1, misfit, misfit.old)


def _change_symbol(module: Elf, misfit: Misfit) -> None:
    """Make the kernel look for another symbol."""
    name = f".klp.sym.vmlinux.{misfit.old},0"
    at = [i for i, symbol in enumerate(module.symbols) if symbol.name == name]
    _require(len(at) == 1, misfit, name)
    symbol = module.symbols[at[0]]
    renamed = f".klp.sym.vmlinux.{misfit.new},0"
    module.symbols[at[0]] = replace(symbol, name=renamed)


def _change_size(module: Elf, misfit: Misfit) -> None:
    """Make the first struct of the table of places larger than it is."""
    _change_place(module, misfit, 0, offset=0, size=8)


def _change_offset(module: Elf, misfit: Misfit) -> None:
    """Put the first member of that struct, the second entry, at another offset."""
    _change_place(module, misfit, 1, offset=8, size=0)


def _change_place(module: Elf, misfit: Misfit, number: int, offset: int, size: int) -> None:
    found = [symbol for symbol in module.symbols if symbol.name == "live_places"]
    _require(len(found) == 1, misfit, "live_places")
    section = module.sections[found[0].section]
    content = bytearray(section.content)
    at = found[0].value + number * _PLACE.size
    name, member, old_offset, old_size = _PLACE.unpack_from(content, at)
    _PLACE.pack_into(content, at, name, member, old_offset + offset, old_size + size)
    section.content = bytes(content)


def _change_magic(module: Elf, misfit: Misfit) -> None:
    """Change the version magic, which names the kernel that the module was built for."""
    section = module.find(".modinfo")
    _require(section is not None and section.content.count(_MAGIC) == 1, misfit, "vermagic")
    assert section is not None
    section.content = section.content.replace(_MAGIC, _MAGIC.lower())


def _change_version(module: Elf, misfit: Misfit) -> None:
    """Change the checksum of a symbol's type."""
    section = module.find(_VERSIONS)
    _require(section is not None, misfit, _VERSIONS)
    assert section is not None
    content = bytearray(section.content)
    for at in range(0, len(content), _VERSION.size):
        checksum, name = _VERSION.unpack_from(content, at)
        if name.rstrip(b"\0") == b"module_layout":
            _VERSION.pack_into(content, at, checksum ^ 1, name)
            section.content = bytes(content)
            return
    _require(False, misfit, "module_layout")


def _require(good: bool, misfit: Misfit, expected: str) -> None:
    if not good:
        raise MmbatchError(
            f"make the module '{misfit.name}', which must be refused",
            f"the module does not have {expected} exactly once",
            f"correct {_REFUSED} of the speed-up",
        )


_REPLACING = ("string", "symbol")

KINDS: Mapping[str, Callable[[Elf, Misfit], None]] = {
    "string": _change_string,
    "symbol": _change_symbol,
    "size": _change_size,
    "offset": _change_offset,
    "magic": _change_magic,
    "version": _change_version,
}
"""What can be changed, by the name that refused.toml uses."""
