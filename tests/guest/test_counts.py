# SPDX-License-Identifier: GPL-2.0-only
"""The guests' filesystem, and the record made of what they counted."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from expect import printed
from fake_program import script
from fake_run import counted_by
from mmbatch.bench import record
from mmbatch.bench.table import tables
from mmbatch.core.paths import ROOT
from mmbatch.guest import boots, counts, initramfs
from mmbatch.guest.console import Case, Outcome
from mmbatch.guest.plan import Boot, Count
from mmbatch.hosted import events as samples
from mmbatch.report import text


@pytest.mark.skipif(shutil.which("cpio") is None, reason="no cpio to read it with")
def test_cpio_reads_the_archive(tmp_path: Path) -> None:
    files = {"bin/tool": b"\x7fELF tool", "a/b/c": b""}
    packed = initramfs.pack(files, {"bin/other": "tool"}, ["empty"])
    assert packed == initramfs.pack(files, {"bin/other": "tool"}, ["empty"])

    subprocess.run(
        ["cpio", "--quiet", "-id"], input=gzip.decompress(packed), cwd=tmp_path, check=True
    )

    assert (tmp_path / "bin/tool").read_bytes() == b"\x7fELF tool"
    assert (tmp_path / "bin/tool").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "bin/other").readlink() == Path("tool")
    assert (tmp_path / "empty").is_dir()
    assert (tmp_path / "a/b/c").read_bytes() == b""


COUNT = Count(
    "count-toys",
    64,
    {"blocks": "blocks in a row", "dolls": "dolls", "cars": "cars"},
    "toys.toys_same.",
)
BOOT = Boot(("plain",), least={"blocks": 3.0})


def outcome(rounds: int = 6) -> Outcome:
    values = [("blocks items", 1000.0)]
    for i in range(rounds):
        for variant, number in (("base", 57000), ("control", 57001), ("auto", 7100)):
            values.append((f"blocks {variant}", float(number + i % 2)))
    same = "toys.toys_same."
    cases = [Case(f"{same}base", "ok", ""), Case(f"{same}auto", "ok", "")]
    return Outcome(values=values, cases=cases, finished=True)


def test_what_was_counted_becomes_a_run() -> None:
    found = tables(counted_record(outcome()))["blocks"]
    assert found.case.unit == "instructions"
    assert found.chosen.times == (7100, 7101) * 3
    assert found.control and found.control.equal is True


def test_no_number_without_a_passed_suite_in_the_same_boot() -> None:
    unproven = outcome()
    unproven.cases = [case for case in unproven.cases if not case.name.endswith("auto")]
    failed = outcome()
    failed.cases[1] = Case(failed.cases[1].name, "not ok", "byte 3")

    for story in (unproven, failed):
        found = tables(counted_record(story))["blocks"]
        assert found.chosen.name == samples.AUTO and found.chosen.median is None


def counted_record(outcome: Outcome) -> record.Record:
    return counted_by(list(counts.events(outcome, "toys", COUNT)))


def test_instructions_are_never_called_time() -> None:
    result = counted_record(outcome())

    assert [row.verdict for row in tables(result)["blocks"].rows] == ["base", "fewer instructions"]
    shown = text.report(result, every=True)
    assert re.search(r"^auto +\d+ +7[.]10 +8[.]028", shown, re.M) is not None
    assert "instructions and not time" in " ".join(shown.split())
    assert "faster" not in shown
    assert list(boots.too_many(outcome(), BOOT)) == []


def test_the_gate_names_the_case_that_misses_it() -> None:
    slow = outcome()
    slow.values = [
        (name, 40000.0 if name.endswith("auto") else count) for name, count in slow.values
    ]

    assert list(boots.too_many(slow, BOOT)) == [
        "blocks: 40000 auto, 57000 base; it must take 3 times fewer"
    ]


def test_a_case_without_its_rows_is_a_failure() -> None:
    few = outcome()
    few.values = [(name, count) for name, count in few.values if not name.endswith("auto")]
    output = list(counts.absent(counted_record(few), COUNT))

    assert output == [
        "blocks: no count of auto",
        "dolls: no count of base and control and auto",
        "cars: no count of base and control and auto",
    ]


def test_two_boots_have_to_agree() -> None:
    other = outcome()
    other.values = [
        (name, count * (1.002 if name.endswith("base") else 1.0005)) for name, count in other.values
    ]
    output = list(counts.unlike(counted_record(outcome()), counted_record(other)))

    assert output == ["blocks, base: 57000 instructions, and 57114 in another boot"]


@pytest.mark.parametrize(
    ("on", "report", "state"),
    [
        (1, "BUG: KCSAN: data-race in page_copied / move_folio", "fail KCSAN: BUG"),
        (1, "BUG: KCSAN: data-race in tick_sched / tick_do", "pass KCSAN: no data race"),
        (0, "", "fail KCSAN: on"),
    ],
)
def test_only_races_in_our_functions_fail(tmp_path: Path, on: int, report: str, state: str) -> None:
    kcsan = tmp_path / "kcsan"
    kcsan.write_text(f"enabled: {on}\nsetup_watchpoints: 70\n")
    text = (ROOT / "guest/lib.sh").read_text(encoding="utf-8")
    library = tmp_path / "lib.sh"
    library.write_text(text.replace("/sys/kernel/debug/kcsan", str(kcsan)), encoding="utf-8")
    dmesg = f"echo 'kcsan: selftest: 3/3 tests passed'\necho '{report}'"
    script(tmp_path / "dmesg", dmesg)
    commands = f"PATH={tmp_path}:$PATH; . {library}; no_race 'copied\\|other'"
    shown = printed("sh", "-c", commands)
    assert f"@@ {state}" in shown
    assert "@@ value KCSAN: accesses watched 70" in shown
