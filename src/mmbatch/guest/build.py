# SPDX-License-Identifier: GPL-2.0-only
"""Build bootable kernels with the speed-ups, again only if an input has changed."""

from __future__ import annotations

import contextlib
import filecmp
import hashlib
import json
import os
import platform
import shutil
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from mmbatch.core import process
from mmbatch.core.cache import Cache
from mmbatch.core.disk import (
    MARK,
    atomic_dir,
    atomic_write,
    forget_oldest,
    is_whole,
    remove_unused,
    require_space,
    sweep,
    write_mark,
)
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.load import from_json
from mmbatch.kernel.kbuild import TOOLS, allnoconfig, check_options
from mmbatch.kernel.sources import Source, name_unchecked
from mmbatch.splice.trees import Spliced

_BUILD_S = 2400
_BUILD_BYTES = 3_000_000_000
_STAMP = ".mmbatch-guest"
_OVERLAY = "overlay.json"
_OPTIONAL = "optional"  # the fragment with options that some kernels lack
_KINDS: dict[str, tuple[str, ...]] = {
    "": (),
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
    """How a kernel is built for an architecture.

    Attributes:
        name: its name on the command line.
        kernel: its name in the kernel's makefiles.
        machine: its name as printed by `uname -m`.
        cross: prefix of the cross compiler.
        image: the file that QEMU boots, relative to the output directory.
    """

    name: str
    kernel: str
    machine: str
    cross: str
    image: str

    @property
    def prefix(self) -> str:
        """What the names of the compiler and binutils begin with on this machine."""
        return "" if platform.machine() == self.machine else self.cross

    def words(self) -> list[str]:
        """Return the variables for make."""
        return [f"ARCH={self.kernel}", f"CROSS_COMPILE={self.prefix}"]


ARCHES = {
    "x86_64": Arch("x86_64", "x86_64", "x86_64", "x86_64-linux-gnu-", "arch/x86/boot/bzImage"),
    "arm64": Arch("arm64", "arm64", "aarch64", "aarch64-linux-gnu-", "arch/arm64/boot/Image"),
}


@dataclass(frozen=True)
class GuestKernel:
    """A kernel that boots.

    Attributes:
        release: release of its source.
        origin: a description of where the source comes from.
        arch: its architecture.
        image: the file that QEMU boots.
        modules: its modules.
        config_sha256: digest of its .config.
        compiler: first line of the `--version` of the compiler that built it; empty for a
            distribution's kernel.
        binutils: that of the assembler.
    """

    release: str
    origin: str
    arch: Arch
    image: Path
    modules: tuple[Path, ...]
    config_sha256: str
    compiler: str
    binutils: str = ""


@dataclass(frozen=True)
class Wanted:
    """A kernel to build.

    Attributes:
        arch: the architecture.
        kind: "" for a plain one, "debug" with debugging options, "kasan" with KASAN too, "kcsan"
            with KCSAN.
        options: options added to the configuration, "CONFIG_X=y" each.
        fragments: the directories that have fragments of the configuration, NAME.config; the
            first one has those that every kernel needs.
    """

    arch: Arch
    kind: str
    options: tuple[str, ...]
    fragments: tuple[Path, ...]

    @property
    def flavour(self) -> str:
        """Name of the output directory. Each kind has its own, so a change rebuilds little."""
        parts = [self.arch.name, *([self.kind] if self.kind else [])]
        if self.options:
            parts.append(hashlib.sha256("\n".join(self.options).encode()).hexdigest()[:6])
        return "-".join(parts)

    def config(self) -> str:
        """Return the configuration that is applied on top of allnoconfig."""
        texts = [self._fragment(_OPTIONAL), *self._fragments()]
        return "".join([*texts, *(f"{option}\n" for option in self.options)])

    def needed(self) -> list[str]:
        """Return the options that a kernel must not lose: "CONFIG_X=y"."""
        lines = "".join(self._fragments()).splitlines()
        options = dict(line.split("=", 1) for line in lines if line.startswith("CONFIG_"))
        for option in self.options:
            options.pop(option.partition("=")[0], None)
        return [f"{name}={value}" for name, value in options.items()]

    def _fragments(self) -> list[str]:
        return [self._fragment(name) for name in ("common", self.arch.name, *_KINDS[self.kind])]

    def _fragment(self, name: str) -> str:
        paths = [directory / f"{name}.config" for directory in self.fragments]
        return "".join(path.read_text(encoding="utf-8") for path in paths if path.exists())


def build(
    cache: Cache,
    source: Source,
    spliced: Spliced,
    wanted: Wanted,
    jobs: int,
    say: Callable[[str], None],
) -> GuestKernel:
    """Return a kernel, and build it if an input has changed.

    It is built from a copy of the source that stays, so a changed file rebuilds only its
    objects.

    Raises:
        MmbatchError: it can't be built here, or its configuration refused an option.
    """
    place = cache.builds / f"guest-{source.ident}"
    output = place / wanted.flavour
    text = wanted.config()
    tools = process.toolchain(*(f"{wanted.arch.prefix}{name}" for name in TOOLS))
    key = hashlib.sha256("\n".join([spliced.ident, source.state, text, tools.identity]).encode())
    log = cache.logs / f"guest-{source.ident}-{wanted.flavour}.log"
    with cache.lock(f"guest-{source.ident}", f"builds Linux {source.release}", say) as held:
        place.mkdir(exist_ok=True)
        cache.keep(place)
        sweep(place)
        # An interrupted build has no mark, and make completes it.
        if (output / MARK).exists() and not is_whole(output, say):
            shutil.rmtree(output)
        stamp = output / _STAMP
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != key.hexdigest():
            say(f"building Linux {source.release} for {wanted.flavour} (the first takes minutes)")
            require_space(place, _BUILD_BYTES, f"build Linux {source.release}")
            _forget_orphans(cache)
            stamp.unlink(missing_ok=True)
            (output / MARK).unlink(missing_ok=True)
            tree = prepare(place, source, spliced, say)
            try:
                _make(tree, output, wanted, text, jobs, log, held, source.release)
            except MmbatchError as error:
                raise name_unchecked(error, source) from error
            stamp.write_text(key.hexdigest(), encoding="utf-8")
            write_mark(output)
        image, modules = keep(cache, place, wanted, key.hexdigest(), say)
    config = (image.parent / ".config").read_bytes()
    return GuestKernel(
        source.release,
        source.origin,
        wanted.arch,
        image,
        tuple(modules),
        hashlib.sha256(config).hexdigest(),
        tools.compiler,
        tools.binutils,
    )


def _forget_orphans(cache: Cache) -> None:
    """Remove builds of trees that are no longer in the cache, unless somebody uses them."""
    for path in cache.builds.glob("guest-*"):
        if not (cache.trees / path.name.removeprefix("guest-")).exists():
            remove_unused(path)


def _make(
    tree: Path,
    output: Path,
    wanted: Wanted,
    text: str,
    jobs: int,
    log: Path,
    held: int,
    release: str,
) -> None:
    """Configure a kernel and build it.

    When we are killed, make's children live on for a while: they keep the lock that is `held`.
    """
    output.mkdir(parents=True, exist_ok=True)
    make = ["make", "-s", "-C", str(tree), f"O={output}", f"-j{jobs}", *wanted.arch.words()]
    allnoconfig(make, output, text, release, log, held)
    check_options(output / ".config", wanted.options, release)
    check_fragments(output / ".config", wanted, release)
    process.run(
        [*make, Path(wanted.arch.image).name, "modules"],
        action=f"build Linux {release} for {wanted.flavour}",
        env=_SAME_ANYWHERE,
        log=log,
        timeout_s=_BUILD_S,
        keep=held,
    )
    if not (output / wanted.arch.image).exists():
        raise MmbatchError(
            f"build Linux {release} for {wanted.flavour}",
            f"no {wanted.arch.image} came out",
            f"see {log}",
            ExitCode.FAILED,
        )


def check_fragments(config: Path, wanted: Wanted, release: str) -> None:
    """Raise MmbatchError if the kernel lacks an option that the tests need."""
    lacking = []
    for option in wanted.needed():
        try:
            check_options(config, [option], release)
        except MmbatchError:
            lacking.append(option)
    if lacking:
        raise MmbatchError(
            f"configure Linux {release} for {wanted.flavour}",
            f"it has no {' and no '.join(lacking)}, which a fragment asks for",
            "see what it depends on there, or leave it out with -K",
            ExitCode.FAILED,
        )


def keep(
    cache: Cache, place: Path, wanted: Wanted, key: str, say: Callable[[str], None]
) -> tuple[Path, list[Path]]:
    """Return the image and the modules, copied to where the next build leaves them alone.

    The last few builds are kept, and all that other processes use. The key is a digest of what
    the kernel was built from.
    """
    output = place / wanted.flavour
    copy = place / f"{wanted.flavour}.{key[:12]}"
    modules = sorted(output.glob("lib/*.ko"))
    names = [output / wanted.arch.image, output / ".config", *modules]
    if not is_whole(copy, say):
        forget_oldest(path for path in place.glob(f"{wanted.flavour}.*") if path.is_dir())
        with atomic_dir(copy) as directory:
            for path in names:
                shutil.copy2(path, directory / path.name)
            write_mark(directory)
    cache.keep(copy)
    return copy / Path(wanted.arch.image).name, [copy / path.name for path in modules]


@dataclass(frozen=True)
class _Overlay:
    """What `_OVERLAY` holds.

    Attributes:
        state: of the source that was copied.
        files: in the copy that may differ from the source.
    """

    state: str
    files: tuple[str, ...]


def prepare(place: Path, source: Source, spliced: Spliced, say: Callable[[str], None]) -> Path:
    """Return a copy of the source that stays, with the spliced files in it.

    A file whose content is right already is not written, since make compares times. The copy, in
    `place`/tree, is recreated if the state of the source has changed, or if the copy is damaged.
    Then it goes with all that was built from it, and `say` is called with a line.
    """
    tree, record = place / "tree", place / _OVERLAY
    before = _Overlay("", ())
    with contextlib.suppress(OSError, ValueError):  # recreated if the record is damaged
        before = from_json(_Overlay, record.read_text(encoding="utf-8"))
    if before.state == source.state:
        damaged = _first_difference(source.path, tree, before.files)
        if damaged:
            say(f"{tree} is incomplete, since {damaged} is missing or damaged: replacing it")
            before = _Overlay("", ())
    if before.state != source.state:
        clear(place)
        tree.mkdir(parents=True)
        action = f"copy the tree of Linux {source.release}"
        process.run(["cp", "-al", f"{source.path}/.", tree], action=action)
        before = _Overlay(source.state, ())
    names = sorted(spliced.files)
    every = sorted({*names, *before.files})
    atomic_write(record, json.dumps(asdict(_Overlay(source.state, tuple(every)))))
    for name in every:
        origin = (spliced.path if name in names else source.path) / name
        put(tree / name, origin.read_bytes() if origin.exists() else None)
    atomic_write(record, json.dumps(asdict(_Overlay(source.state, tuple(names)))))
    return tree


def _first_difference(source: Path, tree: Path, changed: Iterable[str]) -> str:
    """Return the first file of a source that its copy lacks or has otherwise, or "".

    A file is the same by its size and time, or by its content: one that was changed and put back
    has another time. Files that may be `changed` are left out.
    """
    skipped = set(changed)
    for directory, _, files in os.walk(source):
        prefix = os.path.relpath(directory, source)
        for file in files:
            name = os.path.normpath(f"{prefix}/{file}")
            if name in skipped:
                continue
            original = os.lstat(f"{directory}/{file}")
            try:
                copy = os.lstat(f"{tree}/{name}")
                if (copy.st_size, copy.st_mtime_ns) == (original.st_size, original.st_mtime_ns):
                    continue
                if not filecmp.cmp(f"{directory}/{file}", f"{tree}/{name}", shallow=False):
                    return name
            except OSError:
                return name
    return ""


def clear(place: Path) -> None:
    """Remove what is in a directory, except for the kernels that other processes use."""
    for path in place.glob("*"):
        if path.is_dir() and not path.is_symlink():
            remove_unused(path)
        else:
            path.unlink(missing_ok=True)


def put(path: Path, content: bytes | None) -> None:
    """Write a file, or remove it if there is no content.

    It may be a hard link to the original, so it is replaced and never written through.
    """
    if content is None:
        path.unlink(missing_ok=True)
        return
    if path.exists() and path.read_bytes() == content:
        return
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
