# SPDX-License-Identifier: GPL-2.0-only
from mmbatch.core.errors import MmbatchError, message


def test_an_error_is_two_lines_whatever_it_quotes() -> None:
    error = MmbatchError("read -K A=y\nB=y", "make failed:\n\tno rule.\n", "see '/my  logs/x'.")
    assert message(error) == (
        "error: cannot read -K A=y B=y: make failed: no rule\nhint: see '/my  logs/x'"
    )
