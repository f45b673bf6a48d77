# SPDX-License-Identifier: GPL-2.0-only
"""The packages, and `live install` on made-up systems. tests/fresh/boot.sh boots real ones."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from expect import fails, printed
from mmbatch import VERSION
from mmbatch.cli import main as cli
from mmbatch.core import cache
from mmbatch.core.errors import MmbatchError
from mmbatch.live import install, manifest
from mmbatch.live.install import BOOT, SOFTDEP, System, dkms_name

FITS, BARE, OLD = "6.12.107+deb13-amd64", "7.3.4+deb13-amd64", "6.1.0-44-amd64"
ALL = manifest.load_all(())
WITH = [live for live in ALL if live.drivers]
WITHOUT = next(live for live in ALL if not live.drivers)


pytestmark = pytest.mark.usefixtures("own_cache")


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


def test_a_dry_run(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    live = WITH[0]
    assert cli.main(["live", "install", "-n", live.speedup, "--root", str(root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"would be installed: {dkms_name(live.speedup)}, {BOOT}"
    old = f"'{live.speedup}' supports only Linux {', '.join(live.series)}"
    assert f"Linux {FITS}: {live.speedup}" in lines
    assert f"Linux {BARE}: not {live.speedup}, because its headers are not installed" in lines
    assert f"Linux {OLD}: not {live.speedup}, because {old}" in lines
    assert f"{live.module} before {', '.join(live.drivers)}" in lines
    assert f"file: /{SOFTDEP}" in lines
    assert any(line.startswith("file: /usr/src/mmbatch-") for line in lines)
    assert "DKMS signs them with the key of /var/lib/dkms/mok.pub" in lines
    assert install.remains(System(root)) == []
    assert not list((root / "var/tmp").iterdir())


def test_which_key_signs(tmp_path: Path) -> None:
    (tmp_path / "etc/dkms/framework.conf.d").mkdir(parents=True)
    (tmp_path / "etc/dkms/framework.conf").write_text("# mok_certificate=/no\nmok_certificate=/a\n")
    assert install.certificate(System(tmp_path)) == "/a"
    (tmp_path / "etc/dkms/framework.conf.d/own.conf").write_text('mok_certificate="/b"\n')
    assert install.certificate(System(tmp_path)) == "/b"


def test_what_was_installed_before_stays(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    has(root, dkms_name(WITHOUT.speedup))
    assert cli.main(["live", "install", "-n", WITH[0].speedup, "--root", str(root)]) == 0
    names = ", ".join(sorted([WITH[0].speedup, WITHOUT.speedup]))
    assert f"Linux {FITS}: {names}\n" in capsys.readouterr().out


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
    assert cli.main(["live", "install", "vmap", "--root", str(tmp_path / "bare")]) == code
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
    lines = install.boot_files(WITH)[SOFTDEP].decode().splitlines()
    found = [match for line in lines if (match := re.fullmatch(r"softdep (\S+) pre: (.+)", line))]
    assert max(Counter(match[1] for match in found).values()) == 1
    before = {match[1]: match[2].split() for match in found}
    for live in WITH:
        assert all(live.module in before[driver] for driver in live.drivers)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages of the speed-ups with drivers, unpacked, each into its directory."""
    directory = tmp_path_factory.mktemp("packages")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MMBATCH_CACHE", str(directory / "cache"))
        for package in install.packages(WITH, directory):
            target = directory / package.name.partition("_")[0]
            subprocess.run(["dpkg-deb", "--raw-extract", package, target], check=True)
    return directory


def test_packages_of_built_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / f"{WITHOUT.module}.ko"
    module.write_bytes(b"built")
    monkeypatch.setattr("mmbatch.live.build.build_all", lambda *_: [module])
    first, boot = install.packages([WITHOUT], tmp_path, FITS)
    assert (first.name, boot.name) == (
        f"mmbatch-folio-copy-{FITS}_{VERSION}_amd64.deb",
        f"{BOOT}_{VERSION}_all.deb",
    )
    subprocess.run(["dpkg-deb", "--raw-extract", first, tmp_path / "it"], check=True)
    assert (tmp_path / f"it/usr/lib/modules/{FITS}/updates/{module.name}").read_bytes() == b"built"
    assert "Provides: mmbatch-folio-copy-dkms\n" in (tmp_path / "it/DEBIAN/control").read_text()
    assert f"depmod {FITS}\n" in (tmp_path / "it/DEBIAN/postinst").read_text()


