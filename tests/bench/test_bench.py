# SPDX-License-Identifier: GPL-2.0-only
import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fake_run import broken, case_events, noisy, run_events
from mmbatch.bench import record, session
from mmbatch.bench.table import tables
from mmbatch.cli import doctor, posted
from mmbatch.cli import main as cli
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.hosted import run as hosted
from mmbatch.hosted.events import Case, Engine
from mmbatch.hosted.posted import NoEffectError
from mmbatch.hosted.run import Request
from mmbatch.kernel import sources as kernels
from mmbatch.kernel.sources import Source
from mmbatch.report import html as report_page
from mmbatch.splice import manifest

CASES = [
    Case("toys-100G", "cold", "ns", "toy", 8000, 512_000, ("base", "auto"), 24),
    Case("toys-hot", "hot", "ns", "toy", 100, 6400, ("base", "auto"), 120),
]


class Asked:
    """What reaches the engine, which is none."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
        self.requests: list[Request] = []
        self.ran: list[Request] = []
        self.options: tuple[str, ...] | None = None
        self.kernel: tuple[str | None, Path | None] | None = None
        self.source = Source("7.3", "7.3.4", place, "toys 7.3.4", "toys", "1")
        self.events = run_events(case_events())
        monkeypatch.setenv("MMBATCH_CACHE", str(place / "cache"))
        monkeypatch.setattr(manifest, "load_with_needs", lambda speedups, *names: list(names))
        monkeypatch.setattr(doctor, "ensure", lambda *_, **__: None)
        monkeypatch.setattr(kernels, "get", self.resolve)
        monkeypatch.setattr(session, "Program", self.build)
        monkeypatch.setattr(hosted, "with_cache", self.with_cache)
        monkeypatch.setattr(hosted, "plan", self.plan)
        monkeypatch.setattr(hosted, "run", self.run)
        monkeypatch.setattr(hosted, "available_memory", lambda machine_bytes: 1 << 40)

    def resolve(self, kernel: str | None, tree: Path | None) -> Source:
        self.kernel = (kernel, tree)
        return self.source

    def build(self, *arguments: Any, **_: Any) -> SimpleNamespace:
        self.options = arguments[2]
        return SimpleNamespace(
            source=self.source,
            path=Path(f"/toys/{arguments[1][-1]}/hosted"),
            objects=SimpleNamespace(
                config_sha256="ab" * 32, compiler="gcc (Toys) 1.2.3", binutils="as (Toys) 2.3"
            ),
            sides=(),
            spliced=SimpleNamespace(path=Path(), files=()),
        )

    def with_cache(self, program: Path, request: Request) -> Request:
        return replace(request, cached_bytes=44 << 20)

    def plan(self, program: Path, request: Request) -> list[Case]:
        self.requests.append(request)
        return [*CASES, replace(CASES[-1], case="a b")] if request.extra else CASES

    def run(self, program: Path, request: Request, *others: Any) -> None:
        self.ran.append(request)
        engine, *events = self.events
        assert isinstance(engine, Engine)
        others[2].extend([replace(engine, speedup=program.parent.name), *events])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Asked:
    return Asked(monkeypatch, tmp_path)


@pytest.mark.parametrize(
    ("arguments", "pairs", "budget_s", "items"),
    [
        ([], 24, 3, None),
        (["--repeats", "3"], 3, None, None),
        (["--quick"], 12, 1, 2000),
        (["--quick", "--repeats", "3"], 3, None, 2000),
        (["--quick", "--size", "308K"], 12, 1, 77),
        (["--size", "308K"], 24, 3, 77),
    ],
)
def test_size_pairs_and_budget(
    asked: Asked, arguments: list[str], pairs: int, budget_s: int | None, items: int | None
) -> None:
    assert cli.main(["bench", "zone_device", "-q", *arguments]) == ExitCode.GOOD
    assert sum(request.pairs for request in asked.ran) == pairs
    assert {(request.budget_s, request.items) for request in asked.ran} == {(budget_s, items)}
    assert asked.requests[-1].pairs == pairs


def test_a_quick_case_is_named_as_in_a_whole_run(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plan(program: Path, request: Request) -> list[Case]:
        """Name the first case by its size, as the program does."""
        names = [f"toys-{request.items or 8000}", "toys-hot"]
        assert set(request.cases) <= set(names)
        return [
            replace(case, case=name)
            for case, name in zip(CASES, names, strict=True)
            if name in request.cases or not request.cases
        ]

    monkeypatch.setattr(hosted, "plan", plan)
    words = ["bench", "vmap", "-q", "--quick", "--case", "toys-8000", "--case", "toys-hot"]
    assert cli.main(words) == ExitCode.GOOD
    assert asked.ran[-1].cases == ("toys-2000", "toys-hot")


@pytest.mark.parametrize(
    "arguments",
    [
        ["vmap"],
        ["vmap", "--quick"],
        ["vmap", "--quick", "--size", "308K"],
        ["vmap", "--repeats", "3"],
        ["vmap", "--kernel", "7.3", "--repeats", "3", "--seed", "18446744073709551615"],
        ["vmap", "--quick", "--repeats", "4", "--case", "toys-hot", "--case", "a b"],
        ["vmap", "--tree", "/my linux", "--size", "20K", "--repeats", "1", "-K", 'CONFIG_S="a"'],
        ["vmap", "--repeats", "2", "--cpu", "fsrm=0", "--cpu", "erms=1", "-K", "CONFIG_A=n"],
    ],
)
def test_the_reproducer_asks_for_the_same(
    asked: Asked, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    first = None
    for _ in range(2):
        assert cli.main(["bench", "-q", *arguments]) == ExitCode.GOOD
        seen = (asked.ran[-1], asked.options, asked.kernel and asked.kernel[1])
        assert first in (None, seen)
        first = seen
        line = capsys.readouterr().out.replace("\\\n", " ").splitlines()[-1]
        program, verb, *arguments = shlex.split(line.removeprefix("$ "))
        assert (program, verb) == ("./mmbatch", "bench")
        tree = asked.kernel is not None and asked.kernel[1] is not None
        assert ("--kernel" in arguments) != tree


def kept(place: Path) -> list[record.Record]:
    """Return the records in the cache."""
    return [record.read(path) for path in sorted((place / "cache/runs").glob("*"))]


def test_speedups_take_turns(asked: Asked, tmp_path: Path) -> None:
    html = tmp_path / "report.html"
    words = ["bench", "-q", "zone_device", "streaming_copy", "--repeats", "20"]
    assert cli.main([*words, "--html", str(html)]) == ExitCode.GOOD
    assert [request.pairs for request in asked.ran] == [6, 6, 6, 6, 4, 4, 4, 4]
    assert len({request.seed for request in asked.ran}) == 4
    assert [request.compared for request in asked.ran] == [False] * 2 + [True] * 6
    assert asked.ran[0].seed == 1
    assert {request.cached_bytes for request in asked.ran} == {44 << 20}
    runs = kept(tmp_path)
    assert [run.speedup for run in runs] == ["streaming_copy", "zone_device"]
    assert html.read_text() == report_page.render(record.named(runs[::-1]))
    for run in runs:
        (base, *_) = tables(run)["fsdax-100G"].rows
        assert len(base.times) == 80  # four starts of the toy engine's twenty
        command = "./mmbatch bench zone_device streaming_copy --kernel 7.3"
        assert run.command == f"{command} --repeats 20 --seed 1"


def test_all_speedups_of_the_kernel_take_turns(asked: Asked, tmp_path: Path) -> None:
    assert cli.main(["bench", "-q"]) == ExitCode.GOOD
    assert {"zone_device", "streaming_copy"} <= {run.speedup for run in kept(tmp_path)}


def test_an_engine_that_ends_early_leaves_no_record(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def end(*_: object) -> None:
        raise MmbatchError("run the hosted program", "it ended", "look")

    monkeypatch.setattr(hosted, "run", end)
    assert cli.main(["bench", "zone_device", "-q"]) == ExitCode.FAILED
    assert kept(tmp_path) == []


def test_a_case_whose_result_noise_hides_is_measured_once_more(
    asked: Asked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked.events = noisy()
    assert cli.main(["bench", "zone_device", "-q"]) == ExitCode.INCONCLUSIVE  # and no third time
    assert [request.cases for request in asked.ran] == [()] * 4 + [("fsdax-100G",)] * 4
    assert sum(request.pairs for request in asked.ran[4:]) == 24
    assert len({request.seed for request in asked.ran}) == 8
    assert "fsdax-100G: measured again, since noise hid the result" in capsys.readouterr().out
    (run,) = kept(tmp_path)
    assert len(run.cases["fsdax-100G"].variants["auto"].samples) == 8


def test_who_chose_the_pairs_is_not_given_more(asked: Asked) -> None:
    asked.events = noisy()
    assert cli.main(["bench", "zone_device", "-q", "--repeats", "8"]) == ExitCode.INCONCLUSIVE
    assert sum(request.pairs for request in asked.ran) == 8


def test_cases_are_listed_without_building(
    asked: Asked, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the last run here, or else from a published record."""
    monkeypatch.setattr(session, "Program", lambda *_, **__: pytest.fail("it builds"))
    assert cli.main(["bench", "zone_device", "--list"]) == ExitCode.GOOD
    assert "fsdax-100G" in capsys.readouterr().out


