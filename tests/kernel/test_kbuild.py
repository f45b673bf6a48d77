# SPDX-License-Identifier: GPL-2.0-only
from collections.abc import Callable
from pathlib import Path

import pytest

from expect import fails
from fake_archive import source_of
from fake_program import before_others, script
from mmbatch.core import cache
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel import kbuild
from mmbatch.kernel.kbuild import ObjectTree, toolchain

Configure = Callable[..., ObjectTree]


def made_up(source: Path, path: Path) -> ObjectTree:
    """A directory in which an object was made, with what kbuild notes about it."""
    line = (
        f"savedcmd_mm/toy.o := gcc -Wp,-MMD,mm/.toy.o.d -nostdinc -I{source}/include "
        f"-I./include -O2 -DTEXT='\"two words\"' '-DKBUILD_BASENAME=\"toy\"' "
        f"-D__KBUILD_MODNAME=toy -Itoys -c -o mm/toy.o {source}/mm/toy.c ; ./tools/objtool mm/toy.o"
    )
    (path / "mm").mkdir(parents=True)
    (path / "mm" / ".toy.o.cmd").write_text(f"{line}\n\nsource_mm/toy.o := {source}/mm/toy.c\n")
    return ObjectTree(source_of(source), path, "0" * 64, "gcc 1.2")


def test_a_file_is_compiled_like_another_under_its_own_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "bin/gcc", 'for word; do echo "$word"; done\npwd')
    before_others(tmp_path / "bin", monkeypatch)
    tree = made_up(Path("/toys/linux"), tmp_path / "out")
    ours = (tree, "mm/toy.o", Path("/speedup/ours.c"), Path("/w/x.o"))
    kbuild.compile_like(*ours, options=["-Wextra"], log=tmp_path / "log")
    assert (tmp_path / "log").read_text().splitlines()[1:] == [
        *("-nostdinc", "-I/toys/linux/include", "-I./include", "-O2", '-DTEXT="two words"'),
        *('-DKBUILD_BASENAME="ours"', "-D__KBUILD_MODNAME=ours", "-Itoys"),
        *("-Wextra", "-c", "-o", "/w/x.o", "/speedup/ours.c", str(tree.path)),
    ]
    kbuild.compile_like(*ours, other_source=Path("/spliced"), log=tmp_path / "other")
    printed = (tmp_path / "other").read_text().splitlines()
    assert "-I/spliced/include" in printed and not any("/toys/linux" in word for word in printed)


def test_options_that_the_configuration_refused(tmp_path: Path) -> None:
    config = tmp_path / ".config"
    config.write_text('CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_N=12\nCONFIG_S="a"\n')
    kept = ["CONFIG_A=y", "CONFIG_B=n", "CONFIG_UNHEARD_OF=n", "CONFIG_N=12", 'CONFIG_S="a"']
    kbuild.check_options(config, kept, "7.3.4")
    for option in ("CONFIG_A=n", "CONFIG_A=m", "CONFIG_B=y", "CONFIG_UNHEARD_OF=y", "CONFIG_N=1"):
        with fails(option, code=ExitCode.USAGE):
            kbuild.check_options(config, [*kept, option], "7.3.4")


MAKE = """#!/bin/sh
for word; do case $word in O=*) cd "${word#O=}";; esac; done
echo "$*" >> "$ASKED"
case "$*" in
*allnoconfig) cp "$KCONFIG_ALLCONFIG" .config;;
*broken.o*) echo 'toy: error' >&2; exit 2;;
esac
for word; do
	case $word in *.o) mkdir -p "${word%/*}"; [ -e "$word" ] || echo object >"$word";; esac
done
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A make that writes down what it was asked for."""
    script(tmp_path / "bin/make", MAKE)
    before_others(tmp_path / "bin", monkeypatch)
    monkeypatch.setenv("ASKED", str(tmp_path / "asked"))
    monkeypatch.setattr(kbuild, "_OBJECT_BYTES", 1)
    return tmp_path / "asked"


@pytest.fixture
def configure(tmp_path: Path, own_cache: Path) -> Configure:
    fragment = tmp_path / "toys.config"
    fragment.write_text("CONFIG_TOYS=y\n")

    def ask(
        *objects: str,
        options: tuple[str, ...] = (),
        place: Path = tmp_path,
        requires: dict[str, str] | None = None,
    ) -> ObjectTree:
        return kbuild.configure(source_of(place), fragment, options, objects, 2, requires or {})

    return ask


def test_objects_of_a_lib_directory_are_made_last_and_one_by_one(
    calls: Path, configure: Configure
) -> None:
    tree = configure("mm/a.o", "arch/x86/lib/b.o", "lib/c.o", options=("CONFIG_A=y",))
    goals = [line.partition("-j2 ")[2] for line in calls.read_text().splitlines()]
    assert goals == ["allnoconfig", "prepare", "lib/c.o mm/a.o", "-j1 arch/x86/lib/b.o"]
    assert (tree.path / ".config").read_text() == "CONFIG_TOYS=y\nCONFIG_A=y\n"


