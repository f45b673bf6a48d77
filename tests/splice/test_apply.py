# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch apply`: a branch in the user's tree, or diffs; and nothing else is touched."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from expect import fails
from fake_program import script
from fake_tree import (
    NEEDS_APPLY,
    STEPS,
    Call,
    branches,
    commit,
    fingerprint,
    git,
    left_over,
    make_tree,
)
from mmbatch.core import paths as checkout
from mmbatch.core.errors import ExitCode
from mmbatch.kernel.git import GitTree
from mmbatch.splice import apply, hooks
from mmbatch.splice.apply import apply_steps
from mmbatch.splice.manifest import load_with_needs

pytestmark = NEEDS_APPLY

BRANCH = "mmbatch/zone_device"


def contents(tree: Path) -> dict[str, bytes]:
    files = (path for path in tree.rglob("*") if path.is_file())
    return {str(path.relative_to(tree)): path.read_bytes() for path in files}


def subjects(tree: Path, name: str = BRANCH) -> list[str]:
    return git(tree, "log", "--reverse", "--format=%s", f"main..{name}").splitlines()


def test_a_branch_has_a_commit_for_each_step(call: Call, tree: Path, tmp_path: Path) -> None:
    odd = tree / "mm/Kconfig"
    odd.write_bytes(odd.read_bytes() + b"/* toys */\r\n")
    (tree / "mm/Makefile").chmod(0o755)
    git(tree, "-c", "core.autocrlf=false", "commit", "-q", "-a", "-m", "toys: odd ones")
    (tree / "notes").write_text("mine\n")
    os.utime(tree / "lib/toys.c")
    before = fingerprint(tree)
    code, out, _ = call(tree, "zone_device", "--until", "all", "-s")
    assert code == 0
    assert fingerprint(tree) == before
    assert branches(tree) == ["main", BRANCH]
    assert subjects(tree) == [step.subject for step in STEPS]
    assert f"{BRANCH}: {len(STEPS)} commits on {git(tree, 'rev-parse', '--short', 'main')}" in out
    assert f"git -C '{tree}' switch {BRANCH}" in out
    assert left_over(tmp_path) == []
    git(tree, "fsck", "--strict")

    work = make_tree(tmp_path / "work")
    (work / "mm/Kconfig").write_bytes(odd.read_bytes())
    taken = apply_steps(work, "7.3", load_with_needs(checkout.SPEEDUPS, "zone_device"))
    commits = git(tree, "rev-list", "--reverse", f"main..{BRANCH}").splitlines()
    for step, applied in zip(taken, commits, strict=True):
        names = git(tree, "diff-tree", "-r", "--name-only", "--no-commit-id", applied)
        assert names.splitlines() == list(step.contents)
        for name, content in step.contents.items():
            shown = ["git", "-C", str(tree), "show", f"{applied}:{name}"]
            assert subprocess.run(shown, capture_output=True, check=True).stdout == content
    listed = git(tree, "ls-tree", BRANCH, "mm/Makefile", "mm/zone_device_method.c").splitlines()
    assert [line.split()[0] for line in listed] == ["100755", "100644"]
    assert git(tree, "diff", "--check", "main", BRANCH, "--", ":!mm/Kconfig") == ""
    messages = git(tree, "log", "--format=%B", f"main..{BRANCH}").splitlines()
    assert max(map(len, messages)) <= 75
    signed = "Signed-off-by: Some User <user@example.org>"
    assert messages.count(signed) == len(STEPS)


