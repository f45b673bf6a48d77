# SPDX-License-Identifier: GPL-2.0-only
"""Somebody else's patches: read from what people have, and applied to a copy or not at all."""

import base64
import contextlib
import gzip
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from fake_tree import git, make_tree
from mmbatch.core.cache import Cache
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel.sources import Source
from mmbatch.splice import mails, posted
from mmbatch.splice.posted import Posted
from posted_series import diff, mail

TOYS = "".join(f"toy {number}\n" for number in range(40))
PARTS = ("arch/x86", "include", "kernel", "lib", "mm")


@pytest.fixture
def source(tmp_path: Path) -> Source:
    tree = tmp_path / "my linux"
    for part in PARTS:
        (tree / part).mkdir(parents=True)
        (tree / part / "other.h").write_text("other\n")
    (tree / "mm" / "toys.c").write_text(TOYS)
    return Source("7.3", "7.3.4", tree, "toys", "toys", "1")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def edit(source: Source, old: str, new: str, content: str = TOYS) -> str:
    """Return a patch of mm/toys.c on top of a content."""
    changed = content.replace(old, new)
    return diff(source.path, {"mm/toys.c": changed}, {"mm/toys.c": content})


def series(source: Source) -> list[str]:
    """Return three patches, each on top of the one before."""
    first = TOYS.replace("toy 3\n", "car 3\n")
    second = first.replace("toy 4\n", "car 4\n")
    return [
        edit(source, "toy 3\n", "car 3\n"),
        edit(source, "toy 4\n", "car 4\n", first),
        edit(source, "toy 30\n", "car 30\n", second),
    ]


def applied(cache: Cache, source: Source, *paths: Path, each: bool = False) -> list[Posted]:
    return posted.from_files(cache, source, "mine", list(paths), each=each)


def cars(series: Posted) -> list[str]:
    content = series.contents["mm/toys.c"]
    assert content is not None
    return [line for line in content.decode().splitlines() if line.startswith("car")]


def test_a_patch_is_applied_to_a_copy(cache: Cache, source: Source, tmp_path: Path) -> None:
    file = tmp_path / "a.patch"
    file.write_text(edit(source, "toy 7\n", "car 7\n"))
    (series,) = applied(cache, source, file)
    assert (series.label, series.source, series.patches) == ("mine", str(file), ("",))
    assert series.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert cars(series) == ["car 7"]
    tree = posted.make_tree(cache, source, series, print)
    assert (tree.path / "mm/toys.c").read_bytes() == series.contents["mm/toys.c"]
    assert (tree.path / "mm/other.h").samefile(source.path / "mm/other.h")
    assert (source.path / "mm/toys.c").read_text() == TOYS


def test_files_that_are_added_removed_and_renamed(
    cache: Cache, source: Source, tmp_path: Path
) -> None:
    text = diff(source.path, {"mm/new.c": "new\n", "mm/Makefile": "obj-y += new.o\n"})
    text += "diff --git a/lib/other.h b/lib/other.h\ndeleted file mode 100644\n"
    text += "--- a/lib/other.h\n+++ /dev/null\n@@ -1 +0,0 @@\n-other\n"
    text += "diff --git a/mm/toys.c b/mm/cars.c\nsimilarity index 100%\n"
    text += "rename from mm/toys.c\nrename to mm/cars.c\n"
    (tmp_path / "a.patch").write_text(text)
    (series,) = applied(cache, source, tmp_path / "a.patch")
    assert series.contents == {
        "mm/new.c": b"new\n",
        "mm/Makefile": b"obj-y += new.o\n",
        "lib/other.h": None,
        "mm/toys.c": None,
        "mm/cars.c": TOYS.encode(),
    }
    tree = posted.make_tree(cache, source, series, print).path
    assert not (tree / "mm/toys.c").exists()
    assert (source.path / "mm/toys.c").exists()


