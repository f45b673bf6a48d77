# SPDX-License-Identifier: GPL-2.0-only
"""Kernels for guests: their configuration, and when they are built."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmbatch.core import cache, process
from mmbatch.core.errors import MmbatchError
from mmbatch.guest import kernel
from mmbatch.guest.kernel import ARCHES, GuestKernel, Wanted
from mmbatch.kernel.sources import Source
from mmbatch.splice.apply import Spliced

pytestmark = pytest.mark.usefixtures("own_cache")


def wanted(directory: Path, kind: str = "plain", *options: str) -> Wanted:
    for name, text in {
        "common": "# of all\nCONFIG_A=y\nCONFIG_B=y\n",
        "x86_64": "CONFIG_C=m\n",
        "debug": "CONFIG_D=y\n",
        "kasan": "CONFIG_E=y\n",
        "optional": "CONFIG_F=y\n",
    }.items():
        (directory / f"{name}.config").write_text(text)
    return Wanted(ARCHES["x86_64"], kind, options, (directory,))


def test_a_kernel_must_keep_what_it_needs(tmp_path: Path) -> None:
    config = tmp_path / "finished"
    kasan = wanted(tmp_path, "kasan", "CONFIG_B=n")
    assert kasan.flavour.startswith("x86_64-kasan-")
    assert kasan.config().startswith("CONFIG_F=y\n# of all")
    assert kasan.config().endswith("CONFIG_E=y\nCONFIG_B=n\n")
    config.write_text("CONFIG_A=y\nCONFIG_C=m\nCONFIG_D=y\nCONFIG_E=y\n")
    kasan.require(config, "7.3.4")
    config.write_text("CONFIG_A=y\nCONFIG_C=m\nCONFIG_E=y\n")
    with pytest.raises(MmbatchError, match="CONFIG_D=y"):
        kasan.require(config, "7.3.4")


class Maker:
    """Stands in for make and the tree: the wanted image appears in the output directory."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
        self.times = 0
        self.wanted = wanted(directory)
        self.directory = directory
        monkeypatch.setattr(kernel, "_make", self._make)

    def _make(self, tree: Path, output: Path, wanted: Wanted, *_: object) -> None:
        self.seen = (tree / "spliced.c").read_text()
        self.times += 1
        image = output / wanted.arch.image
        image.parent.mkdir(parents=True, exist_ok=True)
        image.write_text(f"image of {self.seen}")
        (output / ".config").write_text("CONFIG_A=y\nCONFIG_TEST=m\n")

    def build(self, text: str | None, state: str = "state 0") -> GuestKernel:
        """Build a kernel in which a file has this text, or that of the source."""
        source = cache.trees() / "one" / "linux"
        source.mkdir(parents=True, exist_ok=True)
        (source / "spliced.c").write_text("old")
        changed = self.directory / f"changed {text}"
        changed.mkdir(exist_ok=True)
        (changed / "spliced.c").write_text(str(text))
        spliced = Spliced(changed, "any", () if text is None else ("spliced.c",))
        return kernel.build(
            Source("7.3", "7.3.4", source, "here", "one", state), spliced, self.wanted, 1
        )


def test_a_kernel_is_built_once_for_each_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = Maker(monkeypatch, tmp_path)

    first = maker.build("new")
    assert maker.build("new").image == first.image
    assert maker.times == 1
    assert maker.build("newer").image.read_text() == "image of newer"
    assert first.image.read_text() == "image of new"
    assert maker.times == 2
    assert first.has("CONFIG_TEST")
    assert not first.has("CONFIG_TEST", "y")


def test_a_file_that_is_spliced_no_more_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = Maker(monkeypatch, tmp_path)
    maker.build("new")
    tree = cache.builds() / "guest-one/tree"
    written = (tree / "spliced.c").stat().st_mtime_ns
    (tree / "object").touch()

    maker.wanted = wanted(tmp_path, "debug")
    maker.build("new")
    assert (tree / "spliced.c").stat().st_mtime_ns == written  # or make would compile it again
    maker.build(None)
    assert maker.seen == "old"
    assert (cache.trees() / "one/linux/spliced.c").read_text() == "old"
    assert (tree / "object").exists()
    maker.build("new", "state 1")  # another source: nothing of the old one is left
    assert not (tree / "object").exists()


def test_a_build_that_fails_leaves_no_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = Maker(monkeypatch, tmp_path)
    make = maker._make

    def fail(*words: object) -> None:
        make(*words)  # type: ignore[arg-type]
        process.run(["false"], action="build it")

    monkeypatch.setattr(kernel, "_make", fail)
    with pytest.raises(MmbatchError, match="build it"):
        maker.build("new")
    monkeypatch.setattr(kernel, "_make", make)
    assert maker.build("new").image.exists()
    assert maker.times == 2
