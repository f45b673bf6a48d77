# SPDX-License-Identifier: GPL-2.0-only
"""The guests of `mmbatch live test`: what they are given, and what becomes of their results."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.console import Console
from mmbatch.core.errors import MmbatchError
from mmbatch.guest import qemu
from mmbatch.guest.qemu import Outcome
from mmbatch.live import build, guest, guests, kernel, manifest, payload
from mmbatch.live.guests import QUICK
from mmbatch.live.kernel import Stock
from mmbatch.report import matrix

BOOTS = {"count": 1, "functional": 20, "rounds": 300, "extra": 4000}
LIVES = manifest.known(paths.SPEEDUPS)
GOOD = """
observers = ["toy_image"]
drivers = ["nd_toy"]
programs = ["play"]

[[count]]
case = "row"
least = 2.5

[tool]
parameter = "method"
value = "fast"
other = "base"
wrong = "fsat"
refused = "size"
slow = ["get_it"]
"""


@pytest.mark.parametrize("failing", ["", *BOOTS])
def test_the_checks_of_all_boots_are_added_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    for name, passed in BOOTS.items():
        outcome = Outcome(passed=["it"] * passed, failed=["not it"] if name == failing else [])
        booted = SimpleNamespace(outcome=outcome, trouble="", wall_s=1.0)
        monkeypatch.setattr(guests, name, lambda *_, booted=booted: booted)
    monkeypatch.setattr(guest, "report_count", lambda booted, _, tell: guest.report(booted, tell))
    for module, name in ((build, "build_all"), (kernel, "fetch_image"), (kernel, "find")):
        monkeypatch.setattr(module, name, lambda *_: None)
    tests = (SimpleNamespace(speedup="toy", boots=(payload.ExtraBoot("far"),)),)
    load = SimpleNamespace(modules={"toy": None, "other": None}, least={}, tests=tests)
    monkeypatch.setattr(guest, "_load", lambda *_: load)
    cache = Cache(tmp_path / "cache")
    found = guest.run_all(Console(-1), cache, "6.12-amd64", QUICK)
    assert found == matrix.Live("6.12-amd64", ("toy", "other"), not failing, 4321, QUICK.rounds)


@pytest.mark.parametrize("failing", ["", *guests.PLUGS])
def test_memory_is_plugged_in_each_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    tried: list[tuple[str, int]] = []

    def plugged(_cache: object, _stock: object, _load: object, kind: str, gib: int) -> object:
        tried.append((kind, gib))
        outcome = Outcome(passed=["it"], failed=["not it"] if kind == failing else [])
        return SimpleNamespace(outcome=outcome, trouble="", wall_s=1.0)

    monkeypatch.setattr(guests, "plugged", plugged)
    for module, name in ((build, "build_all"), (kernel, "fetch_image"), (kernel, "find")):
        monkeypatch.setattr(module, name, lambda *_: None)
    monkeypatch.setattr(guest, "_load", lambda *_: SimpleNamespace(modules={"toy": None}))
    found = guest.run_plugs(Console(-1), Cache(tmp_path / "cache"), "6.12-amd64", 256)

    assert tried == [("dimm", 256), ("virtio-mem", 256), ("dax", 256)]
    assert found == matrix.Live("6.12-amd64", ("toy",), not failing, 3, 0)


@pytest.mark.parametrize("good", [True, False])
def test_one_boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, good: bool) -> None:
    outcome = Outcome(passed=["it", "that"], failed=[] if good else ["not it"])
    booted = SimpleNamespace(outcome=outcome, trouble="", wall_s=1.0)
    monkeypatch.setattr(guests, "once", lambda *_: booted)
    load = SimpleNamespace(modules={"toy": None})
    monkeypatch.setattr(guest, "_stock", lambda *_: (None, load))
    monkeypatch.setattr(guest, "usable", lambda _, load, show: load)

    found = guest.run_once(Console(-1), Cache(tmp_path / "cache"), "6.12-rt-amd64")

    assert found == matrix.Live("6.12-rt-amd64", ("toy",), good, 2, 0)


def write(speedups: Path, text: str = GOOD, name: str = "toy") -> Path:
    live = speedups / name / "live"
    live.mkdir(parents=True)
    (live / "guest.toml").write_text(text)
    for script in ("guest.sh", "compare.sh"):
        (live / script).write_text(f"# {name} {script}\n")
    return live


def test_what_a_manifest_says(tmp_path: Path) -> None:
    live = write(tmp_path)

    test = payload.load(tmp_path, "toy")

    assert (test.observers, test.drivers, test.programs) == (("toy_image",), ("nd_toy",), ("play",))
    assert test.least == {"row": 2.5}
    assert test.tool == payload.ToolTest("method", "fast", "base", "fsat", "size", ("get_it",))
    assert test.functions == live / "guest.sh"
    assert test.script == "compare_toy"


@pytest.mark.parametrize("name", ["guest.toml", "guest.sh", "compare.sh"])
def test_a_file_that_is_missing_is_named(tmp_path: Path, name: str) -> None:
    (write(tmp_path) / name).unlink()

    with pytest.raises(MmbatchError) as caught:
        payload.load(tmp_path, "toy")

    assert f"there is no live/{name}" in caught.value.problem


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD.replace("observers", "observes"), "unknown key 'observes'"),
        (GOOD.replace("2.5", '"much"'), "count 1: least: must be a number, not 'much'"),
        (GOOD.replace('wrong = "fsat"\n', ""), "'wrong' is missing"),
        (GOOD + "more = 1\n", "unknown key 'more'"),
        (GOOD + '[[boot]]\nname = "far"\n', "there is no far.sh"),
        (GOOD + '[[boot]]\nname = "far"\ncpus = 0\n', "boot 1: cpus: "),
    ],
)
def test_a_manifest_that_is_wrong(tmp_path: Path, text: str, words: str) -> None:
    write(tmp_path, text)

    with pytest.raises(MmbatchError) as caught:
        payload.load(tmp_path, "toy")

    assert words in caught.value.problem


def test_a_boot_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live = write(tmp_path, GOOD + '[[boot]]\nname = "far"\ncmdline = ["nosmt"]\ncpus = 4\n')
    (live / "far.sh").touch()
    test = payload.load(tmp_path, "toy")
    assert test.boots == (payload.ExtraBoot("far", ("nosmt",), 4, 1),)

    seen: dict[str, object] = {}
    monkeypatch.setattr(guests, "_boot", lambda *words, **fields: seen.update(fields, words=words))
    monkeypatch.setattr(qemu, "run", lambda *_: None)
    guests.extra(None, None, None, "toy", test.boots[0])  # type: ignore[arg-type]
    assert seen["words"] == (None, "live-toy-far", None, None, ["start", "toy_far"], {}, {})
    assert (seen["cmdline"], seen["cpus"], seen["pmem_gib"]) == (("nosmt",), 4, 1)


def test_the_tool_is_tested_with_the_first_speedup_that_says_how(tmp_path: Path) -> None:
    write(tmp_path, GOOD[: GOOD.index("[tool]")], "a")
    write(tmp_path, name="b")
    tests = tuple(payload.load(tmp_path, name) for name in ("a", "b"))

    assert payload.subject(tests) == ("b", tests[1].tool)
    with pytest.raises(MmbatchError, match="has a table"):
        payload.subject(tests[:1])


@pytest.mark.parametrize("speedup", LIVES)
def test_every_livepatch_has_what_its_guest_needs(speedup: str) -> None:
    test = payload.load(paths.SPEEDUPS, speedup)

    for name in (*test.observers, *test.programs):
        assert payload.source(name).is_file()
    functions = test.functions.read_text()
    for hook in ("count", "works", "load"):
        assert f"\n{speedup}_{hook}() {{" in functions


def test_a_source_that_does_not_exist() -> None:
    with pytest.raises(MmbatchError, match=r"no speedups/\*/guest/nothing\.c"):
        payload.source("nothing")


def test_the_scripts_of_all_are_in_the_guest(tmp_path: Path) -> None:
    write(tmp_path)
    path = tmp_path / "it.ko"
    path.write_bytes(b"module")
    module = build.Module("toy", "mmbatch_toy", path, "6.12.1", True)
    rival = build.Module("rival", "mmbatch_rival", path, "6.12.1", True)
    tests = (payload.load(tmp_path, "toy"),)
    refused = {"toy_size": (b"wrong", "words")}
    load = payload.Payload(
        {"toy": module},
        tests,
        {"toy_image": b"seen"},
        {"toy_slow": b"slow"},
        refused,
        b"key",
        rival,
        "toy",
        "toy_it",
    )

    files = load.files()
    generic = {path.name for path in payload.SCRIPTS.glob("*.sh")} - {"lib.sh"}
    assert generic | {"live.sh", "toy/live.sh", "compare_toy.sh"} <= set(files)
    assert {f"modules/{name}.ko" for name in ("mmbatch_toy", "mmbatch_rival", "toy_image")} <= set(
        files
    )
    assert load.settings() == {"SPEEDUPS": "toy", "OBSERVERS": "toy_image"}
    assert load.refused_files() == {
        "refused/signed.ko": b"key",
        "refused/toy_size.ko": b"wrong",
        "refused/toy_size.txt": b"words",
    }
    assert load.tool_settings()["TOOL_REFUSED"] == "toy_size"
    assert load.tool_settings()["RIVAL"] == "rival"
    assert (load.drivers, load.least) == (["nd_toy"], {"row": 2.5})


def test_a_kernel_that_lacks_drivers(tmp_path: Path) -> None:
    write(tmp_path, GOOD.replace('["nd_toy"]', '["nd_toy"]\noptional = ["nd_other"]'))
    write(tmp_path, GOOD.replace("nd_toy", "dax_toy"), name="second")
    tests = tuple(payload.load(tmp_path, name) for name in ("toy", "second"))
    path = tmp_path / "it.ko"
    path.write_bytes(b"module")
    modules = {
        name: build.Module(name, f"mmbatch_{name}", path, "6.12.1", True)
        for name in ("toy", "second")
    }
    load = payload.Payload(modules, tests, {}, {}, {}, b"", modules["toy"], "toy", "toy_it")
    library = tmp_path / "lib/modules/6.12.1"
    (library / "kernel").mkdir(parents=True)
    (library / "modules.builtin").write_text("kernel/nd_other.ko\n")
    (library / "kernel/nd-toy.ko").write_bytes(b"stock")
    stock = Stock("6.12.1", tmp_path)
    shown: list[str] = []

    found = guest.usable(stock, load, shown.append)

    assert shown == ["not second: Linux 6.12.1 has no dax_toy"]
    assert list(found.modules) == ["toy"]
    assert (found.drivers, found.optional) == (["nd_toy"], ["nd_other"])
    assert [stock.has(name) for name in ("nd_toy", "nd_other", "dax_toy")] == [True, True, False]