def test_an_mbox_in_any_order_with_its_cover_letter_and_replies(
    cache: Cache, source: Source, tmp_path: Path
) -> None:
    first, second, third = (
        mail(f"[PATCH v2 {number}/3] toys: step {number}", patch)
        for number, patch in enumerate(series(source), 1)
    )
    cover = mail("[PATCH v2 0/3] toys: faster", "")
    reply = mail("Re: [PATCH v2 2/3] toys: step 2", edit(source, "toy 9\n", "bus 9\n"))
    (tmp_path / "t.mbox").write_text(cover + third + reply + first + second)
    (whole,) = applied(cache, source, tmp_path / "t.mbox")
    assert [subject[-6:] for subject in whole.patches] == ["step 1", "step 2", "step 3"]
    assert cars(whole) == ["car 3", "car 4", "car 30"]
    (tmp_path / "t.mbox.gz").write_bytes(gzip.compress((tmp_path / "t.mbox").read_bytes()))
    assert applied(cache, source, tmp_path / "t.mbox.gz")[0].contents == whole.contents


def test_a_directory_of_patches_and_a_maildir(cache: Cache, source: Source, tmp_path: Path) -> None:
    for directory in (tmp_path / "series", tmp_path / "maildir" / "cur"):
        directory.mkdir(parents=True)
        for number, patch in enumerate(series(source), 1):
            (directory / f"000{number}-toys.patch").write_text(mail(f"toys {number}", patch))
    (tmp_path / "series" / ".hidden").write_text("nothing")
    (plain,) = applied(cache, source, tmp_path / "series")
    (maildir,) = applied(cache, source, tmp_path / "maildir")
    assert plain.contents == maildir.contents
    assert cars(plain) == ["car 3", "car 4", "car 30"]


def test_mails_as_they_travel(cache: Cache, source: Source, tmp_path: Path) -> None:
    patch = edit(source, "toy 7\n", "car 7\n")
    head = "From: A <a@example.org>\nSubject: =?utf-8?q?=5BPATCH=5D_toys=3A_caf=C3=A9?=\n"
    head += "MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n"
    encoded = base64.encodebytes(patch.encode()).decode()
    (tmp_path / "b64.eml").write_text(
        f"{head}Content-Transfer-Encoding: base64\n\n{encoded}".replace("\n", "\r\n")
    )
    (tmp_path / "crlf.eml").write_text(f"{head}\n{patch}".replace("\n", "\r\n"), newline="")
    for name in ("b64.eml", "crlf.eml"):
        (series,) = applied(cache, source, tmp_path / name)
        assert series.patches == ("[PATCH] toys: café",)
        assert cars(series) == ["car 7"]
    patch = edit(source, "toy 7\n", "car à 7\n")
    head = head.replace("charset=utf-8", "charset=iso-8859-1")
    (tmp_path / "latin.eml").write_bytes(f"{head}\n{patch}".encode("iso-8859-1"))
    (series,) = applied(cache, source, tmp_path / "latin.eml")
    assert cars(series) == ["car à 7"]


@pytest.mark.parametrize("charset", ["undefined", "unknown-8bit", "utf\\x008"])
def test_a_charset_that_nobody_has_is_ignored(
    cache: Cache, source: Source, tmp_path: Path, charset: str
) -> None:
    head = f"Subject: [PATCH] toys: more\nContent-Type: text/plain; charset={charset}\n"
    patch = edit(source, "toy 7\n", "car à 7\n")
    (tmp_path / "odd.eml").write_text(f"From: A <a@example.org>\n{head}\n{patch}")
    (series,) = applied(cache, source, tmp_path / "odd.eml")
    assert cars(series) == ["car à 7"]


def test_a_damaged_archive_is_refused(cache: Cache, source: Source, tmp_path: Path) -> None:
    whole = gzip.compress(mail("[PATCH] toys: more", edit(source, "toy 7\n", "car 7\n")).encode())
    place = tmp_path / "t.mbox.gz"
    for bit in range(8 * 2, 8 * len(whole), 5):
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        place.write_bytes(content)
        with contextlib.suppress(MmbatchError):  # some bits don't matter
            mails.read(place, tmp_path)


def test_a_device_is_not_read(tmp_path: Path) -> None:
    place = tmp_path / "series"
    place.symlink_to("/dev/null")  # and not /dev/zero, which would be read for ever
    with pytest.raises(MmbatchError, match="it is not a regular file") as caught:
        mails.read(place, tmp_path)
    assert caught.value.code == ExitCode.USAGE


