# SPDX-License-Identifier: GPL-2.0-only
import contextlib
import errno
import importlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
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


@pytest.mark.parametrize("verb", ["doctor", "check"])
def test_every_verb_has_quiet_and_verbose(verb: str) -> None:
    done = call(verb, "--help")
    assert done.returncode == 0
    assert "--quiet" in done.stdout
    assert "--verbose" in done.stdout


def test_version() -> None:
    assert call("--version").stdout == "mmbatch, version 0.1.0\n"


def test_without_a_verb_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) in (0, 2)  # as the version of click has it
    output = "".join(capsys.readouterr())
    assert "Exit codes: 0 good" in output
    assert "hint:" not in output


def every_command(
    group: click.Group = cli.cli, name: str = "mmbatch"
) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group, info_name=name)
    for verb in group.list_commands(context):
        command = group.get_command(context, verb)
        assert command is not None
        yield f"{name} {verb}", command
        if isinstance(command, click.Group):
            yield from every_command(command, f"{name} {verb}")


VERB_OF_HELP = re.compile(
    "(Add|Begin|Bind|Boot|Build|Change|Check|Count|Delete|End|Give|Install|Leave|List|Load|Make|Measure|"
    "Name|Number|Only|Plug|Print|Put|Read|Run|Seed|Set|Show|Switch|Use|Wait|Write) "
)


def test_help_is_one_line_a_verb_first() -> None:
    texts = [
        (f"{name} {option.opts[-1]}", option.help or "")
        for name, command in every_command()
        for option in command.params
        if isinstance(option, click.Option) and not option.hidden
    ]
    assert len(texts) > 50
    wrong = [
        f"{name}: {text}"
        for name, text in texts
        if not VERB_OF_HELP.match(text) or text.endswith(".") or "\n" in text
    ]
    assert wrong == []


def test_every_verb_with_a_result_writes_json() -> None:
    without = [
        name
        for name, command in every_command()
        if not isinstance(command, click.Group)
        and not any("--json" in option.opts for option in command.params)
    ]
    # A report is made from JSON: from each run's bench.json.
    assert without == ["mmbatch completion", "mmbatch report"]


def test_the_line_of_a_verb_fits_80_columns() -> None:
    lines = [(name, command.short_help or "") for name, command in every_command()]
    assert len(lines) > 15
    wrong = [
        f"{name}: {line}"
        for name, line in lines
        if not re.match("[A-Z]", line) or line.endswith(".") or len(line) > 62
    ]
    assert wrong == []


def test_a_file_that_is_standard_output_is_alone_there(tmp_path: Path) -> None:
    done = call("doctor", "--json", "-")
    answer = json.loads(done.stdout)
    assert (answer["schema"], answer["command"]) == (1, "doctor")
    assert all(check["name"] in done.stderr for check in answer["checks"])
    file = tmp_path / "out.json"
    done = call("doctor", "--json", str(file))
    assert json.loads(file.read_text())["checks"][0] == answer["checks"][0]
    assert answer["checks"][0]["name"] in done.stdout


@pytest.mark.parametrize("columns", [60, 72, 100])
def test_a_table_fits_the_terminal(columns: int) -> None:
    """Run the doctor on a terminal of some columns, where no line may be longer."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm", NO_COLOR="1", PYTHONPATH=SOURCES, COLUMNS=str(columns))
        program = "from mmbatch.core.console import Console; Console().table([(%r, %r)] * 3)"
        text = program % ("missing", " ".join(["word"] * 40))
        os.execv(sys.executable, [sys.executable, "-c", text])
    output = b""
    with contextlib.suppress(OSError):
        while more := os.read(terminal, 4096):
            output += more
    os.waitpid(pid, 0)
    lines = re.sub(rb"\x1b\[[0-9;]*m", b"", output).decode().splitlines()
    assert sum(line.count("word") for line in lines) == 120
    assert max(len(line.rstrip()) for line in lines) <= columns
    assert max(len(line.rstrip()) for line in lines) > columns - 10


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
        (errno.EACCES, "cannot access a file: /some/file: permission is denied"),
        (errno.ELOOP, "links form a loop"),
        (errno.EIO, "reading or writing failed\nhint: see the kernel's messages"),
        (errno.ESTALE, "hint: run it again"),
        (errno.ENOENT, "No such file or directory\nhint: choose another place"),
        (errno.EEXIST, "something else is in its place\nhint: choose another place"),
        (errno.ENOTDIR, "not a directory\nhint: choose another place"),
        (errno.EFBIG, "ulimit -f"),
        (errno.EMFILE, "ulimit -n"),
        (errno.ENAMETOOLONG, "the name is too long\nhint: choose a shorter name"),
    ],
)
def test_disk_errors_are_told(
    verb: Verb, capsys: pytest.CaptureFixture[str], code: int, words: str
) -> None:
    assert verb(raising(OSError(code, os.strerror(code), "/some/file"))) == 1
    output = capsys.readouterr().err
    assert words in output
    assert "/some/file" in output
    assert "XDG_CACHE_HOME" not in output
    assert output.count("\n") == 2


@pytest.mark.parametrize(
    ("code", "action", "hint"),
    [
        (errno.ENOSPC, "write the output", "free some space"),
        (errno.EFBIG, "write the output", "ulimit -f"),
        (errno.EIO, "write the output", "dmesg"),
        (errno.EMFILE, "access a file", "ulimit -n"),
    ],
)
def test_what_fails_without_a_name_is_told(
    verb: Verb, capsys: pytest.CaptureFixture[str], code: int, action: str, hint: str
) -> None:
    assert verb(raising(OSError(code, os.strerror(code)))) == 1
    output = capsys.readouterr().err
    assert output.startswith(f"error: cannot {action}: ")
    assert hint in output
    assert output.count("\n") == 2


def test_our_own_mistakes_keep_their_traceback(verb: Verb) -> None:
    with pytest.raises(OSError, match="bad address"):
        verb(raising(OSError(errno.EFAULT, "bad address")))


def shell(
    script: str, tmp_path: Path, *, cwd: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run a script that calls mmbatch with a cache of its own."""
    return subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=dict(os.environ, PYTHONPATH=SOURCES, MMBATCH_CACHE=str(tmp_path / "cache"), **env),
    )


