# SPDX-License-Identifier: GPL-2.0-only
"""Load TOML and JSON strictly into frozen dataclasses, by their annotations.

A dataclass is the format: its fields are the only keys, and those without a default are required.
Understood are dataclasses, str, int, float, bool, Path, StrEnum, Literal, tuples, mappings with
string keys, `X | None`, and classes that parse a string (`Interval`). A class refuses values that
don't go together by raising ValueError in `__post_init__`.

Every error names the way to the value: "step 2: rule 1: unknown key 'cooci'".
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import re
import tomllib
import typing
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

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
    type(None): "nothing",
}


class LoadError(ValueError):
    """Data that does not have the form it must have.

    Args:
        problem: what is wrong.
        places: the way to it: keys, and numbers of items, which count from 1 as people do.
    """

    def __init__(self, problem: str, places: tuple[str | int, ...] = ()) -> None:
        """Say where the problem is in front of it: "step 2: rule 1: unknown key 'cooci'"."""
        parts = (f" {part}" if isinstance(part, int) else f": {part}" for part in places)
        super().__init__(f"{''.join(parts)}: {problem}".removeprefix(": ").strip())
        self.problem = problem
        self.places = places


def _regular_expression(data: Any) -> Any:
    try:
        re.compile(_typed(str, data))
    except re.error as error:
        raise LoadError(f"is not a regular expression: {error}") from None
    return data


def _at_least(low: int, data: Any) -> Any:
    if type(data) is int and data < low:
        raise LoadError(f"must be at least {low}, not {_shown(data)}")
    return data


Pattern = Annotated[str, _regular_expression]
"""A regular expression."""

Count = Annotated[int, functools.partial(_at_least, 1)]
"""A whole number above 0."""

Natural = Annotated[int, functools.partial(_at_least, 0)]
"""A whole number, 0 or more."""


NOT_IN_FILE: Mapping[str, str | None] = {"key": None}
"""Metadata of a field that no file sets."""


OTHER_KEYS: Mapping[str, str | None] = {"key": "*"}
"""Metadata of a mapping that takes all keys which no other field has."""


def key(name: str) -> Mapping[str, str]:
    """Return the metadata of a field whose key in the file is not its name."""
    return {"key": name}


def load(kind: type[T], data: Any) -> T:
    """Make a dataclass, with lists as tuples, from what `json.loads` or `tomllib.loads` returned.

    Raises:
        LoadError: naming the first place that does not fit.
    """
    return cast("T", _value(kind, data))


def from_json(kind: type[T], text: str) -> T:
    """Make a dataclass from JSON text; LoadError if it is not JSON, or does not fit."""
    return load(kind, parse_json(text))


def parse_json(text: str) -> Any:
    """Return the value of a JSON text; LoadError if it is none."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise LoadError(f"it is not JSON: {error}") from None


