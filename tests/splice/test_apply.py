# SPDX-License-Identifier: GPL-2.0-only
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fake_tree import (
    NEEDS_APPLY,
    STEPS,
    branches,
    commit,
    fingerprint,
    git,
    left_over,
    make_tree,
)
from mmbatch.core import paths as checkout
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel.git import GitTree
from mmbatch.splice import apply
from mmbatch.splice.manifest import load_with_needs
from mmbatch.splice.steps import apply_steps, named_files

pytestmark = NEEDS_APPLY

BRANCH = "mmbatch/zone_device"
MM_INIT = "mm/mm_init.c"
Call = Callable[..., tuple[int, str, str]]


def test_a_branch_has_a_commit_for_each_step(call: Call, tree: Path, tmp_path: Path) -> None:
    before = fingerprint(tree)
    code, out, _ = call(tree, "zone_device")
    assert code == 0
    assert fingerprint(tree) == before
    assert branches(tree) == ["main", BRANCH]
    subjects = git(tree, "log", "--reverse", "--format=%s", f"main..{BRANCH}").splitlines()
    assert subjects == [step.subject for step in STEPS]
    assert f"{BRANCH}: {len(STEPS)} commits on {git(tree, 'rev-parse', '--short', 'main')}" in out
    assert f"git -C '{tree}' switch {BRANCH}" in out
    assert git(tree, "log", "-1", "--format=%an <%ae>, %cn <%ce>", BRANCH) == (
        "Some User <user@example.org>, Some User <user@example.org>"
    )
    assert "Signed-off-by" not in git(tree, "log", f"main..{BRANCH}")
    assert left_over(tmp_path) == []
    git(tree, "fsck", "--strict")


def test_the_branch_is_what_the_steps_leave(call: Call, tree: Path, tmp_path: Path) -> None:
    assert call(tree, "zone_device")[0] == 0
    work = make_tree(tmp_path / "work")
    manifests = load_with_needs(checkout.SPEEDUPS, "zone_device")
    commits = git(tree, "rev-list", "--reverse", f"main..{BRANCH}").splitlines()
    taken = apply_steps(work, "7.3", manifests, checkout.MACROS)
    for step, applied in zip(taken, commits, strict=True):
        names = git(tree, "diff-tree", "-r", "--name-only", "--no-commit-id", applied)
        assert tuple(names.splitlines()) == step.files
        for name in step.files:
            shown = subprocess.run(
                ["git", "-C", tree, "show", f"{applied}:{name}"], capture_output=True, check=True
            )
            assert shown.stdout == (work / name).read_bytes()


def test_modes_are_kept_and_new_files_plain(call: Call, tree: Path) -> None:
    git(tree, "update-index", "--chmod=+x", "mm/Makefile")
    git(tree, "commit", "-q", "-m", "toys: odd mode")
    git(tree, "checkout", "-q", "-f", "HEAD")
    (tree / "mm/Makefile").chmod(0o755)
    assert call(tree, "zone_device")[0] == 0
    listed = git(tree, "ls-tree", BRANCH, "mm/Makefile", "mm/zone_device.c").splitlines()
    assert [line.split()[0] for line in listed] == ["100755", "100644"]


def test_line_ends_stay_whatever_git_is_set_to(call: Call, tree: Path) -> None:
    path = tree / "mm/Kconfig"
    content = path.read_bytes() + b"/* toys */\r\n"
    path.write_bytes(content)
    git(tree, "-c", "core.autocrlf=false", "commit", "-q", "-a", "-m", "toys: line ends")
    assert call(tree, "zone_device")[0] == 0
    done = subprocess.run(
        ["git", "-C", tree, "show", f"{BRANCH}:mm/Kconfig"],
        check=True,
        capture_output=True,
    )
    assert done.stdout != content
    assert done.stdout.endswith(b"/* toys */\r\n")


def test_a_branch_is_never_moved(call: Call, tree: Path) -> None:
    assert call(tree, "zone_device")[0] == 0
    with pytest.raises(MmbatchError) as caught:
        GitTree(tree).create_branch(BRANCH, git(tree, "rev-parse", "main"), "toys")
    assert caught.value.code == ExitCode.USAGE
    assert git(tree, "rev-parse", f"{BRANCH}~{len(STEPS)}") == git(tree, "rev-parse", "main")


def test_git_s_own_checks_find_nothing(call: Call, tree: Path) -> None:
    assert call(tree, "zone_device", "-s")[0] == 0
    assert git(tree, "diff", "--check", "main", BRANCH) == ""
    messages = git(tree, "log", "--format=%B", f"main..{BRANCH}").splitlines()
    assert max(map(len, messages)) <= 75


def test_signing_off_is_the_user_s_choice(call: Call, tree: Path) -> None:
    assert call(tree, "zone_device", "-s")[0] == 0
    trailers = git(tree, "log", "--format=%(trailers:key=Signed-off-by)", f"main..{BRANCH}")
    assert [line for line in trailers.splitlines() if line] == [
        "Signed-off-by: Some User <user@example.org>"
    ] * len(STEPS)


def test_by_default_all_that_suit_are_applied(call: Call, tree: Path) -> None:
    code, out, _ = call(tree, "-q")
    assert code == 0
    assert BRANCH.rpartition("/")[2] in out
    subjects = git(tree, "log", "--format=%s", f"main..{branches(tree)[-1]}").splitlines()
    assert {step.subject for step in STEPS} <= set(subjects)


