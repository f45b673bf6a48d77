# SPDX-License-Identifier: GPL-2.0-only
"""Truncate files of a cache: the next command replaces what is damaged, and says so.

The cache has a made-up kernel from a made-up archive, its spliced copy, and builds of it by
programs that stand in for make.
"""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from fake_archive import FakeArchive, lacks
from fake_tree import NEEDS_APPLY, make_tree
from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.disk import write_mark
from mmbatch.core.errors import MmbatchError
from mmbatch.guest import build
from mmbatch.guest.build import ARCHES, Wanted
from mmbatch.kernel import kbuild
from mmbatch.kernel import sources as kernels
from mmbatch.kernel.sources import resolve
from mmbatch.splice.manifest import load_with_needs
from mmbatch.splice.trees import splice

pytestmark = [
    *NEEDS_APPLY,
    pytest.mark.skipif(bool(lacks()), reason=f"lacks {' '.join(lacks())}"),
]

MAKE = """#!/bin/sh
for word; do case $word in O=*) cd "${word#O=}";; esac; done
case "$*" in
*allnoconfig) cp "$KCONFIG_ALLCONFIG" .config;;
*) mkdir -p mm; echo object > mm/toy.o;;
esac
"""
TREE = "trees/linux-source-7.3_7.3.4-1"
GUEST = "builds/guest-linux-source-7.3_7.3.4-1"
DRIVER = "drivers/toy.c"
KINDS = {
    f"{TREE}/version": TREE,
    f"{TREE}/.mmbatch-complete": TREE,
    f"{TREE}/.mmbatch-every-file": TREE,
    f"{TREE}/linux/mm/mm_init.c": TREE,
    f"{TREE}/linux/{DRIVER}": TREE,
    "splices/*/.mmbatch-complete": "splices/",
    "splices/*/.mmbatch-splice.json": "splices/",
    "splices/*/mm/mm_init.c": "splices/",
    "splices/*/drivers/dma-buf/heaps/system_heap.c": "splices/",
    "builds/linux-source-*/.mmbatch-complete": "builds/linux-source-",
    "builds/linux-source-*/mm/toy.o": "builds/linux-source-",
    "builds/linux-source-*/.config": "builds/linux-source-",
    f"{GUEST}/x86_64/.mmbatch-complete": f"{GUEST}/x86_64",
    f"{GUEST}/x86_64/vmlinux.o": f"{GUEST}/x86_64",
    f"{GUEST}/x86_64.*/bzImage": f"{GUEST}/x86_64.",
    f"{GUEST}/x86_64.*/.mmbatch-complete": f"{GUEST}/x86_64.",
}
"""File to truncate, and how the path of the directory starts that is said to be replaced."""


class Everything:
    """Does all that has a result in the cache."""

    def __init__(self, place: Path, cache: Path) -> None:
        self.root = cache
        self.fragment = place / "toys.config"
        self.fragment.write_text("CONFIG_TOYS=y\n")
        for name in ("common", "optional", "x86_64"):
            (place / f"{name}.config").write_text("CONFIG_A=y\n")
        self.wanted = Wanted(ARCHES["x86_64"], "", (), (place,))

    def run(self) -> list[str]:
        """Return what was said meanwhile about damage."""
        cache, lines = Cache(self.root), list[str]()
        source = resolve(cache, "7.3", None, lines.append, every_file=True)
        manifests = load_with_needs(paths.SPEEDUPS, "vmap")
        spliced = splice(cache, source, manifests, paths.MACROS, lines.append)
        kbuild.configure(cache, source, self.fragment, (), ["mm/toy.o"], 1, lines.append)
        build.build(cache, source, spliced, self.wanted, 1, lines.append)
        return [line for line in lines if "damaged" in line]

    def contents(self) -> dict[str, bytes]:
        """Return all files of the results."""
        found = {}
        for name in ("trees", "splices", "builds"):
            for path in (self.root / name).rglob("*"):
                if path.is_file():
                    found[str(path.relative_to(self.root))] = path.read_bytes()
        return found


def make_guest(tree: Path, output: Path, wanted: Wanted, *_: object) -> None:
    """Stand in for the build of a guest's kernel, which reads drivers."""
    image = output / wanted.arch.image
    image.parent.mkdir(parents=True, exist_ok=True)
    image.write_text("image of " + (tree / DRIVER).read_text())
    (output / ".config").write_text("CONFIG_A=y\n")
    (output / "vmlinux.o").write_text((tree / DRIVER).read_text())


