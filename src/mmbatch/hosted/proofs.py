# SPDX-License-Identifier: GPL-2.0-only
"""Bounded proofs of the bounds of what a speed-up writes, by the model checker CBMC.

A harness includes one file of the spliced tree and all that it needs of a kernel, with small
sizes and arbitrary inputs. CBMC shows that its assertions hold for all of these, and that no loop
goes on beyond what was searched.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import process
from mmbatch.core.cache import Cache
from mmbatch.core.disk import require_space, temporary_dir
from mmbatch.core.errors import MmbatchError
from mmbatch.debian import foreign
from mmbatch.debian.apt import Apt
from mmbatch.hosted.check import Bench, Mutant, Proof, Tally, stage
from mmbatch.hosted.mutants import fits

_PROGRAMS = ("cbmc", "goto-cc", "goto-instrument")
_BYTES = 200_000_000
_TIMEOUT_S = 900
_REFUTED = 10
"""CBMC's exit status when a property does not hold."""

_INCLUDE = re.compile(r'^#include ([<"])([^>"]+)[>"]', re.MULTILINE)
_FAILURE = re.compile(r"^\[\S+\] line \d+ (.*): FAILURE$", re.MULTILINE)
_COUNT = re.compile(r"^\*\* 0 of (\d+) failed", re.MULTILINE)


@dataclass(frozen=True)
class Prover:
    """The programs of CBMC, as found or as unpacked.

    Attributes:
        directory: where they are; empty if on PATH.
    """

    directory: Path | None = None

    def program(self, name: str) -> str:
        """Return what starts one of them."""
        return str(self.directory / name) if self.directory else name


def find(cache: Cache, say: Callable[[str], None]) -> Prover:
    """Return CBMC: the installed one, or Debian's package of it, unpacked into the cache.

    Raises:
        MmbatchError: it is not installed and can't be fetched.
    """
    if all(shutil.which(name) for name in _PROGRAMS):
        return Prover()
    place = cache.builds / "cbmc"
    cache.provide(place, lambda root: _fetch(cache, root, say), "fetches cbmc", say)
    return Prover(place / "bin")


def _fetch(cache: Cache, root: Path, say: Callable[[str], None]) -> None:
    apt = Apt(cache, say)
    found = apt.madison("cbmc")
    if not found:
        raise MmbatchError(
            "prove bounds",
            "cbmc is not installed, and no suite of Debian here has it",
            "install it: Debian 13 has it, or see its project",
        )
    version, suite = found[0]
    say(f"fetching cbmc {version}, which is not installed, and its dependencies")
    require_space(cache.builds, _BYTES, "unpack cbmc")
    for name, needed in foreign.closure(apt, "cbmc", version, suite).items():
        foreign.unpack(cache, apt, name, needed, root)
    (root / "bin").mkdir()
    for program in _PROGRAMS:
        foreign.wrap(root, f"usr/bin/{program}", root / "bin" / program)


def run(
    bench: Bench, prover: Prover, say: Callable[[str], None], tally: Tally, *, with_mutants: bool
) -> None:
    """Prove all of a speed-up on one kernel, and refute its mutants.

    Args:
        bench: the speed-up on that kernel.
        prover: CBMC.
        say: called with a line for each stage.
        tally: counts the stages.
        with_mutants: also see that the proofs fail for mutants.
    """
    name = f"{bench.manifest.speedup} on {bench.source.release}"
    for proof in bench.extras.proofs:
        if bench.source.series not in proof.kernels:
            with stage(name, f"proof '{proof.name}'", say, tally) as result:
                result.skipped = f"its harness is for Linux {proof.kernels}"
            continue
        for variant in proof.variants:
            case = f"proof '{proof.name}'{f', {variant}' if variant else ''}"
            with stage(name, case, say, tally) as result:
                refuted, result.text = prove(bench, prover, proof, variant)
                result.problem = result.text if refuted else None
        for mutant in _mutants(bench, proof) if with_mutants else ():
            case = f"proof '{proof.name}', mutant '{mutant.name}'"
            with stage(name, case, say, tally) as result:
                killed_by = _refute(bench, prover, proof, mutant)
                if killed_by is None:
                    result.problem = f"it was not refuted; {mutant.why}"
                else:
                    result.text = f"refuted: {killed_by}"
                    tally.killed[f"{name}, {case}"] = killed_by


