# SPDX-License-Identifier: GPL-2.0-only
import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fake_archive import make_kernel
from mmbatch.core.cache import Cache
from mmbatch.core.errors import MmbatchError
from mmbatch.kernel import copies
from mmbatch.kernel import sources as kernels
from mmbatch.kernel.sources import read_release, resolve


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    monkeypatch.setattr(kernels, "_TREE_BYTES", 1)
    monkeypatch.setattr(copies, "_MARGIN_BYTES", 1)
    return Cache(tmp_path / "cache")


def contents(tree: Path) -> dict[str, str]:
    """Return every file's text and every link's target by relative path."""
    found = {}
    for directory, directories, files in os.walk(tree):
        for name in files + directories:
            path = Path(directory, name)
            if path.is_symlink():
                found[str(path.relative_to(tree))] = f"-> {path.readlink()}"
            elif path.is_file():
                found[str(path.relative_to(tree))] = path.read_text(errors="replace")
    return found


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A user's tree, in a path with a space."""
    kernel = make_kernel(tmp_path / "my tree")
    (kernel / "link").symlink_to("mm/mm_init.c")
    (kernel / "directory-link").symlink_to("mm")
    return kernel


def test_a_tree_is_copied_and_kept_apart(cache: Cache, tree: Path) -> None:
    before = contents(tree)
    source = resolve(cache, None, tree, print)
    assert contents(source.path) == before
    assert source.origin == f"tree {tree}"
    copied = source.path / "Makefile"
    assert copied.stat().st_ino != (tree / "Makefile").stat().st_ino
    copied.write_text("ours")
    assert contents(tree) == before


def test_a_copy_follows_the_tree(cache: Cache, tree: Path) -> None:
    first = resolve(cache, None, tree, print)
    assert resolve(cache, None, tree, print).state == first.state
    (tree / "mm" / "new.c").write_text("new")
    (tree / "mm" / "mm_init.c").write_text("edited")
    (tree / "include" / "linux" / "mm.h").unlink()
    (tree / "link").unlink()
    (tree / "directory-link").unlink()
    (tree / "Kbuild").unlink()
    (tree / "Kbuild").symlink_to("Makefile")
    (tree / "was-file").mkdir()
    (tree / "was-file" / "inner").touch()
    second = resolve(cache, None, tree, print)
    assert contents(second.path) == contents(tree)
    assert not (second.path / "include").exists()
    assert second.ident == first.ident
    assert second.state != first.state


def test_whoever_builds_from_a_tree_reads_one_state_of_it(cache: Cache, tree: Path) -> None:
    """Another command copies the tree, which the user has edited, while the first one builds."""
    (tree / "mm" / "removed.c").write_text("removed")
    before = contents(tree)
    first = resolve(cache, None, tree, print)
    (tree / "mm" / "mm_init.c").write_text("edited")
    (tree / "mm" / "removed.c").unlink()
    second = resolve(Cache(cache.root), None, tree, print)
    assert contents(first.path) == before
    assert contents(second.path) == contents(tree)
    for number in range(6):
        (tree / "mm" / "mm_init.c").write_text(f"edited {number}")
        other = Cache(cache.root)
        resolve(other, None, tree, print)
        del other
    assert contents(first.path) == before
    assert len(list(cache.trees.glob(f"{first.ident}-*"))) == 5  # four, and the one in use


def test_a_damaged_state_of_a_tree_is_replaced(cache: Cache, tree: Path) -> None:
    (tree / "mm" / "mm_init.c").write_text("whole")
    source = resolve(cache, None, tree, print)
    os.truncate(source.path / "mm" / "mm_init.c", 0)
    messages: list[str] = []
    again = resolve(Cache(cache.root), None, tree, messages.append)
    assert again == source
    assert contents(again.path) == contents(tree)
    assert "linux/mm/mm_init.c is missing or damaged: replacing it" in messages[-1]


def test_files_and_directories_change_places(cache: Cache, tree: Path) -> None:
    (tree / "a").write_text("file")
    (tree / "b").mkdir()
    (tree / "b" / "inner").write_text("inner")
    resolve(cache, None, tree, print)
    (tree / "a").unlink()
    (tree / "a").mkdir()
    (tree / "a" / "inner").write_text("inner")
    (tree / "b" / "inner").unlink()
    (tree / "b").rmdir()
    (tree / "b").symlink_to("mm")
    assert contents(resolve(cache, None, tree, print).path) == contents(tree)


