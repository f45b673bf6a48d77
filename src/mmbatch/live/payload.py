# SPDX-License-Identifier: GPL-2.0-only
"""What the guests of `mmbatch live test` are given: livepatches, observers, programs, the tool.

A speed-up's guest.toml lists what is its own.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.disk import temporary_dir
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.load import NOT_IN_FILE, Count, from_toml, key, wrong
from mmbatch.core.process import run
from mmbatch.guest import initramfs
from mmbatch.live import build
from mmbatch.live.build import Module
from mmbatch.live.kernel import Headers

SUBJECT = "/CN=mmbatch, a key for one test"
"""Of the certificate, by which tools say who signed."""

SCRIPTS = paths.LIVE / "guest"
"""The scripts that run for all speed-ups."""

RANDOM_CALLS = SCRIPTS / "random_calls.c"
"""A program that calls mm at random, and compares what memory holds."""

FAULTS = (SCRIPTS / "slow.c", SCRIPTS / "starve.c")
"""Modules that let something go wrong in the kernel."""

_NAME = "live/guest.toml"
_FUNCTIONS = "live/guest.sh"
_COMPARE = "live/compare.sh"
_LIBRARY = "guest/lib.sh"
_PACKAGES = ("click", "rich")
_DIRECTORIES = ("live", "speedups", "src")
_LEFT_OUT = {"__pycache__", "ensurepip", "idlelib", "lib2to3", "site-packages", "test", "tkinter"}


@dataclass(frozen=True)
class ToolTest:
    """How `mmbatch live` itself is tested with a speed-up.

    Attributes:
        parameter: of the speed-up's module.
        value: one that it takes.
        other: another that it takes.
        wrong: one that it does not take.
        refused: a module of refused.toml.
        slow: functions of the kernel, at least one of each series, that the first one that the
            speed-up replaces calls often, until it ends.
    """

    parameter: str
    value: str
    other: str
    wrong: str
    refused: str
    slow: tuple[str, ...]


@dataclass(frozen=True)
class _Count:
    case: str
    least: float


@dataclass(frozen=True)
class ExtraBoot:
    """A boot that one speed-up needs besides those of all.

    Attributes:
        name: of its script, live/NAME.sh.
        cmdline: added to the kernel's command line.
        cpus: number of CPUs.
        pmem_gib: size of its NVDIMM in GiB.
    """

    name: str
    cmdline: tuple[str, ...] = ()
    cpus: Count = 2
    pmem_gib: Count = 1


@dataclass(frozen=True)
class GuestTest:
    """A speed-up's guest.toml.

    Attributes:
        observers: modules of ours that look at the results.
        drivers: modules of the stock kernel that are loaded first.
        optional: more of them. A kernel without them can still use the speed-up.
        programs: programs of ours that the scripts run.
        counts: what is counted, and how many times fewer instructions it must take when patched.
        tool: how the tool is tested with it, None if it is not.
        boots: boots of its own.
        directory: of the speed-up.
    """

    observers: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    counts: tuple[_Count, ...] = field(default=(), metadata=key("count"))
    tool: ToolTest | None = None
    boots: tuple[ExtraBoot, ...] = field(default=(), metadata=key("boot"))
    directory: Path = field(default=Path(), metadata=NOT_IN_FILE)

    @property
    def speedup(self) -> str:
        """Name of the speed-up."""
        return self.directory.name

    @property
    def functions(self) -> Path:
        """Its guest.sh, which the scripts source."""
        return self.directory / _FUNCTIONS

    @property
    def compare(self) -> Path:
        """Its compare.sh, which runs before all speed-ups are loaded together."""
        return self.directory / _COMPARE

    @property
    def least(self) -> dict[str, float]:
        """How many times fewer instructions each case must take when it is patched."""
        return {count.case: count.least for count in self.counts}

    @property
    def script(self) -> str:
        """Name of compare.sh in the guest."""
        return f"compare_{self.speedup}"


@dataclass(frozen=True)
class Payload:
    """What a guest is given to load.

    Attributes:
        modules: the livepatches, by speed-up.
        tests: what their guest.toml say.
        observers: modules that look at the results, by name.
        faults: modules that let something go wrong in the kernel, by name.
        refused: modules that must be refused and the words for it, by name.
        signed: one of the livepatches, signed with a key that the kernel lacks.
        rival: a second livepatch that replaces a function of `subject`.
        subject: the speed-up with which the tool is tested.
        function: one that it replaces.
    """

    modules: Mapping[str, Module]
    tests: tuple[GuestTest, ...]
    observers: Mapping[str, bytes]
    faults: Mapping[str, bytes]
    refused: Mapping[str, tuple[bytes, str]]
    signed: bytes
    rival: Module
    subject: str
    function: str

    def files(self) -> dict[str, bytes]:
        """Return the files that every guest has, by name."""
        files = _modules([*self.modules.values(), self.rival])
        files |= {f"modules/{name}.ko": content for name, content in self.observers.items()}
        files |= _scripts() | _functions(self.tests)
        for test in self.tests:
            files[f"{test.script}.sh"] = test.compare.read_bytes()
            for boot in test.boots:
                script = test.directory / "live" / f"{boot.name}.sh"
                files[f"{test.speedup}_{boot.name}.sh"] = script.read_bytes()
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

    def fault_files(self) -> dict[str, bytes]:
        """Return modules that let something go wrong, or with which something is wrong.

        The latter are the subject's, for another kernel and from another build.
        """
        good = self.modules[self.subject]
        return {
            **{f"faults/{name}.ko": content for name, content in self.faults.items()},
            "faults/older.ko": build.older(good.path),
            "faults/rebuilt.ko": build.rebuilt(good.path),
        }

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
            "TOOL_SLOW": ",".join(tool.slow),
        }

    @property
    def drivers(self) -> list[str]:
        """The stock kernel's modules that are loaded first, each once."""
        return _drivers(self.tests)

    @property
    def optional(self) -> list[str]:
        """More of them, without which the kernel can still use the speed-ups."""
        return _optional(self.tests)

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
    test = replace(from_toml(GuestTest, directory / _NAME), directory=directory)
    for boot in test.boots:
        if not (directory / "live" / f"{boot.name}.sh").is_file():
            raise wrong(directory / _NAME, f"there is no {boot.name}.sh beside it")
    return test


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

    Raises:
        MmbatchError: it can't be signed.
    """
    action = f"sign {module.name}"
    program = headers.path / "scripts/sign-file"
    if not program.exists():
        raise MmbatchError(action, f"there is no {program}", "install the package linux-kbuild")
    with temporary_dir(cache.downloads, "key") as directory:
        key, certificate, signed = (
            directory / "key.priv",
            directory / "key.der",
            directory / module.name,
        )
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


def _modules(modules: Iterable[Module]) -> dict[str, bytes]:
    return {f"modules/{module.name}.ko": module.path.read_bytes() for module in modules}


def _functions(tests: Iterable[GuestTest]) -> dict[str, bytes]:
    """Return the functions of speed-ups that scripts call, as files by name."""
    files = {}
    for test in tests:
        library = test.directory / _LIBRARY
        if library.exists():  # functions that a speed-up's other guests have too
            files[f"{test.speedup}/lib.sh"] = library.read_bytes()
        files[f"{test.speedup}/live.sh"] = test.functions.read_bytes()
    return files


def _drivers(tests: Iterable[GuestTest]) -> list[str]:
    return list(dict.fromkeys(name for test in tests for name in test.drivers))


def _optional(tests: Iterable[GuestTest]) -> list[str]:
    return list(dict.fromkeys(name for test in tests for name in test.optional))


def _scripts() -> dict[str, bytes]:
    files = {script.name: script.read_bytes() for script in SCRIPTS.glob("*.sh")}
    files["live.sh"] = files.pop("lib.sh")  # the guest has a lib.sh of its own
    return files


def _below(directory: Path, name: str) -> Iterator[tuple[Path, str]]:
    """Yield the files below a directory, each with its name in the guest."""
    for path in sorted(directory.iterdir()):
        if path.name in _LEFT_OUT:
            continue
        if path.is_dir():
            yield from _below(path, f"{name}/{path.name}")
        else:
            yield path, f"{name}/{path.name}"
