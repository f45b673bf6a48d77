# SPDX-License-Identifier: GPL-2.0-only
"""Build a speed-up as a livepatch module, against a kernel's headers.

DKMS runs this for each kernel, with no packages besides Python:
`python3 -m mmbatch.live.build SPEEDUP RELEASE HEADERS OUT`.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.disk import atomic_write, temporary_dir
from mmbatch.core.errors import ExitCode, MmbatchError, message
from mmbatch.core.process import Result, run, toolchain
from mmbatch.debian import foreign
from mmbatch.debian.foreign import Compiler
from mmbatch.live import elf, fit, kernel, klp, manifest
from mmbatch.live.kernel import Headers
from mmbatch.live.manifest import LiveManifest, Terms

_TIMEOUT_S = 900
_STAMP = ".mmbatch-live"
_ENGINE = ("module.c", "fit.c", "live.h")
_TOOLS = ("as", "ld", "objcopy")
_QUIET = {"KBUILD_MODPOST_WARN": "1"}  # klp resolves the symbols that modpost can't find


Finder = Callable[[Headers], Compiler]
"""Returns the compiler of a kernel."""


@dataclass(frozen=True)
class Module:
    """A module that can be loaded.

    Attributes:
        speedup: name of the speed-up.
        name: of the module.
        path: its file.
        release: of the kernel that it fits.
        built: whether it was built just now.
    """

    speedup: str
    name: str
    path: Path
    release: str
    built: bool


def build(
    live: LiveManifest,
    engine: Path,
    headers: Headers,
    find_compiler: Finder,
    place: Path,
    log: Path,
    say: Callable[[str], None],
) -> Module:
    """Return a module, rebuilt if anything that it is built from has changed.

    Args:
        live: the speed-up.
        engine: the directory with the code that all modules share.
        headers: of the kernel.
        find_compiler: returns the kernel's compiler.
        place: a directory for the module, to which nobody else writes.
        log: where the compiler's output goes.
        say: told of each phase.

    Raises:
        MmbatchError: no module can be built for this kernel; says why.
    """
    terms = manifest.load_terms(engine / "live.toml")
    live = fit.of_series(live, headers.series, headers.release)
    fit.require_config(live, terms, headers.config, headers.release)
    types = headers.types()
    fit.require_types(live, terms, types, headers.release)
    chosen = find_compiler(headers)
    content = {
        target: source.read_bytes()
        for target, source in manifest.staged(live, headers.series).items()
    }
    content |= {f"live/{name}": (engine / name).read_bytes() for name in _ENGINE}
    content["live/live_tables.h"] = fit.tables(live, terms, types).encode()
    content["Kbuild"] = _kbuild(live).encode()
    key = _key(content, headers, chosen)
    module, stamp = place / f"{live.module}.ko", place / _STAMP
    fresh = stamp.exists() and stamp.read_text(encoding="utf-8") == key and module.exists()
    if not fresh:
        say(f"building {live.module} for Linux {headers.release}")
        shutil.rmtree(place, ignore_errors=True)
        for target, data in content.items():
            (place / "build" / target).parent.mkdir(parents=True, exist_ok=True)
            (place / "build" / target).write_bytes(data)
        _make(live, headers, chosen, place / "build", log)
        linked = _link(live, terms, headers, place / "build", log)
        atomic_write(module, linked)
        stamp.write_text(key, encoding="utf-8")
    return Module(live.speedup, live.module, module, headers.release, not fresh)


def build_all(
    cache: Cache, lives: Sequence[LiveManifest], release: str, say: Callable[[str], None]
) -> list[Module]:
    """Return the modules of some speed-ups for one kernel, built in the cache.

    Args:
        cache: for headers, compilers and modules.
        lives: the speed-ups.
        release: of the kernel, as printed by `uname -r`.
        say: told of each phase.

    Raises:
        MmbatchError: a module can't be built for this kernel; says why.
    """
    for live in lives:  # before anything is fetched
        fit.of_series(live, kernel.series_of(release), release)
    headers = kernel.find(cache, release, say)

    def find_compiler(chosen: Headers) -> Compiler:
        return foreign.find_compiler(cache, chosen, say)

    modules = []
    for live in lives:
        name = f"{live.module}-{headers.release}"
        with cache.lock(name, f"builds {live.module}", say):
            place, log = cache.live / name, cache.logs / f"{name}.log"
            modules.append(build(live, paths.LIVE, headers, find_compiler, place, log, say))
    return modules


def main(argv: Sequence[str]) -> int:
    """Build a speed-up's module for one kernel and put it into a directory, for DKMS."""
    if len(argv) != 4:
        sys.stderr.write("usage: mmbatch.live.build SPEEDUP RELEASE HEADERS OUT\n")
        return ExitCode.USAGE
    speedup, release, folder = argv[:3]
    out = Path(argv[3]).resolve()  # make changes the working directory
    place, log = out / f"build-{speedup}", out / f"{speedup}.log"
    try:
        live = manifest.load(paths.SPEEDUPS, speedup)
        headers = kernel.at(Path(folder), release)
        module = build(live, paths.LIVE, headers, foreign.installed_compiler, place, log, print)
    except MmbatchError as error:
        sys.stderr.write(message(error) + "\n")
        return int(error.code)
    shutil.copy(module.path, out)
    return ExitCode.GOOD


