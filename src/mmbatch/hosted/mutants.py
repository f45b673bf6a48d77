# SPDX-License-Identifier: GPL-2.0-only
"""check.toml: configurations to check too, and deliberate mistakes that must be caught."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import process
from mmbatch.core.errors import MmbatchError
from mmbatch.core.interval import Interval
from mmbatch.core.toml import Table

_FOLDERS = ("include", "arch/x86", "mm", "lib")


@dataclass(frozen=True)
class Mutation:
    """One mistake.

    Attributes:
        name: in a few words.
        why: what it would do.
        file: path in the spliced tree.
        old: text of ours that stands there once.
        new: what is put in its place.
        kernels: where it can be seen.
        options: configuration that it needs to be seen, "CONFIG_X=y" each.
        optional: not all releases of a series have the text.
        fuzz: it is the fuzzer that has to catch it.
    """

    name: str
    why: str
    file: str
    old: str
    new: str
    kernels: Interval
    options: tuple[str, ...]
    optional: bool
    fuzz: bool = False


@dataclass(frozen=True)
class Config:
    """A configuration to check besides the engine's own."""

    name: str
    options: tuple[str, ...]
    kernels: Interval


@dataclass(frozen=True)
class Extras:
    """What a room's check.toml asks for."""

    configs: tuple[Config, ...]
    mutations: tuple[Mutation, ...]


def load(path: Path) -> Extras:
    """Read a room's check.toml; nothing when it has none.

    Raises:
        MmbatchError: the file is wrong.
    """
    if not path.exists():
        return Extras((), ())
    table = Table.load(path)
    extras = Extras(
        configs=tuple(map(_config, table.tables("config"))),
        mutations=tuple(map(_mutation, table.tables("mutation"))),
    )
    table.finish()
    return extras


def _config(row: Table) -> Config:
    config = Config(row.text("name"), row.texts("options"), row.interval())
    row.finish()
    return config


def _mutation(row: Table) -> Mutation:
    mutation = Mutation(
        name=row.text("name"),
        why=row.text("why"),
        file=row.text("file"),
        old=row.text("old"),
        new=row.text("new"),
        kernels=row.interval(),
        options=row.texts("options"),
        optional=row.get("optional", bool) if row.has("optional") else False,
        fuzz=row.get("fuzz", bool) if row.has("fuzz") else False,
    )
    row.finish()
    return mutation


def fits(mutation: Mutation, spliced: Path) -> bool:
    """Tell whether a mutation's text stands in a spliced tree.

    Raises:
        MmbatchError: it does not, or not once, and it is not optional.
    """
    path = spliced / mutation.file
    count = path.read_text(encoding="utf-8").count(mutation.old) if path.exists() else 0
    if count == 1:
        return True
    if count == 0 and mutation.optional:
        return False
    raise MmbatchError(
        f"make the mistake '{mutation.name}'",
        f"its text stands {count} times in {mutation.file} instead of once",
        "bring check.toml up to date with the code",
    )


def mutate(mutation: Mutation, spliced: Path, work: Path) -> Path:
    """Return a copy of what a compiler reads of a spliced tree, with the mistake in it.

    Args:
        mutation: the mistake.
        spliced: the tree.
        work: an empty folder on the same file system; unchanged files become links.
    """
    for folder in _FOLDERS:
        (work / folder).parent.mkdir(parents=True, exist_ok=True)
        process.run(
            ["cp", "-al", spliced / folder, work / folder], action="copy the spliced tree's headers"
        )
    path = work / mutation.file
    text = path.read_text(encoding="utf-8").replace(mutation.old, mutation.new)
    path.unlink()
    path.write_text(text, encoding="utf-8")
    return work
