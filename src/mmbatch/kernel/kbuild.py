# SPDX-License-Identifier: GPL-2.0-only
"""Let a kernel's own build system make objects, and reuse the command lines that it used."""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from mmbatch.core import cache, log, process
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel.sources import Source

TOOLS = ("gcc", "as", "ld")
"""The programs by which a kernel's makefiles make its objects; all but the first are binutils."""

_TIMEOUT_S = 3 * 3600
_OBJECT_BYTES = 200_000_000
_PROTOTYPE = re.compile(
    r"^/\* .+:\d+:[NO]F \*/ (?:extern |static )?"  # a definition, not a declaration
    r"(?P<result>.*?)(?P<name>\w+) \((?P<parameters>.*)\); /\* \((?P<names>.*?)\)",
    re.MULTILINE,
)
_OBJECTS = ".objects"
"""The file that lists the objects of an output directory that are finished."""


@dataclass(frozen=True)
class Toolchain:
    """The programs that make objects."""

    compiler: str  # first line of its `--version`
    binutils: str  # that of the assembler; empty without other programs
    identity: str  # differs for other programs; for the keys of cached builds


def toolchain(compiler: str | Path, *others: str | Path) -> Toolchain:
    """Return what a compiler and the programs that work with it are."""
    versions, identities = [], []
    for program in (compiler, *others):
        action = f"ask {program} for its version"
        printed = process.run([program, "--version"], action=action).stdout
        versions.append(printed.partition("\n")[0].strip())
        # Another program can print the same version: a wrapper, or a build of one's own.
        path = Path(shutil.which(program) or program).resolve()
        status = path.stat()
        identities.append(f"{path} {status.st_size} {status.st_mtime_ns} {versions[-1]}")
    return Toolchain(versions[0], versions[1] if others else "", "\n".join(identities))


@dataclass(frozen=True)
class ObjectTree:
    """A kernel's output directory in which objects can be made."""

    source: Source
    path: Path
    config_sha256: str
    compiler: str  # first line of its `--version`
    binutils: str = ""  # that of the assembler


def configure(
    source: Source,
    fragment: Path,
    options: Sequence[str],
    objects: Sequence[str],
    jobs: int,
    requires: Mapping[str, str],
) -> ObjectTree:
    """Return an output directory with the given objects in it, from the cache when it is there.

    Preparing one takes half a minute, so all who ask for the same configuration share it, and
    each adds the objects that it lacks. The fragment is over allnoconfig, the options, each
    "CONFIG_X=y", win over it, and what the configuration `requires` has a reason, a clause.
    """
    text = fragment.read_text(encoding="utf-8") + "".join(f"{option}\n" for option in options)
    tools = toolchain(*TOOLS)
    # Its makefiles name the source by its full path, so a cache that was moved is rebuilt.
    parts = [source.state, str(source.path), text, tools.identity]
    wanted = hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    path = cache.builds() / f"{source.ident}-{wanted}"
    log_file = cache.logs() / f"build-{path.name}.log"
    make = ["make", "-s", "-C", str(source.path), f"O={path}", f"-j{jobs}"]
    with cache.lock(f"build-{source.ident}", f"builds Linux {source.release}"):
        # Its place is in what make writes, so it is made where it stays, and finished after that.
        if not cache.use(path):
            cache.require_space(path, _OBJECT_BYTES, f"build Linux {source.release}")
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir()
            allnoconfig(make, path, text, source.release, log_file)
            check_options(path / ".config", options, source.release)
            _require(path / ".config", options, requires, source.release)
            _make(make, ["prepare"], source.release, log_file)
            (path / _OBJECTS).touch()
            (path / cache.DONE).touch()
            cache.use(path)
            cache.prune(path)
        _require(path / ".config", options, requires, source.release)
        _add(make, path, objects, source.release, log_file)
    digest = hashlib.sha256((path / ".config").read_bytes()).hexdigest()
    return ObjectTree(source, path, digest, tools.compiler, tools.binutils)