def test_the_second_go_finds_what_is_there(call: Call, tree: Path) -> None:
    assert call(tree, "streaming_copy", "--branch", "mine")[0] == 0
    assert branches(tree) == ["main", "mine"]
    git(tree, "merge", "-q", "--ff-only", "mine")
    code, out, _ = call(tree, "streaming_copy", "--branch", "again")
    assert (code, out) == (0, "Already applied: HEAD has streaming_copy.\n")
    code, _, err = call(tree, "zone_device")
    mine = [step.subject for step in load_with_needs(checkout.SPEEDUPS, "zone_device")[-1].steps]
    assert subjects(tree) == mine[: len(subjects(tree))] != mine
    more = len(mine) - len(subjects(tree))
    assert f"{len(STEPS) - more} of {len(STEPS)} patches: --until all adds {more}" in err
    tip = git(tree, "rev-parse", BRANCH)
    code, out, _ = call(tree, "zone_device", "-s")
    assert (code, git(tree, "rev-parse", BRANCH)) == (0, tip)
    assert out == f"Already applied: branch {BRANCH} has streaming_copy, zone_device.\n"
    with fails(code=ExitCode.USAGE):
        GitTree(tree).create_branch(BRANCH, git(tree, "rev-parse", "main"), "toys")
    assert git(tree, "rev-parse", BRANCH) == tip


def test_by_default_all_that_suit_are_applied(call: Call, tree: Path) -> None:
    code, out, _ = call(tree, "-q", "--until", "all")
    assert code == 0
    assert "zone_device" in out
    assert {step.subject for step in STEPS} <= set(subjects(tree, branches(tree)[-1]))


def test_what_a_dry_run_prints_is_what_patch_and_git_apply_take(
    call: Call, tree: Path, tmp_path: Path
) -> None:
    words = ("zone_device", "--until", "all", "-n")
    everything = contents(tree)
    code, out, _ = call(tree, *words)
    assert (code, contents(tree)) == (0, everything)
    for number, step in enumerate(STEPS, 1):
        assert f"[{number}/{len(STEPS)}] {step.subject}\n" in out
    work = make_tree(tmp_path / "work")
    list(apply_steps(work, "7.3", load_with_needs(checkout.SPEEDUPS, "zone_device")))
    for program in ("patch -s -p1", "git -c core.autocrlf=false apply"):
        copy = make_tree(tmp_path / program)
        assert call(copy, *words)[1] == out
        subprocess.run(program.split(), cwd=copy, input=out.encode(), check=True)
        assert contents(copy) == contents(work)
    assert call(copy, *words)[1].startswith("Already applied: ")
    code, _, err = call(copy, "zone_device")
    assert (code, "| patch -d" in err) == (2, True)


def test_bodies_are_wrapped_and_indented_parts_are_not() -> None:
    long = "word " * 30
    wrapped = apply.wrap(f"short\nlines\n\n{long}\n\n\tkept {long}")
    short, filled, kept = wrapped.split("\n\n")
    assert (short, kept) == ("short\nlines", f"\tkept {long}")
    assert max(map(len, filled.split("\n"))) <= 75
    assert filled.split() == long.split()


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
            (tree / "mm/mm_init.c").write_text("/* mine */\n")
        git(tree, "add", "-u")
        extra = ["--amend", "--no-edit"] if change == "amended" else ["--allow-empty", "-m", "x"]
        git(tree, "commit", "-q", *extra)
        git(tree, "switch", "-q", "main")
    tip = git(tree, "rev-parse", BRANCH)
    before = fingerprint(tree)
    code, _, err = call(tree, "zone_device")
    assert (code, "there is one already" in err) == (2, True)
    assert f"git branch -D {BRANCH}" in err
    assert (git(tree, "rev-parse", BRANCH), fingerprint(tree)) == (tip, before)


