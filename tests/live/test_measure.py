# SPDX-License-Identifier: GPL-2.0-only
"""`live measure`: order, statistics and cleaning up, on a made-up sysfs; nothing is loaded."""

from __future__ import annotations

import dataclasses
import os
import random
import re
from collections import Counter
from math import comb
from pathlib import Path

import pytest
from test_live_fit import live

from mmbatch.bench.statistics import Verdict
from mmbatch.cli import main as cli
from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.interval import SERIES
from mmbatch.live import kernel as kernels
from mmbatch.live import manifest, measure
from mmbatch.live.load import Kernel
from mmbatch.live.measure import CONTROL, Call, Case, Measure

CASE = Case("private", "bind_it", "memory that is not there", 64)
IT = Measure("binder", "method", "base", ("one", "two"), (CASE,))
NAMES = measure.known(paths.SPEEDUPS)


@pytest.mark.parametrize("count", [6, 7, 12, 20, 101])
def test_the_interval_has_95_percent(count: int) -> None:
    values = [float(number) for number in range(1, count + 1)]
    random.Random(1).shuffle(values)
    found = measure.ratio([(value, 1.0) for value in values])
    lo, hi = int(found.lo), int(found.hi)

    def outside(rank: int) -> float:
        heads: int = sum(comb(count, heads) for heads in range(rank))
        return float(heads / 2 ** (count - 1))

    assert found.median == (count + 1) / 2
    assert lo + hi == count + 1
    assert outside(lo) <= 0.05 < outside(lo + 1)


class Clock:
    """A kernel whose methods take known times, and which gets slower all the time."""

    def __init__(self, times: dict[str, float], drift: float = 0.0) -> None:
        self.times = times
        self.drift = drift
        self.calls: list[str] = []

    def __call__(self, method: str) -> float:
        self.calls.append(method)
        return self.times[method] * 1e6 + self.drift * len(self.calls)


def test_base_is_run_around_each_method_in_every_block() -> None:
    clock = Clock({"base": 4, "one": 2, "two": 8})
    ended: list[int] = []
    rows = measure.compare(clock, "base", ("one", "two"), 6, lambda: ended.append(1))

    assert clock.calls[:3] == ["base", "one", "two"]  # not measured
    blocks = [tuple(clock.calls[at : at + 4]) for at in range(3, len(clock.calls), 4)]
    assert len(ended) == len(blocks) == 18
    assert {block[1] for block in blocks} == {"base", "one", "two"}
    assert all(block == ("base", block[1], block[1], "base") for block in blocks)
    assert all(number == 6 for number in Counter(blocks).values())
    assert [(row.method, row.ns) for row in rows] == [
        ("base", 4e6),
        (CONTROL, 4e6),
        ("one", 2e6),
        ("two", 8e6),
    ]
    ratios = [row.ratio.median for row in rows if row.ratio is not None]
    assert ratios == [1.0, 2.0, 0.5]
    verdicts = [row.verdict for row in rows]
    assert verdicts[2:] == [Verdict.FASTER, Verdict.SLOWER]
    assert verdicts[:2] == [Verdict.BASE, Verdict.NO_DIFFERENCE]


def test_a_machine_that_slows_down_evenly_changes_no_ratio() -> None:
    rows = measure.compare(Clock({"base": 4, "one": 4}, 1e5), "base", ("one",), 8, lambda: None)
    for row in rows[1:]:
        assert row.ratio is not None
        assert row.ratio.median == pytest.approx(1.0)
        assert row.verdict is Verdict.NO_DIFFERENCE


def test_a_size_must_fit() -> None:
    measure.require_memory(IT, 1 << 30, 32 << 20)
    measure.require_memory(IT, 1 << 30, None)
    with pytest.raises(MmbatchError, match=r"it takes 16 MiB, .* 31 MiB are available") as caught:
        measure.require_memory(IT, 1 << 30, (32 << 20) - 1)
    assert "--size" in caught.value.hint
    with pytest.raises(MmbatchError, match="not a multiple of 2 MiB"):
        measure.require_memory(IT, (1 << 30) + 4096, None)


