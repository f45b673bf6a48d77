# SPDX-License-Identifier: GPL-2.0-only
import os
import subprocess
from pathlib import Path

import pytest

from fake_archive import FakeArchive, lacks, make_kernel
from mmbatch.core.cache import Cache
from mmbatch.core.disk import write_mark
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.paths import SPEEDUPS
from mmbatch.kernel import copies
from mmbatch.kernel import sources as kernels
from mmbatch.kernel.sources import (
    HOOK_PARTS,
    SOURCE_PARTS,
    Source,
    check_tree,
    find_cached,
    read_release,
    resolve,
)
from mmbatch.splice.manifest import known, load

needs_archive = pytest.mark.skipif(bool(lacks()), reason=f"lacks {' '.join(lacks())}")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    monkeypatch.setattr(kernels, "_TREE_BYTES", 1)
    monkeypatch.setattr(copies, "_MARGIN_BYTES", 1)
    return Cache(tmp_path / "cache")


@pytest.fixture
def archive(tmp_path: Path, gpg_home: Path, monkeypatch: pytest.MonkeyPatch) -> FakeArchive:
    """An archive that the system seems to follow."""
    return FakeArchive.followed(tmp_path, gpg_home, monkeypatch)


def put_cached(cache: Cache, series: str, version: str) -> Path:
    place = cache.trees / f"linux-source-{series}_{version.replace('~', '-')}"
    make_kernel(place / "linux", version.partition("-")[0])
    (place / "version").write_text(version)
    write_mark(place)
    return place


@needs_archive
def test_a_kernel_is_fetched_once(archive: FakeArchive, cache: Cache) -> None:
    archive.add_kernel("trixie-backports", "7.3", "7.3.4-1~bpo13+1")
    source = resolve(cache, "7.3", None, print)
    assert (source.series, source.release) == ("7.3", "7.3.4")
    assert source.origin == "linux-source-7.3 7.3.4-1~bpo13+1 (Debian)"
    assert "~" not in source.ident
    assert source.path == cache.trees / source.ident / "linux"
    assert (source.path / "mm" / "mm_init.c").is_file()
    assert not list(cache.downloads.iterdir())
    archive.root.rename(archive.root.with_name("gone"))
    messages: list[str] = []
    assert resolve(cache, "7.3", None, messages.append) == source
    assert messages == []


@needs_archive
def test_the_default_is_the_newest_that_can_be_had(archive: FakeArchive, cache: Cache) -> None:
    archive.add_kernel("trixie", "6.12", "6.12.9-1")
    archive.add_kernel("sid", "7.2", "7.2.9-1")
    messages: list[str] = []
    assert resolve(cache, None, None, messages.append).series == "7.2"
    assert any("linux 7.3 can't be had" in line for line in messages)


@needs_archive
def test_no_series_can_be_had(archive: FakeArchive, cache: Cache) -> None:
    archive.add_kernel("sid", "9.9", "9.9.9-1")
    with pytest.raises(MmbatchError) as caught:
        resolve(cache, None, None, print)
    assert "linux-source-7.3" in caught.value.action
    assert "--tree" in caught.value.hint
    assert not list(cache.trees.iterdir())


@needs_archive
def test_what_is_no_kernel_inside_leaves_no_tree(archive: FakeArchive, cache: Cache) -> None:
    archive.add_kernel("sid", "7.2", "6.1.9-1")  # another series than its name says
    with pytest.raises(MmbatchError):
        resolve(cache, "7.2", None, print)
    assert not list(cache.trees.iterdir())
    assert not list(cache.downloads.iterdir())


@needs_archive
def test_too_little_room_is_said_before_anything_is_fetched(
    archive: FakeArchive, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "_TREE_BYTES", 1 << 60)
    messages: list[str] = []
    with pytest.raises(MmbatchError, match="GB are free"):
        resolve(cache, "7.3", None, messages.append)
    assert messages == []


