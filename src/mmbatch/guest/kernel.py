# SPDX-License-Identifier: GPL-2.0-only
"""Build kernels that boot, with the speed-ups in them."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import cache, log, process
from mmbatch.kernel.kbuild import TOOLS, allnoconfig, check_options, toolchain
from mmbatch.kernel.sources import Source
from mmbatch.splice.apply import Spliced, write

_BUILD_BYTES = 3_000_000_000
_KINDS: dict[str, tuple[str, ...]] = {
    "plain": (),
    "debug": ("debug",),
    "kasan": ("debug", "kasan"),
    "kcsan": ("kcsan",),
}
_SAME_ANYWHERE = {
    "KBUILD_BUILD_TIMESTAMP": "2026-01-01",
    "KBUILD_BUILD_USER": "mmbatch",
    "KBUILD_BUILD_HOST": "mmbatch",
}


@dataclass(frozen=True)
class Arch:
    """How a kernel is built for an architecture, by its name in the kernel's makefiles."""

    name: str
    machine: str  # as printed by `uname -m`
    image: str  # the file that QEMU boots, relative to the output directory

    @property
    def prefix(self) -> str:
        """What the names of the compiler and binutils begin with on this machine."""
        return "" if platform.machine() == self.machine else f"{self.machine}-linux-gnu-"


ARCHES = {
    "x86_64": Arch("x86_64", "x86_64", "arch/x86/boot/bzImage"),
    "arm64": Arch("arm64", "aarch64", "arch/arm64/boot/Image"),
}


@dataclass(frozen=True)
class GuestKernel:
    """A kernel that boots."""

    release: str
    origin: str  # where it comes from, for people
    arch: Arch
    image: Path  # the file that QEMU boots
    config: Path
    compiler: str = ""  # first line of its `--version`; empty for a distribution's kernel
    binutils: str = ""  # that of the assembler

    def has(self, option: str, values: str = "ym") -> bool:
        """Return whether an option is set, to y or m."""
        text = self.config.read_text(encoding="utf-8")
        return re.search(rf"^{option}=[{values}]$", text, re.MULTILINE) is not None


@dataclass(frozen=True)
class Wanted:
    """A kernel to build."""

    arch: Arch
    kind: str  # a key of `_KINDS`
    options: tuple[str, ...]  # added to the configuration, "CONFIG_X=y" each
    fragments: tuple[Path, ...]  # directories with parts of it, NAME.config; the first for all

    @property
    def flavour(self) -> str:
        """Name of the output directory. Each kind has its own, so a change rebuilds little."""
        parts = [self.arch.name, *_KINDS[self.kind][-1:]]
        if self.options:
            parts.append(hashlib.sha256("\n".join(self.options).encode()).hexdigest()[:6])
        return "-".join(parts)

    def config(self) -> str:
        """Return the configuration that is applied on top of allnoconfig."""
        texts = [self._fragment("optional"), *self._fragments()]  # which some kernels lack
        return "".join([*texts, *(f"{option}\n" for option in self.options)])

    def require(self, config: Path, release: str) -> None:
        """Raise MmbatchError if the kernel lost an option that is asked for."""
        lines = [*"".join(self._fragments()).splitlines(), *self.options]  # the last one counts
        needed = dict(line.split("=", 1) for line in lines if line.startswith("CONFIG_"))
        check_options(config, [f"{name}={value}" for name, value in needed.items()], release)

    def _fragments(self) -> list[str]:
        return [self._fragment(name) for name in ("common", self.arch.name, *_KINDS[self.kind])]

    def _fragment(self, name: str) -> str:
        paths = [directory / f"{name}.config" for directory in self.fragments]
        return "".join(path.read_text(encoding="utf-8") for path in paths if path.exists())


def build(source: Source, spliced: Spliced, wanted: Wanted, jobs: int) -> GuestKernel:
    """Return a kernel, built if an input has changed.

    It is built from a copy of the source that stays, so a changed file rebuilds only its objects.
    """
    place = cache.builds() / f"guest-{source.ident}"
    text = wanted.config()
    tools = toolchain(*(f"{wanted.arch.prefix}{name}" for name in TOOLS))
    key = hashlib.sha256("\n".join([source.state, text, tools.identity]).encode())
    for name in sorted(spliced.files):
        key.update(f"\n{name}\n".encode() + (spliced.path / name).read_bytes())
    final = place / f"{wanted.flavour}-{key.hexdigest()[:12]}"

    def fill(work: Path) -> None:
        log.say(f"building Linux {source.release} for {wanted.flavour} (the first takes minutes)")
        cache.require_space(place, _BUILD_BYTES, f"build Linux {source.release}")
        output = place / wanted.flavour
        _make(_overlay(place, source, spliced), output, wanted, jobs, source.release)
        for path in (output / wanted.arch.image, output / ".config", *output.glob("lib/*.ko")):
            shutil.copy2(path, work / path.name)

    place.mkdir(exist_ok=True)
    cache.keep(place)
    _forget_orphans()
    doing = f"builds Linux {source.release}"
    cache.provide(final, fill, doing, lock=f"guest-{source.ident}")
    return GuestKernel(
        source.release,
        source.origin,
        wanted.arch,
        final / Path(wanted.arch.image).name,
        final / ".config",
        tools.compiler,
        tools.binutils,
    )


def _forget_orphans() -> None:
    """Remove builds of trees that are no longer in the cache, unless somebody uses them."""
    for path in cache.builds().glob("guest-*"):
        if not (cache.trees() / path.name.removeprefix("guest-")).exists():
            cache.remove(path)


def _make(tree: Path, output: Path, wanted: Wanted, jobs: int, release: str) -> None:
    """Configure a kernel and build it."""
    output.mkdir(parents=True, exist_ok=True)
    make_log = cache.logs() / f"{output.parent.name}-{wanted.flavour}.log"
    make = ["make", "-s", "-C", str(tree), f"O={output}", f"-j{jobs}"]
    make += [f"ARCH={wanted.arch.name}", f"CROSS_COMPILE={wanted.arch.prefix}"]
    allnoconfig(make, output, wanted.config(), release, make_log)
    wanted.require(output / ".config", release)
    process.run(
        [*make, Path(wanted.arch.image).name, "modules"],
        action=f"build Linux {release} for {wanted.flavour}",
        env=_SAME_ANYWHERE,
        log=make_log,
    )


def _overlay(place: Path, source: Source, spliced: Spliced) -> Path:
    """Return a copy of the source that stays, `place`/tree, with the spliced files in it.

    A file whose content is right already is not written, since make compares times. The copy is
    recreated, with all that was built from it, if the state of the source has changed. A record
    names that state and the files that may differ from the source.
    """
    tree, record = place / "tree", place / "overlay.json"
    before = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    if before.get("state") != source.state:
        for path in place.iterdir():
            if path.is_dir():
                cache.remove(path)
        tree.mkdir(parents=True)
        action = f"copy the tree of Linux {source.release}"
        process.run(["cp", "-al", f"{source.path}/.", tree], action=action)
        before = {"files": []}
    names = sorted(spliced.files)
    every = sorted({*names, *before["files"]})
    cache.atomic_write(record, json.dumps({"state": source.state, "files": every}))
    for name in every:
        path, origin = tree / name, (spliced.path if name in names else source.path) / name
        if not origin.exists():
            path.unlink(missing_ok=True)
        elif not path.exists() or path.read_bytes() != origin.read_bytes():
            write(path, origin.read_bytes())
    cache.atomic_write(record, json.dumps({"state": source.state, "files": names}))
    return tree
