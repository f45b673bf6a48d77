# SPDX-License-Identifier: GPL-2.0-only
"""Prove bounds of what a speed-up writes, by the model checker CBMC, for proofs/bounds.py.

A harness includes one file of the spliced tree and all that it needs of a kernel, with small
sizes and arbitrary inputs. CBMC shows that its assertions hold for all of these, and that no loop
goes on beyond what was searched. Then each proof must fail for its mutants.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from mmbatch.core import log, paths  # noqa: E402
from mmbatch.core.load import SERIES  # noqa: E402
from mmbatch.live import manifest  # noqa: E402
from mmbatch.splice.manifest import load_with_needs  # noqa: E402

_REFUTED = 10  # CBMC's exit status when a property does not hold
_FAILURE = re.compile(r"^\[\S+\] line \d+ (.*): FAILURE$", re.MULTILINE)
_COUNT = re.compile(r"^\*\* 0 of (\d+) failed", re.MULTILINE)
_INCLUDE = re.compile(r'^#include ([<"])([^>"]+)[>"]', re.MULTILINE)


def prove_all(speedup, *proofs):
    """Run proofs of a speed-up on the newest kernel, and return an exit status.

    A proof has a `harness` in proofs/, the `file` of the livepatch that it includes, `variants`
    (macros to define, a run for each), `unwind` (how often a loop is entered) with exceptions in
    `loops`, functions `replaced` by others of the harness, and the mutants that it `refutes`.
    """
    if not all(map(shutil.which, ("cbmc", "goto-cc", "goto-instrument"))):
        print(f"skip  proofs of {speedup}: cbmc is not installed (Debian 13 has it)")
        return 77
    log.start()
    files = manifest.contents(manifest.load(paths.SPEEDUPS, speedup), SERIES[0])
    known = {mutant.name: mutant for mutant in load_with_needs(paths.SPEEDUPS, speedup)[-1].mutants}
    good = True
    for proof in proofs:
        code = files[proof["file"]].decode()
        for variant in proof["variants"]:
            refuted, words = _prove(speedup, proof, code, variant)
            good &= not refuted
            print(f"{'FAIL ' if refuted else 'ok   '} {proof['harness']} {variant}: {words}")
        for name in proof["refutes"]:
            mutant = known[name]
            assert code.count(mutant.old) == 1, name
            mutated = code.replace(mutant.old, mutant.new)
            runs = (_prove(speedup, proof, mutated, variant) for variant in proof["variants"])
            words = next((words for refuted, words in runs if refuted), None)
            good &= words is not None
            print(f"{'FAIL ' if words is None else 'ok   '} mutant '{name}' is refuted: {words}")
    return 0 if good else 1


def _prove(speedup, proof, code, variant):
    """Return whether a property does not hold, and that one, or how many hold."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        path = work / proof["file"]
        path.parent.mkdir(parents=True)
        path.write_text(code)
        for kind, header in _INCLUDE.findall(code):  # what they declare is in the harness
            place = (path.parent if kind == '"' else work) / header
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
        harness = paths.SPEEDUPS / speedup / "proofs" / proof["harness"]
        macros = [f"-D{macro}" for macro in variant.split()]
        goto = work / "proof.goto"
        subprocess.run(["goto-cc", "-o", goto, "-I", work, *macros, harness], check=True)
        for old, new in proof.get("replaced", {}).items():
            words = ["goto-instrument", "--replace-calls", f"{old}:{new}", goto, goto]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        loops = ",".join(f"{loop}:{count}" for loop, count in proof["loops"].items())
        limits = ["--unwind", str(proof["unwind"]), "--unwindset", loops]
        done = subprocess.run(
            ["cbmc", goto, "--slice-formula", "--unwinding-assertions", *limits],
            check=False,
            capture_output=True,
            text=True,
        )
    if done.returncode == _REFUTED and (failure := _FAILURE.search(done.stdout)):
        return True, failure[1]
    if done.returncode == 0 and (count := _COUNT.search(done.stdout)):
        return False, f"{count[1]} properties hold"
    raise RuntimeError(f"cbmc ended with {done.returncode}: {done.stdout[-500:]}{done.stderr}")
