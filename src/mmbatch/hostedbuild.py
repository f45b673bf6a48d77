# SPDX-License-Identifier: GPL-2.0-only
"""Build a hosted program: kernel objects, base and patched, in one process.

The objects of each side are joined, keep only the functions that the bench calls, and get
names of their own ("memmap_init_zone_device__patched0"), so that all sides live side by side.
Where a loop lies within a cache line of code can change its speed by more than a patch does,
and in a real kernel it is chance; so each side is there once for each place that the kernel's
16-byte alignment of functions allows, and the engine goes from one to the next.
Every kernel symbol that is left undefined gets a page that must not be touched.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mmbatch import kbuild, process
from mmbatch.cache import Cache, atomic_dir
from mmbatch.errors import ExitCode, MmbatchError
from mmbatch.kernels import Source
from mmbatch.manifest import Hosted, Manifest
from mmbatch.splice import Spliced

ENGINE_OBJECTS = (
    "arch/x86/kernel/fpu/core.o",
    "kernel/softirq.o",
    "arch/x86/lib/memcpy_64.o",
    "arch/x86/lib/memmove_64.o",
    "arch/x86/lib/memset_64.o",
    "arch/x86/lib/usercopy_64.o",
    "lib/string.o",
    "lib/string_helpers.o",
)
"""What every hosted program links: copies, and what kernel_fpu_begin() and _end() cost."""

_SIDES = ("base", "control", "patched")
_LAYOUTS = 4
_LAYOUT_STEP = 16
_CODE_SECTIONS = (".text", ".ref.text")
_OURS = re.compile(r"^(hosted_|__asan_|__ubsan_)")
_QUIET = ("-Wno-missing-prototypes", "-Wno-missing-declarations", "-Wno-unused-function")
_PROGRAM = "hosted"


@dataclass(frozen=True)
class Program:
    """A hosted program, ready to run.

    Attributes:
        path: the program.
        config_sha256: digest of the .config that its objects were built with.
    """

    path: Path
    config_sha256: str


def build(
    cache: Cache,
    source: Source,
    spliced: Spliced,
    manifest: Manifest,
    engine: Path,
    options: tuple[str, ...],
    jobs: int,
    say: Callable[[str], None],
) -> Program:
    """Return a speed-up's hosted program for a kernel, from the cache when nothing changed.

    Args:
        cache: where all is kept.
        source: the kernel as it is.
        spliced: the same with the speed-up in it.
        manifest: the speed-up.
        engine: the folder hosted/ of the checkout.
        options: configuration, "CONFIG_X=y" each, over that of the engine.
        jobs: how many compilers at a time.
        say: told of each phase.

    Raises:
        MmbatchError: something could not be built; the log is named.
    """
    hosted = manifest.hosted
    if hosted is None:
        raise MmbatchError(
            f"build a hosted program for {manifest.speedup}",
            "its manifest has no [hosted] table",
            "choose another speed-up",
            ExitCode.NOT_APPLICABLE,
        )
    objects = (*hosted.objects, *hosted.shared, *ENGINE_OBJECTS)
    fragment = engine / "kernel.config"
    tree = kbuild.configure(cache, source, fragment, options, objects, jobs, say)
    inputs = [
        *sorted(p for p in engine.rglob("*") if p.suffix in (".c", ".h", ".lds")),
        *manifest.room.glob("*.[ch]"),
    ]
    digest = hashlib.sha256(f"{tree.path.name} {spliced.ident}".encode())
    for path in (*inputs, Path(__file__)):
        digest.update(path.read_bytes())
    prefix = f"hosted-{manifest.speedup}-{source.ident}"
    final = cache.builds / f"{prefix}-{digest.hexdigest()[:12]}"
    log = cache.logs / f"{final.name}.log"
    with cache.lock(prefix, f"builds the hosted program of {manifest.speedup}", say):
        if not (final / _PROGRAM).exists():
            say(f"linking base and patched {manifest.speedup} into one process")
            for old in cache.builds.glob(f"{prefix}-*"):
                shutil.rmtree(old, ignore_errors=True)
            with atomic_dir(final) as work:
                _Linker(work, tree, spliced, manifest.room, hosted, engine, log, jobs).build()
    return Program(final / _PROGRAM, tree.config_sha256)


class _Linker:
    """The steps from objects to a program, in a folder of their own."""

    def __init__(
        self,
        work: Path,
        tree: kbuild.ObjectTree,
        spliced: Spliced,
        room: Path,
        hosted: Hosted,
        engine: Path,
        log: Path,
        jobs: int,
    ) -> None:
        self.work = work
        self.tree = tree
        self.spliced = spliced
        self.room = room
        self.hosted = hosted
        self.engine = engine
        self.log = log
        self.pool = ThreadPoolExecutor(jobs)

    def build(self) -> None:
        """Make the program."""
        own = [self.room / name for name in self.hosted.own]
        theirs = [
            (self.spliced.path / name).with_suffix(".c")
            for name in (*self.hosted.objects, *self.hosted.added)
        ]
        base = [self.tree.path / name for name in self.hosted.objects]
        base += self._compile("base", own)
        patched = self._compile("patched", [*theirs, *own], other_source=self.spliced.path)
        sides = [
            self._side(side, layout, patched if side == "patched" else base)
            for layout in range(_LAYOUTS)
            for side in _SIDES
        ]
        shared = [self.tree.path / name for name in (*self.hosted.shared, *ENGINE_OBJECTS)]
        self._write_wanted([*sides, *shared])
        shim = self._compile(
            "shim",
            [
                *sorted((self.engine / "kernel").glob("*.c")),
                *(path for path in sorted(self.room.glob("*.c")) if path not in own),
            ],
            options=(*_QUIET, f"-I{self.engine / 'include'}", f"-I{self.work}"),
        )
        self._run(["ld", "-r", "-z", "noexecstack", "-o", "all.o", *shim, *sides, *shared])
        self._write_stubs(self.work / "all.o")
        self._run(["as", "-o", "stubs.o", "stubs.S"])
        script = self.engine / "hosted.lds"
        self._run(
            ["ld", "-r", "-z", "noexecstack", "-T", script, "-o", "kernel.o", "all.o", "stubs.o"]
        )
        self._run(["objcopy", "--wildcard", "--keep-global-symbol=hosted_*", "kernel.o"])
        include = self.engine / "include"
        self._run(
            [
                *("gcc", "-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter"),
                *("-no-pie", "-static", "-Wl,-z,noexecstack", "-Wl,--no-warn-rwx-segments"),
                *(f"-I{include}", f"-I{self.engine / 'host'}", "-o", _PROGRAM),
                *sorted((self.engine / "host").glob("*.c")),
                "kernel.o",
            ]
        )

    def _run(self, argv: list[str | Path]) -> None:
        process.run(argv, tried="link the hosted program", cwd=self.work, log=self.log)

    def _compile(
        self,
        side: str,
        files: Iterable[Path],
        *,
        other_source: Path | None = None,
        options: tuple[str, ...] = (),
    ) -> list[Path]:
        """Compile files like an object of the tree; with headers of a copy of it, if told so."""

        def one(file: Path) -> Path:
            output = self.work / f"{side}-{file.stem}.o"
            kbuild.compile_like(
                self.tree,
                self.hosted.like,
                file,
                output,
                other_source=other_source,
                options=options,
                log=self.log,
            )
            return output

        return list(self.pool.map(one, files))

    def _side(self, side: str, layout: int, objects: list[Path]) -> Path:
        """Join a side's objects, shift their code, and give its entries names of their own."""
        output = self.work / f"side-{side}{layout}.o"
        pad = self.work / f"pad{layout}.o"
        if not pad.exists():
            lines = (
                f'.section {section},"ax"\n.balign 64\n.fill {layout * _LAYOUT_STEP}, 1, 0x90\n'
                for section in _CODE_SECTIONS
            )
            pad.with_suffix(".S").write_text("".join(lines), encoding="utf-8")
            self._run(["as", "-o", pad, pad.with_suffix(".S")])
        self._run(["ld", "-r", "-z", "noexecstack", "-o", output, pad, *objects])
        entries = list(self.hosted.entries)
        if side == "patched":
            entries += self.hosted.extras
        missing = set(entries) - _symbols(output, defined=True)
        if missing:
            raise MmbatchError(
                f"link the {side} side of the hosted program",
                f"its objects do not define {', '.join(sorted(missing))}",
                "correct [hosted] in splice.toml",
            )
        aligned = (f"--set-section-alignment={section}=4096" for section in _CODE_SECTIONS)
        keep = (f"--keep-global-symbol={name}" for name in entries)
        self._run(["objcopy", *aligned, *keep, output])
        renames = (f"--redefine-sym={name}={name}__{side}{layout}" for name in entries)
        self._run(["objcopy", *renames, output])
        return output

    def _write_wanted(self, objects: list[Path]) -> None:
        """Tell the shim which symbols the objects want and which they have."""
        defined = set().union(*(_symbols(path, defined=True) for path in objects))
        wanted = set().union(*(_symbols(path, defined=False) for path in objects)) - defined
        lines = [f"#define WANTED_{name} 1\n" for name in sorted(wanted) if name.isidentifier()]
        lines += [f"#define DEFINED_{name} 1\n" for name in sorted(defined) if name.isidentifier()]
        (self.work / "wanted.h").write_text("".join(lines), encoding="utf-8")

    def _write_stubs(self, joined: Path) -> None:
        """Give each undefined kernel symbol a page of its own, and a list of their names."""
        names = sorted(n for n in _symbols(joined, defined=False) if not _OURS.match(n))
        lines = [
            '.section .hosted_stubs,"aw",@nobits',
            ".balign 4096",
            ".globl hosted_stub_start, hosted_stub_end, hosted_stub_names",
            "hosted_stub_start:",
            *(f".globl {name}\n{name}: .skip 4096" for name in names),
            "hosted_stub_end: .skip 4096",
            ".section .rodata",
            ".balign 8",
            "hosted_stub_names:",
            *(f".quad .Lname{i}" for i in range(len(names))),
            *(f'.Lname{i}: .asciz "{name}"' for i, name in enumerate(names)),
            '.section .note.GNU-stack,"",@progbits',
        ]
        (self.work / "stubs.S").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _symbols(path: Path, *, defined: bool) -> set[str]:
    """Return the global symbols that an object defines, or those that it leaves undefined."""
    which = "--defined-only" if defined else "--undefined-only"
    tried = f"read the symbols of {path.name}"
    output = process.run(["nm", "-g", "-j", which, path], tried=tried).stdout
    return set(output.split())