def from_json_file(kind: type[T], path: Path, hint: str) -> T:
    """Make a dataclass from a JSON file.

    Raises:
        MmbatchError: it can't be read, is not JSON, or does not fit.
    """
    try:
        return from_json(kind, path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MmbatchError(f"read {path}", error.strerror or str(error), hint) from None
    except ValueError as error:  # LoadError and UnicodeDecodeError are
        raise MmbatchError(f"read {path}", str(error), hint) from None


def from_toml(kind: type[T], path: Path) -> T:
    """Make a dataclass from a TOML file of a speed-up.

    Raises:
        MmbatchError: it is not TOML or does not fit; exit code 2.
        OSError: it can't be read.
    """
    try:
        return load(kind, tomllib.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:  # TOMLDecodeError and LoadError are
        raise wrong(path, str(error)) from None


def wrong(path: Path, problem: str) -> MmbatchError:
    """Return the error of a file in which something is wrong: what it is, and where in the file."""
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    return MmbatchError(f"read {shown}", problem, "correct the file", ExitCode.USAGE)


def _value(kind: Any, data: Any) -> Any:
    """Make a value of the annotation `kind`."""
    if (origin := typing.get_origin(kind)) is not None:
        return _generic(origin, typing.get_args(kind), data)
    if hasattr(kind, "parse"):
        return _made(kind.parse, _typed(str, data))
    if is_dataclass(kind):
        return _object(kind, data)
    if kind is Path:
        return Path(_typed(str, data))
    if issubclass(kind, StrEnum):
        return kind(_choice(tuple(kind), data))
    return _number(data) if kind is float else _typed(kind, data)


def _number(data: Any) -> Any:
    if type(data) is int:
        return data
    if not math.isfinite(_typed(float, data)):
        raise LoadError(f"must be a finite number, not {data}")
    return data


def _generic(origin: Any, inner: tuple[Any, ...], data: Any) -> Any:
    """Make a value of an annotation with others in brackets or beside it."""
    if origin is Annotated:
        return _value(inner[0], inner[1](data))
    if origin is tuple:
        return _tuple(inner, data)
    if origin is Literal:
        return _choice(inner, data)
    if origin is Mapping:
        return {name: _at(name, inner[1], value) for name, value in _typed(dict, data).items()}
    return None if data is None else _value(inner[0], data)  # X | None


def _object(kind: Any, data: Any) -> Any:
    data = _typed(dict, data)
    expected = _fields(kind)
    if "*" in expected:
        others = {name: value for name, value in data.items() if name not in expected}
        data = {name: value for name, value in data.items() if name in expected} | {"*": others}
    for name, (_, _, required) in expected.items():
        if required and name not in data:
            raise LoadError(f"'{name}' is missing")
    if unknown := sorted(set(data) - set(expected)):
        raise LoadError(f"unknown key {_shown(unknown[0])}")
    values = {
        field: _at(name, annotation, data[name])
        for name, (field, annotation, _) in expected.items()
        if name in data
    }
    return _made(kind, **values)


@functools.cache
def _fields(kind: Any) -> dict[str, tuple[str, Any, bool]]:
    """Return key to field, annotation, and whether it is required."""
    hints = typing.get_type_hints(kind, include_extras=True)
    found = {}
    for field in dataclasses.fields(kind):
        name = field.metadata.get("key", field.name)
        required = field.default is field.default_factory is dataclasses.MISSING
        if name is not None:
            found[name] = (field.name, hints[field.name], required)
    return found


def _at(place: str | int, kind: Any, data: Any) -> Any:
    """Make a value, and add its place to what is wrong with it."""
    try:
        return _value(kind, data)
    except LoadError as error:
        places = error.places if place == "*" else (place, *error.places)
        raise LoadError(error.problem, places) from None


def _tuple(kinds: tuple[Any, ...], data: Any) -> tuple[Any, ...]:
    data = _typed(list, data)
    if kinds[-1] is Ellipsis:
        kinds = (kinds[0],) * len(data)
    if len(kinds) != len(data):
        raise LoadError(f"must have {len(kinds)} items, not {len(data)}")
    pairs = enumerate(zip(kinds, data, strict=True), 1)
    return tuple(_at(number, kind, item) for number, (kind, item) in pairs)


def _made(make: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call what makes an object, and take its ValueError for what is wrong with the data."""
    try:
        return make(*args, **kwargs)
    except ValueError as error:
        raise LoadError(str(error)) from None


def _choice(choices: tuple[str, ...], data: Any) -> str:
    if data not in choices:
        raise LoadError(f"must be one of {', '.join(choices)}, not {_shown(data)}")
    return cast("str", data)


def _typed(kind: Any, data: Any) -> Any:
    if type(data) is not kind:
        raise LoadError(f"must be {_NAMES[kind]}, not {_shown(data)}")
    return data


def _shown(data: Any) -> str:
    """Return a wrong value as an error quotes it."""
    if isinstance(data, bool):
        return "true" if data else "false"
    if isinstance(data, str):
        return repr(data)
    if isinstance(data, int | float):
        return str(data)
    return _NAMES.get(type(data), f"a {type(data).__name__}")


Version = tuple[int, int]

SERIES = ("7.3", "7.2", "6.12")
"""The kernel series that the speed-ups are made for, newest first."""

_TERM = re.compile(r"(>=|<)(\d+)\.(\d+)")


def version(series: str) -> Version:
    """Return a series or release, "7.3" or "7.3.4", as (major, minor)."""
    major, minor = series.split(".")[:2]
    return int(major), int(minor)


def release_numbers(release: str) -> list[int]:
    """Return all numbers in a release, by which releases can be ordered: 6.12 before 7.2."""
    return [int(digits) for digits in re.findall(r"\d+", release)]


@dataclass(frozen=True)
class Interval:
    """Kernel series from `low` on and below `high`, as "(major, minor)".

    Written in the manifest as ">=6.12,<7.0"; either end may be left out.
    """

    low: Version = (0, 0)
    high: Version = (999, 0)

    def __contains__(self, series: object) -> bool:
        """Return whether a series, "7.3", lies in the interval."""
        return isinstance(series, str) and self.low <= version(series) < self.high

    def __str__(self) -> str:
        """Return the interval as the manifest writes it."""
        low = f">={self.low[0]}.{self.low[1]}" if self.low > (0, 0) else ""
        high = f"<{self.high[0]}.{self.high[1]}" if self.high < (999, 0) else ""
        return ",".join(part for part in (low, high) if part)

    def __and__(self, other: Interval) -> Interval:
        """Return what two intervals share."""
        return Interval(max(self.low, other.low), min(self.high, other.high))

    @classmethod
    def parse(cls, text: str) -> Interval:
        """Read an interval; ValueError if it is none."""
        low, high = cls.low, cls.high
        for term in text.split(","):
            match = _TERM.fullmatch(term.strip())
            if match is None:
                raise ValueError(f"'{text}' is not an interval of kernels like '>=6.12,<7.0'")
            bound = (int(match[2]), int(match[3]))
            if match[1] == ">=":
                low = bound
            else:
                high = bound
        return cls(low, high)


EVERY = Interval()
"""All kernels."""
