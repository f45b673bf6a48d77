# SPDX-License-Identifier: GPL-2.0-only
import json
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mmbatch.cli import check as verb
from mmbatch.core.cache import Cache
from mmbatch.core.console import Console
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.interval import Interval
from mmbatch.core.outcomes import CaseOutcome
from mmbatch.hosted import build, check, mutants
from mmbatch.hosted.check import Bench, Config, Extras, Mutant, Tally
from mmbatch.hosted.posted import NoEffectError
from mmbatch.kernel import sources as kernels
from mmbatch.kernel.sources import Source
from mmbatch.splice import manifest, trees

EVENT = {"event": "check", "combinations": 70, "runs": 280, "bytes": 3_000_000_000, "stepped": 0}
GOOD = json.dumps({**EVENT, "good": True, "streamed": 0, "text": ""})
BAD = json.dumps({**EVENT, "good": False, "streamed": 0, "text": "byte 3 of toy 7 at shift 9"})
STEPPED = json.dumps({**EVENT, "good": True, "stepped": 5, "streamed": 12, "text": ""})
MUTANT = Mutant("one too far", "a toy more", "mm/toys.c", "<", "<=", Interval(), (), False)
NO_EXTRAS = Extras((), ())


class Toys:
    """What the stages build instead of hosted programs: scripts that end as they are told."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.plain = f"echo '{GOOD}'"
        self.sanitized = f"echo '{GOOD}'"
        self.mutant = f"echo '{BAD}'; exit 1"
        self.extras = NO_EXTRAS
        self.built: list[tuple[str, ...]] = []
        self.no_effect: tuple[tuple[str, ...], ...] = ()
        self.spliced = 0

    def write(self) -> None:
        """Write the scripts, before any thread starts one.

        A script that another thread has open for writing, or whose descriptor a child has just
        inherited, can't be executed ("Text file busy").
        """
        for name, text in (
            ("plain", self.plain),
            ("san", self.sanitized),
            ("mutant", self.mutant),
        ):
            path = self.directory / name
            path.write_text(f"#!/bin/sh\necho \"$*\" >> '{self.directory}/asked'\n{text}\n")
            path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def build(
        self,
        *arguments: Any,
        sanitize: bool = False,
        fuzz: bool = False,
        posted: Sequence[str] = (),
        **_: Any,
    ) -> SimpleNamespace:
        options = arguments[5]
        self.built.append(options)
        if options in self.no_effect:
            raise NoEffectError("measure 'v2'", "it changes nothing", "choose another")
        sides = [SimpleNamespace(label=label) for label in posted]
        return SimpleNamespace(path=self.directory / ("san" if sanitize else "plain"), posted=sides)

    def compile_posted(self, *arguments: Any, **_: Any) -> None:
        if arguments[4] in self.no_effect:
            raise NoEffectError("measure 'v2'", "it changes nothing", "choose another")

    def splice(self, *_: object) -> SimpleNamespace:
        self.spliced += 1
        return SimpleNamespace(path=self.directory / "spliced", ident="toys-1")

    def link(self, work: Path, *_: object, **__: object) -> Path:
        assert "<=" in (work / "tree" / "mm" / "toys.c").read_text()
        return self.directory / "mutant"

    @property
    def asked(self) -> list[str]:
        return (self.directory / "asked").read_text().splitlines()


Run = Callable[..., tuple[Tally, list[str]]]


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toys:
    toys = Toys(tmp_path)
    spliced = tmp_path / "spliced"
    for name in ("include", "arch/x86", "mm", "lib"):
        (spliced / name).mkdir(parents=True)
    (spliced / "mm" / "toys.c").write_text("toy < nr\n")
    monkeypatch.setattr(trees, "splice", toys.splice)
    monkeypatch.setattr(build, "build", toys.build)
    monkeypatch.setattr(build, "compile_posted", toys.compile_posted)
    monkeypatch.setattr(build, "objects", lambda *_: None)
    monkeypatch.setattr(build, "link", toys.link)
    monkeypatch.setattr(check, "load_extras", lambda path: toys.extras)
    return toys


@pytest.fixture
def run(toys: Toys, tmp_path: Path) -> Run:
    def once(*, with_mutants: bool = True, posted: Sequence[str] = ()) -> tuple[Tally, list[str]]:
        tally, lines = Tally(), list[str]()
        source = Source("7.3", "7.3.4", toys.directory, "toys", "toys", "1")
        stand_in: Any = SimpleNamespace(speedup="toys", directory=tmp_path, hosted=None)
        labels: Any = posted
        bench = Bench(Cache(tmp_path / "cache"), source, [stand_in], 2, posted=labels)
        toys.write()
        if posted:
            check.run_posted(bench, lines.append, tally)
        else:
            check.run(bench, lines.append, tally)
            if with_mutants:
                mutants.run(bench, lines.append, tally, among=["7.3"])
        assert not list((tmp_path / "cache" / "builds").iterdir())
        return tally, lines

    return once


def test_stages_are_counted_and_told(toys: Toys, run: Run) -> None:
    toys.extras = Extras(
        (
            Config("other toys", ("CONFIG_TOYS=n",), Interval()),
            Config("old toys", ("CONFIG_OLD=y",), Interval.parse("<7.0")),
        ),
        (MUTANT,),
    )
    tally, lines = run()
    assert (tally.passed, tally.failed, tally.skipped) == (4, [], [])
    assert tally.combinations == 140  # of full runs: not of the sanitizers', nor of the mutant's
    titles = [line.partition(":")[0] for line in lines]
    assert sorted(titles[:3]) == [  # in the order in which they ended
        "ok    toys on 7.3.4",
        "ok    toys on 7.3.4, ASan and UBSan",
        "ok    toys on 7.3.4, other toys",
    ]
    assert titles[3:] == ["ok    toys on 7.3.4, mutant 'one too far'"]
    assert "70 combinations, 280 runs, 3.0 GB compared (" in lines[0]
    # Without options: the plain one, the sanitized one, and what mutants share.
    assert sorted(toys.built) == [(), (), (), ("CONFIG_TOYS=n",)]
    assert [word.startswith("--check=") for word in toys.asked] == [True] * 4
    assert sorted(toys.asked[:3])[:2] == ["--check=1", "--check=1"]


def test_posted_code_is_checked_in_all_stages_but_mutants(toys: Toys, run: Run) -> None:
    other = ("CONFIG_TOYS=n",)
    configs = (Config("other toys", other, Interval()), Config("old", ("CONFIG_OLD=y",)))
    toys.extras = Extras(configs, (MUTANT,))
    toys.no_effect = (("CONFIG_OLD=y",),)
    toys.sanitized = f"echo '{BAD}'; exit 1"
    tally, lines = run(posted=["v2 1/2", "v2 2/2"])
    name = "toys on 7.3.4"
    assert [line.partition(":")[0] for line in lines] == [
        *(f"ok    {name}, v2 {number}/2" for number in (1, 2)),
        *(f"ok    {name}, v2 {number}/2, other toys" for number in (1, 2)),
        *(f"FAIL  {name}, v2 {number}/2, ASan and UBSan" for number in (1, 2)),
    ]
    assert (tally.passed, len(tally.failed), len(tally.skipped)) == (4, 2, 1)
    assert tally.combinations == 280
    assert toys.asked == [
        *("--check=1 --posted=0", "--check=1 --posted=1") * 2,
        *("--check=7 --posted=0", "--check=7 --posted=1"),
    ]


def test_posted_code_that_changes_nothing_is_no_stage(toys: Toys, run: Run) -> None:
    toys.no_effect = ((),)
    with pytest.raises(NoEffectError):
        run(posted=["v2"])
    assert not toys.spliced


def test_what_was_followed_is_told_where_it_was(toys: Toys, run: Run) -> None:
    toys.plain = f"echo '{STEPPED}'"
    _, lines = run()
    (followed,) = [line for line in lines if line.startswith("ok    toys on 7.3.4: ")]
    assert "12 streaming stores followed to their drain" in followed
    assert sum("followed" in line for line in lines) == 1


def test_a_difference_fails_its_stage_only(toys: Toys, run: Run) -> None:
    toys.plain = f"echo '{BAD}'; exit 1"
    tally, lines = run()
    assert tally.failed == ["toys on 7.3.4: byte 3 of toy 7 at shift 9"]
    assert "FAIL  toys on 7.3.4: byte 3 of toy 7 at shift 9" in lines
    assert tally.passed == 1


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("==1==ERROR: AddressSanitizer: heap-buffer-overflow", "AddressSanitizer"),
        ("hosted: kernel code at 0x1 touched 'toy', which is not defined", "touched 'toy'"),
        ("something else", "ended with 70"),
    ],
)
def test_words_of_a_sanitizer_or_a_fault_are_the_failure(
    toys: Toys, run: Run, words: str, found: str
) -> None:
    toys.sanitized = f'echo first >&2; echo "{words}" >&2; echo last >&2; exit 70'
    tally, _ = run()
    (line,) = tally.failed
    assert line.startswith("toys on 7.3.4, ASan and UBSan: ")
    assert found in line
    assert "last" not in line


def test_a_line_cut_short_fails_its_stage(toys: Toys, run: Run) -> None:
    toys.plain = f"printf '%s' '{GOOD[:40]}'"
    tally, _ = run()
    (line,) = tally.failed
    assert line.startswith("toys on 7.3.4: ")


def test_a_check_that_only_prints_well_has_failed(toys: Toys, run: Run) -> None:
    """A program may find a leak or crash after its last word."""
    toys.sanitized = f"echo '{GOOD}'; echo '==1==ERROR: LeakToys: 3' >&2; exit 1"
    tally, _ = run()
    (line,) = tally.failed
    assert "LeakToys" in line


def test_what_can_not_be_built_fails_its_stage(
    toys: Toys, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MmbatchError("compile toys.c", "gcc ended with 1", "look at the log")

    monkeypatch.setattr(build, "build", fail)
    tally, _ = run()
    assert len(tally.failed) == 2
    assert all("gcc ended with 1" in line for line in tally.failed)
    assert not (toys.directory / "asked").exists()


def test_a_mutant_that_survives_is_a_failure(toys: Toys, run: Run) -> None:
    toys.extras = Extras((), (MUTANT,))
    toys.mutant = f"echo '{GOOD}'"
    tally, _ = run()
    assert tally.failed == [
        "toys on 7.3.4, mutant 'one too far': it survived; a toy more",
    ]
    assert tally.killed == {}


def test_a_mutant_that_is_killed_says_by_what(toys: Toys, run: Run) -> None:
    toys.extras = Extras((), (MUTANT,))
    tally, lines = run()
    killer = "byte 3 of toy 7 at shift 9"
    assert tally.killed == {"toys on 7.3.4, mutant 'one too far'": killer}
    assert f"killed by {killer}" in lines[-1]


@pytest.mark.parametrize(
    ("change", "skipped", "failed"),
    [
        ({"kernels": Interval.parse("<7.0")}, 0, 0),
        ({"old": "toy > nr", "optional": True}, 1, 0),
    ],
)
def test_a_mutant_that_can_not_be_made_here(
    toys: Toys, run: Run, change: dict[str, Any], skipped: int, failed: int
) -> None:
    toys.extras = Extras((), (Mutant(**{**MUTANT.__dict__, **change}),))
    tally, _ = run()
    assert (tally.passed, len(tally.skipped), len(tally.failed)) == (2, skipped, failed)


def test_a_mutant_that_is_out_of_date_is_a_failure(toys: Toys, run: Run) -> None:
    toys.extras = Extras((), (Mutant(**{**MUTANT.__dict__, "old": "toy > nr"}),))
    tally, _ = run()
    (line,) = tally.failed
    assert "occurs 0 times in mm/toys.c" in line


def test_without_mutants_no_mutant_is_built(toys: Toys, run: Run) -> None:
    toys.extras = Extras((), (MUTANT,))
    tally, _ = run(with_mutants=False)
    assert (tally.passed, tally.killed) == (2, {})


@pytest.mark.parametrize(
    ("good", "code", "last"),
    [(True, ExitCode.GOOD, "2 passed, 0 failed, 0 skipped"), (False, 1, "1 passed, 1 failed")],
)
def test_the_tally_ends_the_report(
    toys: Toys,
    cache_directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    good: bool,
    code: int,
    last: str,
) -> None:
    source = Source("7.3", "7.3.4", toys.directory, "toys", "toys", "1")
    stand_in = SimpleNamespace(speedup="toys", directory=toys.directory, hosted=None)
    monkeypatch.setattr(kernels, "resolve", lambda *_: source)
    monkeypatch.setattr(manifest, "known", lambda speedups: ["toys"])
    monkeypatch.setattr(manifest, "load_with_needs", lambda speedups, name: [stand_in])
    if not good:
        toys.plain = f"echo '{BAD}'; exit 1"
    toys.write()
    ended: list[CaseOutcome] = []
    code_found = verb.run_all(
        Console(-1), Cache(cache_directory), series=("7.3",), jobs=1, write_outcomes=ended.extend
    )
    assert code_found == code
    assert [(outcome.suite, outcome.case, outcome.passed) for outcome in ended] == [
        ("toys on 7.3.4", "", good),
        ("toys on 7.3.4", "ASan and UBSan", True),
    ]
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith(last)
    assert ("toys on 7.3.4: byte 3 of toy 7 at shift 9" in lines) == (not good)


def test_a_kernel_between_others_and_more_configurations_are_checked_in_part(
    toys: Toys, cache_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = SimpleNamespace(speedup="toys", directory=toys.directory, hosted=None)
    monkeypatch.setattr(
        kernels,
        "resolve",
        lambda cache, name, *_: Source(name, f"{name}.4", toys.directory, "toys", "toys", "1"),
    )
    monkeypatch.setattr(manifest, "known", lambda speedups: ["toys"])
    monkeypatch.setattr(manifest, "load_with_needs", lambda speedups, name: [stand_in])
    toys.extras = Extras((Config("old", ("CONFIG_OLD=y",), Interval(high=(7, 0))),), ())
    toys.write()
    series = ("7.3", "7.2", "6.12")
    verb.run_all(Console(-1), Cache(cache_directory), series=series, jobs=1, stride_others=3)
    strides = sorted(asked.removeprefix("--check=") for asked in toys.asked)
    # Of 7.3 and 6.12, of 7.2 and the other configuration of 6.12, and of sanitizers.
    assert strides == ["1", "1", "3", "3", "7", "7"]


@pytest.fixture
def cache_directory(tmp_path: Path) -> Path:
    return tmp_path / "cache"
