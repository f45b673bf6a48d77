# SPDX-License-Identifier: GPL-2.0-only
"""Build a speed-up as a livepatch module, against a kernel's headers.

DKMS runs this for each kernel, with no packages besides Python:
`python3 -m mmbatch.live.build SPEEDUP RELEASE HEADERS OUT`.

The kernel's livepatching resolves the relocations that `convert` writes when the module loads. It
looks among all symbols and not only the exported ones, and refuses a module if one is missing or
not unique. modpost can't write such relocations, so this happens after the link.

Livepatching waits for tasks that have a replacement on their stack. If the compiler turned a
replacement's last call into a jump, the called function runs in the module without that: a task
that sleeps there is not waited for, and the module is freed under it. `require_no_jumps` refuses
such a module.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.disk import atomic_write, temporary_dir
from mmbatch.core.errors import ExitCode, MmbatchError, message
from mmbatch.core.process import Result, run, toolchain
from mmbatch.debian import foreign
from mmbatch.debian.foreign import Compiler
from mmbatch.live import elf, kernel, manifest
from mmbatch.live.elf import (
    SHF_ALLOC,
    SHF_INFO_LINK,
    SHT_RELA,
    Elf,
    Rela,
    Section,
    Symbol,
    pack_relocations,
)
from mmbatch.live.kernel import Headers
from mmbatch.live.manifest import LiveManifest

_TIMEOUT_S = 900
_ENGINE = ("module.c", "fit.c", "count.c", "live.h")
_TOOLS = ("as", "ld", "objcopy")
_QUIET = {"KBUILD_MODPOST_WARN": "1"}  # `convert` handles the symbols that modpost cannot find


Finder = Callable[[Headers], Compiler]
"""Returns the compiler of a kernel."""
SHN_LIVEPATCH = 0xFF20
SHF_RELA_LIVEPATCH = 0x00100000

# Jumps that are safe: to the kernel's own function, which returns to the caller; to a return;
# and to the test of a CPU feature before alternatives are patched, which only jumps back.
_FINE = re.compile(r"(live_original_\w+|__x86_return_thunk|\.altinstr_aux)([-+]0x\w+)?")

_JUMP = re.compile(r"^ +\w+:\t(?:(?:bnd|notrack) )?(?:j[\w,]+|loop\w*) +(\S+)(.*)$")
_RELOCATION = re.compile(r"^\t+\w+: R_X86_64_\w+\t(\S+)$")


@dataclass(frozen=True)
class Module:
    """A module that can be loaded.

    Attributes:
        speedup: name of the speed-up.
        name: of the module.
        path: its file, which nobody removes while this process lives.
        release: of the kernel that it fits.
        built: whether it was built just now.
    """

    speedup: str
    name: str
    path: Path
    release: str
    built: bool


@dataclass(frozen=True)
class _Recipe:
    """What a module is built from.

    Attributes:
        live: the speed-up.
        headers: of the kernel.
        compiler: of the kernel.
        content: path to content of all files.
    """

    live: LiveManifest
    headers: Headers
    compiler: Compiler
    content: Mapping[str, bytes]

    @property
    def file(self) -> str:
        """The name of the module's file."""
        return f"{self.live.module}.ko"

    def make(self, place: Path, log: Path) -> None:
        """Build the module into a directory, which has nothing but its file in the end.

        Raises:
            MmbatchError: no module can be built for this kernel; says why.
        """
        work = place / "build"
        for target, data in self.content.items():
            (work / target).parent.mkdir(parents=True, exist_ok=True)
            (work / target).write_bytes(data)
        _make(self.live, self.headers, self.compiler, work, log)
        atomic_write(place / self.file, _link(self.live, self.headers, work, log))
        shutil.rmtree(work)


def _recipe(live: LiveManifest, engine: Path, headers: Headers, find_compiler: Finder) -> _Recipe:
    live = manifest.of_series(live, headers.series, headers.release)
    manifest.require_config(live, headers.config, headers.release)
    types = headers.types()
    manifest.require_types(live, types, headers.release)
    compiler = find_compiler(headers)
    content = manifest.contents(live, headers.series)
    content |= {f"live/{name}": (engine / name).read_bytes() for name in _ENGINE}
    content["live/live_tables.h"] = manifest.live_tables(live, types).encode()
    content["Kbuild"] = _kbuild(live).encode()
    return _Recipe(live, headers, compiler, content)


def build(
    cache: Cache,
    live: LiveManifest,
    engine: Path,
    headers: Headers,
    find_compiler: Finder,
    say: Callable[[str], None],
) -> Module:
    """Return a module, built in the cache if none was built there of just the same.

    What others build of something else has another directory, so nothing of theirs is replaced.
    `engine` is the directory with the code that all modules share.

    Raises:
        MmbatchError: no module can be built for this kernel; says why.
    """
    recipe = _recipe(live, engine, headers, find_compiler)
    name = f"{live.module}-{headers.release}-{live.until}"
    log = cache.logs / f"{name}.log"
    built = False

    def fill(place: Path) -> None:
        nonlocal built
        say(f"building {live.module} for Linux {headers.release}")
        recipe.make(place, log)
        built = True

    place = cache.live / f"{name}-{_key(recipe)[:12]}"
    cache.provide(place, fill, f"builds {live.module}", say, lock=name, keep_few=True)
    return Module(live.speedup, live.module, place / recipe.file, headers.release, built)