def _kbuild(live: LiveManifest) -> str:
    """Return the makefile of the module."""
    objects = [*live.objects, "live/module.o", "live/fit.o"]
    # Livepatching looks for a function on stacks, but not for its cold part elsewhere.
    flags = "-fno-reorder-blocks-and-partition"
    return (
        "# SPDX-License-Identifier: GPL-2.0-only\n"
        f"obj-m := {live.module}.o\n"
        f"{live.module}-y := {' '.join(objects)}\n"
        f"ccflags-y := {flags} -I$(src)/include -I$(src)/arch/x86/include -I$(src)/live\n"
    )


def _key(content: dict[str, bytes], headers: Headers, chosen: Compiler) -> str:
    """Return a digest of all that the module is built from."""
    tools = toolchain(chosen.program, *_TOOLS)
    parts = [headers.release, str(headers.path), tools.identity, *chosen.arguments]
    digest = hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape"))
    for name in ("Module.symvers", ".config"):
        digest.update((headers.path / name).read_bytes())
    for target, data in sorted(content.items()):
        digest.update(f"{target} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def _make(live: LiveManifest, headers: Headers, chosen: Compiler, folder: Path, log: Path) -> None:
    done = _run_make(headers, chosen, folder, log)
    layouts = re.findall(r'static assertion failed: "(layout of [^"]*)"', done.stdout)
    if layouts:
        found = f"the {layouts[0]} is another in its headers than in its BTF"
        raise fit.unfit(live, headers.release, found)
    _require_made(done, live.module, headers, log)


def plain(cache: Cache, source: Path, headers: Headers, chosen: Compiler, log: Path) -> bytes:
    """Return an ordinary module, built from one C file.

    Args:
        cache: for temporary files.
        source: the file, whose name is the module's.
        headers: of the kernel.
        chosen: the kernel's compiler.
        log: where the compiler's output goes.

    Raises:
        MmbatchError: it does not compile.
    """
    name = source.stem
    with temporary_dir(cache.downloads, name) as folder:
        shutil.copy(source, folder)
        (folder / "Kbuild").write_text(f"obj-m := {name}.o\n", encoding="utf-8")
        _require_made(_run_make(headers, chosen, folder, log), name, headers, log)
        built = folder / f"{name}.ko"
        _strip(built, log)
        return built.read_bytes()


def _run_make(headers: Headers, chosen: Compiler, folder: Path, log: Path) -> Result:
    # BTF of the module itself would need pahole, and nobody reads it.
    argv = ["make", "-s", "-C", str(headers.path), f"M={folder}"]
    argv += [*chosen.arguments, "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"]
    log.unlink(missing_ok=True)
    action = f"compile a module for Linux {headers.release}"
    return run(argv, action=action, env=_QUIET, log=log, timeout_s=_TIMEOUT_S, check=False)


def _require_made(done: Result, name: str, headers: Headers, log: Path) -> None:
    if done.rc:
        action = f"compile {name} for Linux {headers.release}"
        raise MmbatchError(action, f"make failed with exit status {done.rc}", f"see {log}")


def _link(live: LiveManifest, terms: Terms, headers: Headers, folder: Path, log: Path) -> bytes:
    """Return the module, with relocations that the kernel resolves when it loads."""
    built = folder / f"{live.module}.ko"
    _strip(built, log)
    module = elf.read(built)
    klp.require_no_jumps(built, module, [function.by for function in live.replaces])
    klp.convert(module, fit.symbols(live, terms), klp.exported(headers.exports))
    return module.pack()


def _strip(module: Path, log: Path) -> None:
    run(["objcopy", "--strip-debug", module], action=f"strip {module.name}", log=log)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
