# SPDX-License-Identifier: GPL-2.0-only
"""Programs of another release: real ones of this machine, in directories that stand for it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fake_archive import FakeArchive, lacks
from foreign_programs import libraries, wanting
from mmbatch.core.cache import Cache
from mmbatch.core.errors import MmbatchError
from mmbatch.debian import apt as apt_module
from mmbatch.debian import foreign
from mmbatch.debian.apt import Apt

needs_archive = pytest.mark.skipif(bool(lacks()), reason=f"lacks {' '.join(lacks())}")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory with a space in its name, in which a program and what it needs are unpacked."""
    directory = tmp_path / "un packed"
    program = shutil.which("cat")
    assert program is not None
    for place, source in {"usr/bin/prog": Path(program), **libraries(program)}.items():
        (directory / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, directory / place)
    return directory


def test_a_program_runs_with_its_own_libraries(root: Path) -> None:
    (root / "bin").mkdir()
    foreign.wrap(root, "usr/bin/prog", root / "bin/prog", ["-u"])
    moved = root.rename(root.with_name("else where"))

    output = subprocess.run(
        [moved / "bin/prog", "/proc/self/maps"], check=True, capture_output=True, text=True
    ).stdout

    mapped = set(re.findall(r" (/.*\.so\S*)$", output, re.M))
    assert f"{moved}/usr/lib/{foreign.TUPLE}/libc.so.6" in mapped
    assert all(path.startswith(f"{moved}/") for path in mapped)


def test_a_program_without_a_loader(root: Path) -> None:
    for path in root.rglob("ld-linux*"):
        path.unlink()

    with pytest.raises(MmbatchError, match=r"no ld-linux-x86-64\.so\.2"):
        foreign.wrap(root, "usr/bin/prog", root / "usr/bin/it")


def test_programs_that_want_newer_libraries(root: Path) -> None:
    wants = wanting(root / "usr/bin/prog", root / "usr/bin/wants")
    (root / "usr/bin/text").write_text("#!/bin/sh\n")
    (root / "usr/bin/link").symlink_to("wants")

    assert foreign.unrunnable(root / "usr/bin") == [wants]


def test_a_program_is_wrapped_in_its_place(root: Path) -> None:
    program = root / "usr/bin/prog"
    foreign.wrap_in_place(root, [program])

    output = subprocess.run([program, "/proc/self/comm"], check=True, capture_output=True).stdout

    assert output
    assert program.read_text().startswith("#!/bin/sh\n")
    assert foreign.unrunnable(root / "usr/bin") == []


def test_a_program_that_could_not_be_wrapped(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = wanting(root / "usr/bin/prog", root / "usr/bin/wants")

    def full(*_: object) -> None:
        raise MmbatchError("write it", "no room", "make some")

    with monkeypatch.context() as patched, pytest.raises(MmbatchError, match="no room"):
        patched.setattr(foreign, "atomic_write", full)
        foreign.wrap_in_place(root, [program])
    assert foreign.unrunnable(root / "usr/bin") == [program]

    foreign.wrap_in_place(root, [program])
    assert program.read_text().startswith("#!/bin/sh\n")
    assert program.stat().st_mode & 0o777 == 0o755


@pytest.fixture
def archive(tmp_path: Path, gpg_home: Path, monkeypatch: pytest.MonkeyPatch) -> FakeArchive:
    fake = FakeArchive(tmp_path / "archive", gpg_home)
    fake.add("trixie", "libc6", "2.41-12", {})
    fake.add("forky", "libc6", "2.43-7", {})
    fake.add("trixie", "libit-dev", "1-1", {})
    fake.add("trixie", "libit1", "1-1", {}, "libc6 (>= 2.38)", "libgone2")
    fake.add("forky", "libit1", "2-1", {}, "libc6 (>= 2.43)")
    fake.add("trixie-backports", "it", "3-1~bpo", {}, "libit1 (>= 1), libit-dev | pahole")
    fake.add("experimental", "next", "4-1", {}, "libc6")
    fake.add("sid", "libc6", "2.44-1", {})
    fake.add("trixie", "gcc-99", "99-1", {}, "gcc-99-base", "binutils (>= 2)")
    fake.add("trixie", "gcc-99-base", "99-1", {})
    fake.add("trixie", "binutils", "2-1", {}, "binutils-common", "binutils-x86-64-linux-gnu")
    fake.add("trixie", "binutils-common", "2-1", {})
    fake.add("trixie", "binutils-x86-64-linux-gnu", "2-1", {})
    listed = tmp_path / "debian.sources"
    listed.write_text(fake.sources)
    monkeypatch.setattr(apt_module, "source_files", lambda: [listed])
    return fake


@needs_archive
def test_all_that_a_program_needs_is_of_one_release(archive: FakeArchive, tmp_path: Path) -> None:
    assert archive.root.is_dir()
    apt = Apt(Cache(tmp_path / "cache"), print)

    version, suite = apt.madison("it")[0]

    assert foreign.closure(apt, "it", version, suite) == {
        "it": "3-1~bpo",
        "libit1": "1-1",
        "libc6": "2.41-12",
    }
    assert apt.in_suite("libc6", "forky") == "2.43-7"
    assert apt.in_suite("libit1", "sid") is None
    assert foreign.closure(apt, "next", "4-1", "experimental") == {"next": "4-1", "libc6": "2.44-1"}
    assert apt.in_suite("libc6", "potato") is None


@needs_archive
def test_a_compiler_comes_with_its_assembler(archive: FakeArchive, tmp_path: Path) -> None:
    assert archive.root.is_dir()
    apt = Apt(Cache(tmp_path / "cache"), print)

    version, suite = apt.madison("gcc-99")[0]
    found = foreign.closure(apt, "gcc-99", version, suite)

    assert set(found) == {"gcc-99", "binutils", "binutils-x86-64-linux-gnu"}


@needs_archive
def test_names_are_those_of_the_first_suites_that_have_any(
    archive: FakeArchive, tmp_path: Path
) -> None:
    archive.add("trixie-backports", "headers-7.2.12", "1", {})
    archive.add("forky", "headers-7.2.13", "1", {})
    archive.add("forky", "headers-6.1.1", "1", {})
    apt = Apt(Cache(tmp_path / "cache"), print)
    apt.madison("next")

    assert apt.names("headers-7.2.") == ["headers-7.2.12"]
    assert apt.names("headers-6.1.") == ["headers-6.1.1"]
