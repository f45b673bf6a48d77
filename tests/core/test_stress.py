# SPDX-License-Identifier: GPL-2.0-only
"""Eight processes work on one cache, some are killed, and all that is left is whole.

MMBATCH_STRESS_S is for how long, in seconds.
"""

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

from mmbatch.core import cache

SECONDS = float(os.environ.get("MMBATCH_STRESS_S", "15"))
WORKER = """
import random, sys, time
from mmbatch.core import cache

def fill(work):
    for number in range(20):
        cache.atomic_write(work / str(number), "whole")
        time.sleep(0.005)

place = cache.builds() / f"thing-{random.randrange(9):04x}"
if random.random() < 0.5:
    cache.provide(place, fill, "fills", lock="things")
elif not cache.use(place):
    sys.exit(0)
for number in range(20):  # nobody takes it away while we are here
    time.sleep(0.01)
    assert (place / str(number)).read_text() == "whole"
"""


def work(until: float, ends: list[int]) -> None:
    while time.monotonic() < until:
        with subprocess.Popen([sys.executable, "-c", WORKER]) as process:
            try:
                process.wait(random.choice([None, random.uniform(0.05, 1.5)]))
            except subprocess.TimeoutExpired:
                process.kill()
        ends.append(process.returncode)


def test_processes_that_share_a_cache(own_cache: Path) -> None:
    ends: list[int] = []
    until = time.monotonic() + SECONDS
    workers = [threading.Thread(target=work, args=(until, ends)) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert set(ends) == {0, -9}
    for place in (own_cache / "builds").iterdir():
        assert {path.read_text() for path in place.glob("[0-9]*")} == {"whole"}
        assert len(list(place.glob("[0-9]*"))) == 20
        assert cache.use(place)
    cache._open.cache_clear()
    assert list((cache.root() / "tmp").iterdir()) == []