def _mutants(bench: Bench, proof: Proof) -> Sequence[Mutant]:
    """Return the mutants that a proof must refute, of those that fit the kernel."""
    known = {mutant.name: mutant for mutant in bench.extras.mutants}
    for name in proof.refutes:
        if name not in known or known[name].file not in proof.files:
            raise MmbatchError(
                f"try the proof '{proof.name}'",
                f"there is no mutant '{name}' of {' or '.join(proof.files)}",
                "name another one in check.toml",
            )
    named = [known[name] for name in proof.refutes]
    return [
        mutant
        for mutant in named
        if bench.source.series in mutant.kernels and fits(mutant, bench.spliced.path)
    ]


def _refute(bench: Bench, prover: Prover, proof: Proof, mutant: Mutant) -> str | None:
    """Return the property that the first variant to fail names, None if all hold."""
    for variant in proof.variants:
        refuted, words = prove(bench, prover, proof, variant, mutant)
        if refuted:
            return words
    return None


def prove(
    bench: Bench, prover: Prover, proof: Proof, variant: str, mutant: Mutant | None = None
) -> tuple[bool, str]:
    """Run CBMC on one variant of a proof.

    Args:
        bench: the speed-up on a kernel.
        prover: CBMC.
        proof: what to prove.
        variant: macros to define.
        mutant: a change of the code.

    Returns:
        Whether a property does not hold, and that one, or how many hold.

    Raises:
        MmbatchError: the harness does not compile, or CBMC did not come to an end.
    """
    with temporary_dir(bench.cache.builds, "proof") as work:
        for name in proof.files:
            text = (bench.spliced.path / name).read_text(encoding="utf-8")
            if mutant is not None and mutant.file == name:
                text = text.replace(mutant.old, mutant.new)
            _write(work, name, text)
        action = f"prove '{proof.name}'"
        goto = work / "proof.goto"
        process.run(
            [
                *(prover.program("goto-cc"), "-o", goto, "-I", work),
                *(f"-D{macro}" for macro in variant.split()),
                bench.manifest.directory / proof.harness,
            ],
            action=f"compile the harness of the proof '{proof.name}'",
        )
        if proof.replaced:
            whole, goto = goto, work / "replaced.goto"
            pairs = [f"{old}:{new}" for old, new in proof.replaced.items()]
            calls = [word for pair in pairs for word in ("--replace-calls", pair)]
            process.run([prover.program("goto-instrument"), *calls, whole, goto], action=action)
        loops = ",".join(f"{loop}:{count}" for loop, count in proof.loops.items())
        done = process.run(
            [
                *(prover.program("cbmc"), goto, "--slice-formula", "--unwinding-assertions"),
                *("--unwind", str(proof.unwind), *(["--unwindset", loops] if loops else [])),
            ],
            action=action,
            timeout_s=_TIMEOUT_S,
            check=False,
        )
    if done.rc == _REFUTED and (failure := _FAILURE.search(done.stdout)):
        return True, failure[1]
    if done.rc == 0 and (count := _COUNT.search(done.stdout)):
        return False, f"{count[1]} properties hold"
    raise MmbatchError(action, f"CBMC ended with {done.rc}", "run it again")


def _write(work: Path, name: str, text: str) -> None:
    """Write a file where a harness includes it. Its own headers are empty."""
    path = work / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    for kind, header in _INCLUDE.findall(text):
        place = (path.parent if kind == '"' else work) / header
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
