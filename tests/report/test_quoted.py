# SPDX-License-Identifier: GPL-2.0-only
"""What documents quote by hand is what the records and the manifests hold."""

from __future__ import annotations

import importlib.util
import itertools
import re
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from mmbatch.bench import record
from mmbatch.bench.record import Record, RowRatio
from mmbatch.bench.statistics import Verdict
from mmbatch.cli import main
from mmbatch.core import paths as checkout
from mmbatch.report import compare
from mmbatch.report import text as renderer
from mmbatch.splice.manifest import load


def _page(name: str) -> str:
    return (checkout.ROOT / name).read_text(encoding="utf-8")


README = _page("README.md")
MACHINE = "7.3-zen5-2c"
"""The one whose excerpts documents show; ranges are over all."""

_CPU = re.compile(r"-(rep_good|erms|fsrm|none|fragile)$")  # cases on a CPU with features off


def _timed(speedup: str, series: str = "7.3") -> list[Record]:
    """Return the records of a speed-up on each CPU."""
    paths = (checkout.ROOT / "results").glob(f"{speedup}-{series}-*.json")
    found = [held for held in map(record.read, sorted(paths)) if held.engine == "hosted"]
    assert len(found) >= 2
    return found


def _ratios(speedup: str, variant: str, wanted: Callable[[str], bool]) -> list[float]:
    rows = [row for held in _timed(speedup) for row in held.rows]
    rows = [row for row in rows if row.variant == variant and wanted(row.case)]
    return [row.ratio.median for row in rows if row.ratio is not None]


def _cell(speedup: str, column: int) -> str:
    (line,) = (line for line in README.splitlines() if line.startswith(f"| [`{speedup}`]"))
    return line.split("|")[1:-1][column]


GAIN, SLOWER = 3, 4


@pytest.mark.parametrize(
    ("speedup", "variant", "column", "wanted"),
    [
        ("zone_device", "auto", GAIN, lambda case: "cpu" not in case),
        ("vmap", "auto", GAIN, lambda case: re.match(r"vmap-100M-(?!scat|far|short|plug)", case)),
        ("vmap", "auto", GAIN, lambda case: case == "ioremap-1M"),
        ("vmap", "auto", GAIN, lambda case: case == "vmalloc-16M"),
        ("vmap", "auto", GAIN, lambda case: case == "vmap-100M-scattered"),
        ("vmap", "auto", GAIN, lambda case: case == "vmap-100M-far"),
        ("vmap", "auto", GAIN, lambda case: case == "vmap-100M-short"),
        ("vmap", "auto", GAIN, lambda case: case == "vmap-100M-plugged"),
        ("vmap", "auto", GAIN, lambda case: case == "vmalloc-1M"),
        ("vmap", "auto", SLOWER, lambda case: case.endswith("cycle-page")),
        ("vmap", "auto", SLOWER, lambda case: case == "vmalloc-cycle-16K"),
        ("folio_copy", "auto", GAIN, lambda case: not _CPU.search(case)),
        ("streaming_copy", "streaming", GAIN, lambda case: not case.startswith("small")),
        ("streaming_copy", "streaming", SLOWER, lambda case: case.startswith("small")),
    ],
)
def test_ratios_of_the_first_table(
    speedup: str, variant: str, column: int, wanted: Callable[[str], bool]
) -> None:
    ratios = _ratios(speedup, variant, wanted)
    low, high = f"{min(ratios):.2f}", f"{max(ratios):.2f}"
    expected = low if low == high else f"{low} to {high}"
    assert f"{expected} \N{MULTIPLICATION SIGN}" in _cell(speedup, column)


def test_seconds_of_the_first_table() -> None:
    rows = [row for held in _timed("zone_device") for row in held.rows]
    pages = 2**40 // 4096  # of 1 TiB; the large cases are 100 GiB
    for variant in ("auto", "base"):
        each = [
            row.per_item
            for row in rows
            if row.variant == variant and row.case.endswith("100G") and "cpu" not in row.case
            if row.per_item is not None
        ]
        low, high = (f"{pages * ns * 1e-9:.2f}" for ns in (min(each), max(each)))
        assert f"{low} to {high} s" in _cell("zone_device", GAIN)


