# SPDX-License-Identifier: GPL-2.0-only
import errno
import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from mmbatch.cli import main as cli
from mmbatch.core.errors import ExitCode, MmbatchError


def test_help_lists_every_verb_and_imports_none() -> None:
    code = (
        "import sys\nfrom mmbatch.cli.main import main\nmain(['--help'])\n"
        "heavy = ['rich', 'numpy', 'mmbatch.cli.doctor', 'mmbatch.cli.options']\n"
        "sys.exit(','.join(name for name in heavy if name in sys.modules) or 0)"
    )
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for verb, text in cli.VERBS.items():
        assert verb in done.stdout
        assert text in done.stdout


@pytest.fixture
def verb(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], int]:
    """Run a function as if it were the body of a verb."""

    def as_verb(body: Callable[[], object]) -> int:
        command = click.Command("doctor", callback=body)
        monkeypatch.setattr(
            importlib, "import_module", lambda name: SimpleNamespace(command=command)
        )
        return cli.main(["doctor"])

    return as_verb


def raising(error: BaseException) -> Callable[[], object]:
    def body() -> object:
        raise error

    return body


Verb = Callable[[Callable[[], object]], int]


@pytest.mark.parametrize("code", list(ExitCode))
def test_errors_become_an_error_and_a_hint(
    verb: Verb, capsys: pytest.CaptureFixture[str], code: ExitCode
) -> None:
    assert verb(raising(MmbatchError("fetch a", "no b", "do c", code))) == code
    assert capsys.readouterr().err == "error: cannot fetch a: no b\nhint: do c\n"


@pytest.mark.parametrize(
    ("name", "words"),
    [("/some/file", "cannot write /some/file: No space left"), (None, "cannot write the output")],
)
def test_a_full_disk(
    verb: Verb, capsys: pytest.CaptureFixture[str], name: str | None, words: str
) -> None:
    assert verb(raising(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name))) == 1
    output = capsys.readouterr().err
    assert words in output
    assert output.count("\n") == 2


@pytest.mark.parametrize("arguments", ["--help", "bench --help", "doctor"])
def test_a_reader_that_leaves_is_no_error(arguments: str, tmp_path: Path) -> None:
    command = f"'{sys.executable}' -m mmbatch {arguments}"
    script = f"{{ sleep 0.3; exec {command}; }} | true; echo ${{PIPESTATUS[0]}}"
    env = {"MMBATCH_CACHE": f"{tmp_path}/cache", "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **env},
    )
    assert (done.stdout, done.stderr) == ("141\n", "")


SLOW = """
import sys, time, importlib
from types import SimpleNamespace
import click
from mmbatch.cli import main as cli
def body():
    try:
        print("ready", flush=True)
        time.sleep(60)
    finally:
        print("cleaned", flush=True)
made = click.Command("doctor", callback=body)
cli.importlib = SimpleNamespace(import_module=lambda name: SimpleNamespace(command=made))
sys.exit(cli.main(["doctor"]))
"""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_signals_clean_up(number: signal.Signals, code: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    assert out == "cleaned\n"
    assert err == "mmbatch: interrupted; nothing was left half-written\n"
    assert process.returncode == code
