# SPDX-License-Identifier: GPL-2.0-only
"""What a run of all tests saw is kept, and read back strictly."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mmbatch.cli import guest
from mmbatch.core import paths as checkout
from mmbatch.core.errors import MmbatchError
from mmbatch.core.outcomes import CaseOutcome
from mmbatch.guest import qemu
from mmbatch.guest import suites as guesttest
from mmbatch.hosted.check import Tally
from mmbatch.report import matrix
from mmbatch.splice.manifest import load_with_needs

CONSOLE = """\
    KTAP version 1
    # Subtest: streaming_copy
    1..3
    ok 1 sizes
    ok 2 lines # SKIP no such instruction
    ok 3 ends
ok 1 streaming_copy
"""


def test_each_speedup_gets_its_own_cases(tmp_path: Path) -> None:
    manifests = load_with_needs(checkout.SPEEDUPS, "zone_device")
    outcome = qemu.read_console(f"[    1.234567] {line}" for line in CONSOLE.splitlines())
    log = matrix.Log(stages=[matrix.Stage("guests", True)])
    cases = [(case.name, case.state) for case in outcome.cases]
    log.booted(manifests, "7.3.4", "arm64", "plain", outcome.suites, cases, good=True)
    outcomes = [
        *(CaseOutcome("a", str(number)) for number in range(3)),
        CaseOutcome("a", skipped="b"),
    ]
    tally = Tally(outcomes, combinations=40, killed={"x": "y"})
    log.checked("zone_device", "7.3.4", tally)
    log.write(tmp_path / "ci.json")
    (run,) = matrix.read(tmp_path / "ci.json")
    assert run.booted == (
        matrix.Boot("streaming_copy", "7.3.4", "arm64", "plain", True, ("streaming_copy",), 2, 1),
        matrix.Boot("zone_device", "7.3.4", "arm64", "plain", True, (), 0, 0),
    )
    (checked,) = run.checked
    assert (checked.passed, checked.failed, checked.skipped) == (3, 0, 1)
    assert (checked.combinations, checked.mutants) == (40, 1)
    assert re.fullmatch(r"[0-9a-f]{12}(-dirty)?|unknown", run.commit)


@pytest.mark.parametrize("code", [0, 1])
def test_guests_alone_are_kept_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    boot = matrix.Boot("toy", "7.2.12", "x86_64", "plain", code == 0, ("toy",), 7, 1)

    def run(_: object, __: object, ___: object, log: matrix.Log) -> int:
        log.boots.append(boot)
        return code

    monkeypatch.setattr(guest, "_setup", lambda *_, **__: None)
    monkeypatch.setattr(guesttest, "run_stages", run)
    CliRunner().invoke(guest.test, ["--json", str(tmp_path / "guests.json")])
    (saved,) = matrix.read(tmp_path / "guests.json")
    assert saved.booted == (boot,)
    assert saved.stages == (matrix.Stage("guests", code == 0),)


def test_guests_are_not_booted_for_a_file_that_nothing_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest, "_setup", lambda *_, **__: pytest.fail("something was done"))
    result = CliRunner().invoke(guest.test, ["--json", str(tmp_path / "nowhere" / "guests.json")])
    assert isinstance(result.exception, MmbatchError)
    assert result.exception.hint == "choose another place with --json"


@pytest.mark.parametrize("change", [{"schema": 2}, {"runs": 1}, {"more": 1}])
def test_a_wrong_file_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    _refused(tmp_path / "ci.json", lambda file: {**file, **change})


@pytest.mark.parametrize(
    "change", [{"stages": 1}, {"more": 1}, {"booted": [{"speedup": "toys"}]}, {"date": None}]
)
def test_a_wrong_run_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    _refused(
        tmp_path / "ci.json",
        lambda file: {**file, "runs": [{**run, **change} for run in file["runs"]]},
    )


def _refused(path: Path, change: Callable[[Any], Any]) -> None:
    matrix.Log().write(path)
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(MmbatchError, match=r"read .*ci\.json"):
        matrix.read(path)


def test_runs_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "matrix.json"

    def keep(release: str, *stages: str, passed: int = 7) -> None:
        log = matrix.Log([matrix.Stage(stage, True) for stage in stages])
        boot = matrix.Boot("toy", release, "x86_64", "plain", True, ("toy",), passed, 0)
        log.boots.append(boot)
        log.write(path)

    def saved() -> list[tuple[str, int]]:
        return [(run.booted[0].kernel, run.booted[0].passed) for run in matrix.read(path)]

    keep("7.2.12", "guests")
    keep("6.12.95", "guests")
    keep("7.3.4", "the tool", "guests")
    assert saved() == [("7.3.4", 7), ("6.12.95", 7), ("7.2.12", 7)]  # all tests, then guests
    keep("6.12.95", "guests", passed=8)
    assert saved() == [("7.3.4", 7), ("6.12.95", 8), ("7.2.12", 7)]
    keep("7.3.5", "the tool", "guests", passed=9)
    assert saved() == [("7.3.5", 9), ("6.12.95", 8), ("7.2.12", 7)]


def test_a_run_is_not_begun_for_a_file_that_holds_something_else(tmp_path: Path) -> None:
    (tmp_path / "matrix.json").write_text("{}")
    with pytest.raises(MmbatchError, match=r"read .*matrix\.json"):
        matrix.check_place(tmp_path / "matrix.json")


def test_the_kept_runs_can_be_read_and_have_no_failure() -> None:
    every, *guests = matrix.read(matrix.RUNS)
    assert every.whole and every.checked and every.lived
    assert not any(run.whole for run in guests)
    for run in (every, *guests):
        assert run.booted
        assert all(stage.passed for stage in run.stages)
        assert not run.commit.endswith("-dirty")
