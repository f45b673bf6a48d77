# SPDX-License-Identifier: GPL-2.0-only
"""Shells complete verbs, options and names; in the shells themselves, where they are here."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import mmbatch
from mmbatch.cli import main as cli
from mmbatch.cli.completion import SHELLS
from mmbatch.core import paths as checkout
from mmbatch.kernel.sources import SERIES
from mmbatch.live import manifest as livemanifest
from mmbatch.splice.manifest import known, measured


def complete(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """Return what click completes the last word to, as bash asks it."""
    answers = ask(capsys, *words)
    assert all(kind == "plain" for kind, _ in answers)
    return [value for _, value in answers]


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> list[tuple[str, str]]:
    typed = ["mmbatch", *(words or ("",))]
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("_MMBATCH_COMPLETE", "bash_complete")
        patched.setenv("COMP_WORDS", " ".join(typed))
        patched.setenv("COMP_CWORD", str(len(typed) - 1))
        with pytest.raises(SystemExit):
            cli.main([])
    lines = capsys.readouterr().out.splitlines()
    return [(kind, value) for kind, _, value in (line.partition(",") for line in lines)]


def test_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    assert complete(capsys, "") == sorted(cli.VERBS)
    assert complete(capsys) == sorted(cli.VERBS)
    assert complete(capsys, "be") == ["bench"]
    assert complete(capsys, "guest", "") == ["bench", "build", "test"]
    assert complete(capsys, "--ver") == ["--version"]


@pytest.mark.parametrize("verb", ["apply tree", "bench", "check", "export"])
def test_names_of_speedups(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    names = measured if verb in ("bench", "check") else known
    assert complete(capsys, *verb.split(), "") == names(checkout.SPEEDUPS)


@pytest.mark.parametrize("verb", ["build", "load", "status", "unload", "dkms"])
def test_names_of_what_goes_into_a_running_kernel(
    capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    names = livemanifest.known(checkout.SPEEDUPS)
    assert complete(capsys, "live", verb, "") == names
    assert complete(capsys, "live", verb, "zone") == ["zone_device"]


@pytest.mark.parametrize("verb", ["bench", "check", "export", "guest test"])
def test_series(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    assert complete(capsys, *verb.split(), "--kernel", "") == list(SERIES)


def test_options_and_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert complete(capsys, "bench", "--rep") == ["--repeats"]
    assert "--baseline" not in complete(capsys, "bench", "--")
    assert complete(capsys, "guest", "test", "--arch", "x") == ["x86_64"]
    assert ask(capsys, "report", "my") == [("file", "my")]


@pytest.mark.parametrize("words", [[], ["tcsh"], ["bash", "zsh"]])
def test_a_shell_that_is_not_known(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", *words]) == 2
    error, hint = capsys.readouterr().err.splitlines()[-2:]
    assert (error[:7], hint[:6]) == ("error: ", "hint: ")


@pytest.mark.parametrize("click_is_here", [False, True])
def test_a_word_is_completed_without_touching_the_cache(
    tmp_path: Path, click_is_here: bool
) -> None:
    """Nothing is set up for it: this Python completes if it has click, else nothing does."""
    words = {"COMP_WORDS": "mmbatch ben", "COMP_CWORD": "1", "_MMBATCH_COMPLETE": "bash_complete"}
    env = {**os.environ, **words, "MMBATCH_CACHE": str(tmp_path / "cache")}
    options = [] if click_is_here else ["-S"]  # no packages but Python's own
    done = subprocess.run(
        [sys.executable, *options, checkout.ROOT / "mmbatch"],
        capture_output=True,
        text=True,
        check=False,
        env=env,
    )
    assert (done.stdout, done.stderr) == ("plain,bench\n" if click_is_here else "", "")
    assert not (tmp_path / "cache").exists()


_START = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
_LOAD = {
    "bash": "source <(mmbatch completion bash)",
    "zsh": "autoload -Uz compinit; compinit -u -D; source <(mmbatch completion zsh)",
    "fish": "mmbatch completion fish | source",
}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A directory with a program `mmbatch` which says its arguments, but completes as ours does."""
    source = Path(mmbatch.__file__).parents[1]
    path = tmp_path / "mmbatch"
    path.write_text(
        f'#!/bin/sh\n[ "$1" = completion ] || [ "$_MMBATCH_COMPLETE" ] || '
        '{ echo "called: [$*]"; exit; }\n'
        f"PYTHONPATH='{source}' exec '{sys.executable}' -B -m mmbatch \"$@\"\n"
    )
    path.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("typed", "called"),
    [
        ("mmbatch ben\t", "bench"),
        ("./mmbatch bench --quic\t", "bench --quick"),
        ("./mmbatch bench --kernel 6\t", "bench --kernel 6.12"),
        ("mmbatch bench zone_d\t", "bench zone_device"),
        ("./mmbatch report ./a-fi\t", "report ./a-file"),
    ],
    ids=["verb", "option", "series", "speedup", "file"],
)
def test_in_the_shell_itself(shell: str, typed: str, called: str, program: Path) -> None:
    """Type into a shell on a terminal, with tab completion where a word is not complete."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (program / "a-file").touch()
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(program)
        environment = {
            "PATH": f"{program}:{os.environ['PATH']}",
            "HOME": str(program),
            "TERM": "xterm",
        }
        os.execvpe(shell, _START[shell], environment)
    try:
        os.write(terminal, f"{_LOAD[shell]}; echo rea''dy\n".encode())
        assert _read_until(terminal, rb"ready")
        os.write(terminal, typed.encode())
        _read_until(terminal, re.escape(called.rsplit(" ", maxsplit=1)[-1]).encode())
        os.write(terminal, b"\n")
        output = _read_until(terminal, rb"called: \[[^\]]*\]")
    finally:
        os.kill(pid, 9)
        os.close(terminal)
        os.waitpid(pid, 0)
    assert re.findall(rb"called: \[(.*?) *\]", output) == [called.encode()]


def _read_until(terminal: int, wanted: bytes, limit_s: float = 120) -> bytes:
    """Read from a terminal until something was said, or for a time; return all."""
    output = b""
    end = time.monotonic() + limit_s
    while not re.search(wanted, output) and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                output += os.read(terminal, 4096)
            except OSError:
                break
    return output
