# SPDX-License-Identifier: GPL-2.0-only
"""Kernels of a made-up archive, and snapshots of a user's tree."""

import os
from pathlib import Path

import pytest

from expect import fails
from fake_archive import FakeArchive, make_kernel, needs_archive
from fake_program import script
from fake_tree import commit, git
from mmbatch.core import cache
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel import sources
from mmbatch.kernel.sources import check_tree, find_cached, get, read_release


@pytest.fixture(autouse=True)
def trees(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sources, "_TREE_BYTES", 1)
    return own_cache / "trees"


@pytest.fixture
def archive(tmp_path: Path, gpg_home: Path, monkeypatch: pytest.MonkeyPatch) -> FakeArchive:
    """An archive that the system seems to follow."""
    return FakeArchive.followed(tmp_path, gpg_home, monkeypatch)


def put_cached(series: str, version: str) -> None:
    place = cache.trees() / f"linux-source-{series}_{version.replace('~', '-')}"
    make_kernel(place / "linux", version.partition("-")[0])
    (place / "version").write_text(version)
    (place / cache.DONE).touch()


@needs_archive
def test_a_kernel_is_fetched_once(archive: FakeArchive, trees: Path, said: list[str]) -> None:
    archive.add_kernel("trixie-backports", "7.3", "7.3.4-1~bpo13+1")
    found = get("7.3")
    assert (found.series, found.release) == ("7.3", "7.3.4")
    assert found.origin == "linux-source-7.3 7.3.4-1~bpo13+1 (Debian)"
    assert "~" not in found.ident
    assert found.path == trees / found.ident / "linux"
    assert (found.path / "mm" / "mm_init.c").is_file()
    assert not list((trees.parent / "tmp").iterdir())
    archive.root.rename(archive.root.with_name("gone"))
    said.clear()
    assert get("7.3") == found
    assert said == []


@needs_archive
def test_the_default_is_the_newest_that_can_be_had(archive: FakeArchive, said: list[str]) -> None:
    archive.add_kernel("trixie", "6.12", "6.12.9-1")
    archive.add_kernel("sid", "7.2", "7.2.9-1")
    assert get().series == "7.2"
    assert any("doing without Linux 7.3" in line for line in said)


@needs_archive
def test_what_is_no_kernel_inside_leaves_no_tree(archive: FakeArchive, trees: Path) -> None:
    archive.add_kernel("sid", "7.2", "6.1.9-1")  # another series than its name says
    with pytest.raises(MmbatchError):
        get("7.2")
    with pytest.raises(MmbatchError, match=r"linux-source-7\.3"):
        get()
    assert not list(trees.iterdir())


