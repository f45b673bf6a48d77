# SPDX-License-Identifier: GPL-2.0-only
"""What the guests of `mmbatch live test` are given: livepatches, observers, programs, the tool.

Among them are modules that the kernel must refuse, because one thing about each does not fit:
refused.toml of a speed-up lists them.
"""

from __future__ import annotations

import re
import struct
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.disk import temporary_dir
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.load import from_toml, key
from mmbatch.core.process import run
from mmbatch.guest import initramfs
from mmbatch.live import elf
from mmbatch.live.build import Module
from mmbatch.live.elf import Elf
from mmbatch.live.kernel import Headers

SUBJECT = "/CN=mmbatch, a key for one test"
"""Of the certificate, by which tools say who signed."""

SCRIPTS = paths.LIVE / "guest"
"""The scripts that run for all speed-ups."""

_NAME = "live/guest.toml"
_REFUSED = "live/refused.toml"
_FUNCTIONS = "live/guest.sh"
_COMPARE = "live/compare.sh"
_LIBRARY = "guest/lib.sh"
_PACKAGES = ("click", "rich")
_DIRECTORIES = ("live", "speedups", "src")
_LEFT_OUT = {"__pycache__", "ensurepip", "idlelib", "lib2to3", "site-packages", "test", "tkinter"}
_PLACE = struct.Struct("<QQII")
_VERSION = struct.Struct("<Q56s")
_VERSIONS = "__versions"
_HAS_VERSIONS = re.compile(rb"vermagic=[^\0]*\bmodversions\b")
_MAGIC = b" SMP preempt"


@dataclass(frozen=True)
class ToolTest:
    """How `mmbatch live` itself is tested with a speed-up.

    Attributes:
        parameter: of the speed-up's module.
        value: one that it takes.
        other: another that it takes.
        wrong: one that it does not take.
        refused: a module of refused.toml.
    """

    parameter: str
    value: str
    other: str
    wrong: str
    refused: str


@dataclass(frozen=True)
class _Count:
    case: str
    least: float


@dataclass(frozen=True)
class _File:
    """What guest.toml holds; see `GuestTest`."""

    observers: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    counts: tuple[_Count, ...] = field(default=(), metadata=key("count"))
    tool: ToolTest | None = None


@dataclass(frozen=True)
class GuestTest:
    """A speed-up's guest.toml.

    Attributes:
        speedup: its name.
        functions: its guest.sh, which the scripts source.
        compare: its compare.sh, which runs before all speed-ups are loaded together.
        observers: modules of ours that look at the results.
        drivers: modules of the stock kernel that are loaded first.
        programs: programs of ours that the scripts run.
        least: how many times fewer instructions each case must take when it is patched.
        tool: how the tool is tested with it, None if it is not.
    """

    speedup: str
    functions: Path
    compare: Path
    observers: tuple[str, ...]
    drivers: tuple[str, ...]
    programs: tuple[str, ...]
    least: Mapping[str, float]
    tool: ToolTest | None

    @property
    def script(self) -> str:
        """Name of compare.sh in the guest."""
        return f"compare_{self.speedup}"


