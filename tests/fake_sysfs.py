# SPDX-License-Identifier: GPL-2.0-only
"""Made-up trees of sysfs, of the text files in tests/data/sysfs."""

from __future__ import annotations

from pathlib import Path

_DATA = Path(__file__).parent / "data/sysfs"


def make_sysfs(name: str, root: Path) -> Path:
    """Make the tree NAME.txt in a new directory and return it."""
    for line in (_DATA / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if " -> " in line:
            link, target = line.split(" -> ")
            _above(root / link).symlink_to(target)
        else:
            file, content = line.split(" =", 1)
            if file.endswith("/"):
                (root / file).mkdir(parents=True)
            else:
                _above(root / file).write_text(f"{content.strip()}\n")
    dangling = [path for path in root.rglob("*") if path.is_symlink() and not path.exists()]
    assert not dangling
    return root


def _above(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
