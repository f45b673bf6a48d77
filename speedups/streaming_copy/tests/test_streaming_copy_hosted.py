# SPDX-License-Identifier: GPL-2.0-only
"""The machine code of streaming copies in real kernels: what streams, in which order, and when."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import real_kernel
from mmbatch.core import paths as checkout
from mmbatch.core import process
from mmbatch.hosted.program import Program
from mmbatch.kernel.sources import SERIES, Source, find_cached
from mmbatch.splice.manifest import load_with_needs

FLUSHES = {"clwb", "clflush", "clflushopt"}

pytestmark = real_kernel.MARKS


@dataclass(frozen=True)
class Instruction:
    """One line of objdump, with what the linker will put there."""

    address: int
    name: str
    operands: str
    symbol: str | None


Code = dict[str, list[Instruction]]


def disassemble(path: Path) -> Code:
    """Return the instructions of each function of an object, without the padding after it."""
    listing = process.run(
        ["objdump", "-dr", "--no-show-raw-insn", path], action=f"disassemble {path.name}"
    ).stdout
    code: Code = {}
    lines: list[Instruction] = []
    for line in listing.splitlines():
        if head := re.fullmatch(r"[0-9a-f]+ <(\w+)>:", line):
            lines = code.setdefault(head[1], [])
        elif relocation := re.match(r"\s+[0-9a-f]+: R_X86_64_\w+\s+(\w+)", line):
            last = lines.pop()
            lines.append(Instruction(last.address, last.name, last.operands, relocation[1]))
        elif found := re.match(r"\s+([0-9a-f]+):\s+(\S+)\s*(.*)", line):
            lines.append(Instruction(int(found[1], 16), found[2], found[3].strip(), None))
    for lines in code.values():
        while lines and re.match(r"nop|data16|cs|xchg|int3", lines[-1].name):
            lines.pop()
    return code


def text(lines: list[Instruction]) -> list[str]:
    """Instructions without their addresses; where they jump within the function is left out."""
    return [
        f"{line.name} {line.symbol or re.sub(r'^[0-9a-f]+ <.*', '', line.operands)}"
        for line in lines
    ]


def is_jump(line: Instruction) -> bool:
    return line.name.startswith("j")


def target(line: Instruction) -> int:
    return int(line.operands.split()[0], 16)


def loops(lines: list[Instruction]) -> list[list[Instruction]]:
    """What lies between a jump backwards and its target, both included; smallest first."""
    start = lines[0].address
    backwards = [line for line in lines if is_jump(line) and start <= target(line) <= line.address]
    bodies = [
        [line for line in lines if target(jump) <= line.address <= jump.address]
        for jump in backwards
        if jump.symbol is None
    ]
    return sorted(bodies, key=len)


@pytest.fixture(scope="module", params=SERIES)
def source(request: pytest.FixtureRequest) -> Source:
    """A kernel of the user's cache."""
    return find_cached(request.param) or pytest.skip("it is not in the cache")


def build(source: Source, speedup: str) -> dict[str, Code]:
    """Build a hosted program and return the code of each object that it was made of."""
    program = Program(source, load_with_needs(checkout.SPEEDUPS, speedup))
    return {
        path.stem: disassemble(path)
        for side in ("base", "patched")
        for path in program.path.parent.glob(f"{side}-*.o")
    }


@pytest.fixture(scope="module")
def copies(source: Source) -> dict[str, Code]:
    return build(source, "streaming_copy")


@pytest.fixture(scope="module")
def memmap(source: Source) -> Code:
    objects = build(source, "zone_device")
    return {name: lines for code in objects.values() for name, lines in code.items()}


def sides(copies: dict[str, Code], name: str) -> tuple[list[Instruction], list[Instruction]]:
    return copies["base-copies"][name], copies["patched-copies"][name]


@pytest.mark.parametrize("size", [32, 48, 64, 80, 96])
@pytest.mark.parametrize("function", ["aligned", "flush"])
def test_descriptor_sizes_are_straight_ascending_movnti(
    copies: dict[str, Code], function: str, size: int
) -> None:
    lines = copies["patched-copies"][f"{function}_{size:#04x}"]
    stores = [line.operands for line in lines if line.name.startswith("movnti")]
    offsets = [int(re.search(r",(-?\w*)\(", store)[1] or "0", 16) for store in stores]  # type: ignore[index]
    assert offsets == list(range(0, size, 8))
    if function == "aligned":
        assert {line.name.rstrip("q") for line in lines} == {"mov", "movnti", "ret"}
        assert lines[-1].name.startswith("ret")
    else:
        # Where the alignment is not known, a test of it leads to the old function or past it.
        first = next(i for i, line in enumerate(lines) if line.name.startswith("movnti"))
        calls = [line.symbol for line in lines if line.symbol]
        assert calls == ["__memcpy_flushcache"]
        assert any("$0x7," in line.operands for line in lines[:first])
        assert not FLUSHES & {line.name for line in lines}


def test_memcpy_flushcache_of_all_other_constants_is_what_it_was(copies: dict[str, Code]) -> None:
    for size in set(range(257)) - {32, 48, 64, 80, 96}:
        base, patched = sides(copies, f"flush_{size:#04x}")
        assert text(patched) == text(base), f"memcpy_flushcache() of {size}"
    for size, stores in ((4, 1), (8, 1), (16, 2)):
        was, _ = sides(copies, f"flush_{size:#04x}")
        for function in ("fixed", "aligned"):
            _, now = sides(copies, f"{function}_{size:#04x}")
            assert text(now) == text(was), f"memcpy_streaming() of {size}"
        assert sum(line.name.startswith("movnti") for line in was) == stores


def test_run_time_sizes_stream_behind_the_alignment_test(copies: dict[str, Code]) -> None:
    was, lines = sides(copies, "copies_sized")
    assert [line.symbol for line in was if line.symbol] == ["memcpy"]
    called = {line.symbol: i for i, line in enumerate(lines) if line.symbol}
    assert set(called) == {"memcpy", "__memcpy_flushcache"}
    before = lines[: called["__memcpy_flushcache"]]
    tests = [i for i, line in enumerate(before) if "$0x7," in line.operands]
    assert tests
    assert any(is_jump(line) and line.symbol is None for line in before[tests[0] :])
    assert not {line.name for line in lines} & (FLUSHES | {"movnti", "call"})


def test_no_streaming_store_is_dropped_between_plain_ones(copies: dict[str, Code]) -> None:
    _, lines = sides(copies, "copies_pieces")
    streamed = [line for line in lines if line.name.startswith("movnti")]
    assert len(streamed) == 3 * 2 + 2 + 2


def test_movnti_method_stamps_without_calls_and_flushes(memmap: Code) -> None:
    lines = memmap["zone_device_stream"]
    assert not FLUSHES & {line.name for line in lines}
    assert not [line for line in lines if line.name == "call" or line.symbol]
    stamping = [
        loop
        for loop in loops(lines)
        if sum(line.name.startswith("movnti") for line in loop) == 64 // 8
    ]
    assert stamping


def test_wide_method_loads_nothing_in_its_loop(memmap: Code) -> None:
    lines = memmap["zone_device_wide"]
    assert not FLUSHES & {line.name for line in lines}
    loop = loops(lines)[0]
    stores = [line for line in loop if line.name == "movntdq"]
    others = [line for line in loop if line.name != "movntdq"]
    assert len(stores) == 64 // 16
    assert not [line for line in others if "(" in line.operands and line.name != "lea"]
    assert not [line for line in loop if line.symbol]
