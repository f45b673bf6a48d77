# SPDX-License-Identifier: GPL-2.0-only
"""Kernels that boot: their configuration, when they are built, and which ones are kept."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mmbatch
from mmbatch.core.cache import Cache
from mmbatch.core.disk import remove_unused, temporary_prefix
from mmbatch.core.errors import MmbatchError
from mmbatch.guest import build
from mmbatch.guest.build import ARCHES, GuestKernel, Wanted
from mmbatch.kernel import sources
from mmbatch.splice import trees


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def test_options_have_a_directory_of_their_own(tmp_path: Path) -> None:
    plain = Wanted(ARCHES["x86_64"], "", (), (tmp_path,))
    other = Wanted(ARCHES["x86_64"], "debug", ("CONFIG_X=y",), (tmp_path,))

    assert plain.flavour == "x86_64"
    assert other.flavour.startswith("x86_64-debug-")


def test_a_spliced_file_replaces_the_link_and_not_what_it_leads_to(tmp_path: Path) -> None:
    original = tmp_path / "original"
    original.write_text("theirs")
    link = tmp_path / "link"
    os.link(original, link)

    build.put(link, b"ours")
    before = link.stat().st_mtime_ns
    build.put(link, b"ours")

    assert original.read_text() == "theirs"
    assert link.read_text() == "ours"
    assert link.stat().st_mtime_ns == before  # make would build it again


CONFIG = "CONFIG_A=y\nCONFIG_B=m\n"


def wanted(directory: Path, *options: str) -> Wanted:
    for name, text in (("common", CONFIG), ("optional", "CONFIG_C=y\n"), ("x86_64", "")):
        (directory / f"{name}.config").write_text(f"# a fragment\n{text}")
    return Wanted(ARCHES["x86_64"], "", options, (directory, directory / "more"))


def test_what_only_some_kernels_have_is_asked_for_and_not_needed(tmp_path: Path) -> None:
    some = wanted(tmp_path, "CONFIG_B=n")

    assert some.needed() == ["CONFIG_A=y"]
    assert {"CONFIG_A=y", "CONFIG_C=y", "CONFIG_B=n"} <= set(some.config().splitlines())
    assert some.config().index("CONFIG_B=m") < some.config().index("CONFIG_B=n")


def test_a_speedup_adds_to_the_configuration(tmp_path: Path) -> None:
    some = wanted(tmp_path)
    (tmp_path / "more").mkdir()
    (tmp_path / "more/x86_64.config").write_text("CONFIG_TOY=m\n")
    (tmp_path / "more/arm64.config").write_text("CONFIG_OTHER=y\n")

    assert "CONFIG_TOY=m" in some.needed()
    assert "CONFIG_OTHER=y" not in some.config()


def test_a_kernel_that_lost_an_option_is_refused(tmp_path: Path) -> None:
    config = tmp_path / ".config"
    config.write_text(CONFIG)
    build.check_fragments(config, wanted(tmp_path), "7.3.4")

    config.write_text("CONFIG_A=y\n# CONFIG_B is not set\n")
    with pytest.raises(MmbatchError, match="no CONFIG_B=m"):
        build.check_fragments(config, wanted(tmp_path), "7.3.4")


def test_a_built_kernel_is_there_after_the_next_build(cache: Cache, tmp_path: Path) -> None:
    output = tmp_path / "x86_64"
    some = wanted(tmp_path)
    image = output / some.arch.image
    image.parent.mkdir(parents=True)
    (output / "lib").mkdir()
    for number in range(5):
        image.write_text(f"image {number}")
        (output / ".config").write_text("")
        (output / "lib/test_hmm.ko").write_text(f"module {number}")
        kept, modules = build.keep(Cache(cache.root), tmp_path, some, f"{number:012}", print)
        assert kept.read_text() == f"image {number}"
        assert [path.read_text() for path in modules] == [f"module {number}"]

    assert len([path for path in tmp_path.glob("x86_64.*") if path.is_dir()]) == 4


USER = """
import sys
from pathlib import Path
from mmbatch.core.cache import Cache
cache = Cache(Path(sys.argv[1]))
for path in sys.argv[2:]:
    cache.keep(Path(path))