@dataclass(frozen=True)
class Cargo:
    """What a guest is given to load.

    Attributes:
        modules: the livepatches, by speed-up.
        tests: what their guest.toml say.
        observers: modules that look at the results, by name.
        refused: modules that must be refused and the words for it, by name.
        signed: one of the livepatches, signed with a key that the kernel lacks.
        rival: a second livepatch that replaces a function of `subject`.
        subject: the speed-up with which the tool is tested.
        function: one that it replaces.
    """

    modules: Mapping[str, Module]
    tests: tuple[GuestTest, ...]
    observers: Mapping[str, bytes]
    refused: Mapping[str, tuple[bytes, str]]
    signed: bytes
    rival: Module
    subject: str
    function: str

    def files(self) -> dict[str, bytes]:
        """Return the files that every guest has, by name."""
        modules = [*self.modules.values(), self.rival]
        files = {f"modules/{one.name}.ko": one.path.read_bytes() for one in modules}
        files |= {f"modules/{name}.ko": content for name, content in self.observers.items()}
        for script in SCRIPTS.glob("*.sh"):
            files[script.name] = script.read_bytes()
        files["live.sh"] = files.pop("lib.sh")  # the guest has a lib.sh of its own
        for test in self.tests:
            library = paths.SPEEDUPS / test.speedup / _LIBRARY
            if library.exists():  # functions that a speed-up's other guests have too
                files[f"{test.speedup}/lib.sh"] = library.read_bytes()
            files[f"{test.speedup}/live.sh"] = test.functions.read_bytes()
            files[f"{test.script}.sh"] = test.compare.read_bytes()
        return files

    def settings(self) -> dict[str, str]:
        """Return the shell variables that every guest has."""
        return {"SPEEDUPS": " ".join(self.modules), "OBSERVERS": " ".join(self.observers)}

    def refused_files(self) -> dict[str, bytes]:
        """Return the modules that must be refused, and the words to look for, as files."""
        files = {"refused/signed.ko": self.signed}
        for name, (content, words) in self.refused.items():
            files |= {f"refused/{name}.ko": content, f"refused/{name}.txt": words.encode()}
        return files

    def tool_settings(self) -> dict[str, str]:
        """Return the shell variables of the scripts that run the tool."""
        tool = subject(self.tests)[1]
        return {
            "RIVAL": self.rival.speedup,
            "TOOL_SPEEDUP": self.subject,
            "TOOL_FUNCTION": self.function,
            "TOOL_PARAMETER": tool.parameter,
            "TOOL_VALUE": tool.value,
            "TOOL_OTHER": tool.other,
            "TOOL_WRONG": tool.wrong,
            "TOOL_REFUSED": f"{self.subject}_{tool.refused}",
        }

    @property
    def drivers(self) -> list[str]:
        """The stock kernel's modules that are loaded first, each once."""
        return list(dict.fromkeys(name for test in self.tests for name in test.drivers))

    @property
    def least(self) -> dict[str, float]:
        """How many times fewer instructions each case must take, of all speed-ups."""
        return {case: least for test in self.tests for case, least in test.least.items()}


def load(speedups: Path, speedup: str) -> GuestTest:
    """Read a speed-up's guest.toml.

    Raises:
        MmbatchError: it is missing or wrong, or one of the scripts is missing.
    """
    directory = speedups / speedup
    for name in (_NAME, _FUNCTIONS, _COMPARE):
        if not (directory / name).is_file():
            raise MmbatchError(
                f"test the livepatch of '{speedup}'",
                f"there is no {name} in its directory",
                "write one, as docs/live-internals.md says",
                ExitCode.USAGE,
            )
    loaded = from_toml(_File, directory / _NAME)
    return GuestTest(
        speedup,
        directory / _FUNCTIONS,
        directory / _COMPARE,
        loaded.observers,
        loaded.drivers,
        loaded.programs,
        {count.case: count.least for count in loaded.counts},
        loaded.tool,
    )


def subject(tests: tuple[GuestTest, ...]) -> tuple[str, ToolTest]:
    """Return the first speed-up with which the tool can be tested, and how.

    Raises:
        MmbatchError: there is none.
    """
    for test in tests:
        if test.tool is not None:
            return test.speedup, test.tool
    raise MmbatchError(
        "test `mmbatch live` in a guest",
        f"no {_NAME} has a table [tool]",
        "add one, as docs/live-internals.md says",
        ExitCode.USAGE,
    )


def source(name: str) -> Path:
    """Return the C file of a module or program for guests, by its name.

    Raises:
        MmbatchError: no speed-up has one of that name.
    """
    found = sorted(paths.SPEEDUPS.glob(f"*/guest/{name}.c"))
    if not found:
        raise MmbatchError(
            f"build {name} for a guest",
            f"there is no speedups/*/guest/{name}.c",
            f"correct the name in {_NAME}",
            ExitCode.USAGE,
        )
    return found[0]


