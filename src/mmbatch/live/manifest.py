# SPDX-License-Identifier: GPL-2.0-only
"""live.toml: how a speed-up becomes a livepatch, and which kernels it fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from mmbatch.core import paths
from mmbatch.core.errors import ExitCode, MmbatchError, suggestion
from mmbatch.core.interval import EVERY, SERIES, Interval
from mmbatch.core.load import NOT_IN_FILE, OTHER_KEYS, from_toml, key, wrong
from mmbatch.live.btf import Btf
from mmbatch.splice import manifest
from mmbatch.splice.edits import apply_edit
from mmbatch.splice.manifest import ALL, Edit, Manifest, NewFile, cut

_NAME = "live/live.toml"
_BUILD = "build a livepatch of"


@dataclass(frozen=True)
class Function:
    """A function of the kernel that is called or replaced.

    Attributes:
        name: its name.
        signature: the types of its result and its parameters: "void", "struct NAME *", or the
            bytes of anything else.
        by: its replacement; empty for a function that is only called.
        local: whether it is static.
        step: the step that replaces it; a livepatch that ends before it does not need it. Empty
            if every livepatch replaces it.
        kernels: the series that have it.
    """

    name: str = field(metadata=key("function"))
    signature: tuple[str, ...] = ()
    by: str = ""
    local: bool = False
    step: str = ""
    kernels: Interval = EVERY


@dataclass(frozen=True)
class Layout:
    """The members of the kernel's structs whose offset the code assumes, in some series.

    Attributes:
        kernels: the series.
        structs: members by struct.
    """

    kernels: Interval = EVERY
    structs: Mapping[str, tuple[str, ...]] = field(default_factory=dict, metadata=OTHER_KEYS)


@dataclass(frozen=True)
class Terms:
    """The requirements of a module on its kernel.

    Attributes:
        needs: options that must be set, each with what is wrong without it.
        refuses: options that must not be set, each with what is wrong with it.
        calls: functions that the kernel must have and need not export.
        variables: variables that it must have and need not export.
    """

    needs: Mapping[str, str] = field(default_factory=dict)
    refuses: Mapping[str, str] = field(default_factory=dict)
    calls: tuple[Function, ...] = field(default=(), metadata=key("call"))
    variables: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise ValueError for a replacement of a function that is only called."""
        for function in self.calls:
            for name, value in (("by", function.by), ("step", function.step)):
                if value:
                    raise ValueError(f"call of {function.name}: unknown key '{name}'")


@dataclass(frozen=True)
class LiveManifest(Terms):
    """A speed-up as a livepatch: what its live.toml holds, and what other files add.

    The requirements are its own and those of the code that all modules share.

    Attributes:
        kernels: the series that it supports.
        first: the first step of the speed-up that a livepatch may end at; empty for any.
        without: steps of the speed-up that a livepatch has nothing of.
        objects: what is linked into the module, as paths in a kernel tree.
        files: what is compiled and included, with paths in a kernel tree.
        includes: the kernel's headers that declare everything that is named here.
        replaces: the functions that it replaces.
        layouts: members of the kernel's structs whose offset the code assumes.
        edited: files of one step, as paths in a kernel tree, that later steps edit.
        drivers: modules of the kernel that call what it replaces when they bind a device.
        edits: these edits.
        speedup: its name.
        title: a description of it.
        steps: the steps of the speed-up that the module has.
        until: the last of them, ALL or CORE, as the user named it.
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
    edits: tuple[Edit, ...] = field(default=(), metadata=NOT_IN_FILE)
    speedup: str = field(default="", metadata=NOT_IN_FILE)
    title: str = field(default="", metadata=NOT_IN_FILE)
    steps: tuple[str, ...] = field(default=(), metadata=NOT_IN_FILE)
    until: str = field(default=ALL, metadata=NOT_IN_FILE)

    def __post_init__(self) -> None:
        """Raise ValueError for a function that nothing replaces."""
        super().__post_init__()
        for function in self.replaces:
            if not function.by:
                raise ValueError(f"replace of {function.name}: 'by' is missing")

    @property
    def module(self) -> str:
        """Name of the module."""
        return f"mmbatch_{self.speedup}"

    @property
    def series(self) -> tuple[str, ...]:
        """The series that it supports, oldest first."""
        return tuple(series for series in reversed(SERIES) if series in self.kernels)

    @property
    def functions(self) -> list[Function]:
        """The kernel's functions that it replaces and calls."""
        return [*self.replaces, *self.calls]

    @property
    def symbols(self) -> list[str]:
        """What the kernel does not export and resolves when the module loads."""
        return [*(function.name for function in self.functions), *self.variables]

    @property
    def structs(self) -> dict[str, tuple[str, ...]]:
        """Members by struct, of all layouts."""
        found: dict[str, tuple[str, ...]] = {}
        for layout in self.layouts:
            for struct, members in layout.structs.items():
                found[struct] = found.get(struct, ()) + members
        return found

    def of(self, series: str) -> LiveManifest:
        """Return the part that applies to one series."""
        return replace(
            self,
            calls=_of(series, self.calls),
            replaces=_of(series, self.replaces),
            layouts=tuple(layout for layout in self.layouts if series in layout.kernels),
        )


