# SPDX-License-Identifier: GPL-2.0-only
"""Fuzzers: what is made of what libFuzzer says, and one that has to find its way by coverage."""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

from mmbatch.cli import check as verb
from mmbatch.cli import requirements as doctor
from mmbatch.core import paths as checkout
from mmbatch.core.cache import Cache
from mmbatch.core.disk import temporary_dir
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.interval import Interval
from mmbatch.core.paths import default_root
from mmbatch.core.process import cpus
from mmbatch.debian import packages
from mmbatch.hosted import build, check, fuzz
from mmbatch.hosted.check import Bench, Extras, Mutant, Tally
from mmbatch.hosted.fuzz import Found, Length
from mmbatch.kernel.sources import SERIES, Source, find_cached
from mmbatch.splice import trees
from mmbatch.splice.manifest import Hosted, load

SPLICE = """
title = "Toys"
[hosted]
own = ["toys.c"]
entries = ["toys_open"]
fuzz = true
"""

PATCHED = """
int toys_open(const unsigned char *lock, unsigned long size);
int toys_open(const unsigned char *lock, unsigned long size)
{
	if (size < 4 || lock[0] != 'b')
		return 0;
	if (lock[1] != 'a')
		return 0;
	if (lock[2] != 't')
		return 0;
	if (lock[3] == '!')
		*(volatile int *)8 = 0;
	return lock[3] == 'h';
}
"""

BENCH = """
#include <linux/kernel.h>
#include "hosted.h"

int toys_open(const unsigned char *lock, unsigned long size);
HOSTED_ENTRY(toys_open);

static int toys_fuzz(const unsigned char *data, unsigned long size, struct hosted_check *check)
{
	if (!HOSTED_CALL(toys_open, HOSTED_PATCHED, data, size))
		return 0;
	hosted_format(check->text, sizeof(check->text), "%lu bytes open it", size);
	return -1;
}

const struct hosted_bench hosted_bench = { .speedup = "toys", .fuzz = toys_fuzz };
"""


def script(directory: Path, text: str) -> Path:
    path = directory / "program"
    path.write_text(f"#!/bin/sh\necho \"$@\" > '{directory}/asked'\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_inputs_are_counted_and_kept_in_a_directory(tmp_path: Path) -> None:
    lines = "stat::number_of_executed_units: 1234\nhosted runs: 5678"
    program = script(tmp_path, f"echo '{lines}' >&2")
    assert fuzz.fuzz(program, tmp_path / "toys", Length(5, 70, 3)) == Found(1234, None, None, 5678)
    asked = (tmp_path / "asked").read_text().split()
    assert {"-max_total_time=5", "-runs=70", "-seed=3"} <= set(asked)
    assert asked[-1] == str(tmp_path / "toys" / "corpus")
    assert (tmp_path / "toys" / "corpus").is_dir()
    assert f"-artifact_prefix={tmp_path}/toys/found/" in asked


@pytest.mark.parametrize(
    ("hosted", "by_default"),
    [
        (None, False),
        (Hosted(), False),
        (Hosted(fuzz=True), True),
        (Hosted(fuzz=True, fuzz_by_default=False), False),
    ],
)
def test_a_fuzzer_may_run_on_request_only(hosted: Hosted | None, by_default: bool) -> None:
    manifest: Any = SimpleNamespace(hosted=hosted)
    assert fuzz.by_default(manifest) is by_default


@pytest.mark.parametrize("output", ["", "stat::number_of_executed_units: 0", "all is well"])
def test_a_fuzzer_that_tried_nothing_has_found_nothing_good(tmp_path: Path, output: str) -> None:
    program = script(tmp_path, f"echo '{output}' >&2")
    tried_none = Found(0, "it ended well, and tried no input", None)
    assert fuzz.fuzz(program, tmp_path, Length(5)) == tried_none
    assert fuzz.give(program, tmp_path / "input") == tried_none


def test_any_number_is_said_as_libfuzzer_says_it(tmp_path: Path) -> None:
    fuzz.fuzz(script(tmp_path, "true"), tmp_path, Length(5))
    assert "-runs=-1" in (tmp_path / "asked").read_text().split()


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("hosted: entry of page 3: 0x1 and not 0x2", "entry of page 3: 0x1 and not 0x2"),
        ("==1== libFuzzer: timeout", "the fuzzer ended with 77"),
    ],
)
def test_what_was_wrong_is_told_with_its_input(tmp_path: Path, output: str, problem: str) -> None:
    lines = f"{output}\nartifact_prefix='x'; Test unit written to /found/crash-1\n"
    lines += "stat::number_of_executed_units: 9"
    program = script(tmp_path, f"echo '{lines}' >&2; exit 77")
    assert fuzz.fuzz(program, tmp_path, Length(5)) == Found(9, problem, Path("/found/crash-1"))


def toys_manifest(*, fuzzed: bool) -> Any:
    return SimpleNamespace(speedup="toys", hosted=SimpleNamespace(fuzz=fuzzed), directory=Path())


