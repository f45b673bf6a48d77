# SPDX-License-Identifier: GPL-2.0-only
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mmbatch.core import paths as checkout
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.load import Interval
from mmbatch.splice import hooks
from mmbatch.splice.manifest import Rule

DATA = Path(__file__).parents[1] / "data" / "spatch"
GROW = Rule(
    DATA / "grow.cocci",
    "mm/guarded.c",
    "toy_last",
    {"grow": 2},
    {"grow": r"^\+.*toy_shrink\("},
    Interval(),
)
GUARDED = Rule(
    DATA / "guarded.cocci",
    "mm/guarded.c",
    "toy_guarded",
    {"count": 1},
    {"count": r"^\+.*count--"},
    Interval(),
)
needs_spatch = pytest.mark.skipif(shutil.which("spatch") is None, reason="lacks spatch")


@pytest.fixture(autouse=True)
def forget_version() -> Iterator[None]:
    hooks.spatch_version.cache_clear()
    yield
    hooks.spatch_version.cache_clear()


def make_spatch(directory: Path, body: str) -> None:
    program = directory / "spatch"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory which is all that there is in PATH, besides a shell's own needs."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in ("sh", "cat"):
        (directory / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(directory))
    return directory


def test_the_version_is_read(programs: Path) -> None:
    make_spatch(programs, f"cat '{DATA / 'version-1.1.1.txt'}'")
    assert hooks.spatch_version() == (1, 1, 1)


def test_too_old_a_version_is_refused(programs: Path) -> None:
    make_spatch(programs, f"cat '{DATA / 'version-1.0.8.txt'}'")
    with pytest.raises(MmbatchError) as caught:
        hooks.spatch_version()
    assert caught.value.problem == "version 1.0.8 is too old"
    assert caught.value.hint == "install coccinelle 1.1.1 or newer"


def test_the_line_at_which_a_function_was_skipped_is_found() -> None:
    output = (DATA / "parse-guarded.txt").read_text()
    guarded = "static int toy_guarded(struct toy *toy)"
    assert hooks.trouble_at(output, guarded) == (
        "scoped_cond_guard(toy_try, return 0, &toy->lock) {"
    )
    assert hooks.trouble_at(output, "static int toy_last(int toy)") is None
    assert hooks.trouble_at("", guarded) is None


def test_matches_are_counted_on_the_diff() -> None:
    assert hooks.count_matches((DATA / "two-matches.diff").read_text(), GROW) == {"grow": 2}
    assert hooks.count_matches((DATA / "zero-matches.diff").read_text(), GROW) == {"grow": 0}
    assert hooks.count_matches("--- a toy_shrink(\n+++ b toy_shrink(\n", GROW) == {"grow": 0}


@pytest.mark.parametrize(
    ("diff", "expected", "count"), [("two-matches.diff", 1, 2), ("zero-matches.diff", 1, 0)]
)
def test_a_wrong_count_is_exit_code_3(programs: Path, diff: str, expected: int, count: int) -> None:
    make_spatch(programs, f"cat '{DATA / diff}'")
    rule = Rule(GROW.cocci, GROW.file, GROW.function, {"grow": expected}, GROW.marks, GROW.kernels)
    with pytest.raises(MmbatchError) as caught:
        hooks.apply_rule(DATA / "guarded.c", rule)
    assert caught.value.code == ExitCode.SPLICE
    assert caught.value.problem == (
        f"the hook 'grow' of grow.cocci matched {count} times instead of {expected}"
    )


def test_a_function_that_is_not_there_is_exit_code_3() -> None:
    rule = Rule(GROW.cocci, GROW.file, "toy_lost", GROW.matches, GROW.marks, GROW.kernels)
    with pytest.raises(MmbatchError) as caught:
        hooks.check_parse(DATA / "guarded.c", rule)
    assert caught.value.code == ExitCode.SPLICE
    assert caught.value.problem == "there is no function toy_lost()"


@needs_spatch
def test_a_function_that_spatch_can_not_parse_is_exit_code_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "macros.h").touch()
    monkeypatch.setattr(checkout, "MACROS", tmp_path / "macros.h")
    with pytest.raises(MmbatchError) as caught:
        hooks.check_parse(DATA / "guarded.c", GUARDED)
    assert caught.value.code == ExitCode.SPLICE
    assert caught.value.problem == (
        "spatch can't parse toy_guarded(), it stumbles at:"
        " scoped_cond_guard(toy_try, return 0, &toy->lock) {"
    )
    assert "speedups/macros.h" in caught.value.hint
    hooks.check_parse(DATA / "guarded.c", GROW)


@needs_spatch
def test_odd_paths_are_no_trouble(tmp_path: Path) -> None:
    place = tmp_path / "it's a $(speedup_dir) & more"
    place.mkdir()
    for path in (DATA / "guarded.c", GUARDED.cocci):
        shutil.copy(path, place)
    rule = replace(GUARDED, cocci=place / "guarded.cocci")
    hooks.check_parse(place / "guarded.c", rule)
    assert b"count--" in hooks.apply_rule(place / "guarded.c", rule)
    assert len(list(place.iterdir())) == 2


@needs_spatch
def test_nobody_else_configures_spatch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".cocciconfig").write_text("[spatch]\n\toptions = --no-such-option\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    hooks.apply_rule(DATA / "guarded.c", GROW)
    monkeypatch.delenv("HOME")
    hooks.apply_rule(DATA / "guarded.c", GROW)
    assert hooks.spatch_version() >= hooks.OLDEST
