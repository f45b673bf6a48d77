# SPDX-License-Identifier: GPL-2.0-only
"""The hosted engine's C files depend in one direction, and some configurations are refused."""

import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.hosted import build
from mmbatch.kernel.sources import Source
from mmbatch.splice import manifest

MANIFESTS = [manifest.load(paths.SPEEDUPS / name) for name in manifest.known(paths.SPEEDUPS)]
REQUIRED = [
    (one, text)
    for one in MANIFESTS
    if one.hosted
    for text in (*build.REQUIRES, *one.hosted.requires)
]

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


@pytest.mark.parametrize(
    ("speedup", "text"), REQUIRED, ids=[f"{one.speedup}-{text}" for one, text in REQUIRED]
)
def test_a_configuration_that_cannot_work_is_refused_at_once(
    tmp_path: Path, speedup: manifest.Manifest, text: str
) -> None:
    name, _, value = text.partition("=")
    given = f"{name}={'n' if value == 'y' else 'y'}"
    source = Source("7.3", "7.3.4", tmp_path, "toys", "toys", "1")
    arguments = (Cache(tmp_path / "cache"), source, speedup, paths.HOSTED)
    with pytest.raises(MmbatchError) as caught:
        build.objects(*arguments, ("CONFIG_PRINTK=y", given), 2, pytest.fail)
    assert caught.value.problem.startswith(f"{text} is needed, because ")
    assert caught.value.action.endswith(f"with -K {given}")
    assert caught.value.hint == f"leave out -K {given}"
    assert caught.value.code == ExitCode.USAGE


def test_configurations_that_ended_badly_are_among_the_refused() -> None:
    texts = {text for _, text in REQUIRED}
    bad = {"SMP=y", "NUMA=y", "KASAN=n", "KCSAN=n", "ZONE_DEVICE=y"}
    assert {f"CONFIG_{text}" for text in bad} <= texts