def build_all(
    cache: Cache, lives: Sequence[LiveManifest], release: str, say: Callable[[str], None]
) -> list[Module]:
    """Return the modules of some speed-ups for one kernel, built in the cache.

    Raises:
        MmbatchError: a module can't be built for this kernel; says why.
    """
    for live in lives:  # before anything is fetched
        manifest.of_series(live, kernel.series_of(release), release)
    headers = kernel.find(cache, release, say)

    def find_compiler(chosen: Headers) -> Compiler:
        return foreign.find_compiler(cache, chosen, say)

    return [build(cache, live, paths.LIVE, headers, find_compiler, say) for live in lives]


def main(argv: Sequence[str]) -> int:
    """Build a speed-up's module for one kernel and put it into a directory, for DKMS."""
    if len(argv) != 4:
        sys.stderr.write("usage: mmbatch.live.build SPEEDUP RELEASE HEADERS OUT\n")
        return ExitCode.USAGE
    speedup, release, directory = argv[:3]
    out = Path(argv[3]).resolve()  # make changes the working directory
    place, log = out / f"build-{speedup}", out / f"{speedup}.log"
    try:
        live = manifest.load(paths.SPEEDUPS, speedup)
        headers = kernel.at(Path(directory), release)
        recipe = _recipe(live, paths.LIVE, headers, foreign.installed_compiler)
        shutil.rmtree(place, ignore_errors=True)
        recipe.make(place, log)
    except MmbatchError as error:
        sys.stderr.write(message(error) + "\n")
        return int(error.code)
    shutil.copy(place / recipe.file, out)
    return ExitCode.GOOD


def _kbuild(live: LiveManifest) -> str:
    """Return the makefile of the module."""
    objects = [*live.objects, "live/module.o", "live/fit.o", "live/count.o"]
    # Livepatching looks for a function on stacks, but not for its cold part elsewhere.
    flags = "-fno-reorder-blocks-and-partition"
    steps = "".join(f" -DLIVE_STEP_{name.upper()}" for name in live.steps)
    return (
        "# SPDX-License-Identifier: GPL-2.0-only\n"
        f"obj-m := {live.module}.o\n"
        f"{live.module}-y := {' '.join(objects)}\n"
        f"ccflags-y := {flags} -I$(src)/include -I$(src)/arch/x86/include -I$(src)/live\n"
        f"ccflags-y +={steps}\n"
    )


def _key(recipe: _Recipe) -> str:
    """Return a digest of all that the module is built from."""
    headers, compiler = recipe.headers, recipe.compiler
    tools = toolchain(compiler.program, *_TOOLS)
    parts = [headers.release, str(headers.path), tools.identity, *compiler.arguments]
    digest = hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape"))
    for name in ("Module.symvers", ".config"):
        digest.update((headers.path / name).read_bytes())
    for target, data in sorted(recipe.content.items()):
        digest.update(f"{target} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def _make(
    live: LiveManifest, headers: Headers, chosen: Compiler, directory: Path, log: Path
) -> None:
    done = _run_make(headers, chosen, directory, log)
    layouts = re.findall(r'static assertion failed: "(layout of [^"]*)"', done.stdout)
    if layouts:
        found = f"the {layouts[0]} is another in its headers than in its BTF"
        raise manifest.unfit(live, headers.release, found)
    _require_made(done, live.module, headers, log)


def plain(
    cache: Cache,
    source: Path,
    headers: Headers,
    chosen: Compiler,
    log: Path,
    others: Mapping[str, bytes] | None = None,
) -> bytes:
    """Return an ordinary module, built from one C file and the headers that `others` has.

    Raises:
        MmbatchError: it does not compile.
    """
    name = source.stem
    with temporary_dir(cache.downloads, name) as directory:
        shutil.copy(source, directory)
        for target, content in (others or {}).items():
            (directory / target).write_bytes(content)
        (directory / "Kbuild").write_text(f"obj-m := {name}.o\n", encoding="utf-8")
        _require_made(_run_make(headers, chosen, directory, log), name, headers, log)
        built = directory / f"{name}.ko"
        _strip(built, log)
        return built.read_bytes()


def _run_make(headers: Headers, chosen: Compiler, directory: Path, log: Path) -> Result:
    # BTF of the module itself would need pahole, and nobody reads it.
    argv = ["make", "-s", "-C", str(headers.path), f"M={directory}"]
    argv += [*chosen.arguments, "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"]
    log.unlink(missing_ok=True)
    action = f"compile a module for Linux {headers.release}"
    return run(argv, action=action, env=_QUIET, log=log, timeout_s=_TIMEOUT_S, check=False)


