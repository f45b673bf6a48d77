# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own test_vmalloc in guests: how it is asked, and what it has to tell."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from mmbatch.core.errors import MmbatchError

_PARAMETERS = {
    # All but those that are there to fail.
    "run_test_mask": 0b1_0111_1011_1111,
    "test_loop_count": 60,
    "nr_threads": 2,
    "nr_pages": 512,
    "use_huge": 1,
    "nr_pcpu_objects": 500,
}
_FILE = "lib/test_vmalloc.c"
_KCONFIG = "lib/Kconfig.debug"
_ENTRY = re.compile(r"^config TEST_VMALLOC\n((?:[ \t].*\n|\n)*)", re.MULTILINE)
_ONLY_A_MODULE = re.compile(r"^\s+depends on m$", re.MULTILINE)
_NAME = re.compile(r'^\s*\{ "(\w+)", \w+', re.MULTILINE)

ON = tuple(f"test_vmalloc.{name}={value}" for name, value in _PARAMETERS.items())
"""For a kernel that has it built in."""

OFF = "test_vmalloc.run_test_mask=0"


def settings(tree: Path) -> dict[str, str]:
    """Return the shell variables of guest/scripts/vmalloc.sh for a kernel's source."""
    return {
        "VMALLOC": " ".join(f"{name}={value}" for name, value in _PARAMETERS.items()),
        "VMALLOC_TOLD": str(len(chosen(tree)) * _PARAMETERS["nr_threads"]),
    }


def chosen(tree: Path) -> list[str]:
    """Return the names of the tests that run, of those that a kernel's source has.

    Raises:
        MmbatchError: the source has none where they are looked for.
    """
    path = tree / _FILE
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    names = _NAME.findall(text)
    if not names:
        raise MmbatchError(
            "see which tests test_vmalloc has",
            f"no list of tests in {_FILE}",
            "look whether the kernel has them elsewhere now",
        )
    mask = _PARAMETERS["run_test_mask"]
    return [name for bit, name in enumerate(names) if mask >> bit & 1]


def only_a_module(tree: Path) -> bool:
    """Tell whether a kernel's source has it as a module only, so that a program has to load it."""
    path = tree / _KCONFIG
    entry = _ENTRY.search(path.read_text(encoding="utf-8")) if path.exists() else None
    return entry is not None and _ONLY_A_MODULE.search(entry[1]) is not None


def absent(tree: Path, passed: Iterable[str]) -> list[str]:
    """Return a sentence for each test that runs and is not among what passed."""
    there = set(passed)
    return [
        f"test_vmalloc.{name}: it did not pass"
        for name in chosen(tree)
        if f"test_vmalloc.{name}" not in there
    ]
