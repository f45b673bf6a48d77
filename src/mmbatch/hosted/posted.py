# SPDX-License-Identifier: GPL-2.0-only
"""Compile what posted patches change of a hosted program, and nothing else."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mmbatch.core import cache, log
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel import kbuild
from mmbatch.kernel.kbuild import ObjectTree, prototypes, symbols
from mmbatch.splice.posted import READ_PARTS, Posted, PostedTree

if TYPE_CHECKING:
    from mmbatch.hosted.program import Program

_ASSIGNMENT = re.compile(r"^[\w-]+-(?:y|\$\((CONFIG_\w+)\))\s*[+:]?=\s*(.*)$", re.MULTILINE)


class NoEffectError(MmbatchError):
    """Posted code changes nothing of what a harness runs."""


@dataclass(frozen=True)
class PostedSide:
    """Posted code, compiled.

    `compiled` has the objects whose machine code or data differ from base's, and those that the
    kernel lacks, by their paths in the kernel. `ident` is a digest of their contents.
    """

    posted: Posted
    compiled: Mapping[str, Path]
    ident: str

    @property
    def label(self) -> str:
        """Its row of the table."""
        return self.posted.label


_Units = Mapping[str, tuple[Path, Path | None]]
"""Objects to compile, by their paths in the kernel: the source of each with the patch and the one
without it, which is None if the kernel as it is lacks the object."""


def compile_sides(program: Program, options: tuple[str, ...]) -> list[PostedSide]:
    """Compile the objects of a hosted program that posted code changes, with more options.

    Patches of a series that change nothing are left out.

    Raises:
        MmbatchError: something does not compile; exit code 77 where it changes nothing, or the
            parameters of a function that the harness calls.
    """
    sides: list[PostedSide] = []
    for tree in program.posted:
        units = _units(program, tree)
        side = _compile(program, tree, units, options) if units else None
        known = {other.ident for other in sides} if tree.posted.step else set()
        if side and side.ident not in known and _is_reached(program, side, units):
            sides.append(side)
        elif tree.posted.step:
            log.say(f"{tree.posted.label} changes no object that is measured here: it has no row")
        else:
            raise _no_effect(tree.posted, program.linked)
    if not sides:
        raise _no_effect(program.posted[-1].posted, program.linked)
    return sides


def require_touched(linked: Sequence[str], trees: Sequence[PostedTree]) -> None:
    """Raise NoEffectError if the names of the changed files show that nothing linked changes."""
    sources = {name.removesuffix(".o") for name in linked}

    def may_change(name: str) -> bool:
        # No source that a program links includes another one: a test looks for that.
        stem, dot, suffix = name.rpartition(".")
        return stem in sources if dot and suffix in ("c", "S") else name.startswith(READ_PARTS)

    if not any(may_change(name) for tree in trees for name in tree.posted.contents):
        raise _no_effect(trees[-1].posted, linked)


def _is_reached(program: Program, side: PostedSide, units: _Units) -> bool:
    """Whether a compiled side differs from base in what a hosted program runs.

    An object that is only added is reached if it defines a function that the program has or
    calls, as one that replaces a weak function does.
    """
    if any(units[name][1] for name in side.compiled):
        return True
    base = [program.objects.path / name for name in program.linked]
    added = symbols(*side.compiled.values(), "--defined-only") if side.compiled else set()
    return not added.isdisjoint(symbols(*(path for path in base if path.exists())))


def changed_functions(program: Program) -> set[str]:
    """Return the functions of base that posted code changes; none if that can't be told."""
    found: set[str] = set()
    for tree in program.posted:
        units = _units(program, tree)
        options = ("-ffunction-sections", "-fdata-sections")
        compiled = _compile(program, tree, units, options).compiled if units else {}
        for name, path in compiled.items():
            base = path.with_name(path.name.replace("posted-", "base-", 1))
            if units[name][0].suffix == ".S":
                return set()
            is_new = units[name][1] is None  # and may replace a weak function
            found |= symbols(path) if is_new else kbuild.changed_functions(base, path)
    return {name.partition(".")[0] for name in found}


def _units(program: Program, tree: PostedTree) -> _Units:
    """Return the harness's own objects, those that a patch changes, and those that it adds."""
    return {path.name: (path, path) for path in program.own} | dict(_touched(program, tree))