def test_too_little_memory_is_said_before_measuring(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(hosted, "available_memory", lambda machine_bytes: 1 << 20)
    assert cli.main(["bench", "zone_device", "-q"]) == ExitCode.NOT_APPLICABLE
    assert "get the memory for toys-100G" in capsys.readouterr().err
    assert asked.ran == []


def test_images_that_differ_are_started_once(asked: Asked) -> None:
    asked.events = broken()
    assert cli.main(["bench", "zone_device", "-q"]) == ExitCode.FAILED
    assert len(asked.ran) == 1


def test_what_posted_code_leaves_alone_is_left_out_unless_named(
    asked: Asked,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    changed = {"zone_device"}

    def build(*arguments: Any, **_: Any) -> SimpleNamespace:
        if arguments[1][-1] not in changed:
            words = ("measure 'v2'", "it changes nothing", "choose another harness")
            raise NoEffectError(*words, ExitCode.NOT_APPLICABLE)
        return asked.build(*arguments)

    monkeypatch.setattr(session, "Program", build)
    monkeypatch.setattr(posted, "make_trees", lambda *_: ["v2"])
    patch = tmp_path / "v2.patch"
    patch.write_text("")
    words = ["bench", "--patch", f"v2={patch}", "--repeats", "2"]
    assert cli.main(words) == ExitCode.GOOD
    output = capsys.readouterr().err
    others = {each.speedup for each in session.hosted((), harnesses=True)} - {*changed}
    assert all(f"leaving out {name}, " in output for name in others)
    assert asked.ran
    assert cli.main([*words, "vmap"]) == ExitCode.NOT_APPLICABLE
    assert "it changes nothing" in capsys.readouterr().err
    changed.clear()
    assert cli.main(words) == ExitCode.NOT_APPLICABLE


def test_what_is_not_hosted_names_what_counts_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "set_memory"]) == ExitCode.GOOD
    assert "./mmbatch guest bench set_memory --arch arm64" in capsys.readouterr().err
