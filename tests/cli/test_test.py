# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch test`: what it keeps of a run, and what a stage that goes wrong takes with it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from mmbatch.cli import check, test
from mmbatch.cli import requirements as doctor
from mmbatch.core import process
from mmbatch.core.cache import Cache
from mmbatch.core.errors import MmbatchError
from mmbatch.debian import packages
from mmbatch.guest import suites as guesttest
from mmbatch.report import matrix

Run = Callable[..., Result]
STAGES = ["style and types", "kernels", "the tool", "equality", "guests", "livepatches"]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run the verb with stages that pass and do nothing."""
    monkeypatch.setenv("MMBATCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(doctor, "ensure", lambda *_, **__: None)
    for module, name in (
        *((test, stage) for stage in ("_lint", "_fetch", "_pytest", "_live")),
        (check, "run_all"),
        (guesttest, "run_all"),
    ):
        monkeypatch.setattr(module, name, lambda *_, **__: 0)
    return lambda *words: CliRunner().invoke(test.command, [str(word) for word in words])


def dies_of(number: int) -> Callable[..., int]:
    def die(*_: object, **__: object) -> int:
        raise OSError(number, os.strerror(number), "/some/file")

    return die


def test_a_run_is_kept(run: Run, tmp_path: Path) -> None:
    result = run("--json", tmp_path / "matrix.json")
    assert result.exception is None
    assert "stages: 6 passed, 0 failed, 0 skipped" in result.output
    (saved,) = matrix.read(tmp_path / "matrix.json")
    assert saved.stages == tuple(matrix.Stage(name, True) for name in STAGES)


def test_the_stages_to_come_are_told_first(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test, "_lint", lambda _: click.echo("linting"))
    output = run().output
    assert f"stages: {', '.join(STAGES)}" in output[: output.index("linting")]
    assert "stage 1 of 6: style and types" in output[: output.index("linting")]
    assert "stage 6 of 6: livepatches passed (" in output


def test_what_tests_need_is_installed_and_its_absence_told(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def install(names: Sequence[str], *_: object) -> None:
        tried.extend(names)
        if "chromium" in names:
            raise MmbatchError("install", "there is no chromium", "")

    monkeypatch.setattr(packages, "install", install)
    output = run("--install", "--tool").output
    assert {"chromium", "cpio", "fish", "gnupg", "zsh"} <= set(tried)
    assert "need chromium or fonts-dejavu-core are skipped: there is no chromium" in output
    assert "stages: 2 passed" in output


def test_what_hypothesis_keeps_is_not_in_the_checkout(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran: list[tuple[list[str], dict[str, str]]] = []

    def run(argv: list[str], env: dict[str, str], **_: object) -> process.Result:
        ran.append((argv, env))
        return process.Result(0, "", "")

    monkeypatch.setattr(test, "run", run)
    test._pytest(Cache(tmp_path), ["-k", "toys"])
    ((argv, env),) = ran
    assert argv[-2:] == ["-k", "toys"]
    assert env == {"HYPOTHESIS_STORAGE_DIRECTORY": str(tmp_path / "hypothesis")}


def test_what_livepatches_showed_is_kept(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lived = matrix.Live("6.12.95-amd64", ("toy",), True, 31, 3)

    def live(_: object, __: object, log: matrix.Log) -> int:
        log.lives.append(lived)
        return 0

    monkeypatch.setattr(test, "_live", live)
    run("--json", tmp_path / "matrix.json")
    (saved,) = matrix.read(tmp_path / "matrix.json")
    assert saved.lived == (lived,)


def test_a_full_disk_fails_its_stage_and_the_run_is_kept(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guesttest, "run_all", dies_of(errno.ENOSPC))
    result = run("--json", tmp_path / "matrix.json")
    assert "error: cannot run the stage guests: /some/file: the disk is full" in result.output
    assert "stages: 5 passed, 1 failed, 0 skipped" in result.output
    (saved,) = matrix.read(tmp_path / "matrix.json")
    assert [stage.name for stage in saved.stages if not stage.passed] == ["guests"]


def test_a_stage_that_fails_ends_with_an_error_and_a_hint(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> int:
        raise MmbatchError("boot toys", "QEMU said:\n  no toys", "see the log")

    monkeypatch.setattr(guesttest, "run_all", fail)
    output = run().output
    assert "error: cannot boot toys: QEMU said: no toys\nhint: see the log\n" in output


def test_who_reads_no_more_ends_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test, "_fetch", dies_of(errno.EPIPE))
    assert "failed" not in run().output


def test_a_place_that_takes_no_file_is_refused_first(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test, "_lint", lambda _: pytest.fail("a stage has run"))
    result = run("--json", tmp_path / "nowhere" / "matrix.json")
    assert isinstance(result.exception, MmbatchError)
    assert result.exception.hint == "choose another place with --json"


def test_a_file_that_is_a_loop_of_links_is_refused_first(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test, "_lint", lambda _: pytest.fail("a stage has run"))
    (tmp_path / "loop").symlink_to("loop")
    result = run("--json", tmp_path / "loop")
    assert isinstance(result.exception, MmbatchError)
    assert result.exception.problem == "its symbolic links form a loop"
    assert result.exception.hint == "choose another with --json"


@pytest.mark.parametrize("part", [["--lint"], ["--tool"], ["-k", "toys"]])
def test_part_of_a_run_does_not_take_the_place_of_a_kept_one(
    run: Run, tmp_path: Path, part: list[str]
) -> None:
    (tmp_path / "matrix.json").write_text("kept\n")
    result = run(*part, "--json", tmp_path / "matrix.json")
    assert result.exit_code == click.UsageError.exit_code
    assert "--json keeps a run of all tests" in result.output
    assert (tmp_path / "matrix.json").read_text() == "kept\n"
