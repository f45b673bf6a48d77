# SPDX-License-Identifier: GPL-2.0-only
"""Load TOML and JSON strictly into frozen dataclasses, by their annotations.

A dataclass is the format: its fields are the only keys, and those without a default are required.
Understood are dataclasses, str, int, float, bool, Path, Interval, Literal, tuples, mappings with
string keys, and `X | None`. A class refuses values that don't go together by raising ValueError in
`__post_init__`.

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


class LoadError(ValueError):
    """Data that does not have the form it must have."""


def _regular_expression(data: Any) -> Any:
    try:
        re.compile(data if isinstance(data, str) else "")
    except re.error as error:
        raise ValueError(f"is not a regular expression: {error}") from None
    return data


def _at_least(low: int, data: Any) -> Any:
    if type(data) is int and data < low:
        raise ValueError(f"must be at least {low}, not {data}")
    return data


Pattern = Annotated[str, _regular_expression]
Count = Annotated[int, functools.partial(_at_least, 1)]
Natural = Annotated[int, functools.partial(_at_least, 0)]

NOT_IN_FILE: Mapping[str, str | None] = {"key": None}
"""Metadata of a field that no file sets."""

OTHER_KEYS: Mapping[str, str | None] = {"key": "*"}
"""Metadata of a mapping that takes all keys which no other field has."""


def key(name: str) -> Mapping[str, str]:
    """Return the metadata of a field whose key in the file is not its name."""
    return {"key": name}


def load(kind: type[T], data: Any) -> T:
    """Make a dataclass from what a TOML or JSON file holds; LoadError if it does not fit."""
    loaded: T = _value(kind, data, "")
    return loaded


def parse_json(text: str) -> Any:
    """Return the value of a JSON text; LoadError if it is none."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise LoadError(f"it is not JSON: {error}") from None


def from_json_file(kind: type[T], path: Path, hint: str) -> T:
    """Make a dataclass from a JSON file; MmbatchError if it can't be read or does not fit."""
    try:
        return load(kind, parse_json(path.read_text(encoding="utf-8")))
    except OSError as error:
        problem = error.strerror or str(error)
        raise MmbatchError(f"read {path}", problem, hint, ExitCode.USAGE) from None
    except ValueError as error:
        raise MmbatchError(f"read {path}", str(error), hint) from None


def from_toml(kind: type[T], path: Path) -> T:
    """Make a dataclass from a TOML file of a speed-up; OSError if it can't be read."""
    try:
        return load(kind, tomllib.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:  # TOMLDecodeError and LoadError are
        raise wrong(path, str(error)) from None


def wrong(path: Path, problem: str) -> MmbatchError:
    """Return the error of a file in which something is wrong: what it is, and where in the file."""
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    return MmbatchError(f"read {shown}", problem, "correct the file", ExitCode.USAGE)


def _value(kind: Any, data: Any, where: str) -> Any:
    """Make a value of the annotation `kind`; `where` is the way to it, for errors."""
    if (origin := typing.get_origin(kind)) is not None:
        return _generic(origin, typing.get_args(kind), data, where)
    if kind in (Path, Interval):
        return _made(kind, where, _typed(str, data, where))
    if is_dataclass(kind):
        return _object(kind, data, where)
    if kind is float and type(data) is int:
        return data
    if kind is float and not math.isfinite(_typed(float, data, where)):
        raise _error(where, f"must be a finite number, not {data}")
    return _typed(kind, data, where)


def _generic(origin: Any, inner: tuple[Any, ...], data: Any, where: str) -> Any:
    """Make a value of an annotation with others in brackets or beside it."""
    if origin is Annotated:
        return _value(inner[0], _made(inner[1], where, data), where)
    if origin is tuple:
        items = _typed(list, data, where)
        kinds = (inner[0],) * len(items) if inner[-1] is Ellipsis else inner
        if len(kinds) != len(items):
            raise _error(where, f"must have {len(kinds)} items, not {len(items)}")
        numbered = enumerate(zip(kinds, items, strict=True), 1)
        return tuple(_value(kind, item, f"{where} {number}") for number, (kind, item) in numbered)
    if origin is Literal:
        if data not in inner:
            raise _error(where, f"must be one of {', '.join(inner)}, not {_shown(data)}")
        return data
    if origin is Mapping:
        pairs = _typed(dict, data, where).items()
        return {name: _value(inner[1], value, _below(where, name)) for name, value in pairs}
    return None if data is None else _value(inner[0], data, where)  # X | None


def _object(kind: Any, data: Any, where: str) -> Any:
    given = dict(_typed(dict, data, where))
    values, others = {}, None
    for field in dataclasses.fields(kind):
        name, annotation = field.metadata.get("key", field.name), _hints(kind)[field.name]
        if name == "*":
            others = field.name, annotation
        elif name in given:
            values[field.name] = _value(annotation, given.pop(name), _below(where, name))
        elif name is not None and field.default is field.default_factory is dataclasses.MISSING:
            raise _error(where, f"'{name}' is missing")
    if others is not None:
        values[others[0]] = _value(others[1], given, where)
    elif given:
        raise _error(where, f"unknown key {_shown(min(given))}")
    return _made(kind, where, **values)


_hints = functools.cache(functools.partial(typing.get_type_hints, include_extras=True))


def _made(make: Callable[..., Any], where: str, /, *args: Any, **kwargs: Any) -> Any:
    """Call what makes an object, and take its ValueError for what is wrong with the data."""
    try:
        return make(*args, **kwargs)
    except ValueError as error:
        raise _error(where, str(error)) from None


def _typed(kind: Any, data: Any, where: str) -> Any:
    if type(data) is kind:
        return data
    raise _error(where, f"must be {_NAMES[kind]}, not {_shown(data)}")


def _shown(data: Any) -> str:
    return _NAMES[type(data)] if isinstance(data, list | dict) else repr(data)


def _below(where: str, name: str) -> str:
    return f"{where}: {name}" if where else name


def _error(where: str, problem: str) -> LoadError:
    return LoadError(_below(where, problem))


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
