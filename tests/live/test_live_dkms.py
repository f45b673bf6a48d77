# SPDX-License-Identifier: GPL-2.0-only
"""The DKMS package: what is in it, and that it needs nothing of this checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mmbatch import VERSION
from mmbatch.core.cache import Cache
from mmbatch.core.process import Result, run
from mmbatch.debian import deb
from mmbatch.live import dkms

NAME = f"mmbatch-zone-device-{VERSION}"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("dkms")
    return dkms.package(Cache(directory / "cache"), "zone_device", directory)


@pytest.fixture(scope="module")
def unpacked(package: Path) -> Path:
    directory = package.parent / "unpacked"
    subprocess.run(["dpkg-deb", "--raw-extract", package, directory], check=True)
    return directory


def test_what_dkms_is_told(unpacked: Path) -> None:
    conf = unpacked / "usr/src" / NAME / "dkms.conf"
    shown = 'printf "%s\\n" "$PACKAGE_NAME" "$BUILD_EXCLUSIVE_KERNEL" "$BUILD_EXCLUSIVE_CONFIG"'
    output = subprocess.run(
        ["bash", "-c", f". {conf}; {shown}"], check=True, capture_output=True, text=True
    ).stdout.splitlines()

    assert output[0] == "mmbatch-zone-device"
    assert re.search(output[1], "6.12.95+deb12-cloud-amd64")
    assert not re.search(output[1], "6.1.0-37-amd64")
    assert re.search(output[1], "7.2.12+deb13-amd64")
    assert re.search(output[1], "7.3.4+deb13-cloud-amd64")
    assert not re.search(output[1], "6.18.3-amd64")
    assert not re.search(output[1], "7.20.1-amd64")
    assert {"CONFIG_LIVEPATCH", "!CONFIG_KASAN"} <= set(output[2].split())


@pytest.mark.parametrize(
    ("release", "compiler", "words"),
    [
        ("7.3.4-amd64", "x86_64-linux-gnu-gcc-99", "no module for 7.3.4-amd64: it was built with"),
        ("7.3.4-amd64", "x86_64-linux-gnu-sh", ""),
        ("7.3.4-amd64", "sh", ""),
        ("7.3.4-amd64", "", ""),
        ("6.18.1-amd64", "x86_64-linux-gnu-gcc-99", ""),
    ],
)
def test_a_kernel_whose_compiler_is_not_here(
    unpacked: Path, tmp_path: Path, release: str, compiler: str, words: str
) -> None:
    conf = unpacked / "usr/src" / NAME / "dkms.conf"
    if compiler:
        text = f'CONFIG_A=y\nCONFIG_CC_VERSION_TEXT="{compiler} (Debian 1-1) 1.2.0"\n'
        (tmp_path / ".config").write_text(text)
    output = subprocess.run(
        ["bash", "-e", "-c", f'. {conf}; echo "$BUILD_EXCLUSIVE_KERNEL"'],
        env={"PATH": "/usr/bin:/bin", "kernelver": release, "kernel_source_dir": str(tmp_path)},
        check=True,
        capture_output=True,
        text=True,
    )

    pattern = output.stdout.strip()
    assert words in output.stderr
    assert bool(output.stderr) is bool(words)
    assert bool(re.search(pattern, release)) is (release.startswith("7.3") and not words)


def test_its_python_needs_nothing_else(unpacked: Path) -> None:
    directory = unpacked / "usr/src" / NAME
    env = {
        "PYTHONPATH": str(directory / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PATH": "/usr/bin:/bin",
    }
    argv = [sys.executable, "-S", "-m", "mmbatch.live.build", "zone_device", "6.12.1", "/no", "."]

    done = subprocess.run(argv, env=env, cwd=directory, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "/no has no .config and no Module.symvers" in done.stderr
    assert "Traceback" not in done.stderr


def test_it_is_removed_before_its_files_are(unpacked: Path) -> None:
    for name in ("postinst", "prerm"):
        script = unpacked / "DEBIAN" / name
        assert script.stat().st_mode & 0o111
        subprocess.run(["sh", "-n", script], check=True)
    text = (unpacked / "DEBIAN/prerm").read_text()
    assert f"dkms remove -m mmbatch-zone-device -v {VERSION} --all" in text


@pytest.mark.parametrize(("registered", "fails", "code"), [(0, 1, 0), (1, 0, 0), (1, 1, 9)])
def test_a_removal_that_fails_is_not_hidden(
    unpacked: Path, tmp_path: Path, registered: int, fails: int, code: int
) -> None:
    dkms = tmp_path / "dkms"
    dkms.write_text(
        f'#!/bin/sh\n[ "$1" = status ] && {{ [ {registered} = 0 ] || echo it; exit 0; }}\n'
        f"exit {9 if fails else 0}\n"
    )
    dkms.chmod(0o755)
    env = dict(os.environ, PATH=f"{tmp_path}:{os.environ['PATH']}")
    argv = ["sh", str(unpacked / "DEBIAN/prerm"), "remove"]
    assert subprocess.run(argv, env=env, check=False).returncode == code


def test_no_path_of_this_machine_is_in_it(unpacked: Path) -> None:
    for path in unpacked.rglob("*"):
        if path.is_file():
            assert str(Path.home()).encode() + b"/" not in path.read_bytes(), path


def test_a_cache_that_somebody_opens_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who opens the cache removes what programs that were killed have left there."""
    monkeypatch.setenv("MMBATCH_CACHE", str(tmp_path / "cache"))

    def run_and_open(*arguments: Any, **options: Any) -> Result:
        done = run(*arguments, **options)
        Cache.open()
        return done

    monkeypatch.setattr(deb, "run", run_and_open)
    assert dkms.package(Cache.open(), "zone_device", tmp_path).exists()
    assert not list((tmp_path / "cache/downloads").iterdir())
