# SPDX-License-Identifier: GPL-2.0-only
"""Livepatch modules that the kernel or `live load` must refuse, made from a good one."""

from __future__ import annotations

import re
from pathlib import Path

from mmbatch.live import elf
from mmbatch.live.elf import Elf, Section
from mmbatch.live.manifest import LiveManifest, Misfit

_AT_SIZE, _AT_OFFSET = 20, 40
"""Where live_places[] has the size of its first struct, and the offset of that one's member."""


def variants(live: LiveManifest, module: Path) -> dict[str, tuple[bytes, str]]:
    """Return modules that do not fit, by name, each with the words that the log must have.

    A kernel without module versions can't refuse a wrong one, so that variant is left out.
    """
    data = module.read_bytes()
    found = {}
    for misfit in live.misfits:
        if misfit.kind != "version" or b" modversions " in data:
            broken = elf.parse(data)
            _break(broken, misfit)
            found[misfit.name] = (broken.pack(), misfit.words)
    return found


def older(module: Path) -> bytes:
    """Return a module as if it was built for a kernel whose release begins with 5."""
    return re.sub(rb"vermagic=\d", b"vermagic=5", module.read_bytes())


def rebuilt(module: Path) -> bytes:
    """Return a module as if it came from another build: with another build ID."""
    content = elf.parse(module.read_bytes())
    _flip(content.find(elf.BUILD_ID), -1, 1)
    return content.pack()


def _break(module: Elf, misfit: Misfit) -> None:
    """Change one thing of a module, which must be there exactly once."""
    if misfit.kind == "string":
        _replace(module, ".rodata", f"\0{misfit.old}\0", f"\0{misfit.new}\0")
    elif misfit.kind == "magic":  # which names the kernel that the module was built for
        _replace(module, ".modinfo", " SMP preempt", " smp preempt")
    elif misfit.kind == "symbol":  # make the kernel look for another one
        old, new = (f".klp.sym.vmlinux.{name},0" for name in (misfit.old, misfit.new))
        at = [symbol.name for symbol in module.symbols].index(old)
        module.symbols[at] = module.symbols[at]._replace(name=new)
    elif misfit.kind == "version":  # the checksum of a symbol's type
        versions = module.find("__versions")
        assert versions is not None
        _flip(versions, versions.content.index(b"module_layout\0") - 8, 1)
    else:
        (places,) = (symbol for symbol in module.symbols if symbol.name == "live_places")
        at = places.value + (_AT_OFFSET if misfit.kind == "offset" else _AT_SIZE)
        _flip(module.sections[places.section], at, 8)


def _flip(section: Section | None, at: int, bits: int) -> None:
    assert section is not None
    content = bytearray(section.content)
    content[at] ^= bits
    section.content = bytes(content)


def _replace(module: Elf, sections: str, old: str, new: str) -> None:
    hits = 0
    for section in module.sections:
        if section.name.startswith(sections):
            before = b"\0" + section.content
            after = before.replace(old.encode(), new.encode())
            hits += before != after
            section.content = after[1:]
    assert hits == 1, old
