# SPDX-License-Identifier: GPL-2.0-only
"""Count the page faults that QEMU takes for each CPU of a guest.

The memory of a guest is that of a process. When a CPU of the guest touches a page of it for the
first time, the thread that is this CPU takes a page fault. Under KVM the same happens in hardware's
second page table.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

_MARK = re.compile(r"@@ faults (.+)$")
_THREAD = re.compile(r"CPU (\d+)/\w+")
_MINOR = 7  # fields of /proc/PID/task/TID/stat after the one in brackets: faults without I/O


class FaultCounter:
    """Reads the console of a guest whose threads are named (debug-threads=on).

    Attributes:
        pid: QEMU's process id; 0 before it started.
        values: what was counted, "NAME: page faults of CPU N" and a number.
    """

    def __init__(self, proc: Path = Path("/proc")) -> None:
        """Begin with nothing.

        Args:
            proc: where procfs is mounted.
        """
        self.pid = 0
        self.values: list[tuple[str, float]] = []
        self._proc = proc
        self._before: dict[str, dict[int, int]] = {}

    def started(self, pid: int) -> None:
        """Note which process is QEMU."""
        self.pid = pid

    def read(self, line: str) -> None:
        """Count if a line of the console asks for it, from the first mark to the second."""
        mark = _MARK.search(line)
        if mark is None:
            return
        name, now = mark[1].strip(), dict(self._faults())
        before = self._before.pop(name, None)
        if before is None:
            self._before[name] = now
            return
        self.values += [
            (f"{name}: page faults of CPU {cpu}", float(number - before.get(cpu, 0)))
            for cpu, number in sorted(now.items())
        ]

    def _faults(self) -> Iterator[tuple[int, int]]:
        """Yield (CPU, page faults so far) for each thread that is a CPU."""
        for path in self._proc.glob(f"{self.pid}/task/*/stat"):
            with contextlib.suppress(OSError):  # a thread that has just ended
                _, _, rest = path.read_text(encoding="utf-8").partition("(")
                name, _, fields = rest.rpartition(")")
                if thread := _THREAD.fullmatch(name):
                    yield int(thread[1]), int(fields.split()[_MINOR])
