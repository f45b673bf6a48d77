# SPDX-License-Identifier: GPL-2.0-only
"""What a guest said, read back."""

from __future__ import annotations

import pytest

from mmbatch.guest import console

STORY = """\
SeaBIOS (version 1.16.2)
Booting from ROM..\x1bc@@ start 1.71
@@ begin drivers 1.80
@@ pass fsdax: 30 rebinds, auto
@@ fail devdax: namespace: namespace -m devdax (no such device)
@@ value fsdax base 59004609
@@ value fsdax wide none
@@ begin log 33.03
@@ dmesg
[    0.100000] Linux version 7.3.4
[    0.200000] KTAP version 1
[    0.200001] 1..2
[    0.200002]     KTAP version 1
[    0.200003]     # Subtest: zone_device
[    0.200004]     1..3
[    0.200005]     ok 1 zone_device_names
[    0.200006]         KTAP version 1
[    0.200007]         # Subtest: zone_device_same_image
[    0.200008]         ok 1 copy
[    0.200009]     # zone_device_same_image: EXPECTATION FAILED at mm/zone_device_kunit.c:132
[    0.200010]     Expected zone_device_kunit_same(&window) to be true, but is false
[    0.200010]
[    0.200010] type 1, order 9, 2 PFNs, altmap of 0
[    0.200010]     # zone_device_same_image: EXPECTATION FAILED at mm/zone_device_kunit.c:132
[    0.200010]     Expected zone_device_kunit_same(&window) to be true, but is false
[    0.200011]         not ok 2 wide
[    0.200012]         ok 3 movdir64b # SKIP this machine has no method movdir64b
[    0.200013]     # zone_device_same_image: pass:1 fail:1 skip:1 total:3
[    0.200014]     not ok 2 zone_device_same_image
[    0.200015]     ok 3 zone_device_empty # SKIP not today
[    0.200016] # zone_device: pass:1 fail:1 skip:1 total:3
[    0.200017] # Totals: pass:2 fail:1 skip:2 total:5
[    0.200018] not ok 1 zone_device
@@ end 33.30 4
""".splitlines()


def test_the_marks_of_the_scripts_are_found_behind_what_the_firmware_left() -> None:
    outcome = console.read(STORY)

    assert outcome.finished
    assert outcome.passed == ["fsdax: 30 rebinds, auto"]
    assert outcome.values == [("fsdax base", 59004609.0)]
    assert outcome.failed == [
        "devdax: namespace: namespace -m devdax (no such device)",
        "fsdax wide: 'none' is not a number",
    ]


@pytest.mark.parametrize("number", ["nan", "-nan", "inf", "1e", "1e999", "", "1 "])
def test_what_is_no_number_is_no_value(number: str) -> None:
    outcome = console.read([f"@@ value fsdax base {number}"])

    assert bool(outcome.values) is (number == "1 ")
    assert bool(outcome.failed) is not bool(outcome.values)


def test_parameters_of_a_kunit_case_stand_for_it() -> None:
    outcome = console.read(STORY)

    assert [(case.name, case.state) for case in outcome.cases] == [
        ("zone_device.zone_device_names", "ok"),
        ("zone_device.zone_device_same_image.copy", "ok"),
        ("zone_device.zone_device_same_image.wide", "not ok"),
        ("zone_device.zone_device_same_image.movdir64b", "skipped"),
        ("zone_device.zone_device_empty", "skipped"),
    ]
    assert outcome.suites == {"zone_device": False}
    assert outcome.cases[2].detail == (
        "mm/zone_device_kunit.c:132; Expected zone_device_kunit_same(&window) to be true, "
        "but is false; type 1, order 9, 2 PFNs, altmap of 0 (and 1 more)"
    )


def test_a_suite_that_did_not_run_has_failed() -> None:
    _, failed, skipped = console.read(STORY).verdicts(["zone_device", "streaming_copy"])

    assert "streaming_copy: the KUnit suite did not run to its end" in failed
    assert len([name for name in failed if name.startswith("zone_device")]) == 1
    assert "zone_device.zone_device_empty: not today" in skipped


