# SPDX-License-Identifier: GPL-2.0-only
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fake_tree import NEEDS_APPLY, branches, commit, fingerprint, git, make_tree
from mmbatch.core import paths as checkout
from mmbatch.splice import spatch

pytestmark = NEEDS_APPLY

BRANCH = "mmbatch/zone_device"

Call = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("change", ["amended", "one more", "one less", "other base", "foreign"])
def test_a_branch_with_something_else_is_left_alone(call: Call, tree: Path, change: str) -> None:
    if change == "foreign":
        git(tree, "branch", BRANCH)
    else:
        assert call(tree, "zone_device")[0] == 0
    if change == "one less":
        git(tree, "branch", "-f", BRANCH, f"{BRANCH}~1")
    elif change == "other base":
        git(tree, "commit", "-q", "--allow-empty", "-m", "toys: second")
    elif change != "foreign":
        git(tree, "switch", "-q", BRANCH)
        if change == "amended":
            (tree / "mm/zone_device.c").write_text("/* mine */\n")
        git(tree, "add", "-u")
        extra = ["--amend", "--no-edit"] if change == "amended" else ["--allow-empty", "-m", "x"]
        git(tree, "commit", "-q", *extra)
        git(tree, "switch", "-q", "main")
    tip = git(tree, "rev-parse", BRANCH)
    before = fingerprint(tree)
    code, _, err = call(tree, "zone_device")
    assert code == 2
    assert "there is one already" in err
    assert f"git branch -D {BRANCH}" in err
    assert (git(tree, "rev-parse", BRANCH), fingerprint(tree)) == (tip, before)


@pytest.mark.parametrize("staged", [True, False])
def test_a_dirty_tree_is_refused(call: Call, tree: Path, staged: bool) -> None:
    for name in ("lib/toys.c", "Kbuild"):
        (tree / name).write_text("changed\n")
    if staged:
        git(tree, "add", "lib/toys.c", "Kbuild")
    before = fingerprint(tree)
    for arguments in ([], ["-n"]):
        code, _, err = call(tree, "zone_device", *arguments)
        assert code == 2
        assert (
            "Kbuild and 1 more changed since the last commit\nhint: commit or stash it first\n"
            in err
        )
    assert (branches(tree), fingerprint(tree)) == (["main"], before)


def test_a_tree_of_another_user(call: Call, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    code, _, err = call(tree, "zone_device", "-n")
    assert code == 1
    assert f"git config --global --add safe.directory '{tree}'\n" in err


@pytest.mark.parametrize("dry", [True, False])
def test_a_hook_that_does_not_match_writes_nothing(call: Call, tree: Path, dry: bool) -> None:
    path = tree / "mm/Makefile"
    path.write_text(path.read_text().replace("memremap.o", "toyremap.o"))
    git(tree, "commit", "-q", "-a", "-m", "toys: rename")
    everything = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    code, _, err = call(tree, "zone_device", *(["-n"] if dry else []))
    assert code == 3
    assert "splice into mm/Makefile" in err
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == everything


def test_a_link_in_the_place_of_a_file_is_exit_code_3(call: Call, tree: Path) -> None:
    (tree / "mm/Makefile").rename(tree / "mm/Makefile.toys")
    (tree / "mm/Makefile").symlink_to("Makefile.toys")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "toys: link")
    code, _, err = call(tree, "zone_device")
    assert (code, "it is not a regular file" in err) == (3, True)


def test_what_is_no_kernel_or_not_ours(call: Call, tmp_path: Path) -> None:
    assert call(tmp_path / "lost")[0] == 2
    code, _, err = call(commit(make_tree(tmp_path / "old", "6.6.1")))
    assert (code, "supported are 7.3, 7.2, 6.12" in err) == (77, True)
    code, _, err = call(make_tree(tmp_path / "new"), "no_such")
    assert (code, "known speed-ups: " in err) == (2, True)


def test_a_speedup_for_other_kernels_is_exit_code_77(
    call: Call, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    speedups = tmp_path / "speedups"
    shutil.copytree(checkout.SPEEDUPS / "streaming_copy", speedups / "streaming_copy")
    path = speedups / "streaming_copy" / "speedup.toml"
    path.write_text(path.read_text().replace('kernels = ">=6.12,<7.4"', 'kernels = "<7.0"', 1))
    monkeypatch.setattr(checkout, "SPEEDUPS", speedups)
    code, _, err = call(tree, "streaming_copy")
    assert (code, "it is made for kernels <7.0" in err) == (77, True)
    assert branches(tree) == ["main"]
    code, _, err = call(tree)
    assert (code, "it is made for kernels" in err) == (77, True)


def test_no_commit_yet_and_no_name(call: Call, tmp_path: Path, git_user: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    git(tree, "init", "-q", "-b", "main")
    code, _, err = call(tree)
    assert (code, "there is no commit yet" in err) == (2, True)
    commit(tree)
    git_user.write_text("[user]\n\tuseConfigOnly = true\n")
    code, _, err = call(tree)
    assert (code, "git config --global user.name" in err) == (2, True)
    assert call(tree, "-n")[0] == 0


@pytest.mark.parametrize(
    ("version", "hint"), [(None, "apt-get install coccinelle"), ("1.0.8", "install coccinelle")]
)
def test_without_a_spatch_that_does_nothing_is_written(
    call: Call,
    tree: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: str | None,
    hint: str,
) -> None:
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in ("git", "setpriv", "sh"):
        if found := shutil.which(name):
            (directory / name).symlink_to(found)
    if version is not None:
        (directory / "spatch").write_text(f"#!/bin/sh\necho spatch version {version}\n")
        (directory / "spatch").chmod(0o755)
    before = fingerprint(tree)
    with monkeypatch.context() as patched:
        patched.setenv("PATH", str(directory))
        spatch.program.cache_clear()
        code, _, err = call(tree)
        spatch.program.cache_clear()
    assert (code, hint in err) == (1, True)
    assert (branches(tree), fingerprint(tree)) == (["main"], before)
