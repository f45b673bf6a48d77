# SPDX-License-Identifier: GPL-2.0-only
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

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
needs_spatch = pytest.mark.skipif(shutil.which("spatch") is None, reason="lacks spatch")


@pytest.fixture(autouse=True)
def forget_version() -> Iterator[None]:
    hooks.spatch_version.cache_clear()
    yield
    hooks.spatch_version.cache_clear()


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


@needs_spatch
def test_nobody_else_configures_spatch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".cocciconfig").write_text("[spatch]\n\toptions = --no-such-option\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    content = (DATA / "guarded.c").read_text()
    grown = hooks.apply_rule(content, GROW)
    monkeypatch.delenv("HOME")
    assert hooks.apply_rule(content, GROW) == grown != content
    assert hooks.spatch_version() >= hooks.OLDEST
