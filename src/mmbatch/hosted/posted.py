# SPDX-License-Identifier: GPL-2.0-only
"""Compile what somebody else's patches change of a hosted program, and nothing else."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from mmbatch.core import process
from mmbatch.core.cache import Cache
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel import kbuild
from mmbatch.kernel.kbuild import ObjectTree
from mmbatch.splice.manifest import Hosted
from mmbatch.splice.posted import READ_PARTS, Posted, PostedTree

_MAKEFILES = ("Makefile", "Kbuild")
_PROTOTYPE = re.compile(
    r"^/\* .+:\d+:[NO]F \*/ (?:extern |static )?"  # a definition, not a declaration
    r"(?P<result>.*?)(?P<name>\w+) \((?P<parameters>.*)\); /\* \((?P<names>.*?)\)",
    re.MULTILINE,
)
_ASSIGNMENT = re.compile(r"^[\w-]+-(?:y|\$\((CONFIG_\w+)\))\s*[+:]?=\s*(.*)$", re.MULTILINE)


class NoEffectError(MmbatchError):
    """Posted code changes nothing of what a harness runs."""


@dataclass(frozen=True)
class PostedSide:
    """Somebody else's code, compiled.

    Attributes:
        posted: the code.
        tree: the kernel tree that has it.
        compiled: object, as a path in the kernel, to the file that was compiled. They are those
            whose machine code or data differ from base's, and those that the kernel lacks.
        ident: digest of their contents.
        renamed: function of the harness to its new name, where it has one.
    """

    posted: Posted
    tree: Path
    compiled: Mapping[str, Path]
    ident: str
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Its row of the table."""
        return self.posted.label


@dataclass(frozen=True)
class _Unit:
    """An object to compile.

    Attributes:
        name: as a path in the kernel.
        like: the object whose compiler command is used.
        file: its source in the patched tree.
        base: its source in the kernel as it is; None if that has none.
    """

    name: str
    like: str
    file: Path
    base: Path | None


def compile_sides(
    cache: Cache,
    tree: ObjectTree,
    hosted: Hosted,
    linked: Sequence[str],
    assembled: str,
    own: Sequence[Path],
    trees: Sequence[PostedTree],
    jobs: int,
    say: Callable[[str], None],
    options: tuple[str, ...] = (),
    renamed: Mapping[str, str] = MappingProxyType({}),
) -> list[PostedSide]:
    """Compile the objects of a hosted program that posted code changes.

    Args:
        cache: where they are kept.
        tree: the kernel's own objects.
        hosted: the program.
        linked: all objects of the kernel that it links.
        assembled: one of these that is made from an assembly file.
        own: C files of the harness that are compiled once for each side.
        trees: the kernel with each posted code in it.
        jobs: how many compilers at a time.
        say: told of it.
        options: more options of the compiler.
        renamed: function of the harness to the name that it has in some of the trees.

    Returns:
        A side for each tree. Patches of a series that change nothing are left out.

    Raises:
        MmbatchError: something does not compile; exit code 77 where it changes nothing, or the
            parameters of a function that the harness calls.
    """
    sides: list[PostedSide] = []
    names: set[str] = set()
    entries = {name: renamed.get(name, name) for name in hosted.entries}
    for posted_tree in trees:
        units = [_Unit(path.name, hosted.like, path, path) for path in own]
        units += _units(tree, hosted, linked, assembled, posted_tree, say)
        side = None
        if units:
            side = _compile(cache, tree, posted_tree, units, entries, jobs, say, options)
            names = names or _global_names(tree.path / name for name in linked)
            if not _is_reached(side, units, names):
                side = replace(side, compiled={})
            side = replace(side, renamed=renamed)
        before = {other.ident for other in sides} if posted_tree.posted.step else set()
        if side is not None and side.compiled and side.ident not in before:
            sides.append(side)
        elif posted_tree.posted.step:
            label = posted_tree.posted.label
            say(f"{label} changes no object that is measured here, so it has no row")
        else:
            raise _no_effect(posted_tree.posted, linked)
    if trees and not sides:
        raise _no_effect(trees[-1].posted, linked)
    return sides


def require_touched(linked: Sequence[str], trees: Sequence[PostedTree]) -> None:
    """Raise NoEffectError if the names of the changed files show that nothing linked changes.

    Args:
        linked: all objects of the kernel that a hosted program links.
        trees: the kernel with each posted code in it.
    """
    sources = {name.removesuffix(".o") for name in linked}

    def may_change(name: str) -> bool:
        # No source that a program links includes another one: a test looks for that.
        stem, dot, suffix = name.rpartition(".")
        return stem in sources if dot and suffix in ("c", "S") else name.startswith(READ_PARTS)

    if not any(may_change(name) for tree in trees for name in tree.posted.contents):
        raise _no_effect(trees[-1].posted, linked)


