# SPDX-License-Identifier: GPL-2.0-only
"""A hosted program is that of the compiler which is here now, or its build is refused."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mmbatch.core import paths, process
from mmbatch.core.cache import Cache
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.hosted import build
from mmbatch.hosted.build import Program
from mmbatch.hosted.link import PROGRAM
from mmbatch.kernel import kbuild
from mmbatch.kernel.sources import Source
from mmbatch.splice.manifest import Hosted, Manifest, known, load
from mmbatch.splice.trees import Spliced

# Copies the configuration that it is given, and makes an object of each name, which says which
# compiler made it.
MAKE = """#!/bin/sh
for word; do case $word in O=*) cd "${word#O=}";; esac; done
for word; do case $word in
allnoconfig) cp "$KCONFIG_ALLCONFIG" .config;;
*.o) mkdir -p "${word%/*}"; gcc --version > "$word";;
esac; done
"""
Build = Callable[..., Program]

MANIFESTS = [load(paths.SPEEDUPS / name) for name in known(paths.SPEEDUPS)]
REQUIRED = [
    (manifest, text)
    for manifest in MANIFESTS
    if manifest.hosted
    for text in (*build.REQUIRES, *manifest.hosted.requires)
]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Put a program in front of all others; its `--version` prints a text."""
    place = tmp_path / "bin"
    place.mkdir()
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")

    def write(name: str, text: str) -> None:
        (place / name).write_text(text if text.startswith("#!") else f"#!/bin/sh\necho '{text}'\n")
        (place / name).chmod(0o755)

    return write


@pytest.fixture
def make_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Build a made-up speed-up, whose program says which compiler made base and patched."""
    monkeypatch.setattr(kbuild, "_OBJECT_BYTES", 1)
    engine = tmp_path / "hosted"
    engine.mkdir()
    required = "".join(f"{option}\n" for option in build.REQUIRES if option.endswith("=y"))
    (engine / "kernel.config").write_text(required)
    source = Source("7.3", "7.3.4", tmp_path, "toys", "toys", "1")
    manifest = Manifest("toys", hosted=Hosted(objects=("mm/toys.o",)), directory=tmp_path)

    def link(work: Path, tree: kbuild.ObjectTree, *_: object, **__: object) -> None:
        patched = process.run(["gcc", "--version"], action="compile").stdout
        (work / PROGRAM).write_text((tree.path / "mm/toys.o").read_text() + patched)

    monkeypatch.setattr(build, "link", link)

    def make(*, fuzz: bool = False) -> Program:
        cache, spliced = Cache(tmp_path / "cache"), Spliced(tmp_path, "spliced", ())
        return build.build(
            *(cache, source, spliced, manifest, engine, (), 2, lambda text: None), fuzz=fuzz
        )

    return make


def test_base_and_patched_are_of_one_compiler(
    install: Callable[[str, str], None], make_program: Build
) -> None:
    install("make", MAKE)
    versions = {}
    for version in ("toy gcc 1", "toy gcc 2", "toy gcc 1"):
        install("gcc", version)
        program = make_program()
        assert program.compiler == version
        assert program.path.read_text() == f"{version}\n{version}\n"
        assert make_program() == program
        versions[program.path] = version
    assert sorted(versions.values()) == ["toy gcc 1", "toy gcc 1", "toy gcc 2"]


def test_a_fuzzer_is_of_one_clang(install: Callable[[str, str], None], make_program: Build) -> None:
    install("make", MAKE)
    pairs = []
    for version in ("toy clang 1", "toy clang 2"):
        install("clang", version)
        pairs.append((make_program(fuzz=True).path, make_program().path))
    assert pairs[0][0] != pairs[1][0]
    assert pairs[0][1] == pairs[1][1]


@pytest.mark.parametrize(
    ("speedup", "text"), REQUIRED, ids=[f"{manifest.speedup}-{text}" for manifest, text in REQUIRED]
)
def test_a_configuration_that_cannot_work_is_refused_at_once(
    tmp_path: Path, speedup: Manifest, text: str
) -> None:
    name, _, value = text.partition("=")
    given = f"{name}={'n' if value == 'y' else 'y'}"
    source = Source("7.3", "7.3.4", tmp_path, "toys", "toys", "1")
    arguments = (Cache(tmp_path / "cache"), source, speedup, paths.HOSTED)
    with pytest.raises(MmbatchError) as caught:
        build.objects(*arguments, ("CONFIG_PRINTK=y", given), 2, pytest.fail)
    assert caught.value.problem.startswith(f"{text} is needed, because ")
    assert caught.value.action.endswith(f"with -K {given}")
    assert caught.value.hint == f"leave out -K {given}"
    assert caught.value.code == ExitCode.USAGE


def test_configurations_that_ended_badly_are_among_the_refused() -> None:
    texts = {text for _, text in REQUIRED}
    bad = {"SMP=y", "NUMA=y", "KASAN=n", "KCSAN=n", "ZONE_DEVICE=y"}
    assert {f"CONFIG_{text}" for text in bad} <= texts
