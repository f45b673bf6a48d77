# SPDX-License-Identifier: GPL-2.0-only
"""Livepatch relocations, made in objects that the compiler of this machine makes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from mmbatch.core.errors import MmbatchError
from mmbatch.live import build, elf

CODE = """
extern int hidden(int); extern int known(int);
int (*table[])(int) = { hidden, known };
int call(int x) { return hidden(x) + known(hidden(x + 1)); }
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    source = tmp_path / "it.c"
    source.write_text(CODE)
    path = tmp_path / "it.ko"
    # As kernel code is compiled; and an object is what a module is, too.
    flags = ["-mcmodel=kernel", "-fno-pic", "-fcf-protection=none", "-g"]
    subprocess.run(["gcc", "-O2", *flags, "-c", "-o", path, source], check=True)
    return path


def readelf(path: Path, *options: str) -> str:
    return subprocess.run(
        ["readelf", "-W", *options, path], check=True, capture_output=True, text=True
    ).stdout


def test_what_was_read_is_written_alike(module: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.o"
    again.write_bytes(elf.read(module).pack())

    def parts(path: Path) -> str:  # all but where they lie in the file
        text = readelf(path, "-s", "-r", "-x", ".text", "-x", ".data")
        return re.sub(r"at offset 0x\w+ contains", "contains", text)

    assert "hidden" in parts(module)
    assert parts(module) == parts(again)


def test_hidden_symbols_become_livepatch_relocations(module: Path, tmp_path: Path) -> None:
    content = elf.read(module)
    build.convert(content, ["hidden"], ["known"])
    linked = tmp_path / "made.ko"
    linked.write_bytes(content.pack())

    sections = readelf(linked, "-S")
    relocations = readelf(linked, "-r")
    symbols = readelf(linked, "-s")
    assert ".klp.rela.vmlinux..text" in sections
    assert ".klp.rela.vmlinux..data" in sections
    assert ".klp.sym.vmlinux.hidden,0" in symbols
    assert "[0xff20]" in symbols
    before, text = relocations.split("'.klp.rela.vmlinux..text'")
    assert text.count("hidden,0") == 3  # two calls, and one in the table
    assert "hidden" not in before.split("'.rela.debug")[0]
    assert before.count("known") == 2
    assert elf.read(linked).undefined() == {"known"}


def test_what_nobody_exports_and_nobody_declared_is_refused(module: Path) -> None:
    with pytest.raises(MmbatchError) as caught:
        build.convert(elf.read(module), ["hidden"], [])

    assert "it needs known" in caught.value.problem


def test_what_is_declared_has_to_be_used(module: Path) -> None:
    with pytest.raises(MmbatchError) as caught:
        build.convert(elf.read(module), ["hidden", "gone"], ["known"])

    assert "does not use gone" in caught.value.problem


def test_symvers() -> None:
    text = "0x1\tknown\tvmlinux\tEXPORT_SYMBOL\t\n0x2\tother\tdrivers/x\tEXPORT_SYMBOL_GPL\t\n\n"
    for exporter in ("module:kvm,kvm-intel", "A_NAMESPACE"):
        text += f"0x3\tnot_for_us\tvmlinux\tEXPORT_SYMBOL_GPL\t{exporter}\n"
    assert build.exported(text) == {"known", "other"}


@pytest.mark.parametrize("content", [b"", b"no ELF", b"\x7fELF\x02\x01" + bytes(10)])
def test_what_is_no_elf(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.ko"
    path.write_bytes(content)

    with pytest.raises(MmbatchError):
        elf.read(path)