@pytest.mark.parametrize("dry", [[], ["-n"]])
def test_trees_that_are_refused(call: Call, tree: Path, dry: list[str]) -> None:
    if os.geteuid() == 0:
        os.chown(tree, 12345, -1)
        code, _, err = call(tree, "zone_device", *dry)
        assert f"git config --global --add safe.directory '{tree}'\n" in err
        os.chown(tree, 0, -1)
    for name in ("lib/toys.c", "Kbuild"):
        (tree / name).write_text("changed\n")
    before = fingerprint(tree)
    code, _, err = call(tree, "zone_device", *dry)
    assert (code, "Kbuild and 1 more changed since the last commit" in err) == (2, True)
    git(tree, "commit", "-q", "-a", "-m", "toys: changed")
    path = tree / "mm/mm_init.c"
    path.write_text(path.read_text().replace("stackdepot.h", "toydepot.h"))
    git(tree, "commit", "-q", "-a", "-m", "toys: rename")
    before = fingerprint(tree)
    code, _, err = call(tree, "zone_device", *dry)
    assert (code, "splice into mm/mm_init.c" in err) == (3, True)
    path.rename(tree / "mm/mm_init.toys")
    path.symlink_to("mm_init.toys")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "toys: link")
    before = fingerprint(tree)
    code, _, err = call(tree, "zone_device", *dry)
    assert (code, "it is not a regular file" in err) == (3, True)
    assert (branches(tree), fingerprint(tree)) == (["main"], before)


def test_what_is_no_kernel_or_not_ours(call: Call, tree: Path, tmp_path: Path) -> None:
    assert call(tmp_path / "lost")[0] == 2
    code, _, err = call(commit(make_tree(tmp_path / "old", "6.6.1")))
    assert (code, "supported are 7.3, 7.2, 6.12" in err) == (77, True)
    for words in (["no_such"], ["--branch", "a..b"], ["--branch", "main/toys"]):
        assert call(tree, *words)[0] == 2
    assert branches(tree) == ["main"]


def test_no_commit_yet_and_no_name(call: Call, tmp_path: Path, git_user: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    git(tree, "init", "-q", "-b", "main")
    code, _, err = call(tree)
    assert (code, "there is no commit yet" in err) == (2, True)
    commit(tree)
    git_user.write_text("[user]\n\tuseConfigOnly = true\n")
    code, _, err = call(tree)
    assert (code, "git config --global user.name" in err) == (2, True)
    assert call(tree, "-n", "streaming_copy")[0] == 0


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
        script(directory / "spatch", f"echo spatch version {version}")
    before = fingerprint(tree)
    with monkeypatch.context() as patched:
        patched.setenv("PATH", str(directory))
        hooks.spatch_version.cache_clear()
        code, _, err = call(tree)
        hooks.spatch_version.cache_clear()
    assert (code, hint in err) == (1, True)
    assert (branches(tree), fingerprint(tree)) == (["main"], before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_ended_at_work_and_run_again(call: Call, tree: Path, tmp_path: Path, number: int) -> None:
    directory = tmp_path / "bin"
    script(
        directory / "spatch",
        f'[ "$1" = --very-quiet ] || exec {shutil.which("spatch")} "$@"\n'
        f"touch '{tmp_path}/reached'\nexec sleep 60",
    )
    before = fingerprint(tree)
    running = subprocess.Popen(
        [sys.executable, "-m", "mmbatch", "apply", str(tree), "zone_device"],
        env=dict(os.environ, PATH=f"{directory}:{os.environ['PATH']}"),
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 300
    while not (tmp_path / "reached").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(number)
    _, err = running.communicate(timeout=300)
    assert running.returncode == (-9 if number == signal.SIGKILL else 128 + number)
    assert "Traceback" not in err
    assert (branches(tree), fingerprint(tree)) == (["main"], before)
    if number != signal.SIGKILL:
        assert left_over(tmp_path) == []
    assert call(tree, "zone_device")[0] == 0
    assert left_over(tmp_path / "cache" / "splices") == []


def test_two_at_once_make_one_branch(tree: Path) -> None:
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "mmbatch", "apply", str(tree), "zone_device", "-q"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    output = sorted(process.communicate(timeout=300)[0].split(":")[0] for process in both)
    assert [process.returncode for process in both] == [0, 0]
    assert output == ["Already applied", BRANCH]