def test_what_has_no_fuzzer_is_passed_over(tmp_path: Path) -> None:
    source = Source("7.3", "7.3.4", tmp_path, "toys", "toys", "1")
    tally = Tally()
    cache = Cache(tmp_path / "cache")
    manifests = [toys_manifest(fuzzed=False)]
    fuzz.run(Bench(cache, source, manifests, 1), print, tally, Length(1), mutants_among=["7.3"])
    assert tally == Tally()
    with pytest.raises(MmbatchError) as caught:
        fuzz.again(Bench(cache, source, manifests, 1), print, tally, tmp_path)
    assert caught.value.code == ExitCode.USAGE


FOUND = "Test unit written to /found/crash-1"
MUTANT = Mutant("one too far", "a toy more", "mm/toys.c", "<", "<=", Interval(), (), False, True)


class Toys:
    """What the stages build: scripts in place of fuzzers, and a tree with one file."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.plain = "echo 'stat::number_of_executed_units: 9' >&2"
        self.mutant = f"echo 'hosted: toy 3; {FOUND}' >&2; exit 77"

    def _script(self, name: str, text: str) -> Path:
        (self.directory / name).mkdir(exist_ok=True)
        return script(self.directory / name, text)

    def build(self, *_: object, **__: object) -> Any:
        return SimpleNamespace(path=self._script("plain", self.plain))

    def link(self, work: Path, *_: object, **__: object) -> Path:
        assert "<=" in (work / "tree" / "mm" / "toys.c").read_text()
        return self._script("mutant", self.mutant)

    def run(self) -> Tally:
        tally = Tally()
        cache = Cache(self.directory / "cache")
        source = Source("7.3", "7.3.4", self.directory, "toys", "toys", "1")
        manifests = [toys_manifest(fuzzed=True)]
        bench = Bench(cache, source, manifests, 1)
        fuzz.run(bench, lambda text: None, tally, Length(1), mutants_among=["7.3"])
        return tally


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toys:
    toys = Toys(tmp_path)
    spliced = tmp_path / "spliced"
    for name in ("include", "arch/x86", "mm", "lib"):
        (spliced / name).mkdir(parents=True)
    (spliced / "mm" / "toys.c").write_text("toy < nr\n")
    monkeypatch.setattr(fuzz, "available", lambda: True)
    monkeypatch.setattr(trees, "splice", lambda *_: SimpleNamespace(path=spliced, ident="toys"))
    monkeypatch.setattr(build, "build", toys.build)
    monkeypatch.setattr(build, "objects", lambda *_: None)
    monkeypatch.setattr(build, "link", toys.link)
    monkeypatch.setattr(check, "load_extras", lambda path: Extras((), (MUTANT,)))
    return toys


@pytest.mark.parametrize(
    ("end", "problem"),
    [
        (
            f"echo 'hosted: toy 3' >&2; echo '{FOUND}' >&2; exit 77",
            "toy 3; again with: ./mmbatch check toys --kernel 7.3 --fuzz-input /found/crash-1",
        ),
        ("exit 127", "the fuzzer ended with 127"),
        ("exit 0", "it ended well, and tried no input"),
    ],
)
def test_what_to_give_again_is_told_where_an_input_was_kept(
    toys: Toys, end: str, problem: str
) -> None:
    toys.plain = end
    assert toys.run().failed == [f"toys on 7.3.4, fuzzed: {problem}"]


def test_a_mutant_is_killed_by_an_input(toys: Toys) -> None:
    tally = toys.run()
    assert (tally.passed, tally.failed) == (2, [])
    assert list(tally.killed.values()) == [f"toy 3; {FOUND} (after 0 inputs)"]
    asked = (toys.directory / "mutant" / "asked").read_text().split()
    assert {"-runs=1200000", "-max_total_time=600", "-seed=1"} <= set(asked)


@pytest.mark.parametrize(
    ("death", "problem"),
    [
        ("echo 'error while loading shared libraries' >&2; exit 127", "ended with 127"),
        ("kill -9 $$", "ended with -9"),
        ("echo 'hosted: no memory for the arena' >&2; exit 70", "no memory for the arena"),
        ("echo 'out-of-memory; Test unit written to /found/oom-1' >&2; exit 71", "ended with 71"),
        ("exit 0", "tried no input"),
    ],
)
def test_a_fuzzer_that_dies_by_itself_kills_nothing(toys: Toys, death: str, problem: str) -> None:
    toys.mutant = death
    tally = toys.run()
    assert (tally.passed, tally.killed) == (1, {})
    (line,) = tally.failed
    assert "mutant 'one too far': cannot kill the mutant: no input shows it: " in line
    assert problem in line


def test_a_mutant_that_no_input_shows_survives(toys: Toys) -> None:
    toys.mutant = toys.plain
    tally = toys.run()
    assert tally.killed == {}
    assert "it survived; a toy more" in tally.failed[0]


def test_without_clang_it_is_skipped_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "missing", lambda names: ["libclang-rt-dev"])
    source = Source("7.3", "7.3.4", tmp_path, "toys", "toys", "1")
    tally = Tally()
    manifests = [toys_manifest(fuzzed=True)]
    bench = Bench(Cache(tmp_path / "cache"), source, manifests, 1)
    fuzz.run(bench, print, tally, Length(1), mutants_among=["7.3"])
    assert "apt-get install" in tally.skipped[0]
    assert "clang libclang-rt-dev" in tally.skipped[0]
    with pytest.raises(MmbatchError) as caught:
        fuzz.ensure(print, install=False)
    assert "give --install" in caught.value.hint


@pytest.fixture
def no_clang(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without clang, on which nothing can be installed."""

    def fail(*_: object) -> None:
        raise MmbatchError("install clang", "we are not root", "ask someone who is")

    monkeypatch.setenv("MMBATCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fuzz, "available", lambda: False)
    monkeypatch.setattr(packages, "install", fail)
    monkeypatch.setattr(doctor, "ensure", lambda *_, **__: None)


@pytest.mark.usefixtures("no_clang")
def test_a_check_goes_on_without_what_it_could_not_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(verb, "run_all", lambda *_, **__: click.echo("checked"))
    result = CliRunner().invoke(verb.command, ["--install"])
    assert result.exception is None
    assert "so nothing is fuzzed: we are not root" in result.output
    assert result.output.endswith("checked\n")


@pytest.mark.usefixtures("no_clang")
def test_who_only_wants_to_fuzz_is_told_that_it_can_not_be(monkeypatch: pytest.MonkeyPatch) -> None:
    result = CliRunner().invoke(verb.command, ["vmap", "--fuzz", "1m", "--install"])
    assert isinstance(result.exception, MmbatchError)
    assert result.exception.problem == "we are not root"


def test_an_input_that_could_never_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "ensure", lambda *_, **__: pytest.fail("something was done"))
    os.mkfifo(tmp_path / "pipe")
    result = CliRunner().invoke(verb.command, ["vmap", "--fuzz-input", str(tmp_path / "pipe")])
    assert result.exit_code == ExitCode.USAGE
    assert "is not a regular file" in result.output


