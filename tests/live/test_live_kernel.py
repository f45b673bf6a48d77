# SPDX-License-Identifier: GPL-2.0-only
"""Which kernel, and where its headers and its modules are."""

from __future__ import annotations

import lzma
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import pytest

from mmbatch.core.cache import Cache
from mmbatch.core.errors import MmbatchError
from mmbatch.guest.build import GuestKernel
from mmbatch.guest.qemu import Boot, Booted, Outcome
from mmbatch.live import kernel
from mmbatch.live.guest import ratios, report_count
from mmbatch.live.stock import Stock

RELEASE = "6.12.9+deb12-cloud-amd64"
LEAST = {"few": 2.5, "many": 0.95}


def install(root: Path, *names: str) -> Path:
    directory = root / f"usr/src/linux-headers-{RELEASE}"
    directory.mkdir(parents=True)
    for name in names:
        (directory / name).write_text(
            'CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C="x-99 (D) 99.1.0"\n'
        )
    return directory


def test_installed_headers(tmp_path: Path) -> None:
    directory = install(tmp_path, ".config", "Module.symvers", "Makefile")

    headers = kernel.find_installed(RELEASE, tmp_path)

    assert headers is not None
    assert (headers.series, headers.path) == ("6.12", directory)
    assert headers.config["CONFIG_A"] == "y"
    assert "CONFIG_B" not in headers.config


def test_headers_that_are_not_installed(tmp_path: Path) -> None:
    install(tmp_path, ".config", "Makefile")

    assert kernel.find_installed(RELEASE, tmp_path) is None


def test_headers_that_lack_something(tmp_path: Path) -> None:
    directory = install(tmp_path, "Makefile")

    with pytest.raises(MmbatchError) as caught:
        kernel.at(directory, RELEASE)

    assert "no .config and no Module.symvers" in caught.value.problem
    assert f"linux-headers-{RELEASE}" in caught.value.hint


def test_makefiles_find_what_is_unpacked_beside_them(tmp_path: Path) -> None:
    sources = tmp_path / "usr/src"
    for name, text in (
        ("one", "KBUILD_OUTPUT=/usr/src/one\ninclude /usr/src/common/Makefile\n"),
        ("common", "include common/more.mk\n$(info $(realpath $(KBUILD_OUTPUT)))\nall: ;\n"),
    ):
        (sources / name).mkdir(parents=True)
        (sources / name / "Makefile").write_text(text)
    (sources / "one/common").mkdir()
    (sources / "one/common/more.mk").touch()

    for _ in range(2):  # those of an earlier run of ours too
        kernel._join_makefiles(sources)
        argv = ["make", "-s", "-C", str(sources / "one")]
        output = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
        assert output == f"{sources}/one\n"


@pytest.mark.parametrize("release", ["x", "6", "6.12", "6.12-", "", "7.3.4/x", "7.3-a/b-amd64"])
def test_no_release(release: str) -> None:
    with pytest.raises(MmbatchError) as caught:
        kernel.series_of(release)

    assert caught.value.code == 2


