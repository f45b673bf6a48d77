# SPDX-License-Identifier: GPL-2.0-only
"""The C files of the hosted engine's libc half depend on each other in one direction."""

import re
from graphlib import TopologicalSorter

from mmbatch.core import paths

_DEFINITION = re.compile(r"^(?!static\b)\w[\w *]*?\b(\w+)\([^;]*?\)\n\{", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def sources() -> dict[str, str]:
    host = paths.HOSTED / "host"
    return {path.name: _COMMENT.sub("", path.read_text()) for path in host.glob("*.c")}


def test_no_two_files_need_each_other() -> None:
    files = sources()
    home = {name: file for file, text in files.items() for name in _DEFINITION.findall(text)}
    assert home["hosted_die"] == "die.c" and home["row_run"] == "row.c"  # they are found
    needs = {
        file: {home[word] for word in re.findall(r"\w+", text) if word in home} - {file}
        for file, text in files.items()
    }
    assert needs["faults.c"] >= {"die.c", "emulate.c", "poison.c"}
    assert list(TopologicalSorter(needs).static_order())[-1] == "main.c"
