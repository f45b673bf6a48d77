# SPDX-License-Identifier: GPL-2.0-only
"""The guests' filesystem, and the record made of what they counted."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from pathlib import Path

import pytest

from mmbatch.bench import machine, record, results, runs
from mmbatch.core.paths import ROOT
from mmbatch.guest import bench as guestbench
from mmbatch.guest import counts as guestcounts
from mmbatch.guest import initramfs
from mmbatch.guest import log as guestlog
from mmbatch.guest.log import Case, Heard
from mmbatch.hosted import events as samples


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


def counted_record(said: Heard) -> record.Record:
    return results.build_record(
        runs.collect(guestbench.events(said)),
        machine.describe(),
        record.KernelInfo("7.3.4", "here", "0" * 64),
        "./mmbatch guest bench",
        "2026-11-21T05:00:00+00:00",
        engine="guest-icount",
    )


def test_instructions_are_never_called_time() -> None:
    result = results.build_record(
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
    result = results.build_record(
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


def test_a_case_without_its_rows_is_a_failure() -> None:
    few = heard()
    few.values = [(name, count) for name, count in few.values if not name.endswith("auto")]
    said = list(guestbench.absent(counted_record(few)))

    assert said == [
        "fsdax: no count of auto",
        "devdax-2m: no count of base and control and auto",
        "hmm: no count of base and control and auto",
    ]


def test_two_boots_have_to_agree() -> None:
    other = heard()
    other.values = [
        (name, count * (1.002 if name.endswith("base") else 1.0005)) for name, count in other.values
    ]
    said = list(guestbench.unlike(counted_record(heard()), counted_record(other)))

    assert said == ["fsdax, base: 57000 instructions, and 57114 in another boot"]


def test_the_scripts_say_what_failed_and_how_much_they_said(tmp_path: Path) -> None:
    driver = tmp_path / "nd_pmem"
    driver.mkdir()
    script = f"""
    set -u
    . {ROOT}/guest/lib.sh
    DRIVERS={tmp_path} METHOD={tmp_path}/absent/method
    check good true
    check bad sh -c 'echo why; false'
    rebind nd_pmem pfn0.0 1 || fail "rebind: no device"
    choose wide
    choose movdir64b
    choose movdir64b
    end
    """
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    said = guestlog.read(done.stdout.splitlines())

    assert said.finished
    assert said.passed == ["good"]
    assert said.failed == [
        "bad: sh -c echo why; false (why)",
        "rebind: no device",
        "wide: refused as zone_device's method",
    ]
    assert said.skipped == ["movdir64b: not on this CPU"]


def test_vmap_is_counted_by_architecture() -> None:
    values = [("ioremap-1M items", 4096.0)]
    for variant, count in (("base", 130000), ("control", 130001), ("auto", 100000)):
        values += [(f"ioremap-1M {variant}", float(count + number % 2)) for number in range(6)]
    cases = [Case(f"vmap.vmap_arrays.{name}", "ok", "") for name in ("base", "auto")]
    said = Heard(values=values, cases=cases, finished=True)

    for arch, sentences in (
        ("arm64", ["ioremap-1M: auto takes 1.30 times fewer, and 1.35 times fewer is asked for"]),
        ("x86_64", []),
    ):
        counts = guestcounts.VMAP[arch]
        result = results.build_record(
            runs.collect(guestbench.events(said, counts)),
            machine.describe(),
            record.KernelInfo("7.3.4", "here", "0" * 64),
            "./mmbatch guest bench vmap",
            "2026-11-21T05:00:00+00:00",
            engine="guest-icount",
        )
        assert list(guestbench.too_many(result, counts)) == sentences
        assert "ioremap-1M: no count of base and control and auto" not in list(
            guestbench.absent(result, counts)
        )
        assert len(list(guestbench.absent(result, counts))) == len(counts.regimes) - 1