def test_each_patch_of_a_series(cache: Cache, source: Source, tmp_path: Path) -> None:
    for number, patch in enumerate(series(source), 1):
        (tmp_path / f"{number}.patch").write_text(patch)
    found = applied(cache, source, *(tmp_path / f"{n}.patch" for n in (1, 2, 3)), each=True)
    assert [part.label for part in found] == ["mine 1/3", "mine 2/3", "mine 3/3"]
    assert [len(cars(part)) for part in found] == [1, 2, 3]
    assert [len(part.patches) for part in found] == [1, 2, 3]
    assert [part.step for part in found] == [True, True, True]


def test_a_conflict_names_patch_file_and_hunk(cache: Cache, source: Source, tmp_path: Path) -> None:
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
        applied(cache, source, tmp_path / "t.mbox")
    assert caught.value.code == ExitCode.SPLICE
    assert "'[PATCH 2/2] toys: for another kernel' (patch 2 of 2 of mine)" in caught.value.action
    assert "hunk 2 of 2 in mm/toys.c does not fit Linux 7.3.4: @@ -28,7" in caught.value.problem
    assert (source.path / "mm/toys.c").read_text() == TOYS
    assert list(cache.splices.iterdir()) == []


def test_a_patch_that_the_kernel_has(cache: Cache, source: Source, tmp_path: Path) -> None:
    before = TOYS.replace("toy 3\n", "bus 3\n")
    (tmp_path / "a.patch").write_text(edit(source, "bus 3\n", "toy 3\n", before))
    with pytest.raises(MmbatchError) as caught:
        applied(cache, source, tmp_path / "a.patch")
    assert (caught.value.problem, caught.value.code) == (
        "Linux 7.3.4 has it already",
        ExitCode.SPLICE,
    )


@pytest.mark.parametrize(
    ("patch", "found"),
    [
        ("--- a/mm/no.c\n+++ b/mm/no.c\n@@ -1 +1 @@\n-a\n+b\n", "mm/no.c: No such file"),
        ("--- a/../x.c\n+++ b/../x.c\n@@ -0,0 +1 @@\n+b\n", "invalid path"),
        ("diff --git a/mm/toys.c b/mm/toys.c\nrubbish\n", "No valid patches in input"),
    ],
)
def test_what_git_refuses(
    cache: Cache, source: Source, tmp_path: Path, patch: str, found: str
) -> None:
    (tmp_path / "a.patch").write_text(patch)
    with pytest.raises(MmbatchError) as caught:
        applied(cache, source, tmp_path / "a.patch")
    assert found in caught.value.problem
    assert caught.value.code == ExitCode.SPLICE
    assert not (tmp_path / "x.c").exists()


@pytest.mark.parametrize("content", [b"", b"no patch\n", b"\x1f\x8bbroken", b"\xff\xfe\x00"])
def test_a_file_without_a_patch(
    cache: Cache, source: Source, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "a.patch").write_bytes(content)
    for path in (tmp_path / "a.patch", tmp_path / "no-such"):
        with pytest.raises(MmbatchError) as caught:
            applied(cache, source, path)
        assert caught.value.code == ExitCode.USAGE
        assert str(path) in caught.value.action


def test_two_versions_in_one_mbox(cache: Cache, source: Source, tmp_path: Path) -> None:
    patch = edit(source, "toy 3\n", "car 3\n")
    (tmp_path / "t.mbox").write_text(
        mail("[PATCH v1 1/2] toys", patch) + mail("[PATCH v2 1/2] toys", patch)
    )
    with pytest.raises(MmbatchError, match="two of its mails are patch 1"):
        applied(cache, source, tmp_path / "t.mbox")


def test_the_cache_may_lie_in_a_repository(source: Source, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")  # in which git leaves out what lies above the directory
    (tmp_path / "a.patch").write_text(edit(source, "toy 7\n", "car 7\n"))
    (series,) = applied(Cache(tmp_path / "cache"), source, tmp_path / "a.patch")
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


def test_a_range_in_a_tree_of_another_user(
    source: Source, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(MmbatchError) as caught:
        posted.from_range(replace(source, path=tree), "mine", tree, "HEAD~1..HEAD", each=False)
    assert "dubious ownership" in caught.value.problem
    assert "git config --global --add safe.directory" in caught.value.hint
