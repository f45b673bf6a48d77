# SPDX-License-Identifier: GPL-2.0-only
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fake_tree import fingerprint, make_tree
from mmbatch.core import paths as checkout
from mmbatch.core.cache import Cache
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel.sources import Source, read_release
from mmbatch.splice import steps
from mmbatch.splice.manifest import Manifest, load, load_with_needs
from mmbatch.splice.presence import is_applied
from mmbatch.splice.steps import apply_steps, named_files
from mmbatch.splice.trees import Spliced, splice

pytestmark = pytest.mark.skipif(shutil.which("spatch") is None, reason="lacks spatch")

MM_INIT = "mm/mm_init.c"
CALL = "\tpfn = zone_device_memmap_init(start_pfn, end_pfn, zone_idx, nid,"


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


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


def into_cache(
    cache: Cache, tree: Path, say: Callable[[str], None] = print, macros: Path = checkout.MACROS
) -> Spliced:
    return splice(cache, source_of(tree), zone_device(), macros, say)


def edit(tree: Path, name: str, old: str, new: str) -> None:
    path = tree / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_tree_that_has_it_already_is_no_base(cache: Cache, tree: Path) -> None:
    again = into_cache(cache, tree).path
    (again / ".mmbatch-splice.json").unlink()
    with pytest.raises(MmbatchError, match="the tree has it already") as caught:
        into_cache(cache, again)
    assert caught.value.code == ExitCode.USAGE


def test_a_spliced_copy_has_it_all_and_the_source_nothing(cache: Cache, tree: Path) -> None:
    before = fingerprint(tree)
    spliced = into_cache(cache, tree)
    assert fingerprint(tree) == before
    for name in ("mm/zone_device.c", "include/linux/streaming_copy.h"):
        assert (spliced.path / name).read_bytes() != b""
    content = (spliced.path / MM_INIT).read_text()
    assert CALL in content
    assert "pgmap);\n\tfor (; pfn < end_pfn; pfn += step) {\n" in content
    assert "\nvoid __ref __init_zone_device_page(" in content
    assert "\nunsigned long compound_nr_pages(" in content
    assert "driver page allocator" not in content
    assert (spliced.path / "lib/toys.c").samefile(tree / "lib/toys.c")
    assert os.access(spliced.path / "scripts/config", os.X_OK)
    assert {step.speedup for step in spliced.steps} == {"streaming_copy", "zone_device"}


def changes(diff: str) -> dict[str, int]:
    """Return how many lines a diff changes in each file that was there before."""
    return {
        part.partition(" ")[0].removeprefix("a/"): sum(
            line[:1] in ("+", "-") and line[:4] not in ("+++ ", "--- ") for line in part.split("\n")
        )
        for part in diff.split("diff --git ")[1:]
        if "\nnew file mode " not in part
    }


def test_changes_to_the_tree_s_own_files_stay_small(cache: Cache, tree: Path) -> None:
    for step in into_cache(cache, tree).steps:
        changed = changes(step.diff)
        assert step.changed == sum(changed.values())
        assert sum(n for name, n in changed.items() if (tree / name).exists()) <= 15, step.name


def test_the_second_time_it_comes_from_the_cache(cache: Cache, tree: Path) -> None:
    messages: list[str] = []
    first = into_cache(cache, tree, messages.append)
    assert len(messages) == 1
    assert into_cache(cache, tree, messages.append) == first
    assert len(messages) == 1


def test_a_record_of_steps_that_is_damaged(cache: Cache, tree: Path) -> None:
    record = into_cache(cache, tree).path / ".mmbatch-splice.json"
    record.write_bytes(b"x" * record.stat().st_size)  # by its size alone it is whole
    with pytest.raises(MmbatchError, match="it is not JSON") as caught:
        into_cache(cache, tree)
    assert caught.value.hint == f"remove the directory {record.parent}"


