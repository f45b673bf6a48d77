# SPDX-License-Identifier: GPL-2.0-only
"""Whether a running kernel can take a speed-up, on made-up kernels."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from test_live_fit import live

from fake_btf import kernel as fake_types
from mmbatch.live import support
from mmbatch.live.load import Kernel

RELEASE = "6.12.1-test"


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    sys = tmp_path / "sys"
    (sys / "kernel/livepatch").mkdir(parents=True)
    (sys / "kernel/btf").mkdir()
    (sys / "kernel/btf/vmlinux").write_bytes(fake_types())
    (tmp_path / "proc").mkdir()
    return Kernel(RELEASE, sys, tmp_path / "proc")


def test_a_kernel_that_can(kernel: Kernel, tmp_path: Path) -> None:
    assert support.check(live(), kernel, tmp_path).supported
    (tmp_path / f"config-{RELEASE}").write_text("CONFIG_A=y\n# CONFIG_B is not set\n")
    assert support.check(live(), kernel, tmp_path).supported


@pytest.mark.parametrize("release", ["6.13.1-test", "6.18.44-fc-v669", "6.12", "next-20261123"])
def test_another_series(kernel: Kernel, tmp_path: Path, release: str) -> None:
    found = support.check(live(), Kernel(release, kernel.sys, kernel.proc), tmp_path)
    assert not found.supported
    assert found.problem == "it supports only Linux 6.12"
    assert "boot Debian's kernel" in found.remedy


def test_options(kernel: Kernel, tmp_path: Path) -> None:
    (tmp_path / f"config-{RELEASE}").write_text("CONFIG_C=y\n")
    assert support.check(live(), kernel, tmp_path).problem == "it lacks CONFIG_A: no A"
    (tmp_path / f"config-{RELEASE}").unlink()
    (kernel.proc / "config.gz").write_bytes(gzip.compress(b"CONFIG_A=y\nCONFIG_B=m\n"))
    found = support.check(live(), kernel, tmp_path)
    assert (found.supported, found.problem) == (False, "it has CONFIG_B: too much B")
    assert found.remedy


def test_no_livepatching(kernel: Kernel, tmp_path: Path) -> None:
    kernel.patches.rmdir()
    assert "CONFIG_LIVEPATCH" in support.check(live(), kernel, tmp_path).problem


def test_types(kernel: Kernel, tmp_path: Path) -> None:
    (kernel.sys / "kernel/btf/vmlinux").write_bytes(fake_types(member="_count"))
    assert "no member _refcount" in support.check(live(), kernel, tmp_path).problem


def test_no_types(kernel: Kernel, tmp_path: Path) -> None:
    (kernel.sys / "kernel/btf/vmlinux").unlink()
    assert "CONFIG_DEBUG_INFO_BTF" in support.check(live(), kernel, tmp_path).problem