def sign(cache: Cache, headers: Headers, module: Path) -> bytes:
    """Return a module with a signature that no kernel trusts.

    Args:
        cache: for temporary files, the key among them.
        headers: of the module's kernel, which have the program that signs.
        module: the file, which stays as it is.

    Raises:
        MmbatchError: it can't be signed.
    """
    action = f"sign {module.name}"
    program = headers.path / "scripts/sign-file"
    if not program.exists():
        raise MmbatchError(action, f"there is no {program}", "install the package linux-kbuild")
    with temporary_dir(cache.downloads, "key") as folder:
        key, certificate, signed = folder / "key.priv", folder / "key.der", folder / module.name
        argv = ["openssl", "req", "-new", "-x509", "-newkey", "rsa:2048", "-nodes", "-sha256"]
        argv += ["-days", "2", "-subj", SUBJECT, "-outform", "DER"]
        run([*argv, "-keyout", key, "-out", certificate], action=action)
        run([program, "sha256", key, certificate, module, signed], action=action)
        return signed.read_bytes()


def tool_files() -> dict[str, bytes]:
    """Return python3, its library, click, rich, and this tool in /mmbatch, as files by name."""
    python = Path(sys.executable).resolve()
    library = Path(sysconfig.get_path("stdlib"))
    found = {"bin/python3": python.read_bytes()}
    place = f"usr/lib/{library.name}"
    for path, name in _below(library, place):
        if not name.startswith((f"{place}/config-", f"{place}/dist-packages")):
            found[name] = path.read_bytes()
    for package in _PACKAGES:
        spec = find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        for path, name in _below(Path(spec.origin).parent, f"mmbatch/site/{package}"):
            found[name] = path.read_bytes()
    for directory in _DIRECTORIES:
        for path, name in _below(paths.ROOT / directory, f"mmbatch/{directory}"):
            found[name] = path.read_bytes()
    for program in (python, *library.glob("lib-dynload/*.so")):
        for needed in initramfs.libraries(program):
            found[needed.lstrip("/")] = Path(needed).read_bytes()
    return found


def _below(folder: Path, name: str) -> Iterator[tuple[Path, str]]:
    """Yield the files below a directory, each with its name in the guest."""
    for path in sorted(folder.iterdir()):
        if path.name in _LEFT_OUT:
            continue
        if path.is_dir():
            yield from _below(path, f"{name}/{path.name}")
        else:
            yield path, f"{name}/{path.name}"


@dataclass(frozen=True)
class Misfit:
    """How a good module is turned into one that does not fit.

    Attributes:
        name: of the variant.
        kind: what is changed; one of `KINDS`.
        old: the string or symbol that is replaced; empty for kinds that replace none.
        new: what replaces it, as long as `old` for a string.
        words: what the kernel's log must say when it refuses the module.
    """

    name: str
    kind: str = field(metadata=key("change"))
    old: str = field(default="", metadata=key("from"))
    new: str = field(default="", metadata=key("to"))
    words: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError for a kind that there is not, or that lacks or has what it replaces."""
        if self.kind not in KINDS:
            raise ValueError(f"change: must be one of {', '.join(KINDS)}, not '{self.kind}'")
        if not self.words:
            raise ValueError("'words' is missing")
        for name, value in (("from", self.old), ("to", self.new)):
            if self.kind in _REPLACING and not value:
                raise ValueError(f"'{name}' is missing")
            if self.kind not in _REPLACING and value:
                raise ValueError(f"unknown key '{name}' for change '{self.kind}'")


@dataclass(frozen=True)
class _RefusedFile:
    """What refused.toml holds."""

    misfits: tuple[Misfit, ...] = field(default=(), metadata=key("module"))


def load_misfits(speedups: Path, speedup: str) -> list[Misfit]:
    """Read a speed-up's refused.toml.

    Raises:
        MmbatchError: it is missing or wrong.
    """
    path = speedups / speedup / _REFUSED
    try:
        return list(from_toml(_RefusedFile, path).misfits)
    except FileNotFoundError:
        raise MmbatchError(
            f"test the livepatch of '{speedup}'",
            f"there is no {_REFUSED} in its directory",
            "write one, as docs/live-internals.md says",
            ExitCode.USAGE,
        ) from None


def variants(misfits: list[Misfit], module: Path) -> dict[str, tuple[bytes, str]]:
    """Return modules that do not fit, by name, each with the words that the log must have.

    A kernel without module versions can't refuse a wrong one, so that variant is left out.

    Args:
        misfits: what is made wrong.
        module: a file that fits.

    Raises:
        MmbatchError: the module lacks what is to be changed.
    """
    found = {}
    has_versions = _HAS_VERSIONS.search(module.read_bytes())
    for misfit in misfits:
        if misfit.kind == "version" and not has_versions:
            continue
        content = elf.read(module)
        KINDS[misfit.kind](content, misfit)
        found[misfit.name] = (content.pack(), misfit.words)
    return found


def _change_string(module: Elf, misfit: Misfit) -> None:
    """Change a string in the module's tables."""
    old, new = f"\0{misfit.old}\0".encode(), f"\0{misfit.new}\0".encode()
    hits = 0
    for section in module.sections:
        if section.name.startswith(".rodata"):
            before = b"\0" + section.content
            after = before.replace(old, new)
            hits += before != after
            section.content = after[1:]
    _require(hits == 1, misfit, misfit.old)


