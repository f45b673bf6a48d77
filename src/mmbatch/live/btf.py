# SPDX-License-Identifier: GPL-2.0-only
"""Read BTF, a kernel's own description of its types and functions.

DKMS packages have a copy, so this imports nothing of mmbatch but elf.py.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mmbatch.live import elf

_MAGIC = 0xEB9F
_HEADER = struct.Struct("<HBBIIIII")
_WORDS = struct.Struct("<III")  # a type, a member and an array have three words each
_PARAM = struct.Struct("<II")

_INT, _PTR, _ARRAY_KIND, _STRUCT, _UNION, _ENUM = 1, 2, 3, 4, 5, 6
_TYPEDEF, _VOLATILE, _CONST, _RESTRICT, _FUNC, _PROTO, _VAR = 8, 9, 10, 11, 12, 13, 14
_DATASEC, _FLOAT, _DECL_TAG, _TYPE_TAG, _ENUM64 = 15, 16, 17, 18, 19
_MODIFIERS = (_TYPEDEF, _VOLATILE, _CONST, _RESTRICT, _TYPE_TAG)
_SIZED = (_INT, _STRUCT, _UNION, _ENUM, _ENUM64, _FLOAT)
_POINTER_BYTES = 8
# Bytes after a type's three words: a fixed number, or so many for each of its elements.
_FIXED = {_INT: 4, _ARRAY_KIND: 12, _VAR: 4, _DECL_TAG: 4}
_EACH = {_STRUCT: 12, _UNION: 12, _ENUM: 8, _PROTO: 8, _DATASEC: 12, _ENUM64: 12}


class _Type(NamedTuple):
    name: str
    kind: int
    flag: bool
    vlen: int
    size: int
    more: int


class Btf:
    """A kernel's types, from BTF as in the section .BTF and in /sys/kernel/btf."""

    def __init__(self, data: bytes) -> None:
        magic, _, _, length, types, types_len, names, names_len = _HEADER.unpack_from(data)
        if magic != _MAGIC:
            raise ValueError("its types do not begin with the magic number of BTF")
        self._data = data
        self._names = data[length + names : length + names + names_len]
        self._types = list(self._read(length + types, length + types + types_len))
        self._named: dict[tuple[int, str], list[_Type]] = {}
        for each in self._types:
            self._named.setdefault((each.kind, each.name), []).append(each)

    def size_of(self, struct_name: str) -> int | None:
        """Return the size of a struct in bytes, or None if the kernel has none of that name."""
        return next((each.size for each in self._named.get((_STRUCT, struct_name), ())), None)

    def place(self, struct_name: str, member: str) -> tuple[int, int] | None:
        """Return offset and size of a member of a struct, even in a nameless inner one, or None."""
        found = self._named.get((_STRUCT, struct_name))
        return None if found is None else self._find(found[0], member)

    def signatures(self, name: str) -> list[tuple[str, ...]]:
        """Return the types of result and parameters of each function of this name."""
        found = []
        for function in self._named.get((_FUNC, name), ()):
            proto = self._types[function.size]
            params = _PARAM.iter_unpack(self._data[proto.more : proto.more + 8 * proto.vlen])
            found.append((self._spelled(proto.size), *(self._spelled(kind) for _, kind in params)))
        return found

    def _read(self, at: int, end: int) -> Iterator[_Type]:
        yield _Type("", 0, False, 0, 0, 0)
        while at < end:
            name, info, size = _WORDS.unpack_from(self._data, at)
            at += _WORDS.size
            kind, count = info >> 24 & 0x1F, info & 0xFFFF
            yield _Type(self._string(name), kind, bool(info >> 31), count, size, at)
            at += _FIXED.get(kind, 0) + _EACH.get(kind, 0) * count

    def _string(self, at: int) -> str:
        return self._names[at : self._names.index(b"\0", at)].decode()

    def _plain(self, number: int) -> _Type:
        found = self._types[number]
        while found.kind in _MODIFIERS:
            found = self._types[found.size]
        return found

    def _size(self, number: int) -> int:
        found = self._plain(number)
        if found.kind == _PTR:
            return _POINTER_BYTES
        if found.kind == _ARRAY_KIND:
            element, _, count = _WORDS.unpack_from(self._data, found.more)
            return int(count) * self._size(element)
        return found.size if found.kind in _SIZED else 0

    def _find(self, found: _Type, member: str) -> tuple[int, int] | None:
        content = self._data[found.more : found.more + 12 * found.vlen]
        for name, number, bits in _WORDS.iter_unpack(content):
            offset = (bits & 0xFFFFFF if found.flag else bits) // 8
            called = self._string(name)
            if called == member:
                return offset, self._size(number)
            inner = self._plain(number)
            nameless = not called and inner.kind in (_STRUCT, _UNION)
            if nameless and (place := self._find(inner, member)):
                return offset + place[0], place[1]
        return None

    def _spelled(self, number: int) -> str:
        if number == 0:
            return "void"
        found = self._plain(number)
        if found.kind != _PTR:
            return str(self._size(number))
        target = self._plain(found.size)
        return f"struct {target.name} *" if target.kind == _STRUCT else "8"


def read(path: Path) -> Btf:
    """Return the types in the vmlinux of a kernel's headers, or in /sys/kernel/btf.

    Raises:
        ValueError: there are none; says why, as a clause.
    """
    if not path.exists():
        raise ValueError("its headers have no vmlinux")
    data = path.read_bytes()
    if data.startswith(b"\x7fELF"):
        section = elf.parse(data).find(".BTF")
        if section is None:
            raise ValueError("its vmlinux describes no types (CONFIG_DEBUG_INFO_BTF)")
        data = section.content
    return Btf(data)