_CPUS = {
    "Intel Xeon 167": "xeon480-2c",
    "Intel Xeon 207": "xeon300-2c",
    "AMD EPYC Zen 4": "zen4-2c",
    "AMD EPYC Zen 5": "zen5-2c",
}


def test_how_much_longer_movnti_takes_than_wide() -> None:
    """Every line of the table of zone_device's README, as 7.3 on a CPU has it."""
    page = _page("speedups/zone_device/README.md").partition("The time of `movnti` divided")[2]
    header, _, *lines = page.partition("\n\n|")[2].partition("\n\n")[0].splitlines()
    cases = [cell.strip() for cell in header.split("|")[1:-1]]
    assert len(lines) >= 3
    for line in lines:
        first, *cells = [cell.strip() for cell in line.split("|")[1:-1]]
        cpu, _, series = first.rpartition(", ")
        held = record.read(checkout.ROOT / f"results/zone_device-{series}-{_CPUS[cpu]}.json")
        medians = {(row.case, row.variant): row.median for row in held.rows}
        for case, cell in zip(cases, cells, strict=True):
            slow, fast = medians.get((case, "movnti")), medians.get((case, "wide"))
            assert cell == (f"{slow / fast:.2f}" if slow and fast else "-"), (first, case)


@pytest.mark.parametrize(
    ("words", "machine"),
    [("On an AMD EPYC (family 25, Zen 4)", "zen4-2c"), ("On a Xeon of model 207", "xeon300-2c")],
)
def test_ratios_of_memory_hotplug_in_prose(words: str, machine: str) -> None:
    page = _page("speedups/memory_hotplug/README.md").partition("## Numbers")[2]
    cases = re.findall(r"^\| ([a-z]\S+-\S+) \|", page.partition(words)[0], re.M)
    text = " ".join(page.partition(words)[2].split()).partition(" are ")[2].partition(". ")[0]
    held = record.read(checkout.ROOT / f"results/memory_hotplug-7.3-{machine}.json")
    ratios = {row.case: row.ratio.median for row in held.rows if row.ratio}
    quoted = re.findall(r"\d+(?:\.\d+)?", text)
    assert len(quoted) == len(cases) == 8
    for case, number in zip(cases, quoted, strict=True):
        assert number == f"{ratios[case]:.{len(number.partition('.')[2])}f}", case


@pytest.mark.parametrize("speedup", ["zone_device", "folio_copy"])
def test_what_the_core_alone_brings(speedup: str) -> None:
    """The table of the core and of all steps is what results/core/ holds."""
    ratios: dict[tuple[str, str, str], RowRatio | None] = {}
    for machine in ("7.3-zen4-2c", MACHINE):
        held = record.read(checkout.ROOT / f"results/core/{speedup}-{machine}.json")
        ratios |= {(machine, row.case, row.variant): row.ratio for row in held.rows}
    columns = list(itertools.product(("7.3-zen4-2c", MACHINE), ("core", "auto")))
    header = "| case | core, Zen 4 | all steps, Zen 4 | core, Zen 5 | all steps, Zen 5 |"
    page = _page(f"speedups/{speedup}/README.md").partition(header)[2]
    lines = page.partition("\n\n")[0].splitlines()[2:]
    assert len(lines) >= 9
    for line in lines:
        case, *cells = [cell.strip(" `") for cell in line.split("|")[1:-1]]
        for (machine, variant), cell in zip(columns, cells, strict=True):
            ratio = ratios[machine, case, variant]
            assert ratio is not None and ratio.ci95 is not None
            low, high = ratio.ci95
            assert cell == f"{ratio.median:.2f} ({low:.2f} to {high:.2f})", (case, variant)


