# SPDX-License-Identifier: GPL-2.0-only
"""results/README.md shows what the records beside it hold; links and commands lead somewhere."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from fake_run import FSDAX, SMALL, case_events, record_of, run_events
from mmbatch.bench import record
from mmbatch.bench.record import Record
from mmbatch.bench.statistics import Verdict
from mmbatch.cli import main as cli
from mmbatch.core import paths as checkout
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.report import readme

PAGES = sorted(
    path
    for path in (*checkout.ROOT.glob("*.md"), *checkout.ROOT.glob("*/**/*.md"))
    if not path.is_relative_to(checkout.ROOT / "tests")
)


def _record(small: dict[str, float] | None = None) -> Record:
    slow = SMALL if small is None else small
    return record_of(
        run_events(
            list(case_events("fsdax-100G", FSDAX)),
            list(case_events("small-hot", slow, regime="hot, LLC/4", items=131_072)),
        )
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "results").mkdir()
    text = f"# mmbatch\n\n{readme.BEGIN}\nold\n{readme.END}\n\nThe rest.\n"
    (tmp_path / "results/README.md").write_text(text)
    record.write(tmp_path / "results/zone_device.json", _record())
    return tmp_path


def test_this_checkout_shows_its_results() -> None:
    for path, text in readme.pages(checkout.ROOT).items():
        assert path.read_text(encoding="utf-8") == text, (
            f"{path.name} is stale: PYTHONPATH=src python3 -m mmbatch.report.readme"
        )


def test_every_page_of_results_has_its_record() -> None:
    made = set(readme.pages(checkout.ROOT)) | {checkout.ROOT / "results/README.md"}
    assert set((checkout.ROOT / "results").glob("*.md")) <= made


def test_table_takes_the_place_of_what_was_there(root: Path) -> None:
    assert readme.write(root) == [root / "results/zone_device.md", root / "results/README.md"]
    text = (root / "results/README.md").read_text()
    assert text.startswith("# mmbatch\n") and text.endswith(f"{readme.END}\n\nThe rest.\n")
    assert "\nold\n" not in text
    assert "| fsdax-100G (cold, altmap) | 8.39 ns |" in text
    assert "(zone_device.md)" in text
    assert readme.write(root) == []


def test_losses_are_named(root: Path) -> None:
    readme.write(root)
    text = (root / "results/README.md").read_text()
    assert "**0.91 slower**" in text
    assert "Slower than `copy`, by the medians: wide in small-hot (1.10 times its time)." in text


def test_older_kernels_get_a_line(root: Path) -> None:
    older = _record({**SMALL, "auto": 700e3})
    kernel = dataclasses.replace(older.kernel, release="6.12.95")
    record.write(root / "results/old.json", dataclasses.replace(older, kernel=kernel))
    readme.write(root)
    text = (root / "results/README.md").read_text()
    assert text.count("| case | base") == 1
    assert "[all rows](zone_device.md))\n\n| case" in text
    (line,) = (line for line in text.splitlines() if line.startswith("- Linux 6.12.95 "))
    assert "(old.md)" in line
    assert re.search(r"\*\*slower: .*auto in small-hot \(0\.\d\d\)\*\*$", line)


def test_auto_that_loses_is_marked(root: Path) -> None:
    record.write(root / "results/zone_device.json", _record({**SMALL, "auto": 480e3}))
    readme.write(root)
    assert "**auto** in small-hot (1.20 times its time)" in (root / "results/README.md").read_text()


def test_counts_are_not_shown_as_time_on_a_machine(root: Path) -> None:
    one = _record({**SMALL, "auto": 480e3})
    rows = tuple(dataclasses.replace(row, unit="instructions") for row in one.rows)
    record.write(root / "results/zone_device.json", dataclasses.replace(one, rows=rows))
    readme.write(root)
    text = (root / "results/README.md").read_text()
    assert "Linux 7.3.1: instructions, counted by QEMU; no time" in text
    assert "times its time" not in text


ALIKE = dict.fromkeys(SMALL, 400e3)
WINS = {**SMALL, "wide": 300e3, "auto": 300e3}


def _many(more: dict[str, float]) -> Record:
    """Seven cases, each also read back, and on two other CPUs; one of these with other times."""
    cases = []
    for size in range(1, 8):
        for suffix, regime in (("", "hot"), ("-read", "hot, read back")):
            cases.append(case_events(f"{size}M{suffix}", WINS, regime=regime, blocks=4))
            for cpu, word in (("-old", "older"), ("-none", "no feature")):
                name, words = f"{size}M{suffix}{cpu}", f"{regime}, {word}"
                times = more if name == "3M-old" else SMALL
                cases.append(case_events(name, times, regime=words, blocks=4))
    cases += [case_events(f"free-{size}M", ALIKE, regime="hot", blocks=4) for size in (1, 2)]
    return record_of(run_events(*map(list, cases)))


def test_of_many_cases_those_are_shown_that_matter(root: Path) -> None:
    record.write(root / "results/zone_device.json", _many({**SMALL, "auto": 500e3}))
    readme.write(root)
    text = (root / "results/README.md").read_text()
    shown = re.findall(r"^\| (\d\S*) \(", text, re.M)
    every = [f"{size}M{suffix}" for size in range(1, 8) for suffix in ("", "-read")]
    assert sorted(shown) == sorted([*every, "3M-old"])  # which auto loses
    assert "\n2 more cases, no difference shown in any: free-1M, free-2M.\n" in text
    (line,) = re.findall("^27 more cases are some of these again (.*)$", text, re.M)
    assert line.startswith("(older; no feature): auto 0.9")
    assert "no difference shown in 27; **slower: wide in 27 cases (0.9" in line


def test_of_few_cases_all_are_shown(root: Path) -> None:
    few = dataclasses.replace(_many(SMALL), rows=_many(SMALL).rows[: 4 * 20])
    record.write(root / "results/zone_device.json", few)
    readme.write(root)
    text = (root / "results/README.md").read_text()
    assert len(re.findall(r"^\| \d\S* \(", text, re.M)) == 20
    assert "more cases" not in text


def test_an_older_kernel_with_many_losses_counts_them(root: Path) -> None:
    older = _many(SMALL)
    kernel = dataclasses.replace(older.kernel, release="6.12.95")
    record.write(root / "results/old.json", dataclasses.replace(older, kernel=kernel))
    readme.write(root)
    assert re.search(
        r"^- Linux 6.12.95 .*; \*\*slower: wide in 28 cases \(0.9\d to 0.9\d\)\*\*$",
        (root / "results/README.md").read_text(),
        re.M,
    )


def test_counts_of_two_architectures_are_two_tables(root: Path) -> None:
    one = _record({**SMALL, "wide": 480e3})
    words = {Verdict.FASTER: Verdict.FEWER, Verdict.SLOWER: Verdict.MORE}
    rows = tuple(
        dataclasses.replace(
            row, unit="instructions", of_limit=None, verdict=words.get(row.verdict, row.verdict)
        )
        for row in one.rows
    )
    for arch in ("x86_64", "arm64"):
        command = f"./mmbatch guest bench vmap --arch {arch} --rounds 6"
        made = dataclasses.replace(one, rows=rows, limits=(), command=command)
        record.write(root / f"results/{arch}.json", made)
    readme.write(root)
    text = (root / "results/README.md").read_text()
    for arch in ("x86_64", "arm64"):
        assert f"Linux 7.3.1, {arch}: instructions, counted by QEMU; no time" in text
    assert "The same on other kernels" not in text
    assert "**0.83 more instructions**" in text
    assert text.count("x limit |") == 1  # of the one that was timed


def test_readme_without_a_place_for_results(root: Path) -> None:
    (root / "results/README.md").write_text("# mmbatch\n")
    with pytest.raises(MmbatchError, match="no <!-- results -->") as caught:
        readme.pages(root)
    assert caught.value.code == ExitCode.USAGE


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(checkout.ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} links {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(checkout.ROOT)))
def test_named_verbs_exist(page: Path) -> None:
    for verb in re.findall(r"\./mmbatch ([a-z]+)", page.read_text(encoding="utf-8")):
        assert verb in cli.VERBS, f"{page.name} names {verb}"
