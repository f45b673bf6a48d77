# SPDX-License-Identifier: GPL-2.0-only
from pathlib import Path

import pytest

from mmbatch import checkout, cli, support
from mmbatch.interval import Interval
from mmbatch.manifest import load
from test_manifest import GOOD, make_room

PAGE = checkout.ROOT / "docs" / "support-matrix.md"


def test_the_committed_page_is_what_the_manifests_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == support.page(checkout.SPEEDUPS), (
        "make it anew: ./mmbatch apply --matrix > docs/support-matrix.md"
    )


def test_the_hidden_option_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["apply", "--matrix"]) == 0
    assert capsys.readouterr().out == support.page(checkout.SPEEDUPS)


def test_every_hook_has_a_row_with_the_kernels_that_all_levels_allow(tmp_path: Path) -> None:
    rows = list(support.rows(load(make_room(tmp_path))))
    all_of_them = Interval((6, 12), (7, 4))
    assert rows == [
        support.Row("rows", "new file", "mm/rows.c", "", None, all_of_them),
        support.Row(
            "rows",
            "new file, if toy() has red|blue",
            "mm/rows.h",
            "",
            None,
            Interval((6, 12), (7, 0)),
        ),
        support.Row("rows", "rows.cocci: call", "mm/toys.c", "toy", 2, all_of_them),
        support.Row("rows", "edit: after", "mm/Makefile", "", 1, all_of_them),
    ]


def test_the_page_is_a_table_that_markdown_reads(tmp_path: Path) -> None:
    text = GOOD.replace('needs = ["shelf"]\n', "").replace('"<7.0"', '">=7.3"')
    make_room(tmp_path, text.replace('">=6.12,<7.4"', '">=7.2,<7.4"'))
    page = support.page(tmp_path)
    assert "| toy | no | yes | yes | `>=7.2,<7.4` |  |\n" in page
    assert "## toy: toys in rows\n" in page
    assert "| rows | new file, if toy() has red\\|blue | `mm/rows.h` |  |  | `>=7.3,<7.4` |" in page
    for line in page.splitlines():
        if line.startswith("| rows"):
            assert line.replace("\\|", "").count("|") == 7
