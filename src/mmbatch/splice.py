# SPDX-License-Identifier: GPL-2.0-only
"""Make a copy of a kernel tree that has a speed-up in it, step by step, each match counted."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from mmbatch import edits, process, spatch
from mmbatch.cache import Cache, atomic_dir
from mmbatch.errors import ExitCode, MmbatchError
from mmbatch.kernels import Source
from mmbatch.manifest import Manifest, Sight, Step

_RECORD = ".mmbatch-splice.json"


@dataclass(frozen=True)
class Applied:
    """What one step did to the tree.

    Attributes:
        speedup: whose step it is.
        name: the step.
        subject: its commit's subject.
        body: its commit's body.
        diff: unified diff, with paths as git has them.
        changed: lines changed in files that the tree had before.
    """

    speedup: str
    name: str
    subject: str
    body: str
    diff: str
    changed: int


@dataclass(frozen=True)
class Spliced:
    """A tree with the speed-up in it."""

    path: Path
    ident: str
    steps: tuple[Applied, ...]


def splice(
    cache: Cache,
    source: Source,
    manifests: list[Manifest],
    macros: Path,
    say: Callable[[str], None],
) -> Spliced:
    """Return a copy of a tree with speed-ups in it, from the cache when nothing has changed.

    Args:
        cache: where the copy lives. Its files are hard links to those of the source's tree,
            which lies in the cache as well; a file is never written in place.
        source: the tree.
        manifests: the speed-ups in order, each after what it needs.
        macros: the macro file for spatch.
        say: told of each phase.

    Raises:
        MmbatchError: exit code 77 where the kernel is not one of theirs; exit code 3 where a
            hook does not match exactly.
    """
    for manifest in manifests:
        if source.series not in manifest.kernels:
            raise MmbatchError(
                f"splice {manifest.speedup} into Linux {source.release}",
                f"it is made for kernels {manifest.kernels}",
                "choose one of them with --kernel",
                ExitCode.NOT_APPLICABLE,
            )
    ident = f"{source.ident}-{_digest(source, manifests, macros)}"
    final = cache.splices / ident
    with cache.lock(f"splice-{source.ident}", f"splices {source.release}", say):
        if not (final / _RECORD).exists():
            say(f"splicing {manifests[-1].speedup} into Linux {source.release}")
            _forget_older(cache, source)
            with atomic_dir(final) as work:
                steps = _build(work, source, manifests, macros)
                (work / _RECORD).write_text(json.dumps([asdict(step) for step in steps]))
    record = json.loads((final / _RECORD).read_text())
    return Spliced(final, ident, tuple(Applied(**step) for step in record))


def _forget_older(cache: Cache, source: Source) -> None:
    for old in cache.splices.glob(f"{source.ident}-*"):
        shutil.rmtree(old, ignore_errors=True)


def _build(work: Path, source: Source, manifests: list[Manifest], macros: Path) -> list[Applied]:
    process.run(
        ["cp", "-al", f"{source.path}/.", work],
        tried=f"copy the tree of Linux {source.release}",
    )
    return [
        _apply(work, source.series, manifest.speedup, step, macros)
        for manifest in manifests
        for step in manifest.steps
        if source.series in step.kernels
    ]


def _apply(work: Path, series: str, speedup: str, step: Step, macros: Path) -> Applied:
    """Apply one step to a tree whose files may be links to another's."""
    before: dict[str, str | None] = {}

    def read(name: str) -> str:
        try:
            return (work / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise edits.mismatch(name, "there is no such file") from None

    def write(name: str, content: str) -> None:
        path = work / name
        if name not in before:
            before[name] = read(name) if path.exists() else None
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(content, encoding="utf-8")

    for file in step.files:
        if series in file.kernels and (file.sight is None or _seen(file.sight, read)):
            if (work / file.target).exists():
                raise edits.mismatch(file.target, "the tree has a file of this name already")
            write(file.target, file.source.read_text(encoding="utf-8"))
    for rule in step.rules:
        if series in rule.kernels:
            read(rule.file)
            spatch.check_parse(work / rule.file, rule, macros)
            output = work / f"{rule.file}.mmbatch"
            spatch.apply_rule(work / rule.file, rule, macros, output)
            content = output.read_text(encoding="utf-8")
            output.unlink()
            write(rule.file, content)
    for edit in step.edits:
        if series in edit.kernels:
            write(edit.file, edits.apply_edit(read(edit.file), edit))

    diff = "".join(_diff(name, old, read(name)) for name, old in sorted(before.items()))
    changed = sum(
        line[:1] in "+-" and not line.startswith(("+++", "---"))
        for name, old in before.items()
        if old is not None
        for line in _diff(name, old, read(name)).splitlines()
    )
    return Applied(speedup, step.name, step.subject, step.body, diff, changed)


def _seen(sight: Sight, read: Callable[[str], str]) -> bool:
    """Tell whether a tree looks as a file's condition wants it to."""
    content = read(sight.file)
    extent = edits.function_extent(content, sight.function)
    if extent is None:
        raise edits.mismatch(sight.file, f"there is no function {sight.function}()")
    lines = content.splitlines()[slice(*extent)]
    return any(re.search(sight.line, line) for line in lines) == sight.wanted


def _diff(name: str, old: str | None, new: str) -> str:
    """Return the change of one file as a unified diff."""
    head = f"diff --git a/{name} b/{name}\n" + ("new file mode 100644\n" if old is None else "")
    lines = difflib.unified_diff(
        (old or "").splitlines(keepends=True),
        new.splitlines(keepends=True),
        "/dev/null" if old is None else f"a/{name}",
        f"b/{name}",
    )
    return head + "".join(lines)


def _digest(source: Source, manifests: list[Manifest], macros: Path) -> str:
    """Return a short hash of all that the spliced tree is made from."""
    total = hashlib.sha256(source.state.encode())
    total.update(repr(spatch.program()).encode())
    for path in _inputs(manifests, macros):
        total.update(os.fsencode(path.name))
        total.update(path.read_bytes())
    return total.hexdigest()[:12]


def _inputs(manifests: list[Manifest], macros: Path) -> Iterator[Path]:
    yield macros
    yield Path(__file__)
    for manifest in manifests:
        yield manifest.room / "splice" / "splice.toml"
        for step in manifest.steps:
            yield from (file.source for file in step.files)
            yield from (rule.cocci for rule in step.rules)
