# SPDX-License-Identifier: GPL-2.0-only
"""Keep copies of kernel trees that have speed-ups in them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from mmbatch.core import process
from mmbatch.core.cache import Cache
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.load import from_json_file
from mmbatch.kernel.sources import SOURCE_PARTS, Source
from mmbatch.splice import edits, spatch, steps
from mmbatch.splice.manifest import Manifest
from mmbatch.splice.presence import is_applied
from mmbatch.splice.steps import Applied, apply_steps, require_series

_RECORD = ".mmbatch-splice.json"


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
        manifests: the speed-ups in order, each after what it needs. For a harness, the tree
            itself is returned.
        macros: the macro file for spatch.
        say: told of each phase.

    Raises:
        MmbatchError: exit code 77 where the kernel is not one of theirs; exit code 3 where a
            hook does not match exactly.
    """
    require_series(manifests, source.series, source.release)
    ident = f"{source.ident}-{_digest(source, manifests, macros)}"
    if all(manifest.is_harness for manifest in manifests):
        return Spliced(source.path, ident, ())
    final = cache.splices / ident

    def fill(work: Path) -> None:
        _refuse_twice(source, manifests)
        say(f"splicing {manifests[-1].speedup} into Linux {source.release}")
        steps = _build(work, source, manifests, macros)
        (work / _RECORD).write_text(json.dumps([asdict(step) for step in steps]))

    cache.provide(
        final,
        fill,
        f"splices {source.release}",
        say,
        lock=f"splice-{source.ident}",
        keep_few=True,
        parts=(_RECORD, *SOURCE_PARTS, *_changed(manifests)),
    )
    hint = f"remove the directory {final}"
    return Spliced(final, ident, from_json_file(tuple[Applied, ...], final / _RECORD, hint))


def _refuse_twice(source: Source, manifests: list[Manifest]) -> None:
    """Raise MmbatchError if a tree has one of the speed-ups already: it could not be base."""
    for manifest in manifests:
        if is_applied(source.path, source.series, manifest):
            raise MmbatchError(
                f"splice {manifest.speedup} into Linux {source.release}",
                f"the tree has it already ({source.origin})",
                "give the tree as it was before: base and patched are both made from that",
                ExitCode.USAGE,
            )


def _build(work: Path, source: Source, manifests: list[Manifest], macros: Path) -> list[Applied]:
    process.run(
        ["cp", "-al", f"{source.path}/.", work],
        action=f"copy the tree of Linux {source.release}",
    )
    return list(apply_steps(work, source.series, manifests, macros))


def _digest(source: Source, manifests: list[Manifest], macros: Path) -> str:
    """Return a short hash of all that the spliced tree is made from."""
    total = hashlib.sha256(source.state.encode())
    total.update(repr(spatch.program()).encode())
    for path in _inputs(manifests, macros):
        total.update(os.fsencode(path.name))
        total.update(path.read_bytes())
    for manifest in manifests:
        for step in manifest.steps:
            total.update("".join(edit.text for edit in step.edits).encode())
    return total.hexdigest()[:12]


def _changed(manifests: list[Manifest]) -> list[str]:
    """Return the files that speed-ups add or change, on any kernel."""
    steps_of_all = [step for manifest in manifests for step in manifest.steps]
    names = {file.place for step in steps_of_all for file in step.files}
    names |= {rule.file for step in steps_of_all for rule in step.rules}
    names |= {edit.file for step in steps_of_all for edit in step.edits}
    return sorted(names)


def _inputs(manifests: list[Manifest], macros: Path) -> Iterator[Path]:
    yield macros
    yield from (Path(str(module.__file__)) for module in (steps, edits, spatch))
    for manifest in manifests:
        yield manifest.file
        for step in manifest.steps:
            yield from (file.source for file in step.files)
            yield from (rule.cocci for rule in step.rules)
