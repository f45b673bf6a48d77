# SPDX-License-Identifier: GPL-2.0-only
"""Tables of records as Markdown, and whether those of this checkout are current."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from fake_run import FSDAX, case_events, record_of, run_events, save_run
from mmbatch.bench import record, session
from mmbatch.cli import main as cli
from mmbatch.core import paths
from mmbatch.core.errors import MmbatchError
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
    """Read records of this checkout; skip the test if it cannot be told how old their code is."""
    records = {path: record.read(path) for path in sorted(RESULTS.glob(pattern))}
    if any(re.search("without|lacks", compare.age(held).words) for held in records.values()):
        pytest.skip("the kernel of a record is not in the cache, or its commit not in the clone")
    return records


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
    assert markdown.into(page, records) == page.read_text(encoding="utf-8"), STALE


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
    made = record_of(run_events(list(case_events())))
    work = session.workload("zone_device")
    monkeypatch.setattr(compare, "_code_today", lambda *_: today)
    monkeypatch.setattr(compare, "_commits_since", lambda *_: commits)
    code = record.Code("c0ffee", dirty, spliced, "cc", work)
    found = compare.age(replace(made, code=code))
    assert (found.words, found.is_today) == (words, words == "same")
    other = replace(code, workload="dd")
    assert compare.age(replace(made, code=other)).words == f"{words}, other workload"
    assert compare.age(replace(made, code=record.Code())).words == "unknown"


def test_a_row_for_each_case_and_a_column_for_each_run(two_runs: list[Path]) -> None:
    records = {path: record.read(path) for path in two_runs}
    text = markdown.page(records, two_runs[0].parent)
    assert "| case | kernel, Zen 3 (old) | Zen 3 (old) | Zen 3 (old) |" in text
    assert "| fsdax-100G | 220.0 ms | 2.50 | 2.50 |" in text
    assert "| small-hot | 400.0 us | ~ | **0.80** |" in text
    assert "[Zen 3 (old)](one.json) 2026-01-02; [Zen 3 (old)](two.json) 2026-02-03" in text


def test_older_kernels_are_columns_behind_the_newest(tmp_path: Path) -> None:
    made = record_of(run_events(list(case_events(times=FSDAX))))
    old = record.Kernel("6.12.9", "here", "ab" * 32)
    other = record.Record(**{**made.__dict__, "kernel": old})
    text = markdown.page({tmp_path / "a.json": other, tmp_path / "b.json": made})
    assert "| case | kernel, Zen 3 (old) | Zen 3 (old) | Zen 3, 6.12.9 (old) |" in text


def test_text_around_the_tables_stays(tmp_path: Path) -> None:
    run = save_run(
        tmp_path / "a.json", run_events(list(case_events())), "2026-01-02T03:04:05+00:00"
    )
    page = tmp_path / "page.md"
    page.write_text(f"before\n{markdown.BEGIN}\nformer\n{markdown.END}\nafter\n")
    assert cli.main(["report", str(run), "--markdown", str(page)]) == 0
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "former" not in text
    page.write_text("no marks")
    with pytest.raises(MmbatchError, match="has no <!-- results -->"):
        markdown.into(page, {})


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(paths.ROOT)))
def test_links_and_verbs_of_the_documents_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} links {target}"
    for verb in re.findall(r"\./mmbatch ([a-z]+)", text):
        assert verb in cli.VERBS, f"{page.name} names {verb}"
