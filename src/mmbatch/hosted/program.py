# SPDX-License-Identifier: GPL-2.0-only
"""Build a speed-up's hosted program: kernel objects, base and patched, in one process.

The objects of each side are joined, keep only the functions that the bench calls, and get
names of their own ("FUNCTION__patched0"), so that all sides live side by side.
Where a loop lies within a cache line of code can change its speed by more than a patch does,
and in a real kernel it is chance; so each side is there once for each place that the kernel's
16-byte alignment of functions allows, and the engine goes from one to the next.
Every kernel symbol that is left undefined gets a page that must not be touched.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from mmbatch.core import cache, log, paths, process
from mmbatch.core.errors import ExitCode, MmbatchError, suggestion
from mmbatch.hosted import posted as hosted_posted
from mmbatch.hosted.posted import PostedSide, source_of
from mmbatch.kernel import kbuild
from mmbatch.kernel.sources import Source
from mmbatch.splice import apply
from mmbatch.splice.apply import Spliced
from mmbatch.splice.manifest import Hosted, Manifest
from mmbatch.splice.posted import PostedTree

COPIES = (
    "arch/x86/lib/memcpy_64.o",
    "arch/x86/lib/memmove_64.o",
    "arch/x86/lib/memset_64.o",
)
ENGINE_OBJECTS = (
    "arch/x86/kernel/fpu/core.o",
    "kernel/softirq.o",
    *COPIES,
    "arch/x86/lib/usercopy_64.o",
    "lib/string.o",
    "lib/string_helpers.o",
)
"""What every hosted program links: copies, and what kernel_fpu_begin() and _end() cost."""

_INSTRUMENTED = "instrumented code calls a runtime that only a booted kernel has"
_REQUIRES = {
    "CONFIG_64BIT=y": "the engine is for x86-64 only",
    "CONFIG_SMP=y": "the engine reaches per-CPU variables as an SMP kernel does",
    "CONFIG_NUMA=y": "the simulated machine has two nodes",
    "CONFIG_SPARSEMEM_VMEMMAP=y": "the memmap is one array in the process",
    "CONFIG_KASAN=n": _INSTRUMENTED,
    "CONFIG_KCSAN=n": _INSTRUMENTED,
    "CONFIG_KMSAN=n": _INSTRUMENTED,
}
_LAYOUTS = 4
_LAYOUT_STEP = 16
_CODE_SECTIONS = (".text", ".ref.text")
_OURS = re.compile(r"^(hosted_|__asan_|__ubsan_|__sanitizer_cov_)")
_LIBASAN = re.compile(r"^mem(cpy|set|move)$")
_QUIET = ("-Wno-missing-prototypes", "-Wno-missing-declarations", "-Wno-unused-function")
_SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
# The kernel allows unaligned words on x86, and has no UBSAN_ALIGNMENT there.
SANITIZED = (
    *(*_SANITIZE, "-fno-sanitize=alignment"),
    *("--param", "asan-globals=0", "-mpreferred-stack-boundary=4"),
)
_COVER_KERNEL = ("-fsanitize-coverage=trace-pc",)  # as for KCOV
_LD = ("ld", "-r", "-z", "noexecstack")


@dataclass(frozen=True)
class Program:
    """The hosted program of a speed-up on one kernel, in one of the ways to build it."""

    source: Source
    manifests: Sequence[Manifest]  # the speed-up, after those that it needs
    options: tuple[str, ...] = ()  # configuration, "CONFIG_X=y" each, over that of the engine
    jobs: int = field(default_factory=process.cpus)
    sanitize: bool = False  # ASan and UBSan in our code, in the patched side and in posted ones
    fuzz: bool = False  # libFuzzer in place of the engine's main()
    posted: Sequence[PostedTree] = ()  # each becomes a side of its own
    renamed: Mapping[str, str] = field(default_factory=dict)  # function to its name in these
    tree: Spliced | None = None  # the kernel with the speed-up in it, where that exists already

    @property
    def manifest(self) -> Manifest:
        """The speed-up."""
        return self.manifests[-1]

    @property
    def name(self) -> str:
        """The speed-up and the kernel, for people."""
        return f"{self.manifest.speedup} on {self.source.release}"

    @property
    def hosted(self) -> Hosted:
        """What is linked."""
        assert self.manifest.hosted is not None, f"{self.manifest.file} has no [hosted]"
        return self.manifest.hosted

    @property
    def linked(self) -> tuple[str, ...]:
        """All objects of the kernel that it links."""
        return (*self.hosted.objects, *self.hosted.shared, *ENGINE_OBJECTS)

    def like(self, file: Path) -> str:
        """Return the object whose compiler command a file is compiled with."""
        return COPIES[0] if file.suffix == ".S" else self.hosted.like

    @property
    def own(self) -> list[Path]:
        """C files of the harness that are compiled once for each side."""
        return [self.manifest.directory / name for name in self.hosted.own]

    @cached_property
    def spliced(self) -> Spliced:
        """The kernel with the speed-ups in it."""
        return self.tree or apply.splice(self.source, self.manifests)

    @cached_property
    def objects(self) -> kbuild.ObjectTree:
        """The kernel's own objects."""
        fragment, requires = paths.HOSTED / "kernel.config", {**_REQUIRES, **self.hosted.requires}
        return kbuild.configure(
            self.source, fragment, self.options, self.linked, self.jobs, requires
        )

    @cached_property
    def sides(self) -> list[PostedSide]:
        """What posted code changes.

        Raises:
            NoEffectError: it changes nothing. No tree with the speed-up in it is made before.
        """
        for name in self.renamed:
            if name not in self.hosted.entries:
                raise MmbatchError(
                    f"call another function for {name}()",
                    "the harness does not call it",
                    suggestion(name, self.hosted.entries, "functions"),
                    ExitCode.USAGE,
                )
        if not self.posted:
            return []
        hosted_posted.require_touched(self.linked, self.posted)
        return hosted_posted.compile_sides(self, SANITIZED if self.sanitize else ())

    @cached_property
    def path(self) -> Path:
        """The program, from the cache or built now.

        Raises:
            MmbatchError: something could not be built; the log is named.
        """
        kind = "sanitized" if self.sanitize else "fuzzed" if self.fuzz else "hosted"
        kind = f"posted-{kind}" if self.sides else kind
        prefix = f"{kind}-{self.manifest.speedup}-{self.source.ident}"
        # The objects' name depends on the compiler that made base; patched is made by the same.
        parts = [self.objects.path.name, self.spliced.ident, str(self.linked)]
        parts += [kbuild.toolchain("clang").identity] if self.fuzz else []
        parts += [f"{side.label} {side.ident} {dict(self.renamed)}" for side in self.sides]
        files = [path for path in paths.HOSTED.rglob("*") if path.suffix in (".c", ".h", ".lds")]
        files += [*self.manifest.directory.glob("*.[ch]"), Path(__file__), Path(kbuild.__file__)]
        digest = hashlib.sha256("\n".join(parts).encode())
        for path in sorted(files):
            digest.update(path.read_bytes())
        final = cache.builds() / f"{prefix}-{digest.hexdigest()[:12]}"

        def fill(work: Path) -> None:
            log.say(f"linking base and patched {self.manifest.speedup} into one process")
            file = cache.logs() / f"{final.name}.log"
            _Link(self, work, file, self.spliced.path, self.jobs).run()

        doing = f"builds the hosted program of {self.manifest.speedup}"
        cache.provide(final, fill, doing, lock=prefix)
        return final / "hosted"

    def mutant(self, work: Path, patched: Path, changed: str) -> Path:
        """Link it in a directory for another tree, in which only the file `changed` differs."""
        jobs = self.jobs if self.fuzz else 1  # several mutants are linked at a time
        return _Link(
            self, work, work / "mutant.log", patched, jobs, self.path.parent, changed
        ).run()