@pytest.fixture
def source(made: Path) -> Path:
    return made / "mmbatch-zone-device-dkms" / f"usr/src/mmbatch-zone-device-{VERSION}"


def test_what_dkms_is_told(source: Path) -> None:
    shown = 'printf "%s\\n" "$PACKAGE_NAME" "$BUILD_EXCLUSIVE_KERNEL" "$BUILD_EXCLUSIVE_CONFIG"'
    output = printed("bash", "-c", f". {source}/dkms.conf; {shown}").splitlines()

    assert output[0] == "mmbatch-zone-device"
    for release in ("6.12.95+deb12-cloud-amd64", "7.2.12+deb13-amd64", "7.3-amd64"):
        assert re.search(output[1], release)
    for release in ("6.1.0-37-amd64", "6.18.3-amd64", "7.20.1-amd64"):
        assert not re.search(output[1], release)
    assert {"CONFIG_LIVEPATCH", "!CONFIG_KASAN"} <= set(output[2].split())


def test_a_package_needs_python_alone(source: Path, tmp_path: Path) -> None:
    """Its Python is what `live build` uses, and says what is wrong in one line."""
    argv = ["make", "-s", "-C", str(source), "mmbatch_release=7.3.4-amd64"]
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    argv += [f"mmbatch_headers={tmp_path}"]
    (tmp_path / ".config").touch()
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert done.returncode
    assert "error: no livepatch for this kernel: its headers have no vmlinux\n" in done.stderr
    assert "Traceback" not in done.stderr
    copied = sorted(path.name for path in source.glob("mmbatch/**/*.py"))
    assert copied == ["__init__.py", "btf.py", "convert.py", "elf.py"]


def test_what_tells_two_packages_of_a_version_apart(root: Path, tmp_path: Path) -> None:
    """Whatever is not as it is installed is installed again."""
    has(root, BOOT)
    (made,) = install.packages([], tmp_path)
    system = System(root)
    assert install.differing(system, [made]) == [BOOT]
    digest = printed("dpkg-deb", "--field", made, "Mmbatch-Digest").strip()
    status = root / "var/lib/dpkg/status"
    status.write_text(status.read_text().replace("0123", digest))
    assert install.differing(system, [made]) == []
    (other,) = install.packages(WITH, tmp_path / "with")[-1:]
    assert install.differing(system, [other]) == [BOOT]


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was asked of apt and dpkg, which do nothing."""
    asked: list[str] = []

    def run(_: System, argv: list[str], action: str) -> None:
        asked.append(" ".join(argv[argv.index("dpkg") + 1 :] if "dpkg" in argv else argv))

    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(System, "run", run)
    return asked


def test_a_module_that_was_not_built(
    root: Path, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was there before stays, and what was to come goes."""
    present = dkms_name(WITHOUT.speedup)
    has(root, present, BOOT)
    system, lives = System(root), [WITH[0], WITHOUT]
    real, log = install.differing, cache.logs() / "live-install.log"
    monkeypatch.setattr(
        install, "differing", lambda *words: [each for each in real(*words) if each != present]
    )

    def fail(_: System, argv: list[str], action: str) -> None:
        if "dpkg" in argv:
            done.append(" ".join(argv[1:]))
            return
        has(root, dkms_name(WITH[0].speedup))
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(f"x: no module for {FITS}: it was built with gcc-99\n")
        built = root / "var/lib/dkms" / f"mmbatch-{WITH[0].speedup.replace('_', '-')}/0.1.0/build"
        built.mkdir(parents=True)
        (built / "make.log").write_text("what the compiler said\n")

    monkeypatch.setattr(System, "run", fail)
    with fails(f"no module for {FITS}: it was built with gcc-99", str(log)):
        install.install(system, lives, install.fits(system, [WITH[0]]))
    assert "what the compiler said" in log.read_text()
    assert [words.split()[0] for words in done] == ["--install", "--purge"]
    assert done[-1] == f"--purge {dkms_name(WITH[0].speedup)}"


def test_only_root_installs(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(MmbatchError, match="only root"):
        install.uninstall(System(root), [])
