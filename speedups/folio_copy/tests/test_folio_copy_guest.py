# SPDX-License-Identifier: GPL-2.0-only
"""Folios that move in guests: what is asked, what is counted, and what does not pass."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from mmbatch.core.console import Console
from mmbatch.core.errors import MmbatchError
from mmbatch.core.paths import ROOT
from mmbatch.guest import boots, plan, qemu, suites
from mmbatch.guest.build import ARCHES, GuestKernel
from mmbatch.guest.qemu import Boot, Booted, Outcome

KERNEL = GuestKernel(
    "7.3.4", "here", ARCHES["x86_64"], Path("/no/bzImage"), (), "0" * 64, "gcc 1.2"
)
BOOT = Boot("guest", KERNEL, None, 1.0)
PLAN = plan.load_plans()["folio_copy"]
(MOVES,) = PLAN.boots
STAGE = suites.Stage("x86_64-moves", "x86_64", "", 0, 0, "folio_copy", MOVES)
WHOLE = [
    f"@@ value {row}: {column} 32"
    for row in ("2M base", "2M auto", "64K base", "64K auto")
    for column in ("folios", "calls of the copy", "ms of move_pages(2)", "us late at worst")
]


def test_x86_kernels_move_folios() -> None:
    def moving(names: tuple[str, ...] = ()) -> list[str]:
        chosen = suites.stages(("x86_64", "arm64"), (), 13, 30, names)
        return [stage.name for stage in chosen if stage.speedup == "folio_copy"]

    assert moving() == ["x86_64-moves", "x86_64-debug-moves"]
    assert moving(("x86_64-kasan-moves",)) == ["x86_64-kasan-moves"]


@pytest.mark.parametrize(
    ("kind", "slow", "most", "without"),
    [
        ("plain", 1.0, "1024", ("erms",)),
        ("debug", 4.0, "128", ()),
        ("kasan", 6.0, "128", ("erms",)),
    ],
)
def test_each_kernel_moves_its_amount(
    monkeypatch: pytest.MonkeyPatch, kind: str, slow: float, most: str, without: tuple[str, ...]
) -> None:
    seen: list[qemu.Boot] = []
    files: dict[str, bytes] = {}
    monkeypatch.setattr(qemu, "run", lambda _, boot: seen.append(boot))
    monkeypatch.setattr(boots, "compiled", lambda _, source: source.name.encode())
    monkeypatch.setattr(boots, "filesystem", lambda *words: files.update(words[4]) or b"")
    setup = type("GuestSetup", (), {"cache": None})()
    boots.extra(setup, KERNEL, "moves", kind, PLAN, MOVES)
    (boot,) = seen
    assert (boot.limit_s, boot.without) == (600 * slow, without)
    checks = {"plain": (), "debug": ("page_poison=1",), "kasan": ("page_poison=1", "no5lvl")}
    assert boot.cmdline == ("numa_cma=2:320M", *checks[kind])
    assert (boot.memory_gib, boot.nodes, boot.slow_mib) == (4, 2, 512)
    settings = files["folio_copy/settings"].decode().splitlines()
    assert {f"MOST_MIB={most}", "MIB=32", "METHODS='memcpy bulk stream'"} < set(settings)
    assert {"folio_copy/folios.sh", "folio_copy/copies.sh", "bin/move_ring"} < set(files)


def test_one_guest_by_its_name() -> None:
    (stage,) = suites.stages(("x86_64", "arm64"), (), 13, 30, ("x86_64-debug-moves",))

    assert stage.kind == "debug"
    with pytest.raises(MmbatchError, match="did you mean 'x86_64-moves'"):
        suites.stages(("x86_64", "arm64"), (), 13, 30, ("arm64-moves",))


def test_a_slow_node_has_no_cpu_and_is_told_of_by_firmware() -> None:
    words = qemu.command(
        Boot("moves", KERNEL, b"", 20.0, memory_gib=4, nodes=2, slow_mib=512), None
    )
    line = " ".join(words)

    assert "-machine q35,hmat=on -m 4608M -smp 2,sockets=2" in line
    assert "size=2048M -numa node,nodeid=1,memdev=ram1 " in line
    assert "size=512M -numa node,nodeid=2,memdev=ram2,initiator=0" in line
    assert "cpu,node-id=1,socket-id=1" in words
    assert not any(word.startswith("cpu,node-id=2") for word in words)
    slow = "hmat-lb,initiator=1,target=2,hierarchy=memory,data-type=access"
    fast = "hmat-lb,initiator=1,target=0,hierarchy=memory,data-type=access"
    assert {f"{slow}-latency,latency=100", f"{slow}-bandwidth,bandwidth=1G"} < set(words)
    assert {f"{fast}-latency,latency=10", f"{fast}-bandwidth,bandwidth=10G"} < set(words)


class FakeSetup:
    """A kernel that is there; it has a suite, which these guests don't run."""

    suites = ("folio_copy",)
    plans = (PLAN,)

    def __init__(self, folder: Path) -> None:
        self.cache = type("Cache", (), {"logs": folder})()

    def kernel(self, arch: str, kind: str = "") -> GuestKernel:
        return KERNEL


def ends(folder: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str], trouble: str = "") -> int:
    number = sum(" value " in line or " pass " in line or " fail " in line for line in lines)
    outcome = qemu.read_console([*lines, f"@@ end 9.0 {number}"])
    monkeypatch.setattr(boots, "extra", lambda *_: Booted(BOOT, outcome, lines, 1.0, trouble))
    setup = FakeSetup(folder)
    return suites.run_stages(Console(), setup, [STAGE])  # type: ignore[arg-type]