@pytest.fixture
def everything(tmp_path: Path, gpg_home: Path, monkeypatch: pytest.MonkeyPatch) -> Everything:
    archive = FakeArchive.followed(tmp_path, gpg_home, monkeypatch)
    for module, name in ((kernels, "_TREE_BYTES"), (kbuild, "_OBJECT_BYTES")):
        monkeypatch.setattr(module, name, 1)
    monkeypatch.setattr(build, "_BUILD_BYTES", 1)
    monkeypatch.setattr(build, "_make", make_guest)
    name = "linux-source-7.3"
    tree = make_tree(tmp_path / "packed" / name)
    (tree / DRIVER).parent.mkdir(exist_ok=True)
    (tree / DRIVER).write_text("driver\n")
    tarball = tmp_path / f"{name}.tar.xz"
    subprocess.run(["tar", "-C", tree.parent, "-cJf", tarball, name], check=True)
    archive.add("trixie", name, "7.3.4-1", {f"usr/src/{name}.tar.xz": tarball})
    make = tmp_path / "bin" / "make"
    make.parent.mkdir()
    make.write_text(MAKE)
    make.chmod(make.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{make.parent}:{os.environ['PATH']}")
    return Everything(tmp_path, tmp_path / "cache")


def test_whatever_is_truncated_is_replaced_and_named(everything: Everything) -> None:
    assert everything.run() == []
    before = everything.contents()
    for pattern, place in KINDS.items():
        (path,) = everything.root.glob(pattern)
        os.truncate(path, 1)  # in place, so it is as short in all trees that have a link to it
        lines = everything.run()
        starts = f"{everything.root}/{place}"
        assert any(line.startswith(starts) for line in lines), (pattern, lines)
        assert everything.contents() == before, pattern
        assert everything.run() == []


@pytest.mark.parametrize(
    ("options", "objects"), [(("CONFIG_B=y",), ["mm/toy.o"]), ((), ["mm/toy.o", "mm/other.o"])]
)
def test_a_damaged_file_that_only_makefiles_read_is_named_before_a_build(
    everything: Everything, options: tuple[str, ...], objects: list[str]
) -> None:
    everything.run()
    path = everything.root / TREE / "linux" / DRIVER
    os.truncate(path, 1)
    before = everything.contents()
    cache, lines = Cache(everything.root), list[str]()
    source = resolve(cache, "7.3", None, lines.append)
    with pytest.raises(MmbatchError) as caught:
        kbuild.configure(cache, source, everything.fragment, options, objects, 1, lines.append)
    assert caught.value.problem == f"{path} is missing or damaged"
    assert f"remove {everything.root / TREE}" in caught.value.hint
    assert everything.contents() == before


def test_a_guests_copy_of_a_damaged_kernel_is_replaced(everything: Everything) -> None:
    """It has links to the same files. A build begins with a check of it."""
    everything.run()
    before = everything.contents()
    os.truncate(everything.root / TREE / "linux" / DRIVER, 1)
    copy = everything.root / GUEST / "tree" / DRIVER
    assert copy.stat().st_size == 1
    for spliced in everything.root.glob(f"splices/*/{DRIVER}"):  # which nobody reads
        spliced.unlink()
        spliced.write_text("driver\n")
    (everything.root / GUEST / "x86_64/vmlinux.o").write_text("")
    kernel, output, guest = everything.run()
    assert kernel.startswith(f"{everything.root}/{TREE} ")
    assert output.startswith(f"{everything.root}/{GUEST}/x86_64 ")
    assert f"{GUEST}/tree is incomplete, since {DRIVER} is missing or damaged" in guest
    assert everything.contents() == before
    assert everything.run() == []


def test_a_tree_without_a_list_is_named_when_a_build_fails(
    everything: Everything, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older mmbatch listed what hosted programs are built from only."""

    def fail(*_: object) -> None:
        raise MmbatchError("build", "toy.c: error", "read the log")

    everything.run()
    place = everything.root / TREE
    everything.fragment.write_text("CONFIG_B=y\n")
    monkeypatch.setattr(build, "_make", fail)
    (everything.root / GUEST / "x86_64/.mmbatch-guest").unlink()
    with pytest.raises(MmbatchError) as caught:
        everything.run()
    assert caught.value.hint == "read the log"
    (place / ".mmbatch-every-file").unlink()
    write_mark(place, ["version", "linux/mm"])
    with pytest.raises(MmbatchError) as caught:
        everything.run()
    assert f"remove {place}" in caught.value.hint
