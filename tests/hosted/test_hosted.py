# SPDX-License-Identifier: GPL-2.0-only
import json
import os
import signal
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from expect import fails
from fake_program import script
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.hosted import run as hosted
from mmbatch.hosted.events import Case, Done, Engine, Equal, Event, Sample
from mmbatch.hosted.run import Request

GIB = 1 << 30
ALL = Request(cases=(), items=None, pairs=24, seed=1, budget_s=None, features=())
CASE = Case("toy-4M", "cold", "ns", "toy", 1024, 65536, ("base", "auto"), 2)
WHOLE: list[Event] = [
    CASE,
    Equal("toy-4M", "auto", True, 65536, ""),
    *(Sample("toy-4M", name, 0, 0, pos, 100) for pos, name in enumerate(("base", "auto"))),
    Done(),
]


def program(directory: Path, *events: Event, then: str = "") -> Path:
    """Make a program that prints events and then does something else."""
    lines = "".join(json.dumps({"event": event.event, **asdict(event)}) + "\n" for event in events)
    text = f"echo \"$@\" > '{directory}/asked'\ncat <<'E'\n{lines}E\n{then}"
    return script(directory / "hosted", text)


def run(directory: Path, *events: Event, then: str = "") -> list[Event]:
    hosted_program = program(directory, *events, then=then)
    found: list[Event] = []
    hosted.run(hosted_program, ALL, [CASE], directory / "hosted.log", found)
    return found


def test_a_plan_is_what_the_program_lists(tmp_path: Path) -> None:
    small = Case("toy-hot", "hot", "ns", "toy", 8, 512, ("base",), 10)
    assert hosted.plan(program(tmp_path, CASE, small, Done()), ALL) == [CASE, small]
    assert (tmp_path / "asked").read_text() == "--pairs 24 --seed 1 --list\n"


def sized(items: int, name: str = "toy") -> Case:
    return Case(name, "cold", "ns", "toy", items, items * 64, ("base",), 2)


def test_the_largest_size_that_fits_is_named_and_fits() -> None:
    hosted.require_memory([sized(GIB // 64)], 2 * GIB)
    with pytest.raises(MmbatchError) as caught:
        hosted.require_memory([sized(8), sized(4 * GIB // 64, "big")], 2 * GIB)
    assert caught.value.code == ExitCode.NOT_APPLICABLE
    assert "big" in caught.value.action
    assert "2.0 GiB are free" in caught.value.problem
    items = int(caught.value.hint.rpartition("--size ")[2].rstrip("M")) << 8
    hosted.require_memory([sized(items)], 2 * GIB)
    with pytest.raises(MmbatchError):
        hosted.require_memory([sized(items + (2 << 20) // 64)], 2 * GIB)


@pytest.mark.parametrize(
    ("limit", "parent", "machine", "expected"),
    [
        ("1000", "max", 5000, 600),
        ("9000", "max", 5000, 5000),
        ("300", "max", 5000, 0),
        ("1000", "900", 5000, 500),
        ("max", "1000", 5000, 600),
        (None, None, 5000, 5000),
    ],
)
def test_a_memory_limit_of_a_control_group_or_its_parent_counts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit: str | None,
    parent: str | None,
    machine: int,
    expected: int,
) -> None:
    (tmp_path / "cgroup").write_text("0::/slice/toys\n")
    monkeypatch.setattr(hosted, "_OWN_CGROUP", tmp_path / "cgroup")
    monkeypatch.setattr(hosted, "_CGROUPS", tmp_path)
    (tmp_path / "slice" / "toys").mkdir(parents=True)
    for name, text in (("slice/toys", limit), ("slice", parent)):
        if text is not None:
            (tmp_path / name / "memory.max").write_text(f"{text}\n")
            (tmp_path / name / "memory.current").write_text("400\n")
    assert hosted.available_memory(machine) == expected


def test_a_whole_run_gives_back_its_events_even_of_an_unequal_image(tmp_path: Path) -> None:
    assert run(tmp_path, *WHOLE) == WHOLE
    assert (tmp_path / "asked").read_text() == "--pairs 24 --seed 1\n"
    assert run(tmp_path, *WHOLE, then="exit 1") == WHOLE


@pytest.mark.parametrize("keep", [0, 1, 3])
def test_an_early_end_is_no_result(tmp_path: Path, keep: int) -> None:
    with fails("hosted ended with 70", str(tmp_path / "hosted.log"), code=ExitCode.FAILED):
        run(tmp_path, *WHOLE[:keep], then="exit 70")


def test_a_kernel_symbol_that_is_not_there_is_named(tmp_path: Path) -> None:
    words = "hosted: kernel code at 0x4711 touched 'toy_symbol', which is not defined"
    with fails(words.removeprefix("hosted: "), "object that defines toy_symbol"):
        run(tmp_path, *WHOLE[:2], then=f'echo "{words}" >&2; exit 70')


def test_a_program_that_is_killed_is_told_so(tmp_path: Path) -> None:
    with fails("SIGKILL", "smaller --size"):
        run(tmp_path, *WHOLE[:3], then="kill -9 $$")


def test_ctrl_c_ends_the_program(tmp_path: Path) -> None:
    """The fault that no test may have: a program that measures on, unseen."""
    pid = tmp_path / "pid"

    def interrupt() -> None:
        deadline = time.monotonic() + 300
        while not (pid.exists() and pid.read_text().strip()) and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Thread(target=interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, *WHOLE[:2], then=f"echo $$ > '{pid}'; exec sleep 600")
    timer.join()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_cache_is_measured_once_and_passed_on(tmp_path: Path) -> None:
    engine = Engine("toys", ("base", "patched"), 64, {}, 260 << 20, 44 << 20)
    hosted_program = program(tmp_path, engine, CASE)
    request = hosted.with_cache(hosted_program, ALL)
    assert (tmp_path / "asked").read_text() == "--list\n"
    assert request == replace(ALL, cached_bytes=44 << 20)
    hosted.plan(hosted_program, request)
    assert f"--cached {44 << 20} --list" in (tmp_path / "asked").read_text()
