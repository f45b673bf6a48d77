# SPDX-License-Identifier: GPL-2.0-only
"""Read and rewrite relocatable ELF files of x86-64, as far as kernel modules need it.

DKMS packages have a copy, so this imports nothing else of mmbatch.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

BUILD_ID = ".note.gnu.build-id"
"""The section that tells builds apart. sysfs shows it for each loaded module."""

SHT_SYMTAB = 2
SHT_RELA = 4
SHT_NOBITS = 8
SHF_ALLOC = 0x2
SHF_INFO_LINK = 0x40
SHN_UNDEF = 0

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")


@dataclass
class Section:
    """A section; `size` is that of sections without content, such as .bss."""

    name: str
    kind: int
    flags: int
    address: int
    link: int
    info: int
    align: int
    entry: int
    content: bytes
    size: int


class Symbol(NamedTuple):
    """A symbol; `section` is an index, or a special value such as SHN_UNDEF."""

    name: str
    info: int
    other: int
    section: int
    value: int
    size: int

    @property
    def undefined(self) -> bool:
        """Whether another file must define it."""
        return self.section == SHN_UNDEF and self.name != ""


@dataclass
class Elf:
    """An ELF file in memory, with the section indexes of the file."""

    head: bytes
    sections: list[Section]
    symbols: list[Symbol] = field(default_factory=list)

    @property
    def symbol_table(self) -> int:
        """Index of the symbol table."""
        return [section.kind for section in self.sections].index(SHT_SYMTAB)

    def find(self, name: str) -> Section | None:
        """Return a section by its name, or None."""
        return next((section for section in self.sections if section.name == name), None)

    def undefined(self) -> set[str]:
        """Return the names of symbols that other files must define."""
        return {symbol.name for symbol in self.symbols if symbol.undefined}

    def pack(self) -> bytes:
        """Return the file's bytes, with rewritten tables of symbols and names."""
        names, at = _strings(section.name for section in self.sections)
        table = self.sections[self.symbol_table]
        strings, named = _strings(symbol.name for symbol in self.symbols)
        table.content = b"".join(
            _SYMBOL.pack(named[name], *others) for name, *others in self.symbols
        )
        self.sections[table.link].content = strings
        fields = list(_HEADER.unpack(self.head))
        self.sections[fields[13]].content = names
        out = bytearray(self.head)
        heads = bytearray()
        for section in self.sections:
            if section.kind:
                out += bytes(-len(out) % max(section.align, 1))
            where = len(out) if section.kind else 0
            size = section.size if section.kind == SHT_NOBITS else len(section.content)
            head = (at[section.name], section.kind, section.flags, section.address, where, size)
            more = (section.link, section.info, section.align, section.entry)
            heads += _SECTION.pack(*head, *more)
            out += section.content
        out += bytes(-len(out) % 8)
        fields[6], fields[12] = len(out), len(self.sections)
        out[: _HEADER.size] = _HEADER.pack(*fields)
        return bytes(out + heads)


def parse(data: bytes) -> Elf:
    """Return the file with this content, which must be a module or a vmlinux of x86-64."""
    head = data[: _HEADER.size]
    fields = _HEADER.unpack(head)
    start, step, count, names_at = fields[6], fields[11], fields[12], fields[13]
    raw = [_SECTION.unpack_from(data, start + i * step) for i in range(count)]

    def content(row: tuple[int, ...]) -> bytes:
        return b"" if row[1] in (0, SHT_NOBITS) else data[row[4] : row[4] + row[5]]

    names = content(raw[names_at])
    sections = []
    for row in raw:
        name, kind, flags, address, _, size, link, info, align, entry = row
        where = (_string(names, name), kind, flags, address, link, info, align, entry)
        sections.append(Section(*where, content(row), size))
    elf = Elf(head, sections)
    if any(section.kind == SHT_SYMTAB for section in sections):
        table = sections[elf.symbol_table]
        strings = sections[table.link].content
        for name, *rest in _SYMBOL.iter_unpack(table.content):
            elf.symbols.append(Symbol(_string(strings, name), *rest))
    return elf


def _string(table: bytes, at: int) -> str:
    return table[at : table.index(b"\0", at)].decode()


def _strings(names: Iterator[str]) -> tuple[bytes, dict[str, int]]:
    """Return a table of strings, and the offset of each string."""
    table = bytearray(b"\0")
    at = {"": 0}
    for name in names:
        if name not in at:
            at[name] = len(table)
            table += name.encode() + b"\0"
    return bytes(table), at
