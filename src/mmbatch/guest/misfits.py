# SPDX-License-Identifier: GPL-2.0-only
"""Livepatch modules that the kernel or `live load` must refuse, made from a good one."""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from pathlib import Path

from mmbatch.core.errors import MmbatchError
from mmbatch.live import elf
from mmbatch.live.elf import Elf
from mmbatch.live.manifest import LiveManifest, Misfit

_PLACE = struct.Struct("<QQII")
_VERSION = struct.Struct("<Q56s")
_HAS_VERSIONS = re.compile(rb"vermagic=[^\0]*\bmodversions\b")


def variants(live: LiveManifest, module: Path) -> dict[str, tuple[bytes, str]]:
    """Return modules that do not fit, by name, each with the words that the log must have.

    A kernel without module versions can't refuse a wrong one, so that variant is left out.
    """
    data = module.read_bytes()
    found = {}
    for misfit in live.misfits:
        if misfit.kind == "version" and not _HAS_VERSIONS.search(data):
            continue
        broken = elf.parse(data)
        if not _break(broken, misfit):
            raise MmbatchError(
                f"make the module '{misfit.name}', which must be refused",
                f"{module.name} does not have what is to be changed exactly once",
                f"correct [[misfit]] in live.toml of '{live.speedup}'",
            )
        found[misfit.name] = (broken.pack(), misfit.words)
    return found


def older(module: Path) -> bytes:
    """Return a module as if it was built for a kernel whose release begins with 5."""
    return re.sub(rb"vermagic=\d", b"vermagic=5", module.read_bytes())


def rebuilt(module: Path) -> bytes:
    """Return a module as if it came from another build: with another build ID."""
    content = elf.parse(module.read_bytes())
    section = content.find(elf.BUILD_ID)
    assert section is not None
    section.content = section.content[:-1] + bytes([section.content[-1] ^ 1])
    return content.pack()


def _break(module: Elf, misfit: Misfit) -> bool:
    """Change one thing of a module; return whether it was there exactly once."""
    if misfit.kind == "string":
        return _replace(module, ".rodata", f"\0{misfit.old}\0", f"\0{misfit.new}\0")
    if misfit.kind == "magic":  # which names the kernel that the module was built for
        return _replace(module, ".modinfo", " SMP preempt", " smp preempt")
    if misfit.kind == "symbol":  # make the kernel look for another one
        old, new = (f".klp.sym.vmlinux.{name},0" for name in (misfit.old, misfit.new))
        at = [i for i, symbol in enumerate(module.symbols) if symbol.name == old]
        for index in at:
            module.symbols[index] = replace(module.symbols[index], name=new)
        return len(at) == 1
    if misfit.kind == "version":  # the checksum of a symbol's type
        section = module.find("__versions")
        assert section is not None
        content = bytearray(section.content)
        for at_byte in range(0, len(content), _VERSION.size):
            checksum, name = _VERSION.unpack_from(content, at_byte)
            if name.rstrip(b"\0") == b"module_layout":
                _VERSION.pack_into(content, at_byte, checksum ^ 1, name)
        changed, section.content = bytes(content) != section.content, bytes(content)
        return changed
    # The table of places begins with a struct and its first member.
    places = [symbol for symbol in module.symbols if symbol.name == "live_places"]
    for symbol in places:
        section = module.sections[symbol.section]
        content = bytearray(section.content)
        at_byte = symbol.value + (_PLACE.size if misfit.kind == "offset" else 0)
        name, member, offset, size = _PLACE.unpack_from(content, at_byte)
        offset, size = (offset + 8, size) if misfit.kind == "offset" else (offset, size + 8)
        _PLACE.pack_into(content, at_byte, name, member, offset, size)
        section.content = bytes(content)
    return len(places) == 1


def _replace(module: Elf, sections: str, old: str, new: str) -> bool:
    hits = 0
    for section in module.sections:
        if section.name.startswith(sections):
            before = b"\0" + section.content
            after = before.replace(old.encode(), new.encode())
            hits += before != after
            section.content = after[1:]
    return hits == 1