def _is_reached(side: PostedSide, units: Sequence[_Unit], names: set[str]) -> bool:
    """Whether a compiled side differs from base in what a hosted program runs.

    An object that is only added is reached if it defines a function that the program has or
    calls, as one that replaces a weak function does.

    Args:
        side: what was compiled.
        units: what it was compiled from.
        names: global symbols of all objects that the program links.
    """
    if any(unit.base is not None and unit.name in side.compiled for unit in units):
        return True
    return not names.isdisjoint(_global_names(side.compiled.values(), "--defined-only"))


def _global_names(objects: Iterable[Path], *options: str) -> set[str]:
    """Return the global symbols of objects; not every kernel has every one of these."""
    files = [path for path in objects if path.exists()]
    if not files:
        return set()
    return set(
        process.run(["nm", "-g", "-j", *options, *files], action="read objects").stdout.split()
    )


def _units(
    tree: ObjectTree,
    hosted: Hosted,
    linked: Sequence[str],
    assembled: str,
    posted_tree: PostedTree,
    say: Callable[[str], None],
) -> Iterator[_Unit]:
    """Yield the objects whose sources or headers a patch changes, and those that it adds."""
    changed = set(posted_tree.posted.contents)
    for name in linked:
        read = sources_of(tree, name)
        if read & changed:
            source = next(iter(_source(posted_tree.path, name)), None)
            if source is None:
                raise MmbatchError(
                    f"build '{posted_tree.posted.label}'",
                    f"it removes the source of {name}, which the harness calls",
                    "measure a tree in which the function is still there",
                    ExitCode.NOT_APPLICABLE,
                )
            base = next(iter(_source(tree.source.path, name)), None)
            yield _Unit(name, name, source, base)
    config = _configuration(tree)
    for name, condition in _added(tree.source.path, posted_tree):
        source = next(iter(_source(posted_tree.path, name)), None)
        if source is None or name in linked:
            continue
        if condition and condition not in config:
            say(f"{posted_tree.posted.label}: {name} is left out, because {condition} is not set")
            continue
        like = assembled if source.suffix == ".S" else hosted.like
        yield _Unit(name, like, source, None)


def sources_of(tree: ObjectTree, name: str) -> set[str]:
    """Return the files of the kernel tree that an object was made from, as kbuild noted them."""
    record = tree.path / kbuild.record_of(name)
    if not record.exists():
        return set()
    top = f"{tree.source.path}/"
    words = record.read_text(encoding="utf-8").partition(f"\nsource_{name} :=")[2].split()
    return {word.removeprefix(top) for word in words if word.startswith(top)}


def _source(top: Path, name: str) -> list[Path]:
    stem = top / name.removesuffix(".o")
    return [path for path in map(stem.with_suffix, (".S", ".c")) if path.exists()]


def _configuration(tree: ObjectTree) -> set[str]:
    lines = (tree.path / ".config").read_text(encoding="utf-8").splitlines()
    return {line.removesuffix("=y") for line in lines if line.endswith("=y")}


def _added(base: Path, posted_tree: PostedTree) -> Iterator[tuple[str, str]]:
    """Yield the objects that a patch adds to makefiles, each with its condition or ""."""
    for name in posted_tree.posted.contents:
        directory, _, file = name.rpartition("/")
        if file in _MAKEFILES:
            before = set(_goals(base / name))
            for goal, condition in _goals(posted_tree.path / name):
                if (goal, condition) not in before:
                    yield f"{directory}/{goal}", condition


def _goals(makefile: Path) -> Iterator[tuple[str, str]]:
    if makefile.is_file():
        text = makefile.read_text(encoding="utf-8", errors="replace").replace("\\\n", " ")
        for match in _ASSIGNMENT.finditer(text):
            for word in match[2].split("#")[0].split():
                if word.endswith(".o"):
                    yield word, match[1] or ""


def _compile(
    cache: Cache,
    tree: ObjectTree,
    posted_tree: PostedTree,
    units: Sequence[_Unit],
    entries: Mapping[str, str],
    jobs: int,
    say: Callable[[str], None],
    options: tuple[str, ...],
) -> PostedSide:
    """Compile objects with and without a patch, and keep those that differ."""
    names = [f"{unit.name} {unit.like}" for unit in units]
    code = [Path(path).read_text("utf-8") for path in (__file__, kbuild.__file__)]
    key = "\n".join((tree.path.name, posted_tree.ident, *names, *options, *code))
    digest = hashlib.sha256(key.encode())
    for harness in sorted({unit.file.parent for unit in units if unit.file == unit.base}):
        for path in sorted(harness.glob("*.[ch]")):
            digest.update(f"{path}".encode() + path.read_bytes())
    ident = digest.hexdigest()[:12]
    final = cache.builds / f"objects-{tree.source.ident}-{ident}"
    log = cache.logs / f"{final.name}.log"

    def fill(work: Path) -> None:
        names_of_units = ", ".join(unit.name for unit in units)
        say(f"compiling what {posted_tree.posted.label} changes: {names_of_units}")

        def compile_unit(job: tuple[_Unit, Path | None]) -> None:
            unit, base = job
            output = work / _file_name(unit.name, "base" if base else "posted")
            types = output.with_suffix(".types")
            more = () if unit.file.suffix == ".S" else ("-aux-info", os.fspath(types))
            try:
                kbuild.compile_like(
                    tree,
                    unit.like,
                    base or unit.file,
                    output,
                    other_source=None if base else posted_tree.path,
                    options=(*options, *more),
                    log=log,
                )
            except MmbatchError as error:
                action = f"compile {unit.name} with {posted_tree.posted.label}"
                raise MmbatchError(action, error.problem, error.hint) from error
            _write_contents(output)
            if more:
                keep_prototypes(types)

        jobs_of = [(unit, base) for unit in units for base in {None, unit.base}]
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(compile_unit, jobs_of))

    cache.provide(final, fill, "compiles posted code", say, keep_few=True)
    for unit in units:
        if unit.base is not None and unit.file.suffix != ".S":
            _compare_prototypes(posted_tree.posted, final, unit.name, entries)
    compiled = {}
    contents = hashlib.sha256()
    for unit in units:
        path = final / _file_name(unit.name, "posted")
        content = _contents(path).read_bytes()
        base = final / _file_name(unit.name, "base")
        if unit.base is None or content != _contents(base).read_bytes():
            compiled[unit.name] = path
            contents.update(unit.name.encode() + hashlib.sha256(content).digest())
    return PostedSide(posted_tree.posted, posted_tree.path, compiled, contents.hexdigest())