def test_too_little_room_is_said_before_anything_is_fetched(
    monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    monkeypatch.setattr(sources, "_TREE_BYTES", 1 << 60)
    with pytest.raises(MmbatchError, match="GB are free"):
        get("7.3")
    assert said == []


def test_cached_kernels_need_no_apt(monkeypatch: pytest.MonkeyPatch) -> None:
    put_cached("7.3", "7.3.9-1")
    monkeypatch.setenv("PATH", "/nonexistent")
    assert get("7.3").release == get().release == get("v7.3.9").release == "7.3.9"
    with fails("7.3 has the release 7.3.9 here", code=ExitCode.NOT_APPLICABLE):
        get("7.3.8")


NEWER = [("7.3.9-1", "7.3.10-1"), ("7.3.4-1", "7.3.4-2"), ("7.3.4-1~bpo12+1", "7.3.4-1~bpo13+1")]


@pytest.mark.parametrize(("older", "newer"), NEWER)
def test_the_newest_cached_point_release_is_taken(older: str, newer: str) -> None:
    for version in (newer, older):
        put_cached("7.3", version)
    found = find_cached("7.3")
    assert found is not None
    assert newer in found.origin


@pytest.mark.parametrize("kernel", ["6.6", "", "seven"])
def test_unsupported_series(kernel: str) -> None:
    with fails("7.3, 7.2, 6.12", code=ExitCode.NOT_APPLICABLE):
        get(kernel)


@pytest.mark.parametrize(("extra", "release"), [("", "7.3.4"), ("-rc2", "7.3.4-rc2")])
def test_release_of_a_tree(tmp_path: Path, extra: str, release: str) -> None:
    assert read_release(make_kernel(tmp_path, extra=extra)) == release


@pytest.mark.parametrize("missing", ["Makefile", "Kconfig", "mm/mm_init.c"])
def test_a_tree_that_is_no_kernel(tmp_path: Path, missing: str) -> None:
    (make_kernel(tmp_path) / missing).unlink()
    with fails(missing, code=ExitCode.USAGE):
        check_tree(tmp_path)
    with pytest.raises(MmbatchError, match="no such directory"):
        check_tree(tmp_path / "nowhere")


@pytest.mark.parametrize("release", ["6.6.1", "7.30.1", "8.0.0"])
def test_a_kernel_of_another_series(tmp_path: Path, release: str) -> None:
    with fails(release, code=ExitCode.NOT_APPLICABLE):
        check_tree(make_kernel(tmp_path, release))


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
    kernel = make_kernel(tmp_path / "my tree", extra="-mine")
    (kernel / "localversion-test").write_text("-dirty\n")
    (kernel / "link").symlink_to("mm/mm_init.c")
    (kernel / "directory-link").symlink_to("mm")
    return kernel


def test_a_tree_is_copied_and_kept_apart(tree: Path) -> None:
    before = contents(tree)
    found = get(tree=tree)
    assert contents(found.path) == before
    assert found.origin == f"tree {tree}"
    assert (found.series, found.release) == ("7.3", "7.3.4-mine")
    copied = found.path / "Makefile"
    assert copied.stat().st_ino != (tree / "Makefile").stat().st_ino


def test_each_state_of_a_tree_is_kept(tree: Path) -> None:
    """Another command copies the tree, which the user has edited, while the first one builds."""
    before = contents(tree)
    first = get(tree=tree)
    assert get(tree=tree) == first
    (tree / "mm" / "new.c").write_text("new")
    (tree / "mm" / "mm_init.c").write_text("edited")
    (tree / "include" / "linux" / "mm.h").unlink()
    (tree / "link").unlink()
    (tree / "directory-link").unlink()
    (tree / "directory-link").mkdir()
    (tree / "directory-link" / "inner").touch()
    (tree / "Kbuild").unlink()
    (tree / "Kbuild").symlink_to("Makefile")
    second = get(tree=tree)
    assert contents(second.path) == contents(tree)
    assert contents(first.path) == before
    assert second.ident == first.ident
    assert second.state != first.state
    for path in ("Makefile", "mm/mm_init.c"):  # what did not change is there once
        same = (first.path / path).stat().st_ino == (second.path / path).stat().st_ino
        assert same == (path == "Makefile")


def test_a_copy_that_was_broken_off_is_made_again(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(sources, "_copy", lambda *_: os.kill(os.getpid(), 2))
        get(tree=tree)
    assert contents(get(tree=tree).path) == contents(tree)


def test_build_products_stay_behind(tree: Path) -> None:
    products = [
        *(".config", ".config.old", "vmlinux", "vmlinux.o", "mm/mm_init.o", "mm/.mm_init.o.cmd"),
        *("mm/built-in.a", "mm/x.ko", "include/config/auto.conf", "include/generated/autoconf.h"),
        *("arch/x86/include/generated/asm/x.h", "modules.order"),
    ]
    sources = [
        *("arch/x86/kernel/vmlinux.lds.S", "tools/perf/util/bpf_skel/vmlinux/vmlinux.h"),
        *("tools/generated/x.h", ".gitignore"),
    ]
    for name in products + sources:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(name)
    copied = contents(get(tree=tree).path)
    assert not set(products) & set(copied)
    assert set(sources) <= set(copied)


def test_the_tree_of_another_user_whose_programs_do_not_run(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    program = script(tmp_path / "monitor", f": >'{ran}'\nexit 1")
    git(tree, "init", "-q")
    git(tree, "add", "-A")
    git(tree, "config", "core.fsmonitor", str(program))
    git(tree, "update-index", "--fsmonitor")
    git(tree, "status")
    assert ran.exists()
    ran.unlink()
    monkeypatch.setenv("GIT_TRACE", "1")
    assert "mm/mm_init.c" in contents(get(tree=tree).path)
    assert not ran.exists()


def test_a_git_tree_is_copied_as_it_lies_there(tree: Path, git_name: None) -> None:
    (tree / ".gitignore").write_text("*.o\n")
    (tree / "deleted.c").touch()
    commit(tree)
    (tree / "mm" / "mm_init.c").write_text("not committed")
    (tree / "mm" / "untracked.c").write_text("untracked")
    (tree / "mm" / "ignored.o").write_text("ignored")
    (tree / "deleted.c").unlink()
    os.mkdir(os.fsencode(tree) + b"/latin-\xfc")  # noqa: PTH102
    os.close(os.open(os.fsencode(tree) + b"/latin-\xfc/\xfc\n.c", os.O_CREAT))
    index = (tree / ".git" / "index").read_bytes()
    copied = contents(get(tree=tree).path)
    wanted = contents(tree)
    for name in [name for name in wanted if name.startswith(".git/")] + ["mm/ignored.o"]:
        del wanted[name]
    assert copied == wanted
    assert (tree / ".git" / "index").read_bytes() == index