def _change_symbol(module: Elf, misfit: Misfit) -> None:
    """Make the kernel look for another symbol."""
    name = f".klp.sym.vmlinux.{misfit.old},0"
    at = [i for i, symbol in enumerate(module.symbols) if symbol.name == name]
    _require(len(at) == 1, misfit, name)
    symbol = module.symbols[at[0]]
    renamed = f".klp.sym.vmlinux.{misfit.new},0"
    module.symbols[at[0]] = elf.renamed(symbol, renamed, symbol.section)


def _change_size(module: Elf, misfit: Misfit) -> None:
    """Make the first struct of the table of places larger than it is."""
    _change_place(module, misfit, 0, offset=0, size=8)


def _change_offset(module: Elf, misfit: Misfit) -> None:
    """Put the first member of that struct, the second entry, at another offset."""
    _change_place(module, misfit, 1, offset=8, size=0)


def _change_place(module: Elf, misfit: Misfit, number: int, offset: int, size: int) -> None:
    found = [symbol for symbol in module.symbols if symbol.name == "live_places"]
    _require(len(found) == 1, misfit, "live_places")
    section = module.sections[found[0].section]
    content = bytearray(section.content)
    at = found[0].value + number * _PLACE.size
    name, member, old_offset, old_size = _PLACE.unpack_from(content, at)
    _PLACE.pack_into(content, at, name, member, old_offset + offset, old_size + size)
    section.content = bytes(content)


def _change_magic(module: Elf, misfit: Misfit) -> None:
    """Change the version magic, which names the kernel that the module was built for."""
    section = module.find(".modinfo")
    _require(section is not None and section.content.count(_MAGIC) == 1, misfit, "vermagic")
    assert section is not None
    section.content = section.content.replace(_MAGIC, _MAGIC.lower())


def _change_version(module: Elf, misfit: Misfit) -> None:
    """Change the checksum of a symbol's type."""
    section = module.find(_VERSIONS)
    _require(section is not None, misfit, _VERSIONS)
    assert section is not None
    content = bytearray(section.content)
    for at in range(0, len(content), _VERSION.size):
        checksum, name = _VERSION.unpack_from(content, at)
        if name.rstrip(b"\0") == b"module_layout":
            _VERSION.pack_into(content, at, checksum ^ 1, name)
            section.content = bytes(content)
            return
    _require(False, misfit, "module_layout")


def _require(good: bool, misfit: Misfit, what: str) -> None:
    if not good:
        raise MmbatchError(
            f"make the module '{misfit.name}', which must be refused",
            f"the module does not have {what} exactly once",
            f"correct {_REFUSED} of the speed-up",
        )


_REPLACING = ("string", "symbol")

KINDS: Mapping[str, Callable[[Elf, Misfit], None]] = {
    "string": _change_string,
    "symbol": _change_symbol,
    "size": _change_size,
    "offset": _change_offset,
    "magic": _change_magic,
    "version": _change_version,
}
"""What can be changed, by the name that refused.toml uses."""
