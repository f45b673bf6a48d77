# SPDX-License-Identifier: GPL-2.0-only
import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from mmbatch.cli import requirements as doctor
from mmbatch.cli.doctor import command
from mmbatch.cli.requirements import Check, State, spatch_version
from mmbatch.core.errors import MmbatchError
from mmbatch.debian import packages


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MMBATCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def by_name(checks: list[Check]) -> dict[str, Check]:
    found = {check.name: check for check in checks}
    assert len(found) == len(checks)
    return found


def test_everything_asked_for_is_looked_at() -> None:
    checks = by_name(doctor.diagnose())
    assert set(doctor.REQUIRED_PACKAGES) <= set(checks)
    others = {"python", "memory free", "cache directory", "kernels", "CPU", "huge pages", "load"}
    assert others | {"hypervisor", "apt"} <= set(checks)
    for flag in ("rep_good", "erms", "fsrm", "movdir64b", "clzero"):
        assert flag in checks["CPU"].detail


@pytest.mark.parametrize(
    ("program", "name", "package"),
    [
        ("gcc", "C compiler", "gcc"),
        ("spatch", "spatch", "coccinelle"),
        ("objcopy", "linker", "binutils"),
        ("xz", "xz", "xz-utils"),
    ],
)
def test_a_missing_program_is_named_with_its_package(program: str, name: str, package: str) -> None:
    def which(wanted: str) -> str | None:
        return None if wanted == program else shutil.which(wanted)

    checks = doctor.diagnose(which)
    assert by_name(checks)[name].state is State.MISSING
    assert by_name(checks)[name].remedy.endswith(f" {package}")
    assert package in doctor.missing_packages(checks)


def test_missing_headers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "_INCLUDES", tmp_path)
    checks = doctor.diagnose()
    assert {"libelf-dev", "libc6-dev"} <= set(doctor.missing_packages(checks))
    (tmp_path / "x86_64-linux-gnu").mkdir()
    for header in ("stdio.h", "libelf.h", "gelf.h"):
        (tmp_path / "x86_64-linux-gnu" / header).touch()
    assert not {"libelf-dev", "libc6-dev"} & set(doctor.missing_packages(doctor.diagnose()))


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("spatch version 1.1.1 compiled with OCaml version 4.13.1\n", (1, 1, 1)),
        ("spatch version 1.3 compiled with OCaml version 5.2.0", (1, 3)),
        ("spatch version 1.0.8-00004-ge5a3d5f\n", (1, 0, 8)),
        ("command not understood", None),
    ],
)
def test_spatch_version(text: str, version: tuple[int, ...] | None) -> None:
    assert spatch_version(text) == version


@pytest.mark.parametrize(
    ("version", "state"),
    [("1.0.8", State.MISSING), ("1.1", State.MISSING), ("1.1.1", State.OK), ("1.3", State.OK)],
)
def test_spatch_floor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, state: State
) -> None:
    fake = tmp_path / "spatch"
    fake.write_text(f"#!/bin/sh\necho 'spatch version {version} compiled with OCaml'\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    check = by_name(doctor.diagnose())["spatch"]
    assert check.state is state
    assert version in check.detail


def test_a_cache_that_can_not_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MMBATCH_CACHE", "/proc/nothing/here")
    check = by_name(doctor.diagnose())["cache directory"]
    assert check.state is State.MISSING
    assert check.remedy


def without(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Make the required checks miss one thing."""
    required = doctor._required

    def lacking(which: object) -> list[Check]:
        checks = by_name(list(required(shutil.which)))
        checks[name] = Check(name, State.MISSING, "no such thing", "do this")
        return list(checks.values())

    monkeypatch.setattr(doctor, "_required", lacking)


@pytest.mark.parametrize(
    ("release", "state"),
    [
        ("6.12.95+deb12-cloud-amd64", State.OK),
        ("6.1.0-37-amd64", State.NOTE),
        ("7.3-custom", State.NOTE),
    ],
)
def test_kernels_that_can_be_patched(
    release: str, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mmbatch.live.kernel.running", lambda: release)
    check = by_name(doctor.diagnose())["live"]
    assert check.state is state
    assert release in check.detail


def test_ensure_names_the_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "flex")
    with pytest.raises(MmbatchError) as caught:
        doctor.ensure(print, install=False)
    assert "flex: no such thing" in caught.value.problem
    assert "--install" in caught.value.hint
    assert "apt-get install" in caught.value.hint


def test_ensure_installs_when_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[str]] = []

    def install(names: list[str], say: object, log: object) -> None:
        calls.append(names)
        monkeypatch.undo()

    without(monkeypatch, "flex")
    monkeypatch.setattr(packages, "install", install)
    monkeypatch.setattr(doctor, "missing_packages", lambda checks: ["flex"] if checks else [])
    doctor.ensure(print, install=True)
    assert calls == [["flex"]]


def test_verb_reports_plainly_and_writes_json(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    result = CliRunner().invoke(command, ["--json", str(path)])
    content = json.loads(path.read_text())
    assert content["schema"] == 1
    assert {check["name"] for check in content["checks"]} >= set(doctor.REQUIRED_PACKAGES)
    assert {check["state"] for check in content["checks"]} <= {"ok", "missing", "note"}
    assert "\x1b" not in result.output
    for check in content["checks"]:
        assert check["name"] in result.output


def test_verb_fails_with_the_command_that_would_fix_it(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "flex")
    result = CliRunner().invoke(command, ["-q"], standalone_mode=False)
    assert result.return_value == 1
    assert "apt-get install --no-install-recommends flex" in result.output
