# SPDX-License-Identifier: GPL-2.0-only
"""The hooks in real kernels, which are fetched where the cache lacks them."""

import functools
import shutil
from pathlib import Path

import pytest

from fake_tree import Call, branches, commit, git, lacks_for_apply
from mmbatch.core import paths as checkout
from mmbatch.core.cache import default_root
from mmbatch.kernel.sources import SERIES, get, read_release
from mmbatch.splice.apply import apply_steps, named_files
from mmbatch.splice.manifest import known, load, load_with_needs

SIGNS = ("Makefile", "Kbuild", "Kconfig", "scripts/config", "mm/mm_init.c")
MOST = 25  # lines that a step removes; what it adds is ours, and may stand in the same file
OUR_FILES = {"mm/zone_device_method.c", "include/linux/streaming_copy.h"}

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(bool(lacks_for_apply()), reason="lacks git or spatch"),
]


CACHE = default_root()  # the user's; a fixture moves that of the tests


@functools.cache
def tree_of(series: str) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MMBATCH_CACHE", str(CACHE))
        return get(series).path


@pytest.fixture(params=SERIES)
def series(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def some_of_it(series: str, tmp_path: Path) -> Path:
    """A copy of those files of a real kernel that the speed-ups are about."""
    tree = tree_of(series)
    manifests = load_with_needs(checkout.SPEEDUPS, *suiting(series))
    copy = tmp_path / "linux"
    for name in (*named_files(series, manifests), *SIGNS):
        if (tree / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(tree / name, copy / name)
    return copy


def suiting(series: str) -> list[str]:
    names = known(checkout.SPEEDUPS)
    return [name for name in names if series in load(checkout.SPEEDUPS / name).kernels]


def changed_lines(diff: str, made: set[str]) -> int:
    """Count the lines that a diff removes from files that none of our steps made."""
    count, counted = 0, False
    for line in diff.splitlines():
        if line.startswith("+++ "):
            counted = line.removeprefix("+++ b/") not in made
        elif counted:
            # Versions of spatch differ in the blank lines that they keep.
            count += line.startswith("-") and not line.startswith("--- ") and line[1:].strip() != ""
    return count


def test_every_hook_matches_and_changes_little(series: str, some_of_it: Path) -> None:
    manifests = load_with_needs(checkout.SPEEDUPS, *suiting(series))
    expected = [step.name for m in manifests for step in m.steps if series in step.kernels]
    steps = list(apply_steps(some_of_it, series, manifests))
    assert [step.name for step in steps] == expected
    made = {file.target for m in manifests for step in m.steps for file in step.files}
    changed = {step.name: changed_lines(step.diff, made) for step in steps}
    assert {name: n for name, n in changed.items() if n > MOST} == {}
    assert {name for step in steps for name in step.contents} >= OUR_FILES


def test_apply_makes_the_spliced_files(series: str, some_of_it: Path, call: Call) -> None:
    spliced = some_of_it.with_name("spliced")
    shutil.copytree(some_of_it, spliced)
    manifests = load_with_needs(checkout.SPEEDUPS, *suiting(series))
    steps = list(apply_steps(spliced, series, manifests))
    commit(some_of_it)
    assert read_release(some_of_it).startswith(series)
    assert call(some_of_it, "--until", "all")[0] == 0
    (branch,) = set(branches(some_of_it)) - {"main"}
    subjects = git(some_of_it, "log", "--reverse", "--format=%s", f"main..{branch}")
    assert subjects.splitlines() == [step.subject for step in steps]
    assert git(some_of_it, "status", "--short", "--untracked-files=no") == ""
    git(some_of_it, "-c", "core.autocrlf=false", "switch", "-q", branch)
    for path in spliced.rglob("*"):
        if path.is_file():
            assert (some_of_it / path.relative_to(spliced)).read_bytes() == path.read_bytes()
    code, out, _ = call(some_of_it, "--until", "all")
    assert (code, out.startswith("Already applied: HEAD has ")) == (0, True)
    assert git(some_of_it, "diff", "--check", "main", branch) == ""
