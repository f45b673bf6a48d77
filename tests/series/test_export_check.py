# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch export --check` finds what is wrong with a series."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import real_kernel
from fake_archive import source_of
from fake_tree import lacks_for_apply, make_tree
from mmbatch.core import paths as checkout
from mmbatch.core.process import cpus
from mmbatch.kernel.sources import Source
from mmbatch.series import export, verify
from mmbatch.series.export import Series
from mmbatch.series.verify import Objection
from mmbatch.splice.apply import Applied
from mmbatch.splice.manifest import load, load_with_needs

needs_spatch = pytest.mark.skipif(bool(lacks_for_apply()), reason="lacks git or spatch")
needs_builder = pytest.mark.skipif(
    any(shutil.which(name) is None for name in ("gcc", "make", "flex", "bison", "bc", "sparse")),
    reason="lacks a program to build a kernel with, or sparse",
)


@pytest.fixture
def mails(tmp_path: Path, git_user: Path) -> tuple[Series, list[Path]]:
    assert git_user.exists()
    manifests = load_with_needs(checkout.SPEEDUPS, "streaming_copy")
    source = source_of(make_tree(tmp_path / "toys"))
    series = export.plan_series(source, manifests)
    (tmp_path / "mails").mkdir()
    nothing = [""] * len(series.steps)
    user = "Some User <user@example.org>"
    return series, export.write(series, tmp_path / "mails", nothing, user)


@needs_spatch
def test_what_git_am_makes_of_mails_is_compared(mails: tuple[Series, list[Path]]) -> None:
    series, paths = mails
    assert verify.applies(series, paths) == []
    assert verify.applies(series, paths[:-1])
    assert verify.applies(series, [paths[0], *paths[2:]])
    text = paths[1].read_text()
    assert "+#define _ASM_X86_MOVNTI_H" in text
    paths[1].write_text(text.replace("+#define _ASM_X86_MOVNTI_H", "+#define _ASM_X86_OTHER_H"))
    (found,) = verify.applies(series, paths)
    assert found == "arch/x86/include/asm/movnti.h is not what apply makes of it"


def test_errors_can_not_be_explained_away() -> None:
    reported = [
        Objection("ERROR", "A", "a"),
        Objection("CHECK", "B", "b"),
        Objection("CHECK", "C", ""),
    ]
    assert verify.unexplained(reported, ["A", "B"]) == [reported[0], reported[2]]
    assert verify.explained([*reported, reported[1]], {"B": "it is so"}) == ["2 x B: it is so."]


@pytest.fixture
def source() -> Source:
    return real_kernel.newest()


def test_checkpatch_leaves_the_tree_alone(tmp_path: Path) -> None:
    script = tmp_path / "tree/scripts/checkpatch.pl"
    script.parent.mkdir(parents=True)
    script.write_text('open(my $names, ">", ".checkpatch-camelcase") or die;\n')
    assert verify.checkpatch(tmp_path / "tree", [tmp_path / "x.patch"], signed_off=True) == [[]]
    assert list((tmp_path / "tree").iterdir()) == [script.parent]


@pytest.mark.kernel
@needs_spatch
def test_checkpatch_sees_what_is_wrong(
    source: Source, mails: tuple[Series, list[Path]], tmp_path: Path
) -> None:
    patch = mails[1][1]
    ((*good,),) = verify.checkpatch(source.path, [patch], signed_off=False)
    assert {objection.level for objection in good} <= {"WARNING", "CHECK"}
    text = patch.read_text()
    bad = tmp_path / "bad.patch"
    bad.write_text(text.replace("+#define _ASM_X86_MOVNTI_H\n", "+#define _ASM_X86_MOVNTI_H \n"))
    ((*reported,),) = verify.checkpatch(source.path, [bad], signed_off=True)
    assert {"TRAILING_WHITESPACE", "MISSING_SIGN_OFF"} <= {
        objection.type for objection in reported if objection.level == "ERROR"
    }


def _step(number: int, contents: dict[str, bytes]) -> Applied:
    return Applied("toys", "toy", "toys", "", f"diff {number}", contents)


@pytest.mark.kernel
@needs_builder
def test_each_patch_is_built_by_itself(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file before its header, then both, then what only W=1 sees, and only sparse."""
    monkeypatch.setenv("MMBATCH_CACHE", str(tmp_path / "cache"))
    head = b"#include <linux/toys.h>\nint toys_paint(int a);\n"
    user = head + b"int toys_paint(int a)\n{\n\treturn TOY;\n}\n"
    unused = user.replace(b"\treturn", b"\tint idle;\n\n\tidle = a;\n\treturn")
    look = b"int toys_look(int __user *a)"
    sparse = user + look + b";\n" + look + b"\n{\n\treturn *a;\n}\n"
    series = Series(
        {},
        [
            _step(1, {"lib/toys.c": user}),
            _step(2, {"include/linux/toys.h": b"#define TOY 3\n"}),
            _step(3, {"lib/toys.c": unused}),
            _step(4, {"lib/toys.c": sparse}),
            _step(5, {"lib/toys.c": user}),
        ],
    )
    found = [problems for _, problems in verify.built(series, source, [], cpus())]
    assert "linux/toys.h" in found[0][0]
    assert found[1] == found[4] == []
    assert any("unused-but-set" in line for line in found[2])
    assert any("address spaces" in line or "noderef" in line for line in found[3])
    assert not (source.path / "lib/toys.c").exists()


def test_checks_run_from_the_patch_on_that_brings_all_they_need(tmp_path: Path) -> None:
    manifest = load(checkout.SPEEDUPS / "vmap")
    assert manifest.hosted is not None
    (tmp_path / "mm").mkdir()
    sources = ("vmalloc.c", "vmap_sgt.c", "vmap_method.c")
    for name in ("vmap_internal.h", "vmap_reuse.h", "method.h", *sources):
        assert not verify.is_checkable(tmp_path, manifest, "7.3")
        (tmp_path / "mm" / name).write_text(" ".join(manifest.hosted.extras))
    assert verify.is_checkable(tmp_path, manifest, "7.3")
    (tmp_path / "mm/vmap_sgt.c").unlink()
    assert not verify.is_checkable(tmp_path, manifest, "7.3")
