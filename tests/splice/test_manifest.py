# SPDX-License-Identifier: GPL-2.0-only
from pathlib import Path

import pytest

from expect import fails
from fake_speedup import GOOD, make_speedup
from mmbatch.core import paths as checkout
from mmbatch.core.errors import ExitCode
from mmbatch.core.load import Interval
from mmbatch.splice import manifest


def test_a_manifest_is_read(tmp_path: Path) -> None:
    loaded = manifest.load(make_speedup(tmp_path))
    assert (loaded.speedup, loaded.title, loaded.needs) == ("toy", "toys in rows", ("shelf",))
    assert loaded.kernels == Interval(">=6.12,<7.4")
    (step,) = loaded.steps
    about = (step.name, step.subject, step.body)
    assert about == ("rows", "toys: put them in rows", "They lay about.")
    files = {file.target: str(file.kernels) for file in step.files}
    assert files == {"mm/rows.c": "", "mm/rows.h": "<7.0"}
    assert step.rules[0].matches == {"call": 2}
    assert (step.edits[0].op, step.edits[0].anchor, step.edits[0].matches) == ("after", "toys", 1)
    assert step.edits[0].when == manifest.Look("mm/toys.c", "toy", "red|blue")
    assert loaded.hosted is not None
    assert loaded.hosted.objects == ("mm/toys.o",)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("  cocci =", '  cooci = ""\n  cocci =', "step 1: rule 1: unknown key 'cooci'"),
        ("'^\\+rows'", "'rows)'", "rule 1: marks: call: unbalanced parenthesis"),
        ("{ call = 2 }", "{ loop = 2 }", "rows.cocci: matches and marks name different hooks"),
        ('"rows.cocci"', '"lost.cocci"', "splice/lost.cocci, which is not there"),
        ('"mm/rows.c"', '"mm/lost.c"', "tree/mm/lost.c, which is not there"),
        ("needs =", 'core = "gone"\nneeds =', "there is no step 'gone'"),
    ],
)
def test_a_wrong_manifest_says_where(tmp_path: Path, old: str, new: str, found: str) -> None:
    assert old in GOOD
    speedup_dir = make_speedup(tmp_path, GOOD.replace(old, new))
    with fails(f"read {speedup_dir}/speedup.toml", found, code=ExitCode.USAGE):
        manifest.load(speedup_dir)


STEP = """
[[step]]
name = "a"
subject = ""
body = ""
"""


def needing(speedups: Path, name: str, *needs: str) -> None:
    listed = ", ".join(f'"{need}"' for need in needs)
    make_speedup(speedups, f'title = ""\nneeds = [{listed}]\n{STEP}', name)


def test_what_is_needed_comes_first_and_once(tmp_path: Path) -> None:
    needing(tmp_path, "a", "d", "c")
    needing(tmp_path, "b", "c")
    needing(tmp_path, "c", "d")
    needing(tmp_path, "d")
    found = manifest.load_with_needs(tmp_path, "a", "b")
    assert [each.speedup for each in found] == ["d", "c", "a", "b"]


def test_every_manifest_of_this_checkout_is_right() -> None:
    names = manifest.known(checkout.SPEEDUPS)
    assert "zone_device" in names
    for loaded in manifest.load_with_needs(checkout.SPEEDUPS, *names):
        assert ("6.12" if loaded.hosted else "7.2") in loaded.kernels
        for step in loaded.steps:
            assert len(step.subject) <= 75, step.subject
            assert step.body


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        (">=6.12,<7.0", ["6.12", "6.19"], ["6.11", "7.0"]),
        ("<7.3", ["6.12", "7.2"], ["7.3"]),
        (">=7.2", ["7.2", "7.10", "8.0"], ["7.1", "6.19"]),
    ],
)
def test_intervals(text: str, inside: list[str], outside: list[str]) -> None:
    interval = Interval(text)
    assert str(interval) == text
    assert all(series in interval for series in inside)
    assert not any(series in interval for series in outside)


HARNESS = (
    'title = "toys"\nkernels = ">=7.2"\n[hosted]\nobjects = ["mm/toys.o"]\nentries = ["toy"]\n'
)


def test_a_harness_is_measured_but_not_applied(tmp_path: Path) -> None:
    make_speedup(tmp_path)
    (tmp_path / "boxes").mkdir()
    file = tmp_path / "boxes/speedup.toml"
    file.write_text(HARNESS)
    loaded = manifest.load(tmp_path / "boxes")
    assert (loaded.speedup, loaded.title, loaded.is_harness) == ("boxes", "toys", True)
    assert loaded.hosted is not None and loaded.hosted.entries == ("toy",)
    assert loaded.file == file
    assert not manifest.load(tmp_path / "toy").is_harness
    assert manifest.known(tmp_path) == ["toy"]
    assert manifest.measured(tmp_path) == ["boxes", "toy"]
