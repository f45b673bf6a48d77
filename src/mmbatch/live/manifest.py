# SPDX-License-Identifier: GPL-2.0-only
"""live.toml: how a speed-up becomes a livepatch, and which kernels it fits.

docs/live-internals.md explains each key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from mmbatch.core import paths
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.load import (
    EVERY,
    NOT_IN_FILE,
    OTHER_KEYS,
    SERIES,
    Interval,
    Natural,
    from_toml,
    key,
    wrong,
)
from mmbatch.live.convert import Symbols
from mmbatch.splice import manifest
from mmbatch.splice.hooks import apply_edit
from mmbatch.splice.manifest import ALL, Edit, Manifest, NewFile, cut

_NAME = "live/live.toml"


@dataclass(frozen=True)
class Function:
    """A function of the kernel that is called or replaced; a signature is as `Symbols` has it."""

    name: str = field(metadata=key("function"))
    signature: tuple[str, ...] = ()
    by: str = ""
    local: bool = False
    step: str = ""
    kernels: Interval = EVERY


@dataclass(frozen=True)
class Layout:
    """Members by struct of the kernel whose offset the code assumes, in some series."""

    kernels: Interval = EVERY
    structs: Mapping[str, tuple[str, ...]] = field(default_factory=dict, metadata=OTHER_KEYS)


@dataclass(frozen=True)
class Misfit:
    """How a good module is turned into one that the kernel must refuse."""

    name: str
    kind: Literal["string", "symbol", "size", "offset", "magic", "version"] = field(
        metadata=key("change")
    )
    words: str
    old: str = field(default="", metadata=key("from"))
    new: str = field(default="", metadata=key("to"))


@dataclass(frozen=True)
class Match:
    """Devices that gain, and the case of the benchmark that is like them; see docs/live.md."""

    mode: str
    case: str
    memmap: Literal["device", "ram", "any"] = "any"
    least_align: Natural = 0
    least_size: Natural = 0
    most_size: Natural = 0
    most_items: Natural = 0
    block: Natural = 0


@dataclass(frozen=True)
class Terms:
    """The requirements of a module on its kernel, those of one speed-up or those of all."""

    needs: Mapping[str, str] = field(default_factory=dict)
    refuses: Mapping[str, str] = field(default_factory=dict)
    calls: tuple[Function, ...] = field(default=(), metadata=key("call"))
    variables: tuple[str, ...] = ()


@dataclass(frozen=True)
class LiveManifest(Terms):
    """A speed-up as a livepatch: what its live.toml holds, and what other files add.

    `until` is the last of its steps, ALL or CORE, as the user named it.
    """

    kernels: Interval = EVERY
    first: str = ""
    without: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    files: tuple[NewFile, ...] = field(default=(), metadata=key("file"))
    edited: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    replaces: tuple[Function, ...] = field(default=(), metadata=key("replace"))
    layouts: tuple[Layout, ...] = field(default=(), metadata=key("structs"))
    misfits: tuple[Misfit, ...] = field(default=(), metadata=key("misfit"))
    slower: tuple[str, ...] = ()
    devices: tuple[Match, ...] = field(default=(), metadata=key("device"))
    edits: tuple[Edit, ...] = field(default=(), metadata=NOT_IN_FILE)
    speedup: str = field(default="", metadata=NOT_IN_FILE)
    title: str = field(default="", metadata=NOT_IN_FILE)
    steps: tuple[str, ...] = field(default=(), metadata=NOT_IN_FILE)
    until: str = field(default=ALL, metadata=NOT_IN_FILE)

    @property
    def module(self) -> str:
        """Name of the module."""
        return f"mmbatch_{self.speedup}"

    @property
    def series(self) -> tuple[str, ...]:
        """The series that it supports, oldest first."""
        return tuple(series for series in reversed(SERIES) if series in self.kernels)

    def replaced(self, series: str) -> list[Function]:
        """Return the functions that it replaces in a series."""
        return [function for function in self.replaces if series in function.kernels]

    def symbols(self, series: str) -> Symbols:
        """Return what the module needs of a kernel of a series."""
        replaces = self.replaced(series)
        calls = [function for function in self.calls if series in function.kernels]
        structs: dict[str, tuple[str, ...]] = {}
        for layout in self.layouts:
            if series in layout.kernels:
                for struct, members in layout.structs.items():
                    structs[struct] = structs.get(struct, ()) + members
        return Symbols(
            title=self.title,
            includes=self.includes,
            replaces={function.name: function.by for function in replaces},
            local=[function.name for function in replaces if function.local],
            signatures={function.name: function.signature for function in [*replaces, *calls]},
            variables=self.variables,
            structs=structs,
        )


def known(speedups: Path) -> list[str]:
    """Return the names of the speed-ups that have a livepatch."""
    return sorted(path.parent.parent.name for path in speedups.glob(f"*/{_NAME}"))


def load(speedup: str, until: str = ALL) -> LiveManifest:
    """Read the manifest of a speed-up that has a livepatch, which may end at a step."""
    directory = paths.SPEEDUPS / speedup
    loaded = from_toml(LiveManifest, directory / _NAME)
    whole = manifest.load_with_needs(paths.SPEEDUPS, speedup)
    every = cut(whole, until)
    _require_steps(loaded, whole[-1], every[-1], directory / _NAME)
    kept = tuple(step for step in every[-1].steps if step.name not in loaded.without)
    every[-1] = replace(every[-1], steps=kept)
    dropped = _targets(whole) - _targets(every)
    steps = every[-1].step_names
    own = tuple(replace(file, source=directory / file.source) for file in loaded.files)
    shared = from_toml(Terms, paths.LIVE / "live.toml")
    added = [step for held in every for step in held.steps]
    return replace(
        loaded,
        objects=tuple(name for name in loaded.objects if not _sources(name) & dropped),
        replaces=tuple(each for each in loaded.replaces if not each.step or each.step in steps),
        needs={**shared.needs, **loaded.needs},
        refuses={**shared.refuses, **loaded.refuses},
        calls=loaded.calls + shared.calls,
        variables=loaded.variables + shared.variables,
        files=(*own, *(file for step in added for file in step.files)),
        # Those that depend on a tree can't be made here.
        edits=tuple(
            edit
            for step in added
            for edit in step.edits
            if edit.file in loaded.edited and edit.when is None
        ),
        speedup=speedup,
        title=every[-1].title,
        steps=tuple(steps),
        until=until,
    )


def _require_steps(loaded: LiveManifest, whole: Manifest, kept: Manifest, path: Path) -> None:
    """Raise MmbatchError unless a livepatch may end at the last of the steps that are kept."""
    for step in (loaded.first, *loaded.without, *(each.step for each in loaded.replaces)):
        if step and step not in whole.step_names:
            raise wrong(path, f"{whole.speedup} has no step '{step}'")
    last = kept.step_names[-1]
    if last in loaded.without:
        problem, hint = "its livepatch has nothing of this step", "name the step before or after it"
    elif loaded.first and loaded.first not in kept.step_names:
        problem = f"its livepatch needs the step '{loaded.first}'"
        hint = f"name '{loaded.first}' or a later step"
    else:
        return
    action = f"build a livepatch of '{whole.speedup}' that ends at '{last}'"
    raise MmbatchError(action, problem, hint, ExitCode.USAGE)


def _targets(every: Sequence[Manifest]) -> set[str]:
    return {file.target for held in every for step in held.steps for file in step.files}


def _sources(name: str) -> set[str]:
    """Return the paths that the source of an object may have."""
    return {name.removesuffix("o") + kind for kind in "cS"}


def load_all(names: Sequence[str] = (), until: str = ALL) -> list[LiveManifest]:
    """Return the manifests of some speed-ups, by default of all that have one."""
    return [load(name, until) for name in names or known(paths.SPEEDUPS)]


def contents(live: LiveManifest, series: str) -> dict[str, bytes]:
    """Return what a module for a series is built from, by path in a tree.

    Sources that are not linked into the module, such as tests, are left out. The files of
    live.toml override those that splicing adds to a tree.
    """
    sources = {source for name in live.objects for source in _sources(name)}
    found: dict[str, bytes] = {}
    for file in live.files:
        wanted = file.target.endswith(".h") or file.target in sources
        if wanted and series in file.kernels and file.target not in found:
            found[file.target] = file.source.read_bytes()
    for edit in live.edits:
        if edit.file in found and series in edit.kernels:
            found[edit.file] = apply_edit(found[edit.file].decode(), edit).encode()
    return found


def problem(live: LiveManifest, series: str, config: Mapping[str, str]) -> str:
    """Return why no module can be built for a kernel, as a clause; empty if it may be."""
    if series not in live.series:
        return f"'{live.speedup}' supports only Linux {', '.join(live.series)}"
    lacking = [f"it lacks {name}: {why}" for name, why in live.needs.items() if name not in config]
    unwanted = [f"it has {name}: {why}" for name, why in live.refuses.items() if name in config]
    return (lacking + unwanted + [""])[0]


def unfit(live: LiveManifest, release: str, why: str) -> MmbatchError:
    """Return the error for a kernel that a module can't be built for."""
    hint = "use another kernel, or build one that contains the speed-up (mmbatch apply)"
    action = f"build {live.module} for Linux {release}"
    return MmbatchError(action, why, hint, ExitCode.NOT_APPLICABLE)
