# SPDX-License-Identifier: GPL-2.0-only
"""Modules that must be refused: a good one, each with one thing about it that does not fit."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from pathlib import Path

from mmbatch.core.errors import MmbatchError
from mmbatch.live import elf
from mmbatch.live.build import Module
from mmbatch.live.elf import Elf

_PLACE = struct.Struct("<QQII")
_VERSION = struct.Struct("<Q56s")
_VERSIONS = "__versions"
_NUMBERED = re.compile(rb"vermagic=[^\0]*\bmodversions\b")
_MAGIC = b" SMP preempt"


_Changes = Mapping[str, tuple[Callable[[Elf], None], str]]


def all_variants(modules: Mapping[str, Module]) -> dict[str, tuple[bytes, str]]:
    """Return unfit modules by name, each with words that the kernel's log must have.

    Args:
        modules: those that fit, by speed-up.

    Raises:
        MmbatchError: one lacks what was to be changed.
    """
    made = {}
    for speedup, module in modules.items():
        for name, variant in variants(speedup, module.path).items():
            made[f"{speedup}_{name}"] = variant
    return made


def variants(speedup: str, path: Path) -> dict[str, tuple[bytes, str]]:
    """Return unfit modules of one speed-up, made from one that fits; see `all_variants`."""
    made = {}
    for name, (change, words) in _changes()[speedup].items():
        content = elf.read(path)
        if change is _other_version and not _NUMBERED.search(path.read_bytes()):
            continue  # a kernel that does not number its interfaces
        change(content)
        made[name] = (content.pack(), words)
    return made


def _changes() -> Mapping[str, _Changes]:
    """Return what is made wrong about each speed-up's module."""
    zone_device: _Changes = {
        "size": (_other_size, "and the module was built for"),
        "offset": (_other_offset, "and the module was built for"),
        "member": (_text("_refcount", "_refcounX"), "has no member _refcounX here"),
        "struct": (_text("vmem_altmap", "vmem_altmaX"), "has no struct vmem_altmaX"),
        "signature": (_text("struct zone *", "struct zonX *"), "is called in another way here"),
        "function": (
            _text("get_cpu_cacheinfo", "get_cpu_cacheinfX"),
            "has no function get_cpu_cacheinfX() of its own",
        ),
        "symbol": (
            _symbol("get_cpu_cacheinfo", "get_cpu_cacheinfX"),
            "symbol 'get_cpu_cacheinfX' not found",
        ),
        "ambiguous": (
            _symbol("get_cpu_cacheinfo", "init_once"),
            "unresolvable ambiguity for symbol 'init_once'",
        ),
        "entry": (
            _symbol("memmap_init_zone_device", "ftrace_location"),
            "doesn't begin with a place for the tracer",
        ),
        "version": (_other_version, "disagrees about version of symbol module_layout"),
        "magic": (_other_magic, "version magic '"),
    }
    vmap: _Changes = {
        "variable": (
            _symbol("vmap_allow_huge", "vmap_allow_hugX"),
            "symbol 'vmap_allow_hugX' not found",
        ),
        "member": (_text("nr_pages", "nr_pageX"), "struct vm_struct has no member nr_pageX here"),
        "function": (
            _text("__get_vm_area_node", "__get_vm_area_nodX"),
            "has no function __get_vm_area_nodX() of its own",
        ),
        "entry": (_symbol("vmap", "ftrace_location"), "doesn't begin with a place for the tracer"),
    }
    folio_copy: _Changes = {
        "variable": (
            _symbol("copy_mc_fragile_key", "copy_mc_fragile_keX"),
            "symbol 'copy_mc_fragile_keX' not found",
        ),
        "member": (
            _text("_flags_1", "_flags_X"),
            "struct folio has no member _flags_X here",
        ),
        "signature": (_text("struct folio *", "struct foliX *"), "is called in another way here"),
    }
    return {"zone_device": zone_device, "vmap": vmap, "folio_copy": folio_copy}


def _text(old: str, new: str) -> Callable[[Elf], None]:
    """Return what changes a string that the module's own tables hold."""

    def change(module: Elf) -> None:
        hits = 0
        for section in module.sections:
            if section.name.startswith(".rodata"):
                before = b"\0" + section.content
                after = before.replace(f"\0{old}\0".encode(), f"\0{new}\0".encode())
                hits += before != after
                section.content = after[1:]
        _require(hits == 1, old)

    return change


def _symbol(old: str, new: str) -> Callable[[Elf], None]:
    """Return what makes the kernel look for another symbol."""

    def change(module: Elf) -> None:
        name = f".klp.sym.vmlinux.{old},0"
        at = [i for i, symbol in enumerate(module.symbols) if symbol.name == name]
        _require(len(at) == 1, name)
        symbol = module.symbols[at[0]]
        module.symbols[at[0]] = elf.renamed(symbol, f".klp.sym.vmlinux.{new},0", symbol.section)

    return change


def _other_size(module: Elf) -> None:
    _change_place(module, 0, offset=0, size=8)


def _other_offset(module: Elf) -> None:
    _change_place(module, 1, offset=8, size=0)


def _change_place(module: Elf, number: int, offset: int, size: int) -> None:
    """Change an entry of the table of places: the first is the size of a struct."""
    found = [symbol for symbol in module.symbols if symbol.name == "live_places"]
    _require(len(found) == 1, "live_places")
    section = module.sections[found[0].section]
    content = bytearray(section.content)
    at = found[0].value + number * _PLACE.size
    name, member, old_offset, old_size = _PLACE.unpack_from(content, at)
    _PLACE.pack_into(content, at, name, member, old_offset + offset, old_size + size)
    section.content = bytes(content)


def _other_magic(module: Elf) -> None:
    section = module.find(".modinfo")
    _require(section is not None and section.content.count(_MAGIC) == 1, "vermagic")
    assert section is not None
    section.content = section.content.replace(_MAGIC, _MAGIC.lower())


def _other_version(module: Elf) -> None:
    section = module.find(_VERSIONS)
    _require(section is not None, _VERSIONS)
    assert section is not None
    content = bytearray(section.content)
    for at in range(0, len(content), _VERSION.size):
        checksum, name = _VERSION.unpack_from(content, at)
        if name.rstrip(b"\0") == b"module_layout":
            _VERSION.pack_into(content, at, checksum ^ 1, name)
            section.content = bytes(content)
            return
    _require(False, "module_layout")


def _require(good: bool, what: str) -> None:
    if not good:
        raise MmbatchError(
            "make a module that must be refused",
            f"the module does not have {what} exactly once",
            "correct src/mmbatch/live/refused.py",
        )
