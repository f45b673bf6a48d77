# SPDX-License-Identifier: GPL-2.0-only
"""The hosted program of folio_copy: which of its cases run."""

import shutil
from pathlib import Path

import pytest

import real_kernel
from mmbatch.hosted.events import Case

CPUS = ("rep_good", "erms", "fsrm", "fragile")

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(shutil.which("spatch") is None, reason="lacks spatch"),
]


@pytest.fixture(scope="module")
def program() -> Path:
    return real_kernel.hosted_program("folio_copy")


def cases(program: Path, *arguments: str) -> list[str]:
    events = real_kernel.hosted_events(program, *arguments, "--list")
    return [event.case for event in events if isinstance(event, Case)]


def test_cases_on_simulated_cpus_run_only_on_request(program: Path) -> None:
    usual, every = cases(program), cases(program, "--all")

    assert {case.rpartition("-")[2] for case in usual}.isdisjoint(CPUS)
    assert {case.rpartition("-")[2] for case in every} > set(CPUS)
    assert set(usual) < set(every)
    assert cases(program, "--case", "2M-warm-warm-rep_good") == ["2M-warm-warm-rep_good"]


def test_of_folios_of_1g_one_case_runs_without_request(program: Path) -> None:
    usual = [case for case in cases(program) if "1G" in case]

    assert usual == ["mc-1G-cold-cold-read"]
    assert cases(program, "--case", "cow-1G-cold-cold") == ["cow-1G-cold-cold"]
