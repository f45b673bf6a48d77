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
    fingerprint,
    git,
    left_over,
    make_tree,
)
from mmbatch.core import paths as checkout
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel.git import GitTree
from mmbatch.splice import branch
from mmbatch.splice.apply import apply_steps
from mmbatch.splice.manifest import load_with_needs

pytestmark = NEEDS_APPLY

BRANCH = "mmbatch/zone_device"
MM_INIT = "mm/mm_init.c"
Call = Callable[..., tuple[int, str, str]]


def apply_all(call: Call, tree: Path, *arguments: str) -> tuple[int, str, str]:
    return call(tree, *arguments, "--until", "all")


def test_a_branch_has_a_commit_for_each_step(call: Call, tree: Path, tmp_path: Path) -> None:
    before = fingerprint(tree)
    code, out, _ = apply_all(call, tree, "zone_device")
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
    assert apply_all(call, tree, "zone_device")[0] == 0
    work = make_tree(tmp_path / "work")
    manifests = load_with_needs(checkout.SPEEDUPS, "zone_device")
    commits = git(tree, "rev-list", "--reverse", f"main..{BRANCH}").splitlines()
    taken = apply_steps(work, "7.3", manifests)
    for step, applied in zip(taken, commits, strict=True):
        names = git(tree, "diff-tree", "-r", "--name-only", "--no-commit-id", applied)
        assert names.splitlines() == list(step.contents)
        for name in step.contents:
            shown = subprocess.run(
                ["git", "-C", tree, "show", f"{applied}:{name}"], capture_output=True, check=True
            )
            assert shown.stdout == (work / name).read_bytes()


def test_modes_are_kept_and_new_files_plain(call: Call, tree: Path) -> None:
    git(tree, "update-index", "--chmod=+x", "mm/Makefile")
    git(tree, "commit", "-q", "-m", "toys: odd mode")
    git(tree, "checkout", "-q", "-f", "HEAD")
    (tree / "mm/Makefile").chmod(0o755)
    assert apply_all(call, tree, "zone_device")[0] == 0
    listed = git(tree, "ls-tree", BRANCH, "mm/Makefile", "mm/zone_device.c").splitlines()
    assert [line.split()[0] for line in listed] == ["100755", "100644"]


def test_line_ends_stay_whatever_git_is_set_to(call: Call, tree: Path) -> None:
    path = tree / "mm/Kconfig"
    content = path.read_bytes() + b"/* toys */\r\n"
    path.write_bytes(content)
    git(tree, "-c", "core.autocrlf=false", "commit", "-q", "-a", "-m", "toys: line ends")
    assert apply_all(call, tree, "zone_device")[0] == 0
    done = subprocess.run(
        ["git", "-C", tree, "show", f"{BRANCH}:mm/Kconfig"],
        check=True,
        capture_output=True,
    )
    assert done.stdout != content
    assert done.stdout.endswith(b"/* toys */\r\n")


def test_a_branch_is_never_moved(call: Call, tree: Path) -> None:
    assert apply_all(call, tree, "zone_device")[0] == 0
    with pytest.raises(MmbatchError) as caught:
        GitTree(tree).create_branch(BRANCH, git(tree, "rev-parse", "main"), "toys")
    assert caught.value.code == ExitCode.USAGE
    assert git(tree, "rev-parse", f"{BRANCH}~{len(STEPS)}") == git(tree, "rev-parse", "main")


def test_git_s_own_checks_find_nothing(call: Call, tree: Path) -> None:
    assert apply_all(call, tree, "zone_device", "-s")[0] == 0
    assert git(tree, "diff", "--check", "main", BRANCH) == ""
    messages = git(tree, "log", "--format=%B", f"main..{BRANCH}").splitlines()
    assert max(map(len, messages)) <= 75


def test_signing_off_is_the_user_s_choice(call: Call, tree: Path) -> None:
    assert apply_all(call, tree, "zone_device", "-s")[0] == 0
    trailers = git(tree, "log", "--format=%(trailers:key=Signed-off-by)", f"main..{BRANCH}")
    assert [line for line in trailers.splitlines() if line] == [
        "Signed-off-by: Some User <user@example.org>"
    ] * len(STEPS)