@pytest.mark.parametrize("speedup", ["zone_device", "folio_copy", "vmap"])
def test_what_each_step_brings(speedup: str) -> None:
    """The table behind each record in results/steps/ that a README names holds its figures."""
    page = _page(f"speedups/{speedup}/README.md")
    names = re.findall(r"\(\.\./\.\./results/(steps/\S+\.json)\)", page)
    assert names
    for name in names:
        held = record.read(checkout.ROOT / "results" / name)
        ratios = {
            (row.case, row.variant.partition(" ")[2]): row.ratio.median
            for row in held.rows
            if row.ratio
        }
        table = page.partition(name)[2].partition("\n\n|")[2].partition("\n\n")[0]
        header, _, *lines = table.splitlines()
        steps = [cell.strip() for cell in header.split("|")[1:-1]]
        assert len(lines) >= 9
        assert {step for _, step in ratios if step} >= set(steps)
        for line in lines:
            case, *cells = [cell.strip(" `") for cell in line.split("|")[1:-1]]
            for step, cell in zip(steps, cells, strict=True):
                assert cell == f"{ratios[case, step]:.2f}", (name, case, step)


def test_what_arm64_takes() -> None:
    """The table of instructions is what the record holds."""
    held = record.read(checkout.ROOT / "results/vmap-7.3-arm64-icount.json")
    rows = {(row.case, row.variant): row for row in held.rows}
    page = _page("speedups/vmap/README.md").partition("auto, times fewer")[2]
    lines = page.partition("\n\n")[0].splitlines()[2:]
    assert len(lines) == len({case for case, _ in rows})
    for line in lines:
        name, *cells = [cell.strip() for cell in line.split("|")[1:-1]]
        case = name.partition(",")[0]
        for variant, cell in zip(("base", "runs", "auto"), cells, strict=False):
            assert float(cell) == pytest.approx(rows[case, variant].per_item, rel=0.005)
        ratio = rows[case, "auto"].ratio
        assert ratio is not None and cells[3] == f"{ratio.median:.2f}"


def test_what_the_machines_allow() -> None:
    """The least and the most of base and `auto`, as a multiple of the limit, in large cases."""
    page = " ".join(_page("results/README.md").partition("## What the machines allow")[2].split())
    for machine in _CPUS.values():
        text = page.partition(f"On `{machine}`")[2].partition("On `")[0]
        held = record.read(checkout.ROOT / f"results/zone_device-7.3-{machine}.json")
        for variant in ("base", "auto"):
            found = [
                row.of_limit.median
                for row in held.rows
                if row.variant == variant and row.case.endswith("100G") and "cpu" not in row.case
                if row.of_limit is not None
            ]
            assert f"{min(found):.2f} to {max(found):.2f} times" in text, (machine, variant)


def test_how_much_longer_auto_takes_than_the_fastest_method() -> None:
    worst = 0.0
    for held in (*_timed("zone_device"), *_timed("zone_device", "[67].[12]*")):
        for entry in compare.entries_of(held):
            medians = {row.variant: row.median for row in entry.rows if row.median is not None}
            worst = max(worst, medians.pop("auto") / min(medians.values()))
    assert f"took {worst:.2f} times" in _page("results/README.md")


@pytest.mark.parametrize("speedup", ["folio_copy", "zone_device"])
def test_where_auto_is_not_the_fastest(speedup: str) -> None:
    best: dict[str, dict[str, str]] = {}
    machines = ("zen4-2c", "zen5-2c", "xeon480-2c", "xeon300-2c")
    for machine in machines:
        held = record.read(checkout.ROOT / f"results/{speedup}-7.3-{machine}.json")
        for row in held.rows:
            if row.of_best is not None and row.of_best.median < 0.95:
                words = f"{row.of_best.median:.2f}, {row.of_best.vs}"
                best.setdefault(row.case, {})[machine] = words
    page = _page(f"speedups/{speedup}/README.md").partition("### Where `auto` is not")[2]
    lines = {
        f"| `{case}` | {' | '.join(found.get(machine, '-') for machine in machines)} |"
        for case, found in best.items()
    }
    listed = re.split(r"\n- |\n\n`auto`", page)[0].splitlines()
    assert {line for line in listed if line.startswith("| `")} == lines


