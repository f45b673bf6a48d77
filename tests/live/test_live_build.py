# SPDX-License-Identifier: GPL-2.0-only
"""Modules that must be refused, and real ones for Debian's kernels, whose headers are fetched."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from expect import fails, printed
from fake_live import live
from mmbatch.core import paths
from mmbatch.core.errors import MmbatchError
from mmbatch.core.load import SERIES
from mmbatch.guest import misfits as variants
from mmbatch.live import btf, build, elf, kernel, manifest
from mmbatch.live.kernel import Headers
from mmbatch.live.manifest import Misfit

FIRST = manifest.load_all(())[0]

MODULE = """
.section .rodata.str1.1, "aMS", @progbits, 1
.string "struct page"
.string "_refcount"
.data
.globl live_places
live_places: .zero 48
.section .modinfo, "a"
.string "vermagic=6.12.1 SMP preempt mod_unload modversions "
.section __versions, "a"
.quad 7
.string "module_layout"
.zero 42
.text
.globl ".klp.sym.vmlinux.get_it,0"
call ".klp.sym.vmlinux.get_it,0"
"""
CHANGED = {
    "string": [".rodata.str1.1"],
    "symbol": [],
    "size": [".data"],
    "offset": [".data"],
    "magic": [".modinfo"],
    "version": ["__versions"],
}


@pytest.fixture
def made(tmp_path: Path) -> Path:
    source, path = tmp_path / "it.s", tmp_path / "it.ko"
    source.write_text(MODULE)
    subprocess.run(["as", "--64", "-o", path, source], check=True)
    return path


def misfits(made: Path, kind: Any, old: str = "", new: str = "") -> dict[str, tuple[bytes, str]]:
    return variants.variants(live(misfits=(Misfit("it", kind, "words", old, new),)), made)


@pytest.mark.parametrize("kind", CHANGED)
def test_each_kind_changes_one_thing(made: Path, kind: str) -> None:
    names = {"string": ("_refcount", "_refcounX"), "symbol": ("get_it", "get_iX")}
    content, words = misfits(made, kind, *names.get(kind, ()))["it"]

    before, after = elf.parse(made.read_bytes()), elf.parse(content)
    assert words == "words"
    assert CHANGED[kind] == [
        section.name
        for section, other in zip(before.sections, after.sections, strict=True)
        if section.content != other.content
        and section.name not in (".strtab", ".shstrtab", ".symtab")
    ]
    if kind == "symbol":
        renamed = {symbol.name for symbol in after.symbols}
        assert ".klp.sym.vmlinux.get_iX,0" in renamed
        assert ".klp.sym.vmlinux.get_it,0" not in renamed
    else:
        assert after.symbols == before.symbols


def test_a_kernel_without_versions_has_no_variant_of_them(made: Path) -> None:
    made.write_bytes(made.read_bytes().replace(b"modversions", b"modversionX"))
    assert misfits(made, "version") == {}


def test_modules_of_another_kernel_and_of_another_build(made: Path) -> None:
    assert variants.older(made).count(b"vermagic=5.12.1 SMP") == 1
    text = f'{MODULE}\n.section {elf.BUILD_ID}, "a", @note\n.byte 1, 2, 3\n'
    subprocess.run(["as", "--64", "-o", made, "-"], input=text, text=True, check=True)
    section = elf.parse(variants.rebuilt(made)).find(elf.BUILD_ID)
    assert section is not None
    assert section.content == b"\1\2\2"


@pytest.fixture(scope="module", params=SERIES)
def headers(request: pytest.FixtureRequest) -> Headers:
    return kernel.find(kernel.choose(request.param))


@pytest.mark.kernel
@pytest.mark.parametrize("speedup", manifest.known(paths.SPEEDUPS))
def test_the_module_says_what_it_is(
    headers: Headers, speedup: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = manifest.load(speedup)
    module = build.build(live, headers)
    output = printed("readelf", "-W", "-S", "-s", module)

    assert ".klp.rela.vmlinux..text" in output
    for function in live.replaced(headers.series):
        assert f".klp.sym.vmlinux.{function.name},0" in output
        assert f" UND {function.name}\n" not in output
    assert ".debug" not in output
    assert ".cold" not in output  # where nobody would look for it on a stack
    content = module.read_bytes()
    assert b"\0livepatch=Y\0" in content
    assert f"vermagic={headers.release} ".encode() in content
    monkeypatch.setattr(build, "_make", None)
    assert build.build(live, headers) == module
    unfit = variants.variants(live, module)
    assert set(unfit) >= {misfit.name for misfit in live.misfits if misfit.kind != "version"}
    assert len({data for data, _ in unfit.values()} | {content}) == len(unfit) + 1


@pytest.mark.kernel
def test_headers_that_are_not_those_of_the_kernel(
    headers: Headers, monkeypatch: pytest.MonkeyPatch
) -> None:
    symbols = FIRST.symbols(headers.series)
    moved, (member, *_) = next(iter(symbols.structs.items()))
    real = btf.Btf.place

    def place(self: btf.Btf, struct: str, name: str) -> tuple[int, int] | None:
        found = real(self, struct, name)
        if (struct, name) == (moved, member) and found is not None:
            return found[0] + 8, found[1]
        return found

    monkeypatch.setattr(btf.Btf, "place", place)
    with fails(f"layout of struct {moved}: {member}", code=77):
        build.build(FIRST, headers)


@pytest.mark.kernel
# Those of folio_copy and memory_hotplug end in the kernel's own functions, in a loop or with a
# constant, and leave by no jump.
@pytest.mark.parametrize("speedup", ["vmap", "zone_device"])
def test_a_replacement_that_would_be_missed_on_a_stack(
    headers: Headers, tmp_path: Path, speedup: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = tmp_path / "engine"
    shutil.copytree(paths.LIVE, engine)
    header = (engine / "live.h").read_text()
    assert "live_stay()\tbarrier()" in header
    changed = header.replace("live_stay()\tbarrier()", "live_stay() ((void)0)")
    (engine / "live.h").write_text(changed)
    with pytest.raises(MmbatchError, match=r"\(\) leaves by a jump to "):
        build.build(manifest.load(speedup), headers, engine)