def test_by_default_all_that_suit_are_applied(call: Call, tree: Path) -> None:
    code, out, _ = apply_all(call, tree, "-q")
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
    assert apply_all(call, tree, "zone_device")[0] == 0
    tip = git(tree, "rev-parse", BRANCH)
    code, out, _ = apply_all(call, tree, "zone_device", "-s")
    assert (code, git(tree, "rev-parse", BRANCH)) == (0, tip)
    assert out == f"Already applied: branch {BRANCH} has streaming_copy, zone_device.\n"


def test_what_head_has_is_not_applied_again(call: Call, tree: Path) -> None:
    assert call(tree, "streaming_copy")[0] == 0
    git(tree, "merge", "-q", "--ff-only", "mmbatch/streaming_copy")
    code, out, _ = call(tree, "streaming_copy", "--branch", "again")
    assert (code, out) == (0, "Already applied: HEAD has streaming_copy.\n")
    assert apply_all(call, tree, "zone_device")[0] == 0
    subjects = git(tree, "log", "--reverse", "--format=%s", f"main..{BRANCH}").splitlines()
    mine = load_with_needs(checkout.SPEEDUPS, "zone_device")[-1].steps
    assert subjects == [step.subject for step in mine]
    git(tree, "switch", "-q", BRANCH)
    code, out, _ = apply_all(call, tree, "zone_device")
    assert (code, out) == (0, "Already applied: HEAD has streaming_copy, zone_device.\n")


def test_new_files_and_touched_ones_are_no_dirt(call: Call, tree: Path) -> None:
    (tree / "notes").write_text("mine\n")
    os.utime(tree / "lib/toys.c")
    before = fingerprint(tree)
    assert apply_all(call, tree, "zone_device")[0] == 0
    assert fingerprint(tree) == before


def test_what_a_dry_run_prints_is_what_patch_and_git_apply_take(
    call: Call, tree: Path, tmp_path: Path
) -> None:
    everything = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    code, out, _ = apply_all(call, tree, "zone_device", "-n")
    assert code == 0
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == everything
    for number, step in enumerate(STEPS, 1):
        assert f"[{number}/{len(STEPS)}] {step.subject}\n" in out
    work = make_tree(tmp_path / "work")
    list(apply_steps(work, "7.3", load_with_needs(checkout.SPEEDUPS, "zone_device")))
    wanted = contents(work)
    for number, program in enumerate(
        (["patch", "-s", "-p1"], ["git", "-c", "core.autocrlf=false", "apply"])
    ):
        copy = make_tree(tmp_path / f"copy {number}")
        assert apply_all(call, copy, "zone_device", "-n")[1] == out
        subprocess.run(program, cwd=copy, input=out.encode(), check=True)
        assert contents(copy) == wanted
        assert apply_all(call, copy, "zone_device", "-n")[1].startswith("Already applied: ")


def contents(tree: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(tree)): path.read_bytes() for path in tree.rglob("*") if path.is_file()
    }


def test_a_tree_without_git_is_told_of_patch(call: Call, tmp_path: Path) -> None:
    code, _, err = call(make_tree(tmp_path / "plain"), "zone_device")
    assert (code, "| patch -d" in err) == (2, True)


def test_by_default_the_core_is_applied_and_the_rest_is_named(call: Call, tree: Path) -> None:
    code, _, err = call(tree, "zone_device")
    subjects = git(tree, "log", "--format=%s", f"main..{BRANCH}").splitlines()
    assert (code, len(subjects) < len(STEPS)) == (0, True)
    more = len(STEPS) - len(subjects)
    assert f"{len(subjects)} of {len(STEPS)} patches: --until all adds {more}" in err


def test_bodies_are_wrapped_and_indented_parts_are_not() -> None:
    long = "word " * 30
    wrapped = branch.wrap(f"short\nlines\n\n{long}\n\n\tkept {long}")
    short, filled, kept = wrapped.split("\n\n")
    assert short == "short\nlines"
    assert max(map(len, filled.split("\n"))) <= 75
    assert filled.split() == long.split()
    assert kept == f"\tkept {long}"
