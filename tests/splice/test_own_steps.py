# SPDX-License-Identifier: GPL-2.0-only
"""The code after each step of a speed-up of ours, as `bench --each` measures it."""

import shutil
from pathlib import Path

import pytest

from expect import fails
from fake_archive import source_of
from fake_tree import STEPS, fingerprint, lacks_for_apply, make_tree
from mmbatch.core import paths as checkout
from mmbatch.core.errors import ExitCode
from mmbatch.kernel.sources import Source
from mmbatch.splice import posted
from mmbatch.splice.apply import apply_steps
from mmbatch.splice.manifest import CORE, cut, load_with_needs

pytestmark = pytest.mark.skipif(bool(lacks_for_apply()), reason="lacks git or spatch")

MANIFESTS = load_with_needs(checkout.SPEEDUPS, "zone_device")
OWN = [step for step in MANIFESTS[-1].steps if "7.3" in step.kernels]


@pytest.fixture
def source(tmp_path: Path, own_cache: Path) -> Source:
    return source_of(make_tree(tmp_path / "my linux"))


def read(tree: Path, name: str) -> bytes | None:
    path = tree / name
    return path.read_bytes() if path.exists() else None


def test_each_has_what_apply_makes_up_to_there(tmp_path: Path, source: Source) -> None:
    before = fingerprint(source.path)
    found = posted.from_steps(source, MANIFESTS)
    assert fingerprint(source.path) == before
    assert [each.label for each in found] == [f"{n} {s.name}" for n, s in enumerate(OWN, 1)]
    assert [each.patches for each in found] == [
        tuple(step.subject for step in OWN[:number]) for number in range(1, len(OWN) + 1)
    ]
    assert all(each.step for each in found)
    assert len({each.sha256 for each in found}) == len(OWN)

    copy = tmp_path / "copy"
    shutil.copytree(source.path, copy)
    number, written = 0, set[str]()
    for step in apply_steps(copy, "7.3", MANIFESTS):
        written |= set(step.contents)
        if step.speedup == "zone_device":
            contents = found[number].contents
            assert contents == {name: read(copy, name) for name in written}
            number += 1
    assert number == len(OWN) < len(STEPS)  # those of streaming_copy are in the first row


def test_until(source: Source) -> None:
    core = [step.name for step in cut(MANIFESTS, CORE)[-1].steps if "7.3" in step.kernels]
    assert core == [step.name for step in OWN[: len(core)]]
    for last, names in ((CORE, core), (OWN[1].name, core[:2])):
        found = posted.from_steps(source, MANIFESTS, last)
        assert [each.label for each in found] == [f"{n} {s}" for n, s in enumerate(names, 1)]
    with fails("no step of this name", code=ExitCode.USAGE):
        posted.from_steps(source, MANIFESTS, "cor")