@pytest.mark.parametrize(
    ("text", "cpus"), [("0-3,8", {0, 1, 2, 3, 8}), ("5", {5}), ("", set()), ("x-y", set())]
)
def test_the_cpus_of_a_node(text: str, cpus: set[int]) -> None:
    assert measure._cpu_list(text) == cpus


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    monkeypatch.setattr("mmbatch.live.load.os.geteuid", lambda: 0)
    modules, programs = tmp_path / "sys/module", tmp_path / "bin"
    modules.mkdir(parents=True)
    programs.mkdir()
    scripts = {
        "insmod": f'mkdir -p "{modules}/$(basename "$1" .ko)/parameters"',
        "rmmod": f'rm -r "{modules}/$1"',
    }
    for name, script in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return Kernel("6.12.1-test", tmp_path / "sys", tmp_path / "proc")


class _StopError(Exception):
    pass


@pytest.mark.parametrize("left", [False, True])
def test_the_module_goes_whatever_happens(kernel: Kernel, left: bool) -> None:
    place = kernel.sys / "module/binder"
    if left:
        place.mkdir()
    with (
        pytest.raises(_StopError),
        measure.loaded("binder", Path("binder.ko"), kernel) as parameters,
    ):
        assert parameters.is_dir()
        raise _StopError
    assert not place.exists()


def test_a_module_that_the_kernel_refuses(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin/insmod").write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    with (
        pytest.raises(MmbatchError, match="cannot load binder: no"),
        measure.loaded("binder", Path("binder.ko"), kernel),
    ):
        pass


def _livepatch(kernel: Kernel, parameters: dict[str, str]) -> Path:
    place = kernel.sys / "module" / live().module / "parameters"
    place.mkdir(parents=True)
    kernel.patch(live().module).mkdir(parents=True)
    for name, value in parameters.items():
        (place / name).write_text(value + "\n")
    return place


def test_a_livepatch_gets_its_method_back(kernel: Kernel) -> None:
    file = _livepatch(kernel, {"it.method": "auto"}) / "it.method"
    with pytest.raises(_StopError), measure.method_kept(live(), IT, kernel) as choose:
        choose("one")
        assert file.read_text() == "one"
        raise _StopError
    assert file.read_text() == "auto"


def test_a_livepatch_without_methods(kernel: Kernel) -> None:
    _livepatch(kernel, {})
    with (
        pytest.raises(MmbatchError, match=r"has no parameter it\.method") as caught,
        measure.method_kept(live(), IT, kernel),
    ):
        pass
    assert "live unload" in caught.value.hint


class Replaced:
    """A kernel with a livepatch. Each method writes something, and leaves a call or does it."""

    def __init__(self, wrote: dict[str, str], left: dict[str, str]) -> None:
        self.wrote = wrote
        self.left = left
        self.calls: Counter[str] = Counter()

    def run_once(self, method: str) -> Call:
        self.calls[self.left.get(method, "")] += 1
        return Call(1.0, 1, self.wrote[method])

    def tell(self) -> tuple[int, dict[str, int]]:
        return self.calls[""], {why: number for why, number in self.calls.items() if why}


@pytest.mark.parametrize(
    ("wrote", "left", "words"),
    [
        ({}, {"base": "chosen"}, ""),
        ({}, {}, r"measure the method base: the replacement ran"),
        ({}, {"base": "chosen", "two": "small"}, r"the method two: it left .*: small$"),
        ({"two": "b"}, {"base": "chosen"}, r"the method two: the memory .* \(b, not a\)"),
        ({"base": "b"}, {"base": "chosen"}, r"the method base: the memory .* \(b, not a\)"),
    ],
)
def test_only_what_ran_and_wrote_the_same_is_timed(
    wrote: dict[str, str], left: dict[str, str], words: str
) -> None:
    found = Replaced({"base": "a", "one": "a", "two": "a"} | wrote, left)
    found.calls["small"] = 1  # earlier
    methods = ("one", "two")
    if not words:
        measure.require_equal(found.run_once, "a", "base", methods, found.tell)
        assert found.calls == {"small": 1, "chosen": 1, "": 2}
        return
    with pytest.raises(MmbatchError) as caught:
        measure.require_equal(found.run_once, "a", "base", methods, found.tell)
    assert re.search(words, f"{caught.value.action}: {caught.value.problem}")