def _of(series: str, functions: tuple[Function, ...]) -> tuple[Function, ...]:
    return tuple(function for function in functions if series in function.kernels)


def known(speedups: Path) -> list[str]:
    """Return the names of the speed-ups that have a livepatch."""
    return sorted(path.parent.parent.name for path in speedups.glob(f"*/{_NAME}"))


def load(speedups: Path, speedup: str, action: str = _BUILD, until: str = ALL) -> LiveManifest:
    """Read the manifest of a speed-up.

    Args:
        speedups: the directory of all speed-ups.
        speedup: its name.
        action: what it completes in errors.
        until: the last step that the module has, ALL or CORE.

    Raises:
        MmbatchError: it is missing or wrong, or no livepatch may end at that step.
    """
    directory = speedups / speedup
    try:
        loaded = from_toml(LiveManifest, directory / _NAME)
    except (FileNotFoundError, NotADirectoryError):
        if speedup not in manifest.measured(speedups):
            raise MmbatchError(
                f"find the speed-up '{speedup}'",
                "there is none of this name",
                suggestion(speedup, known(speedups), "speed-ups that have a livepatch"),
                ExitCode.USAGE,
            ) from None
        raise MmbatchError(
            f"{action} '{speedup}'",
            "it has no livepatch",
            f"choose one that has: {', '.join(known(speedups)) or 'there is none'}",
            ExitCode.USAGE,
        ) from None
    whole = manifest.load_with_needs(speedups, speedup)
    every = cut(whole, until)
    _require_steps(loaded, whole[-1], every[-1], directory / _NAME)
    kept = tuple(step for step in every[-1].steps if step.name not in loaded.without)
    every[-1] = replace(every[-1], steps=kept)
    dropped = _targets(whole) - _targets(every)
    steps = every[-1].step_names
    own = tuple(replace(file, source=directory / file.source) for file in loaded.files)
    for file in own:
        if not file.source.is_file():
            raise wrong(directory / _NAME, f"there is no {file.source.name}")
    shared = from_toml(Terms, paths.LIVE / "live.toml")
    return replace(
        loaded,
        objects=tuple(name for name in loaded.objects if not _sources(name) & dropped),
        replaces=tuple(each for each in loaded.replaces if not each.step or each.step in steps),
        needs={**shared.needs, **loaded.needs},
        refuses={**shared.refuses, **loaded.refuses},
        calls=loaded.calls + shared.calls,
        variables=loaded.variables + shared.variables,
        files=(*own, *_files_of_trees(every)),
        edits=tuple(_edits(every, loaded.edited)),
        speedup=speedup,
        title=every[-1].title,
        steps=tuple(steps),
        until=until,
    )


def _require_steps(loaded: LiveManifest, whole: Manifest, kept: Manifest, path: Path) -> None:
    """Raise MmbatchError unless a livepatch may end at the last of the steps that are kept."""
    named = (loaded.first, *loaded.without, *(each.step for each in loaded.replaces))
    for step in named:
        if step and step not in whole.step_names:
            raise wrong(path, f"{whole.speedup} has no step '{step}'")
    last = kept.step_names[-1]
    if last in loaded.without:
        raise MmbatchError(
            f"{_BUILD} '{whole.speedup}' that ends at '{last}'",
            "its livepatch has nothing of this step",
            "name the step before or after it",
            ExitCode.USAGE,
        )
    if loaded.first and loaded.first not in kept.step_names:
        raise MmbatchError(
            f"{_BUILD} '{whole.speedup}' that ends at '{last}'",
            f"its livepatch needs the step '{loaded.first}'",
            f"name '{loaded.first}' or a later step",
            ExitCode.USAGE,
        )


def _targets(every: list[Manifest]) -> set[str]:
    return {file.target for held in every for step in held.steps for file in step.files}


def _sources(name: str) -> set[str]:
    """Return the paths that the source of an object may have."""
    return {name.removesuffix("o") + kind for kind in "cS"}


def load_all(names: tuple[str, ...], action: str = _BUILD, until: str = ALL) -> list[LiveManifest]:
    """Return the manifests of some speed-ups, by default of all that have one.

    Raises:
        MmbatchError: a speed-up has none, or it is wrong.
    """
    return [load(paths.SPEEDUPS, name, action, until) for name in names or known(paths.SPEEDUPS)]


def staged(live: LiveManifest, series: str) -> dict[str, Path]:
    """Return the files that a module for a series is built from, by their path in a tree.

    Sources that are not linked into the module, such as tests, are left out. The files of
    live.toml override those that splicing adds to a tree.
    """
    sources = {source for name in live.objects for source in _sources(name)}
    files: dict[str, Path] = {}
    for file in live.files:
        wanted = file.target.endswith(".h") or file.target in sources
        if wanted and series in file.kernels:
            files.setdefault(file.target, file.source)
    return files


def contents(live: LiveManifest, series: str) -> dict[str, bytes]:
    """Return what a module for a series is built from, by path in a tree."""
    found = {target: source.read_bytes() for target, source in staged(live, series).items()}
    for edit in live.edits:
        if edit.file in found and series in edit.kernels:
            found[edit.file] = apply_edit(found[edit.file].decode(), edit).encode()
    return found


