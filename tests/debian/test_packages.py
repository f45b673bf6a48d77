# SPDX-License-Identifier: GPL-2.0-only
import os
from pathlib import Path

import pytest

from fake_archive import lacks
from mmbatch.core.errors import MmbatchError
from mmbatch.debian import packages


@pytest.mark.skipif("dpkg" in lacks(), reason="no dpkg")
def test_missing_packages() -> None:
    assert packages.missing(["dpkg", "no-such-package-here", "dpkg"]) == ["no-such-package-here"]


def fake_program(directory: Path, name: str, script: str) -> None:
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_install_says_what_and_runs_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = tmp_path / "calls"
    fake_program(tmp_path, "apt-get", f'echo "$DEBIAN_FRONTEND $@" >> "{calls}"')
    fake_program(tmp_path, "sudo", 'shift; exec "$@"')
    fake_program(tmp_path, "dpkg-query", "exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    messages: list[str] = []
    packages.install(["flex", "bison"], messages.append)
    assert messages[0] == "installing Debian packages: flex bison"
    call = calls.read_text().splitlines()[-1]
    assert call.startswith("noninteractive ")
    assert call.endswith("install --no-install-recommends -y flex bison")


def test_install_without_root_or_sudo_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_program(tmp_path, "sudo", "exit 1")
    fake_program(tmp_path, "dpkg-query", "exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(MmbatchError) as caught:
        packages.install(["flex"], print)
    assert "sudo apt-get install --no-install-recommends flex" in caught.value.hint
