# SPDX-License-Identifier: GPL-2.0-only
"""The tree that guests are built from: a kernel's, with spliced files put into it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from mmbatch.core import process
from mmbatch.core.cache import atomic_write
from mmbatch.kernel.sources import Source
from mmbatch.splice.trees import Spliced

_OVERLAY = "overlay.json"


def prepare(place: Path, source: Source, spliced: Spliced) -> Path:
    """Return a copy of the source at a place that stays, with the spliced files in it.

    A file that is as it should be is left alone: make goes by its time.

    Args:
        place: where the copy stays, in `tree`.
        source: the kernel; a copy of another state of it is made anew.
        spliced: its files that differ.
    """
    tree, record = place / "tree", place / _OVERLAY
    before = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    if before.get("state") != source.state:
        shutil.rmtree(place, ignore_errors=True)
        tree.mkdir(parents=True)
        action = f"copy the tree of Linux {source.release}"
        process.run(["cp", "-al", f"{source.path}/.", tree], action=action)
        before = {"files": []}
    names = sorted({name for step in spliced.steps for name in step.files})
    every = sorted({*names, *before["files"]})
    atomic_write(record, json.dumps({"state": source.state, "files": every}))
    for name in every:
        origin = (spliced.path if name in names else source.path) / name
        put(tree / name, origin.read_bytes() if origin.exists() else None)
    atomic_write(record, json.dumps({"state": source.state, "files": names}))
    return tree


def put(path: Path, content: bytes | None) -> None:
    """Make a file what it should be, never through the link that it may be."""
    if content is None:
        path.unlink(missing_ok=True)
        return
    if path.exists() and path.read_bytes() == content:
        return
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
