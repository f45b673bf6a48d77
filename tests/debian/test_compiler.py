# SPDX-License-Identifier: GPL-2.0-only
"""The compiler of a kernel: installed, fetched, or not to be had."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fake_archive import FakeArchive, lacks
from foreign_programs import libraries
from mmbatch.core.cache import Cache
from mmbatch.core.errors import MmbatchError
from mmbatch.core.paths import cache_variable
from mmbatch.core.process import toolchain
from mmbatch.debian import apt as apt_module
from mmbatch.debian import foreign
from mmbatch.debian.foreign import Compiler, WantedCompiler
from mmbatch.live.kernel import Headers

RELEASE = "7.3.4+deb13-cloud-amd64"
VERSION = "99.2.0-19"
PART = "gcc-99-x86-64-linux-gnu"
needs_archive = pytest.mark.skipif(bool(lacks()), reason=f"lacks {' '.join(lacks())}")


def headers(text: str = f"{foreign.TUPLE}-gcc-99 (Debian {VERSION}) 99.2.0") -> Headers:
    return Headers(RELEASE, "7.3", Path("/no"), {"CONFIG_CC_VERSION_TEXT": f'"{text}"'})


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "x86_64-linux-gnu-gcc-14 (Debian 14.2.0-19) 14.2.0",
            WantedCompiler("x86_64-linux-gnu-gcc-14", "gcc-14", "14.2.0-19"),
        ),
        ("gcc-12 (Debian 12.2.0-14) 12.2.0", WantedCompiler("gcc-12", "gcc-12", "12.2.0-14")),
        ("gcc (GCC) 15.1.1", WantedCompiler("gcc", "gcc-15", "")),
        ("", None),
    ],
)
def test_what_a_kernel_says_of_its_compiler(text: str, wanted: WantedCompiler | None) -> None:
    assert foreign.wanted_compiler(headers(text)) == wanted


@pytest.mark.parametrize(
    ("name", "named", "arguments"),
    [
        (f"{foreign.TUPLE}-gcc-99", True, ()),
        (f"{foreign.TUPLE}-gcc-99", False, (f"CC={foreign.TUPLE}-gcc-99",)),
        ("gcc-99", True, ("CC=gcc-99",)),
    ],
)
def test_one_that_is_installed_is_used_as_it_is(
    name: str,
    named: bool,
    arguments: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    headers_here = dataclasses.replace(headers(), path=tmp_path)
    if named:
        (tmp_path / ".kernelvariables").write_text("CC = gcc-99\n")
    program = tmp_path / name
    program.write_text("#!/bin/sh\necho this is it\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    found = foreign.find_compiler(Cache(tmp_path / "cache"), headers_here, print)

    assert found == foreign.installed_compiler(headers_here) == Compiler(name, arguments)
    assert toolchain(found.program).compiler == "this is it"
    assert not list((tmp_path / "cache").rglob("compiler*"))


def test_one_that_is_not_installed() -> None:
    with pytest.raises(MmbatchError) as caught:
        foreign.installed_compiler(headers())

    assert RELEASE in caught.value.action
    assert caught.value.problem == "it was built with gcc-99, and that is not installed here"
    assert caught.value.hint == "install it: apt-get install gcc-99"


def test_a_kernel_that_does_not_say() -> None:
    assert foreign.installed_compiler(headers("")) == Compiler("gcc")


@pytest.fixture
def archive(tmp_path: Path, gpg_home: Path, monkeypatch: pytest.MonkeyPatch) -> FakeArchive:
    """An archive with a compiler all of whose parts are echo."""
    program = shutil.which("echo")
    assert program is not None
    echo = Path(program)
    fake = FakeArchive(tmp_path / "archive", gpg_home)
    fake.add("trixie", "libc6", "2.41-12", libraries(program))
    fake.add("trixie", "binutils-x86-64-linux-gnu", "2.44-3", {f"usr/bin/{foreign.TUPLE}-as": echo})
    place = f"usr/libexec/gcc/{foreign.TUPLE}/99"
    fake.add("trixie", "cpp-99-x86-64-linux-gnu", VERSION, {f"{place}/cc1": echo}, "libc6")
    for version in ("99.4.0-1", VERSION):
        suite = "trixie" if version == VERSION else "bookworm-backports"
        needs = [f"cpp-99-x86-64-linux-gnu (= {version})", "binutils-x86-64-linux-gnu", "libc6"]
        fake.add(suite, PART, version, {f"usr/bin/{foreign.TUPLE}-gcc-99": echo}, *needs)
        fake.add(suite, "gcc-99", version, {}, f"{PART} (= {version})")
    listed = tmp_path / "debian.sources"
    listed.write_text(fake.sources)
    monkeypatch.setattr(apt_module, "source_files", lambda: [listed])
    return fake


@needs_archive
def test_one_that_is_fetched(archive: FakeArchive, tmp_path: Path) -> None:
    assert archive.root.is_dir()
    messages: list[str] = []
    cache = Cache(tmp_path / "cache")

    found = foreign.find_compiler(cache, headers(), messages.append)

    assert f"fetching gcc-99 {VERSION}, which is not installed, and its dependencies" in messages
    assert found.arguments == (f"CC={found.program}",)
    directory = Path(found.program).parent
    assert toolchain(found.program).compiler == f"-B{directory}/ --version"
    for name in ("cc1", "as"):
        ran = subprocess.run([directory / name, "a  b"], check=True, capture_output=True, text=True)
        assert ran.stdout == "a  b\n"
    messages.clear()
    assert foreign.find_compiler(cache, headers(), messages.append) == found
    assert messages == []


@needs_archive
def test_another_version_where_that_one_is_gone(archive: FakeArchive, tmp_path: Path) -> None:
    assert archive.root.is_dir()
    messages: list[str] = []
    text = f"{foreign.TUPLE}-gcc-99 (Debian 99.1.0-1) 99.1.0"

    with pytest.raises(MmbatchError) as caught:
        foreign.find_compiler(Cache(tmp_path / "cache"), headers(text), messages.append)

    # That of the backports, which lack the rest of it here.
    assert any(message.startswith("fetching gcc-99 99.4.0-1") for message in messages)
    assert "that is not installed here, and fetching it failed: " in caught.value.problem
    assert not list((tmp_path / "cache/live").glob("compiler*"))


@needs_archive
def test_a_disk_that_is_full(
    archive: FakeArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert archive.root.is_dir()
    monkeypatch.setattr("mmbatch.debian.foreign._COMPILER_BYTES", 10**18)

    with pytest.raises(MmbatchError) as caught:
        foreign.find_compiler(Cache(tmp_path / "cache"), headers(), lambda _: None)

    assert caught.value.action == "unpack gcc-99"
    assert cache_variable(os.environ) in caught.value.hint


@needs_archive
def test_one_that_nobody_has(archive: FakeArchive, tmp_path: Path) -> None:
    assert archive.root.is_dir()
    text = f"{foreign.TUPLE}-gcc-98 (Debian 98.1.0-1) 98.1.0"

    with pytest.raises(MmbatchError) as caught:
        foreign.find_compiler(Cache(tmp_path / "cache"), headers(text), lambda _: None)

    assert caught.value.problem == (
        "it was built with gcc-98, and that is not installed here, and fetching it failed: "
        "no configured suite has it"
    )
    assert caught.value.hint == "install it: apt-get install gcc-98"
    assert caught.value.code == 1
