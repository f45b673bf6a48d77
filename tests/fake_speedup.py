# SPDX-License-Identifier: GPL-2.0-only
"""A made-up speed-up, for tests of what reads its manifest."""

from __future__ import annotations

from pathlib import Path

GOOD = """
title = "toys in rows"
kernels = ">=6.12,<7.4"
needs = ["shelf"]

[[step]]
name = "rows"
subject = "toys: put them in rows"
body = "They lay about."
files = ["mm/rows.c"]

  [[step.file]]
  kernels = "<7.0"
  from = "compat/rows.h"
  to = "mm/rows.h"

  [[step.rule]]
  cocci = "rows.cocci"
  file = "mm/toys.c"
  function = "toy"
  matches = { call = 2 }
  marks = { call = '^\\+rows' }

  [[step.edit]]
  when = { file = "mm/toys.c", function = "toy", line = "red|blue" }
  file = "mm/Makefile"
  op = "after"
  line = "toys"
  text = "rows"
  matches = 1

[hosted]
objects = ["mm/toys.o"]
"""


def make_speedup(speedups: Path, text: str = GOOD, name: str = "toy") -> Path:
    directory = speedups / name
    for file in ("tree/mm/rows.c", "compat/rows.h", "splice/rows.cocci"):
        (directory / file).parent.mkdir(parents=True, exist_ok=True)
        (directory / file).touch()
    (directory / "speedup.toml").write_text(text)
    return directory
