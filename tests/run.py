#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run the project's tests in stages: `make test`, or with --all the parts of `make test-all`.

A part that passed is kept for the commit, so that a run that was stopped goes on where it ended.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = Path(
    os.environ.get("MMBATCH_CACHE")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mmbatch"
)
PYTHON = "/usr/bin/python3"
PACKAGES = [f"python3-{name}" for name in ("click", "jinja2", "numpy", "rich", "venv")]
PACKAGES += ["chromium", "clang", "cpio", "fonts-dejavu-core", "gnupg", "llvm", "patch", "sparse"]
PYTEST = "pytest -n auto --dist loadfile --no-loadscope-reorder"
# What the tests leave behind is in the cache, and not in the checkout.
LEAVINGS = {
    "HYPOTHESIS_STORAGE_DIRECTORY": f"{CACHE}/hypothesis",
    "PYTEST_ADDOPTS": f"-o cache_dir='{CACHE}/pytest'",
    "PYTHONPYCACHEPREFIX": f"{CACHE}/pycache",
}

# SPEEDUPS is the one that SPEEDUP= names, or nothing, which stands for all.
TEST = {
    "style": f"ruff check --no-cache . mmbatch; ruff format -q --check --no-cache . mmbatch; "
    f"mypy --cache-dir '{CACHE}/mypy'",
    "units": f"{PYTEST} -m 'not kernel and not slow' --durations 10 --durations-min 5 "
    '${SPEEDUPS:+speedups/$SPEEDUPS} || test -n "$SPEEDUPS" -a $? = 5',  # it has no tests
    "hooks": "pytest -m kernel tests/kernel",
    "equality": "./mmbatch check $SPEEDUPS --install --kernel 7.3 --only equality "
    "${SPEEDUPS:+--only mutants}",
    "kasan": "./mmbatch guest test --install --only x86_64-kasan",
    "arm64": "./mmbatch guest test --install --only arm64",
    "live": 'test -n "$SPEEDUPS" -a ! -d speedups/$SPEEDUPS/live || '
    "./mmbatch live test --install --only live-once",
}
ALL = {
    **TEST,
    "slow": f"{PYTEST} -m 'kernel or slow'",
    "check-6.12": "./mmbatch check --install --kernel 6.12 --only equality",
    "check-7.2": "./mmbatch check --install --kernel 7.2 --only equality",
    "configurations": "./mmbatch check --install --only configurations",
    "sanitizers": "./mmbatch check --install --only sanitizers",
    "mutants": "./mmbatch check --install --only mutants",
    "fuzz": "./mmbatch check --install --only fuzz; ./mmbatch check --install --fuzz 600",
    "plain": "./mmbatch guest test --install --only x86_64",
    "debug": "./mmbatch guest test --install --only x86_64-debug",
    "kcsan": "./mmbatch guest test --install --only 'x86_64-kcsan*'",
    "moves": "./mmbatch guest test --install --only x86_64-moves --only x86_64-debug-moves",
    "cpus": "./mmbatch guest test --install --only x86_64-cpus",
    "arm64-more": "./mmbatch guest test --install --only arm64-base --only arm64-each",
    "counts": "./mmbatch guest bench zone_device --install --twice; for each in set_memory vmap; "
    "do ./mmbatch guest bench $each --install --twice --arch arm64; done",
    "proofs": 'for proof in speedups/*/proofs/run.sh; do "$proof" || test $? = 77; done',
    "stress": "MMBATCH_STRESS_S=300 MMBATCH_STRESS_KERNEL=1 pytest tests/core/test_stress.py",
    "live-6.12": "./mmbatch live test --install",
    "live-debian-13": "./mmbatch live test --install --kernel 6.12",
    "live-7.2": "./mmbatch live test --install --kernel 7.2",
    "live-7.3": "./mmbatch live test --install --kernel 7.3",
    "live-plug": "./mmbatch live test --install --only 'live-plug-*'",
    "boot": "tests/fresh/boot.sh --base /var/tmp/mmbatch-root",
    "secure": "tests/fresh/secure.sh --base /var/tmp/mmbatch-root",
    "debian-12": "tests/fresh/run.sh --suite bookworm",
    "debian-13": "tests/fresh/run.sh --suite trixie",
}


def environment() -> Path:
    """Return a Python environment with linters and pytest on top of Debian's own packages."""
    pins = ROOT / "constraints.txt"
    state = f"{os.path.realpath(PYTHON)} {pins.read_text()}"
    place = CACHE / f"tests-{hashlib.sha256(state.encode()).hexdigest()[:12]}"
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / ".done").exists():
            print("== Python environment for the tests", flush=True)
            make = ["-m", "venv", "--clear", "--system-site-packages", f"{place}/venv"]
            subprocess.run([PYTHON, *make], check=True)
            pip = [f"{place}/venv/bin/python", "-m", "pip", "install", "-q", "-r", f"{pins}"]
            subprocess.run(pip, check=True)
            (place / ".done").touch()
    return place / "venv"


def install() -> None:
    """Install the Debian packages that tests need; without them, tests are skipped and say so."""
    query = ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n", *PACKAGES]
    found = subprocess.run(query, capture_output=True, text=True, check=False).stdout.split("\n")
    missing = [name for name in PACKAGES if f"installed {name}" not in found]
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    words = [*sudo, "apt-get", "install", "-qq", "--no-install-recommends", *missing]
    if missing and subprocess.run(words, check=False).returncode:
        print(f"tests that need {' or '.join(missing)} are skipped", flush=True)


def commit() -> str:
    """Return the commit's name, or an empty one where files differ from it."""
    git = ["git", "describe", "--always", "--dirty", "--abbrev=16", "--exclude=*"]
    name = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    return "" if name.endswith("-dirty") else name


def main() -> int:
    """Run stages, print how long each took, and what failed at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="run what make test-all runs")
    parser.add_argument("--speedup", default="", help="test only what a change of it can break")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(ALL))
    asked = parser.parse_args()
    if unknown := set(asked.parts) - set(ALL):
        parser.error(f"no part {', '.join(sorted(unknown))}; the parts are {', '.join(ALL)}")
    if asked.speedup and not (ROOT / "speedups" / asked.speedup / "speedup.toml").is_file():
        parser.error(f"no speed-up {asked.speedup}")
    install()
    venv = environment()
    path = f"{venv}/bin:{os.environ['PATH']}"
    env = {**os.environ, **LEAVINGS, "PATH": path, "SPEEDUPS": asked.speedup}
    kept = CACHE / "tests"
    kept.mkdir(exist_ok=True)
    name = "" if asked.speedup else commit()
    failed = []
    for part in asked.parts or (ALL if asked.all else TEST):
        mark = kept / f"{part}-{name}"
        if asked.all and not asked.parts and name and mark.exists():
            print(f"== {part}: passed before for this commit ({mark.read_text()} s)", flush=True)
            continue
        print(f"== {part}", flush=True)
        start = time.monotonic()
        command = ["sh", "-ec", ALL[part]]
        code = subprocess.run(command, cwd=ROOT, env=env, check=False).returncode
        seconds = f"{time.monotonic() - start:.0f}"
        print(f"== {part}: {f'FAILED with {code}' if code else 'passed'} ({seconds} s)", flush=True)
        if code:
            failed.append(part)
        elif name:
            mark.write_text(seconds)
    if failed:
        print(f"failed: {' '.join(failed)}; again: make test-all PART='{' '.join(failed)}'")
    return bool(failed)


if __name__ == "__main__":
    if shutil.which("apt-get") is None:
        sys.exit("error: cannot run the tests: this is no Debian\nhint: use Debian 12 or 13")
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