def _file_name(name: str, kind: str) -> str:
    return f"{kind}-{Path(name).with_suffix('.o').as_posix().replace('/', '_')}"


def _contents(path: Path) -> Path:
    return path.with_suffix(".contents")


def _write_contents(path: Path) -> None:
    """Write what is in an object, but for the lines of its source that WARN() names."""
    action = f"read {path.name}"
    names = process.run(["nm", "-g", "-j", "--defined-only", path], action=action).stdout
    printed = process.run(["objdump", "-s", "-r", path], action=action).stdout
    sections = re.split(r"\n(?=Contents of section |RELOCATION RECORDS FOR )", printed)[1:]
    shown = [section for section in sections if "__bug_table" not in section.partition("\n")[0]]
    _contents(path).write_text("\n".join([names, *(section.strip() for section in shown)]), "utf-8")


def keep_prototypes(types: Path) -> None:
    """Shorten what gcc's -aux-info wrote to the functions that are defined, without names.

    A line becomes "RESULT NAME (TYPE, TYPE)", so that a parameter may change its name.
    """
    lines = []
    for match in _PROTOTYPE.finditer(types.read_text(encoding="utf-8", errors="replace")):
        parameters = re.split(r", (?![^(]*\))", match["parameters"])
        names = match["names"].split(", ")
        if match["names"] and len(names) == len(parameters):
            parameters = list(map(_without, parameters, names))
        lines.append(f"{match['result']}{match['name']} ({', '.join(parameters)})\n")
    types.write_text("".join(lines), encoding="utf-8")


def _without(parameter: str, name: str) -> str:
    """Return a parameter's type, which may have a word like its name: "struct zone *zone"."""
    return " ".join(re.sub(rf"\b{name}\b(?!.*\b{name}\b)", "", parameter).split())


def _compare_prototypes(
    posted: Posted, compiled: Path, name: str, entries: Mapping[str, str]
) -> None:
    """Raise MmbatchError if a function that the harness calls has other parameters."""

    def read(kind: str) -> dict[str, str]:
        path = (compiled / _file_name(name, kind)).with_suffix(".types")
        lines = path.read_text(encoding="utf-8").splitlines()
        return {line.partition(" (")[0].rpartition(" ")[2].lstrip("*"): line for line in lines}

    before, after = read("base"), read("posted")
    for old, new in entries.items():
        now = new if new in after else old
        if old not in before or now not in after:
            continue
        if before[old] != after[now].replace(f"{now} (", f"{old} (", 1):
            raise MmbatchError(
                f"call {now}() of '{posted.label}'",
                f"the patches change it from '{before[old]}' to '{after[now]}', and the harness "
                "passes what base takes",
                f"keep a function {old}() with the old parameters that calls the new one, with "
                "one more patch; or choose a harness that calls one of its callers",
                ExitCode.NOT_APPLICABLE,
            )


def _no_effect(posted: Posted, linked: Sequence[str]) -> NoEffectError:
    files = ", ".join(sorted(posted.contents)) or "no file"
    return NoEffectError(
        f"measure '{posted.label}'",
        f"it changes {files}, and none of the code that is measured here",
        f"choose another harness; this one links {', '.join(linked)}",
        ExitCode.NOT_APPLICABLE,
    )


def entry_missing(side: PostedSide, names: Sequence[str]) -> MmbatchError:
    """Return the error for functions that the harness calls and posted code lacks."""
    return MmbatchError(
        f"call {', '.join(f'{name}()' for name in names)} of '{side.label}'",
        "the patches rename it, make it static, or have it inlined",
        f"if it has a new name, pass --entry {names[0]}=NEWNAME; otherwise keep it as a function "
        "that other files can call, with one more patch",
        ExitCode.NOT_APPLICABLE,
    )
