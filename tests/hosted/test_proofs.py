# SPDX-License-Identifier: GPL-2.0-only
"""Bounded proofs: a small one holds, and fails for a mutant and for too small a bound."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.errors import MmbatchError
from mmbatch.hosted import check, proofs

CODE = """\
#include <linux/mm.h>
static unsigned long sum(const unsigned long *from, unsigned long nr)
{
	unsigned long at, total = 0;

	for (at = 0; at < nr; at++)
		total += from[at];
	return total;
}
"""
HARNESS = """\
unsigned long nondet_ulong(void);
#include "mm/sum.c"
int main(void)
{
	unsigned long array[3] = { 1, 1, 1 }, nr = nondet_ulong();

	__CPROVER_assume(nr <= 3);
	__CPROVER_assert(sum(array, nr) == nr, "each item counts once");
	return 0;
}
"""
PROOF = check.Proof("sum", "proof.c", ("mm/sum.c",), unwind=4, refutes=("first left out",))
MUTANT = check.Mutant("first left out", "it is", "mm/sum.c", "at = 0;", "at = 1;")


@pytest.fixture(scope="module")
def prover() -> proofs.Prover:
    try:
        return proofs.find(Cache.open(), print)
    except MmbatchError as error:
        pytest.skip(f"no CBMC: {error.problem}")


def bench(folder: Path, mutant: check.Mutant = MUTANT) -> check.Bench:
    """Return what the proofs use of a speed-up on a kernel."""
    tree = folder / "tree"
    (tree / "mm").mkdir(parents=True, exist_ok=True)
    (tree / "mm/sum.c").write_text(CODE)
    (folder / "proof.c").write_text(HARNESS)
    made = SimpleNamespace(
        cache=SimpleNamespace(builds=folder),
        manifest=SimpleNamespace(speedup="toy", directory=folder),
        spliced=SimpleNamespace(path=tree),
        source=SimpleNamespace(series="7.3", release="7.3.4"),
        extras=check.Extras(proofs=(PROOF,), mutants=(mutant,)),
    )
    return cast(check.Bench, made)


def test_holds_and_refutes(tmp_path: Path, prover: proofs.Prover) -> None:
    tally = check.Tally()
    proofs.run(bench(tmp_path), prover, lambda _: None, tally, with_mutants=True)
    assert (tally.passed, tally.failed) == (2, [])
    assert list(tally.killed.values()) == ["each item counts once"]


def test_a_mutant_that_changes_nothing_fails(tmp_path: Path, prover: proofs.Prover) -> None:
    tally = check.Tally()
    mutant = replace(MUTANT, new="at = 0u;")
    proofs.run(bench(tmp_path, mutant), prover, lambda _: None, tally, with_mutants=True)
    assert "it was not refuted" in tally.failed[0]


def test_a_loop_that_goes_on_fails(tmp_path: Path, prover: proofs.Prover) -> None:
    refuted, words = proofs.prove(bench(tmp_path), prover, replace(PROOF, unwind=2), "")
    assert refuted
    assert "unwinding" in words


def test_a_replaced_function(tmp_path: Path, prover: proofs.Prover) -> None:
    toy = bench(tmp_path)
    harness = HARNESS + "unsigned long none(const unsigned long *a, unsigned long b) { return 7; }"
    (tmp_path / "proof.c").write_text(harness)
    assert proofs.prove(toy, prover, replace(PROOF, replaced={"sum": "none"}), "")[0]


def test_unknown_mutant_is_refused(tmp_path: Path) -> None:
    toy = bench(tmp_path, replace(MUTANT, name="another"))
    with pytest.raises(MmbatchError, match="there is no mutant 'first left out'"):
        proofs._mutants(toy, PROOF)


def test_ours_name_files_that_exist() -> None:
    found = 0
    for directory in sorted(paths.SPEEDUPS.iterdir()):
        extras = check.load_extras(directory / "check.toml")
        names = {mutant.name for mutant in extras.mutants}
        for proof in extras.proofs:
            found += 1
            assert (directory / proof.harness).is_file()
            assert set(proof.refutes) <= names
    assert found