def _require_made(done: Result, name: str, headers: Headers, log: Path) -> None:
    if done.rc:
        action = f"compile {name} for Linux {headers.release}"
        raise MmbatchError(action, f"make failed with exit status {done.rc}", f"see {log}")


def _link(live: LiveManifest, headers: Headers, directory: Path, log: Path) -> bytes:
    """Return the module, with relocations that the kernel resolves when it loads."""
    built = directory / f"{live.module}.ko"
    _strip(built, log)
    module = elf.read(built)
    require_no_jumps(built, module, [function.by for function in live.replaces])
    convert(module, live.symbols, exported(headers.exports))
    return module.pack()


def _strip(module: Path, log: Path) -> None:
    run(["objcopy", "--strip-debug", module], action=f"strip {module.name}", log=log)


def exported(symvers: str) -> set[str]:
    """Return the symbols in a kernel's Module.symvers that every module may use."""
    rows = [line.split("\t") for line in symvers.splitlines()]
    # Only modules that import a namespace may use its symbols.
    return {row[1] for row in rows if len(row) > 2 and not any(row[4:])}


def convert(module: Elf, symbols: Collection[str], others: Collection[str]) -> None:
    """Turn all uses of some symbols of the kernel into livepatch relocations.

    Args:
        module: a module; changed in place.
        symbols: those that the kernel does not export. The module must use each of them.
        others: those that the kernel exports.

    Raises:
        MmbatchError: the module uses a symbol of neither list, or does not use one of `symbols`.
    """
    undefined = module.undefined()
    unknown = sorted(undefined - set(symbols) - set(others))
    if unknown:
        raise _wrong(f"it needs {', '.join(unknown)}, which this kernel does not export")
    unused = sorted(set(symbols) - undefined)
    if unused:
        raise _wrong(f"it does not use {', '.join(unused)}")
    moved = set()
    for index, symbol in enumerate(module.symbols):
        if symbol.undefined and symbol.name in symbols:
            name = f".klp.sym.vmlinux.{symbol.name},0"
            module.symbols[index] = replace(symbol, name=name, section=SHN_LIVEPATCH)
            moved.add(index)
    for section in [section for section in module.sections if section.kind == SHT_RELA]:
        target = module.sections[section.info]
        if target.flags & SHF_ALLOC:
            _split(module, section, target, moved)


def require_no_jumps(path: Path, module: Elf, functions: Iterable[str]) -> None:
    """Raise MmbatchError if a replacement jumps to anything but itself and the kernel's own."""
    for name in functions:
        symbol = _symbol(module, name)
        for target in _leaves(path, module, symbol):
            raise MmbatchError(
                f"link {path.name}",
                f"{name}() leaves by a jump to {target}, so unloading the module would not wait "
                "for a task that sleeps there",
                "put live_stay() of live/live.h after that call",
            )


def _split(module: Elf, section: Section, target: Section, moved: Collection[int]) -> None:
    others: list[Rela] = []
    livepatch: list[Rela] = []
    for relocation in module.relocations(section):
        (livepatch if relocation.symbol in moved else others).append(relocation)
    if not livepatch:
        return
    section.content = pack_relocations(others)
    module.sections.append(
        Section(
            name=f".klp.rela.vmlinux.{target.name}",
            kind=SHT_RELA,
            flags=SHF_RELA_LIVEPATCH | SHF_INFO_LINK | SHF_ALLOC,
            address=0,
            link=module.symbol_table,
            info=section.info,
            align=8,
            entry=24,
            content=pack_relocations(livepatch),
            size=0,
        )
    )


def _wrong(problem: str) -> MmbatchError:
    return MmbatchError(
        "link the livepatch module to the kernel",
        problem,
        "correct 'symbols' in the speed-up's live.toml",
    )


def _symbol(module: Elf, name: str) -> Symbol:
    for symbol in module.symbols:
        if symbol.name == name and not symbol.undefined:
            return symbol
    raise MmbatchError(
        "link the livepatch module", f"it has no {name}()", "correct 'by' in live.toml"
    )


def _leaves(path: Path, module: Elf, symbol: Symbol) -> Iterator[str]:
    section = module.sections[symbol.section].name
    argv = ["objdump", "-d", "-r", "--no-show-raw-insn", f"--section={section}"]
    argv += [f"--start-address={symbol.value}", f"--stop-address={symbol.value + symbol.size}"]
    lines = run([*argv, path], action=f"look for jumps in {path.name}").stdout.splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        jump = _JUMP.match(line)
        if jump is None:
            continue
        relocation = _RELOCATION.match(following)
        if relocation is not None:
            if not _FINE.fullmatch(relocation[1]):
                yield re.sub(r"[-+]0x\w+$", "", relocation[1])
        elif not _is_within(symbol, jump[1]) and not jump[2].startswith(" <live_original_"):
            yield jump[2].strip(" <>") or jump[1]


def _is_within(symbol: Symbol, target: str) -> bool:
    if not re.fullmatch(r"[0-9a-f]+", target):  # an indirect jump
        return False
    return symbol.value <= int(target, 16) < symbol.value + symbol.size


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