@needs_archive
def test_a_damaged_file_that_only_hooks_read_is_noticed(
    archive: FakeArchive, cache: Cache, tmp_path: Path
) -> None:
    name = "linux-source-7.3"
    tree = make_kernel(tmp_path / "packed" / name)
    for part in HOOK_PARTS:
        (tree / part).mkdir(parents=True)
        (tree / part / "toy").write_text("toy\n")
    tarball = tmp_path / f"{name}.tar.xz"
    subprocess.run(["tar", "-C", tree.parent, "-cJf", tarball, name], check=True)
    archive.add("trixie", name, "7.3.4-1", {f"usr/src/{name}.tar.xz": tarball})
    for part in HOOK_PARTS:
        toy = resolve(cache, "7.3", None, print).path / part / "toy"
        os.truncate(toy, 1)
        lines: list[str] = []
        assert resolve(cache, "7.3", None, lines.append).path / part / "toy" == toy
        assert f"linux/{part}/toy is missing or damaged" in lines[0]
        assert toy.read_text() == "toy\n"


def test_every_file_that_hooks_read_is_checked() -> None:
    parts = [Path(part) for part in (*SOURCE_PARTS, *HOOK_PARTS)]
    unchecked = set()
    for name in known(SPEEDUPS):
        steps = load(SPEEDUPS / name).steps
        edits = [edit for step in steps for edit in step.edits]
        names = {rule.file for step in steps for rule in step.rules}
        names |= {edit.file for edit in edits}
        names |= {edit.when.file for edit in edits if edit.when is not None}
        unchecked |= {file for file in names if not {Path(file), *Path(file).parents} & {*parts}}
    assert unchecked == set(), "add their directories to HOOK_PARTS"


def test_cached_kernels_need_no_apt(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    put_cached(cache, "7.2", "7.2.9-1")
    monkeypatch.setenv("PATH", "/nonexistent")
    assert resolve(cache, "7.2", None, print).release == "7.2.9"
    assert resolve(cache, None, None, print).release == "7.2.9"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("7.3.9-1", "7.3.10-1"),
        ("7.3.4-1~bpo13+1", "7.3.4-1"),
        ("7.3.4-1", "7.3.4-2"),
        ("7.3.4-1~bpo12+1", "7.3.4-1~bpo13+1"),
    ],
)
def test_the_newest_cached_point_release_is_taken(cache: Cache, older: str, newer: str) -> None:
    for version in (newer, older):
        put_cached(cache, "7.3", version)
    found = find_cached(cache, "7.3")
    assert found is not None
    assert newer in found.origin


@pytest.mark.parametrize("damaged", ["7.3.4-1", "7.3.5-1"])
def test_a_damaged_kernel_beside_a_whole_one_is_removed(cache: Cache, damaged: str) -> None:
    for version in ("7.3.4-1", "7.3.5-1"):
        put_cached(cache, "7.3", version)
    place = cache.trees / f"linux-source-7.3_{damaged}"
    os.truncate(place / "version", 0)
    messages: list[str] = []

    for _ in range(2):
        assert damaged not in resolve(cache, "7.3", None, messages.append).origin

    assert messages == [f"removed {place}, which was incomplete; there is another one"]
    assert not place.exists()


def test_other_directories_are_no_cached_kernels(cache: Cache) -> None:
    (cache.trees / "linux-source-7.3_7.3.4-1" / "linux").mkdir(parents=True)
    put_cached(cache, "7.30", "7.30.1-1")
    assert find_cached(cache, "7.3") is None


@needs_archive
@pytest.mark.parametrize("name", ["version", "linux/Makefile"])
def test_a_damaged_kernel_is_fetched_again(archive: FakeArchive, cache: Cache, name: str) -> None:
    archive.add_kernel("trixie-backports", "7.3", "7.3.4-1~bpo13+1")
    place = resolve(cache, "7.3", None, print).path.parent
    before = (place / name).read_text()
    os.truncate(place / name, 0)
    messages: list[str] = []
    assert resolve(cache, "7.3", None, messages.append).path.parent == place
    assert messages[0] == f"{place} is incomplete, since {name} is missing or damaged: replacing it"
    assert (place / name).read_text() == before


