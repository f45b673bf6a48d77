# SPDX-License-Identifier: GPL-2.0-only
"""Build a speed-up as a livepatch module, against a kernel's headers."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from mmbatch.core import cache, log, paths
from mmbatch.core.cache import temporary_dir
from mmbatch.core.errors import MmbatchError
from mmbatch.core.process import run
from mmbatch.kernel import foreign
from mmbatch.kernel.kbuild import toolchain
from mmbatch.live import btf, convert, kernel, manifest
from mmbatch.live.kernel import Headers
from mmbatch.live.manifest import LiveManifest

_TIMEOUT_S = 900
_ENGINE = ("module.c", "fit.c", "count.c", "live.h")
_TOOLS = ("as", "ld", "objcopy")
_QUIET = {"KBUILD_MODPOST_WARN": "1"}  # `convert` handles the symbols that modpost cannot find


def build_all(lives: Sequence[LiveManifest], release: str) -> list[Path]:
    """Return the modules of some speed-ups for one kernel, built in the cache.

    Nobody removes them while this process lives.
    """
    series = kernel.series_of(release)
    for live in lives:  # before anything is fetched
        if series not in live.series:
            raise manifest.unfit(live, release, manifest.problem(live, series, {}))
    headers = kernel.find(release)
    return [build(live, headers) for live in lives]


def build(live: LiveManifest, headers: Headers, engine: Path = paths.LIVE) -> Path:
    """Return a module, built in the cache if none was built there of just the same."""
    if why := manifest.problem(live, headers.series, headers.config):
        raise manifest.unfit(live, headers.release, why)
    needed = live.symbols(headers.series)
    try:
        tables = "\n".join([*convert.tables(needed, btf.read(headers.types)), ""])
    except ValueError as error:
        raise manifest.unfit(live, headers.release, str(error)) from error
    compiler = foreign.find_compiler(headers.release, headers.config)
    content = generated(live, headers.series, engine)
    content["live/live_tables.h"] = tables.encode()
    name = f"{live.module}-{headers.release}-{live.until}"
    file, output = f"{live.module}.ko", cache.logs() / f"{name}.log"

    def fill(place: Path) -> None:
        log.say(f"building {live.module} for Linux {headers.release}")
        work = place / "build"
        for target, data in content.items():
            (work / target).parent.mkdir(parents=True, exist_ok=True)
            (work / target).write_bytes(data)
        try:
            _make(headers, compiler, work, output)
        except MmbatchError as error:
            printed = output.read_text(encoding="utf-8")
            if found := re.search(r'static assertion failed: "(layout of [^"]*)"', printed):
                why = f"the {found[1]} is another in its headers than in its BTF"
                raise manifest.unfit(live, headers.release, why) from error
            raise
        try:
            exports = (headers.path / "Module.symvers").read_text(encoding="utf-8")
            (place / file).write_bytes(convert.link(needed, work / file, exports))
        except ValueError as error:
            hint = "correct live.toml or live.c of the speed-up"
            raise MmbatchError(f"link {file}", str(error), hint) from error
        shutil.rmtree(work)

    place = cache.live() / f"{name}-{_key(headers, compiler, content)[:12]}"
    return cache.provide(place, fill, f"builds {live.module}", lock=name) / file


def generated(live: LiveManifest, series: str, engine: Path = paths.LIVE) -> dict[str, bytes]:
    """Return what a module for a series is compiled from, but its live_tables.h, by path."""
    objects = [*live.objects, "live/module.o", "live/fit.o", "live/count.o"]
    # Livepatching looks for a function on stacks, but not for its cold part elsewhere.
    flags = ["-fno-reorder-blocks-and-partition", "-I$(src)/include", "-I$(src)/arch/x86/include"]
    flags += ["-I$(src)/live", *(f"-DLIVE_STEP_{name.upper()}" for name in live.steps)]
    kbuild = (
        "# SPDX-License-Identifier: GPL-2.0-only\n"
        f"obj-m := {live.module}.o\n"
        f"{live.module}-y := {' '.join(objects)}\n"
        f"ccflags-y := {' '.join(flags)}\n"
    )
    content = manifest.contents(live, series)
    content |= {f"live/{name}": (engine / name).read_bytes() for name in _ENGINE}
    return {**content, "Kbuild": kbuild.encode()}


def _key(headers: Headers, compiler: str, content: Mapping[str, bytes]) -> str:
    """Return a digest of all that a module is built from."""
    tools = toolchain(compiler, *_TOOLS)
    parts = [headers.release, str(headers.path), tools.identity]
    digest = hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape"))
    digest.update(Path(convert.__file__).read_bytes())
    for name in ("Module.symvers", ".config"):
        digest.update((headers.path / name).read_bytes())
    for target, data in sorted(content.items()):
        digest.update(f"{target} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def plain(
    source: Path, headers: Headers, compiler: str, others: Mapping[str, bytes] | None = None
) -> bytes:
    """Return an ordinary module, built from one C file and the headers that `others` has."""
    name, output = source.stem, cache.logs() / f"{source.stem}.log"
    with temporary_dir(name) as directory:
        shutil.copy(source, directory)
        for target, content in (others or {}).items():
            (directory / target).write_bytes(content)
        (directory / "Kbuild").write_text(f"obj-m := {name}.o\n", encoding="utf-8")
        _make(headers, compiler, directory, output)
        built = directory / f"{name}.ko"
        run(["objcopy", "--strip-debug", built], action=f"strip {built.name}", log=output)
        return built.read_bytes()


def _make(headers: Headers, compiler: str, directory: Path, output: Path) -> None:
    # BTF of the module itself would need pahole, and nobody reads it.
    argv = ["make", "-s", "-C", str(headers.path), f"M={directory}"]
    argv += [f"CC={compiler}", "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"]
    output.unlink(missing_ok=True)
    action = f"compile a module for Linux {headers.release}"
    run(argv, action=action, env=_QUIET, log=output, timeout_s=_TIMEOUT_S)