def _add(
    make: Sequence[str], path: Path, objects: Iterable[str], release: str, log_file: Path
) -> None:
    """Make the objects that an output directory lacks."""
    listed = path / _OBJECTS
    finished = set(listed.read_text().split())
    lacking = sorted({*objects} - finished)
    if not lacking:
        return
    log.say(f"building objects of Linux {release}")
    for name in lacking:  # make would take what was cut off for finished
        (path / name).unlink(missing_ok=True)
        (path / record_of(name)).unlink(missing_ok=True)
    for goals in groups(lacking):
        _make(make, goals, release, log_file)
    cache.atomic_write(listed, "\n".join(sorted({*finished, *lacking})))


def _make(make: Sequence[str], goals: Sequence[str], release: str, log_file: Path) -> None:
    action = f"build {' '.join(goals)} of Linux {release}"
    process.run([*make, *goals], action=action, log=log_file, timeout_s=_TIMEOUT_S)


def allnoconfig(
    make: Sequence[str | Path], output: Path, config: str, release: str, log_file: Path
) -> None:
    """Configure a kernel in an output directory with some options over allnoconfig.

    `make` is the command less its goal.
    """
    allconfig = output / "mmbatch.config"
    allconfig.write_text(config, encoding="utf-8")
    process.run(
        [*make, "allnoconfig"],
        action=f"configure Linux {release}",
        env={"KCONFIG_ALLCONFIG": str(allconfig)},
        log=log_file,
        timeout_s=_TIMEOUT_S,
    )


def record_of(name: str) -> str:
    """Return the file in which kbuild notes the command that made an object."""
    path = PurePosixPath(name)
    return str(path.with_name(f".{path.name}.cmd"))


def compile_like(
    tree: ObjectTree,
    like: str,
    source: Path,
    output: Path,
    *,
    other_source: Path | None = None,
    options: Sequence[str] = (),
    log: Path,
) -> None:
    """Compile a C file exactly as the kernel compiles one of its own, the object `like`.

    More options come at the end. With `other_source`, headers are taken from that copy of the
    source tree.
    """
    record = (tree.path / record_of(like)).read_text(encoding="utf-8").splitlines()[0]
    words = shlex.split(record.split(":=", 1)[1].split(";")[0])
    del words[words.index("-o") : words.index("-o") + 2]
    old, new = PurePosixPath(like).stem, source.stem
    headers = str(other_source or tree.source.path)
    command = []
    for word in words:
        if word.startswith(("-DKBUILD_", "-D__KBUILD_")):
            command.append(word.replace(f'"{old}"', f'"{new}"').replace(f"={old}", f"={new}"))
        elif word != "-c" and not word.startswith("-Wp,-MMD") and not word.endswith((".c", ".S")):
            command.append(word.replace(str(tree.source.path), headers))
    process.run(
        [*command, *options, "-c", "-o", output, source],
        action=f"compile {source.name} for Linux {tree.source.release}",
        cwd=tree.path,
        log=log,
    )


def groups(objects: Sequence[str]) -> list[list[str]]:
    """Group goals: those of a lib/ directory are made one by one, which kbuild needs.

    It enters such a directory once for each goal, and two makes at the same object fail.
    """
    libraries = [name for name in objects if "/lib/" in name]
    others = [name for name in objects if name not in libraries]
    return [group for group in (others, libraries and ["-j1", *libraries]) if group]


def check_options(config: Path, options: Sequence[str], release: str) -> None:
    """Raise MmbatchError unless a finished .config has every one of some options."""
    for option in _absent(config, options):
        problem = "the kernel has no such option, or its dependencies do not allow it"
        hint = "look for it in the kernel's Kconfig, and give what it depends on with -K too"
        action = f"configure Linux {release} with {option}"
        raise MmbatchError(action, problem, hint, ExitCode.USAGE)


def _absent(config: Path, options: Iterable[str]) -> list[str]:
    """Return those of some options ("CONFIG_X=y") that a finished .config does not have."""
    lines = config.read_text(encoding="utf-8").splitlines()
    values = dict(line.split("=", 1) for line in lines if line.startswith("CONFIG_"))
    pairs = (option.partition("=") for option in options)
    return [f"{name}={value}" for name, _, value in pairs if values.get(name, "n") != value]


