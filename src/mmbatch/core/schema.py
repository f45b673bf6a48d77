# SPDX-License-Identifier: GPL-2.0-only
"""Strict loading of JSON data into frozen dataclasses, by their annotations."""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import Any, Literal, TypeVar

T = TypeVar("T")


class SchemaError(ValueError):
    """Where a record breaks the schema, and how."""


def _load_class(kind: type[Any], data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise SchemaError(f"{where} is no object")
    names = [one.name for one in fields(kind)]
    if missing := [name for name in names if name not in data]:
        raise SchemaError(f"{where} lacks {', '.join(missing)}")
    if extra := sorted(set(data) - set(names)):
        raise SchemaError(f"{where} has unknown {', '.join(extra)}")
    hints = typing.get_type_hints(kind)
    return kind(**{name: _load(hints[name], data[name], f"{where}.{name}") for name in names})


def _load_tuple(kinds: tuple[Any, ...], data: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(data, (list, tuple)):
        raise SchemaError(f"{where} is no list")
    if kinds[-1] is Ellipsis:
        kinds = (kinds[0],) * len(data)
    if len(kinds) != len(data):
        raise SchemaError(f"{where} must have {len(kinds)} elements")
    pairs = zip(kinds, data, strict=True)
    return tuple(_load(kind, one, f"{where}[{at}]") for at, (kind, one) in enumerate(pairs))


def _load_scalar(kind: Any, data: Any, where: str) -> Any:
    allowed = (int, float) if kind is float else (kind,)
    if not isinstance(data, allowed) or (isinstance(data, bool) and kind is not bool):
        raise SchemaError(f"{where} is no {kind.__name__}: {data!r}")
    if kind is float and not math.isfinite(data):
        raise SchemaError(f"{where} is not finite")
    return data


def _load_choice(kind: Any, choices: tuple[str, ...], data: Any, where: str) -> Any:
    if data not in choices:
        raise SchemaError(f"{where} must be one of {', '.join(choices)}: {data!r}")
    return kind(data) if isinstance(kind, type) else data


def _load(kind: Any, data: Any, where: str) -> Any:
    """Make an object of the annotation `kind` from JSON data, or say where it is wrong."""
    if isinstance(kind, type) and is_dataclass(kind):
        return _load_class(kind, data, where)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        return None if data is None else _load(inner[0], data, where)
    if origin is Literal or (isinstance(kind, type) and issubclass(kind, StrEnum)):
        return _load_choice(kind, inner or tuple(kind), data, where)
    if origin is tuple:
        return _load_tuple(inner, data, where)
    if origin is Mapping:
        if not isinstance(data, dict):
            raise SchemaError(f"{where} is no object")
        return {str(key): _load(inner[1], one, f"{where}.{key}") for key, one in data.items()}
    return _load_scalar(kind, data, where)


def load(kind: type[T], data: Any, where: str) -> T:
    """Make a dataclass from JSON data.

    Understands dataclasses, str, int, float, bool, StrEnum, Literal, tuples, string mappings and
    `X | None`. Keys must be exactly the fields; a bool is no number and a float must be finite.

    Args:
        kind: the dataclass.
        data: what `json.loads` returned.
        where: name of the data for messages.

    Returns:
        The object, lists as tuples.

    Raises:
        SchemaError: naming the first place that doesn't fit.
    """
    loaded: T = _load(kind, data, where)
    return loaded
