# SPDX-License-Identifier: GPL-2.0-only
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from mmbatch.core import paths as checkout
from mmbatch.core.errors import MmbatchError
from mmbatch.core.interval import Interval
from mmbatch.hosted import mutants
from mmbatch.hosted.check import Mutant, load_extras
from mmbatch.hosted.link import Linker
from mmbatch.kernel import kbuild
from mmbatch.kernel.sources import SERIES, Source
from mmbatch.splice.manifest import Hosted, known, load

TOML = """
[[config]]
name = "other toys"
options = ["CONFIG_TOYS=n"]
kernels = ">=7.0"

[[mutation]]
name = "one too far"
why = "a toy behind the last is painted"
file = "mm/toys.c"
old = "toy < nr"
new = "toy <= nr"

[[mutation]]
name = "no paint"
why = "toys stay grey"
file = "mm/toys.c"
old = "paint(toy);"
new = ""
kernels = "<7.0"
options = ["CONFIG_PAINT=y"]
optional = true
"""
CODE = "for (toy = 0; toy < nr; toy++)\n\tpaint(toy);\n"


@pytest.fixture
def check_toml(tmp_path: Path) -> Path:
    path = tmp_path / "check.toml"
    path.write_text(TOML)
    return path


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


def too_far() -> Mutant:
    words = ("one too far", "x", "mm/toys.c", "toy < nr", "toy <= nr")
    return Mutant(*words, Interval(), (), False)


def test_what_is_asked_for_is_read(check_toml: Path) -> None:
    extras = load_extras(check_toml)
    (config,) = extras.configs
    assert (config.name, config.options) == ("other toys", ("CONFIG_TOYS=n",))
    assert "7.2" in config.kernels
    assert "6.12" not in config.kernels
    first, second = extras.mutants
    assert (first.file, first.old, first.new) == ("mm/toys.c", "toy < nr", "toy <= nr")
    assert (first.options, first.optional) == ((), False)
    assert all(series in first.kernels for series in SERIES)
    assert (second.options, second.optional) == (("CONFIG_PAINT=y",), True)
    assert "7.2" not in second.kernels


def test_each_mutant_is_tried_on_one_kernel_that_it_fits() -> None:
    words = ("why", "mm/toys.c", "toy < nr", "toy <= nr")

    def mutant(name: str, kernels: str = "", *, optional: bool = False) -> Mutant:
        return Mutant(
            name, *words, Interval.parse(kernels) if kernels else Interval(), (), optional
        )

    listed = [
        *map(mutant, "abc"),
        mutant("new", ">=7.0"),
        mutant("old", "<7.0"),
        mutant("odd", optional=True),
    ]

    def names(series: str, among: Sequence[str]) -> list[str]:
        return [mutant.name for mutant in mutants.deal(listed, series, among)]

    among = ["7.3", "6.12"]
    assert names("7.3", among) == ["a", "c", "new", "odd"]
    assert names("6.12", among) == ["b", "old", "odd"]
    assert names("7.2", among) == []
    assert names("7.2", ["7.2"]) == ["a", "b", "c", "new", "odd"]
    assert names("7.3", []) == []


def test_a_speedup_need_not_have_any(tmp_path: Path) -> None:
    extras = load_extras(tmp_path / "check.toml")
    assert (extras.configs, extras.mutants) == ((), ())


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("why", "wy", "mutation 1: 'why' is missing"),
        ("optional = true", "maybe = true", "mutation 2: unknown key 'maybe'"),
        (
            "optional = true",
            'optional = "yes"',
            "mutation 2: optional: must be true or false, not 'yes'",
        ),
        ("[[config]]", "[[configs]]", "unknown key 'configs'"),
        ("[[config]]", "[[config", "line 2"),
    ],
)
def test_a_wrong_file_says_where(check_toml: Path, old: str, new: str, found: str) -> None:
    check_toml.write_text(TOML.replace(old, new, 1))
    with pytest.raises(MmbatchError) as caught:
        load_extras(check_toml)
    assert found in caught.value.problem
    assert check_toml.name in caught.value.action
    assert "splice" not in caught.value.action


