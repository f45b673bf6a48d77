# SPDX-License-Identifier: GPL-2.0-only
"""Confirm in shim's MokManager that a key may be enrolled: enroll.py SOCKET CONSOLE PASSWORD.

SOCKET is the serial port of a guest that boots, and what it prints is written to CONSOLE.
"""

from __future__ import annotations

import re
import socket
import sys
import time
from pathlib import Path

DOWN, ENTER = "\x1b[B", "\r"
LIMIT_S = 600
PAUSE_S = 3  # MokManager draws its menu before it reads keys
ESCAPES = re.compile(r"\x1b\[[0-9;?=]*[A-Za-z]")


def main() -> int:
    """Answer what the guest asks, in order, and return 0 once it has ended."""
    port, console, password = sys.argv[1:]
    steps = [
        ("Press any key to perform MOK management", ENTER),
        ("Continue boot", DOWN + ENTER),  # Enroll MOK
        ("View key 0", DOWN + ENTER),  # Continue
        ("Enroll the key", DOWN + ENTER),  # Yes
        ("Password:", password + ENTER),
        ("Reboot", ENTER),
    ]
    screen = ""
    last = time.monotonic() + LIMIT_S
    with socket.socket(socket.AF_UNIX) as guest, Path(console).open("wb") as copy:
        guest.connect(port)
        guest.settimeout(1)
        while time.monotonic() < last:
            try:
                data = guest.recv(65536)
            except TimeoutError:
                continue
            if not data:
                break
            copy.write(data)
            screen += data.decode(errors="replace")
            if steps and steps[0][0] in ESCAPES.sub("", screen):
                time.sleep(PAUSE_S)
                for key in re.findall(r"\x1b\[.|.", steps[0][1], re.S):
                    guest.sendall(key.encode())
                    time.sleep(PAUSE_S / 10)
                screen = ""
                del steps[0]
    if steps:
        print(f"the guest did not ask: {steps[0][0]}", file=sys.stderr)
    return 1 if steps else 0


if __name__ == "__main__":
    sys.exit(main())