def _edits(every: list[Manifest], files: tuple[str, ...]) -> Iterator[Edit]:
    """Yield the edits of all steps to some files, without those that depend on a tree."""
    for each in every:
        for step in each.steps:
            yield from (edit for edit in step.edits if edit.file in files and edit.when is None)


def _files_of_trees(every: list[Manifest]) -> list[NewFile]:
    """Return the files that splicing adds to the trees of a series."""
    return [file for manifest in every for step in manifest.steps for file in step.files]


def of_series(live: LiveManifest, series: str, release: str) -> LiveManifest:
    """Return the part of a speed-up's manifest that applies to a series.

    Raises:
        MmbatchError: the speed-up does not support the series.
    """
    if series not in live.series:
        supported = ", ".join(live.series)
        raise unfit(live, release, f"'{live.speedup}' supports only Linux {supported}")
    return live.of(series)


def require_config(live: LiveManifest, config: Mapping[str, str], release: str) -> None:
    """Raise MmbatchError unless a kernel's configuration, by option, allows the module."""
    for option, reason in live.needs.items():
        if option not in config:
            raise unfit(live, release, f"it lacks {option}: {reason}")
    for option, reason in live.refuses.items():
        if option in config:
            raise unfit(live, release, f"it has {option}: {reason}")


def require_types(live: LiveManifest, types: Btf, release: str) -> None:
    """Raise MmbatchError unless a kernel has the functions and structs that are expected."""
    for function in live.functions:
        if not types.has_function(function.name):
            raise unfit(live, release, f"it has no {function.name}(), or inlines it")
        found_signature = types.signature(function.name)
        if found_signature is None:
            raise unfit(live, release, f"it has {function.name}() more than once")
        if found_signature != function.signature:
            raise unfit(
                live,
                release,
                f"{function.name}() is {_spelled(found_signature)} there, "
                f"not {_spelled(function.signature)}",
            )
    for struct, members in live.structs.items():
        if types.size_of(struct) is None:
            raise unfit(live, release, f"it has no struct {struct}")
        for member in members:
            if types.place(struct, member) is None:
                raise unfit(live, release, f"its struct {struct} has no member {member}")


def live_tables(live: LiveManifest, types: Btf) -> str:
    """Return live_tables.h: what the compiler and the loading module compare with the kernel.

    The types are of the kernel that the module is built for; `require_types` accepted them.
    """
    return "\n".join(_tables(live, types)) + "\n"


def _tables(live: LiveManifest, types: Btf) -> Iterator[str]:
    yield "/* SPDX-License-Identifier: GPL-2.0-only */"
    yield "/* Generated by mmbatch for one kernel. */"
    yield from (f"#include <{name}>" for name in live.includes)
    yield f'#define LIVE_TITLE "{live.title}"'
    for function in live.replaces:
        yield f"extern typeof({function.name}) {function.by};"
    for struct, members in live.structs.items():
        size = types.size_of(struct)
        yield f'static_assert(sizeof(struct {struct}) == {size}, "layout of struct {struct}");'
        for member in members:
            place = types.place(struct, member)
            assert place is not None
            yield (
                f"static_assert(offsetof(struct {struct}, {member}) == {place.offset} && "
                f"sizeof_field(struct {struct}, {member}) == {place.size}, "
                f'"layout of struct {struct}: {member}");'
            )
    yield "static const struct live_place live_places[] = {"
    for struct, members in live.structs.items():
        yield f'\t{{ "{struct}", NULL, 0, sizeof(struct {struct}) }},'
        for member in members:
            yield (
                f'\t{{ "{struct}", "{member}", offsetof(struct {struct}, {member}), '
                f"sizeof_field(struct {struct}, {member}) }},"
            )
    yield "};"
    yield "static const struct live_signature live_signatures[] = {"
    for function in live.functions:
        returns, *params = (f'"{text}"' for text in function.signature)
        yield f'\t{{ "{function.name}", {returns}, {{ {", ".join(params) or "NULL"} }} }},'
    yield "};"
    yield "static const struct live_entry live_entries[] = {"
    for function in live.replaces:
        entry_bytes = "0" if function.local else "LIVE_ENTRY_BYTES"
        yield f'\t{{ "{function.name}", {function.name}, {entry_bytes} }},'
    yield "};"
    yield "static struct klp_func live_functions[] = {"
    for function in live.replaces:
        yield f'\t{{ .old_name = "{function.name}", .new_func = {function.by} }},'
    yield "\t{ }"
    yield "};"


def unfit(live: LiveManifest, release: str, problem: str) -> MmbatchError:
    """Return the error for a kernel that a module can't be built for."""
    return MmbatchError(
        f"build {live.module} for Linux {release}",
        problem,
        "use another kernel, or build one that contains the speed-up (mmbatch apply)",
        ExitCode.NOT_APPLICABLE,
    )


def _spelled(signature: tuple[str, ...]) -> str:
    returns, *params = signature
    return f"{returns}({', '.join(params)})"