def test_other_wishes_get_another_directory(
    calls: Path, configure: Configure, tmp_path: Path
) -> None:
    assert not calls.exists()
    moved = tmp_path / "moved"
    moved.mkdir()
    trees = [
        configure("mm/a.o"),
        configure("mm/b.o"),
        configure("mm/a.o", options=("CONFIG_A=y",)),
        configure("mm/a.o", place=moved),
    ]
    assert len({tree.path for tree in trees}) == 3
    assert trees[0] == trees[1]


def test_other_objects_are_added_to_those_that_are_there(calls: Path, configure: Configure) -> None:
    first = configure("mm/a.o", "lib/b.o")
    before = calls.read_text()
    assert configure("lib/b.o", "arch/x86/lib/c.o", "mm/d.o") == first
    asked = [line.partition("-j2 ")[2] for line in calls.read_text()[len(before) :].splitlines()]
    assert asked == ["mm/d.o", "-j1 arch/x86/lib/c.o"]
    before = calls.read_text()
    assert configure("mm/a.o", "mm/d.o") == first
    assert calls.read_text() == before


def test_an_object_that_somebody_was_killed_over_is_made_again(
    calls: Path, configure: Configure
) -> None:
    tree = configure("mm/a.o")
    (tree.path / "mm/half.o").write_text("ha")
    configure("mm/b.o")
    before = calls.read_text()
    configure("mm/half.o")
    assert calls.read_text()[len(before) :].count("mm/half.o") == 1
    assert (tree.path / "mm/half.o").read_text() == "object\n"


def test_objects_of_another_compiler_are_not_taken(
    calls: Path, configure: Configure, tmp_path: Path
) -> None:
    system = configure("mm/a.o")
    trees = [system]
    for name in ("gcc", "as", "ld"):
        script(tmp_path / "bin" / name, f"echo 'toy {name} 99'")
        trees.append(configure("mm/a.o"))
    assert len({tree.path for tree in trees}) == 4
    assert calls.read_text().count("mm/a.o") == 4
    assert [tree.compiler for tree in trees] == [system.compiler, *["toy gcc 99"] * 3]
    assert system.compiler != "toy gcc 99"


def test_an_option_against_what_is_required_is_refused_before_objects_are_made(
    calls: Path, configure: Configure
) -> None:
    options = ("CONFIG_A=y", "CONFIG_SMP=n", "CONFIG_KCSAN=y")
    needed = {"CONFIG_A=y": "", "CONFIG_SMP=y": "it has two"}
    words = "with -K CONFIG_SMP=n: CONFIG_SMP=y is needed, because it has two"
    with fails(words, "; leave out -K CONFIG_SMP=n", code=ExitCode.USAGE):
        configure("mm/a.o", options=options, requires=needed)
    with fails("with -K CONFIG_KCSAN=y: CONFIG_KCSAN=n is needed"):
        configure("mm/a.o", options=options, requires={"CONFIG_KCSAN=n": "it would be slow"})
    assert "allnoconfig" in calls.read_text()
    assert ".o" not in calls.read_text().replace(" O=", "")


def test_a_build_that_fails_is_tried_again(
    calls: Path, configure: Configure, own_cache: Path
) -> None:
    for _ in range(2):
        with fails("toy: error", str(own_cache / "logs")):
            configure("mm/broken.o")
    assert calls.read_text().count("broken.o") == 2


def test_what_kill_minus_9_left_is_made_again(calls: Path, configure: Configure) -> None:
    tree = configure("mm/a.o")
    (tree.path / cache.DONE).unlink()
    before = calls.read_text()
    assert configure("mm/a.o") == tree
    assert calls.read_text() == 2 * before


def test_a_toolchain_is_known_by_its_versions_and_its_files(tmp_path: Path) -> None:
    def toy(name: str, text: str) -> Path:
        return script(tmp_path / name, f"echo '{text}'\necho more")

    first, linker = toy("gcc", "toy gcc 1.2"), toy("ld", "toy ld 3")
    found = toolchain(first, linker)
    assert (found.compiler, found.binutils) == ("toy gcc 1.2", "toy ld 3")
    assert toolchain(first).binutils == ""
    assert found == toolchain(first, linker)
    (tmp_path / "link").symlink_to(first)
    assert toolchain(tmp_path / "link", linker) == found
    assert toolchain(toy("same", "toy gcc 1.2"), linker).identity != found.identity
    toy("ld", "toy ld 4")
    assert toolchain(first, linker).identity != found.identity
    with pytest.raises(MmbatchError, match="there is no program nothing here"):
        toolchain("nothing")