def _require(
    config: Path, options: Sequence[str], requires: Mapping[str, str], release: str
) -> None:
    """Raise MmbatchError if a kernel with some options lacks something that is required."""
    for text in _absent(config, requires):
        name = text.partition("=")[0]
        against = [option for option in options if option.startswith(f"{name}=")] or options
        shown = " ".join(f"-K {option}" for option in against)
        action = f"build the objects of Linux {release}" + (f" with {shown}" if shown else "")
        problem = f"{text} is needed, because {requires[text]}"
        hint = f"leave out {shown}" if shown else "choose another kernel"
        raise MmbatchError(action, problem, hint, ExitCode.USAGE)


def symbols(*words: Path | str) -> set[str]:
    """Return global symbols of objects, given these and, for some, nm's option."""
    printed = process.run(["nm", "-g", "-j", *words], action="read the symbols of objects").stdout
    return set(printed.split())


def prototypes(types: Path) -> dict[str, str]:
    """Return the functions that a file defines, from what gcc's -aux-info wrote.

    Each is "RESULT NAME (TYPE, TYPE)", without names, so that a parameter may change its name.
    """
    found = {}
    for match in _PROTOTYPE.finditer(types.read_text(encoding="utf-8", errors="replace")):
        parameters = re.split(r", (?![^(]*\))", match["parameters"])
        names = match["names"].split(", ")
        if match["names"] and len(names) == len(parameters):
            parameters = list(map(_without, parameters, names))
        found[match["name"]] = f"{match['result']}{match['name']} ({', '.join(parameters)})"
    return found


def _without(parameter: str, name: str) -> str:
    """Return a parameter's type, which may have a word like its name: "struct zone *zone"."""
    return " ".join(re.sub(rf"\b{name}\b(?!.*\b{name}\b)", "", parameter).split())


def sections(path: Path) -> dict[str, str]:
    """Return what is in each section of an object, and what refers to other places from there."""
    printed = process.run(["objdump", "-s", "-r", path], action=f"read {path.name}").stdout
    found: dict[str, str] = {}
    for part in re.split(r"\n(?:Contents of section |RELOCATION RECORDS FOR \[)", printed)[1:]:
        name, _, text = part.partition("\n")
        name = name.rstrip("]:")
        found[name] = f"{found.get(name, '')}\n{text.strip()}"
    return found


def functions(path: Path, kind: str = "F") -> dict[str, tuple[str, int]]:
    """Return the section and the place in it of each function of an object, or "O" for data."""
    printed = process.run(["objdump", "-t", path], action=f"read {path.name}").stdout
    words = (line.split() for line in printed.splitlines() if f" {kind} " in line)
    return {each[-1]: (each[3], int(each[0], 16)) for each in words}


_GROWING = re.compile(r"(__bug_table|\.altinstr_aux|\.data\.\.once|\.rodata\.str\S*?)[+-]0x\w+")
"""References whose places are others as soon as any function has one more."""
_DATA = re.compile(r"\.(?:init\.)?(?:ro)?data(?!\.\.once|\.str)")


def changed_functions(base: Path, other: Path) -> set[str]:
    """Return the functions of an object whose code, or data that they use, another one changes.

    Both must have been compiled with a section for each function and variable.
    """
    before, after = (
        {name: _GROWING.sub(r"\1", text) for name, text in sections(path).items()}
        for path in (base, other)
    )
    differ = found = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    while found:
        names = {name for name in differ if _DATA.match(name)}
        names |= {name for name, (section, _) in functions(base, "O").items() if section in names}
        using = re.compile(
            rf"\s(?:{'|'.join(map(re.escape, names)) or '(?!)'})(?:[+-]0x\w+)?$", re.M
        )
        found = {name for name, text in before.items() if using.search(text)} - differ
        differ |= found
    return {name for name, (section, _) in functions(base).items() if section in differ}


def with_traps(program: Path, places: Iterable[int], copy: Path) -> Path:
    """Copy a program, with an instruction that no CPU has at some addresses of its code."""
    code = bytearray(program.read_bytes())
    printed = process.run(["readelf", "-lW", program], action="read the program").stdout
    loads = re.findall(r"LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)", printed)
    for offset, start, size in ([int(number, 16) for number in load] for load in loads):
        for at in (place - start + offset for place in places if start <= place < start + size):
            code[at : at + 2] = b"\x0f\x0b"
    copy.write_bytes(code)
    copy.chmod(0o755)
    return copy
