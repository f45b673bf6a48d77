# SPDX-License-Identifier: GPL-2.0-only
"""Programs of another release: real ones of this machine, in packages that stand for it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from expect import printed
from fake_archive import FakeArchive, libraries, needs_archive
from fake_program import script
from mmbatch.kernel import foreign
from mmbatch.kernel.foreign import WantedCompiler
from mmbatch.kernel.kbuild import toolchain

RELEASE = "7.3.4+deb13-cloud-amd64"
VERSION = "99.2.0-19"
PART = "gcc-99-x86-64-linux-gnu"

pytestmark = pytest.mark.usefixtures("own_cache")


def config(text: str = f"{foreign.TUPLE}-gcc-99 (Debian {VERSION}) 99.2.0") -> dict[str, str]:
    return {"CONFIG_CC_VERSION_TEXT": f'"{text}"'}


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

    output = printed(moved / "bin/prog", "/proc/self/maps")
    mapped = set(re.findall(r" (/.*\.so\S*)$", output, re.M))
    assert f"{moved}/usr/lib/{foreign.TUPLE}/libc.so.6" in mapped
    assert all(path.startswith(f"{moved}/") for path in mapped)


@pytest.fixture
def archive(tmp_path: Path, gpg_home: Path, monkeypatch: pytest.MonkeyPatch) -> FakeArchive:
    """An archive with a compiler all of whose parts are echo."""
    program = shutil.which("echo")
    assert program is not None
    echo = Path(program)
    fake = FakeArchive.followed(tmp_path, gpg_home, monkeypatch)
    fake.add("trixie", "libc6", "2.41-12", libraries(program))
    fake.add("sid", "libc6", "2.44-1", {})
    fake.add("trixie", "binutils-x86-64-linux-gnu", "2.44-3", {f"usr/bin/{foreign.TUPLE}-as": echo})
    place = f"usr/libexec/gcc/{foreign.TUPLE}/99"
    fake.add("trixie", "cpp-99-x86-64-linux-gnu", VERSION, {f"{place}/cc1": echo}, "libc6")
    for version in ("99.4.0-1", VERSION):
        suite = "trixie" if version == VERSION else "bookworm-backports"
        needs = [f"cpp-99-x86-64-linux-gnu (= {version})", "binutils-x86-64-linux-gnu", "libc6"]
        fake.add(suite, PART, version, {f"usr/bin/{foreign.TUPLE}-gcc-99": echo}, *needs)
        fake.add(suite, "gcc-99", version, {}, f"{PART} (= {version})")
    return fake


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
    assert foreign.wanted_compiler(config(text)) == wanted


@pytest.mark.parametrize("name", [f"{foreign.TUPLE}-gcc-99", "gcc-99"])
def test_one_that_is_installed_is_used_as_it_is(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / name, "echo this is it")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert foreign.find_compiler(RELEASE, config()) == name
    assert foreign.find_compiler(RELEASE, {}) == "gcc"


@needs_archive
def test_one_that_is_fetched(archive: FakeArchive, said: list[str]) -> None:
    found = foreign.find_compiler(RELEASE, config())

    assert f"fetching gcc-99 {VERSION}, which is not installed, and its needs" in said
    directory = Path(found).parent
    assert toolchain(found).compiler == f"-B{directory}/ --version"
    for name in ("cc1", "as"):
        assert printed(directory / name, "a  b") == "a  b\n"
    said.clear()
    assert foreign.find_compiler(RELEASE, config()) == found
    assert said == []
