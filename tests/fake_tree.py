# SPDX-License-Identifier: GPL-2.0-only
"""A made-up kernel tree: it has the places that our hooks look for, and nothing else is real."""

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from expect import printed
from fake_archive import make_kernel
from mmbatch.core import paths as checkout
from mmbatch.splice.manifest import load_with_needs

Call = Callable[..., tuple[int, str, str]]
"""The fixture `call`, which runs `mmbatch apply`."""

TEMPLATE = Path(__file__).parent / "data" / "tree"
STEPS = [
    step
    for manifest in load_with_needs(checkout.SPEEDUPS, "zone_device")
    for step in manifest.steps
    if "7.3" in step.kernels
]
"""The steps of a speed-up and of what it needs, on Linux 7.3."""

_PAINT = "\ttoy_paint(page, pfn);\n"


def make_tree(tree: Path, release: str = "7.3.4", *, by_page: bool = False) -> Path:
    """Make a tree that the speed-ups of this repository fit, and that poses as some release.

    With `by_page`, it sets the migrate type page by page.
    """
    make_kernel(tree, release)
    shutil.copytree(TEMPLATE, tree, dirs_exist_ok=True)
    if by_page:
        path = tree / "mm" / "mm_init.c"
        more = f"{_PAINT}\tset_pageblock_migratetype(page, 3);\n"
        path.write_text(path.read_text().replace(_PAINT, more))
    (tree / "lib" / "toys.c").write_bytes(b"/* nobody's business: caf\xe9 */\n")
    (tree / "scripts" / "config").chmod(0o755)
    return tree


def git(tree: Path, *arguments: str) -> str:
    """Run git in a tree as a user does, and return what it prints."""
    return printed("git", "-C", tree, *arguments).strip()


def commit(tree: Path) -> Path:
    """Make a tree a git repository, with everything in its first commit."""
    git(tree, "init", "-q", "-b", "main")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "toys: first")
    return tree


def fingerprint(tree: Path) -> dict[str, str]:
    """Return name, mode, time and hash of all files of a tree, those of its git included.

    Objects, branches of ours and their logs are left out: they are what apply adds.
    """
    skipped = (".git/objects/", ".git/refs/heads/mmbatch/", ".git/logs/refs/heads/mmbatch/")
    found = {}
    for directory, _, files in os.walk(tree):
        for file in files:
            path = Path(directory) / file
            name = str(path.relative_to(tree))
            if not name.startswith(skipped):
                status = path.stat()
                moved = name.startswith(".git/sharedindex.")  # by every git that reads it
                when = 0 if moved else status.st_mtime_ns
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                found[name] = f"{status.st_mode:o} {when} {digest}"
    return found


def lacks_for_apply() -> list[str]:
    """Return the programs that tests of apply need and this machine lacks."""
    return [name for name in ("git", "spatch") if shutil.which(name) is None]


NEEDS_APPLY = [
    pytest.mark.usefixtures("git_user"),
    pytest.mark.skipif(bool(lacks_for_apply()), reason="lacks git or spatch"),
]
"""Marks of tests that apply steps to a tree."""


def branches(tree: Path) -> list[str]:
    """Return the names of all branches."""
    return git(tree, "for-each-ref", "--format=%(refname:short)", "refs/heads").splitlines()


def left_over(directory: Path) -> list[Path]:
    """Return what was to be temporary and is still there."""
    return [path for path in directory.rglob(".mmbatch-tmp-*") if path.exists()]
