# SPDX-License-Identifier: GPL-2.0-only
"""Link a module to the kernel as a livepatch, and check that it can be unloaded safely.

The kernel's livepatching resolves the relocations that `convert` writes when the module loads. It
looks among all symbols and not only the exported ones, and refuses a module if one is missing or
not unique. modpost can't write such relocations, so this happens after the link.

Livepatching waits for tasks that have a replacement on their stack. If the compiler turned a
replacement's last call into a jump, the called function runs in the module without that: a task
that sleeps there is not waited for, and the module is freed under it. `require_no_jumps` refuses
such a module.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from mmbatch.core.errors import MmbatchError
from mmbatch.core.process import run
from mmbatch.live.elf import (
    SHF_ALLOC,
    SHF_INFO_LINK,
    SHT_RELA,
    Elf,
    Rela,
    Section,
    Symbol,
    pack_relocations,
    renamed,
)

SHN_LIVEPATCH = 0xFF20
SHF_RELA_LIVEPATCH = 0x00100000

# Jumps that are safe: to the kernel's own function, which returns to the caller; to a return;
# and to the test of a CPU feature before alternatives are patched, which only jumps back.
_FINE = re.compile(r"(live_original_\w+|__x86_return_thunk|\.altinstr_aux)([-+]0x\w+)?")

_JUMP = re.compile(r"^ +\w+:\t(?:(?:bnd|notrack) )?(?:j[\w,]+|loop\w*) +(\S+)(.*)$")
_RELOCATION = re.compile(r"^\t+\w+: R_X86_64_\w+\t(\S+)$")


def exported(symvers: str) -> set[str]:
    """Return the symbols in a kernel's Module.symvers that every module may use."""
    rows = [line.split("\t") for line in symvers.splitlines()]
    # Only modules that import a namespace may use its symbols.
    return {row[1] for row in rows if len(row) > 2 and not any(row[4:])}


def convert(module: Elf, symbols: Collection[str], others: Collection[str]) -> None:
    """Turn all uses of some symbols of the kernel into livepatch relocations.

    Args:
        module: a module; changed in place.
        symbols: those that the kernel does not export. The module must use each of them.
        others: those that the kernel exports.

    Raises:
        MmbatchError: the module uses a symbol of neither list, or does not use one of `symbols`.
    """
    undefined = module.undefined()
    unknown = sorted(undefined - set(symbols) - set(others))
    if unknown:
        raise _wrong(f"it needs {', '.join(unknown)}, which this kernel does not export")
    unused = sorted(set(symbols) - undefined)
    if unused:
        raise _wrong(f"it does not use {', '.join(unused)}")
    moved = set()
    for index, symbol in enumerate(module.symbols):
        if symbol.undefined and symbol.name in symbols:
            name = f".klp.sym.vmlinux.{symbol.name},0"
            module.symbols[index] = renamed(symbol, name, SHN_LIVEPATCH)
            moved.add(index)
    for section in [one for one in module.sections if one.kind == SHT_RELA]:
        target = module.sections[section.info]
        if target.flags & SHF_ALLOC:
            _split(module, section, target, moved)


def require_no_jumps(path: Path, module: Elf, functions: Iterable[str]) -> None:
    """Raise MmbatchError if a replacement jumps to anything but itself and the kernel's own.

    Args:
        path: file of the module.
        module: its content.
        functions: the replacements.
    """
    for name in functions:
        symbol = _symbol(module, name)
        for target in _leaves(path, module, symbol):
            raise MmbatchError(
                f"link {path.name}",
                f"{name}() leaves by a jump to {target}, so unloading the module would not wait "
                "for a task that sleeps there",
                "put live_stay() of live/live.h after that call",
            )


def _split(module: Elf, section: Section, target: Section, moved: Collection[int]) -> None:
    kept: list[Rela] = []
    taken: list[Rela] = []
    for one in module.relocations(section):
        (taken if one.symbol in moved else kept).append(one)
    if not taken:
        return
    section.content = pack_relocations(kept)
    module.sections.append(
        Section(
            name=f".klp.rela.vmlinux.{target.name}",
            kind=SHT_RELA,
            flags=SHF_RELA_LIVEPATCH | SHF_INFO_LINK | SHF_ALLOC,
            address=0,
            link=module.symbol_table,
            info=section.info,
            align=8,
            entry=24,
            content=pack_relocations(taken),
            size=0,
        )
    )


def _wrong(problem: str) -> MmbatchError:
    return MmbatchError(
        "link the livepatch module to the kernel",
        problem,
        "correct 'symbols' in the speed-up's live.toml",
    )


def _symbol(module: Elf, name: str) -> Symbol:
    for symbol in module.symbols:
        if symbol.name == name and not symbol.undefined:
            return symbol
    raise MmbatchError(
        "link the livepatch module", f"it has no {name}()", "correct 'by' in live.toml"
    )


def _leaves(path: Path, module: Elf, symbol: Symbol) -> Iterator[str]:
    section = module.sections[symbol.section].name
    argv = ["objdump", "-d", "-r", "--no-show-raw-insn", f"--section={section}"]
    argv += [f"--start-address={symbol.value}", f"--stop-address={symbol.value + symbol.size}"]
    lines = run([*argv, path], action=f"look for jumps in {path.name}").stdout.splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        jump = _JUMP.match(line)
        if jump is None:
            continue
        relocation = _RELOCATION.match(following)
        if relocation is not None:
            if not _FINE.fullmatch(relocation[1]):
                yield re.sub(r"[-+]0x\w+$", "", relocation[1])
        elif not _is_within(symbol, jump[1]) and not jump[2].startswith(" <live_original_"):
            yield jump[2].strip(" <>") or jump[1]


def _is_within(symbol: Symbol, target: str) -> bool:
    if not re.fullmatch(r"[0-9a-f]+", target):  # an indirect jump
        return False
    return symbol.value <= int(target, 16) < symbol.value + symbol.size
