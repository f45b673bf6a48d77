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

import mmbatch
from mmbatch.cli import main as cli
from mmbatch.core.console import Console, output_options
from mmbatch.core.errors import ExitCode, MmbatchError

SOURCES = str(Path(mmbatch.__file__).parents[1])


def call(*arguments: str, **env: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "mmbatch", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ, PYTHONPATH=SOURCES, **env),
    )


def test_help_lists_every_verb_and_imports_none() -> None:
    code = (
        "import sys\nfrom mmbatch.cli.main import main\nmain(['--help'])\n"
        "heavy = ['rich', 'numpy', 'mmbatch.cli.doctor', 'mmbatch.kernel.sources']\n"
        "sys.exit(','.join(name for name in heavy if name in sys.modules) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ, PYTHONPATH=SOURCES),
    )
    assert (done.returncode, done.stderr) == (0, "")
    for verb, text in cli.VERBS.items():
        assert verb in done.stdout
        assert text in done.stdout


@pytest.mark.parametrize("verb", ["doctor", "test"])
def test_every_verb_has_quiet_and_verbose(verb: str) -> None:
    done = call(verb, "--help")
    assert done.returncode == 0
    assert "--quiet" in done.stdout
    assert "--verbose" in done.stdout


def test_version() -> None:
    assert call("--version").stdout == "mmbatch, version 0.1.0\n"


@pytest.mark.parametrize(
    "arguments", [["no-such-verb"], ["doctor", "--no-such-option"], ["doctor", "-q", "-v"]]
)
def test_usage_errors(arguments: list[str]) -> None:
    done = call(*arguments)
    assert done.returncode == 2
    assert "Error" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def verb(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], int]:
    """Run a function as if it were the body of a verb."""

    def as_verb(body: Callable[[], object]) -> int:
        made = click.Command("doctor", callback=body)
        monkeypatch.setattr(importlib, "import_module", lambda name: SimpleNamespace(command=made))
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


@pytest.mark.parametrize(("result", "code"), [(None, 0), (0, 0), (4, 4), (ExitCode.SPLICE, 3)])
def test_what_a_verb_returns_is_the_exit_code(verb: Verb, result: object, code: int) -> None:
    assert verb(lambda: result) == code


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_interrupt(verb: Verb, capsys: pytest.CaptureFixture[str], error: BaseException) -> None:
    assert verb(raising(error)) == 130
    assert "interrupted; nothing was left half-written\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "disk is full"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "no permission"),
    ],
)
def test_disk_errors_are_told(
    verb: Verb, capsys: pytest.CaptureFixture[str], code: int, words: str
) -> None:
    assert verb(raising(OSError(code, os.strerror(code), "/some/file"))) == 1
    said = capsys.readouterr().err
    assert words in said
    assert "/some/file" in said
    assert said.count("\n") == 2


def test_our_own_mistakes_keep_their_traceback(verb: Verb) -> None:
    with pytest.raises(OSError, match="bad address"):
        verb(raising(OSError(errno.EFAULT, "bad address")))


@pytest.mark.parametrize("arguments", ["--help", "bench --help", "apply --matrix", "doctor"])
def test_a_reader_that_leaves_is_no_error(arguments: str, tmp_path: Path) -> None:
    script = f"'{sys.executable}' -m mmbatch {arguments} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=dict(
            os.environ,
            PYTHONPATH=SOURCES,
            PYTHONUNBUFFERED="1",
            MMBATCH_CACHE=str(tmp_path / "cache"),
        ),
    )
    assert (done.stdout, done.stderr) == ("141\n", "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(closed: str, tmp_path: Path) -> None:
    script = f"'{sys.executable}' -m mmbatch doctor --json '{tmp_path}/out' {closed}"
    done = subprocess.run(
        ["sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ, PYTHONPATH=SOURCES, MMBATCH_CACHE=str(tmp_path / "cache")),
    )
    assert done.returncode in (0, 1)
    assert "Traceback" not in done.stderr
    assert (tmp_path / "out").read_text().startswith("{")


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
        [sys.executable, "-c", SLOW],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ, PYTHONPATH=SOURCES),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(number)
    out, err = process.communicate(timeout=10)
    assert out == "cleaned\n"
    assert "Traceback" not in err
    assert "interrupted" in err
    assert process.returncode == code


@pytest.mark.parametrize("locale", ["C", "de_DE.ISO-8859-1", "POSIX"])
def test_other_locales(locale: str, tmp_path: Path) -> None:
    cache = str(tmp_path / "f\N{LATIN SMALL LETTER U WITH DIAERESIS}r")
    done = call("doctor", LC_ALL=locale, PYTHONIOENCODING="ascii", MMBATCH_CACHE=cache)
    assert done.returncode in (0, 1)
    assert "Traceback" not in done.stderr
    assert "cache folder" in done.stdout


def test_console_lines(capsys: pytest.CaptureFixture[str]) -> None:
    for verbosity in (-1, 0, 1):
        console = Console(verbosity)
        console.say(f"phase {verbosity} [bold]")
        console.detail(f"detail {verbosity}")
        with console.progress(f"work {verbosity}", total=3, unit="files") as progress:
            progress.advance()
            progress.update(2, "now")
        console.result(f"result {verbosity} [bold] " + 300 * "x")
    said = capsys.readouterr()
    assert said.err.splitlines() == [
        "[  0 s] phase 0 [bold]",
        "[  0 s] work 0 (3 files)",
        "[  0 s] phase 1 [bold]",
        "[  0 s] detail 1",
        "[  0 s] work 1 (3 files)",
    ]
    assert [line[:16] for line in said.out.splitlines()] == [
        "result -1 [bold]",
        "result 0 [bold] ",
        "result 1 [bold] ",
    ]


@pytest.mark.parametrize(("arguments", "verbosity"), [([], 0), (["-q"], -1), (["-v"], 1)])
def test_output_options(arguments: list[str], verbosity: int) -> None:
    seen: list[int] = []

    @click.command()
    @output_options
    def made(console: Console) -> None:
        seen.append(console.verbosity)

    made.main(arguments, standalone_mode=False)
    assert seen == [verbosity]
