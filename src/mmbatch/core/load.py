# SPDX-License-Identifier: GPL-2.0-only
"""Load TOML and JSON strictly into frozen dataclasses, by their annotations.

A dataclass is the format: its fields are the only keys, and those without a default are required.
Understood are dataclasses, str, int, float, bool, Path, Interval, Literal, tuples of one kind,
mappings with string keys, and `X | None`. A class refuses values that don't go together by raising
ValueError in `__post_init__`, and what annotates a type refuses a value in the same way.

Every ValueError names the way to the value: "step 2: rule 1: unknown key 'cooci'".
"""

from __future__ import annotations

import dataclasses
import functools
import re
import tomllib
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.paths import ROOT

T = TypeVar("T")

_NAMES = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


def _at_least(low: int, number: int) -> None:
    if number < low:
        raise ValueError(f"must be at least {low}, not {number}")


Pattern = Annotated[str, re.compile]
Count = Annotated[int, functools.partial(_at_least, 1)]
Natural = Annotated[int, functools.partial(_at_least, 0)]


def key(name: str | None) -> Mapping[str, str | None]:
    """Return the metadata of a field whose key in the file is not its name."""
    return {"key": name}


NOT_IN_FILE = key(None)
OTHER_KEYS = key("*")
"""Metadata of the last field, a mapping that takes all keys which no other field has."""


def load(kind: type[T], data: Any) -> T:
    """Make a dataclass from what a TOML or JSON file holds; ValueError if it does not fit."""
    return typing.cast(T, _object(kind, data, ""))


def from_toml(kind: type[T], path: Path) -> T:
    """Make a dataclass from a TOML file of a speed-up; OSError if it can't be read."""
    try:
        return load(kind, tomllib.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise wrong(path, str(error)) from None


def wrong(path: Path, problem: str) -> MmbatchError:
    """Return the error of a file in which something is wrong: what it is, and where in the file."""
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    return MmbatchError(f"read {shown}", problem, "correct the file", ExitCode.USAGE)


def _value(kind: Any, data: Any, where: str) -> Any:
    """Make a value of the annotation `kind`; `where` is the way to it, for errors."""
    origin, inner = _parts(kind)
    if origin is None:
        return _plain(kind, data, where)
    if origin is tuple:
        items = _typed(list, data, where)
        if inner[0] is not Count or not all(type(item) is int and item > 0 for item in items):
            items = [_value(inner[0], item, f"{where} {n}") for n, item in enumerate(items, 1)]
        return tuple(items)  # a record has tens of thousands of times, which is why they are quick
    if origin is Mapping:
        pairs = _typed(dict, data, where).items()
        return {name: _value(inner[1], value, f"{where}: {name}") for name, value in pairs}
    if origin is Literal:
        if data not in inner:
            raise _error(where, f"must be one of {', '.join(inner)}, not {data!r}")
        return data
    if origin is Annotated:
        value = _value(inner[0], data, where)
        _made(where, inner[1], value)
        return value
    return None if data is None else _value(inner[0], data, where)  # X | None


def _plain(kind: Any, data: Any, where: str) -> Any:
    if kind in (Path, Interval):
        return _made(where, kind, _typed(str, data, where))
    if is_dataclass(kind):
        return _object(kind, data, where)
    if (kind is float and type(data) is int) or (kind is bool and data in (0, 1)):  # as C has it
        return kind(data)
    return _typed(kind, data, where)


def _object(kind: Any, data: Any, where: str) -> Any:
    given = dict(_typed(dict, data, where))
    values = {}
    for field in dataclasses.fields(kind):
        name, annotation = field.metadata.get("key", field.name), _hints(kind)[field.name]
        if name == "*":
            values[field.name], given = _value(annotation, given, where), {}
        elif name in given:
            values[field.name] = _value(annotation, given.pop(name), f"{where}: {name}")
        elif field.default is field.default_factory is dataclasses.MISSING:
            raise _error(where, f"'{name}' is missing")
    if given:
        raise _error(where, f"unknown key '{min(given)}'")
    return _made(where, kind, **values)


_hints = functools.cache(functools.partial(typing.get_type_hints, include_extras=True))
_parts: Callable[[Any], Any] = functools.cache(lambda k: (typing.get_origin(k), typing.get_args(k)))


def _made(where: str, make: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call what makes or checks an object, and take its error for what is wrong with the data."""
    try:
        return make(*args, **kwargs)
    except (ValueError, re.error) as error:
        raise _error(where, str(error)) from None


def _typed(kind: Any, data: Any, where: str) -> Any:
    if type(data) is kind:
        return data
    raise _error(where, f"must be {_NAMES[kind]}, not {data!r:.60}")


def _error(where: str, problem: str) -> ValueError:
    return ValueError(f"{where}: {problem}".removeprefix(": "))


SERIES = ("7.3", "7.2", "6.12")
"""The kernel series that the speed-ups are made for, newest first."""

_BOUND = re.compile(r"(>=|<)(\d+\.\d+)")


def release_numbers(release: str) -> list[int]:
    """Return all numbers in a release, by which releases can be ordered: 6.12 before 7.2."""
    return [int(digits) for digits in re.findall(r"\d+", release)]


@dataclass(frozen=True)
class Interval:
    """Kernel series as a manifest names them: ">=6.12,<7.0", or one of these bounds, or all."""

    text: str = ""

    def __post_init__(self) -> None:
        if self.text and not all(map(_BOUND.fullmatch, self.text.split(","))):
            raise ValueError(f"'{self.text}' is not an interval of kernels like '>=6.12,<7.0'")

    def __contains__(self, series: object) -> bool:
        """Return whether a series, "7.3", lies in the interval."""
        found = release_numbers(str(series))[:2]
        bounds = _BOUND.findall(self.text)
        return all((found < release_numbers(bound)) == (sign == "<") for sign, bound in bounds)

    def __str__(self) -> str:
        """Return the interval as the manifest writes it."""
        return self.text


EVERY = Interval()
