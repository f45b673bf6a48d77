# SPDX-License-Identifier: GPL-2.0-only
"""BTF of a made-up kernel, written type by type."""

from __future__ import annotations

import struct

_INT, _PTR, _ARRAY, _STRUCT, _UNION, _CONST, _FUNC, _PROTO = 1, 2, 3, 4, 5, 10, 12, 13


class FakeBtf:
    """Types get their numbers in the order in which they are added; 0 is void."""

    def __init__(self) -> None:
        self._names = bytearray(b"\0")
        self._types = bytearray()
        self._count = 0

    def number(self, name: str, size: int) -> int:
        return self._add(name, _INT, 0, size, struct.pack("<I", size * 8))

    def pointer(self, target: int) -> int:
        return self._add("", _PTR, 0, target)

    def const(self, target: int) -> int:
        return self._add("", _CONST, 0, target)

    def array(self, element: int, count: int) -> int:
        return self._add("", _ARRAY, 0, 0, struct.pack("<III", element, element, count))

    def struct(self, name: str, size: int, *members: tuple[str, int, int]) -> int:
        return self._aggregate(_STRUCT, name, size, members)

    def union(self, size: int, *members: tuple[str, int, int]) -> int:
        return self._aggregate(_UNION, "", size, members)

    def function(self, name: str, returns: int, *params: int) -> int:
        more = b"".join(struct.pack("<II", 0, param) for param in params)
        proto = self._add("", _PROTO, len(params), returns, more)
        return self._add(name, _FUNC, 0, proto)

    def pack(self) -> bytes:
        types, names = bytes(self._types), bytes(self._names)
        head = struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(types), len(types), len(names))
        return head + types + names

    def _aggregate(
        self, kind: int, name: str, size: int, members: tuple[tuple[str, int, int], ...]
    ) -> int:
        more = b"".join(
            struct.pack("<III", self._name(called), number, offset * 8)
            for called, number, offset in members
        )
        return self._add(name, kind, len(members), size, more)

    def _add(self, name: str, kind: int, count: int, size: int, more: bytes = b"") -> int:
        self._types += struct.pack("<III", self._name(name), kind << 24 | count, size) + more
        self._count += 1
        return self._count

    def _name(self, name: str) -> int:
        if not name:
            return 0
        at = len(self._names)
        self._names += name.encode() + b"\0"
        return at


def kernel(
    *, page_bytes: int = 64, member: str = "_refcount", twice: bool = False, params: int = 2
) -> bytes:
    """A kernel with struct page and two functions, one thing of it different at will."""
    types = FakeBtf()
    word = types.number("unsigned long", 8)
    half = types.number("int", 4)
    inner = types.struct("", 16, ("mapping", word, 0), ("private", types.array(half, 2), 8))
    other = types.union(16, ("lru", word, 0), ("", inner, 0))
    page = types.struct(
        "page", page_bytes, ("flags", word, 0), ("", types.const(other), 8), (member, half, 52)
    )
    pointer = types.pointer(types.const(page))
    types.function("set_it", 0, *[pointer, word][:params])
    for _ in range(2 if twice else 1):
        types.function("get_it", half, types.pointer(half))
    return types.pack()
