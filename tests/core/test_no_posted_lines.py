# SPDX-License-Identifier: GPL-2.0-only
"""No three lines in a row are those that a posted series adds, of those that are measured here.

`data/posted-lines.sha256` has the sums of each three such lines, of v11 for ZONE_DEVICE, v7 for
vmap() and its fix, the helpers of the folio_copy RFC, CLZERO and MOVNT for clear_pages(), and the
first and last series for zone->contiguous. Their text is not kept.
"""

import hashlib
from collections.abc import Iterator, Sequence

from expect import printed
from mmbatch.core.paths import ROOT

LEAST = 30  # characters; shorter ones are any function's end
SUMS = set((ROOT / "tests/data/posted-lines.sha256").read_text().split())


def windows(lines: Sequence[str]) -> Iterator[str]:
    bare = [" ".join(line.removeprefix("+").split()) for line in lines]
    for three in zip(bare, bare[1:], bare[2:], strict=False):
        if sum(map(len, three)) >= LEAST:
            yield hashlib.sha256("\n".join(three).encode()).hexdigest()


def test_no_posted_lines_are_here() -> None:
    assert set(windows(["+static inline int no_such_function(void)", "{", "+\treturn 0;"]))
    for name in printed("git", "ls-files", cwd=ROOT).splitlines():
        path = ROOT / name
        if path.suffix not in (".json", ".svg") and path.is_file():
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            assert SUMS.isdisjoint(windows(lines)), name
