# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch report` on records that somebody changed: an answer or an error, never a traceback."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mmbatch.bench import store
from mmbatch.cli import main as cli
from mmbatch.core import paths as checkout
from mmbatch.core.errors import ExitCode

RESULTS = checkout.ROOT / "results"
GOOD = RESULTS / "streaming_copy-7.3-zen5-2c.json"
SOURCES = (GOOD, RESULTS / "zone_device-7.3-icount.json", RESULTS / "zone_device-7.2-zen4-2c.json")
OUTPUTS = (["--text"], ["--cover"], ["--svg"], ["-o"], ["--markdown"])

MUTATIONS = 2_000
_ODD: list[Any] = [
    None, True, "", " ", "x", "\ud800", "\0", "../..", "a|b`<b>&", "9" * 5000,
    "\N{SUPERSCRIPT TWO}",
    0, -1, 1, 0.0, -0.5, 5e-324, 1e-18, 1e18, 1e308, 2**63 - 1, 2**63, 10**400, 1.0000001,
    [], {}, [1.0, 1.0], [0.5, 0.4], [[[[]]]],
]  # fmt: skip
_RAW = [b"", b"[", b"}", b'"', b"\xff", b"1e999", b"NaN", b"[" * 5000, b"9" * 5000]


def _places(container: Any) -> list[tuple[Any, Any]]:
    """Return each (container, key) of a JSON value; of long lists of numbers, one place only."""
    items = container.items() if isinstance(container, dict) else list(enumerate(container))
    found = []
    for key, value in items:
        found.append((container, key))
        if isinstance(value, (dict, list)):
            found += _places(value)
        elif isinstance(container, list) and isinstance(value, int):
            break
    return found


def _change(document: Any, choose: random.Random) -> None:
    """Change one place: another value, that of another place, nothing, or twice the same."""
    places = _places(document)
    held, key = choose.choice(places)
    kind = choose.randrange(5)
    if kind < 2:
        held[key] = choose.choice(_ODD)
    elif kind == 2:
        number = held[key]
        factor = choose.choice((-1, 0, 1e-9, 0.5, 2, 1e9))
        held[key] = number * factor if type(number) is float else choose.choice(_ODD)
    elif kind == 3:
        other, name = choose.choice(places)
        held[key] = json.loads(json.dumps(other[name]))
    elif isinstance(held, list) and choose.randrange(2):
        held.append(held[key])
    else:
        del held[key]


def _mutant(sources: list[str], choose: random.Random) -> bytes:
    text = choose.choice(sources)
    if choose.randrange(8) == 0:
        raw = bytearray(text.encode())
        at = choose.randrange(len(raw))
        raw[at : at + choose.randrange(3)] = choose.choice(_RAW)
        return bytes(raw[: choose.choice((at, None))])
    document = json.loads(text)
    for _ in range(choose.choice((1, 1, 1, 3))):
        if not document:
            break
        _change(document, choose)
    return json.dumps(document).encode()


def _report(record: Path, words: list[str], directory: Path) -> tuple[int, Path | None]:
    """Return how `report` ends, and the file that it should write."""
    file = None if words[0] in ("--text", "--cover") else directory / "out"
    if words == ["--markdown"] and file is not None:
        file.write_text("<!-- results -->\n<!-- /results -->\n")
    return cli.main(["report", str(record), *words, *([str(file)] if file else [])]), file


def test_changed_records_are_shown_or_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    choose = random.Random(20_240_817)
    sources = [path.read_text(encoding="utf-8") for path in SOURCES]
    record = tmp_path / "record.json"
    codes: Counter[int] = Counter()
    for number in range(MUTATIONS):
        record.write_bytes(_mutant(sources, choose))
        (tmp_path / "out").unlink(missing_ok=True)
        code, file = _report(record, OUTPUTS[number % len(OUTPUTS)], tmp_path)
        shown = capsys.readouterr()
        codes[code] += 1
        assert code in (ExitCode.GOOD, ExitCode.FAILED), shown.err
        if code == ExitCode.GOOD:
            content = file.read_text(encoding="utf-8") if file else shown.out
            assert len(content) > 500
        else:
            assert shown.err.startswith("error: cannot "), shown.err
            assert "\nhint: " in shown.err
            assert shown.out == ""
    assert min(codes[ExitCode.GOOD], codes[ExitCode.FAILED]) > MUTATIONS // 10


def test_what_could_block_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        assert cli.main(["report", str(path)]) == ExitCode.FAILED
        assert f"cannot read {path}: it is not a regular file" in capsys.readouterr().err


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_samples_that_cannot_be_read_are_reported(
    make: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / store.RECORD).write_bytes(GOOD.read_bytes())
    make(tmp_path / store.SAMPLES)
    page = tmp_path / "page.html"
    assert cli.main(["report", str(tmp_path), "-o", str(page)]) == ExitCode.FAILED
    shown = capsys.readouterr()
    assert "its record CANNOT BE COMPARED with the samples.jsonl" in shown.err
    for text in (shown.out, page.read_text(encoding="utf-8")):
        assert "CANNOT BE COMPARED" in " ".join(text.split())


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_tables_need_a_file(make: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    make(page)
    assert cli.main(["report", str(GOOD), "--markdown", str(page)]) == ExitCode.USAGE
    assert "it is not a regular file\nhint: name a file that has" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["-o", "--svg", "--markdown"])
def test_no_directory_is_made_for_a_file_of_the_user(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "x/y/file"
    assert cli.main(["report", str(GOOD), option, str(place)]) == ExitCode.FAILED
    shown = capsys.readouterr()
    assert f"error: cannot write results into {place.parent}" in shown.err
    assert f"with {option}" in shown.err
    assert shown.out == ""
    assert list(tmp_path.iterdir()) == []
