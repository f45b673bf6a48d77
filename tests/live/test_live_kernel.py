# SPDX-License-Identifier: GPL-2.0-only
"""Which kernel, and where its headers and its modules are."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from mmbatch.core.errors import MmbatchError
from mmbatch.guest.stock import Stock
from mmbatch.live import kernel

RELEASE = "6.12.9+deb12-cloud-amd64"


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


def test_a_kernel_is_named_by_its_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "apt", None)  # the mirror is not asked
    assert kernel.choose(RELEASE) == RELEASE
    assert kernel.choose(None) == kernel.running()
    for name in ("7.3-amd64", "linux-image-7.3-amd64", "linux-headers-7.3-amd64"):
        assert kernel.choose(name) == "7.3-amd64"
    assert kernel.series_of("7.3-amd64") == "7.3"


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


class _Moved:
    """A mirror one of whose suites has gone on from 7.2 to 7.3."""

    def find(self, package: str) -> list[tuple[str, str]]:
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


@pytest.fixture
def mirror(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "apt", _Moved())


@pytest.mark.usefixtures("mirror")
def test_a_package_of_the_newest_kernel() -> None:
    for name in ("cloud-amd64", "linux-image-cloud-amd64"):
        assert kernel.choose(name) == "7.3.4+deb-cloud-amd64"
    with pytest.raises(MmbatchError, match="choose kernel toy-amd64: it is not a release"):
        kernel.choose("toy-amd64")


@pytest.mark.usefixtures("mirror")
def test_the_newest_of_a_series() -> None:
    assert kernel.newest("6.12") == "6.12.117+deb-cloud-amd64"
    assert kernel.newest("6.12", "bookworm-backports") == "6.12.95+deb-cloud-amd64"
    assert kernel.newest("6.12", "potato") == "6.12.117+deb-cloud-amd64"
    assert kernel.newest("7.2") == "7.2.12+deb13-cloud-amd64"
    with pytest.raises(MmbatchError, match=r"find a kernel of series 6\.1"):
        kernel.newest("6.1")