@dataclass(frozen=True)
class _Link:
    """The steps from objects to a program, in a directory of their own.

    What does not depend on the tree `patched` is taken from a `sibling`, where the same program
    was linked for a tree that differs in one file only, `changed`.
    """

    program: Program
    work: Path
    log: Path
    patched: Path
    jobs: int
    sibling: Path | None = None
    changed: str = ""

    def run(self) -> Path:
        """Make the program and return its path."""
        program, hosted = self.program, self.program.hosted
        options = SANITIZED if program.sanitize else ()
        base = [program.objects.path / name for name in hosted.objects]
        base += self._compile("base", program.own, self.sibling)
        files = [source_of(self.patched, name) for name in (*hosted.objects, *hosted.added)]
        files += program.own
        is_alone = self.patched / self.changed in files  # a header could change every object
        patched = self._compile(
            "patched",
            files,
            self.sibling if is_alone else None,
            (*options, *(_COVER_KERNEL if program.fuzz else ())),
            other_source=self.patched,
        )
        sides: list[tuple[str, list[Path], PostedSide | None]] = []
        sides += [("base", base, None), ("control", base, None), ("patched", patched, None)]
        for number, posted in enumerate(program.sides):
            held = dict(zip([*hosted.objects, *hosted.own], base, strict=True))
            held.update(posted.compiled)
            sides.append((f"posted{number}_", list(held.values()), posted))
        objects = [self._side(layout, *side) for layout in range(_LAYOUTS) for side in sides]
        objects += [
            program.objects.path / name
            for name in (*hosted.shared, *ENGINE_OBJECTS)
            if not (program.sanitize and name in COPIES)
        ]
        self._write_posted()
        wanted = self._wanted(objects)
        (self.work / "wanted.h").write_text(wanted, encoding="utf-8")
        files = sorted((paths.HOSTED / "kernel").glob("*.c"))
        files += sorted({*program.manifest.directory.glob("*.c")} - {*program.own})
        is_kept = self.sibling and (self.sibling / "wanted.h").read_text(encoding="utf-8") == wanted
        shim = self._compile(
            "shim",
            files,
            self.sibling if is_kept else None,
            (*options, *_QUIET, f"-I{paths.HOSTED / 'include'}", f"-I{self.work}"),
        )
        self._run([*_LD, "-o", "all.o", *shim, *objects])
        self._assemble("stubs", self._stubs(self.work / "all.o"))
        script = paths.HOSTED / "hosted.lds"
        self._run([*_LD, "-T", script, "-o", "kernel.o", "all.o", "stubs.o"])
        # libFuzzer has a function of this name, which does nothing.
        reached = "--redefine-sym=__sanitizer_cov_trace_pc=hosted_reached"
        self._run(["objcopy", reached, "kernel.o"])
        self._run(["objcopy", "--wildcard", "--keep-global-symbol=hosted_*", "kernel.o"])
        self._link_host()
        return self.work / "hosted"

    def _run(self, argv: list[str | Path]) -> None:
        process.run(argv, action="link the hosted program", cwd=self.work, log=self.log)

    def _assemble(self, name: str, lines: Iterable[str]) -> Path:
        source, output = self.work / f"{name}.S", self.work / f"{name}.o"
        source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        self._run(["as", "-o", output, source])
        return output

    def _compile(
        self,
        side: str,
        files: Iterable[Path],
        kept: Path | None,
        options: tuple[str, ...] = (),
        *,
        other_source: Path | None = None,
    ) -> list[Path]:
        """Compile files like an object of the tree, or with the headers of a copy of it.

        Objects of files other than the changed one are taken from the directory `kept`.
        """

        def compile_file(file: Path) -> Path:
            output = f"{side}-{file.stem}.o"
            if kept and file != self.patched / self.changed:
                return kept / output
            kbuild.compile_like(
                *(self.program.objects, self.program.like(file), file, self.work / output),
                other_source=other_source,
                options=options,
                log=self.log,
            )
            return self.work / output

        with ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(compile_file, files))

    def _side(self, layout: int, side: str, objects: list[Path], posted: PostedSide | None) -> Path:
        """Join a side's objects, shift their code, and give its entries names of their own."""
        output, hosted = self.work / f"side-{side}{layout}.o", self.program.hosted
        if self.sibling and side != "patched":
            return self.sibling / output.name
        fill = f".balign 64\n.fill {layout * _LAYOUT_STEP}, 1, 0x90"
        pad = self._assemble(f"pad{layout}", (f'.section {s},"ax"\n{fill}' for s in _CODE_SECTIONS))
        self._run([*_LD, "-o", output, pad, *objects])
        defined = kbuild.symbols(output, "--defined-only")
        entries = [*hosted.entries, *(hosted.extras if side == "patched" else ())]
        named = {
            name: name if name in defined else self.program.renamed.get(name, name)
            for name in entries
        }
        missing = sorted(name for name in named if named[name] not in defined)
        if missing and posted:
            raise hosted_posted.entry_missing(posted, missing)
        if missing:
            raise MmbatchError(
                f"link the {side} side of the hosted program",
                f"its objects do not define {', '.join(missing)}",
                f"correct [hosted] in {self.program.manifest.file}",
            )
        words = [f"--set-section-alignment={section}=4096" for section in _CODE_SECTIONS]
        for section in _CODE_SECTIONS:  # which messages about faults look for
            mark = f"hosted_code_{side}{layout}{'_ref' if section != '.text' else ''}"
            words += [f"--add-symbol={mark}={section}:0,global", f"--keep-global-symbol={mark}"]
        for name, own in named.items():
            new = f"{name}__{side}{layout}"
            words += [f"--redefine-sym={own}={new}", f"--keep-global-symbol={new}"]
        self._run(["objcopy", *words, output])
        return output

    def _write_posted(self) -> None:
        """Write the header that tells both halves of the engine which posted sides there are."""
        sides = range(len(self.program.sides))
        names = [f"fn##__posted{side}_{layout}" for side in sides for layout in range(_LAYOUTS)]
        declared = f"extern typeof(fn) {', '.join(names)};" if names else ""
        entries = "".join(f" [HOSTED_POSTED + {i}] = &fn##__posted{i}_##layout," for i in sides)
        labels = ", ".join(f'"{side.label}"' for side in self.program.sides)
        lines = [
            f"#define HOSTED_NR_POSTED {len(self.program.sides)}",
            f"#define HOSTED_POSTED_LABELS {labels}",
            f"#define HOSTED_DECLARE_POSTED(fn) {declared}",
            f"#define HOSTED_POSTED_SIDES(fn, layout){entries}",
        ]
        (self.work / "posted.h").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _wanted(self, objects: list[Path]) -> str:
        """Return a header for the shim: which symbols the objects need and which they have."""
        defined = kbuild.symbols(*objects, "--defined-only")
        wanted = kbuild.symbols(*objects, "--undefined-only") - defined
        lines = [f"#define WANTED_{name} 1\n" for name in sorted(wanted) if name.isidentifier()]
        lines += [f"#define DEFINED_{name} 1\n" for name in sorted(defined) if name.isidentifier()]
        return "".join(lines)

    def _stubs(self, joined: Path) -> list[str]:
        """Return a page for each undefined kernel symbol, and a list of their names."""
        names = sorted(
            name
            for name in kbuild.symbols(joined, "--undefined-only")
            if not _OURS.match(name) and not (self.program.sanitize and _LIBASAN.match(name))
        )
        return [
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

    def _link_host(self) -> None:
        """Compile the host half and link both, by clang if libFuzzer is to have main()."""
        program, host = self.program, paths.HOSTED / "host"
        options = (
            *("-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter"),
            *("-no-pie", f"-I{paths.HOSTED / 'include'}", f"-I{host}", f"-I{self.work}"),
        )
        linking = ("-Wl,-z,noexecstack", "-Wl,--no-warn-rwx-segments", "-o", "hosted")
        files = sorted(host.glob("*.c"))
        if program.fuzz:
            files = [path for path in files if path.name != "main.c"]
            files += (paths.HOSTED / "fuzz").glob("*.c")
        instrument = _SANITIZE if program.sanitize else ()
        place = (self.sibling or self.work) / "host"
        if not self.sibling:
            place.mkdir()
            compiler = ["gcc", *options, *instrument, "-c", *files]
            process.run(compiler, action="compile the engine", cwd=place, log=self.log)
        objects = [*(place / f"{path.stem}.o" for path in files), Path("kernel.o")]
        if program.fuzz:
            self._run(["clang", "-fsanitize=fuzzer", "-no-pie", *linking, *objects])
        else:
            static = () if program.sanitize else ("-static",)
            self._run(["gcc", "-no-pie", *instrument, *static, *linking, *objects])
