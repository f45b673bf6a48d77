# SPDX-License-Identifier: GPL-2.0-only
"""KTAP and JUnit, as the kernel's own parser and a reader library understand them."""

import re
import sys
from pathlib import Path

import pytest
from junitparser import Failure, JUnitXml, Skipped

import real_kernel
from mmbatch.core import process
from mmbatch.hosted.events import CaseOutcome
from mmbatch.report.ktap import junit, ktap

OUTCOMES = [
    CaseOutcome("toys on 7.3.4", detail="70 combinations", seconds=1.25),
    CaseOutcome("toys on 7.3.4", "ASan # 2", problem="byte 3 of <toy> 7\nat shift 9", seconds=2),
    CaseOutcome("toys on 7.3.4", "mutant 'one too far'", skipped="no # such code"),
    CaseOutcome("more on 7.3.4", "small: \x1b auto", detail="faster"),
    CaseOutcome("none on 7.3.4", skipped="no clang"),
]


@pytest.mark.kernel
def test_ktap_is_what_the_kernel_parses(tmp_path: Path) -> None:
    source = real_kernel.newest()
    parser = source.path / "tools/testing/kunit/kunit.py"
    (tmp_path / "ktap").write_text(ktap(OUTCOMES))
    done = process.run(
        [sys.executable, parser, "parse", tmp_path / "ktap"],
        action="parse KTAP",
        env={"PYTHONDONTWRITEBYTECODE": "1"},
        check=False,
    )
    printed = re.sub(r"\x1b\[[\d;]*m|\[\d\d:\d\d:\d\d\] ", "", done.stdout)
    assert done.rc == 1
    assert "Ran 5 tests: passed: 2, failed: 1, skipped: 2" in printed
    for words in (
        "toys on 7.3.4 (3 subtests)",
        "[PASSED] plain",
        "[FAILED] ASan 2",
        "[SKIPPED] mutant 'one too far'",
        "==== none on 7.3.4 (1 subtest) ====",
        "[PASSED] small: auto",
    ):
        assert words in printed
    assert "error" not in printed.lower().replace("errors: 0", "")


def test_ktap_tells_why() -> None:
    lines = ktap(OUTCOMES).splitlines()
    at = lines.index("    not ok 2 ASan 2")
    assert lines[at - 2 : at] == ["    # byte 3 of <toy> 7", "    # at shift 9"]
    assert "    ok 3 mutant 'one too far' # SKIP no such code" in lines
    assert lines[:2] == ["KTAP version 1", "1..3"]
    assert lines[-1] == "ok 3 none on 7.3.4 # SKIP all of its tests"


def test_junit_is_read_by_a_library(tmp_path: Path) -> None:
    (tmp_path / "junit.xml").write_text(junit(OUTCOMES))
    found = JUnitXml.fromfile(str(tmp_path / "junit.xml"))
    assert (found.tests, found.failures, found.skipped, found.errors) == (5, 1, 2, 0)
    assert found.time == pytest.approx(3.25)
    suites = list(found)
    assert [suite.name for suite in suites] == ["toys on 7.3.4", "more on 7.3.4", "none on 7.3.4"]
    cases = [case for suite in suites for case in suite]
    assert [case.name for case in cases[:3]] == ["plain", "ASan # 2", "mutant 'one too far'"]
    (failure,) = cases[1].result
    assert isinstance(failure, Failure)
    assert failure.message == "byte 3 of <toy> 7\nat shift 9"
    (skipped,) = cases[2].result
    assert isinstance(skipped, Skipped)
    assert cases[0].system_out == "70 combinations"
    assert cases[3].name == "small: � auto"
