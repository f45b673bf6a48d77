# SPDX-License-Identifier: GPL-2.0-only
"""refused.toml: how it is read, and each kind of change on a made-up module."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mmbatch.core import paths
from mmbatch.core.errors import MmbatchError
from mmbatch.live import elf, manifest, refused
from mmbatch.live.refused import KINDS, Misfit

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
OF_EACH = {
    "string": ("_refcount", "_refcounX"),
    "symbol": ("get_it", "get_iX"),
    "size": ("", ""),
    "offset": ("", ""),
    "magic": ("", ""),
    "version": ("", ""),
}


@pytest.fixture
def module(tmp_path: Path) -> Path:
    source, path = tmp_path / "it.s", tmp_path / "it.ko"
    source.write_text(MODULE)
    subprocess.run(["as", "--64", "-o", path, source], check=True)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_changes_one_thing(module: Path, kind: str) -> None:
    old, new = OF_EACH[kind]

    found = refused.variants([Misfit("it", kind, old, new, "words")], module)

    content, words = found["it"]
    before = elf.read(module)
    path = module.with_name("wrong.ko")
    path.write_bytes(content)
    after = elf.read(path)
    assert words == "words"
    sections = [
        section.name
        for section, other in zip(before.sections, after.sections, strict=True)
        if section.content != other.content
        and section.name not in (".strtab", ".shstrtab", ".symtab")
    ]
    changed = {
        "string": [".rodata.str1.1"],
        "symbol": [],
        "size": [".data"],
        "offset": [".data"],
        "magic": [".modinfo"],
        "version": ["__versions"],
    }
    assert sections == changed[kind]
    if kind == "symbol":
        names = {symbol.name for symbol in after.symbols}
        assert ".klp.sym.vmlinux.get_iX,0" in names
        assert ".klp.sym.vmlinux.get_it,0" not in names
    else:
        assert after.symbols == before.symbols


@pytest.mark.parametrize("kind", ["string", "symbol"])
def test_what_the_module_does_not_have_is_named(module: Path, kind: str) -> None:
    with pytest.raises(MmbatchError) as caught:
        refused.variants([Misfit("it", kind, "gone", "gonX", "words")], module)

    assert "gone" in caught.value.problem
    assert "'it'" in caught.value.action


def test_a_kernel_without_versions_has_no_variant_of_them(module: Path) -> None:
    module.write_bytes(module.read_bytes().replace(b"modversions", b"modversionX"))

    assert refused.variants([Misfit("it", "version", "", "", "words")], module) == {}


def write(speedups: Path, text: str) -> None:
    path = speedups / "toy/live/refused.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)


def test_what_a_manifest_says(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
[[module]]
name = "size"
change = "size"
words = "other"

[[module]]
name = "member"
change = "string"
from = "a"
to = "b"
words = "no b"
""",
    )

    assert refused.load_misfits(tmp_path, "toy") == [
        Misfit("size", "size", "", "", "other"),
        Misfit("member", "string", "a", "b", "no b"),
    ]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ('change = "colour"\nwords = "no"', "module 1: change: must be one of string, "),
        ('change = "string"\nwords = "no"', "'from' is missing"),
        ('change = "size"\nfrom = "a"\nwords = "no"', "unknown key 'from'"),
        ('change = "size"', "'words' is missing"),
    ],
)
def test_a_manifest_that_is_wrong(tmp_path: Path, row: str, words: str) -> None:
    write(tmp_path, f'[[module]]\nname = "it"\n{row}\n')

    with pytest.raises(MmbatchError) as caught:
        refused.load_misfits(tmp_path, "toy")

    assert words in caught.value.problem


def test_a_missing_manifest_is_named(tmp_path: Path) -> None:
    with pytest.raises(MmbatchError, match=r"no live/refused\.toml"):
        refused.load_misfits(tmp_path, "toy")


@pytest.mark.parametrize("speedup", manifest.known(paths.SPEEDUPS))
def test_every_livepatch_has_misfits(speedup: str) -> None:
    misfits = refused.load_misfits(paths.SPEEDUPS, speedup)

    assert len(misfits) >= 3
    assert len({misfit.name for misfit in misfits}) == len(misfits)
    for misfit in misfits:
        if misfit.kind == "string":
            assert len(misfit.old) == len(misfit.new)


def test_a_module_of_another_kernel(module: Path) -> None:
    assert refused.older(module).count(b"\0vermagic=5.12.1 SMP") == 1

    module.write_bytes(b"no module")
    with pytest.raises(MmbatchError, match="it has none"):
        refused.older(module)


def test_another_build_of_a_module(module: Path, tmp_path: Path) -> None:
    with pytest.raises(MmbatchError, match="it has none"):
        refused.rebuilt(module)
    text = f'{MODULE}\n.section {elf.BUILD_ID}, "a", @note\n.byte 1, 2, 3\n'
    subprocess.run(["as", "--64", "-o", module, "-"], input=text, text=True, check=True)
    path = tmp_path / "rebuilt.ko"

    path.write_bytes(refused.rebuilt(module))

    section = elf.read(path).find(elf.BUILD_ID)
    assert section is not None
    assert section.content == b"\1\2\2"
