# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from expect import fails
from mmbatch.core.errors import ExitCode
from mmbatch.core.load import (
    EVERY,
    NOT_IN_FILE,
    OTHER_KEYS,
    Count,
    Interval,
    Natural,
    Pattern,
    from_toml,
    key,
    load,
)


@dataclass(frozen=True)
class Wheel:
    size: Count
    spokes: Natural = 0


@dataclass(frozen=True)
class Box:
    kernels: Interval = EVERY
    contents: Mapping[str, tuple[str, ...]] = field(default_factory=dict, metadata=OTHER_KEYS)


@dataclass(frozen=True)
class Toy:
    name: str
    wheels: tuple[Wheel, ...] = field(default=(), metadata=key("wheel"))
    kernels: Interval = EVERY
    colour: Literal["red", "blue"] | None = None
    made_of: Literal["wood", "tin"] = field(default="wood", metadata=key("from"))
    pattern: Pattern = ""
    place: Path = Path()
    prices: Mapping[str, float] = field(default_factory=dict)
    loud: bool = False
    shelf: str = field(default="", metadata=NOT_IN_FILE)

    def __post_init__(self) -> None:
        if self.loud and not self.wheels:
            raise ValueError("a loud toy needs a wheel")


def test_values_arrive_in_their_fields() -> None:
    values = {
        "name": "cart",
        "wheel": [{"size": 3}, {"size": 4, "spokes": 8}],
        "kernels": ">=7.2",
        "colour": "blue",
        "from": "tin",
        "pattern": "c.rt",
        "place": "shelf/cart",
        "prices": {"new": 3, "old": 0.5},
        "loud": True,
    }
    assert load(Toy, values) == Toy(
        "cart",
        (Wheel(3), Wheel(4, 8)),
        Interval(">=7.2"),
        "blue",
        "tin",
        "c.rt",
        Path("shelf/cart"),
        {"new": 3, "old": 0.5},
        loud=True,
    )
    assert load(Toy, {"name": "ball"}) == Toy("ball")
    assert load(Toy, {"name": "ball", "colour": None}).colour is None


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([], "must be a table, not []"),
        ({}, "'name' is missing"),
        ({"name": "x", "shelf": "top"}, "unknown key 'shelf'"),
        ({"name": "x", "wheel": [{"size": 3}, {"size": 0}]}, "wheel 2: size: must be at least 1"),
        ({"name": "x", "wheel": [{"size": 3, "spokes": -1}]}, "wheel 1: spokes: must be at least"),
        ({"name": "x", "kernels": "7.3"}, "kernels: '7.3' is not an interval"),
        ({"name": "x", "colour": "green"}, "colour: must be one of red, blue, not 'green'"),
        ({"name": "x", "pattern": "("}, "pattern: missing )"),
        ({"name": "x", "wheel": [{"size": None}]}, "wheel 1: size: must be a whole number, not No"),
        ({"name": "x", "prices": {"new": True}}, "prices: new: must be a number, not True"),
        ({"name": "x", "loud": 2}, "loud: must be true or false, not 2"),
        ({"name": "x", "loud": True}, "a loud toy needs a wheel"),
    ],
)
def test_an_error_names_the_way_to_the_value(values: Any, found: str) -> None:
    with pytest.raises(ValueError) as caught:
        load(Toy, values)
    assert str(caught.value).startswith(found)


def test_a_mapping_may_take_all_other_keys() -> None:
    assert load(Box, {"kernels": ">=7.2", "dolls": ["a"]}) == Box(
        Interval(">=7.2"), {"dolls": ("a",)}
    )
    assert load(Box, {}) == Box()
    with pytest.raises(ValueError) as caught:
        load(Box, {"dolls": ["a", 1]})
    assert str(caught.value) == "dolls 2: must be a string, not 1"


def test_a_toml_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "toy.toml"
    with pytest.raises(FileNotFoundError):
        from_toml(Toy, path)
    for content, found in (
        ('name = "x"\n[[wheel]]\nsize = 1\nhub = 2\n', "wheel 1: unknown key 'hub'"),
        ("name = 1979-05-27", "name: must be a string, not datetime.date(1979, 5, 27)"),
    ):
        path.write_text(content)
        with fails(f"cannot read {path}: {found}; correct the file", code=ExitCode.USAGE):
            from_toml(Toy, path)
    path.write_text('name = "cart"\n')
    assert from_toml(Toy, path) == Toy("cart")
