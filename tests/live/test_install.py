# SPDX-License-Identifier: GPL-2.0-only
"""`live install` and `live uninstall` on made-up systems. tests/fresh/boot.sh boots real ones."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mmbatch.cli import main as cli
from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.errors import MmbatchError
from mmbatch.debian import deb
from mmbatch.live import boot, dkms, install, manifest
from mmbatch.live.install import System

FITS, BARE, OLD = "6.12.107+deb13-amd64", "7.3.4+deb13-amd64", "6.1.0-44-amd64"
ALL = manifest.load_all(())
WITH = [live for live in ALL if live.drivers]
WITHOUT = next(live for live in ALL if not live.drivers)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    monkeypatch.setenv("MMBATCH_CACHE", str(tmp_path / "cache"))
    return Cache(tmp_path / "cache")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A system with three kernels, of which one has headers and one is too old."""
    root = tmp_path / "root"
    for release in (FITS, BARE, OLD):
        (root / "lib/modules" / release / "kernel").mkdir(parents=True)
    headers = root / "usr/src" / f"linux-headers-{FITS}"
    headers.mkdir(parents=True)
    (headers / "Module.symvers").touch()
    options = {option for live in ALL for option in live.needs}
    (headers / ".config").write_text("".join(f"{option}=y\n" for option in sorted(options)))
    (root / "var/tmp").mkdir(parents=True)
    return root


def has(root: Path, *packages: str, state: str = "ok installed") -> None:
    """Let dpkg know packages, each with a digest that fits nothing."""
    directory = root / "var/lib/dpkg"
    (directory / "info").mkdir(parents=True, exist_ok=True)
    with (directory / "status").open("a") as status:
        for name in packages:
            status.write(
                f"Package: {name}\nStatus: install {state}\nArchitecture: all\nVersion: 1\n"
                "Maintainer: x\nDescription: x\nMmbatch-Digest: 0123\n\n"
            )
            (directory / "info" / f"{name}.list").write_text(f"/etc\n/usr/src/{name}-1\n")