def test_what_changed_is_spliced_anew(cache: Cache, tree: Path, tmp_path: Path) -> None:
    first = into_cache(cache, tree)
    macros = tmp_path / "macros.h"
    macros.write_text(checkout.MACROS.read_text() + "\n")
    second = into_cache(cache, tree, macros=macros)
    assert second.ident != first.ident
    edit(tree, MM_INIT, "depth + 1", "depth + 2")
    assert "depth + 2" in (into_cache(cache, tree).path / MM_INIT).read_text()


def test_another_process_keeps_what_it_uses(cache: Cache, tree: Path, tmp_path: Path) -> None:
    used = into_cache(cache, tree)
    macros = tmp_path / "macros.h"
    places = set()
    for count in range(5):
        macros.write_text(checkout.MACROS.read_text() + count * "\n" + "\n")
        other = Cache(cache.root)
        places.add(into_cache(other, tree, macros=macros).ident)
        del other
        os.utime(used.path, (0, 0))
    names = {place.name for place in cache.splices.iterdir()}
    assert len(places) == 5
    assert used.ident in names
    assert len(names) == 5  # it, and the last four of the others


@pytest.mark.parametrize(
    ("name", "old", "new", "found"),
    [
        (
            MM_INIT,
            "pfn += step)",
            "pfn += toy_step(pgmap))",
            "'call' of zone_device.cocci matched 0",
        ),
        (MM_INIT, "driver page", "toy page", "'driver page allocator' matched 0 lines"),
        (
            MM_INIT,
            "static inline unsigned long compound_nr_pages(",
            "unsigned long compound_nr_pages(",
            "'compound' of expose.cocci matched 0",
        ),
        (MM_INIT, "__init_zone_device_page", "__init_toy", "no function __init_zone_device_page()"),
        (
            MM_INIT,
            "\ttoy_paint(page, pfn);",
            "\ttoys_try_all(paint, return, page) {\n\t\ttoy_paint(page, pfn);\n\t}",
            "spatch can't parse __init_zone_device_page(), it stumbles at: toys_try_all(",
        ),
        ("mm/Makefile", "memremap.o", "toyremap.o", "matched 0 lines instead of 1"),
        (
            "mm/Makefile",
            "obj-y += toys.o\n",
            "obj-$(CONFIG_ZONE_DEVICE) += memremap.o\n",
            "2 lines",
        ),
        (
            "arch/x86/include/asm/string_64.h",
            "\ttoy_three(dst, src);",
            "\t__memcpy_flushcache(dst, src, cnt);",
            "the hook 'call' of movnti.cocci matched 2 times instead of 1",
        ),
    ],
)
def test_a_hook_that_does_not_fit_is_exit_code_3(
    cache: Cache, tree: Path, name: str, old: str, new: str, found: str
) -> None:
    edit(tree, name, old, new)
    before = fingerprint(tree)
    with pytest.raises(MmbatchError) as caught:
        into_cache(cache, tree)
    assert caught.value.code == ExitCode.SPLICE
    assert found in caught.value.problem
    assert fingerprint(tree) == before
    assert list(cache.splices.iterdir()) == []


@pytest.mark.parametrize("name", ["mm/Makefile", MM_INIT, "mm/Kconfig"])
def test_a_missing_file_is_exit_code_3(cache: Cache, tree: Path, name: str) -> None:
    (tree / name).unlink()
    with pytest.raises(MmbatchError) as caught:
        into_cache(cache, tree)
    assert caught.value.code == ExitCode.SPLICE
    assert caught.value.problem == "there is no such file"
    assert caught.value.action == f"splice into {name}"


def test_a_file_of_the_same_name_is_exit_code_3(cache: Cache, tree: Path) -> None:
    (tree / "mm/zone_device.c").write_text("someone else's\n")
    with pytest.raises(MmbatchError) as caught:
        into_cache(cache, tree)
    assert caught.value.code == ExitCode.SPLICE
    assert caught.value.problem == "the tree has a file of this name already"