@pytest.mark.parametrize("wrong", ["0", "10", "x", "5d", "-1s", ""])
def test_a_duration_has_to_be_one(wrong: str) -> None:
    result = CliRunner().invoke(verb.command, ["--fuzz", wrong, "--fuzz-input", "/nowhere"])
    assert result.exit_code != 0
    assert ("is not a duration" in result.output) == (wrong != "10")


@pytest.mark.parametrize(
    "options", [["--fuzz", "10m"], ["--fuzz-runs", "7"], ["--fuzz-input", __file__]]
)
def test_what_has_no_fuzzer_is_refused_before_anything_is_done(
    options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "ensure", lambda *_, **__: pytest.fail("something was done"))
    result = CliRunner().invoke(verb.command, ["vmap", "zone_device", *options])
    assert isinstance(result.exception, MmbatchError)
    assert result.exception.code == ExitCode.USAGE
    assert result.exception.action == "fuzz zone_device"


@pytest.fixture(scope="module")
def lock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The fuzzer of a lock that opens for "bath", and dies of "bat!"."""
    lacks = [name for name in ("gcc", "make", "clang", "objcopy") if shutil.which(name) is None]
    root = default_root(os.environ)
    cache = Cache(root) if root.is_dir() else None
    sources = [find_cached(cache, series) for series in SERIES] if cache else []
    source = next((source for source in sources if source is not None), None)
    if lacks or cache is None or source is None:
        pytest.skip(f"lacks {', '.join(lacks) or 'a kernel in the cache'}")
    speedup_dir = tmp_path_factory.mktemp("speedups") / "toys"
    (speedup_dir / "splice").mkdir(parents=True)
    (speedup_dir / "speedup.toml").write_text(SPLICE)
    (speedup_dir / "bench.c").write_text(BENCH)
    (speedup_dir / "toys.c").write_text(PATCHED)
    manifest, jobs = load(speedup_dir), cpus()
    objects = build.objects(cache, source, manifest, checkout.HOSTED, (), jobs, print)
    with temporary_dir(cache.builds, "lock") as work:
        yield build.link(
            *(work, objects, source.path, manifest, checkout.HOSTED, jobs, speedup_dir / "log"),
            fuzz=True,
        )


@pytest.mark.kernel
def test_coverage_leads_to_what_chance_would_not_find(lock: Path, tmp_path: Path) -> None:
    found = fuzz.fuzz(lock, tmp_path, Length(600, seed=1))
    assert found.problem is not None
    assert found.inputs < 256**3
    assert found.kept is not None
    word = found.kept.read_bytes()[:4]
    assert word in (b"bath", b"bat!")
    assert ("open it" in found.problem) == (word == b"bath")


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("word", "problem"),
    [("bath", "4 bytes open it"), ("bat!", "signal 11"), ("bats", None)],
)
def test_an_input_does_the_same_again(
    lock: Path, tmp_path: Path, word: str, problem: str | None
) -> None:
    (tmp_path / "input").write_text(word)
    found = fuzz.give(lock, tmp_path / "input")
    assert found.inputs == 1
    assert (found.problem or "").startswith(problem or "")
    assert (found.problem is None) == (problem is None)