@pytest.mark.parametrize("kernel", ["6.6", "", "seven"])
def test_unsupported_series(cache: Cache, kernel: str) -> None:
    with pytest.raises(MmbatchError) as caught:
        resolve(cache, kernel, None, print)
    assert caught.value.code == ExitCode.NOT_APPLICABLE
    assert "7.3, 7.2, 6.12" in caught.value.hint


def test_the_exact_release_is_taken_where_the_series_has_it(
    cache: Cache, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = Source("7.3", "7.3.4", tmp_path, "toys", "toys", "1")
    monkeypatch.setattr("mmbatch.kernel.sources.find_cached", lambda *_, **__: source)
    assert resolve(cache, "7.3.4", None, print) is source
    with pytest.raises(MmbatchError) as caught:
        resolve(cache, "7.3.9", None, print)
    assert caught.value.code == ExitCode.NOT_APPLICABLE
    assert caught.value.problem == "7.3 has the release 7.3.4 here"


def test_kernel_and_tree_exclude_each_other(cache: Cache, tmp_path: Path) -> None:
    with pytest.raises(MmbatchError) as caught:
        resolve(cache, "7.3", tmp_path, print)
    assert caught.value.code == ExitCode.USAGE


@pytest.mark.parametrize(("extra", "release"), [("", "7.3.4"), ("-rc2", "7.3.4-rc2")])
def test_release_of_a_tree(tmp_path: Path, extra: str, release: str) -> None:
    assert read_release(make_kernel(tmp_path, extra=extra)) == release


def test_release_without_sublevel(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL =\nEXTRAVERSION =\n")
    assert read_release(tmp_path) == "7.3"


@pytest.mark.parametrize("missing", ["Makefile", "Kconfig", "mm/mm_init.c"])
def test_a_tree_that_is_no_kernel(tmp_path: Path, missing: str) -> None:
    (make_kernel(tmp_path) / missing).unlink()
    with pytest.raises(MmbatchError) as caught:
        check_tree(tmp_path)
    assert caught.value.code == ExitCode.USAGE
    assert missing in caught.value.problem


def test_a_tree_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MmbatchError, match="no such directory"):
        check_tree(tmp_path / "nowhere")


def test_a_makefile_of_something_else(tmp_path: Path) -> None:
    (make_kernel(tmp_path) / "Makefile").write_text("all:\n\ttrue\n")
    with pytest.raises(MmbatchError, match="VERSION"):
        check_tree(tmp_path)


@pytest.mark.parametrize(
    "number", ["\N{SUPERSCRIPT TWO}", "\N{ARABIC-INDIC DIGIT SEVEN}", "-3", ""]
)
def test_a_makefile_without_a_number(tmp_path: Path, number: str) -> None:
    (make_kernel(tmp_path) / "Makefile").write_text(f"VERSION = 7\nPATCHLEVEL = {number}\n")
    with pytest.raises(MmbatchError, match="has no VERSION and PATCHLEVEL") as caught:
        check_tree(tmp_path)
    assert caught.value.code == ExitCode.USAGE


def test_a_sublevel_that_is_no_number(tmp_path: Path) -> None:
    text = "VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = \N{SUPERSCRIPT TWO}\n"
    (make_kernel(tmp_path) / "Makefile").write_text(text, encoding="utf-8")
    with pytest.raises(MmbatchError, match="its SUBLEVEL is '\N{SUPERSCRIPT TWO}'"):
        read_release(tmp_path)


def test_a_makefile_that_is_a_pipe(tmp_path: Path) -> None:
    makefile = make_kernel(tmp_path) / "Makefile"
    makefile.unlink(missing_ok=True)
    os.mkfifo(makefile)
    with pytest.raises(MmbatchError, match="its Makefile is not a file"):
        read_release(tmp_path)


@pytest.mark.parametrize("release", ["6.6.1", "7.30.1", "8.0.0"])
def test_a_kernel_of_another_series(tmp_path: Path, release: str) -> None:
    with pytest.raises(MmbatchError) as caught:
        check_tree(make_kernel(tmp_path, release))
    assert caught.value.code == ExitCode.NOT_APPLICABLE
    assert release in caught.value.problem