print("ready", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def user(cache: Cache, *places: Path) -> Iterator[None]:
    """Another process that uses directories of the cache."""
    with subprocess.Popen(
        [sys.executable, "-c", USER, cache.root, *places],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ, PYTHONPATH=os.fspath(Path(mmbatch.__file__).parents[1])),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield
        process.communicate("")


class Maker:
    """Stands in for make and the tree: the wanted image appears in the output directory."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cache: Cache, directory: Path) -> None:
        self.cache = cache
        self.wanted = wanted(directory)
        self.times = 0
        self.lines: list[str] = []
        monkeypatch.setattr(build, "_make", self._make)

    def _make(self, tree: Path, output: Path, *_: object) -> None:
        assert (tree / "Makefile").exists()
        self.times += 1
        image = output / self.wanted.arch.image
        image.parent.mkdir(parents=True, exist_ok=True)
        image.write_text(f"image {self.times}")
        (output / ".config").write_text("")

    def build(self, state: str, ident: str = "one") -> GuestKernel:
        source = self.cache.trees / ident / "linux"
        source.mkdir(parents=True, exist_ok=True)
        (source / "Makefile").touch()
        spliced = trees.Spliced(source, state, ())
        kernel = sources.Source("7.3", "7.3.4", source, "here", ident, state)
        return build.build(self.cache, kernel, spliced, self.wanted, 1, self.lines.append)


def test_kernels_that_another_process_boots_stay(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = Maker(monkeypatch, Cache(cache.root), tmp_path)
    first = maker.build("state 0")
    remove_unused(first.image.parent)
    assert first.image.exists()
    maker.cache = Cache(cache.root)  # as another process has it
    with user(cache, first.image.parent):
        for number in range(1, 7):
            maker.build(f"state {number}")
        assert first.image.read_text() == "image 1"
    os.utime(first.image.parent, (0, 0))
    maker.cache = Cache(cache.root)
    maker.build("state 7")
    assert not first.image.exists()


def test_builds_of_a_forgotten_tree_go_when_nobody_uses_them(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = Maker(monkeypatch, cache, tmp_path)
    place = cache.builds / "guest-gone"
    (place / "x86_64").mkdir(parents=True)
    with user(cache, place):
        maker.build("state 0")
        assert (place / "x86_64").exists()
    maker.build("state 1")
    assert not place.exists()


def test_what_a_killed_build_left_is_removed(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = Maker(monkeypatch, cache, tmp_path)
    kernel = maker.build("state 0")
    place = cache.builds / "guest-one"
    (place / f"{temporary_prefix('x86_64.0')}1").mkdir()
    (place / f"{temporary_prefix('overlay.json')}2").write_text("{")
    maker.build("state 0")
    assert not list(place.glob(f"{temporary_prefix('')[:-1]}*"))
    assert kernel.image.exists()
    assert maker.times == 1


@pytest.mark.parametrize("name", ["arch/x86/boot/bzImage", ".config", "vmlinux.o"])
def test_a_damaged_build_is_recreated(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    maker = Maker(monkeypatch, cache, tmp_path)
    make = maker._make

    def make_more(tree: Path, output: Path, *rest: object) -> None:
        make(tree, output, *rest)
        (output / "vmlinux.o").write_text("objects")
        (output / ".config").write_text("CONFIG_A=y")

    monkeypatch.setattr(build, "_make", make_more)
    maker.build("state 0")
    output = cache.builds / "guest-one/x86_64"
    (output / name).write_text("")
    maker.lines.clear()
    maker.build("state 0")
    assert maker.lines[0] == (
        f"{output} is incomplete, since {name} is missing or damaged: replacing it"
    )
    assert maker.times == 2
    assert (output / name).stat().st_size
    maker.build("state 0")
    assert maker.times == 2


def test_a_file_that_is_spliced_no_more_is_put_back(cache: Cache, tmp_path: Path) -> None:
    tree, changed = cache.trees / "one" / "linux", tmp_path / "changed"
    for directory, text in ((tree, "old"), (changed, "new")):
        directory.mkdir(parents=True)
        (directory / "spliced.c").write_text(text)
    os.utime(tree / "spliced.c", (0, 0))
    source = sources.Source("7.3", "7.3.4", tree, "here", "one", "state 0")
    with_it = trees.Spliced(changed, "one", ("spliced.c",))
    place, lines = cache.builds / "guest-one", list[str]()
    copy = build.prepare(place, source, with_it, lines.append)
    (copy / "stays").touch()
    for spliced, text in ((trees.Spliced(tree, "none", ()), "old"), (with_it, "new")) * 2:
        build.prepare(place, source, spliced, lines.append)
        assert (copy / "spliced.c").read_text() == text
    assert not lines
    assert (copy / "stays").exists()

    build.prepare(place, source, trees.Spliced(tree, "none", ()), lines.append)
    (copy / "spliced.c").write_text("odd")
    build.prepare(place, source, with_it, lines.append)
    assert len(lines) == 1
    assert "spliced.c is missing or damaged" in lines[0]
    assert not (copy / "stays").exists()


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"state": "state 0"}', "[" * 99_999])
def test_a_damaged_list_of_spliced_files(cache: Cache, damage: str) -> None:
    tree = cache.trees / "one" / "linux"
    tree.mkdir(parents=True)
    (tree / "Makefile").touch()
    source = sources.Source("7.3", "7.3.4", tree, "here", "one", "state 0")
    spliced = trees.Spliced(tree, "one", ())
    place = cache.builds / "guest-one"
    copy = build.prepare(place, source, spliced, print)
    (copy / "stale.c").touch()
    build.prepare(place, source, spliced, print)
    assert (copy / "stale.c").exists()

    (place / "overlay.json").write_text(damage)
    build.prepare(place, source, spliced, print)

    assert [path.name for path in copy.iterdir()] == ["Makefile"]