@pytest.mark.parametrize("arguments", ["--help", "bench --help", "apply --matrix", "doctor"])
def test_a_reader_that_leaves_is_no_error(arguments: str, tmp_path: Path) -> None:
    command = f"'{sys.executable}' -m mmbatch {arguments}"
    script = f"{{ sleep 0.3; exec {command}; }} | true; echo ${{PIPESTATUS[0]}}"
    done = shell(script, tmp_path, PYTHONUNBUFFERED="1")
    assert (done.stdout, done.stderr) == ("141\n", "")


@pytest.mark.parametrize(
    "arguments",
    ["apply -n .", "export vmap -o x", "report x", "bench --list", "doctor", "live dkms -o x"],
)
def test_a_deleted_working_directory(arguments: str, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    script = f"rmdir ../gone; exec '{sys.executable}' -m mmbatch {arguments}"
    done = shell(script, tmp_path, cwd=tmp_path / "gone")
    words = "error: cannot start: the working directory was deleted\nhint: change to another"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{words} directory\n")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(closed: str, tmp_path: Path) -> None:
    script = f"'{sys.executable}' -m mmbatch doctor --json '{tmp_path}/out' {closed}"
    done = shell(script, tmp_path)
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
    out, err = process.communicate(timeout=300)
    assert out == "cleaned\n"
    assert "Traceback" not in err
    assert "interrupted" in err
    assert process.returncode == code


def test_an_interrupt_while_libraries_load(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt\n")
    done = subprocess.run(
        [sys.executable, "-m", "mmbatch", "--version"],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ, PYTHONPATH=f"{tmp_path}:{SOURCES}"),
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("locale", ["C", "de_DE.ISO-8859-1", "POSIX"])
def test_other_locales(locale: str, tmp_path: Path) -> None:
    cache = str(tmp_path / "f\N{LATIN SMALL LETTER U WITH DIAERESIS}r")
    done = call("doctor", LC_ALL=locale, PYTHONIOENCODING="ascii", MMBATCH_CACHE=cache)
    assert done.returncode in (0, 1)
    assert "Traceback" not in done.stderr
    assert "cache directory" in done.stdout


def test_console_lines(capsys: pytest.CaptureFixture[str]) -> None:
    for verbosity in (-1, 0, 1):
        console = Console(verbosity)
        console.say(f"phase {verbosity} [bold]")
        console.detail(f"detail {verbosity}")
        with console.progress(f"work {verbosity}", total=3, unit="files") as progress:
            progress.advance()
            progress.update(2, "now")
        console.result(f"result {verbosity} [bold] " + 300 * "x")
    output = capsys.readouterr()
    assert output.err.splitlines() == [
        "[  0 s] phase 0 [bold]",
        "[  0 s] work 0 (3 files)",
        "[  0 s] phase 1 [bold]",
        "[  0 s] detail 1",
        "[  0 s] work 1 (3 files)",
    ]
    assert [line[:16] for line in output.out.splitlines()] == [
        "result -1 [bold]",
        "result 0 [bold] ",
        "result 1 [bold] ",
    ]


@pytest.mark.parametrize(("arguments", "verbosity"), [([], 0), (["-q"], -1), (["-v"], 1)])
def test_output_options(arguments: list[str], verbosity: int) -> None:
    seen: list[int] = []

    @click.command()
    @output_options
    def verb(console: Console) -> None:
        seen.append(console.verbosity)

    verb.main(arguments, standalone_mode=False)
    assert seen == [verbosity]
