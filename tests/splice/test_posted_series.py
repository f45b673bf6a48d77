# SPDX-License-Identifier: GPL-2.0-only
"""Posted patches: read from what people have, and applied to a copy or not at all."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from fake_archive import source_of
from fake_tree import git, make_tree
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel.sources import Source
from mmbatch.splice import posted
from mmbatch.splice.posted import Posted
from posted_series import diff, mail

TOYS = "".join(f"toy {number}\n" for number in range(40))
PARTS = ("arch/x86", "include", "kernel", "lib", "mm")


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    monkeypatch.setenv("MMBATCH_CACHE", str(tmp_path / "cache"))
    tree = tmp_path / "my linux"
    for part in PARTS:
        (tree / part).mkdir(parents=True)
        (tree / part / "other.h").write_text("other\n")
    (tree / "mm" / "toys.c").write_text(TOYS)
    return source_of(tree)


def edit(source: Source, old: str, new: str, content: str = TOYS) -> str:
    """Return a patch of mm/toys.c on top of a content."""
    changed = content.replace(old, new)
    return diff(source.path, {"mm/toys.c": changed}, {"mm/toys.c": content})


def applied(source: Source, *paths: Path, each: bool = False) -> list[Posted]:
    return posted.from_files(source, "mine", list(paths), each=each)


def cars(series: Posted) -> list[str]:
    content = series.contents["mm/toys.c"]
    assert content is not None
    return [line for line in content.decode().splitlines() if line.startswith("car")]


def test_a_patch_is_applied_to_a_copy(source: Source, tmp_path: Path) -> None:
    file = tmp_path / "a.patch"
    file.write_text(edit(source, "toy 7\n", "car 7\n"))
    (series,) = applied(source, file)
    assert (series.label, series.source, series.patches) == ("mine", str(file), ("",))
    assert series.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert cars(series) == ["car 7"]
    tree = posted.make_tree(source, series)
    assert (tree.path / "mm/toys.c").read_bytes() == series.contents["mm/toys.c"]
    assert (tree.path / "mm/other.h").samefile(source.path / "mm/other.h")
    assert (source.path / "mm/toys.c").read_text() == TOYS


def test_files_that_are_added_removed_and_renamed(source: Source, tmp_path: Path) -> None:
    text = diff(source.path, {"mm/new.c": "new\n", "mm/Makefile": "obj-y += new.o\n"})
    text += "diff --git a/lib/other.h b/lib/other.h\ndeleted file mode 100644\n"
    text += "--- a/lib/other.h\n+++ /dev/null\n@@ -1 +0,0 @@\n-other\n"
    text += "diff --git a/mm/toys.c b/mm/cars.c\nsimilarity index 100%\n"
    text += "rename from mm/toys.c\nrename to mm/cars.c\n"
    (tmp_path / "a.patch").write_text(text)
    (series,) = applied(source, tmp_path / "a.patch")
    assert series.contents == {
        "mm/new.c": b"new\n",
        "mm/Makefile": b"obj-y += new.o\n",
        "lib/other.h": None,
        "mm/toys.c": None,
        "mm/cars.c": TOYS.encode(),
    }
    tree = posted.make_tree(source, series).path
    assert not (tree / "mm/toys.c").exists()
    assert (source.path / "mm/toys.c").exists()


def test_a_conflict_names_patch_file_and_hunk(source: Source, tmp_path: Path) -> None:
    other = TOYS.replace("toy 30\n", "bus 30\n")
    patch = diff(
        source.path,
        {"mm/toys.c": other.replace("toy 3\n", "car 3\n").replace("bus 30\n", "car 30\n")},
        {"mm/toys.c": other},
    )
    (tmp_path / "t.mbox").write_text(
        mail("[PATCH 1/2] toys: good", edit(source, "toy 10\n", "car 10\n"))
        + mail("[PATCH 2/2] toys: for another kernel", patch)
    )
    with pytest.raises(MmbatchError) as caught:
        applied(source, tmp_path / "t.mbox")
    assert caught.value.code == ExitCode.SPLICE
    assert "'[PATCH 2/2] toys: for another kernel' (patch 2 of 2 of mine)" in caught.value.action
    assert caught.value.problem == "mm/toys.c:28 does not fit Linux 7.3.4"
    assert (source.path / "mm/toys.c").read_text() == TOYS
    assert list((tmp_path / "cache/splices").glob("*")) == []


def test_a_patch_that_the_kernel_has(source: Source, tmp_path: Path) -> None:
    before = TOYS.replace("toy 3\n", "bus 3\n")
    (tmp_path / "a.patch").write_text(edit(source, "bus 3\n", "toy 3\n", before))
    with pytest.raises(MmbatchError) as caught:
        applied(source, tmp_path / "a.patch")
    assert (caught.value.problem, caught.value.code) == (
        "Linux 7.3.4 has it already",
        ExitCode.SPLICE,
    )


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("+car", " car", "the mail was damaged on its way: corrupt patch at"),
        ("\ttoy", " toy", "the mail was damaged on its way: its tabs or spaces are others"),
        (" toy", "\u00a0toy", "the mail was damaged on its way"),
        ("a/mm/toys.c", "a/mm/no.c", "mm/no.c: No such file"),
        ("mm/toys.c", "mm/../../x.c", "No such file"),
    ],
)
def test_why_a_patch_is_refused(
    source: Source, tmp_path: Path, old: str, new: str, found: str
) -> None:
    tabs = TOYS.replace("toy 10\n", "\ttoy 10\n")
    (source.path / "mm/toys.c").write_text(tabs)
    text = edit(source, "toy 7\n", "car 7\n", tabs).replace(old, new)
    text = text if "mm/no.c" not in text else text.replace("b/mm/toys.c", "b/mm/no.c")
    (tmp_path / "a.patch").write_text(text)
    with pytest.raises(MmbatchError) as caught:
        applied(source, tmp_path / "a.patch")
    assert found in caught.value.problem
    assert caught.value.code == ExitCode.SPLICE
    assert not (tmp_path / "x.c").exists()


def test_what_only_patch_takes_is_applied_and_the_fuzz_named(
    source: Source, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (source.path / "mm/toys.c").write_text(TOYS.replace("toy 10\n", "bus 10\n"))
    (tmp_path / "a.patch").write_text(edit(source, "toy 7\n", "car 7\n"))
    (series,) = applied(source, tmp_path / "a.patch")
    assert cars(series) == ["car 7"]
    assert series.source.endswith("a.patch (patch 1: applied by patch(1) only, with fuzz 1)")


def test_the_cache_may_lie_in_a_repository(source: Source, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")  # in which git leaves out what lies above the directory
    (tmp_path / "a.patch").write_text(edit(source, "toy 7\n", "car 7\n"))
    (series,) = applied(source, tmp_path / "a.patch")
    assert cars(series) == ["car 7"]


def test_another_tree_of_the_same_release(source: Source, tmp_path: Path) -> None:
    for tree, release in (("other", "7.3.4"), ("newer", "7.3.5")):
        make_tree(tmp_path / tree, release)
    base_tree = make_tree(tmp_path / "base")
    base = replace(source, path=base_tree)
    other = tmp_path / "other"
    assert posted.from_tree(base, "mine", other).contents == {}
    (other / "mm/new.c").write_text("new\n")
    (other / "mm/new.o").write_text("an object\n")
    (other / "include/generated").mkdir(parents=True)
    (other / "include/generated/toys.h").write_text("made by a build\n")
    (other / "mm/mm_init.c").write_text("changed\n")
    (other / "mm/Makefile").unlink()
    series = posted.from_tree(base, "mine", other)
    expected = {"mm/new.c": b"new\n", "mm/mm_init.c": b"changed\n", "mm/Makefile": None}
    assert series.contents == expected
    (other / "mm/new.c").write_text("newer\n")
    assert posted.from_tree(base, "mine", other).sha256 != series.sha256
    with pytest.raises(MmbatchError, match=r"it is Linux 7\.3\.5, and that is 7\.3\.4"):
        posted.from_tree(base, "mine", tmp_path / "newer")


def test_a_range_of_commits(source: Source, tree: Path) -> None:
    base = replace(source, path=tree)
    git(tree, "tag", "first")
    for number in (1, 2):
        (tree / "lib" / "toys.c").write_text(f"step {number}\n")
        git(tree, "commit", "-q", "-a", "-m", f"toys: step {number}")
    git(tree, "tag", "last")
    with pytest.raises(MmbatchError) as caught:
        posted.from_range(base, "mine", tree, "first..last", each=False)
    assert caught.value.code == ExitCode.SPLICE
    assert "lib/toys.c" in caught.value.problem
    assert "worktree add --detach DIR" in caught.value.hint
    git(tree, "-c", "core.autocrlf=false", "checkout", "-q", "first")
    (series,) = posted.from_range(base, "mine", tree, "first..last", each=False)
    assert series.contents == {"lib/toys.c": b"step 2\n"}
    assert ["step 1" in series.patches[0], "step 2" in series.patches[1]] == [True, True]
    steps = posted.from_range(base, "mine", tree, "first..last", each=True)
    assert [step.label for step in steps] == ["mine 1/2", "mine 2/2"]
    assert [step.contents["lib/toys.c"] for step in steps] == [b"step 1\n", b"step 2\n"]
    for text in ("last..first", "first..no-such"):
        with pytest.raises(MmbatchError) as caught:
            posted.from_range(base, "mine", tree, text, each=False)
        assert caught.value.code == ExitCode.USAGE
