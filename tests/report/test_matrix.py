# SPDX-License-Identifier: GPL-2.0-only
from pathlib import Path

import pytest

from fake_speedup import GOOD, make_speedup
from mmbatch.cli import main as cli
from mmbatch.core import paths as checkout
from mmbatch.core.interval import Interval
from mmbatch.report import matrix
from mmbatch.splice.manifest import load

PAGE = checkout.ROOT / "docs" / "support-matrix.md"


def test_the_committed_page_is_what_the_manifests_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == matrix.page(checkout.SPEEDUPS), (
        "recreate it: ./mmbatch apply --matrix > docs/support-matrix.md"
    )


def test_the_hidden_option_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["apply", "--matrix"]) == 0
    assert capsys.readouterr().out == matrix.page(checkout.SPEEDUPS)


def test_every_hook_has_a_row_with_the_kernels_that_all_levels_allow(tmp_path: Path) -> None:
    rows = list(matrix.rows(load(make_speedup(tmp_path))))
    all_of_them = Interval((6, 12), (7, 4))
    assert rows == [
        matrix.Row("rows", "new file", "mm/rows.c", "", None, all_of_them),
        matrix.Row("rows", "new file", "mm/rows.h", "", None, Interval((6, 12), (7, 0))),
        matrix.Row("rows", "rows.cocci: call", "mm/toys.c", "toy", 2, all_of_them),
        matrix.Row("rows", "edit: after, if toy() has red|blue", "mm/Makefile", "", 1, all_of_them),
    ]


def test_the_page_is_a_table_that_markdown_reads(tmp_path: Path) -> None:
    text = GOOD.replace('needs = ["shelf"]\n', "").replace('"<7.0"', '">=7.3"')
    make_speedup(tmp_path, text.replace('">=6.12,<7.4"', '">=7.2,<7.4"'))
    page = matrix.page(tmp_path, tmp_path / "none.json")
    assert "| toy | no | yes | yes | `>=7.2,<7.4` |  |\n" in page
    assert "## toy: toys in rows\n" in page
    assert "| rows | new file | `mm/rows.h` |  |  | `>=7.3,<7.4` |" in page
    assert "| rows | edit: after, if toy() has red\\|blue | `mm/Makefile` |  | 1 |" in page
    for line in page.splitlines():
        if line.startswith("| rows"):
            assert line.replace("\\|", "").count("|") == 7


def test_what_a_run_saw_stands_beside_what_it_did_not_try(tmp_path: Path) -> None:
    make_speedup(tmp_path, GOOD.replace('needs = ["shelf"]\n', ""))
    log = matrix.Log()
    log.stages = [matrix.Stage("equality", True), matrix.Stage("guests", False)]
    log.checks = [
        matrix.Checked("toy", "7.3.4", "x86_64", 5, 0, 2, 12345, 3),
        matrix.Checked("toy", "7.2.12", "x86_64", 5, 1, 0, 12345, 0),
        matrix.Checked("other", "6.12.1", "x86_64", 5, 0, 0, 99, 0),
    ]
    log.boots = [
        matrix.Boot("toy", "7.3.4", "x86_64", "plain", True, ("toy",), 7, 1),
        matrix.Boot("toy", "7.3.4", "x86_64", "kasan", False, ("toy",), 7, 1),
        matrix.Boot("toy", "7.3.4", "arm64", "plain", True, (), 0, 0),
    ]
    log.lives = [
        matrix.Live("6.12.95-amd64", ("toy", "other"), True, 31, 3),
        matrix.Live("7.3.4-amd64", ("toy",), False, 30, 3),
    ]
    log.write(tmp_path / "ci.json")
    page = matrix.page(tmp_path, tmp_path / "ci.json")
    assert [line for line in page.splitlines() if line.startswith("| toy | ")][1:] == [
        "| toy | 6.12 | x86_64 | not tried | not tried |",
        "| toy | 6.12 | arm64 | not tried | not tried |",
        "| toy | 7.2.12 | x86_64 | **1 failed** | not tried |",
        "| toy | 7.2 | arm64 | not tried | not tried |",
        "| toy | 7.3.4 | x86_64 | 12,345 inputs, 3 mutants, 2 skipped "
        "| plain: 7 cases, 1 skipped; kasan: **failed** |",
        "| toy | 7.3.4 | arm64 | not tried | plain: no suite |",
    ]
    assert "Of the stages these failed: guests." in page
    assert "- toy, other into 6.12.95-amd64: 31 checks passed, loaded and unloaded 3 " in page
    assert "- toy into 7.3.4-amd64: **failed**\n" in page


def test_guests_of_other_kernels_are_another_run(tmp_path: Path) -> None:
    make_speedup(tmp_path, GOOD.replace('needs = ["shelf"]\n', ""))
    log = matrix.Log([matrix.Stage("the tool", True), matrix.Stage("guests", True)])
    log.boots = [matrix.Boot("toy", "7.3.4", "x86_64", "plain", True, ("toy",), 7, 1)]
    log.write(tmp_path / "ci.json")
    log.stages = [matrix.Stage("guests", True)]
    log.boots = [matrix.Boot("toy", "7.2.12", "x86_64", "plain", True, ("toy",), 6, 0)]
    log.write(tmp_path / "ci.json")
    page = matrix.page(tmp_path, tmp_path / "ci.json")
    assert "\nGuests of 7.2.12: `mmbatch guest test`\nof commit " in page
    assert "| toy | 7.2.12 | x86_64 | not tried | plain: 6 cases |" in page
    assert "| toy | 7.3.4 | x86_64 | not tried | plain: 7 cases, 1 skipped |" in page


def test_a_run_without_livepatches_says_so(tmp_path: Path) -> None:
    make_speedup(tmp_path, GOOD.replace('needs = ["shelf"]\n', ""))
    matrix.Log().write(tmp_path / "ci.json")
    page = matrix.page(tmp_path, tmp_path / "ci.json")
    assert "while it ran ([live.md](live.md)):\n\n- not tried\n" in page


def test_without_a_kept_run_the_page_says_so(tmp_path: Path) -> None:
    make_speedup(tmp_path, GOOD.replace('needs = ["shelf"]\n', ""))
    assert "`docs/support-matrix.json` is missing" in matrix.page(tmp_path, tmp_path / "ci.json")
