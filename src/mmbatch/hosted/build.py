# SPDX-License-Identifier: GPL-2.0-only
"""Get a speed-up's hosted program for a kernel: from the cache, or built and kept there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from mmbatch.core import process
from mmbatch.core.cache import Cache
from mmbatch.core.disk import is_whole
from mmbatch.core.errors import ExitCode, MmbatchError, suggestion
from mmbatch.hosted import link as hosted_link
from mmbatch.hosted import posted as hosted_posted
from mmbatch.hosted.link import ENGINE_OBJECTS, FUZZ_PROGRAMS, PROGRAM, SANITIZE_KERNEL, Linker
from mmbatch.hosted.posted import PostedSide
from mmbatch.kernel import kbuild
from mmbatch.kernel.sources import Source
from mmbatch.splice.manifest import Hosted, Manifest
from mmbatch.splice.posted import PostedTree
from mmbatch.splice.trees import Spliced

_INSTRUMENTED = "instrumented code calls a runtime that only a booted kernel has"
REQUIRES = {
    "CONFIG_64BIT=y": "the engine is for x86-64 only",
    "CONFIG_SMP=y": "the engine reaches per-CPU variables as an SMP kernel does",
    "CONFIG_NUMA=y": "the simulated machine has two nodes",
    "CONFIG_SPARSEMEM_VMEMMAP=y": "the memmap is one array in the process",
    "CONFIG_KASAN=n": _INSTRUMENTED,
    "CONFIG_KCSAN=n": _INSTRUMENTED,
    "CONFIG_KMSAN=n": _INSTRUMENTED,
}
"""What any hosted program needs of a kernel's configuration, and why."""


@dataclass(frozen=True)
class Program:
    """A hosted program, ready to run.

    Attributes:
        path: the program.
        config_sha256: digest of the .config that its objects were built with.
        compiler: first line of the `--version` of the compiler that built base and patched.
        binutils: that of the assembler.
        posted: the posted sides that are in it.
    """

    path: Path
    config_sha256: str
    compiler: str
    binutils: str = ""
    posted: Sequence[PostedSide] = ()


def build(
    cache: Cache,
    source: Source,
    spliced: Spliced,
    manifest: Manifest,
    engine: Path,
    options: tuple[str, ...],
    jobs: int,
    say: Callable[[str], None],
    *,
    sanitize: bool = False,
    fuzz: bool = False,
    posted: Sequence[PostedTree] = (),
    renamed: Mapping[str, str] = MappingProxyType({}),
) -> Program:
    """Return a speed-up's hosted program for a kernel, from the cache when nothing changed.

    Args:
        cache: where all is kept.
        source: the kernel as it is.
        spliced: the same with the speed-up in it.
        manifest: the speed-up.
        engine: the directory hosted/ of the checkout.
        options: configuration, "CONFIG_X=y" each, over that of the engine.
        jobs: how many compilers at a time.
        say: told of each phase.
        sanitize: with ASan and UBSan in our code, in the patched side and in posted ones.
        fuzz: with libFuzzer, instead of the engine's own main().
        posted: trees of somebody else's patches, each of which becomes a side of its own.
        renamed: function of the harness to the name that it has in some of these.

    Raises:
        MmbatchError: something could not be built; the log is named.
    """
    tree = objects(cache, source, manifest, engine, options, jobs, say)
    inputs = [
        *sorted(p for p in engine.rglob("*") if p.suffix in (".c", ".h", ".lds")),
        *manifest.directory.glob("*.[ch]"),
    ]
    # The tree's name depends on the compiler that made base; patched is made by the same one.
    linked = linked_objects(_hosted(manifest))
    digest = hashlib.sha256(f"{tree.path.name} {spliced.ident} {linked}".encode())
    if fuzz:
        digest.update(process.toolchain(*FUZZ_PROGRAMS).identity.encode())
    for path in (*inputs, *map(Path, (__file__, hosted_link.__file__, kbuild.__file__))):
        digest.update(path.read_bytes())
    sides = compile_posted(
        *(cache, source, manifest, engine, options, jobs, say),
        posted=posted,
        renamed=renamed,
        sanitize=sanitize,
    )
    for side in sides:
        digest.update(f" {side.label} {side.ident} {dict(renamed)}".encode())
    kind = "sanitized" if sanitize else "fuzzed" if fuzz else "hosted"
    kind = f"posted-{kind}" if sides else kind
    prefix = f"{kind}-{manifest.speedup}-{source.ident}"
    final = cache.builds / f"{prefix}-{digest.hexdigest()[:12]}"
    log = cache.logs / f"{final.name}.log"

    def fill(work: Path) -> None:
        say(f"linking base and patched {manifest.speedup} into one process")
        link(
            *(work, tree, spliced.path, manifest, engine, jobs, log),
            sanitize=sanitize,
            fuzz=fuzz,
            posted=sides,
        )

    doing = f"builds the hosted program of {manifest.speedup}"
    cache.provide(final, fill, doing, say, lock=prefix, keep_few=True, check=_is_good)
    return Program(final / PROGRAM, tree.config_sha256, tree.compiler, tree.binutils, sides)