def test_a_kernel_that_is_not_meant_is_exit_code_77(cache: Cache, tmp_path: Path) -> None:
    with pytest.raises(MmbatchError) as caught:
        into_cache(cache, make_tree(tmp_path / "old", "6.11.2"))
    assert caught.value.code == ExitCode.NOT_APPLICABLE
    assert list(cache.splices.iterdir()) == []


def test_the_diffs_of_the_steps_make_the_spliced_tree(tmp_path: Path, tree: Path) -> None:
    for name in ("mm/Makefile", "mm/Kconfig"):  # no newline at the end, odd bytes
        text = (tree / name).read_bytes()
        (tree / name).write_bytes(text.rstrip(b"\n") + b"\n\x0c\xff\n# end")
    edit_at = named_files("7.3", zone_device())
    diffs = []
    work = tmp_path / "work"
    shutil.copytree(tree, work)
    for step in apply_steps(work, "7.3", zone_device(), checkout.MACROS):
        diffs.append(step.diff)
        assert set(step.files) <= edit_at
    subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"],
        cwd=tree,
        input="".join(diffs).encode(errors="surrogateescape"),
        check=True,
    )
    for name in edit_at:
        assert (tree / name).read_bytes() == (work / name).read_bytes()


def test_a_changed_file_keeps_its_mode(tree: Path) -> None:
    (tree / "mm/Makefile").chmod(0o755)
    list(apply_steps(tree, "7.3", zone_device(), checkout.MACROS))
    assert (tree / "mm/Makefile").stat().st_mode & 0o777 == 0o755
    assert (tree / "mm/zone_device.c").stat().st_mode & 0o777 == 0o644


def test_steps_are_taken_one_at_a_time(tree: Path) -> None:
    taken = apply_steps(tree, "7.3", zone_device(), checkout.MACROS)
    assert next(taken).name == "movnti"
    assert (tree / "arch/x86/include/asm/movnti.h").exists()
    assert not (tree / "include/linux/streaming_copy.h").exists()


def test_presence_is_seen_and_absence_too(tree: Path) -> None:
    streaming_copy, zone = zone_device()
    assert not is_applied(tree, "7.3", streaming_copy)
    list(apply_steps(tree, "7.3", [streaming_copy], checkout.MACROS))
    assert is_applied(tree, "7.3", streaming_copy)
    assert not is_applied(tree, "7.3", zone)
    list(apply_steps(tree, "7.3", [zone], checkout.MACROS))
    assert is_applied(tree, "7.3", zone)


@pytest.mark.parametrize(
    ("name", "old"),
    [
        (MM_INIT, CALL),
        ("mm/internal.h", "zone_device_memmap_init("),
        ("mm/Makefile", "zone_device.o"),
        ("mm/Kconfig", "config ZONE_DEVICE_KUNIT_TEST"),
    ],
)
def test_presence_needs_every_hook(tree: Path, name: str, old: str) -> None:
    list(apply_steps(tree, "7.3", zone_device(), checkout.MACROS))
    edit(tree, name, old, "")
    assert not is_applied(tree, "7.3", load(checkout.SPEEDUPS / "zone_device"))


def test_presence_needs_every_new_file(tree: Path) -> None:
    list(apply_steps(tree, "7.3", zone_device(), checkout.MACROS))
    (tree / "mm/zone_device.c").unlink()
    assert not is_applied(tree, "7.3", load(checkout.SPEEDUPS / "zone_device"))


def test_named_files_are_all_that_the_steps_touch(tmp_path: Path, tree: Path) -> None:
    bare = tmp_path / "bare"
    for name in named_files("7.3", zone_device()):
        if (tree / name).exists():
            (bare / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(tree / name, bare / name)
    taken = list(apply_steps(bare, "7.3", zone_device(), checkout.MACROS))
    written = {name for step in taken for name in step.files}
    assert written <= named_files("7.3", zone_device())
    assert all(steps.read_text(bare / name) for name in written)
