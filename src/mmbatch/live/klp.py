# SPDX-License-Identifier: GPL-2.0-only
"""Turn a module's undefined symbols into relocations that the kernel's livepatching resolves.

The kernel resolves these itself when the module loads, among all of its symbols and not only
the exported ones, and refuses a module whose symbol it lacks or has twice. modpost can't make
them: they are made after the link.
"""

from __future__ import annotations

from collections.abc import Collection

from mmbatch.core.errors import MmbatchError
from mmbatch.live.elf import (
    SHF_ALLOC,
    SHF_INFO_LINK,
    SHT_RELA,
    Elf,
    Rela,
    Section,
    pack_relocations,
    renamed,
)

SHN_LIVEPATCH = 0xFF20
SHF_RELA_LIVEPATCH = 0x00100000


def exported(symvers: str) -> set[str]:
    """Return the symbols in a kernel's Module.symvers that are for all modules."""
    rows = [line.split("\t") for line in symvers.splitlines()]
    # Those with a namespace are for modules that ask for it, or that it names.
    return {row[1] for row in rows if len(row) > 2 and not any(row[4:])}


def convert(module: Elf, symbols: Collection[str], others: Collection[str]) -> None:
    """Make livepatch relocations of all uses of some symbols of the kernel.

    Args:
        module: a module; changed in place.
        symbols: those that the kernel does not export, each of which has to be used.
        others: those that it does.

    Raises:
        MmbatchError: the module uses a symbol that is in neither list, or not one that is.
    """
    undefined = module.undefined()
    unknown = sorted(undefined - set(symbols) - set(others))
    if unknown:
        raise _wrong(f"it needs {', '.join(unknown)}, and this kernel does not export that")
    unused = sorted(set(symbols) - undefined)
    if unused:
        raise _wrong(f"it does not use {', '.join(unused)}")
    moved = set()
    for index, symbol in enumerate(module.symbols):
        if symbol.undefined and symbol.name in symbols:
            name = f".klp.sym.vmlinux.{symbol.name},0"
            module.symbols[index] = renamed(symbol, name, SHN_LIVEPATCH)
            moved.add(index)
    for section in [one for one in module.sections if one.kind == SHT_RELA]:
        target = module.sections[section.info]
        if target.flags & SHF_ALLOC:
            _split(module, section, target, moved)


def _split(module: Elf, section: Section, target: Section, moved: Collection[int]) -> None:
    kept: list[Rela] = []
    taken: list[Rela] = []
    for one in module.relocations(section):
        (taken if one.symbol in moved else kept).append(one)
    if not taken:
        return
    section.content = pack_relocations(kept)
    module.sections.append(
        Section(
            name=f".klp.rela.vmlinux.{target.name}",
            kind=SHT_RELA,
            flags=SHF_RELA_LIVEPATCH | SHF_INFO_LINK | SHF_ALLOC,
            address=0,
            link=module.symbol_table,
            info=section.info,
            align=8,
            entry=24,
            content=pack_relocations(taken),
            size=0,
        )
    )


def _wrong(problem: str) -> MmbatchError:
    return MmbatchError(
        "link the livepatch module to the kernel",
        problem,
        "correct 'symbols' in the speed-up's live.toml",
    )
