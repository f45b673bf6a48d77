# SPDX-License-Identifier: GPL-2.0-only
"""Confirm in shim's MokManager that a key may be enrolled: enroll.py SOCKET CONSOLE PASSWORD.

SOCKET is the serial port of a guest that boots, and what it prints is written to CONSOLE.
"""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path

import pyte

DOWN, ENTER = b"\x1b[B", b"\r"
LIMIT_S = 1200
PAUSE_S = 3  # MokManager draws a menu before it reads keys, and redraws it after each
SIDE = "\u2502"  # of a menu
ENTRIES = ["Enroll MOK", "Continue", "Yes", "Reboot"]


class Guest:
    """The screen of a guest, and its keyboard."""

    def __init__(self, port: socket.socket, console: Path) -> None:
        self.port = port
        self.console = console.open("wb", buffering=0)
        self.screen = pyte.Screen(80, 64)  # which is more than the firmware's 50 lines
        self.stream = pyte.Stream(self.screen)
        self.last = time.monotonic() + LIMIT_S
        port.settimeout(0.2)

    def read(self, seconds: float) -> bool:
        """Take what the guest prints in that time, and return whether it runs."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                data = self.port.recv(65536)
            except TimeoutError:
                continue
            if not data:
                return False
            self.console.write(data)
            self.stream.feed(data.decode("cp437"))
        return True

    def wait(self, words: str) -> None:
        """Return once the screen shows the words, and has shown them for a pause."""
        while not any(words in line for line in self.screen.display):
            if time.monotonic() > self.last or not self.read(0.5):
                raise SystemExit(f"the guest did not show: {words}\n{self.shown()}")
        self.read(PAUSE_S)

    def press(self, *keys: bytes) -> None:
        """Press keys, each of which the guest answers by drawing."""
        for key in keys:
            self.port.sendall(key)
            self.read(PAUSE_S)

    def chosen(self) -> set[str]:
        """Return the entries of a menu that are drawn on another ground.

        Only one is chosen, but parts of an earlier menu may be left beside it.
        """
        found = set()
        for y, line in enumerate(self.screen.display):
            cells = self.screen.buffer[y]
            marked = [line[x] if cells[x].bg == "black" else SIDE for x in range(80)]
            found |= {entry.strip() for entry in "".join(marked).split(SIDE)}
        return found

    def choose(self, entry: str) -> None:
        """Choose the entry of that name, wherever it is, and enter it."""
        self.wait(entry)
        for _ in range(12):
            if entry in self.chosen():
                self.press(ENTER)
                return
            self.press(DOWN)
        raise SystemExit(f"no entry is called {entry}\n{self.shown()}")

    def shown(self) -> str:
        """Return what the screen shows, without its empty lines."""
        return "\n".join(line.rstrip() for line in self.screen.display if line.strip(" |"))


def main() -> int:
    """Answer what the guest asks, in order, and return 0 once it has ended."""
    port, console, password = sys.argv[1:]
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(port)
        guest = Guest(connection, Path(console))
        guest.wait("Press any key to perform MOK management")
        guest.press(ENTER)
        for entry in ENTRIES:
            guest.choose(entry)
            if entry == "Yes":
                guest.wait("Password:")
                guest.press(*(key.encode() for key in password), ENTER)
        while guest.read(1):
            if time.monotonic() > guest.last:
                raise SystemExit(f"the guest did not end\n{guest.shown()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
