# SPDX-License-Identifier: GPL-2.0-only
"""What each step of the speed-ups must have by itself, because it becomes a patch."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fake_tree import make_tree
from mmbatch.core import paths
from mmbatch.splice.apply import Applied, apply_steps, read_text
from mmbatch.splice.manifest import known, load_with_needs

DOCUMENTATION = "Documentation/admin-guide/kernel-parameters.txt"

pytestmark = pytest.mark.skipif(shutil.which("spatch") is None, reason="lacks spatch")


@pytest.fixture(params=known(paths.SPEEDUPS))
def steps(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, Applied]]:
    """Each step of a speed-up and of what it needs, with the tree as the step left it."""
    tree = make_tree(tmp_path / "linux")
    manifests = load_with_needs(paths.SPEEDUPS, request.param)
    return ((tree, step) for step in apply_steps(tree, "7.3", manifests))


def parameters(path: Path) -> Iterator[str]:
    """Yield the module parameters of a C file, with their prefix."""
    text = read_text(path)
    prefix = re.search(r'^#define MODULE_PARAM_PREFIX\s+"(\w+\.)"', text, re.MULTILINE)
    for match in re.finditer(r"^(module_param\w*|DEFINE_METHOD_PARAM)\((\w+)", text, re.MULTILINE):
        start = prefix[1] if prefix else f"{path.stem}."
        yield start + ("method" if match[1].startswith("DEFINE") else match[2])


def test_every_parameter_is_documented_by_the_step_that_adds_it(
    steps: Iterator[tuple[Path, Applied]],
) -> None:
    for tree, step in steps:
        for name in (name for name in step.contents if name.endswith(".c")):
            for parameter in parameters(tree / name):
                assert f"\n\t{parameter}=" in read_text(tree / DOCUMENTATION), step.name


def methods(text: str) -> set[str]:
    """Return the methods that a C file lists in a table."""
    table = re.search(r"\w+_methods\[\] = \{\n(.*?)^\};", text, re.MULTILINE | re.DOTALL)
    return set(re.findall(r'^\t\{ "(\w+)"', table[1], re.MULTILINE)) if table else set()


def test_every_method_is_documented_by_the_step_that_adds_it(
    steps: Iterator[tuple[Path, Applied]],
) -> None:
    for tree, step in steps:
        for name in (name for name in step.contents if name.endswith("_method.c")):
            speedup = Path(name).name.removesuffix("_method.c")
            entry = read_text(tree / DOCUMENTATION).partition(f"\t{speedup}.method=\n")[2]
            listed = re.findall(r"^\t\t\t(\w+)\t", entry.partition("\n\n")[0], re.MULTILINE)
            assert set(listed) == methods(read_text(tree / name)), step.name
