# SPDX-License-Identifier: GPL-2.0-only
"""Boot a guest with nodes and a slow tier, and let large folios move in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mmbatch.guest import boot as guest
from mmbatch.guest import qemu
from mmbatch.guest.boot import Workshop
from mmbatch.guest.build import GuestKernel
from mmbatch.guest.log import Heard
from mmbatch.guest.qemu import Boot, Booted

METHODS = ("memcpy", "bulk", "stream")
"""Of folio_copy, besides base and auto."""

_PROGRAMS = ("move_folios", "move_ring")
_NODES = 2
_GIB = 4
_SLOW_MIB = 512
_CMA_MIB = 320  # more than half of the slow node: its first folios come from there
_ROWS = ("2M base", "2M auto", "64K base", "64K auto")
_COLUMNS = (
    "folios",
    "calls of the copy",
    "ms of move_pages(2)",
    "us late at worst",
)


@dataclass(frozen=True)
class Amount:
    """How much is moved, in MiB, and by which CPUs.

    Attributes:
        rows: from node to node by base, and by what `auto` does.
        others: everywhere else.
        erms: whether the CPUs have it; emulated, rep movsb is eight times as slow as rep movsq.
    """

    rows: int
    others: int
    erms: bool = False


def boot(
    workshop: Workshop,
    kernel: GuestKernel,
    name: str,
    amount: Amount,
    slow: float,
    cmdline: tuple[str, ...],
) -> Booted:
    """Boot; move folios by every method, for every reason, between nodes and tiers.

    Args:
        workshop: where.
        kernel: what boots.
        name: of the guest.
        amount: how much is moved.
        slow: how many times slower than an ordinary kernel this one may be.
        cmdline: more of its command line.
    """
    settings = {
        "MOST_MIB": str(amount.rows),
        "MIB": str(amount.others),
        "METHODS": " ".join(METHODS),
        "SLOW": str(_NODES),
        "CMA_MIB": str(_CMA_MIB),
    }
    files = {
        f"bin/{program}": guest.compiled(workshop.cache, guest.ROOM / f"{program}.c")
        for program in _PROGRAMS
    }
    files["copies.sh"] = (guest.ROOM / "copies.sh").read_bytes()
    return qemu.run(
        workshop.cache,
        Boot(
            name,
            kernel,
            guest.filesystem(workshop.cache, kernel, ["folios"], settings, files),
            limit_s=slow * 600,
            cmdline=(f"numa_cma={_NODES}:{_CMA_MIB}M", *cmdline),
            memory_gib=_GIB,
            nodes=_NODES,
            slow_mib=_SLOW_MIB,
            without=() if amount.erms else ("erms",),
        ),
    )


def rows(heard: Heard) -> Iterator[str]:
    """Yield what was counted and timed, a line for each move."""
    found: dict[str, list[str]] = {}
    for key, number in heard.values:
        name, _, column = key.partition(": ")
        found.setdefault(name, []).append(f"{number:g} {column}")
    for name, columns in found.items():
        yield f"{name}: {', '.join(columns)}"


def absent(heard: Heard) -> Iterator[str]:
    """Yield the numbers that a whole test has and this one lacks."""
    told = {key for key, _ in heard.values}
    for row in _ROWS:
        for column in _COLUMNS:
            if f"{row}: {column}" not in told:
                yield f"{row}: no number of {column}"
