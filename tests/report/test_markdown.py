# SPDX-License-Identifier: GPL-2.0-only
"""results/ shows what its records hold; links and commands in Markdown lead somewhere."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fake_run import FSDAX, SMALL, case_events, record_of, run_events
from mmbatch.bench import record, store
from mmbatch.bench.record import Record
from mmbatch.bench.statistics import Verdict
from mmbatch.cli import main as cli
from mmbatch.core import paths as checkout
from mmbatch.report import compare, html, markdown

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


RESULTS = checkout.ROOT / "results"
REMAKE = "./mmbatch report results/*.json --markdown results/README.md --svg results/overview.svg"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "results").mkdir()
    text = f"# mmbatch\n\n{markdown.BEGIN}\nold\n{markdown.END}\n\nThe rest.\n"
    (tmp_path / "results/README.md").write_text(text)
    record.write(tmp_path / "results/zone_device.json", _record())
    return tmp_path


def _made(root: Path) -> str:
    return markdown.into(root / "results/README.md", _runs(root))


def _runs(root: Path) -> list[store.Stored]:
    return store.load(sorted((root / "results").glob("*.json")))


def test_this_checkout_shows_its_results() -> None:
    runs = _runs(checkout.ROOT)
    page = RESULTS / "README.md"
    assert markdown.into(page, runs) == page.read_text(encoding="utf-8"), f"stale: {REMAKE}"
    overview = (RESULTS / "overview.svg").read_text(encoding="utf-8")
    assert html.svg(runs) == overview, f"stale: {REMAKE}"


def test_the_overview_shows_every_case_and_every_regression_of_the_newest_kernels() -> None:
    overview = (RESULTS / "overview.svg").read_text(encoding="utf-8")
    runs = compare.newest(_runs(checkout.ROOT))
    rows = [row for run in runs for row in run.record.rows]
    slower = [row for row in rows if compare.is_slower(row)]
    assert slower
    for row in slower:
        assert row.ratio is not None
        words = f"{row.case}: {row.variant} {row.ratio.median:.3f} {row.verdict}"
        assert f"{words}</title>" in overview
    assert overview.count('class="slower') == len(slower)
    entries = [entry for run in runs for entry in compare.entries_of(run.record)]
    aside = [row for entry in entries for row in entry.rows if row is not entry.chosen]
    drawn = len(entries) + sum(map(compare.is_slower, aside))
    assert overview.count("<title>") == drawn


def test_the_overview_fits_on_a_screen() -> None:
    overview = ElementTree.parse(RESULTS / "overview.svg").getroot()
    assert int(overview.attrib["height"]) <= 768  # of a small laptop
    assert int(overview.attrib["width"]) <= 600


def test_the_overview_has_the_newest_kernel_of_each_machine(root: Path) -> None:
    counted = dataclasses.replace(
        _record(), rows=tuple(dataclasses.replace(row, unit="instr") for row in _record().rows)
    )
    other = dataclasses.replace(_record().machine, model=77)
    for name, machine_record, release in (
        ("new", _record(), "7.3.10"),
        ("old", _record(), "7.3.9"),
        ("elsewhere", dataclasses.replace(_record(), machine=other), "6.12.95"),
        ("counted", counted, "7.3.10"),
    ):
        kernel = dataclasses.replace(machine_record.kernel, release=release)
        changed = dataclasses.replace(
            machine_record, kernel=kernel, samples_sha256=f"{ord(name[0]):064x}"
        )
        record.write(root / f"results/{name}.json", changed)
    (root / "results/zone_device.json").unlink()
    runs = _runs(root)
    shown = [run.path.stem for run in compare.newest(runs)]
    assert sorted(shown) == ["elsewhere", "new"]
    assert sorted(re.findall(r"Linux ([0-9.]+)[,<]", html.svg(runs))) == ["6.12.95", "7.3.10"]
    only = [run for run in runs if run.path.stem == "counted"]
    assert compare.newest(only) == only


def test_every_record_is_compact() -> None:
    for path in RESULTS.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert record.compact(json.loads(text)) == text, path.name


def test_notes_are_shown_once_for_all_cases_of_which_they_are_true(root: Path) -> None:
    noted = dataclasses.replace(
        _record({**SMALL, "auto": 700e3}),
        notes=("a: not cold here", "b: 16 pairs", "c: 16 pairs", "the engine did not run"),
    )
    record.write(root / "results/zone_device.json", noted)
    words = "Notes: a: not cold here; b, c: 16 pairs; the engine did not run."
    assert words in _made(root).splitlines()


def test_older_kernels_get_a_line(root: Path) -> None:
    older = _record({**SMALL, "auto": 700e3})
    kernel = dataclasses.replace(older.kernel, release="6.12.95")
    record.write(root / "results/old.json", dataclasses.replace(older, kernel=kernel))
    text = _made(root)
    assert text.count("| case | base") == 2  # the second folded
    assert "[record](zone_device.json))\n\n| case" in text
    assert text.count("<details><summary>All 2 cases of Linux 6.12.95</summary>\n\n| case") == 1
    (line,) = (line for line in text.splitlines() if line.startswith("- Linux 6.12.95 "))
    assert "(old.json)" in line
    assert re.search(r"\*\*slower: .*auto in small-hot \(0\.\d\d\)\*\*$", line)


def test_cpus_of_one_name_get_a_table_each(root: Path) -> None:
    newer = _record({**SMALL, "auto": 700e3})
    machine = dataclasses.replace(newer.machine, model=(newer.machine.model or 0) + 1)
    record.write(root / "results/newer.json", dataclasses.replace(newer, machine=machine))
    text = _made(root)
    assert "The same on other kernels" not in text
    assert text.count("\n**zone_device, Linux 7.3.1: Example CPU 9000 (family ") == 2


def test_counts_are_not_shown_as_time_on_a_machine(root: Path) -> None:
    base_record = _record({**SMALL, "auto": 480e3})
    rows = tuple(dataclasses.replace(row, unit="instructions") for row in base_record.rows)
    record.write(root / "results/zone_device.json", dataclasses.replace(base_record, rows=rows))
    text = _made(root)
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
    text = _made(root)
    open_part, _, folded = text.partition("<details>")
    shown = re.findall(r"^\| (\d\S*) \(", open_part, re.M)
    assert "<summary>The other 29 cases</summary>" in folded
    assert len(re.findall(r"^\| \S+ \(", folded, re.M)) == 29
    every = [f"{size}M{suffix}" for size in range(1, 8) for suffix in ("", "-read")]
    assert sorted(shown) == sorted([*every, "3M-old"])  # in which auto is slower
    assert "\n2 more cases, no difference shown in any: free-1M, free-2M.\n" in text
    (line,) = re.findall("^27 more cases are some of these again (.*)$", text, re.M)
    assert line.startswith("(older; no feature): auto 0.9")
    assert "no difference shown in 27; **slower: wide in 27 cases (0.9" in line


def test_of_few_cases_all_are_shown(root: Path) -> None:
    few = dataclasses.replace(_many(SMALL), rows=_many(SMALL).rows[: 4 * 20])
    record.write(root / "results/zone_device.json", few)
    text = _made(root)
    assert len(re.findall(r"^\| \d\S* \(", text, re.M)) == 20
    assert "more cases" not in text


def test_an_older_kernel_with_many_regressions_counts_them(root: Path) -> None:
    older = _many(SMALL)
    kernel = dataclasses.replace(older.kernel, release="6.12.95")
    record.write(root / "results/old.json", dataclasses.replace(older, kernel=kernel))
    assert re.search(
        r"^- Linux 6.12.95 .*; \*\*slower: wide in 28 cases \(0.9\d to 0.9\d\)\*\*$",
        _made(root),
        re.M,
    )


def test_counts_of_two_architectures_are_two_tables(root: Path) -> None:
    base_record = _record({**SMALL, "wide": 480e3})
    words = {Verdict.FASTER: Verdict.FEWER, Verdict.SLOWER: Verdict.MORE}
    rows = tuple(
        dataclasses.replace(
            row, unit="instructions", of_limit=None, verdict=words.get(row.verdict, row.verdict)
        )
        for row in base_record.rows
    )
    for arch in ("x86_64", "arm64"):
        command = f"./mmbatch guest bench vmap --arch {arch} --rounds 6"
        started = f"2026-01-02T03:04:{len(arch):02}+00:00"
        counted = dataclasses.replace(
            base_record, rows=rows, limits=(), command=command, started=started
        )
        record.write(root / f"results/{arch}.json", counted)
    text = _made(root)
    for arch in ("x86_64", "arm64"):
        assert f"Linux 7.3.1, {arch}: instructions, counted by QEMU; no time" in text
    assert "The same on other kernels" not in text
    assert "**0.83 more instructions**" in text
    assert text.count("x limit |") == 1  # of the one that was timed


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(checkout.ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} links {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(checkout.ROOT)))
def test_named_verbs_exist(page: Path) -> None:
    for verb in re.findall(r"\./mmbatch ([a-z]+)", page.read_text(encoding="utf-8")):
        assert verb in cli.VERBS, f"{page.name} names {verb}"