def test_only_changed_files_are_copied_again(
    cache: Cache, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve(cache, None, tree, print)
    copied: list[str] = []
    copy = copies._copy

    def watched(source: Path, target: Path) -> None:
        copied.append(source.name)
        copy(source, target)

    monkeypatch.setattr(copies, "_copy", watched)
    (tree / "mm" / "mm_init.c").write_text("edited")
    resolve(cache, None, tree, print)
    assert copied == ["mm_init.c"]


def test_build_products_stay_behind(cache: Cache, tree: Path) -> None:
    products = [
        ".config",
        ".config.old",
        "vmlinux",
        "vmlinux.o",
        "mm/mm_init.o",
        "mm/.mm_init.o.cmd",
        "mm/built-in.a",
        "mm/x.ko",
        "include/config/auto.conf",
        "include/generated/autoconf.h",
        "arch/x86/include/generated/asm/x.h",
        "modules.order",
    ]
    sources = [
        "arch/x86/kernel/vmlinux.lds.S",
        "tools/perf/util/bpf_skel/vmlinux/vmlinux.h",
        "tools/generated/x.h",
        ".gitignore",
    ]
    for name in products + sources:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(name)
    copied = contents(resolve(cache, None, tree, print).path)
    assert not set(products) & set(copied)
    assert set(sources) <= set(copied)


def git(tree: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=Nobody", "-c", "user.email=nobody@mirror.example"]
    subprocess.run(["git", "-C", tree, *identity, *arguments], check=True, capture_output=True)


def test_the_tree_of_another_user(
    cache: Cache, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tree, "init", "-q")
    git(tree, "add", "-A")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert "mm/mm_init.c" in contents(resolve(cache, None, tree, print).path)


def test_no_program_of_another_user_s_tree_runs(cache: Cache, tree: Path, tmp_path: Path) -> None:
    ran, program = tmp_path / "ran", tmp_path / "monitor"
    program.write_text(f"#!/bin/sh\n: >'{ran}'\nexit 1\n")
    program.chmod(0o755)
    git(tree, "init", "-q")
    git(tree, "add", "-A")
    git(tree, "config", "core.fsmonitor", str(program))
    git(tree, "update-index", "--fsmonitor")
    git(tree, "status")
    assert ran.exists()
    ran.unlink()
    resolve(cache, None, tree, print)
    assert not ran.exists()


def test_a_git_tree_is_copied_as_it_lies_there(cache: Cache, tree: Path) -> None:
    (tree / ".gitignore").write_text("*.o\n")
    (tree / "deleted.c").touch()
    git(tree, "init", "-q")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "tree")
    (tree / "mm" / "mm_init.c").write_text("not committed")
    (tree / "mm" / "untracked.c").write_text("untracked")
    (tree / "mm" / "ignored.o").write_text("ignored")
    (tree / "deleted.c").unlink()
    (tree / "mm" / "\N{LATIN SMALL LETTER U WITH DIAERESIS} new\nline.c").touch()
    os.mkdir(os.fsencode(tree) + b"/latin-\xfc")  # noqa: PTH102
    os.close(os.open(os.fsencode(tree) + b"/latin-\xfc/\xfc.c", os.O_CREAT))
    index = (tree / ".git" / "index").read_bytes()
    copied = contents(resolve(cache, None, tree, print).path)
    wanted = contents(tree)
    for name in [name for name in wanted if name.startswith(".git/")] + ["mm/ignored.o"]:
        del wanted[name]
    assert copied == wanted
    assert (tree / ".git" / "index").read_bytes() == index


def test_a_copy_that_was_broken_off_is_completed(
    cache: Cache, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = copies._copy

    def broken(source: Path, target: Path) -> None:
        if source.name == "mm_init.c":
            target.write_text("half")
            raise KeyboardInterrupt
        copy(source, target)

    (tree / "mm" / "mm_init.c").write_text("whole")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(copies, "_copy", broken)
        resolve(cache, None, tree, print)
    assert contents(resolve(cache, None, tree, print).path) == contents(tree)


def test_trees_do_not_share_a_copy(cache: Cache, tmp_path: Path) -> None:
    first = resolve(cache, None, make_kernel(tmp_path / "one"), print)
    two = resolve(cache, None, make_kernel(tmp_path / "two", "6.12.3"), print)
    assert first.path != two.path
    assert read_release(first.path) == "7.3.4"


def test_no_room_for_a_copy(cache: Cache, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "_MARGIN_BYTES", 1 << 60)
    with pytest.raises(MmbatchError, match="GB are free"):
        resolve(cache, None, tree, print)


def test_a_file_that_may_not_be_read(
    cache: Cache, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: Path, target: Path, **_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(source))

    monkeypatch.setattr(shutil, "copy2", refuse)  # root may read everything
    with pytest.raises(MmbatchError, match=r"can't be read \(Permission denied\)"):
        resolve(cache, None, tree, print)
