# SPDX-License-Identifier: GPL-2.0-only
from collections.abc import Callable
from pathlib import Path

import pytest

from fake_tree import NEEDS_APPLY, STEPS, fingerprint, left_over, make_tree
from mmbatch.core import paths as checkout
from mmbatch.splice.manifest import load_with_needs
from mmbatch.splice.steps import apply_steps

pytestmark = NEEDS_APPLY

Call = Callable[..., tuple[int, str, str]]


def test_a_tree_without_git_becomes_a_copy(call: Call, tmp_path: Path) -> None:
    plain, output = make_tree(tmp_path / "plain tree"), tmp_path / "new place" / "out"
    (plain / "link").symlink_to("Makefile")
    before = fingerprint(plain)
    code, _, err = call(plain, "zone_device")
    assert (code, "-o DIR" in err) == (2, True)
    assert call(plain, "zone_device", "-n")[0] == 0
    code, out, _ = call(plain, "zone_device", "-o", output)
    assert (code, fingerprint(plain)) == (0, before)
    assert out.endswith(f"{output} is linux 7.3.4 with {len(STEPS)} steps on top.\n")
    spliced = make_tree(tmp_path / "spliced")
    manifests = load_with_needs(checkout.SPEEDUPS, "zone_device")
    list(apply_steps(spliced, "7.3", manifests, checkout.MACROS))
    for path in spliced.rglob("*"):
        if path.is_file():
            copied = output / path.relative_to(spliced)
            assert copied.read_bytes() == path.read_bytes()
            assert copied.stat().st_mode == path.stat().st_mode
    assert (output / "link").is_symlink()
    code, out, _ = call(output, "zone_device")
    assert (code, out) == (2, "")
    code, out, _ = call(output, "zone_device", "-o", tmp_path / "again")
    assert (code, out) == (0, f"Already applied: {output} has streaming_copy, zone_device.\n")
    assert not (tmp_path / "again").exists()
    assert left_over(tmp_path) == []


def test_a_link_out_of_the_copy_is_not_written_through(call: Call, tmp_path: Path) -> None:
    plain, outside = make_tree(tmp_path / "plain"), tmp_path / "outside"
    (plain / "mm/Makefile").rename(outside)
    (plain / "mm/Makefile").symlink_to(outside)
    content = outside.read_bytes()
    assert call(plain, "zone_device", "-o", tmp_path / "out")[0] == 0
    assert outside.read_bytes() == content
    assert (tmp_path / "out/mm/Makefile").read_bytes() != content


@pytest.mark.parametrize("place", ["full", "file", "inside"])
def test_a_copy_replaces_nothing(call: Call, tmp_path: Path, place: str) -> None:
    plain = make_tree(tmp_path / "plain")
    output = {"full": tmp_path / "full", "file": tmp_path / "file", "inside": plain / "out"}[place]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    (tmp_path / "file").touch()
    before = fingerprint(tmp_path)
    code, _, err = call(plain, "-o", output)
    assert (code, "hint: name another directory with -o DIR" in err) == (2, True)
    assert {
        name: seen for name, seen in fingerprint(tmp_path).items() if not name.startswith("cache/")
    } == before
