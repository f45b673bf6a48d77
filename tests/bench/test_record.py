# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from fake_run import EVERY, mixed, record_of
from mmbatch.bench import record
from mmbatch.bench.session import machine_code, share, start_seed
from mmbatch.core.errors import MmbatchError


@pytest.mark.parametrize("events", EVERY)
def test_file_gives_back_the_record(events: Any, tmp_path: Path) -> None:
    made = record_of(events())
    record.write(tmp_path / "a.json", made)
    assert asdict(record.read(tmp_path / "a.json")) == asdict(made)


@pytest.mark.parametrize(
    ("place", "value", "found"),
    [
        (("schema",), 1, "schema: must be 2, not 1"),
        (("engine",), "toys", "engine: must be one of"),
        (("cases", "small-hot", "items"), 0, "cases: small-hot: items: must be at least 1"),
        (("cases", "small-hot", "variants", "auto", "samples"), [[[0]]], "must be at least 1"),
    ],
)
def test_a_wrong_place_is_named(
    place: tuple[str, ...], value: Any, found: str, tmp_path: Path
) -> None:
    data = json.loads(record.to_json(asdict(record_of(mixed()))))
    inner = data
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    (tmp_path / "a.json").write_text(json.dumps(data))
    with pytest.raises(MmbatchError, match=found):
        record.read(tmp_path / "a.json")


def test_what_rebind_sh_prints_is_a_record(tmp_path: Path) -> None:
    rows = "base 260 ms 26214400 pages\ncontrol 264 ms 26214400 pages\nauto 0 ms 26214400 pages\n"
    (tmp_path / "a").write_text(f"# toys: pmem pfn0.1, Linux 7.3.4\n{rows * 2}# proof passed\n")
    made = record.read(tmp_path / "a")
    case = made.cases["pmem pfn0.1"]
    assert (made.speedup, made.kernel.release, made.timed) == ("toys", "7.3.4", True)
    assert case.variants["base"] == record.Variant(True, (((260_000_000,), (260_000_000,)),))
    assert case.variants["auto"].samples == (((1_000_000,), (1_000_000,)),)
    (tmp_path / "a").write_text("# else\n")
    with pytest.raises(MmbatchError, match="neither JSON nor"):
        record.read(tmp_path / "a")


def test_names_of_runs_differ() -> None:
    alike = [record_of(mixed(), started=f"2026-01-0{day}T03:04:05+00:00") for day in (1, 2)]
    assert list(record.named(alike[:1])) == ["zone_device: Zen 3, Linux 7.3.1"]
    assert list(record.named(alike))[1].endswith("Linux 7.3.1, 2026-01-02 03:04:05")
    assert len(record.named([alike[0], alike[0]])) == 1


def test_newest_whole_run_of_each_speedup(tmp_path: Path) -> None:
    for name in ("2026-01", "2026-02"):
        record.write(tmp_path / f"{name}.json", record_of(mixed()))
    part = asdict(record_of(mixed())) | {"command": "./mmbatch bench zone_device --case a"}
    (tmp_path / "2026-03.json").write_text(json.dumps(part))
    (tmp_path / "2026-04.json").write_text("{}")
    assert record.newest(tmp_path) == {"zone_device": tmp_path / "2026-02.json"}
    assert record.newest(tmp_path, "6.12.1") == {}


@pytest.mark.parametrize("pairs", [1, 2, 3, 5, 6, 7, 12, 24, 25, 120])
def test_shares_of_starts_add_up_in_whole_blocks(pairs: int) -> None:
    shares = [share(pairs, number) for number in range(4)]
    assert sum(shares) == pairs
    assert sum(each % 2 for each in shares) == pairs % 2


def test_seeds_of_starts_differ_and_move_on_by_a_layout() -> None:
    seeds = [start_seed(1, number) for number in range(8)]
    assert seeds[0] == 1
    assert len(set(seeds)) == 8
    assert [seed % 4 for seed in seeds[:4]] == [1, 2, 3, 0]


def test_machine_code_leaves_out_what_does_not_run(tmp_path: Path) -> None:
    """The same code with another comment and debug section is the same; another constant is not."""
    import subprocess

    texts = {}
    for name, number, comment in (("a", 3, "x"), ("b", 3, "y"), ("c", 4, "x")):
        source = tmp_path / f"{name}.c"
        source.write_text(
            f"/* {comment} */\nextern int g;\nint f(void) {{ return g + {number}; }}\n"
        )
        words = ["gcc", "-g", "-O2", "-c", str(source), "-o", str(tmp_path / f"{name}.o")]
        subprocess.run(words, check=True)
        texts[name] = machine_code(tmp_path / f"{name}.o")
    assert "RELOCATION" in texts["a"]
    assert texts["a"] == texts["b"] != texts["c"]
