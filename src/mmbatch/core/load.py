# SPDX-License-Identifier: GPL-2.0-only
"""Load TOML and JSON strictly into frozen dataclasses, by their annotations.

A dataclass is the format: its fields are the only keys, and those without a default are
required. Understood are dataclasses, str, int, float, bool, Path, StrEnum, Literal, tuples,
mappings with string keys, `X | None`, and classes that parse a string (`Interval`). A class
refuses values that don't go together by raising ValueError in `__post_init__`.

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
from dataclasses import is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.paths import ROOT

T = TypeVar("T")

_SHOWN = 60  # characters of a wrong value that an error quotes
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
    if isinstance(data, str):
        try:
            re.compile(data)
        except (re.error, RecursionError, OverflowError) as error:
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
    """Make a dataclass from what `json.loads` or `tomllib.loads` returned.

    Returns:
        The object, with lists as tuples.

    Raises:
        LoadError: naming the first place that does not fit.
    """
    return cast("T", _value(kind, data))


def from_json(kind: type[T], text: str) -> T:
    """Make a dataclass from JSON text.

    Raises:
        LoadError: it is not JSON, or does not fit.
    """
    return load(kind, parse_json(text))


def parse_json(text: str) -> Any:
    """Return the value of a JSON text; LoadError if it is none."""
    try:
        return json.loads(text)
    except RecursionError:
        raise LoadError("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise LoadError(f"it is not JSON: {error}") from None
    except ValueError:  # of int(), for thousands of digits
        raise LoadError("it has a number with too many digits") from None


def from_json_file(kind: type[T], path: Path, hint: str) -> T:
    """Make a dataclass from a JSON file.

    Raises:
        MmbatchError: it can't be read, is not JSON, or does not fit.
    """
    try:
        return from_json(kind, _text(path))
    except OSError as error:
        raise MmbatchError(f"read {path}", error.strerror or str(error), hint) from None
    except LoadError as error:
        raise MmbatchError(f"read {path}", str(error), hint) from None


def from_toml(kind: type[T], path: Path) -> T:
    """Make a dataclass from a TOML file of a speed-up.

    Raises:
        MmbatchError: it is not TOML or does not fit; exit code 2.
        OSError: it can't be read.
    """
    try:
        return load(kind, tomllib.loads(_text(path)))
    except RecursionError:
        raise wrong(path, "it is nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError and LoadError are
        raise wrong(path, str(error)) from None


def wrong(path: Path, problem: str) -> MmbatchError:
    """Return the error of a file in which something is wrong: what it is, and where in the file."""
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    return MmbatchError(f"read {shown}", problem, "correct the file", ExitCode.USAGE)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise LoadError(f"it is not UTF-8 text: byte {error.start} can't be decoded") from None


def _value(kind: Any, data: Any) -> Any:
    """Make a value of the annotation `kind`."""
    if (origin := typing.get_origin(kind)) is not None:
        return _generic(origin, typing.get_args(kind), data)
    if hasattr(kind, "parse"):
        return _made(kind.parse, _string(data))
    if is_dataclass(kind):
        return _object(kind, data)
    if kind in (str, Path):
        return kind(_string(data))
    if issubclass(kind, StrEnum):
        return kind(_choice(tuple(kind), data))
    return _number(kind, data)


def _generic(origin: Any, inner: tuple[Any, ...], data: Any) -> Any:
    """Make a value of an annotation with others in brackets or beside it."""
    if origin is Annotated:
        return _value(inner[0], inner[1](data))
    if origin is tuple:
        return _tuple(inner, data)
    if origin is Literal:
        return _choice(inner, data)
    if origin is Mapping:
        items = _typed(dict, data).items()
        return {_string(name): _at(name, inner[1], value) for name, value in items}
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


def _number(kind: Any, data: Any) -> Any:
    # JSON and TOML have whole numbers of any size, which nothing else of ours can take.
    if type(data) is int and not -(2**63) <= data < 2**63:
        raise LoadError("is a number out of range")
    if kind is float and type(data) is int:
        return data
    data = _typed(kind, data)
    if kind is float and not math.isfinite(data):
        raise LoadError(f"must be a finite number, not {data}")
    return data


def _string(data: Any) -> str:
    # JSON can spell halves of surrogate pairs, which no file or terminal takes, and both can
    # spell NUL, which no path has.
    text = cast("str", _typed(str, data))
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise LoadError(f"has a character that can't be used: {_shown(text)}")
    return text


def _typed(kind: Any, data: Any) -> Any:
    if type(data) is not kind:
        raise LoadError(f"must be {_NAMES[kind]}, not {_shown(data)}")
    return data


def _shown(data: Any) -> str:
    """Return a wrong value as an error quotes it: a short one, or what kind it is."""
    if isinstance(data, bool):
        return "true" if data else "false"
    if isinstance(data, str):
        return repr(data if len(data) <= _SHOWN else data[:_SHOWN] + "...")
    if isinstance(data, float) or (isinstance(data, int) and abs(data) < 2**63):
        return str(data)
    return _NAMES.get(type(data), f"a {type(data).__name__}")
