# SPDX-License-Identifier: GPL-2.0-only
"""TOML read strictly: every key has to be asked for, so that a misspelt one is found."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.interval import Interval

T = TypeVar("T")


class Table:
    """A table of a manifest.

    Args:
        content: what TOML has there.
        path: the manifest, for error messages.
        where: what comes before a key in them.
    """

    def __init__(self, content: dict[str, Any], path: Path, where: str = "") -> None:
        """Remember which keys have been asked for: none."""
        self._content = content
        self._asked: set[str] = set()
        self.path = path
        self._where = where

    @classmethod
    def load(cls, path: Path) -> Table:
        """Read a file.

        Raises:
            MmbatchError: it is no TOML.
            OSError: it can't be read.
        """
        try:
            return cls(tomllib.loads(path.read_text(encoding="utf-8")), path)
        except ValueError as error:  # TOMLDecodeError and UnicodeDecodeError are
            raise wrong(path, str(error)) from error

    def wrong(self, found: str) -> MmbatchError:
        """Return the error of a manifest in which this table is wrong."""
        return wrong(self.path, self._where + found)

    def has(self, key: str) -> bool:
        """Tell whether there is such a key."""
        return key in self._content

    def get(self, key: str, kind: Callable[..., T]) -> T:
        """Return a value of one type exactly."""
        self._asked.add(key)
        if key not in self._content:
            raise self.wrong(f"'{key}' is missing")
        value = self._content[key]
        if type(value) is not kind:
            raise self.wrong(f"'{key}' has the wrong type")
        return cast("T", value)

    def text(self, key: str) -> str:
        """Return a string."""
        return self.get(key, str)

    def pattern(self, key: str) -> str:
        """Return a string that is a regular expression."""
        return self._checked(key, self.text(key))

    def count(self, key: str) -> int:
        """Return a whole number above 0."""
        return self._positive(key, self.get(key, int))

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of strings, an empty one where the key is not there."""
        return tuple(self._items(key, str))

    def tables(self, key: str) -> list[Table]:
        """Return a list of tables, an empty one where the key is not there."""
        rows: list[dict[str, Any]] = self._items(key, dict)
        return [
            Table(row, self.path, f"{self._where}{key} {i + 1}: ") for i, row in enumerate(rows)
        ]

    def table(self, key: str) -> Table | None:
        """Return a table within this one, or None."""
        if not self.has(key):
            return None
        return Table(self.get(key, dict), self.path, f"{self._where}{key}: ")

    def counts(self, key: str) -> Mapping[str, int]:
        """Return a table of whole numbers above 0."""
        rows: dict[str, Any] = self.get(key, dict)
        return {name: self._positive(key, value) for name, value in rows.items()}

    def patterns(self, key: str) -> Mapping[str, str]:
        """Return a table of regular expressions."""
        rows: dict[str, Any] = self.get(key, dict)
        return {name: self._checked(key, value) for name, value in rows.items()}

    def sentences(self) -> Mapping[str, str]:
        """Return this table, all of whose values are strings."""
        return {name: self.text(name) for name in self._content}

    def lists(self) -> Mapping[str, tuple[str, ...]]:
        """Return what else is in this table, all of whose values are lists of strings."""
        rest = [name for name in self._content if name not in self._asked]
        return {name: tuple(self._items(name, str)) for name in rest}

    def interval(self) -> Interval:
        """Return the value of "kernels", all of them where it is not there."""
        if not self.has("kernels"):
            return Interval()
        try:
            return Interval.parse(self.text("kernels"))
        except ValueError as error:
            raise self.wrong(str(error)) from error

    def finish(self) -> None:
        """Raise MmbatchError when there is a key that nobody asked for."""
        unknown = sorted(set(self._content) - self._asked)
        if unknown:
            raise self.wrong(f"unknown key '{unknown[0]}'")

    def _items(self, key: str, kind: type[T]) -> list[T]:
        items: list[Any] = self.get(key, list) if self.has(key) else []
        if any(type(item) is not kind for item in items):
            raise self.wrong(f"'{key}' has the wrong type")
        return items

    def _positive(self, key: str, value: Any) -> int:
        if type(value) is not int or value < 1:
            raise self.wrong(f"'{key}' has '{value}', which is no count above 0")
        return value

    def _checked(self, key: str, pattern: Any) -> str:
        if not isinstance(pattern, str):
            raise self.wrong(f"'{key}' has the wrong type")
        try:
            re.compile(pattern)
        except re.error as error:
            raise self.wrong(f"'{key}' is no regular expression: {error}") from error
        return pattern


def wrong(path: Path, problem: str) -> MmbatchError:
    """Return the error of a wrong manifest."""
    room = path.parent.parent if path.parent.name == "splice" else path.parent
    place = f"speedups/{room.name}/{path.relative_to(room)}"
    return MmbatchError(f"read {place}", problem, "correct the manifest", ExitCode.USAGE)