def answer(words: str, root: Path, tmp_path: Path) -> dict[str, Any]:
    file = tmp_path / "answer.json"
    assert cli.main([*f"live {words} --root {root} --json {file}".split()]) == 0
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def test_a_dry_run(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    live = WITH[0]
    found = answer(f"install -n {live.speedup}", root, tmp_path)

    assert found["changed"] == [dkms.package_name(live.speedup), boot.NAME]
    assert {fit["release"]: fit["problem"] for fit in found["kernels"]} == {
        FITS: "",
        BARE: "its headers are not installed",
        OLD: f"'{live.speedup}' supports only Linux {', '.join(live.series)}",
    }
    assert found["drivers"] == {driver: [live.module] for driver in live.drivers}
    assert f"/{boot.SOFTDEP}" in found["files"]
    assert any(name.startswith("/usr/src/mmbatch-") for name in found["files"])
    printed = capsys.readouterr().out
    assert f"Linux {FITS}: {live.speedup}\n" in printed
    assert f"Linux {BARE}: not {live.speedup}, because its headers are not" in printed
    assert f"{live.module} before {live.drivers[0]}" in printed
    assert all(f"file: {name}\n" in printed for name in found["files"])
    assert install.remains(System(root)) == []
    assert not list((root / "var/tmp").iterdir())


def test_what_was_installed_before_stays(root: Path, tmp_path: Path) -> None:
    has(root, dkms.package_name(WITHOUT.speedup))
    found = answer(f"install -n {WITH[0].speedup}", root, tmp_path)
    assert found["speedups"] == sorted([WITH[0].speedup, WITHOUT.speedup])


def test_a_dry_run_of_the_removal(root: Path, tmp_path: Path) -> None:
    one, other = (dkms.package_name(live.speedup) for live in ALL[:2])
    has(root, one, other, boot.NAME)
    has(root, "mmbatch-gone-dkms", state="ok config-files")
    every = [one, other, boot.NAME, "mmbatch-gone-dkms"]
    assert answer("uninstall -n", root, tmp_path)["removed"] == sorted(every)
    assert answer(f"uninstall -n {ALL[0].speedup}", root, tmp_path)["removed"] == [one]


def test_nothing_to_remove(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer("uninstall -n", root, tmp_path)["removed"] == []
    assert "nothing is there" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("releases", "code", "words"),
    [
        ((OLD, BARE), 1, f"hint: install the headers: apt-get install linux-headers-{BARE}"),
        ((OLD,), 77, "hint: install a kernel that can"),
        ((), 1, "there is no kernel below"),
    ],
)
def test_no_kernel_can_have_it(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    releases: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    for release in releases:
        (tmp_path / "bare/lib/modules" / release / "kernel").mkdir(parents=True)
    (tmp_path / "bare").mkdir(exist_ok=True)
    assert cli.main(["live", "install", "--root", str(tmp_path / "bare")]) == code
    assert words in capsys.readouterr().err


def test_a_softdep_of_the_user(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    live = WITH[0]
    own = root / "etc/modprobe.d/own.conf"
    own.parent.mkdir(parents=True)
    driver = live.drivers[0].replace("_", "-")
    own.write_text(f"# mine\nsoftdep {driver} pre: something\n")
    argv = ["live", "install", "-n", live.speedup, "--root", str(root)]
    assert cli.main(argv) == 1
    error = capsys.readouterr().err
    assert f"{own} has a softdep for {live.drivers[0]}" in error
    assert f"hint: add 'pre: {live.module}' to that line" in error

    own.write_text(f"softdep {driver} pre: something {live.module}\n")
    assert cli.main(argv) == 0


def test_each_driver_has_one_softdep() -> None:
    """Because modprobe follows only the first."""
    lines = boot.contents(WITH)[boot.SOFTDEP].splitlines()
    found = [match for line in lines if (match := re.fullmatch(r"softdep (\S+) pre: (.+)", line))]
    assert max(Counter(match[1] for match in found).values()) == 1
    before = {match[1]: match[2].split() for match in found}
    for live in WITH:
        assert all(live.module in before[driver] for driver in live.drivers)


def test_without_drivers_nothing_is_in_the_initramfs() -> None:
    found = boot.contents([WITHOUT])
    assert list(found) == ["usr/lib/modules-load.d/mmbatch.conf"]
    assert found.popitem()[1].splitlines()[-1] == WITHOUT.module


def test_its_scripts_are_scripts(cache: Cache, tmp_path: Path) -> None:
    package = boot.package(cache, WITH, tmp_path)
    subprocess.run(["dpkg-deb", "--raw-extract", package, tmp_path / "it"], check=True)
    scripts = [path for path in (tmp_path / "it").rglob("*") if path.is_file()]
    scripts = [path for path in scripts if path.read_bytes().startswith(b"#!")]
    assert {"postinst", "postrm", "mmbatch"} == {path.name for path in scripts}
    for script in scripts:
        assert script.stat().st_mode & 0o111
        subprocess.run(["sh", "-n", script], check=True)
    control = (tmp_path / "it/DEBIAN/control").read_text()
    for live in WITH:
        assert re.search(rf"^Depends:.*\b{dkms.package_name(live.speedup)}\b", control, re.M)


def packed(place: Path, text: str, mode: int = 0o644, script: str = "#!/bin/sh\n") -> str:
    file = place / "root/etc/it"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    file.chmod(mode)
    control = "Package: it\nVersion: 1\nArchitecture: all\nMaintainer: x <x@example.org>\n"
    control += "Description: it\n"
    return deb.digest_of(deb.build(place / "root", place / "it.deb", control, {"postinst": script}))


def test_what_tells_two_packages_of_a_version_apart(tmp_path: Path) -> None:
    first = packed(tmp_path / "1", "a")
    assert packed(tmp_path / "2", "a") == first
    others = [
        packed(tmp_path / "3", "b"),
        packed(tmp_path / "4", "a", 0o755),
        packed(tmp_path / "5", "a", script="#!/bin/sh\ntrue\n"),
    ]
    assert first not in others
    assert deb.files_of(tmp_path / "1/it.deb")[-1] == "/etc/it"


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was asked of apt and dpkg, which do nothing."""
    asked: list[str] = []
    monkeypatch.setattr(install, "_require_root", lambda _: None)
    monkeypatch.setattr(
        install, "_apt", lambda _, files, log: asked.append(f"install {len(files)}")
    )
    monkeypatch.setattr(install, "_dpkg", lambda _, words, log: asked.append(" ".join(words)))
    return asked


def test_a_module_that_was_not_built(
    cache: Cache, root: Path, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was there before stays, and what was to come goes."""
    present = dkms.package_name(WITHOUT.speedup)
    has(root, present, boot.NAME)
    system, lives = System(root), [WITH[0], WITHOUT]
    real, log = install.differing, cache.logs / "live-install.log"
    monkeypatch.setattr(
        install,
        "differing",
        lambda *words: [each for each in real(*words) if each != present],
    )

    def fail(_: System, files: list[Path], log: Path) -> None:
        has(root, dkms.package_name(WITH[0].speedup))
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(f"x: no module for {FITS}: it was built with gcc-99\n")
        built = root / "var/lib/dkms" / f"mmbatch-{WITH[0].speedup.replace('_', '-')}/0.1.0/build"
        built.mkdir(parents=True)
        (built / "make.log").write_text("what the compiler said\n")

    monkeypatch.setattr(install, "_apt", fail)
    with pytest.raises(MmbatchError) as caught:
        install.install(cache, system, lives, install.fits(system, [WITH[0]]), lambda _: None)

    assert caught.value.problem == f"no module for {FITS}: it was built with gcc-99"
    assert str(log) in caught.value.hint
    assert "what the compiler said" in log.read_text()
    assert [words.split()[0] for words in done] == ["--install", "--purge"]
    assert done[-1] == f"--purge {dkms.package_name(WITH[0].speedup)}"


def test_what_dpkg_leaves_is_told(cache: Cache, root: Path, done: list[str]) -> None:
    has(root, dkms.package_name(WITH[0].speedup), boot.NAME)
    left = root / "lib/modules" / FITS / "updates/dkms" / f"{WITH[0].module}.ko.xz"
    left.parent.mkdir(parents=True)
    left.touch()
    with pytest.raises(MmbatchError, match=re.escape(str(left))):
        install.uninstall(cache, System(root))
    assert done == [f"--purge {boot.NAME} {dkms.package_name(WITH[0].speedup)}"]


def test_only_root_installs(root: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(MmbatchError, match="only root"):
        install.uninstall(cache, System(root))


def test_the_speedups_here_know_their_drivers() -> None:
    assert {live.speedup for live in WITH} >= {
        path.parent.parent.name for path in paths.SPEEDUPS.glob("*/live/plan.toml")
    }