def test_text_that_stands_there_once_fits(spliced: Path) -> None:
    assert mutants.fits(too_far(), spliced)


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize(("old", "count"), [("toy > nr", 0), ("toy", 4)])
def test_text_that_does_not_stand_there_once(
    spliced: Path, old: str, count: int, optional: bool
) -> None:
    mutant = replace(too_far(), old=old, optional=optional)
    if optional and count == 0:
        assert not mutants.fits(mutant, spliced)
        return
    with pytest.raises(MmbatchError) as caught:
        mutants.fits(mutant, spliced)
    assert f"occurs {count} times in mm/toys.c" in caught.value.problem
    assert "check.toml" in caught.value.hint


@pytest.mark.parametrize("optional", [False, True])
def test_a_file_that_is_not_there(spliced: Path, optional: bool) -> None:
    mutant = replace(too_far(), file="mm/no-such.c", optional=optional)
    if optional:
        assert not mutants.fits(mutant, spliced)
        return
    with pytest.raises(MmbatchError, match="occurs 0 times"):
        mutants.fits(mutant, spliced)


def test_a_mutant_is_made_in_a_copy_only(spliced: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    assert mutants.mutate(too_far(), spliced, work) == work
    for way in ("mm/toys.c", "include/../mm/toys.c", "arch/x86/../../mm/toys.c"):
        assert (work / way).read_text() == CODE.replace("toy < nr", "toy <= nr")
    for top in (spliced, spliced.with_name("kernel")):
        for path in top.rglob("*.[ch]"):
            assert path.read_text() == CODE
    for name in ("include/toys.h", "arch/x86/toys.h", "mm/other.c", "lib/toys.c"):
        assert (work / name).samefile(spliced / name)
    assert (spliced / "mm" / "toys.c").samefile(spliced.with_name("kernel") / "mm" / "toys.c")


@pytest.mark.parametrize("speedup", known(checkout.SPEEDUPS))
def test_every_mutant_of_this_checkout_is_in_our_code(speedup: str) -> None:
    speedup_dir = checkout.SPEEDUPS / speedup
    steps = load(speedup_dir).steps
    later = [edit.text for step in steps for edit in step.edits]
    for mutant in load_extras(speedup_dir / "check.toml").mutants:
        assert mutant.old != mutant.new
        assert mutant.why
        ours = speedup_dir / "tree" / mutant.file
        if ours.exists() and not mutant.optional:
            # A later step may have put the text into the file of an earlier one, or a header.
            files = [file for step in steps for file in step.files if file.fold == mutant.file]
            texts = [ours.read_text(), *later, *(file.source.read_text() for file in files)]
            assert sum(text.count(mutant.old) for text in texts) == 1, mutant.name


@pytest.mark.parametrize(
    ("changed", "compiled"), [("mm/b.c", "b"), ("mm/toys.h", "a b own"), (None, "a b own")]
)
def test_only_the_object_of_a_mutated_source_is_compiled_again(
    changed: str | None, compiled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, sibling = tmp_path / "work", tmp_path / "sibling"
    work.mkdir()
    found: list[str] = []
    linked: list[Path] = []

    def compile_like(_tree: object, _like: object, source: Path, *_: object, **__: object) -> None:
        found.append(source.stem)

    def join(_: Linker, side: str, layout: int, objects: list[Path]) -> Path:
        if side == "patched" and layout == 0:
            linked.extend(objects)
        return work / "missing.o"

    monkeypatch.setattr(kbuild, "compile_like", compile_like)
    monkeypatch.setattr(Linker, "_side", join)
    tree = kbuild.ObjectTree(Source("7.3", "7.3.4", tmp_path, "", "", ""), tmp_path, "", "")
    hosted = Hosted(objects=("mm/a.o",), added=("mm/b.o",), own=("own.c",))
    linker = Linker(
        *(work, tree, tmp_path, tmp_path, hosted, tmp_path, tmp_path / "log", 1),
        sibling=sibling,
        changed=changed,
    )
    with pytest.raises(MmbatchError, match=r"missing\.o"):
        linker.build()
    assert found == compiled.split()
    assert linked == [
        (work if name in found else sibling) / f"patched-{name}.o" for name in ("a", "b", "own")
    ]