def test_another_name_for_the_branch(call: Call, tree: Path) -> None:
    assert call(tree, "streaming_copy", "--branch", "for-akpm")[0] == 0
    assert branches(tree) == ["for-akpm", "main"]
    code, _, err = call(tree, "--branch", "a..b")
    assert (code, "git takes no such name" in err) == (2, True)
    code, _, err = call(tree, "--branch", "main/toys")
    assert (code, "--branch" in err) == (2, True)


def test_the_second_go_finds_the_branch(call: Call, tree: Path) -> None:
    assert call(tree, "zone_device")[0] == 0
    tip = git(tree, "rev-parse", BRANCH)
    code, out, _ = call(tree, "zone_device", "-s")
    assert (code, git(tree, "rev-parse", BRANCH)) == (0, tip)
    assert out == f"Already applied: branch {BRANCH} has streaming_copy, zone_device.\n"


def test_what_head_has_is_not_applied_again(call: Call, tree: Path) -> None:
    assert call(tree, "streaming_copy")[0] == 0
    git(tree, "merge", "-q", "--ff-only", "mmbatch/streaming_copy")
    code, out, _ = call(tree, "streaming_copy", "--branch", "again")
    assert (code, out) == (0, "Already applied: HEAD has streaming_copy.\n")
    assert call(tree, "zone_device")[0] == 0
    subjects = git(tree, "log", "--reverse", "--format=%s", f"main..{BRANCH}").splitlines()
    mine = load_with_needs(checkout.SPEEDUPS, "zone_device")[-1].steps
    assert subjects == [step.subject for step in mine]
    git(tree, "switch", "-q", BRANCH)
    code, out, _ = call(tree, "zone_device")
    assert (code, out) == (0, "Already applied: HEAD has streaming_copy, zone_device.\n")


def test_undo_takes_back_what_apply_made(call: Call, tree: Path) -> None:
    before = fingerprint(tree)
    assert call(tree, "zone_device")[0] == 0
    tip = git(tree, "rev-parse", "--short", BRANCH)
    code, out, _ = call(tree, "zone_device", "--undo")
    assert (code, out) == (0, f"Deleted {BRANCH}, which ended at {tip}.\n")
    assert branches(tree) == ["main"]
    assert fingerprint(tree) == before
    code, _, err = call(tree, "zone_device", "--undo")
    assert (code, "there is no such branch" in err) == (2, True)
    assert call(tree, "zone_device")[0] == 0


def test_undo_leaves_what_is_checked_out(call: Call, tree: Path, tmp_path: Path) -> None:
    assert call(tree, "zone_device")[0] == 0
    git(tree, "worktree", "add", "-q", str(tmp_path / "second"), BRANCH)
    code, _, err = call(tree, "zone_device", "--undo")
    assert (code, f"it is checked out in {tmp_path / 'second'}" in err) == (2, True)
    code, _, err = call(tmp_path / "second", "zone_device", "--undo")
    assert (code, "it is checked out" in err) == (2, True)
    assert branches(tree) == ["main", BRANCH]


def test_new_files_and_touched_ones_are_no_dirt(call: Call, tree: Path) -> None:
    (tree / "notes").write_text("mine\n")
    os.utime(tree / "lib/toys.c")
    before = fingerprint(tree)
    assert call(tree, "zone_device")[0] == 0
    assert fingerprint(tree) == before


def test_a_dry_run_prints_what_would_be_done(call: Call, tree: Path, tmp_path: Path) -> None:
    everything = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    code, out, _ = call(tree, "zone_device", "-n")
    assert code == 0
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == everything
    for number, step in enumerate(STEPS, 1):
        assert f"[{number}/{len(STEPS)}] {step.subject}\n" in out
    copy = make_tree(tmp_path / "copy")
    subprocess.run(
        ["git", "apply", "--index", "-"], cwd=commit(copy), input=out.encode(), check=True
    )
    assert call(tree, "zone_device")[0] == 0
    assert git(copy, "write-tree") == git(tree, "rev-parse", f"{BRANCH}^{{tree}}")


def test_bodies_are_wrapped_and_indented_parts_are_not() -> None:
    long = "word " * 30
    wrapped = apply.wrap(f"short\nlines\n\n{long}\n\n\tkept {long}")
    short, filled, kept = wrapped.split("\n\n")
    assert short == "short\nlines"
    assert max(map(len, filled.split("\n"))) <= 75
    assert filled.split() == long.split()
    assert kept == f"\tkept {long}"


def test_only_named_files_are_read(call: Call, tree: Path) -> None:
    manifests = load_with_needs(checkout.SPEEDUPS, "zone_device")
    contents = GitTree(tree).read("HEAD", named_files("7.3", manifests))
    assert set(contents) == {
        MM_INIT,
        "mm/Kconfig",
        "mm/internal.h",
        "mm/Makefile",
        "lib/Kconfig.debug",
        "lib/Makefile",
        "Documentation/admin-guide/kernel-parameters.txt",
        "arch/x86/include/asm/string_64.h",
    }
    assert contents[MM_INIT] == (tree / MM_INIT).read_bytes()
    assert GitTree(tree).read("HEAD", ["no/such/file"]) == {}
    code, _, said = call(tree, "-h")
    assert (code, said) == (0, "")
