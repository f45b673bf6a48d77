# SPDX-License-Identifier: GPL-2.0-only
"""Refuse a module whose replacements leave by a jump, and so leave the stack of a task.

Livepatching waits for tasks that have a replacement on their stack. Where the compiler has made
a jump of a replacement's last call, what is called runs in the module without that: a task that
sleeps there is not waited for, and the module goes from under it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from mmbatch.core.errors import MmbatchError
from mmbatch.core.process import run
from mmbatch.live.elf import Elf, Symbol

# The kernel's own code, from which the way back is to the caller; a return; and the test of a
# CPU feature before alternatives are patched, which only jumps back.
_FINE = re.compile(r"(live_original_\w+|__x86_return_thunk|\.altinstr_aux)([-+]0x\w+)?")

_JUMP = re.compile(r"^ +\w+:\t(?:(?:bnd|notrack) )?(?:j[\w,]+|loop\w*) +(\S+)(.*)$")
_RELOCATION = re.compile(r"^\t+\w+: R_X86_64_\w+\t(\S+)$")


def require_none(path: Path, module: Elf, functions: Iterable[str]) -> None:
    """Raise MmbatchError if a replacement jumps to anything but itself and the kernel's own.

    Args:
        path: a module.
        module: what is in it.
        functions: those that replace one of the kernel's.
    """
    for name in functions:
        symbol = _symbol(module, name)
        for target in _leaves(path, module, symbol):
            raise MmbatchError(
                f"link {path.name}",
                f"{name}() leaves by a jump to {target}, so that nobody would wait for a task "
                "that sleeps there when the module is unloaded",
                "put live_stay() of live/live.h behind that call",
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
    said = run([*argv, path], action=f"look for jumps in {path.name}").stdout.splitlines()
    for line, following in zip(said, [*said[1:], ""], strict=True):
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
    if not re.fullmatch(r"[0-9a-f]+", target):  # through a register or memory
        return False
    return symbol.value <= int(target, 16) < symbol.value + symbol.size
