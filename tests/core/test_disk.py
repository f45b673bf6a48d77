# SPDX-License-Identifier: GPL-2.0-only
"""Files and directories that are written whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

from mmbatch.core import disk
from mmbatch.core.disk import (
    atomic_dir,
    atomic_write,
    error_from_os,
    forget_oldest,
    is_whole,
    require_space,
    temporary_dir,
    write_mark,
)
from mmbatch.core.errors import MmbatchError
from mmbatch.core.paths import cache_variable, default_root


def test_atomic_dir_appears_whole(tmp_path: Path) -> None:
    final = tmp_path / "final"
    with atomic_dir(final) as place:
        (place / "a").write_text("a")
        assert not final.exists()
        assert place.parent == final.parent
    assert (final / "a").read_text() == "a"
    assert [entry.name for entry in tmp_path.iterdir()] == ["final"]


def test_atomic_dir_leaves_nothing_and_the_old_one_when_it_fails(tmp_path: Path) -> None:
    final = tmp_path / "final"
    with atomic_dir(final) as place:
        (place / "old").touch()
    with pytest.raises(KeyboardInterrupt), atomic_dir(final) as place:
        (place / "new").touch()
        raise KeyboardInterrupt
    assert [entry.name for entry in tmp_path.iterdir()] == ["final"]
    assert [entry.name for entry in final.iterdir()] == ["old"]


def test_atomic_dir_replaces(tmp_path: Path) -> None:
    final = tmp_path / "final"
    for name in ("old", "new"):
        with atomic_dir(final) as place:
            (place / name).touch()
    assert [entry.name for entry in final.iterdir()] == ["new"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["final"]


def test_atomic_dir_tells_of_a_full_disk(tmp_path: Path) -> None:
    with pytest.raises(MmbatchError, match="disk is full"), atomic_dir(tmp_path / "final"):
        raise OSError(errno.ENOSPC, "No space left on device", os.fspath(tmp_path))
    assert not list(tmp_path.iterdir())


def test_atomic_write_replaces_and_leaves_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    atomic_write(path, "one")
    atomic_write(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]


def test_atomic_write_that_fails_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    atomic_write(path, "old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fchmod", full)
    with pytest.raises(MmbatchError, match=r"disk is full, .* MB are free"):
        atomic_write(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_real_full_disk_is_told_with_its_name() -> None:
    with pytest.raises(OSError) as caught, Path("/dev/full").open("w") as file:
        file.write("x")
        file.flush()
    caught.value.filename = "/dev/full"
    error = error_from_os(caught.value, "write a log")
    assert error.action == "write a log"
    assert error.problem == "/dev/full: the disk is full"
    assert "choose another place" in error.hint


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES])
def test_read_only_places(code: int) -> None:
    error = error_from_os(OSError(code, os.strerror(code), "/x/y"), "write")
    assert error.problem in (
        "/x/y: the file system is read-only",
        "/x/y: permission is denied",
    )
    assert error.hint == "see its owner and permissions with ls -ld, or choose another place"
    within = error_from_os(
        OSError(code, os.strerror(code), default_root(os.environ) / "x"), "write"
    )
    assert cache_variable(os.environ) in within.hint


@pytest.mark.parametrize("variable", ["MMBATCH_CACHE", "XDG_CACHE_HOME"])
@pytest.mark.parametrize("full", [False, True])
def test_the_hint_names_the_variable_in_force(
    variable: str, full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MMBATCH_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv(variable, str(tmp_path))
    assert f"set {variable} to" in disk.cache_remedy(full=full)


def test_require_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "free_bytes", lambda path: 1_000_000_000)
    require_space(tmp_path / "not" / "yet", 1_000_000_000, "unpack")
    with pytest.raises(MmbatchError, match=r"2\.5 GB .* 1\.0 GB are free"):
        require_space(tmp_path, 2_500_000_000, "unpack")


def test_free_bytes_of_a_path_that_is_not_there_yet(tmp_path: Path) -> None:
    assert disk.free_bytes(tmp_path / "a" / "b") > 0


def test_temporary_dir_is_gone_afterwards(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="x"), temporary_dir(tmp_path, "name") as place:
        (place / "file").touch()
        raise ValueError("x")
    assert not list(tmp_path.iterdir())


def test_oldest_are_forgotten(tmp_path: Path) -> None:
    directories = [tmp_path / name for name in ("c", "a", "e", "b", "d")]
    for age, directory in enumerate(directories):
        directory.mkdir()
        os.utime(directory, (1000 - age, 1000 - age))
    forget_oldest(tmp_path.iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "c", "e"]
    forget_oldest([])


def finished(place: Path) -> Path:
    (place / "sub/__pycache__").mkdir(parents=True)
    for name in ("top", "sub/file", "sub/__pycache__/x.pyc", "other"):
        (place / name).write_text("content")
    (place / "link").symlink_to("nowhere")
    write_mark(place, ("top", "sub", "link", "not-there"))
    return place


@pytest.mark.parametrize("name", ["top", "sub/file", ".mmbatch-complete", "link"])
@pytest.mark.parametrize("how", ["truncate", "remove", "append"])
def test_a_damaged_directory_is_not_whole(tmp_path: Path, name: str, how: str) -> None:
    place = finished(tmp_path / "place")
    messages: list[str] = []
    assert is_whole(place, messages.append)
    path = place / name
    content = b"" if path.is_symlink() else path.read_bytes()
    path.unlink()
    if how == "truncate":
        path.write_bytes(content[: len(content) // 2])
    elif how == "append":
        path.write_bytes(content + b"more")
    assert not is_whole(place, messages.append)
    assert messages == [f"{place} is incomplete, since {name} is missing or damaged: replacing it"]


@pytest.mark.parametrize(
    "mark", ["", "[]", "0", "null", '{"top": null}', '{"top": "x"}', "\0", "[" * 99_999]
)
def test_a_mark_that_is_none(tmp_path: Path, mark: str) -> None:
    place = finished(tmp_path / "place")
    (place / ".mmbatch-complete").write_text(mark)
    assert not is_whole(place)


def test_what_does_not_matter_may_change(tmp_path: Path) -> None:
    place = finished(tmp_path / "place")
    for name in ("other", "sub/__pycache__/x.pyc"):
        (place / name).unlink()
    (place / "sub" / "new").touch()
    assert is_whole(place)
    messages: list[str] = []
    assert not is_whole(tmp_path / "not-there", messages.append)
    assert not messages
