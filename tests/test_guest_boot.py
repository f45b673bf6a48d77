# SPDX-License-Identifier: GPL-2.0-only
"""Guests that hang, die or say nothing, played by a shell script in QEMU's place."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from mmbatch import guestbuild, guestneeds, guesttest, qemu
from mmbatch.cache import Cache
from mmbatch.errors import MmbatchError
from mmbatch.guestbuild import ARCHES, GuestKernel, Wanted


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def boot(name: str = "guest", **changes: object) -> qemu.Boot:
    kernel = GuestKernel("7.3.4", "here", ARCHES["x86_64"], Path("/no/bzImage"), (), "0" * 64)
    fields: dict[str, object] = {"initramfs": b"", "limit_s": 20.0, **changes}
    return qemu.Boot(name, kernel, **fields)  # type: ignore[arg-type]


def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "qemu-system-x86_64"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_a_guest_that_ends_well(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(tmp_path, monkeypatch, r"printf '\033c\033[?7l\033[2J@@ pass it\r\n@@ end 1.0\r\n'")

    booted = qemu.run(cache, boot())

    assert booted.trouble == ""
    assert booted.heard.passed == ["it"]
    assert (cache.logs / "guest-guest.console").read_text() == "@@ pass it\n@@ end 1.0\n"


def test_a_guest_that_hangs_is_ended_with_all_that_it_started(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = tmp_path / "pid"
    play(tmp_path, monkeypatch, f"echo last words\nsleep 100 &\necho $! > {pid}\nwait")
    start = time.monotonic()

    booted = qemu.run(cache, boot(limit_s=1.0))

    assert time.monotonic() - start < 15
    assert booted.trouble
    assert "last words" in qemu.last_lines(booted)
    state = Path(f"/proc/{pid.read_text().strip()}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"


def test_a_guest_without_a_result_is_in_trouble(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(tmp_path, monkeypatch, "echo '[    1.0] Kernel panic - not syncing: no init found'")

    booted = qemu.run(cache, boot())

    assert booted.trouble == "the guest ended without a result"
    assert booted.heard.complaints


def test_kvm_is_believed_only_after_a_boot(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(tmp_path, monkeypatch, f"echo x >> {tmp_path}/boots; echo nothing")
    monkeypatch.setattr("mmbatch.qemu.os.access", lambda *_: True)
    monkeypatch.setattr("mmbatch.qemu.platform.machine", lambda: "x86_64")

    assert not qemu.kvm_works(cache, boot(), lambda _: None)
    assert not qemu.kvm_works(cache, boot(), lambda _: None)
    assert (tmp_path / "boots").read_text() == "x\n"  # it was remembered


def test_the_nvdimm_keeps_its_alignment_behind_the_label() -> None:
    words = qemu.command(boot(pmem_gib=100), None)

    assert "memory-backend-ram,id=pm0,size=102402M,share=on,reserve=off" in words
    assert "nvdimm,memdev=pm0,id=nv0,label-size=2M" in words


def test_counting_fixes_all_that_could_differ() -> None:
    words = " ".join(qemu.command(boot(counted=True, cpus=1), None))

    for wanted in ("-icount shift=0,align=off,sleep=off", "-seed 42", "clock=vm", "nokaslr"):
        assert wanted in words


@pytest.mark.parametrize(("text", "gib"), [("4G", 4), ("100g", 100), ("16", 16)])
def test_sizes(text: str, gib: int) -> None:
    assert guesttest.size_gib(text) == gib


def test_what_is_missing_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmbatch.guestneeds.find", lambda program: None)

    with pytest.raises(MmbatchError) as caught:
        guestneeds.ensure(["x86_64"], lambda _: None, install=False)

    assert "ndctl" in caught.value.found
    assert "qemu-system-x86" in caught.value.todo
    assert "--install" in caught.value.todo


def test_the_stages_of_a_whole_test() -> None:
    chosen = guesttest.stages(("x86_64", "arm64"), None, 100, 30)

    assert [(stage.name, stage.size_gib, stage.rebinds) for stage in chosen] == [
        ("x86_64", 100, 30),
        ("x86_64-debug", 4, 5),
        ("x86_64-kasan", 4, 5),
        ("arm64", 0, 0),
    ]


def test_options_have_a_folder_of_their_own(tmp_path: Path) -> None:
    plain = Wanted(ARCHES["x86_64"], "", (), tmp_path)
    other = Wanted(ARCHES["x86_64"], "debug", ("CONFIG_X=y",), tmp_path)

    assert plain.flavour == "x86_64"
    assert other.flavour.startswith("x86_64-debug-")


def test_a_spliced_file_replaces_the_link_and_not_what_it_leads_to(tmp_path: Path) -> None:
    original = tmp_path / "original"
    original.write_text("theirs")
    link = tmp_path / "link"
    os.link(original, link)

    guestbuild.put(link, b"ours")
    before = link.stat().st_mtime_ns
    guestbuild.put(link, b"ours")

    assert original.read_text() == "theirs"
    assert link.read_text() == "ours"
    assert link.stat().st_mtime_ns == before  # make would build it again


def test_another_machine_is_told_what_it_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmbatch.guestneeds.platform.machine", lambda: "riscv64")

    with pytest.raises(MmbatchError) as caught:
        guestneeds.ensure(["x86_64"], lambda _: None, install=True)

    assert caught.value.code == 77
    assert "--arch arm64" in caught.value.todo
