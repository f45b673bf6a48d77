# SPDX-License-Identifier: GPL-2.0-only
"""check.toml: further configurations to check, and mutants that the check must kill."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from mmbatch.core import process
from mmbatch.core.errors import MmbatchError
from mmbatch.core.interval import EVERY, Interval
from mmbatch.core.load import from_toml, key

_FOLDERS = ("include", "arch/x86", "mm", "lib")


@dataclass(frozen=True)
class Mutant:
    """One piece of the spliced code, changed on purpose.

    Attributes:
        name: in a few words.
        why: what it would do.
        file: path in the spliced tree.
        old: text of ours that occurs there once.
        new: what replaces it.
        kernels: where it can be killed.
        options: configuration that it needs for that, "CONFIG_X=y" each.
        optional: not all releases of a series have the text.
        fuzz: the fuzzer must kill it.
    """

    name: str
    why: str
    file: str
    old: str
    new: str
    kernels: Interval = EVERY
    options: tuple[str, ...] = ()
    optional: bool = False
    fuzz: bool = False


@dataclass(frozen=True)
class Config:
    """A configuration to check besides the engine's own."""

    name: str
    options: tuple[str, ...] = ()
    kernels: Interval = EVERY


@dataclass(frozen=True)
class Extras:
    """What the check.toml of a speed-up asks for."""

    configs: tuple[Config, ...] = field(default=(), metadata=key("config"))
    mutants: tuple[Mutant, ...] = field(default=(), metadata=key("mutation"))


def load_extras(path: Path) -> Extras:
    """Read the check.toml of a speed-up; a missing one asks for nothing.

    Raises:
        MmbatchError: the file is wrong.
    """
    return from_toml(Extras, path) if path.exists() else Extras()


def fits(mutant: Mutant, spliced: Path) -> bool:
    """Tell whether the text that a mutant replaces is in a spliced tree.

    Raises:
        MmbatchError: it is not, or not once, and the mutant is not optional.
    """
    path = spliced / mutant.file
    count = path.read_text(encoding="utf-8").count(mutant.old) if path.exists() else 0
    if count == 1:
        return True
    if count == 0 and mutant.optional:
        return False
    raise MmbatchError(
        f"make the mutant '{mutant.name}'",
        f"the text to replace occurs {count} times in {mutant.file} instead of once",
        "bring check.toml up to date with the code",
    )


def mutate(mutant: Mutant, spliced: Path, work: Path) -> Path:
    """Return a copy of what a compiler reads of a spliced tree, mutated.

    Args:
        mutant: what to change.
        spliced: the tree.
        work: an empty folder on the same file system; unchanged files become links.
    """
    for folder in _FOLDERS:
        (work / folder).parent.mkdir(parents=True, exist_ok=True)
        process.run(
            ["cp", "-al", spliced / folder, work / folder], action="copy the spliced tree's headers"
        )
    path = work / mutant.file
    text = path.read_text(encoding="utf-8").replace(mutant.old, mutant.new)
    path.unlink()
    path.write_text(text, encoding="utf-8")
    return work
