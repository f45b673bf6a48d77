# SPDX-License-Identifier: GPL-2.0-only
"""Link kernel objects, base and patched, into one process.

The objects of each side are joined, keep only the functions that the bench calls, and get
names of their own ("FUNCTION__patched0"), so that all sides live side by side.
Where a loop lies within a cache line of code can change its speed by more than a patch does,
and in a real kernel it is chance; so each side is there once for each place that the kernel's
16-byte alignment of functions allows, and the engine goes from one to the next.
Every kernel symbol that is left undefined gets a page that must not be touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from mmbatch.core import process
from mmbatch.core.errors import MmbatchError
from mmbatch.hosted.posted import PostedSide, entry_missing
from mmbatch.kernel import kbuild
from mmbatch.splice.manifest import Hosted

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

PROGRAM = "hosted"

ASSEMBLED = COPIES[0]
"""An object that the kernel makes from an assembly file."""

FUZZ_PROGRAMS = {"clang": "clang"}
"""What linking a fuzzer takes besides, and its Debian package; libclang-rt-dev has libFuzzer."""

_SIDES = ("base", "control", "patched")
_LAYOUTS = 4
_LAYOUT_STEP = 16
_CODE_SECTIONS = (".text", ".ref.text")
_OURS = re.compile(r"^(hosted_|__asan_|__ubsan_|__sanitizer_cov_)")
_LIBASAN = re.compile(r"^mem(cpy|set|move)$")
_QUIET = ("-Wno-missing-prototypes", "-Wno-missing-declarations", "-Wno-unused-function")
_SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
# The kernel allows unaligned words on x86, and has no UBSAN_ALIGNMENT there.
SANITIZE_KERNEL = (
    *(*_SANITIZE, "-fno-sanitize=alignment"),
    *("--param", "asan-globals=0", "-mpreferred-stack-boundary=4"),
)
_COVER_KERNEL = ("-fsanitize-coverage=trace-pc",)  # as for KCOV


@dataclass(frozen=True)
class Linker:
    """The steps from objects to a program, in a directory of their own.

    Attributes:
        work: the directory; must exist.
        tree: where the tree's own objects are.
        patched: the source tree with the speed-up in it.
        directory: the speed-up's directory.
        hosted: what to link.
        engine: the directory hosted/ of the checkout.
        log: where the tools' words go.
        jobs: how many compilers at a time.
        sanitize: instrument our code and the patched side with ASan and UBSan.
        fuzz: let libFuzzer have the program, and see what the patched side reaches.
        sibling: where the same program was built for another patched tree; what does not
            depend on that tree is taken from there.
        changed: the only file in which `patched` differs from the sibling's tree.
        posted: sides of somebody else's patches, besides ours.
    """

    work: Path
    tree: kbuild.ObjectTree
    patched: Path
    directory: Path
    hosted: Hosted
    engine: Path
    log: Path
    jobs: int
    _: KW_ONLY
    sanitize: bool = False
    fuzz: bool = False
    sibling: Path | None = None
    changed: str | None = None
    posted: Sequence[PostedSide] = ()

    def build(self) -> Path:
        """Make the program and return its path."""
        kernel_options = SANITIZE_KERNEL if self.sanitize else ()
        own = [self.directory / name for name in self.hosted.own]
        tree_sources = [self._source(name) for name in (*self.hosted.objects, *self.hosted.added)]
        base = [self.tree.path / name for name in self.hosted.objects]
        if not self.sibling:
            base += self._compile("base", own)
        patched = self._patched(
            [*tree_sources, *own], (*kernel_options, *(_COVER_KERNEL if self.fuzz else ()))
        )
        sides = [
            self._side(side, layout, patched if side == "patched" else base)
            for layout in range(_LAYOUTS)
            for side in _SIDES
        ]
        for number, posted_side in enumerate(self.posted):
            names = [*self.hosted.objects, *self.hosted.own]
            unchanged = [
                path
                for name, path in zip(names, base, strict=True)
                if name not in posted_side.compiled
            ]
            objects = [*unchanged, *posted_side.compiled.values()]
            sides += [
                self._side(f"posted{number}_", layout, objects, posted_side)
                for layout in range(_LAYOUTS)
            ]
        self._write_posted()
        shared = [
            self.tree.path / name
            for name in (*self.hosted.shared, *ENGINE_OBJECTS)
            if not (self.sanitize and name in COPIES)
        ]
        self._write_wanted([*sides, *shared])
        shim = self._shim(
            [
                *sorted((self.engine / "kernel").glob("*.c")),
                *(path for path in sorted(self.directory.glob("*.c")) if path not in own),
            ],
            (*kernel_options, *_QUIET, f"-I{self.engine / 'include'}", f"-I{self.work}"),
        )
        self._run(["ld", "-r", "-z", "noexecstack", "-o", "all.o", *shim, *sides, *shared])
        self._write_stubs(self.work / "all.o")
        self._run(["as", "-o", "stubs.o", "stubs.S"])
        script = self.engine / "hosted.lds"
        self._run(
            ["ld", "-r", "-z", "noexecstack", "-T", script, "-o", "kernel.o", "all.o", "stubs.o"]
        )
        # libFuzzer has a function of this name, which does nothing.
        reached = "--redefine-sym=__sanitizer_cov_trace_pc=hosted_reached"
        self._run(["objcopy", reached, "kernel.o"])
        self._run(["objcopy", "--wildcard", "--keep-global-symbol=hosted_*", "kernel.o"])
        self._link_host()
        return self.work / PROGRAM

    def _patched(self, files: list[Path], options: tuple[str, ...]) -> list[Path]:
        """Compile the patched side. A sibling has what a changed source file leaves as it is."""
        changed = self.patched / self.changed if self.changed else None
        if self.sibling is None or changed not in files:
            return self._compile("patched", files, other_source=self.patched, options=options)
        (mutated,) = self._compile("patched", [changed], other_source=self.patched, options=options)
        return [
            mutated if file == changed else self.sibling / f"patched-{file.stem}.o"
            for file in files
        ]

    def _link_host(self) -> None:
        """Compile the host half and link both, by clang if libFuzzer is to have main()."""
        host = self.engine / "host"
        options = (
            *("-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter"),
            *("-no-pie", f"-I{self.engine / 'include'}", f"-I{host}", f"-I{self.work}"),
        )
        linking = ("-Wl,-z,noexecstack", "-Wl,--no-warn-rwx-segments", "-o", PROGRAM)
        files = sorted(host.glob("*.c"))
        if self.fuzz:
            files = [path for path in files if path.name != "main.c"]
            files += sorted((self.engine / "fuzz").glob("*.c"))
        instrument = _SANITIZE if self.sanitize else ()

        def compile_file(path: Path) -> Path:
            output = Path(f"host-{path.stem}.o")
            if self.sibling:
                return self.sibling / output
            self._run(["gcc", *options, *instrument, "-c", path, "-o", output])
            return output

        with ThreadPoolExecutor(self.jobs) as pool:
            objects = [*pool.map(compile_file, files), Path("kernel.o")]
        if self.fuzz:
            self._run(["clang", "-fsanitize=fuzzer", "-no-pie", *linking, *objects])
        else:
            static = () if self.sanitize else ("-static",)
            self._run(["gcc", "-no-pie", *instrument, *static, *linking, *objects])

    def _shim(self, files: list[Path], options: tuple[str, ...]) -> list[Path]:
        """Compile our kernel half, unless a sibling that misses the same symbols has it."""
        wanted = (self.work / "wanted.h").read_bytes()
        if self.sibling and (self.sibling / "wanted.h").read_bytes() == wanted:
            return [self.sibling / f"shim-{path.stem}.o" for path in files]
        return self._compile("shim", files, options=options)

    def _source(self, name: str) -> Path:
        """Return the file in the spliced tree that an object is made from."""
        assembly = (self.patched / name).with_suffix(".S")
        return assembly if assembly.exists() else assembly.with_suffix(".c")

    def _run(self, argv: list[str | Path]) -> None:
        process.run(argv, action="link the hosted program", cwd=self.work, log=self.log)

    def _compile(
        self,
        side: str,
        files: Iterable[Path],
        *,
        other_source: Path | None = None,
        options: tuple[str, ...] = (),
    ) -> list[Path]:
        """Compile files like an object of the tree, or with the headers of a copy of it."""

        def compile_file(file: Path) -> Path:
            output = self.work / f"{side}-{file.stem}.o"
            kbuild.compile_like(
                self.tree,
                ASSEMBLED if file.suffix == ".S" else self.hosted.like,
                file,
                output,
                other_source=other_source,
                options=options,
                log=self.log,
            )
            return output

        with ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(compile_file, files))

    def _write_posted(self) -> None:
        """Write the header that tells both halves of the engine which posted sides there are."""
        sides = range(len(self.posted))
        names = [f"fn##__posted{side}_{layout}" for side in sides for layout in range(_LAYOUTS)]
        declared = f"extern typeof(fn) {', '.join(names)};" if names else ""
        entries = "".join(f" [HOSTED_POSTED + {i}] = &fn##__posted{i}_##layout," for i in sides)
        labels = ", ".join(f'"{posted_side.label}"' for posted_side in self.posted)
        lines = [
            f"#define HOSTED_NR_POSTED {len(self.posted)}",
            f"#define HOSTED_POSTED_LABELS {labels}",
            f"#define HOSTED_DECLARE_POSTED(fn) {declared}",
            f"#define HOSTED_POSTED_SIDES(fn, layout){entries}",
        ]
        (self.work / "posted.h").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _side(
        self, side: str, layout: int, objects: list[Path], posted: PostedSide | None = None
    ) -> Path:
        """Join a side's objects, shift their code, and give its entries names of their own."""
        output = self.work / f"side-{side}{layout}.o"
        if self.sibling and side != "patched":
            return self.sibling / output.name
        pad = self.work / f"pad{layout}.o"
        if not pad.exists():
            lines = (
                f'.section {section},"ax"\n.balign 64\n.fill {layout * _LAYOUT_STEP}, 1, 0x90\n'
                for section in _CODE_SECTIONS
            )
            pad.with_suffix(".S").write_text("".join(lines), encoding="utf-8")
            self._run(["as", "-o", pad, pad.with_suffix(".S")])
        self._run(["ld", "-r", "-z", "noexecstack", "-o", output, pad, *objects])
        if posted is not None and posted.renamed:
            names = symbols(output, defined=True)
            new = [(old, new) for old, new in posted.renamed.items() if new in names]
            renamed = [f"--redefine-sym={new}={old}" for old, new in new if old not in names]
            self._run(["objcopy", *renamed, output])
        entries = list(self.hosted.entries)
        if side == "patched":
            entries += self.hosted.extras
        missing = set(entries) - symbols(output, defined=True)
        if missing and posted is not None:
            raise entry_missing(posted, sorted(missing))
        if missing:
            raise MmbatchError(
                f"link the {side} side of the hosted program",
                f"its objects do not define {', '.join(sorted(missing))}",
                "correct [hosted] in speedup.toml",
            )
        aligned = (f"--set-section-alignment={section}=4096" for section in _CODE_SECTIONS)
        keep = (f"--keep-global-symbol={name}" for name in entries)
        self._run(["objcopy", *aligned, *keep, output])
        renames = (f"--redefine-sym={name}={name}__{side}{layout}" for name in entries)
        self._run(["objcopy", *renames, output])
        return output

    def _write_wanted(self, objects: list[Path]) -> None:
        """Write for the shim which symbols the objects need and which they have."""
        defined = set().union(*(symbols(path, defined=True) for path in objects))
        wanted = set().union(*(symbols(path, defined=False) for path in objects)) - defined
        lines = [f"#define WANTED_{name} 1\n" for name in sorted(wanted) if name.isidentifier()]
        lines += [f"#define DEFINED_{name} 1\n" for name in sorted(defined) if name.isidentifier()]
        (self.work / "wanted.h").write_text("".join(lines), encoding="utf-8")

    def _write_stubs(self, joined: Path) -> None:
        """Give each undefined kernel symbol a page of its own, and a list of their names."""
        names = sorted(
            name
            for name in symbols(joined, defined=False)
            if not _OURS.match(name) and not (self.sanitize and _LIBASAN.match(name))
        )
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


def symbols(path: Path, *, defined: bool) -> set[str]:
    """Return the global symbols that an object defines, or those that it leaves undefined."""
    option = "--defined-only" if defined else "--undefined-only"
    action = f"read the symbols of {path.name}"
    output = process.run(["nm", "-g", "-j", option, path], action=action).stdout
    return set(output.split())
