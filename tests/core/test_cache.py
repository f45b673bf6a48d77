# SPDX-License-Identifier: GPL-2.0-only
"""The cache directory, its locks, and what is swept from it."""

import errno
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import mmbatch
from mmbatch.core import disk
from mmbatch.core.cache import Cache
from mmbatch.core.disk import (
    atomic_dir,
    forget_oldest,
    is_whole,
    temporary_dir,
)
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.paths import cache_variable, default_root


@pytest.mark.parametrize(
    ("env", "root"),
    [
        ({"HOME": "/h"}, "/h/.cache/mmbatch"),
        ({"HOME": "/h", "XDG_CACHE_HOME": "/c"}, "/c/mmbatch"),
        ({"HOME": "/h", "XDG_CACHE_HOME": "relative"}, "/h/.cache/mmbatch"),
        ({"HOME": "/h", "XDG_CACHE_HOME": "/c", "MMBATCH_CACHE": "/m"}, "/m"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/mmbatch"),
    ],
)
def test_where_the_cache_lies(env: dict[str, str], root: str) -> None:
    assert default_root(env) == Path(root)


@pytest.mark.parametrize(
    "env", [{}, {"HOME": ""}, {"HOME": "relative"}, {"XDG_CACHE_HOME": "relative"}]
)
def test_no_home(env: dict[str, str]) -> None:
    with pytest.raises(MmbatchError) as caught:
        default_root(env)
    assert "XDG_CACHE_HOME" in caught.value.hint
    assert caught.value.code == ExitCode.USAGE
    assert ("relative path ('relative')" in caught.value.problem) == ("XDG_CACHE_HOME" in env)


@pytest.mark.parametrize("name", ["with space", "with:colon"])
def test_paths_that_kbuild_refuses(tmp_path: Path, name: str) -> None:
    with pytest.raises(MmbatchError, match="space or a colon"):
        Cache(tmp_path / name)
    assert not (tmp_path / name).exists()


def test_links_are_followed_at_once(tmp_path: Path) -> None:
    """The kernel's build names files by their real paths; a path of ours has to be found there."""
    (tmp_path / "disk/trees").mkdir(parents=True)
    (tmp_path / "home").symlink_to("disk")
    (tmp_path / "disk/cache").mkdir()
    (tmp_path / "disk/cache/trees").symlink_to("../trees")
    cache = Cache(tmp_path / "home/cache")
    assert cache.root == tmp_path / "disk/cache"
    assert cache.trees == tmp_path / "disk/trees"
    for directory in (cache.trees, cache.builds, cache.splices):
        assert directory == directory.resolve() and directory.is_dir()


def test_a_link_to_nowhere(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache/trees").symlink_to("gone")
    assert Cache(tmp_path / "cache").trees.is_dir()


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MmbatchError, match="not a directory"):
        Cache(tmp_path / "file" / "cache")


def test_sweep_takes_only_what_the_dead_left(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    tree = cache.trees / "linux"
    tree.mkdir()
    dead = cache.trees / disk.temporary_prefix("x")
    (dead / "sub").mkdir(parents=True)
    file = cache.root / disk.temporary_prefix("f")
    file.touch()
    nowhere = cache.trees / disk.temporary_prefix("link")
    nowhere.symlink_to(tree)
    Cache(tmp_path)
    assert not dead.exists()
    assert not file.exists()
    assert nowhere.is_symlink()
    assert tree.exists()


def year_old(place: Path) -> Path:
    year_ago = time.time() - 365 * 24 * 3600
    os.utime(place, (year_ago, year_ago))
    return place


def test_what_a_living_process_makes_is_kept_however_old_it_looks(tmp_path: Path) -> None:
    """`cp -al` gives a copy the time of its source; every other start of mmbatch sweeps."""
    open_it = "import sys; from pathlib import Path; from mmbatch.core.cache import Cache; "
    sweep = [sys.executable, "-c", open_it + "Cache(Path(sys.argv[1]))", os.fspath(tmp_path)]
    cache = Cache(tmp_path)
    with (
        atomic_dir(cache.trees / "final") as place,
        temporary_dir(cache.builds, "work") as work,
    ):
        for directory in (place, work):
            (directory / "file").touch()
            year_old(directory)
        for _ in range(2):
            subprocess.run(sweep, check=True, env=dict(os.environ, PYTHONPATH=SOURCES))
            Cache(tmp_path)
        assert (place / "file").exists()
        assert (work / "file").exists()
    assert (cache.trees / "final/file").exists()
    assert not list(cache.builds.iterdir())


def test_a_temporary_that_a_sweep_took_too_early_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between making a directory and locking it another process may sweep."""
    make = tempfile.mkdtemp
    names: list[str] = []

    def make_and_sweep(prefix: str, dir: Path) -> str:
        names.append(make(prefix=prefix, dir=dir))
        if len(names) < 3:
            disk.sweep(tmp_path)
        return names[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", make_and_sweep)
    with temporary_dir(tmp_path, "name") as place:
        assert place == Path(names[2])
        assert place.is_dir()
    assert not list(tmp_path.iterdir())


SOURCES = str(Path(mmbatch.__file__).parents[1])
KILLED = """
import sys, time
from pathlib import Path
from mmbatch.core.cache import Cache
from mmbatch.core.disk import atomic_dir
cache = Cache(Path(sys.argv[1]))
with cache.lock("work", "does some work"), atomic_dir(cache.trees / "final") as place:
    (place / "half").touch()
    print("ready", flush=True)
    time.sleep(60)
"""


def start_holder(root: Path) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        [sys.executable, "-c", KILLED, os.fspath(root)],
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ, PYTHONPATH=SOURCES),
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "ready\n"
    holder.stdout.close()
    return holder


def test_kill_minus_9_leaves_neither_lock_nor_rest(tmp_path: Path) -> None:
    holder = start_holder(tmp_path)
    holder.kill()
    holder.wait()
    cache = Cache(tmp_path)
    assert not list(cache.trees.iterdir())
    messages: list[str] = []
    with cache.lock("work", say=messages.append):
        assert not messages


def test_interrupt_leaves_nothing(tmp_path: Path) -> None:
    holder = start_holder(tmp_path)
    holder.send_signal(signal.SIGINT)
    holder.wait()
    assert not list((tmp_path / "trees").iterdir())


def test_lock_waits_and_says_for_whom(tmp_path: Path) -> None:
    holder = start_holder(tmp_path)
    messages: list[str] = []

    def say(text: str) -> None:
        messages.append(text)
        holder.terminate()

    with Cache(tmp_path).lock("work", "comes next", say):
        holder.wait()
    assert messages == [f"waiting for another mmbatch (pid {holder.pid}) that does some work"]


# The kernel ends the outer shell with us; the inner one is what make starts.
UNTIL_END = "sh -c 'touch started; until [ -e end ]; do sleep 0.1; done'; exit"


def test_a_lock_outlives_us_in_a_program_that_keeps_it(tmp_path: Path) -> None:
    """A build goes on for a while after kill -9 of ours; nobody else may build there."""
    code = (
        "from pathlib import Path\n"
        "from mmbatch.core.cache import Cache\nfrom mmbatch.core.process import run\n"
        f"with Cache(Path({str(tmp_path)!r})).lock('a', 'builds') as held:\n"
        f"    run(['sh', '-c', {UNTIL_END!r}], action='x', keep=held)\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code], env=dict(os.environ, PYTHONPATH=SOURCES), cwd=tmp_path
    )
    deadline = time.monotonic() + 300
    while not (tmp_path / "started").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    holder.kill()
    holder.wait()
    messages: list[str] = []

    def say(line: str) -> None:
        messages.append(line)
        (tmp_path / "end").touch()

    for _ in range(2):
        with Cache(tmp_path).lock("a", say=say):
            assert len(messages) == 1


def test_a_file_system_without_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache(tmp_path)

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    (tmp_path / "unused").mkdir()
    disk.remove_unused(tmp_path / "unused")

    assert (tmp_path / "unused").is_dir()
    with (
        pytest.raises(MmbatchError, match=r"can't lock files \(No locks") as caught,
        cache.lock("a"),
    ):
        pass
    assert "on a local disk" in caught.value.hint


def test_other_locks_do_not_wait(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with cache.lock("a"), cache.lock("b"):
        pass


def test_a_lock_is_not_taken_twice_by_one_process(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with cache.lock("a"), pytest.raises(RuntimeError), cache.lock("a"):
        pass
    with cache.lock("a"):
        pass


def test_a_directory_in_use_is_not_forgotten(tmp_path: Path) -> None:
    """Another process may have found it in the cache, and wait for a lock before it reads it."""
    directories = [tmp_path / name for name in "abcde"]
    for age, directory in enumerate(directories):
        directory.mkdir()
        os.utime(directory, (age, age))
    cache = Cache(tmp_path / "cache")
    used = subprocess.Popen(
        [sys.executable, "-c", USER, os.fspath(cache.root), os.fspath(directories[0])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ, PYTHONPATH=SOURCES),
    )
    assert used.stdout is not None and used.stdout.readline() == "ready\n"
    os.utime(directories[0], (0, 0))
    forget_oldest(directories)
    assert [path.name for path in directories if path.exists()] == ["a", "c", "d", "e"]
    used.communicate("")
    forget_oldest(directories)
    assert [path.name for path in directories if path.exists()] == ["c", "d", "e"]


USER = """
import sys
from pathlib import Path
from mmbatch.core.cache import Cache
cache = Cache(Path(sys.argv[1]))
cache.keep(Path(sys.argv[2]))
print("ready", flush=True)
sys.stdin.read()
"""


def test_a_directory_that_is_replaced_stays_for_whoever_uses_it(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    final = cache.trees / "final"
    (final / "old").mkdir(parents=True)
    cache.keep(final)
    with atomic_dir(final) as place:
        (place / "new").touch()
    assert [entry.name for entry in final.iterdir()] == ["new"]
    others = [path for path in cache.trees.iterdir() if path != final]
    assert [entry.name for path in others for entry in path.iterdir()] == ["old"]
    del cache
    assert [path.name for path in Cache(tmp_path).trees.iterdir()] == ["final"]


def test_a_directory_of_the_cache_is_filled_once_and_again_when_damaged(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    final = cache.builds / "thing"
    messages: list[str] = []

    def fill(work: Path) -> None:
        messages.append("filling")
        (work / "file").write_text("content")

    for _ in range(2):
        assert cache.provide(final, fill, "fills", messages.append) == final
    assert messages == ["filling"]
    (final / "file").write_text("")
    cache.provide(final, fill, "fills", messages.append)
    assert (final / "file").read_text() == "content"
    assert messages[1:] == [
        f"{final} is incomplete, since file is missing or damaged: replacing it",
        "filling",
    ]


def test_the_last_few_of_a_name_are_kept(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    others = [cache.builds / name for name in ("a-1-aaaa", "b-aaaa", "a-rest", "a-aa", "a-1")]
    for place in others:
        place.mkdir()
        year_old(place)
    for number in range(6):
        final = cache.builds / f"a-{number:04x}"
        Cache(tmp_path).provide(final, lambda _: None, "fills", print, keep_few=True)
        os.utime(final, (number, number))
    kept = {path.name for path in cache.builds.iterdir()} - {place.name for place in others}
    assert kept == {"a-0002", "a-0003", "a-0004", "a-0005"}
    assert all(place.exists() for place in others)


def test_a_directory_is_kept_before_it_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(directory: Path, *_: object) -> bool:
        whole = is_whole(directory)
        disk.remove_unused(directory)  # as another process does that forgets the oldest
        return whole

    monkeypatch.setattr("mmbatch.core.cache.is_whole", look)
    final = tmp_path / "builds/thing"
    for _ in range(2):
        Cache(tmp_path).provide(final, lambda work: (work / "file").touch(), "fills", print)
    assert (final / "file").exists()


def test_the_cache_path_is_a_loop_of_links(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(MmbatchError, match="links form a loop"):
        Cache(tmp_path / "a")


def test_a_part_of_the_cache_is_a_loop_of_links(tmp_path: Path) -> None:
    (tmp_path / "runs").symlink_to("runs")
    with pytest.raises(MmbatchError, match="runs: a part of the path is not a directory") as caught:
        Cache(tmp_path)
    assert cache_variable(os.environ) in caught.value.hint


def test_the_cache_has_no_place(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for root in (tmp_path / "file/a/b", Path("/proc/x")):
        with pytest.raises(MmbatchError) as caught:
            Cache(root)
        assert caught.value.action == "open the cache directory"
        assert cache_variable(os.environ) in caught.value.hint
