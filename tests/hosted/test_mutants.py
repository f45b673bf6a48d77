# SPDX-License-Identifier: GPL-2.0-only
from dataclasses import replace
from pathlib import Path

import pytest

from mmbatch.core import paths as checkout
from mmbatch.core.errors import MmbatchError
from mmbatch.core.load import Interval
from mmbatch.hosted import check
from mmbatch.hosted.program import Program
from mmbatch.kernel.sources import Source
from mmbatch.splice.manifest import Manifest, Mutant, known, load

CODE = "for (toy = 0; toy < nr; toy++)\n\tpaint(toy);\n"
TOO_FAR = Mutant("one too far", "x", "mm/toys.c", "toy < nr", "toy <= nr")


@pytest.fixture
def spliced(tmp_path: Path) -> Path:
    """A spliced tree whose files are links to those of a kernel in the cache."""
    kernel, tree = tmp_path / "kernel", tmp_path / "spliced"
    for name in ("include/toys.h", "arch/x86/toys.h", "mm/toys.c", "mm/other.c", "lib/toys.c"):
        for top in (kernel, tree):
            (top / name).parent.mkdir(parents=True, exist_ok=True)
        (kernel / name).write_text(CODE)
        (tree / name).hardlink_to(kernel / name)
    return tree


def test_each_mutant_is_tried_on_the_first_kernel_that_it_fits() -> None:
    listed = (
        TOO_FAR,
        replace(TOO_FAR, name="old", kernels=Interval("<7.0")),
        replace(TOO_FAR, name="odd", optional=True),
        replace(TOO_FAR, name="fuzzed", fuzz=True),
    )

    def names(series: str, *kernels: str, fuzz: bool = False) -> list[str]:
        source = Source(series, f"{series}.1", Path(), "", "", "")
        program = Program(source, [Manifest("toys", mutants=listed)], fuzz=fuzz)
        return [mutant.name for mutant in check.chosen_mutants(program, kernels)]

    assert names("7.3", "7.3", "6.12") == ["one too far", "odd"]
    assert names("6.12", "7.3", "6.12") == ["old", "odd"]
    assert names("7.2", "7.2") == ["one too far", "odd"]
    assert names("7.3") == []
    assert names("7.3", "7.3", fuzz=True) == ["fuzzed"]


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize(
    ("file", "old", "count"),
    [("mm/toys.c", "toy > nr", 0), ("mm/toys.c", "toy", 4), ("mm/no-such.c", "toy < nr", 0)],
)
def test_text_that_is_not_there_once(
    spliced: Path, file: str, old: str, count: int, optional: bool
) -> None:
    assert TOO_FAR.fits(spliced)
    mutant = replace(TOO_FAR, file=file, old=old, optional=optional)
    if optional and count == 0:
        assert not mutant.fits(spliced)
        return
    with pytest.raises(MmbatchError, match=f"occurs {count} times in {file}"):
        mutant.fits(spliced)


def test_a_mutant_is_made_in_a_copy_only(spliced: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    TOO_FAR.make(spliced, work)
    for way in ("mm/toys.c", "include/../mm/toys.c", "arch/x86/../../mm/toys.c"):
        assert (work / way).read_text() == CODE.replace("toy < nr", "toy <= nr")
    for top in (spliced, spliced.with_name("kernel")):
        assert all(path.read_text() == CODE for path in top.rglob("*.[ch]"))
    for name in ("include/toys.h", "arch/x86/toys.h", "mm/other.c", "lib/toys.c"):
        assert (work / name).samefile(spliced / name)


@pytest.mark.parametrize("speedup", known(checkout.SPEEDUPS))
def test_every_mutant_of_this_checkout_is_in_our_code(speedup: str) -> None:
    manifest = load(checkout.SPEEDUPS / speedup)
    later = [edit.text for step in manifest.steps for edit in step.edits]
    for mutant in manifest.mutants:
        assert mutant.old != mutant.new
        ours = manifest.directory / "tree" / mutant.file
        if ours.exists() and not mutant.optional:
            # A later step may have put the text into the file of an earlier one, or a header.
            files = [f for step in manifest.steps for f in step.files if f.fold == mutant.file]
            texts = [ours.read_text(), *later, *(file.source.read_text() for file in files)]
            assert sum(text.count(mutant.old) for text in texts) == 1, mutant.name
