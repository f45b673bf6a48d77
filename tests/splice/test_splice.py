# SPDX-License-Identifier: GPL-2.0-only
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from expect import fails
from fake_tree import fingerprint, make_tree
from mmbatch.core import paths as checkout
from mmbatch.core.errors import ExitCode
from mmbatch.kernel.sources import Source, read_release
from mmbatch.splice.apply import Spliced, apply_steps, is_applied, named_files, splice
from mmbatch.splice.manifest import Manifest, load, load_with_needs

pytestmark = pytest.mark.skipif(shutil.which("spatch") is None, reason="lacks spatch")

MM_INIT = "mm/mm_init.c"
CALL = "\tpfn = zone_device_memmap_init(start_pfn, end_pfn, zone_idx, nid,"


@pytest.fixture(autouse=True)
def splices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the cache that has the spliced trees."""
    monkeypatch.setenv("MMBATCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "splices"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "linux")


def zone_device() -> list[Manifest]:
    return load_with_needs(checkout.SPEEDUPS, "zone_device")


def source_of(tree: Path) -> Source:
    release = read_release(tree)
    series = ".".join(release.split(".")[:2])
    state = hashlib.sha256(repr(fingerprint(tree)).encode()).hexdigest()
    return Source(series, release, tree, "made up", ident="toys", state=state)


def into_cache(tree: Path) -> Spliced:
    return splice(source_of(tree), zone_device())


def edit(tree: Path, name: str, old: str, new: str) -> None:
    path = tree / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_tree_that_has_it_already_is_no_base(tree: Path) -> None:
    again = into_cache(tree).path
    (again / ".mmbatch-splice.json").unlink()
    with fails("the tree has it already", code=ExitCode.USAGE):
        into_cache(again)


def test_a_spliced_copy_has_it_all_and_the_source_nothing(tree: Path) -> None:
    before = fingerprint(tree)
    spliced = into_cache(tree)
    assert fingerprint(tree) == before
    for name in ("mm/zone_device_method.c", "include/linux/streaming_copy.h"):
        assert (spliced.path / name).read_bytes() != b""
    content = (spliced.path / MM_INIT).read_text()
    assert CALL in content
    assert "pgmap);\n\tfor (; pfn < end_pfn; pfn += step) {\n" in content
    assert "\nstatic void zone_device_write(" in content
    assert "driver page allocator" not in content
    assert (spliced.path / "lib/toys.c").samefile(tree / "lib/toys.c")
    assert os.access(spliced.path / "scripts/config", os.X_OK)
    assert {MM_INIT, "mm/zone_device_method.c", "mm/Makefile"} <= set(spliced.files)


def test_the_second_time_it_comes_from_the_cache(tree: Path) -> None:
    first = into_cache(tree)
    (first.path / "mine").touch()
    assert into_cache(tree) == first
    assert (first.path / "mine").exists()


def test_what_changed_is_spliced_anew(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = into_cache(tree)
    (tmp_path / "macros.h").write_text(checkout.MACROS.read_text() + "\n")
    monkeypatch.setattr(checkout, "MACROS", tmp_path / "macros.h")
    assert into_cache(tree).ident != first.ident
    edit(tree, MM_INIT, "depth + 1", "depth + 2")
    assert "depth + 2" in (into_cache(tree).path / MM_INIT).read_text()


@pytest.mark.parametrize(
    ("name", "old", "new", "found"),
    [
        (MM_INIT, "pfn += step)", "pfn += toy(pgmap))", "'call' of zone_device.cocci matched 0"),
        (MM_INIT, "__init_zone_device_page", "__init_toy", "no function __init_zone_device_page()"),
        (
            MM_INIT,
            "\tint nid = toy_nid(zone);\n",
            "\tint nid = toy_nid(zone);\n\n"
            "\ttoys_try_all(paint, return, page) {\n\t\ttoy_paint(page, pfn);\n\t}\n",
            "spatch can't parse memmap_init_zone_device(), it stumbles at: toys_try_all(",
        ),
        ("mm/Makefile", "memremap.o", "toyremap.o", "matched 0 lines instead of 1"),
        ("mm/Makefile", "obj-y += toys.o", "obj-$(CONFIG_ZONE_DEVICE) += memremap.o", "2 lines"),
        (
            "arch/x86/include/asm/string_64.h",
            "\ttoy_three(dst, src);",
            "\t__memcpy_flushcache(dst, src, cnt);",
            "the hook 'call' of movnti.cocci matched 2 times instead of 1",
        ),
    ],
)
def test_a_hook_that_does_not_fit_is_exit_code_3(
    splices: Path, tree: Path, name: str, old: str, new: str, found: str
) -> None:
    edit(tree, name, old, new)
    before = fingerprint(tree)
    with fails(found, code=ExitCode.SPLICE):
        into_cache(tree)
    assert fingerprint(tree) == before
    assert list(splices.iterdir()) == []


def test_a_kernel_that_is_not_meant_is_exit_code_77(splices: Path, tmp_path: Path) -> None:
    with fails(code=ExitCode.NOT_APPLICABLE):
        into_cache(make_tree(tmp_path / "old", "6.11.2"))
    assert not splices.exists()


def test_the_diffs_of_the_steps_make_the_spliced_tree(tmp_path: Path, tree: Path) -> None:
    for name in ("mm/Makefile", "mm/Kconfig"):  # no newline at the end, odd bytes
        text = (tree / name).read_bytes()
        (tree / name).write_bytes(text.rstrip(b"\n") + b"\n\x0c\xff\n# end")
    edit_at = named_files("7.3", zone_device())
    diffs = []
    work = tmp_path / "work"
    shutil.copytree(tree, work)
    for step in apply_steps(work, "7.3", zone_device()):
        diffs.append(step.diff)
        assert set(step.contents) <= edit_at
    subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"],
        cwd=tree,
        input="".join(diffs).encode(errors="surrogateescape"),
        check=True,
    )
    for name in edit_at:
        assert (tree / name).read_bytes() == (work / name).read_bytes()


@pytest.mark.parametrize(
    ("name", "old"),
    [
        (MM_INIT, CALL),
        ("mm/Makefile", "zone_device_method.o"),
        ("mm/Kconfig", "config ZONE_DEVICE_KUNIT_TEST"),
    ],
)
def test_presence_needs_every_hook(tree: Path, name: str, old: str) -> None:
    list(apply_steps(tree, "7.3", zone_device()))
    edit(tree, name, old, "")
    assert not is_applied(tree, "7.3", load(checkout.SPEEDUPS / "zone_device"))
