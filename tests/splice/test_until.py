# SPDX-License-Identifier: GPL-2.0-only
"""Speed-ups with the steps up to one of them only."""

from __future__ import annotations

from pathlib import Path

import pytest

from fake_tree import NEEDS_APPLY, Call, git
from mmbatch.core import paths as checkout
from mmbatch.splice.manifest import ALL, CORE, Manifest, Step, cut, known, load, load_with_needs

pytestmark = NEEDS_APPLY

STEPS = load(checkout.SPEEDUPS / "folio_copy").step_names


def _manifest(name: str, core: str = "") -> Manifest:
    steps = tuple(Step(step, f"mm: {step}", "") for step in ("one", "two", "three"))
    return Manifest("a title", steps=steps, core=core, directory=Path(name))


def _names(manifests: list[Manifest]) -> list[list[str]]:
    return [held.step_names for held in manifests]


def test_a_step_is_of_the_last_speedup_and_what_it_needs_stays_whole() -> None:
    needed, chosen = _manifest("needed"), _manifest("chosen", "two")
    whole = ["one", "two", "three"]
    assert _names(cut([needed, chosen], ALL)) == [whole, whole]
    assert _names(cut([needed, chosen], CORE)) == [whole, ["one", "two"]]
    assert _names(cut([needed, chosen], "one")) == [whole, ["one"]]
    assert _names(cut([chosen], "three")) == [whole]


@pytest.mark.parametrize("name", known(checkout.SPEEDUPS))
def test_a_core_has_all_that_its_own_steps_edit(name: str) -> None:
    """A step of a core must not edit a file that an optional step of another speed-up adds."""
    manifests = load_with_needs(checkout.SPEEDUPS, name)
    whole = {file.target for held in manifests for step in held.steps for file in step.files}
    held = cut(manifests, CORE)
    added = {file.target for held_one in held for step in held_one.steps for file in step.files}
    for step in held[-1].steps:
        for path in (*(edit.file for edit in step.edits), *(rule.file for rule in step.rules)):
            assert path not in whole - added, (step.name, path)


def test_a_branch_ends_at_the_step(call: Call, tree: Path) -> None:
    assert call(tree, "folio_copy", "--until", STEPS[1])[0] == 0
    log = git(tree, "log", "--reverse", "--format=%s", "main..mmbatch/folio_copy").splitlines()
    assert len(log) == 2
    assert "folio_copy_kunit" not in git(tree, "show", "mmbatch/folio_copy:mm/Makefile")
