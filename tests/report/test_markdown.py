# SPDX-License-Identifier: GPL-2.0-only
"""Tables of records as Markdown, and whether those of this checkout are current."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from expect import printed
from fake_run import FSDAX, case_events, record_of, run_events
from mmbatch.bench import record, session
from mmbatch.cli import main as cli
from mmbatch.core import paths
from mmbatch.report import compare, html, markdown

RESULTS = paths.ROOT / "results"
STALE = "stale: run the last three commands of `make results`"
PAGES = [
    *sorted(paths.ROOT.glob("*.md")),
    *sorted(paths.ROOT.glob("docs/*.md")),
    *sorted(paths.ROOT.glob("*/README.md")),
    *sorted(paths.SPEEDUPS.glob("*/README.md")),
]


def read(pattern: str) -> dict[Path, record.Record]:
    """Read records of this checkout; skip the test if it cannot be told how old their code is.

    That needs the kernels of the records, of which Debian keeps only the newest, and all commits.
    """
    records = {path: record.read(path) for path in sorted(RESULTS.glob(pattern))}
    for held in records.values():
        age = compare.age(held)
        is_known = age.is_today or age.words == record.UNKNOWN
        if not is_known and not compare._code_today(held.speedup, held.kernel):
            pytest.skip(f"{held.speedup}'s record is of a kernel that is not in the cache")
        if "lacks" in age.words:
            pytest.skip("this clone lacks a commit that a record names")
    return records


def without_number(page: str) -> str:
    """Return a page without how many commits older code is: each commit would change that."""
    return re.sub(r"\d+ commits? older", "older", page)


def test_this_checkout_shows_its_results() -> None:
    records = read("*.json")
    overview = (RESULTS / "overview.svg").read_text(encoding="utf-8")
    assert html.svg(record.named(list(records.values()))) == overview, STALE
    for page in RESULTS.glob("[a-z]*.md"):
        text = page.read_text(encoding="utf-8")
        assert markdown.into(page, read(f"{page.stem}-*.json")) == text, STALE
    records |= {
        path: each
        for part in ("core", "posted", "steps")
        for path, each in read(f"{part}/*.json").items()
    }
    page = RESULTS / "README.md"
    text = page.read_text(encoding="utf-8")
    assert without_number(markdown.into(page, records)) == without_number(text), STALE


def test_tables_of_other_pages_are_current() -> None:
    records = read("core/*-7.3-*.json") | read("*-7.3-*.json")
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if markdown.MARK in text:
            assert markdown.into(page, records) == text, STALE


@pytest.mark.parametrize(
    ("spliced", "dirty", "today", "commits", "words"),
    [
        ("aa", False, "bb", (), "same"),
        ("aa", True, "aa", ("1 a comment",), "same"),
        ("aa", False, "bb", ("1 x",), "1 commit older"),
        ("aa", False, "", ("1 x", "2 y"), "2 commits older"),
        ("aa", True, "", (), "unknown without Linux 7.3.1"),
        ("aa", False, "bb", None, "older (this clone lacks its commit, as shallow ones do)"),
    ],
)
def test_how_old_the_code_of_a_record_is(
    monkeypatch: pytest.MonkeyPatch,
    spliced: str,
    dirty: bool,
    today: str,
    commits: tuple[str, ...] | None,
    words: str,
) -> None:
    made = record_of(run_events(case_events()))
    work = session.workload("zone_device")
    monkeypatch.setattr(compare, "_code_today", lambda *_: today)
    monkeypatch.setattr(compare, "_commits_since", lambda *_: commits)
    code = record.Code("c0ffee", dirty, spliced, "cc", work)
    found = compare.age(replace(made, code=code))
    assert (found.words, found.is_today) == (words, words == "same")
    other = replace(code, workload="dd")
    assert compare.age(replace(made, code=other)).words == f"{words}, other workload"
    assert compare.age(replace(made, code=record.Code())).words == "unknown"


def test_a_shallow_clone(tmp_path: Path, own_cache: Path) -> None:
    """It has its own commit, and says of a record of an earlier one that it lacks that."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", paths.ROOT, origin], check=True)
    git = ["git", "-C", str(origin), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "another"], check=True)
    earlier, head = subprocess.check_output(
        [*git, "rev-parse", "HEAD~1", "HEAD"], text=True
    ).split()
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{origin}", clone], check=True)
    made = record_of(run_events(case_events()))
    code = record.Code(earlier, False, "aa", "cc", session.workload("zone_device"))
    record.write(clone / "a.json", replace(made, code=code))

    def python(*more: str) -> str:
        env = {**os.environ, "PYTHONPATH": f"{clone}/src"}
        return " ".join(printed(sys.executable, *more, cwd=clone, env=env).split())

    checkout = python("-c", "from mmbatch.bench import record; print(record.checkout())")
    assert checkout == f"('{head}', False)"
    for more, words in (("--text", "lacks its commit, as shallow"), ("--markdown=-", "(old)")):
        assert words in python("-m", "mmbatch", "report", "a.json", more)


def test_older_kernels_are_columns_behind_the_newest(tmp_path: Path) -> None:
    made = record_of(run_events(case_events(times=FSDAX)))
    old = record.Kernel("6.12.9", "here", "ab" * 32)
    other = record.Record(**{**made.__dict__, "kernel": old})
    text = markdown.page({tmp_path / "a.json": other, tmp_path / "b.json": made})
    assert "| case | kernel, Zen 3 (old) | Zen 3 (old) | Zen 3, 6.12.9 (old) |" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(paths.ROOT)))
def test_links_and_verbs_of_the_documents_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} links {target}"
    for verb in re.findall(r"\./mmbatch ([a-z]+)", text):
        assert verb in cli.VERBS, f"{page.name} names {verb}"
