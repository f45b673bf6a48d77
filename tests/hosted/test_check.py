# SPDX-License-Identifier: GPL-2.0-only
"""Stages of `mmbatch check`: scripts stand for hosted programs, and end as they are told."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fake_archive import source_of
from fake_program import script, splice_toys
from mmbatch.cli import check as verb
from mmbatch.core.errors import MmbatchError
from mmbatch.core.load import Interval
from mmbatch.hosted.check import Tally
from mmbatch.hosted.posted import NoEffectError
from mmbatch.hosted.program import Program
from mmbatch.splice.manifest import Configuration, Manifest, Mutant

EVENT = {"event": "check", "combinations": 70, "runs": 280, "bytes": 3_000_000_000, "stepped": 0}
GOOD = json.dumps({**EVENT, "good": True, "streamed": 0, "text": ""})
BAD = json.dumps({**EVENT, "good": False, "streamed": 0, "text": "byte 3 of toy 7 at shift 9"})
MUTANT = Mutant("one too far", "a toy more", "mm/toys.c", "<", "<=")
OTHER, OLD = ("CONFIG_TOYS=n",), ("CONFIG_OLD=y",)


class Toys:
    """What is built in the place of programs."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        self.ends = {"plain": f"echo '{GOOD}'", "san": f"echo '{GOOD}'", "fuzzed": "exit 9"}
        self.ends["mutant"] = f"echo '{BAD}'; exit 1"
        self.manifest = Manifest("toys", directory=directory / "toys")
        self.no_effect: tuple[tuple[str, ...], ...] = ()
        splice_toys(directory, monkeypatch)
        monkeypatch.setenv("MMBATCH_CACHE", str(directory / "cache"))
        monkeypatch.setattr(Program, "path", property(self._path))
        monkeypatch.setattr(Program, "sides", property(self._sides))
        monkeypatch.setattr(Program, "mutant", self._mutant)

    def has(
        self, configurations: tuple[Configuration, ...], mutants: tuple[Mutant, ...] = (MUTANT,)
    ) -> None:
        """Let the made-up speed-up ask for these."""
        self.manifest = replace(self.manifest, configurations=configurations, mutants=mutants)

    def _path(self, program: Program) -> Path:
        if "fail" in self.ends:
            raise MmbatchError("compile toys.c", "gcc ended with 1", "look at the log")
        return self.directory / ("san" if program.sanitize else "plain")

    def _sides(self, program: Program) -> Any:
        if program.posted and program.options in self.no_effect:
            raise NoEffectError("measure 'v2'", "it changes nothing", "choose another")
        return [SimpleNamespace(label=label) for label in program.posted]

    def _mutant(self, work: Path, patched: Path, changed: str) -> Path:
        assert "<=" in (patched / changed).read_text()
        return self.directory / "mutant"

    def run(
        self, parts: tuple[str, ...] = verb.PARTS, posted: tuple[str, ...] = ()
    ) -> tuple[Tally, list[str]]:
        """Check, and return the tally and what programs were asked for."""
        for name, text in self.ends.items():  # before any thread starts one
            script(self.directory / name, f"echo \"$*\" >> '{self.directory}/asked'\n{text}")
        source = source_of(self.directory)
        labels: Any = posted
        tally = Tally()
        program = Program(source, [self.manifest], jobs=2, posted=labels)
        verb.run_parts(program, tally, parts, ("7.3",))
        asked = self.directory / "asked"
        return tally, asked.read_text().splitlines() if asked.exists() else []


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toys:
    return Toys(tmp_path, monkeypatch)


def test_every_part_is_a_stage(toys: Toys) -> None:
    old = Configuration("old toys", OLD, Interval("<7.0"))
    toys.has((Configuration("other toys", OTHER), old))
    tally, asked = toys.run()
    assert (tally.passed, tally.failed, tally.skipped, tally.killed) == (4, [], [], 1)
    assert tally.combinations == 140  # of full runs: not of the sanitizers', nor of the mutant's
    titles = {outcome.title: outcome.detail for outcome in tally.outcomes}
    name = "toys on 7.3.4"
    assert set(titles) == {
        *(name, f"{name}, other toys", f"{name}, ASan and UBSan"),
        f"{name}, mutant 'one too far'",
    }
    assert titles[name] == "70 combinations, 280 runs, 3.0 GB compared"
    assert titles[f"{name}, mutant 'one too far'"] == "killed by byte 3 of toy 7 at shift 9"
    assert sorted(asked) == ["--check=1", "--check=1", "--check=11", "--check=7"]


