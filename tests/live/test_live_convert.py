# SPDX-License-Identifier: GPL-2.0-only
"""Links and jumps of a livepatch module, in objects that the tools of this machine make."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from expect import printed
from mmbatch.live import convert, elf

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


def test_what_was_read_is_written_alike(module: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.o"
    again.write_bytes(elf.parse(module.read_bytes()).pack())

    def parts(path: Path) -> str:  # all but where they lie in the file
        text = printed("readelf", "-W", path, "-s", "-r", "-x", ".text", "-x", ".data")
        return re.sub(r"at offset 0x\w+ contains", "contains", text)

    assert "hidden" in parts(module)
    assert parts(module) == parts(again)


def test_hidden_symbols_become_livepatch_relocations(module: Path, tmp_path: Path) -> None:
    content = elf.parse(module.read_bytes())
    convert.convert(content, ["hidden"], ["known"])
    linked = tmp_path / "made.ko"
    linked.write_bytes(content.pack())

    sections, relocations, symbols = (printed("readelf", "-W", f"-{c}", linked) for c in "Srs")
    assert ".klp.rela.vmlinux..text" in sections
    assert ".klp.rela.vmlinux..data" in sections
    assert ".klp.sym.vmlinux.hidden,0" in symbols
    assert "[0xff20]" in symbols
    before, text = relocations.split("'.klp.rela.vmlinux..text'")
    assert text.count("hidden,0") == 3  # two calls, and one in the table
    assert "hidden" not in before.split("'.rela.debug")[0]
    assert before.count("known") == 2
    assert elf.parse(linked.read_bytes()).undefined() == {"known"}


@pytest.mark.parametrize(
    ("symbols", "others", "words"),
    [(["hidden"], [], "needs known"), (["hidden", "gone"], ["known"], "does not use gone")],
)
def test_what_nobody_exports_is_declared_and_used(
    module: Path, symbols: list[str], others: list[str], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        convert.convert(elf.parse(module.read_bytes()), symbols, others)


def test_symvers() -> None:
    text = "0x1\tknown\tvmlinux\tEXPORT_SYMBOL\t\n0x2\tother\tdrivers/x\tEXPORT_SYMBOL_GPL\t\n\n"
    for exporter in ("module:kvm,kvm-intel", "A_NAMESPACE"):
        text += f"0x3\tnot_for_us\tvmlinux\tEXPORT_SYMBOL_GPL\t{exporter}\n"
    assert convert.exported(text) == {"known", "other"}


FUNCTION = """
.text
{more}
.globl live_it
.type live_it, @function
live_it:
	test %rax, %rax
{body}
	jmp __x86_return_thunk
.size live_it, . - live_it
.type helper, @function
helper:
	ret
.size helper, . - helper
.type live_original_it, @function
live_original_it:
	jmp it + 9
.size live_original_it, . - live_original_it
.section .text.unlikely, "ax"
.type live_it.cold, @function
live_it.cold:
	ret
"""


def checked(directory: Path, body: str, more: str = "") -> None:
    source, path = directory / "it.s", directory / "it.ko"
    source.write_text(FUNCTION.format(body=body, more=more))
    subprocess.run(["as", "--64", "-o", path, source], check=True)
    convert.require_no_jumps(path, elf.parse(path.read_bytes()), ["live_it"])


STAYS = ("", "call elsewhere", "call helper", "jne live_it + 3", "1: loop 1b")
OWN = ("jmp live_original_it", "je live_original_it", "jmp .altinstr_aux + 4")


@pytest.mark.parametrize("body", STAYS + OWN)
def test_what_may_be(tmp_path: Path, body: str) -> None:
    checked(tmp_path, body)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("jmp elsewhere", "to elsewhere,"),
        ("je elsewhere", "to elsewhere,"),
        ("jmp helper", "to helper,"),
        ("je helper", "to helper,"),
        ("je helper\n.skip 300\n", "to helper,"),
        ("je live_it.cold", "to .text.unlikely"),
        ("jmp *%rax", "to *%rax,"),
        ("notrack jmp *8(%rax)", "to *0x8(%rax),"),
        ("jmp __x86_indirect_thunk_rax", "to __x86_indirect_thunk_rax,"),
        ("jmp live_originally", "to live_originally,"),
        ("call helper\n1: jne 1b\njmp elsewhere", "to elsewhere,"),
    ],
)
def test_what_leaves(tmp_path: Path, body: str, words: str) -> None:
    with pytest.raises(ValueError, match=r"live_it\(\) leaves by a jump .*live_stay\(\)") as caught:
        checked(tmp_path, body)
    assert words in str(caught.value)


def test_a_replacement_that_is_not_there(tmp_path: Path) -> None:
    checked(tmp_path, "")
    path = tmp_path / "it.ko"
    with pytest.raises(ValueError, match=r"it has no live_that\(\)"):
        convert.require_no_jumps(path, elf.parse(path.read_bytes()), ["live_it", "live_that"])