def test_what_a_livepatch_has_counted(kernel: Kernel) -> None:
    assert measure.handled(live(), kernel) == (0, {})
    lines = ("it done 3 96 ", "also done 1 1 ", "it left 2 64 too small", "it passed 1 32 ")
    _livepatch(kernel, {"counts": "\n".join(lines)})
    assert measure.handled(live(), kernel) == (4, {"too small": 2})


@pytest.mark.parametrize("digest", [True, False])
def test_what_the_module_tells_of_a_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, digest: bool
) -> None:
    (tmp_path / CASE.name).write_bytes(b"1234 512 00ab\n")
    asked: list[tuple[str, str]] = []
    monkeypatch.setattr(Path, "write_text", lambda path, text: asked.append((path.name, text)))

    assert measure.once(tmp_path, CASE, 2 << 20, digest=digest) == Call(1234.0, 512, "00ab")
    assert asked == [("digest", "Y" if digest else "N"), (CASE.name, "2097152")]


def test_a_kernel_that_can_not_bind(tmp_path: Path) -> None:
    (tmp_path / CASE.name).mkdir()
    with pytest.raises(MmbatchError, match=r"call bind_it\(\) for 2097152 bytes of memory that"):
        measure.once(tmp_path, CASE, 2 << 20)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([NAMES[0], "--method", "nothing"], "known methods"),
        ([NAMES[0], "-o", "x", "--modules", "."], "exclude each other"),
        (["nothing"], "it has no test memory to bind"),
        ([NAMES[0], "--size", "much"], "is not a size"),
        ([NAMES[0], "--blocks", "5"], "range"),
    ],
)
def test_misuse(argv: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["live", "measure", *argv]) == ExitCode.USAGE
    assert words in capsys.readouterr().err


def test_only_root(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("mmbatch.live.load.os.geteuid", lambda: 1000)
    assert cli.main(["live", "measure"]) == ExitCode.USAGE
    assert "only root" in capsys.readouterr().err


@pytest.mark.parametrize("name", NAMES)
def test_what_a_speedup_says_fits_the_speedup(name: str) -> None:
    each = measure.read(paths.SPEEDUPS, name)
    live_one = manifest.load(paths.SPEEDUPS, name)
    for series in live_one.series:
        targets = [file.target for file in each.files if series in file.kernels]
        assert len(targets) == len(set(targets))
        assert set(targets) == {file.target for file in each.files}
    source = (paths.SPEEDUPS / name / f"live/{each.module}.c").read_text()
    for case in each.cases:
        assert f"module_param_cb({case.name}, " in source
        assert "module_param_named(digest, " in source
        assert f"{case.function}(" in source


def test_an_option_that_the_kernel_lacks(tmp_path: Path) -> None:
    each = measure.read(paths.SPEEDUPS, NAMES[0])
    headers = kernels.Headers("7.3.1-test", SERIES[0], tmp_path, {})
    subject = manifest.load(paths.SPEEDUPS, NAMES[0])
    with pytest.raises(MmbatchError, match=f"it lacks {next(iter(each.needs))}") as caught:
        measure.build_module(Cache(tmp_path), paths.SPEEDUPS, subject, each, headers)
    assert caught.value.code == ExitCode.NOT_APPLICABLE


@pytest.mark.kernel
@pytest.mark.parametrize("series", SERIES)
@pytest.mark.parametrize("name", NAMES)
def test_the_module_builds(name: str, series: str) -> None:
    cache = Cache.open()
    release = kernels.choose(cache, None, series, lambda _: None)
    headers = kernels.find(cache, release, lambda _: None)
    each = measure.read(paths.SPEEDUPS, name)
    headers = dataclasses.replace(
        headers, config={**headers.config, **dict.fromkeys(each.needs, "y")}
    )
    content = measure.build_module(
        cache, paths.SPEEDUPS, manifest.load(paths.SPEEDUPS, name), each, headers
    )
    assert f"vermagic={release} ".encode() in content
    for case in each.cases:
        assert f"\0parm={case.name}:".encode() in content
        assert b"\0parm=digest:" in content
