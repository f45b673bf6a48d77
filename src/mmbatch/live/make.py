# SPDX-License-Identifier: GPL-2.0-only
"""What DKMS runs for each kernel: `python3 -m mmbatch.live.make SPEEDUP RELEASE HEADERS OUT`.

Needs nothing besides Python itself.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from mmbatch.core import paths as checkout
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.outcome import message
from mmbatch.live import build as livebuild
from mmbatch.live import compiler as livecompiler
from mmbatch.live import kernel as livekernel
from mmbatch.live import manifest as livemanifest


def main(argv: Sequence[str]) -> int:
    """Build a speed-up's module for one kernel and put it into a folder."""
    if len(argv) != 4:
        sys.stderr.write("usage: mmbatch.live.make SPEEDUP RELEASE HEADERS OUT\n")
        return ExitCode.USAGE
    speedup, release, folder = argv[:3]
    out = Path(argv[3]).resolve()  # make goes elsewhere
    place, log = out / f"made-{speedup}", out / f"{speedup}.log"
    try:
        live = livemanifest.load(checkout.SPEEDUPS, speedup)
        headers = livekernel.at(Path(folder), release)
        module = livebuild.build(
            live, checkout.LIVE, headers, livecompiler.installed, place, log, print
        )
    except MmbatchError as error:
        sys.stderr.write(message(error) + "\n")
        return int(error.code)
    shutil.copy(module.path, out)
    return ExitCode.GOOD


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