def test_a_suite_that_failed_without_a_case_has_failed() -> None:
    outcome = console.read(["[    1.000000] not ok 1 zone_device"])

    assert outcome.verdicts(["zone_device"])[1] == ["zone_device: the KUnit suite failed"]


def test_the_kernels_complaints_are_failures() -> None:
    complaints = [
        "[    1.0] WARNING: CPU: 0 PID: 1 at mm/page_alloc.c:1 f+0x1/0x2",
        "[    1.0] BUG: KASAN: slab-out-of-bounds in f+0x1/0x2",
        "[    1.0] rcu: INFO: rcu_sched self-detected stall on CPU",
        "[    1.0] WARNING: possible circular locking dependency detected",
        "[    1.0][  T12] Kernel panic - not syncing: Attempted to kill init!",
        "[    1.0] pagealloc: memory corruption",
        "[    1.0] pagealloc: single bit error",
        "[    1.0] INFO: trying to register non-static key.",
        "[    1.0] INFO: lockdep is turned off.",
        "[    1.0] BUG kmalloc-64 (Not tainted): Right Redzone overwritten",
        "[    1.0] kernel BUG at mm/zone_device.c:1!",
        "[    1.0] INFO: rcu_tasks detected stalls on tasks:",
        "[    1.0] list_del corruption. prev->next should be 1, but was 2",
        "[    1.0] Internal error: Oops - BUG: 00000000f2000800 [#1] SMP",
        "[    1.0] Unable to handle kernel paging request at virtual address 0",
        "[    1.0] ------------[ cut here ]------------",
        "[    1.0] Call Trace:",
        "[    1.0] Call trace:",
    ]
    innocent = [
        "[    1.0] tsc: Marking TSC unstable due to TSCs unsynchronized",
        "[    1.0] debug: ignoring loglevel setting.",
        "[    1.0] rcu: Hierarchical RCU implementation.",
    ]

    assert len(console.read(complaints).complaints) == len(complaints)
    assert console.read(innocent).complaints == []


def test_a_suite_in_which_nothing_ran_has_failed() -> None:
    skipped = [
        "[    1.0]     ok 1 zone_device_names # SKIP not today",
        "[    1.0] ok 1 zone_device # SKIP",
    ]

    for lines in (skipped, skipped[1:]):
        _, failed, _ = console.read(lines).verdicts(["zone_device"])
        assert failed == ["zone_device: nothing in the KUnit suite ran"]


def test_results_that_the_kernel_tore_apart_are_missed() -> None:
    lines = ["@@ pass a", "@@ fa[   12.3] nd_pmem: bad", "il b", "@@ end 3.00 2"]

    assert console.read(lines).failed == ["1 of 2 results arrived whole"]


def test_what_this_machine_lacks_is_counted_as_skipped() -> None:
    outcome = console.read(["@@ skip movdir64b: not on this CPU", "@@ end 3.00 1"])

    assert outcome.verdicts([]) == ([], [], ["movdir64b: not on this CPU"])


def test_silence_is_no_pass() -> None:
    outcome = console.read([])

    assert not outcome.finished
    assert outcome.verdicts(["zone_device"])[1]


def test_what_the_kernel_measured_and_its_own_tests_are_read() -> None:
    outcome = console.read(
        [
            "[    1.000000] vmap_bench: case=vmap-1-page method=auto ns=1234 items=64",
            "[    2.000000] Summary: vm_map_ram_test passed: 1 failed: 0 xfailed: 0 repeat: 1",
            "[    2.000001] Summary: vm_map_ram_test passed: 1 failed: 0 xfailed: 0 repeat: 1",
            "[    2.000001] Summary: full_fit_alloc_test passed: 0 failed: 2 xfailed: 0 repeat: 2",
            "[    2.000002] Summary: pcpu_alloc_test passed: 0 failed: 0 xfailed: 0 repeat: 1",
        ]
    )

    assert outcome.values == [("vmap-1-page auto", 1234.0), ("vmap-1-page items", 64.0)]
    assert outcome.passed == ["vm_map_ram_test"]
    assert outcome.failed == [
        "full_fit_alloc_test: 2 failed, 0 passed",
        "pcpu_alloc_test: 0 failed, 0 passed",
    ]
