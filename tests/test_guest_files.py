# SPDX-License-Identifier: GPL-2.0-only
"""The guests' filesystem, and the record made of what they counted."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from pathlib import Path

import pytest

from mmbatch import guestbench, initramfs, machine, record, report, runs, samples
from mmbatch.guestlog import Case, Heard


@pytest.mark.skipif(shutil.which("cpio") is None, reason="no cpio to read it with")
def test_cpio_reads_the_archive(tmp_path: Path) -> None:
    archive = initramfs.Archive()
    archive.file("bin/tool", b"\x7fELF tool", 0o755)
    archive.link("bin/other", "tool")
    archive.folder("empty/deep")

    subprocess.run(
        ["cpio", "--quiet", "-id"], input=gzip.decompress(archive.pack()), cwd=tmp_path, check=True
    )

    assert (tmp_path / "bin/tool").read_bytes() == b"\x7fELF tool"
    assert (tmp_path / "bin/tool").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "bin/other").readlink() == Path("tool")
    assert (tmp_path / "empty/deep").is_dir()


def test_the_same_input_gives_the_same_archive() -> None:
    def pack() -> bytes:
        archive = initramfs.Archive()
        archive.file("a/b", b"c")
        archive.node("dev/console", (5, 1))
        return archive.pack()

    assert pack() == pack()


def heard(rounds: int = 6) -> Heard:
    values = [("fsdax items", 1000.0)]
    for number in range(rounds):
        for variant, count in (("base", 57000), ("control", 57001), ("auto", 7100)):
            values.append((f"fsdax {variant}", float(count + number % 2)))
    same = "zone_device.zone_device_same_image."
    cases = [Case(f"{same}base", "ok", ""), Case(f"{same}auto", "ok", "")]
    return Heard(values=values, cases=cases, finished=True)


def test_what_was_counted_becomes_a_run() -> None:
    run = runs.collect(guestbench.events(heard()))

    case = run.cases["fsdax"]
    assert case.case.unit == "instructions"
    assert case.times(samples.AUTO) == [7100, 7101] * 3
    assert case.equality("control") is True
    assert run.complete


def test_no_number_without_a_passed_suite_in_the_same_boot() -> None:
    unproven = heard()
    unproven.cases = [case for case in unproven.cases if not case.name.endswith("auto")]
    failed = heard()
    failed.cases[1] = Case(failed.cases[1].name, "not ok", "byte 3")

    for story in (unproven, failed):
        assert runs.collect(guestbench.events(story)).cases["fsdax"].times(samples.AUTO) == []


def test_instructions_are_never_called_time() -> None:
    result = report.build_record(
        runs.collect(guestbench.events(heard())),
        machine.describe(),
        record.KernelInfo("7.3.4", "here", "0" * 64),
        "./mmbatch guest bench",
        "2026-11-21T05:00:00+00:00",
        engine="guest-icount",
    )

    counted = guestbench.counted(result)

    assert [row.verdict for row in counted.rows] == ["base", "fewer instructions"]
    record.validate(record.to_dict(counted))
    text = "\n".join(guestbench.table(counted))
    assert "7.10 instructions a page, 8.03 times fewer" in text
    assert "faster" not in text
    assert list(guestbench.too_many(counted)) == []


def test_the_gate_names_the_case_that_misses_it() -> None:
    slow = heard()
    slow.values = [
        (name, 40000.0 if name.endswith("auto") else count) for name, count in slow.values
    ]
    result = report.build_record(
        runs.collect(guestbench.events(slow)),
        machine.describe(),
        record.KernelInfo("7.3.4", "here", "0" * 64),
        "./mmbatch guest bench",
        "2026-11-21T05:00:00+00:00",
        engine="guest-icount",
    )

    assert list(guestbench.too_many(result)) == [
        "fsdax: auto takes 1.43 times fewer, and 3 times fewer is asked for"
    ]
