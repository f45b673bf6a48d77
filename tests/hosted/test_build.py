# SPDX-License-Identifier: GPL-2.0-only
"""A hosted program is that of the compiler which is here now, or its build is refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fake_archive import source_of
from fake_program import before_others, script
from mmbatch.core import process
from mmbatch.hosted import program as hosted
from mmbatch.hosted.program import Program
from mmbatch.kernel import kbuild
from mmbatch.splice.apply import Spliced
from mmbatch.splice.manifest import Hosted, Manifest

# Copies the configuration that it is given, and makes an object of each name, which says which
# compiler made it.
MAKE = """#!/bin/sh
for word; do case $word in O=*) cd "${word#O=}";; esac; done
for word; do case $word in
allnoconfig) cp "$KCONFIG_ALLCONFIG" .config;;
*.o) mkdir -p "${word%/*}"; gcc --version > "$word";;
esac; done
"""
Install = Callable[[str, str], Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a program in front of all others; its `--version` prints a text."""
    place = before_others(tmp_path / "bin", monkeypatch)
    return lambda name, text: script(
        place / name, text if text.startswith("#!") else f"echo '{text}'"
    )


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """A made-up speed-up, whose program says which compiler made base and patched."""
    monkeypatch.setenv("MMBATCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kbuild, "_OBJECT_BYTES", 1)
    source = source_of(tmp_path)
    manifest = Manifest("toys", hosted=Hosted(objects=("mm/toys.o",)), directory=tmp_path)

    def run(link: hosted._Link) -> None:
        patched = process.run(["gcc", "--version"], action="compile").stdout
        base = (link.program.objects.path / "mm/toys.o").read_text()
        (link.work / "hosted").write_text(base + patched)

    monkeypatch.setattr(hosted._Link, "run", run)
    return Program(source, [manifest], jobs=2, tree=Spliced(tmp_path, "spliced", ()))


def test_base_and_patched_are_of_one_compiler(install: Install, program: Program) -> None:
    install("make", MAKE)
    versions = {}
    for version in ("toy gcc 1", "toy gcc 2", "toy gcc 1"):
        install("gcc", version)
        built = replace(program)
        assert built.path.read_text() == f"{version}\n{version}\n"
        assert built.objects.compiler == version
        assert replace(program).path == built.path
        versions[built.path] = version
    assert sorted(versions.values()) == ["toy gcc 1", "toy gcc 1", "toy gcc 2"]


def test_a_fuzzer_is_of_one_clang(install: Install, program: Program) -> None:
    install("make", MAKE)
    pairs = []
    for version in ("toy clang 1", "toy clang 2"):
        install("clang", version)
        pairs.append((replace(program, fuzz=True).path, replace(program).path))
    assert pairs[0][0] != pairs[1][0]
    assert pairs[0][1] == pairs[1][1]
