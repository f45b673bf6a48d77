# SPDX-License-Identifier: GPL-2.0-only
"""Build a speed-up as a livepatch module, against a kernel's headers."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core.cache import Cache
from mmbatch.core.disk import atomic_write, temporary_dir
from mmbatch.core.errors import MmbatchError
from mmbatch.core.process import Result, run
from mmbatch.live import elf, klp
from mmbatch.live import fit as livefit
from mmbatch.live import jumps as livejumps
from mmbatch.live import manifest as livemanifest
from mmbatch.live.compiler import Compiler, Finder
from mmbatch.live.kernel import Headers
from mmbatch.live.manifest import LiveManifest

_TIMEOUT_S = 900
_STAMP = ".mmbatch-live"
_ENGINE = ("module.c", "fit.c", "live.h")
_QUIET = {"KBUILD_MODPOST_WARN": "1"}  # what it can't find is ours to resolve


@dataclass(frozen=True)
class Module:
    """A module that can be loaded.

    Attributes:
        speedup: what it is of.
        name: what the kernel calls it.
        path: the file.
        release: the kernel that takes it.
        built: whether it was made just now.
    """

    speedup: str
    name: str
    path: Path
    release: str
    built: bool


def build(
    live: LiveManifest,
    room: Path,
    headers: Headers,
    compilers: Finder,
    place: Path,
    log: Path,
    say: Callable[[str], None],
) -> Module:
    """Return a module, made when anything that it is made from has changed.

    Args:
        live: the speed-up.
        room: the folder of the code around all modules.
        headers: those of the kernel.
        compilers: where its compiler comes from.
        place: a folder for it, which nobody else writes to.
        log: where the compiler's output goes.
        say: told of each phase.

    Raises:
        MmbatchError: no module can be made for this kernel; says what about it is unfit.
    """
    terms = livemanifest.load_terms(room / "live.toml")
    live = livefit.of_series(live, headers.series, headers.release)
    livefit.require_config(live, terms, headers.config, headers.release)
    types = headers.types()
    livefit.require_types(live, terms, types, headers.release)
    compiler = compilers(headers)
    content = {
        target: source.read_bytes()
        for target, source in livemanifest.staged(live, headers.series).items()
    }
    content |= {f"live/{name}": (room / name).read_bytes() for name in _ENGINE}
    content["live/live_tables.h"] = livefit.tables(live, terms, types).encode()
    content["Kbuild"] = _kbuild(live).encode()
    key = _key(content, headers, compiler)
    module, stamp = place / f"{live.module}.ko", place / _STAMP
    fresh = stamp.exists() and stamp.read_text(encoding="utf-8") == key and module.exists()
    if not fresh:
        say(f"building {live.module} for Linux {headers.release}")
        shutil.rmtree(place, ignore_errors=True)
        for target, data in content.items():
            (place / "build" / target).parent.mkdir(parents=True, exist_ok=True)
            (place / "build" / target).write_bytes(data)
        _make(live, headers, compiler, place / "build", log)
        linked = _link(live, terms, headers, place / "build", log)
        atomic_write(module, linked)
        stamp.write_text(key, encoding="utf-8")
    return Module(live.speedup, live.module, module, headers.release, not fresh)


def _kbuild(live: LiveManifest) -> str:
    """Return the makefile of the module."""
    objects = [*live.objects, "live/module.o", "live/fit.o"]
    # Livepatching does not look on stacks for the part of a function that is put elsewhere.
    flags = "-fno-reorder-blocks-and-partition"
    return (
        "# SPDX-License-Identifier: GPL-2.0-only\n"
        f"obj-m := {live.module}.o\n"
        f"{live.module}-y := {' '.join(objects)}\n"
        f"ccflags-y := {flags} -I$(src)/include -I$(src)/arch/x86/include -I$(src)/live\n"
    )


def _key(content: dict[str, bytes], headers: Headers, compiler: Compiler) -> str:
    """Return a digest that is another when the module would be."""
    told = f"{headers.release} {headers.path} {compiler.version()}"
    digest = hashlib.sha256(told.encode())
    for name in ("Module.symvers", ".config"):
        digest.update((headers.path / name).read_bytes())
    for target, data in sorted(content.items()):
        digest.update(f"{target} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def _make(
    live: LiveManifest, headers: Headers, compiler: Compiler, folder: Path, log: Path
) -> None:
    done = _run_make(headers, compiler, folder, log)
    layouts = re.findall(r'static assertion failed: "(layout of [^"]*)"', done.stdout)
    if layouts:
        found = f"the {layouts[0]} is not what the kernel's own description of it says"
        raise livefit.unfit(live, headers.release, found)
    _require_made(done, live.module, headers, log)


def plain(cache: Cache, source: Path, headers: Headers, compiler: Compiler, log: Path) -> bytes:
    """Return an ordinary module made from one C file.

    Args:
        cache: for what is made on the way.
        source: the file, whose name is the module's.
        headers: those of the kernel.
        compiler: its.
        log: where the compiler's output goes.

    Raises:
        MmbatchError: it does not compile.
    """
    name = source.stem
    with temporary_dir(cache.downloads, name) as folder:
        shutil.copy(source, folder)
        (folder / "Kbuild").write_text(f"obj-m := {name}.o\n", encoding="utf-8")
        _require_made(_run_make(headers, compiler, folder, log), name, headers, log)
        made = folder / f"{name}.ko"
        _strip(made, log)
        return made.read_bytes()


def _run_make(headers: Headers, compiler: Compiler, folder: Path, log: Path) -> Result:
    # BTF of the module itself would take pahole, and nobody reads it.
    argv = ["make", "-s", "-C", str(headers.path), f"M={folder}"]
    argv += [*compiler.told, "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"]
    log.unlink(missing_ok=True)
    action = f"compile a module for Linux {headers.release}"
    return run(argv, action=action, env=_QUIET, log=log, timeout_s=_TIMEOUT_S, check=False)


def _require_made(done: Result, name: str, headers: Headers, log: Path) -> None:
    if done.rc:
        action = f"compile {name} for Linux {headers.release}"
        raise MmbatchError(action, f"make ended with {done.rc}", f"see {log}")


def _link(
    live: LiveManifest, terms: livemanifest.Terms, headers: Headers, folder: Path, log: Path
) -> bytes:
    """Return the module with its symbols made to be found by the kernel."""
    made = folder / f"{live.module}.ko"
    _strip(made, log)
    module = elf.read(made)
    livejumps.require_none(made, module, [function.by for function in live.replaces])
    klp.convert(module, livefit.symbols(live, terms), klp.exported(headers.exports))
    return module.pack()


def _strip(module: Path, log: Path) -> None:
    run(["objcopy", "--strip-debug", module], action=f"strip {module.name}", log=log)