def test_a_kernel_is_named_one_way(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")

    with pytest.raises(MmbatchError) as caught:
        kernel.choose(cache, RELEASE, "6.12", print)

    assert caught.value.code == 2
    assert kernel.choose(cache, RELEASE, None, print) == RELEASE
    with pytest.raises(MmbatchError, match="its release is empty"):
        kernel.choose(cache, "", None, print)
    assert kernel.choose(cache, None, None, print) == kernel.running()
    for name in ("7.3-amd64", "linux-image-7.3-amd64", "linux-headers-7.3-amd64"):
        assert kernel.choose(cache, name, None, print) == "7.3-amd64"
    assert kernel.series_of("7.3-amd64") == "7.3"


def test_an_unsupported_series_is_refused_without_the_mirror(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "Apt", None)
    with pytest.raises(MmbatchError, match=r"not a supported series; did you mean '7.3'") as caught:
        kernel.choose(Cache(tmp_path / "cache"), None, "7.4", print)

    assert caught.value.code == 77


@pytest.fixture
def stock(tmp_path: Path) -> Stock:
    library = tmp_path / "lib/modules" / RELEASE
    (library / "kernel/drivers").mkdir(parents=True)
    (library / "modules.builtin").write_text("kernel/drivers/dax/dax.ko\n")

    def add(name: str, depends: str, *, packed: bool = False) -> None:
        content = f"\0license=GPL\0depends={depends}\0name={name}\0".encode()
        path = library / f"kernel/drivers/{name}.ko{'.xz' if packed else ''}"
        path.write_bytes(lzma.compress(content) if packed else content)

    add("nd-pmem", "nd_btt,libnvdimm,dax", packed=True)
    add("nd_btt", "libnvdimm")
    add("libnvdimm", "", packed=True)
    return Stock(RELEASE, tmp_path)


def test_modules_come_with_all_that_they_need_in_order(stock: Stock) -> None:
    modules = stock.modules(["nd_pmem"])

    assert list(modules) == ["libnvdimm", "nd_btt", "nd_pmem"]  # dax is built in
    assert b"name=nd-pmem" in modules["nd_pmem"]


@pytest.mark.parametrize("newer", [True, False])
def test_where_the_kernel_is(stock: Stock, newer: bool) -> None:
    library = stock.directory / "usr/lib/modules" / RELEASE
    if newer:
        library.mkdir(parents=True)
    for name in ("config", "vmlinuz"):
        path = library / name if newer else stock.directory / f"boot/{name}-{RELEASE}"
        path.parent.mkdir(exist_ok=True)
        path.touch()

    assert stock.kernel().image.is_file()


def test_a_module_that_is_not_packaged(stock: Stock) -> None:
    with pytest.raises(MmbatchError) as caught:
        stock.modules(["gone"])

    assert "gone" in caught.value.action


def ended(outcome: Outcome) -> Booted:
    boot = Boot("guest", cast(GuestKernel, None), None, 1.0)
    return Booted(boot, outcome, [], 1.0, "")


def counted(patched: float, cases: Iterable[str] = LEAST, control: float = 5001.0) -> Booted:
    values = []
    for case in cases:
        values.append((f"{case} items", 100.0))
        for variant, count in (("base", 5000.0), ("patched", patched), ("control", control)):
            values += [(f"{case} {variant}", count)] * 3
    return ended(Outcome(values=values, finished=True))


def test_what_was_counted() -> None:
    assert list(ratios(counted(1000.0, ["few"]).outcome)) == [("few", 50.0, 10.0, 50.01)]


@pytest.mark.parametrize(("patched", "good"), [(1000.0, True), (2001.0, False)])
def test_a_gain_that_is_too_small_fails(patched: float, good: bool) -> None:
    messages: list[str] = []

    assert report_count(counted(patched), LEAST, messages.append) is good
    assert any("FAILED" in line for line in messages) is not good


@pytest.mark.parametrize(
    ("control", "good"), [(4951.0, True), (5049.0, True), (4949.0, False), (5051.0, False)]
)
def test_an_original_that_does_not_come_back_fails(control: float, good: bool) -> None:
    messages: list[str] = []

    assert report_count(counted(500.0, control=control), LEAST, messages.append) is good
    assert any("FAILED few: after unload" in line for line in messages) is not good


@pytest.mark.parametrize("variant", ["base", "patched", "control"])
def test_an_interrupt_changes_no_count(variant: str) -> None:
    booted = counted(500.0)
    before = list(ratios(booted.outcome))
    samples = [at for at, (key, _) in enumerate(booted.outcome.values) if key == f"few {variant}"]
    for at in samples[:2]:
        key, number = booted.outcome.values[at]
        booted.outcome.values[at] = (key, number + 1000.0)
    assert list(ratios(booted.outcome)) == before


@pytest.mark.parametrize("patched", [0.0, -1.0])
def test_a_count_that_can_not_be_fails(patched: float) -> None:
    messages: list[str] = []

    assert not report_count(counted(patched), LEAST, messages.append)
    assert "FAILED few was not counted" in messages


def test_nothing_counted_fails() -> None:
    messages: list[str] = []

    assert not report_count(ended(Outcome(finished=True)), LEAST, messages.append)
    assert "FAILED few was not counted" in messages


def test_a_case_of_no_manifest_fails() -> None:
    messages: list[str] = []

    assert not report_count(counted(500.0, [*LEAST, "more"]), LEAST, messages.append)
    assert "FAILED more: no guest.toml says how many times fewer it must take" in messages


class _Moved:
    """A mirror one of whose suites has gone on from 7.2 to 7.3."""

    def __init__(self, *_: object) -> None: ...

    def madison(self, package: str) -> list[tuple[str, str]]:
        if package != "linux-headers-cloud-amd64":
            return []
        return [
            ("7.3.4-1~bpo13+1", "trixie-backports"),
            ("6.12.117-1", "trixie-security"),
            ("6.12.95-1", "bookworm-backports"),
        ]

    def depends(self, _: str, version: str) -> list[str]:
        return [f"linux-headers-{version.split('-', maxsplit=1)[0]}+deb-cloud-amd64"]

    def names(self, prefix: str) -> list[str]:
        releases = ("7.2.9+deb13", "7.2.12+deb13", "7.2.11+deb13")
        names = [
            f"linux-headers-{release}-{kind}"
            for release in releases
            for kind in ("amd64", kernel.FLAVOUR)
        ]
        return [name for name in names if name.startswith(prefix)]


@pytest.mark.parametrize("name", ["cloud-amd64", "linux-image-cloud-amd64"])
def test_a_package_of_the_newest_kernel(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "Apt", _Moved)

    release = kernel.choose(Cache(tmp_path), name, None, lambda text: None)

    assert release == "7.3.4+deb-cloud-amd64"


def test_a_package_that_nobody_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "Apt", _Moved)

    with pytest.raises(MmbatchError, match="choose kernel toy-amd64: it is not a release"):
        kernel.choose(Cache(tmp_path), "toy-amd64", None, lambda text: None)


@pytest.mark.parametrize(
    ("series", "suite", "release"),
    [
        ("6.12", "", "6.12.117+deb-cloud-amd64"),
        ("6.12", "bookworm-backports", "6.12.95+deb-cloud-amd64"),
        ("6.12", "potato", "6.12.117+deb-cloud-amd64"),
        ("7.2", "", "7.2.12+deb13-cloud-amd64"),
        ("6.1", "", None),
    ],
)
def test_the_newest_of_a_series(
    series: str,
    suite: str,
    release: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel, "Apt", _Moved)
    if release is None:
        with pytest.raises(MmbatchError, match=r"find a kernel of series 6\.1"):
            kernel.newest(Cache(tmp_path), series, lambda text: None, suite)
    else:
        assert kernel.newest(Cache(tmp_path), series, lambda text: None, suite) == release