def _touched(program: Program, tree: PostedTree) -> Iterator[tuple[str, tuple[Path, Path | None]]]:
    changed, base = set(tree.posted.contents), program.source.path
    for name in program.linked:
        if sources_of(program.objects, name) & changed:
            file = source_of(tree.path, name)
            if not file.exists():
                raise MmbatchError(
                    f"build '{tree.posted.label}'",
                    f"it removes the source of {name}, which the harness calls",
                    "measure a tree in which the function is still there",
                    ExitCode.NOT_APPLICABLE,
                )
            yield name, (file, source_of(base, name))
    config = (program.objects.path / ".config").read_text(encoding="utf-8").splitlines()
    for name, condition in _added(base, tree):
        file = source_of(tree.path, name)
        if not file.exists() or name in program.linked:
            continue
        if condition and f"{condition}=y" not in config:
            log.say(f"{tree.posted.label}: {name} is left out, because {condition} is not set")
            continue
        yield name, (file, None)


def sources_of(tree: ObjectTree, name: str) -> set[str]:
    """Return the files of the kernel tree that an object was made from, as kbuild noted them."""
    record = tree.path / kbuild.record_of(name)
    if not record.exists():
        return set()
    top = f"{tree.source.path}/"
    words = record.read_text(encoding="utf-8").partition(f"\nsource_{name} :=")[2].split()
    return {word.removeprefix(top) for word in words if word.startswith(top)}


def source_of(top: Path, name: str) -> Path:
    """Return the file of a tree that an object is made from."""
    assembly = (top / name).with_suffix(".S")
    return assembly if assembly.exists() else assembly.with_suffix(".c")


def _added(base: Path, tree: PostedTree) -> Iterator[tuple[str, str]]:
    """Yield the objects that a patch adds to makefiles, each with its condition or ""."""
    for name in tree.posted.contents:
        directory, _, file = name.rpartition("/")
        if file in ("Makefile", "Kbuild"):
            before = set(_goals(base / name))
            for goal, condition in _goals(tree.path / name):
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
    program: Program, tree: PostedTree, units: _Units, options: tuple[str, ...]
) -> PostedSide:
    """Compile objects with and without a patch, and keep those that differ."""
    names = [f"{name} {program.like(file)}" for name, (file, _) in units.items()]
    code = [Path(path).read_text("utf-8") for path in (__file__, kbuild.__file__)]
    key = "\n".join((program.objects.path.name, tree.ident, *names, *options, *code))
    digest = hashlib.sha256(key.encode())
    for path in sorted(program.manifest.directory.glob("*.[ch]") if program.own else ()):
        digest.update(path.read_bytes())
    final = cache.builds() / f"objects-{program.source.ident}-{digest.hexdigest()[:12]}"

    def compiled_as(directory: Path, kind: str, name: str) -> Path:
        return directory / f"{kind}-{name.replace('/', '_').rpartition('.')[0]}.o"

    def compile_one(work: Path, kind: str, name: str) -> None:
        file, base = units[name]
        output = compiled_as(work, kind, name)
        types = ("-aux-info", os.fspath(output.with_suffix(".types")))
        try:
            kbuild.compile_like(
                *(program.objects, program.like(file)),
                base if base and kind == "base" else file,
                output,
                other_source=None if kind == "base" else tree.path,
                options=(*options, *(() if file.suffix == ".S" else types)),
                log=cache.logs() / f"{final.name}.log",
            )
        except MmbatchError as error:
            action = f"compile {name} with {tree.posted.label}"
            raise MmbatchError(action, error.problem, error.hint) from error

    def fill(work: Path) -> None:
        log.say(f"compiling what {tree.posted.label} changes: {', '.join(units)}")
        jobs = [("posted", name) for name in units]
        jobs += [("base", name) for name, (_, base) in units.items() if base]
        with ThreadPoolExecutor(program.jobs) as pool:
            list(pool.map(lambda job: compile_one(work, *job), jobs))

    cache.provide(final, fill, "compiles posted code")
    compiled = {}
    total = hashlib.sha256()
    for name, (file, source) in units.items():
        path, base = (compiled_as(final, kind, name) for kind in ("posted", "base"))
        content = _contents(path)
        if source is None or content != _contents(base):
            compiled[name] = path
            total.update(f"{name} {content}".encode())
        if source is not None and file.suffix != ".S":
            _compare_prototypes(program, tree.posted, base, path)
    return PostedSide(tree.posted, compiled, total.hexdigest())


def _contents(path: Path) -> str:
    """Return what is in an object, but for the lines of its source that WARN() names."""
    shown = {name: text for name, text in kbuild.sections(path).items() if name != "__bug_table"}
    return repr((sorted(symbols(path, "--defined-only")), shown))


def _compare_prototypes(program: Program, posted: Posted, base: Path, patched: Path) -> None:
    """Raise MmbatchError if a function that the harness calls has other parameters."""
    before, after = (prototypes(path.with_suffix(".types")) for path in (base, patched))
    for old in program.hosted.entries:
        new = program.renamed.get(old, old)
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
