# SPDX-License-Identifier: GPL-2.0-only
"""The cache directory, its locks, and files and directories that are written whole or not."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mmbatch.core import cache
from mmbatch.core.cache import atomic_dir, atomic_write, provide, prune
from mmbatch.core.errors import MmbatchError

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize(
    ("env", "root"),
    [
        ({}, "/h/.cache/mmbatch"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/mmbatch"),
        ({"XDG_CACHE_HOME": "relative"}, "/h/.cache/mmbatch"),
        ({"XDG_CACHE_HOME": "/c", "MMBATCH_CACHE": "/m"}, "/m"),
    ],
)
def test_where_the_cache_lies(
    env: dict[str, str], root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"XDG_CACHE_HOME": "", "MMBATCH_CACHE": "", "HOME": "/h", **env}.items():
        monkeypatch.setenv(name, value)
    assert cache.default_root() == Path(root)


@pytest.mark.parametrize("name", ["with space", "with:colon"])
def test_paths_that_kbuild_refuses(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MMBATCH_CACHE", str(tmp_path / name))
    with pytest.raises(MmbatchError, match="space or a colon"):
        cache.root()
    assert not (tmp_path / name).exists()


HOLDER = """
import sys, time
from mmbatch.core import cache
from mmbatch.core.process import run
with cache.lock("work", "does some work"), cache.atomic_dir(cache.trees() / "final") as place:
    (place / "half").touch()
    print("ready", flush=True)
    {}
"""


def start_holder(what: str = "time.sleep(600)") -> "subprocess.Popen[str]":
    code = HOLDER.format(what)
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "ready\n"
    return holder


def reopened() -> Path:
    """Open the cache as another process does, which sweeps it."""
    cache._open.cache_clear()
    return cache.root()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_process_that_ends_leaves_neither_lock_nor_rest(
    number: signal.Signals, said: list[str]
) -> None:
    holder = start_holder()
    assert list((reopened() / "tmp").iterdir()) != []
    holder.send_signal(number)
    holder.wait()
    assert list((reopened() / "tmp").iterdir()) == []
    assert list(cache.trees().iterdir()) == []
    with cache.lock("work"):
        assert said == []


def test_a_lock_waits_and_says_for_whom(monkeypatch: pytest.MonkeyPatch) -> None:
    holder = start_holder()
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        holder.terminate()

    monkeypatch.setattr("mmbatch.core.log.say", say)
    with cache.lock("other"), cache.lock("work", "comes next"):
        holder.wait()
    assert said == [f"waiting for another mmbatch (pid {holder.pid}) that does some work"]


def test_a_lock_outlives_us_in_what_we_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build goes on for a while after kill -9 of ours; nobody else may build there."""
    # The kernel ends the outer shell with us; the inner one is what make starts.
    script = f"sh -c 'touch {tmp_path}/on; until [ -e {tmp_path}/end ]; do sleep 0.1; done'; exit"
    holder = start_holder(f"run(['sh', '-c', {script!r}], action='x')")
    deadline = time.monotonic() + 300
    while not (tmp_path / "on").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    holder.kill()
    holder.wait()
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        (tmp_path / "end").touch()

    monkeypatch.setattr("mmbatch.core.log.say", say)
    for _ in range(2):
        with cache.lock("work"):
            assert len(said) == 1


def test_a_directory_is_made_once_and_whole() -> None:
    final = cache.builds() / "thing"
    filled = []

    def fill(work: Path) -> None:
        filled.append(work)
        (work / "file").write_text("content")
        assert not final.exists()
        if len(filled) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        provide(final, fill, "fills")
    for _ in range(2):
        assert provide(final, fill, "fills") == final
    assert len(filled) == 2
    assert (final / "file").read_text() == "content"
    assert list((cache.root() / "tmp").iterdir()) == []


def test_the_last_few_of_a_name_are_kept_and_those_in_use(own_cache: Path) -> None:
    others = [cache.builds() / name for name in ("a-1-aaaa", "b-aaaa", "a-rest", "a-aa", "a-1")]
    made = [cache.builds() / f"a-{number:04x}" for number in range(7)]
    for age, place in enumerate([*others, *made]):
        place.mkdir()
        (place / cache.DONE).touch()
        os.utime(place, (age, age))
    code = "import sys; from mmbatch.core import cache; from pathlib import Path\n"
    code += "assert cache.use(Path(sys.argv[1])); print('ready', flush=True); sys.stdin.read()"
    user = subprocess.Popen(
        [sys.executable, "-c", code, made[0]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert user.stdout is not None and user.stdout.readline() == "ready\n"
    os.utime(made[0], (0, 0))
    prune(made[-1])
    kept = {path.name for path in cache.builds().iterdir()} - {place.name for place in others}
    assert kept == {"a-0000", "a-0003", "a-0004", "a-0005", "a-0006"}
    user.communicate("")
    prune(made[-1])
    assert not made[0].exists()
    assert all(place.exists() for place in others)
    assert not cache.use(made[0])


def test_atomic_dir_replaces_or_leaves_the_old_one(tmp_path: Path) -> None:
    final = tmp_path / "final"
    for name in ("old", "new"):
        with atomic_dir(final) as place:
            (place / name).touch()
    with pytest.raises(KeyboardInterrupt), atomic_dir(final) as place:
        (place / "newer").touch()
        raise KeyboardInterrupt
    assert [entry.name for entry in final.iterdir()] == ["new"]
    assert {entry.name for entry in tmp_path.iterdir()} == {"final", "cache"}


def test_atomic_write_replaces_and_leaves_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    atomic_write(path, "one")
    atomic_write(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]


def test_atomic_write_that_fails_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "deep" / "file"
    atomic_write(path, "old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left") as caught:
        atomic_write(path, "new")
    assert caught.value.filename == str(path)
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_require_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache.free_bytes(tmp_path / "a" / "b") > 0
    monkeypatch.setattr(cache, "free_bytes", lambda path: 1_000_000_000)
    cache.require_space(tmp_path / "not" / "yet", 1_000_000_000, "unpack")
    with pytest.raises(MmbatchError, match=r"2\.5 GB .* 1\.0 GB are free"):
        cache.require_space(tmp_path, 2_500_000_000, "unpack")