def test_parts_are_run_alone(toys: Toys) -> None:
    toys.has((Configuration("other toys", OTHER),))
    assert [outcome.case for outcome in toys.run(("equality",))[0].outcomes] == [""]
    assert [outcome.case for outcome in toys.run(("configurations",))[0].outcomes] == ["other toys"]
    assert toys.run(("mutants",))[0].killed == 1


def test_posted_code_is_checked_in_all_stages_but_mutants(toys: Toys) -> None:
    toys.has((Configuration("other toys", OTHER), Configuration("old", OLD)))
    toys.no_effect = (OLD,)
    toys.ends["san"] = f"echo '{BAD}'; exit 1"
    tally, asked = toys.run(posted=("v2 1/2", "v2 2/2"))
    assert {(end.case, end.passed) for end in tally.outcomes if not end.skipped} == {
        *((f"v2 {number}/2", True) for number in (1, 2)),
        *((f"v2 {number}/2, other toys", True) for number in (1, 2)),
        *((f"v2 {number}/2, ASan and UBSan", False) for number in (1, 2)),
    }
    assert (len(tally.skipped), tally.combinations) == (1, 280)
    assert sorted(asked) == [
        *("--check=1 --posted=0", "--check=1 --posted=0", "--check=1 --posted=1"),
        *("--check=1 --posted=1", "--check=7 --posted=0", "--check=7 --posted=1"),
    ]


def test_posted_code_that_changes_nothing_is_refused(
    toys: Toys, monkeypatch: pytest.MonkeyPatch
) -> None:
    toys.no_effect = ((),)
    monkeypatch.setattr(Program, "path", property(lambda program: program.sides))
    with pytest.raises(NoEffectError):
        toys.run(posted=("v2",))


@pytest.mark.parametrize(
    ("end", "found"),
    [
        (f"echo '{BAD}'; exit 1", "byte 3 of toy 7 at shift 9"),
        ("echo 1 >&2; echo '==1==ERROR: AddressSanitizer: x' >&2; exit 1", "AddressSanitizer: x"),
        ("echo 'something else' >&2; exit 70", "ended with 70"),
        (f"printf '%s' '{GOOD[:40]}'", "cannot read event 1"),
        # A program may find a leak or crash after its last word.
        (f"echo '{GOOD}'; echo '==1==ERROR: LeakToys: 3' >&2; exit 1", "LeakToys"),
    ],
)
def test_what_was_wrong_is_told_and_fails_its_stage_only(toys: Toys, end: str, found: str) -> None:
    toys.ends["san"] = end
    tally, _ = toys.run()
    (line,) = tally.failed
    assert line.startswith("toys on 7.3.4, ASan and UBSan: ")
    assert found in line
    assert tally.passed == 1


def test_what_can_not_be_built_fails_its_stage(toys: Toys) -> None:
    toys.ends["fail"] = ""
    tally, asked = toys.run(("equality", "sanitizers"))
    assert len(tally.failed) == 2
    assert all("gcc ended with 1" in line for line in tally.failed)
    assert not asked


def test_a_mutant_that_survives_is_a_failure(toys: Toys) -> None:
    toys.has(())
    toys.ends["mutant"] = f"echo '{GOOD}'"
    tally, _ = toys.run()
    line = "toys on 7.3.4, mutant 'one too far': it survived; a toy more"
    assert (tally.failed, tally.killed, tally.passed) == ([line], 0, 2)


@pytest.mark.parametrize(
    ("change", "skipped", "failed"),
    [
        ({"kernels": Interval("<7.0")}, 0, 0),
        ({"old": "toy > nr", "optional": True}, 1, 0),
        ({"old": "toy > nr"}, 0, 1),
    ],
)
def test_a_mutant_that_can_not_be_made_here(
    toys: Toys, change: dict[str, Any], skipped: int, failed: int
) -> None:
    toys.has((), (replace(MUTANT, **change),))
    tally, _ = toys.run()
    assert (tally.passed, len(tally.skipped), len(tally.failed)) == (2, skipped, failed)
    assert all("occurs 0 times in mm/toys.c" in line for line in tally.failed)