def test_a_whole_test_passes_and_shows_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ends(tmp_path, monkeypatch, ["@@ pass 2M base: every byte is there", *WHOLE]) == 0

    out = capsys.readouterr().out
    assert "1 passed, 0 failed" in out
    row = "32 folios, 32 calls of the copy, 32 ms of move_pages(2), 32 us late at worst"
    assert f"x86_64-moves: 64K auto: {row}" in out


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (WHOLE[:-1], "64K auto: no number of us late at worst"),
        ([], "2M base: no number of folios"),
        ([*WHOLE, "@@ fail CMA auto: bulk copied them"], "CMA auto: bulk copied them"),
        ([*WHOLE, "[    1.0] BUG: sleeping function called"], "the kernel complained: BUG"),
    ],
)
def test_what_is_lacking_or_wrong_is_a_failure(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    lines: list[str],
    reason: str,
) -> None:
    assert ends(tmp_path, monkeypatch, lines) == 1
    assert f"FAILED x86_64-moves: {reason}" in capsys.readouterr().out


def test_a_guest_in_trouble_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ends(tmp_path, monkeypatch, WHOLE, "the guest ended without a result") == 1


def judged(folder: Path, counts: Mapping[str, Mapping[int, int]], event: str) -> Outcome:
    """Return what copies.sh makes of counts: 8 folios of 512 pages should be copied by `event`."""
    for name in ("mc", "folio", "plain", "page", "auto", "bulk", "memcpy", "stream"):
        place = folder / "events/kprobes" / name
        place.mkdir(parents=True)
        lines = [
            f"{{ n: {n:10} }} hitcount: {hits:10}\n" for n, hits in counts.get(name, {}).items()
        ]
        (place / "hist").write_text("".join(["# event histogram\n", *lines, "Totals:\n"]))
    script = f"""
    . '{ROOT}/guest/lib.sh'
    . '{PLAN.directory}/copies.sh'
    TRACING={folder}
    copied_by case {event} 8 512
    end
    """
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    return qemu.read_console(done.stdout.splitlines())


BULK = {"mc": {64: 11}, "folio": {512: 8}, "bulk": {512: 8}, "page": {4096: 3}}
PAGES = {"mc": {64: 8}, "page": {4096: 8 * 512}}
AUTO = {
    "mc": {64: 8},
    "folio": {512: 8},
    "auto": {512: 8},
    "bulk": {8: 2, 512: 5},
    "stream": {8: 2, 480: 3},
}


@pytest.mark.parametrize(
    ("counts", "event", "passed"), [(BULK, "bulk", 6), (PAGES, "pages", 7), (AUTO, "auto", 4)]
)
def test_counts_that_are_as_they_should_be(
    tmp_path: Path, counts: Mapping[str, Mapping[int, int]], event: str, passed: int
) -> None:
    outcome = judged(tmp_path, counts, event)

    assert outcome.failed == []
    assert len(outcome.passed) == passed


@pytest.mark.parametrize(
    ("counts", "event", "failed"),
    [
        (PAGES, "bulk", ["copied as folios", "bulk copied them", "not page by page"]),
        (PAGES | {"mc": {64: 8 * 512}}, "pages", ["not as single pages"]),
        (PAGES | {"mc": {64: 7}}, "pages", ["copied as folios"]),
        (BULK, "pages", ["bulk did not", "page by page"]),
        (AUTO, "bulk", ["auto did not", "bulk copied them"]),
        (BULK, "auto", ["auto copied them"]),
        (BULK, "stream", ["bulk did not", "stream copied them"]),
        ({}, "bulk", ["copied as folios of 512 pages", "bulk copied them"]),
        ({"folio": {1: 4096}, "bulk": {16: 256}}, "bulk", ["copied as folios", "bulk copied"]),
        (BULK | {"bulk": {512: 7}}, "bulk", ["bulk copied them"]),
    ],
)
def test_counts_that_tell_of_another_way(
    tmp_path: Path, counts: Mapping[str, Mapping[int, int]], event: str, failed: list[str]
) -> None:
    outcome = judged(tmp_path, counts, event)

    assert len(outcome.failed) == len(failed)
    for problem, expected in zip(outcome.failed, failed, strict=True):
        assert problem.startswith(f"case: {expected}")


@pytest.fixture(scope="module")
def move_folios(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("guest") / "move_folios"
    source = PLAN.directory / "move_folios.c"
    subprocess.run(["gcc", "-O2", "-Wall", "-Werror", "-o", program, source], check=True)
    return program


def moved(program: Path, memory: str, *action: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [program, memory, "2", "64", "0", *action], capture_output=True, text=True, check=False
    )
    if "set_mempolicy" in done.stderr or "madvise" in done.stderr:
        pytest.skip(f"this machine does not let it: {done.stderr.strip()}")
    return done


def test_memory_that_is_left_alone_is_good(move_folios: Path) -> None:
    assert moved(move_folios, "anon", "run", "true").returncode == 0


def test_a_byte_that_changed_is_found(move_folios: Path, tmp_path: Path) -> None:
    file = tmp_path / "memory"
    change = f"printf x | dd of={file} bs=1 seek=1000000 conv=notrunc status=none"
    done = moved(move_folios, str(file), "run", change)

    assert done.returncode == 1
    assert "page 244 of 512 lost its content" in done.stderr


def test_a_command_that_fails_is_told(move_folios: Path) -> None:
    done = moved(move_folios, "anon", "run", "false")

    assert done.returncode == 1
    assert "it ended with 256: false" in done.stderr
