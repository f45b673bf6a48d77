# SPDX-License-Identifier: GPL-2.0-only
"""Commands with the output that people have seen and agreed to.

Each `*.txt` beside this file is a transcript: a line `% mmbatch ...` is run, and the lines after it
are its standard output, its standard error and its exit code if that is not 0. `% cat FILE` shows a
file that a command wrote, `% same FILE` compares it with the file of that name in this directory.
To accept new output, run the tests with MMBATCH_UPDATE_GOLDEN=1 and read `git diff`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from fake_run import machine as example_machine
from mmbatch.bench import machine, session
from mmbatch.bench.record import Code
from mmbatch.cli import doctor, posted
from mmbatch.cli import main as cli
from mmbatch.core import paths
from mmbatch.hosted import run as hosted
from mmbatch.hosted.program import Program
from mmbatch.kernel import kbuild, sources

HERE = Path(__file__).parent
UPDATE = "MMBATCH_UPDATE_GOLDEN" in os.environ


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory with the records and a series, where nothing is built but `engine.py`."""
    (tmp_path / "results").symlink_to(Path(__file__).with_name("records"))
    (tmp_path / "v2.mbox").write_text("")
    (tmp_path / "tables.md").write_text("Before.\n<!-- results -->\n<!-- /results -->\nAfter.\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MMBATCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    source = sources.Source("7.3", "7.3.4", tmp_path, "linux-source-7.3 7.3.4-1", "toys", "1")
    v2 = SimpleNamespace(source="v2.mbox", sha256="cd" * 32, patches=("toys: faster", "toys: more"))
    side = SimpleNamespace(label="v2", posted=v2, compiled=("mm/toys.o",))

    def path(program: Program) -> Path:
        name = "engine-posted" if program.posted else "engine"
        path = tmp_path / "built" / program.manifest.speedup / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / "engine.py", path)
        return path

    tools = ("ab" * 32, "gcc (Debian) 12.2.0", "ld (Debian) 2.40")
    objects = kbuild.ObjectTree(source, tmp_path, *tools)
    monkeypatch.setattr(Program, "path", property(path))
    monkeypatch.setattr(Program, "objects", objects)
    monkeypatch.setattr(Program, "sides", property(lambda one: (side,) if one.posted else ()))
    monkeypatch.setattr(doctor, "ensure", lambda *_, **__: None)
    monkeypatch.setattr(machine, "describe", lambda: replace(example_machine(), load=0.25))
    monkeypatch.setattr(session, "_code", lambda _: Code())
    monkeypatch.setattr(hosted, "available_memory", lambda _: 1 << 40)
    monkeypatch.setattr(sources, "get", lambda *_: source)
    monkeypatch.setattr(posted, "make_trees", lambda _, asked: [v2] if asked else [])
    return tmp_path


def settled(text: str, place: Path) -> str:
    """Replace what differs between machines, days and commits."""
    text = text.replace(str(place), "DIR").replace(str(paths.ROOT), "ROOT")
    times = r"\b20\d\d-\d\d-\d\d([T ]\d\d:?\d\d[\d:]*(\+\d\d:\d\d)?)?"
    text = re.sub(times, lambda found: re.sub(r"\d", "0", found[0]), text)
    return re.sub(r"^\[ *\d+ s\]", "[  0 s]", text, flags=re.MULTILINE)


def answer(words: list[str], place: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command of a transcript and return what it shows."""
    name, *rest = words
    if name == "mmbatch":
        code = cli.main(rest)
        shown = "".join(capsys.readouterr())
        assert "Traceback" not in shown
        return settled(shown, place) + (f"exit code {code}\n" if code else "")
    (file,) = rest
    content = settled(Path(file).read_text(encoding="utf-8"), place)
    if name == "cat":
        return content
    assert name == "same"
    if UPDATE:
        (HERE / file).write_text(content)
    assert content == (HERE / file).read_text(encoding="utf-8"), file
    return ""


@pytest.mark.parametrize("transcript", sorted(HERE.glob("*.txt")), ids=lambda path: path.stem)
def test_transcript(transcript: Path, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = transcript.read_text(encoding="utf-8")
    new = "".join(line for line in old.splitlines(keepends=True) if line.startswith("# "))
    for line in old.splitlines():
        if line.startswith("% "):
            new += f"\n{line}\n{answer(shlex.split(line[2:]), place, capsys)}"
    if UPDATE:
        transcript.write_text(new)
    assert new == old
