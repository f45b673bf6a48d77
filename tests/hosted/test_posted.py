# SPDX-License-Identifier: GPL-2.0-only
"""Somebody else's patches of a real kernel: compiled, compared with base, and refused."""

from collections.abc import Callable
from pathlib import Path

import pytest

import real_kernel
from mmbatch.core import paths, process
from mmbatch.core.cache import Cache
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.process import cpus
from mmbatch.hosted import build
from mmbatch.hosted.build import Program
from mmbatch.hosted.events import Case, Equal, Event, Sample, parse
from mmbatch.kernel.sources import Source
from mmbatch.splice import manifest, posted, trees
from posted_series import at_the_end_of, diff

NAME = "zone_device"
FILE = "mm/mm_init.c"
FUNCTION = "memmap_init_zone_device"

pytestmark = pytest.mark.kernel
Build = Callable[..., Program]


@pytest.fixture(scope="module")
def kernel() -> tuple[Cache, Source]:
    return real_kernel.newest()


@pytest.fixture
def measure(kernel: tuple[Cache, Source], tmp_path: Path) -> Build:
    """Build the program with patches, each given as path to new content by its label."""
    cache, source = kernel
    manifests = manifest.load_with_needs(paths.SPEEDUPS, NAME)

    def make(renamed: dict[str, str] | None = None, **contents: dict[str, str]) -> Program:
        found = []
        for label, files in contents.items():
            path = tmp_path / f"{label}.patch"
            path.write_text(diff(source.path, files))
            found += posted.from_files(cache, source, label, [path])
        return build.build(
            cache,
            source,
            trees.splice(cache, source, manifests, paths.MACROS, print),
            manifests[-1],
            paths.HOSTED,
            (),
            cpus(),
            print,
            posted=[posted.make_tree(cache, source, one, print) for one in found],
            renamed=renamed or {},
        )

    return make


@pytest.fixture
def code(kernel: tuple[Cache, Source]) -> str:
    return (kernel[1].path / FILE).read_text()


def events(program: Program, *words: str) -> list[Event]:
    command: list[str | Path] = [
        program.path,
        "--case",
        "private",
        "--items",
        "65536",
        "--pairs",
        "2",
        *words,
    ]
    done = process.run(command, action="run", check=False)
    return [parse(line) for line in done.stdout.splitlines()]


def test_rows_beside_ours_and_wrong_bytes_refused(measure: Build, code: str) -> None:
    wrong = "*(char *)pfn_to_page(start_pfn + nr_pages - 1) ^= 1;"
    program = measure(
        good={FILE: at_the_end_of(code, FUNCTION, 'asm volatile("nop");')},
        wrong={FILE: at_the_end_of(code, FUNCTION, wrong)},
    )
    assert [list(side.compiled) for side in program.posted] == [["mm/mm_init.o"]] * 2
    found = events(program)
    (case,) = (event for event in found if isinstance(event, Case))
    assert case.posted == ("good", "wrong")
    assert case.variants[case.variants.index("auto") + 1 :][:2] == case.posted
    equal = {event.variant: event for event in found if isinstance(event, Equal)}
    assert all(event.equal == (name != "wrong") for name, event in equal.items())
    assert "descriptor 65535, byte 0: base has word" in equal["wrong"].detail
    timed = {event.variant for event in found if isinstance(event, Sample)}
    assert {"base", "control", "auto", "good"} <= timed
    assert "wrong" not in timed
    shown = {
        event.variant for event in events(program, "--show-unequal") if isinstance(event, Sample)
    }
    assert shown - timed == {"wrong"}
    (only,) = (event for event in events(program, "--only-posted") if isinstance(event, Case))
    names = [name for name in only.variants if ":" not in name]
    assert names == ["base", "control", "good", "wrong"]


def test_an_object_that_is_added(measure: Build, kernel: tuple[Cache, Source], code: str) -> None:
    top = kernel[1].path
    declared = "void toys_touch(void);\n"
    program = measure(
        more={
            FILE: declared + at_the_end_of(code, FUNCTION, "toys_touch();"),
            "mm/toys.c": f"{declared}static int toys;\nvoid toys_touch(void)\n{{\n\ttoys++;\n}}\n",
            "mm/absent.c": "int absent;\n",
            "mm/Makefile": (top / "mm/Makefile").read_text()
            + "obj-y += toys.o\nobj-$(CONFIG_NO_TOYS) += absent.o\n",
        },
    )
    assert sorted(program.posted[0].compiled) == ["mm/mm_init.o", "mm/toys.o"]
    assert all(event.equal for event in events(program) if isinstance(event, Equal))


def test_what_can_not_be_measured(measure: Build, kernel: tuple[Cache, Source], code: str) -> None:
    comment = f"/* toys */\n{code}"
    elsewhere = {"fs/namei.c": (kernel[1].path / "fs/namei.c").read_text() + "/* toys */\n"}
    for contents in ({FILE: comment}, elsewhere):
        with pytest.raises(MmbatchError) as caught:
            measure(mine=contents)
        assert caught.value.code == ExitCode.NOT_APPLICABLE
        assert f"it changes {next(iter(contents))}, and none of the code" in caught.value.problem
    with pytest.raises(MmbatchError) as caught:
        measure(mine={FILE: code.replace(f"{FUNCTION}(", "toys_init(")})
    assert f"call {FUNCTION}() of 'mine'" in caught.value.action
    assert f"--entry {FUNCTION}=NEWNAME" in caught.value.hint
    renamed = measure(
        {FUNCTION: "toys_init"}, mine={FILE: code.replace(f"{FUNCTION}(", "toys_init(")}
    )
    assert all(event.equal for event in events(renamed) if isinstance(event, Equal))
    with pytest.raises(MmbatchError) as caught:
        measure(mine={FILE: at_the_end_of(code, FUNCTION, "no_such_variable++;")})
    assert "compile mm/mm_init.o with mine" in caught.value.action
    assert "no_such_variable" in caught.value.problem
