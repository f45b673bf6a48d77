# SPDX-License-Identifier: GPL-2.0-only
"""Replacements that leave by a jump, in objects that the assembler of this machine makes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mmbatch.core.errors import MmbatchError
from mmbatch.live import build, elf

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
    build.require_no_jumps(path, elf.read(path), ["live_it"])


@pytest.mark.parametrize(
    "body",
    [
        "",
        "call elsewhere",
        "call helper",
        "jne live_it + 3",
        "1: loop 1b",
        "jmp live_original_it",
        "je live_original_it",
        "jmp .altinstr_aux + 4",
    ],
)
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
    with pytest.raises(MmbatchError) as caught:
        checked(tmp_path, body)

    assert caught.value.problem.startswith("live_it() leaves by a jump ")
    assert words in caught.value.problem
    assert "live_stay()" in caught.value.hint


def test_what_lies_around_it_does_not_matter(tmp_path: Path) -> None:
    checked(tmp_path, "", more="jmp elsewhere\nbefore: jmp elsewhere")


def test_a_replacement_that_is_not_there(tmp_path: Path) -> None:
    checked(tmp_path, "")
    path = tmp_path / "it.ko"

    with pytest.raises(MmbatchError) as caught:
        build.require_no_jumps(path, elf.read(path), ["live_it", "live_that"])

    assert "it has no live_that()" in caught.value.problem