def test_how_many_copies_show_no_clear_gain() -> None:
    """The README and results/README.md count them on the Zen 4."""
    held = record.read(checkout.ROOT / "results/folio_copy-7.3-zen4-2c.json")
    small = [
        row
        for row in held.rows
        if row.variant == "auto" and not _CPU.search(row.case) and "1G" not in row.case
    ]
    unclear = [row for row in small if row.verdict != Verdict.FASTER]
    assert f"{len(unclear)} of {len(small)} cases show no clear gain" in README
    assert f"{len(unclear)} of these {len(small)} cases" in _page("results/README.md")


_FEATURES = {"rep_good only": "-rep_good", "fragile": "-fragile"}


_PARTS = re.compile(
    r"^On an AMD EPYC|^On an Intel Xeon \(family 6 model 207|^### Copy-on-write"
    r"|^### The core alone|^### With CPU features switched off",
    re.M,
)
"""What begins a part of a page whose tables are of another record, or of none that is kept."""


@pytest.mark.parametrize(
    ("speedup", "machine", "part"),
    [
        ("vmap", "7.3-zen4-2c", 0),
        ("folio_copy", "7.3-zen4-2c", 0),
        ("folio_copy", "7.3-zen5-2c", 1),
        ("folio_copy", "7.3-xeon300-2c", 2),
        ("folio_copy", "7.3-zen5-2c", 3),
        ("streaming_copy", "7.3-zen5-2c", 0),
        ("memory_hotplug", "7.3-zen5-2c", 0),
    ],
)
def test_tables_of_a_speedup_hold_what_was_measured(speedup: str, machine: str, part: int) -> None:
    held = record.read(checkout.ROOT / f"results/{speedup}-{machine}.json")
    numbers: dict[str, list[float]] = {}
    for row in held.rows:
        case_numbers = numbers.setdefault(row.case, [])
        case_numbers += [row.per_item] if row.per_item is not None and row.variant == "base" else []
        if speedup == "memory_hotplug" and row.median is not None:
            case_numbers.append(row.median * 1e-6)  # its tables hold milliseconds
        for ratio in (row.ratio, row.of_limit):
            case_numbers += [ratio.median, *(ratio.ci95 or ())] if ratio else []
    text = _PARTS.split(_page(f"speedups/{speedup}/README.md").partition("## Numbers")[2])[part]
    timed = text.partition("**instructions**")[0]  # which the record of another run holds
    quoted = 0
    for line in timed.splitlines():
        first, *cells = [cell.strip(" `*") for cell in line.strip("|").split("|")]
        case = re.split(r"[`,]", first)[0] + _FEATURES.get(cells[0] if cells else "", "")
        if case in numbers:
            measured = numbers[case] + numbers.get(f"{case}-warm", [])
            for number in re.findall(r"\d+(?:\.\d+)?", " ".join(cells)):
                digits = len(number.partition(".")[2])
                assert number in {f"{held:.{digits}f}" for held in measured}, (case, number)
                quoted += 1
    assert quoted >= 12


@pytest.mark.parametrize("page", ["README.md", "docs/table.md"])
def test_excerpts_are_printed_for_the_record(page: str) -> None:
    text = (checkout.ROOT / page).read_text(encoding="utf-8")
    block = text.partition("<!-- transcript -->\n```\n")[2].partition("\n```\n")[0]
    printed = renderer.run(record.read(checkout.ROOT / f"results/zone_device-{MACHINE}.json"))
    assert len(block.splitlines()) >= 6
    for line in block.splitlines():
        assert line in printed.splitlines(), f"{page} shows what is not printed: {line}"


def test_every_speedup_has_a_row_and_the_page_is_short() -> None:
    for manifest in checkout.SPEEDUPS.glob("[!_]*/speedup.toml"):
        assert _cell(Path(manifest).parents[1].name, GAIN).strip()
    assert len(README.splitlines()) <= 120


def _name(page: Path) -> str:
    return str(page.relative_to(checkout.ROOT))


def _subjects(*speedups: str) -> list[str]:
    found = []
    for speedup in speedups:
        text = (checkout.SPEEDUPS / speedup / "speedup.toml").read_text(encoding="utf-8")
        found += [step["subject"] for step in tomllib.loads(text)["step"]]
    return found