def _is_good(place: Path, say: Callable[[str], None]) -> bool:
    """Return whether a hosted program is whole and a program: a shell would run anything else."""
    if not is_whole(place, say):
        return False
    with (place / PROGRAM).open("rb") as file:
        good = file.read(4) == b"\x7fELF"
    if not good:
        say(f"{place} has a damaged {PROGRAM}: replacing it")
    return good


def compile_posted(
    cache: Cache,
    source: Source,
    manifest: Manifest,
    engine: Path,
    options: tuple[str, ...],
    jobs: int,
    say: Callable[[str], None],
    *,
    posted: Sequence[PostedTree],
    renamed: Mapping[str, str],
    sanitize: bool = False,
) -> list[PostedSide]:
    """Compile what posted code changes of a speed-up's program; see `build`.

    That needs no tree with the speed-up in it, so it is known before one is made whether posted
    code changes anything.

    Raises:
        NoEffectError: it changes nothing.
    """
    hosted = _hosted(manifest)
    linked = linked_objects(hosted)
    _require_entries(hosted, renamed)
    if not posted:
        return []
    hosted_posted.require_touched(linked, posted)
    tree = objects(cache, source, manifest, engine, options, jobs, say)
    own = [manifest.directory / name for name in hosted.own]
    return hosted_posted.compile_sides(
        *(cache, tree, hosted, linked, hosted_link.ASSEMBLED, own, posted, jobs, say),
        options=SANITIZE_KERNEL if sanitize else (),
        renamed=renamed,
    )


def objects(
    cache: Cache,
    source: Source,
    manifest: Manifest,
    engine: Path,
    options: tuple[str, ...],
    jobs: int,
    say: Callable[[str], None],
) -> kbuild.ObjectTree:
    """Return the kernel's own objects that a speed-up's program links; see `build`."""
    hosted = _hosted(manifest)
    names = linked_objects(hosted)
    fragment, requires = engine / "kernel.config", {**REQUIRES, **hosted.requires}
    return kbuild.configure(cache, source, fragment, options, names, jobs, say, requires)


def link(
    work: Path,
    tree: kbuild.ObjectTree,
    patched: Path,
    manifest: Manifest,
    engine: Path,
    jobs: int,
    log: Path,
    *,
    sanitize: bool = False,
    fuzz: bool = False,
    sibling: Path | None = None,
    changed: str | None = None,
    posted: Sequence[PostedSide] = (),
) -> Path:
    """Link a program into a directory and return its path.

    Args:
        work: the directory.
        tree: the kernel's own objects.
        patched: the source tree with the speed-up in it.
        manifest: the speed-up.
        engine: the directory hosted/ of the checkout.
        jobs: how many compilers at a time.
        log: where the tools' words go.
        sanitize: with ASan and UBSan in our code and in the patched side.
        fuzz: with libFuzzer, instead of the engine's own main().
        sibling: where the same program was built for another patched tree; what does not
            depend on that tree is taken from there.
        changed: the only file in which `patched` differs from the sibling's tree.
        posted: sides of somebody else's patches.
    """
    hosted = _hosted(manifest)
    linker = Linker(
        *(work, tree, patched, manifest.directory, hosted, engine, log, jobs),
        sanitize=sanitize,
        fuzz=fuzz,
        sibling=sibling,
        changed=changed,
        posted=posted,
    )
    return linker.build()


def _require_entries(hosted: Hosted, renamed: Iterable[str]) -> None:
    """Raise MmbatchError if a function that has a new name is none that the harness calls."""
    for name in renamed:
        if name not in hosted.entries:
            raise MmbatchError(
                f"call another function for {name}()",
                "the harness does not call it",
                suggestion(name, hosted.entries, "functions"),
                ExitCode.USAGE,
            )


def linked_objects(hosted: Hosted) -> tuple[str, ...]:
    """Return all objects of the kernel that a program links."""
    return (*hosted.objects, *hosted.shared, *ENGINE_OBJECTS)


def _hosted(manifest: Manifest) -> Hosted:
    if manifest.hosted is None:
        raise MmbatchError(
            f"build a hosted program for {manifest.speedup}",
            "its manifest has no [hosted] table",
            "choose another speed-up",
            ExitCode.NOT_APPLICABLE,
        )
    return manifest.hosted
