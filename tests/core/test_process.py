# SPDX-License-Identifier: GPL-2.0-only
import functools
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from expect import fails, gone
from mmbatch.core.errors import MmbatchError, message
from mmbatch.core.process import run, side_by_side, stream


def written_pid(path: Path) -> int:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if path.exists() and path.read_text().strip():
            return int(path.read_text())
        time.sleep(0.01)
    raise AssertionError("the child did not start")


def interrupt_after(started: Path, sent: Path | None = None) -> None:
    """Interrupt us as soon as a child has written a file; then write another one."""

    def interrupt() -> None:
        written_pid(started)
        time.sleep(0.5)  # until we wait for the child, which has begun before Popen() returns
        os.kill(os.getpid(), signal.SIGINT)
        if sent is not None:
            sent.touch()

    threading.Thread(target=interrupt, daemon=True).start()


def test_output_and_exit_status() -> None:
    result = run(["sh", "-c", "echo out; echo err >&2; exit 3"], action="x", check=False)
    assert (result.rc, result.stdout, result.stderr) == (3, "out\n", "err\n")


def test_failure_quotes_the_last_line() -> None:
    with fails("do it", "sh ended with 3: last"):
        run(["sh", "-c", "echo first; echo last >&2; exit 3"], action="do it")


def test_log_takes_both_streams_and_is_named(tmp_path: Path) -> None:
    log = tmp_path / "deep" / "a.log"
    script = "echo one; echo a.c:1: error: no b >&2; echo a.c:2: error: no c; exit 2"
    with fails(f"read the whole output in {log}", "sh ended with 2: a.c:1: error: no b"):
        run(["sh", "-c", script], action="do it", log=log)
    assert log.read_text().splitlines()[1:3] == ["one", "a.c:1: error: no b"]


def test_full_disk_is_named_even_if_other_lines_follow() -> None:
    script = "echo 'cc: x.o: No space left on device' >&2; echo 'make: Error 1' >&2; exit 2"
    with fails("No space left on device", "MMBATCH_CACHE"):
        run(["sh", "-c", script], action="build")


@pytest.mark.parametrize(("program", "hint"), [("spatch", "coccinelle"), ("flex", "flex")])
def test_missing_program(monkeypatch: pytest.MonkeyPatch, program: str, hint: str) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with fails(program, hint):
        run([program], action="x")


def test_timeout_ends_grandchildren_that_ignore_term(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"trap '' TERM; (trap '' TERM; sleep 600) & echo $! > '{pid}'; sleep 600"
    with pytest.raises(MmbatchError, match="did not finish within"):
        run(["sh", "-c", script], action="x", timeout_s=5)
    assert gone(written_pid(pid))


def test_interrupt_ends_the_whole_group(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    interrupt_after(pid)
    with pytest.raises(KeyboardInterrupt):
        run(["sh", "-c", f"sleep 600 & echo $! > '{pid}'; wait"], action="x")
    assert gone(written_pid(pid))


def test_kill_minus_9_of_ours_ends_the_child(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = (
        "from mmbatch.core.process import run\n"
        f"run(['sh', '-c', 'echo $$ > {pid}; exec sleep 600'], action='x')\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code])
    child = written_pid(pid)
    parent.kill()
    parent.wait()
    assert gone(child)


def test_finish_lets_the_child_end_before_the_interrupt_counts(tmp_path: Path) -> None:
    pid, sent, done = tmp_path / "pid", tmp_path / "sent", tmp_path / "done"
    interrupt_after(pid, sent)
    script = (
        f"echo $$ > '{pid}'; until [ -e '{sent}' ]; do sleep 0.05; done; sleep 1; touch '{done}'"
    )
    with pytest.raises(KeyboardInterrupt):
        run(["sh", "-c", script], action="x", finish=True)
    assert done.exists()


def test_child_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    dropped = ["MAKEFLAGS", "LLVM", "KCFLAGS", "CPATH", "KBUILD_OUTPUT", "LOCALVERSION"]
    dropped += ("GIT_DIR", "GIT_TRACE", "GIT_TRACE2_EVENT", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX")
    kept = ("GIT_AUTHOR_NAME", "GIT_COMMITTER_EMAIL", "GIT_CONFIG_GLOBAL", "APT_CONFIG")
    for name in (*dropped, *kept, "LC_ALL"):
        monkeypatch.setenv(name, "/elsewhere")
    output = run(["env"], action="x", env={"EXTRA": "1"}).stdout.splitlines()
    assert {"LC_ALL=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1", "EXTRA=1"} <= set(output)
    names = {line.partition("=")[0] for line in output}
    assert not names & set(dropped)
    assert set(kept) <= names


def test_stream_yields_a_last_line_without_end_and_checks() -> None:
    lines = stream(["sh", "-c", "echo a; printf b; echo why >&2; exit 4"], action="x")
    assert [next(lines), next(lines)] == ["a", "b"]
    with pytest.raises(MmbatchError, match="ended with 4: why"):
        next(lines)


def test_leaving_a_stream_ends_the_group(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    for line in stream(["sh", "-c", f"sleep 600 & echo $! > '{pid}'; echo go; wait"], action="x"):
        assert line == "go"
        break
    assert gone(written_pid(pid))


def test_stream_times_out_even_if_the_program_keeps_talking() -> None:
    with pytest.raises(MmbatchError, match="did not finish"):
        for _ in stream(["sh", "-c", "while :; do echo x; done"], action="x", timeout_s=0.4):
            pass


def test_jobs_run_side_by_side_and_are_yielded_in_order(tmp_path: Path) -> None:
    def job(number: int) -> int:
        # Each of two waits for the other, so one after the other would end by the limit.
        (tmp_path / str(number)).touch()
        other = tmp_path / str(1 - number)
        command = f'until [ -e "{other}" ]; do sleep 0.01; done'
        run(["sh", "-c", command], action="wait", timeout_s=60)
        return number

    jobs = [functools.partial(job, number) for number in (0, 1)]
    assert list(side_by_side(jobs, 2)) == [0, 1]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MmbatchError("x", "y", "z")])
def test_jobs_end_with_what_they_run(tmp_path: Path, error: BaseException) -> None:
    pid_file = tmp_path / "pid"

    def endless() -> None:
        run(["sh", "-c", f'echo $$ > "{pid_file}"; exec sleep 600'], action="wait")

    def raising() -> None:
        written_pid(pid_file)
        raise error

    with pytest.raises(type(error)):
        list(side_by_side([raising, endless], 2))
    assert gone(written_pid(pid_file))


def test_an_error_is_two_lines_whatever_it_quotes() -> None:
    error = MmbatchError("read -K A=y\nB=y", "make failed:\n\tno rule.\n", "see '/my  logs/x'.")
    assert message(error) == (
        "error: cannot read -K A=y B=y: make failed: no rule\nhint: see '/my  logs/x'"
    )


def test_a_program_that_may_not_run_is_not_called_missing(tmp_path: Path) -> None:
    """As on a cache that is mounted noexec."""
    program = tmp_path / "hosted"
    program.touch(0o644)
    with fails("may not run", "noexec"):
        run([program], action="try")
