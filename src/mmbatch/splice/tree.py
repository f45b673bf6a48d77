# SPDX-License-Identifier: GPL-2.0-only
"""Keep copies of kernel trees that have speed-ups in them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import cache, log, paths, process
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel.sources import Source
from mmbatch.splice import apply, edits, spatch
from mmbatch.splice.manifest import Manifest

_RECORD = ".mmbatch-splice.json"


@dataclass(frozen=True)
class Spliced:
    """A tree with the speed-up in it; `files` are those that it wrote."""

    path: Path
    ident: str
    files: tuple[str, ...]


def splice(source: Source, manifests: Sequence[Manifest]) -> Spliced:
    """Return a copy of a tree with speed-ups in it, from the cache when nothing has changed.

    Its files are hard links to those of the source's tree, which lies in the cache as well; a
    file is never written in place. For a harness, the tree itself is returned.
    """
    apply.require_series(manifests, source.series, source.release)
    ident = f"{source.ident}-{_digest(source, manifests)}"
    if all(manifest.is_harness for manifest in manifests):
        return Spliced(source.path, ident, ())

    def fill(work: Path) -> None:
        if any(apply.is_applied(source.path, source.series, held) for held in manifests):
            raise MmbatchError(
                f"splice {manifests[-1].speedup} into Linux {source.release}",
                f"the tree has it already, or what it needs ({source.origin})",
                "give the tree as it was before: base and patched are both made from that",
                ExitCode.USAGE,
            )
        log.say(f"splicing {manifests[-1].speedup} into Linux {source.release}")
        copy = f"copy the tree of Linux {source.release}"
        process.run(["cp", "-al", f"{source.path}/.", work], action=copy)
        steps = apply.apply_steps(work, source.series, manifests)
        names = sorted({name for step in steps for name in step.contents})
        (work / _RECORD).write_text(json.dumps(names))

    final = cache.provide(
        cache.splices() / ident,
        fill,
        f"splices {source.release}",
        lock=f"splice-{source.ident}",
    )
    return Spliced(final, ident, tuple(json.loads((final / _RECORD).read_text())))


def _digest(source: Source, manifests: Sequence[Manifest]) -> str:
    """Return a short hash of all that the spliced tree is made from."""
    total = hashlib.sha256(f"{source.state} {spatch.program()}".encode())
    steps = [step for manifest in manifests for step in manifest.steps]
    inputs = [paths.MACROS, *(Path(str(module.__file__)) for module in (apply, edits, spatch))]
    inputs += [manifest.file for manifest in manifests]
    inputs += [file.source for step in steps for file in step.files]
    inputs += [rule.cocci for step in steps for rule in step.rules]
    for path in inputs:
        total.update(path.name.encode() + path.read_bytes())
    total.update("".join(edit.text for step in steps for edit in step.edits).encode())
    return total.hexdigest()[:12]