def test_commits_that_apply_lists() -> None:
    text = (checkout.ROOT / "docs/apply.md").read_text(encoding="utf-8")
    quoted = re.findall(r"^ {6}(\S.*?) \([^()]*(?:changed|new file)[^()]*\)$", text, re.M)
    assert quoted == _subjects("streaming_copy", "zone_device")
    assert f"mmbatch/zone_device: {len(quoted)} commits" in text


def test_mails_that_export_lists() -> None:
    text = (checkout.ROOT / "docs/export.md").read_text(encoding="utf-8")
    steps = load(checkout.SPEEDUPS / "zone_device")
    optional = len(steps.steps) - len(steps.until(steps.core).steps)
    first, *others = _subjects("streaming_copy", "zone_device")[:-optional]
    slug = re.sub(r"[^A-Za-z0-9._]+", "-", first)[:52]
    assert re.search(rf"^ +0001-{re.escape(slug)}\S*\.patch$", text, re.M)
    assert f"{len(others) + 1} patches and a cover letter" in text


_GENERATED = re.compile(
    r"<!-- (\w+) -->\n.*?<!-- /\1 -->|^ *```.*?^ *```$", re.DOTALL | re.MULTILINE
)
_PAGES = [
    page
    for page in sorted({*checkout.ROOT.glob("*.md"), *checkout.ROOT.glob("*/**/*.md")})
    if not re.search(r"^(tests/|docs/support-matrix)", _name(page))
]


@pytest.mark.parametrize("page", _PAGES, ids=_name)
def test_prose_wraps_at_80_columns(page: Path) -> None:
    text = _GENERATED.sub("", page.read_text(encoding="utf-8"))
    for line in text.splitlines():
        if not line.startswith(("|", "    ", "![")):
            assert len(line) <= 80, line


def test_modules_that_documents_run() -> None:
    named = {
        module
        for page in (*checkout.ROOT.glob("*.md"), *checkout.ROOT.glob("*/*.md"))
        for module in re.findall(r"python3 -m\s+(mmbatch[\w.]*)", page.read_text(encoding="utf-8"))
    }
    assert named
    for module in named:
        assert importlib.util.find_spec(module), f"a document runs {module}"


def test_packages_that_contributing_lists() -> None:
    text = (checkout.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("| package | content |")[2].partition("\n\n")[0]
    held = {path.parent.name for path in (checkout.ROOT / "src/mmbatch").glob("*/__init__.py")}
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.M)) == held


@pytest.mark.parametrize("speedup", [path.parent.name for path in checkout.SPEEDUPS.glob("*/tree")])
def test_files_that_a_speedup_lists(speedup: str) -> None:
    text = (checkout.SPEEDUPS / speedup / "README.md").read_text(encoding="utf-8")
    table = text.partition("| file | content |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    for name in re.findall(r"`([^`]+)`", " ".join(cells)):
        assert any((checkout.SPEEDUPS / speedup).glob(f"**/{name.rstrip('/')}")), name


def _commands() -> list[tuple[str, list[str]]]:
    """Every `./mmbatch ...` of a document, as (document, words after ./mmbatch)."""
    found = []
    for page in _PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for command in re.findall(r"\./mmbatch ((?:[^`\n#|]|\|(?=[a-z]))+)", text):
            words = shlex.split(command.replace("'", " "))
            if words[0] in main.VERBS:
                found.append((_name(page), words))
    return found


def test_options_that_documents_name() -> None:
    unknown = []
    for page, words in _commands():
        verb: click.Command = main.cli
        context = click.Context(verb, **verb.context_settings)
        for word in words:
            held = verb.get_command(context, word) if isinstance(verb, click.Group) else None
            verb = held or verb
        known = {name for option in verb.get_params(context) for name in option.opts}
        options = [word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)]
        unknown += [f"{page}: {' '.join(words)}" for word in options if word not in known]
    assert len(_commands()) > 50
    assert unknown == []
