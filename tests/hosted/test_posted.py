# SPDX-License-Identifier: GPL-2.0-only
"""Posted patches of a real kernel: compiled, compared with base, and refused."""

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import real_kernel
from mmbatch.bench import session
from mmbatch.cli import main as cli
from mmbatch.core import paths, process
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.hosted import check, run
from mmbatch.hosted.events import Case, Check, Equal, Event, Sample, parse
from mmbatch.hosted.posted import NoEffectError, sources_of
from mmbatch.hosted.program import Program
from mmbatch.hosted.run import Request
from mmbatch.kernel.sources import Source, find_cached
from mmbatch.splice import manifest, posted
from posted_series import at_the_end_of, at_the_start_of, diff, mail

FILE = "mm/mm_init.c"
FUNCTION = "memmap_init_zone_device"
NOP = 'asm volatile("nop");'

pytestmark = pytest.mark.kernel


@dataclass(frozen=True)
class Measured:
    """A harness on a kernel, with posted code that a test gives.

    Attributes:
        source: the kernel.
        folder: for patches.
        speedup: whose harness it is.
        case: of the harness.
    """

    source: Source
    folder: Path
    speedup: str = "zone_device"
    case: tuple[str, ...] = ("private", "--items", "65536")

    def read(self, file: str) -> str:
        """Return a file of the kernel."""
        return (self.source.path / file).read_text()

    def program(
        self,
        patches: Mapping[str, str],
        renamed: Mapping[str, str] | None = None,
        *,
        each: bool = False,
    ) -> Program:
        """Build the program with patches, each by its label."""
        found = []
        for label, text in patches.items():
            path = self.folder / f"{label}.patch"
            path.write_text(text)
            found += posted.from_files(self.source, label, [path], each=each)
        return self.build(found, renamed or {})

    def build(self, found: Sequence[posted.Posted], renamed: Mapping[str, str]) -> Program:
        """Build the program with posted code."""
        manifests = manifest.load_with_needs(paths.SPEEDUPS, self.speedup)
        trees = [posted.make_tree(self.source, file) for file in found]
        program = Program(self.source, manifests, posted=trees, renamed=renamed)
        assert program.path.exists()
        return program

    def patched(self, **contents: Mapping[str, str]) -> Program:
        """Build the program with the code that some files get, by its label."""
        return self.program(
            {label: diff(self.source.path, files) for label, files in contents.items()}
        )

    def events(self, program: Program, *words: str) -> list[Event]:
        """Run the case, and return what was printed."""
        return events(program, "--case", *self.case, "--pairs", "2", *words)


@pytest.fixture
def newest(tmp_path: Path) -> Measured:
    return Measured(real_kernel.newest(), tmp_path)


@pytest.fixture
def code(newest: Measured) -> str:
    return newest.read(FILE)


def events(program: Program, *words: str) -> list[Event]:
    done = process.run([program.path, *words], action="run", check=False)
    return [parse(line) for line in done.stdout.splitlines()]


def test_rows_beside_ours_and_wrong_bytes_refused(newest: Measured, code: str) -> None:
    wrong = "*(char *)pfn_to_page(start_pfn + nr_pages - 1) ^= 1;"
    program = newest.patched(
        good={FILE: at_the_end_of(code, FUNCTION, NOP)},
        wrong={FILE: at_the_end_of(code, FUNCTION, wrong)},
    )
    assert [list(side.compiled) for side in program.sides] == [["mm/mm_init.o"]] * 2
    found = newest.events(program)
    (case,) = (event for event in found if isinstance(event, Case))
    assert case.posted == ("good", "wrong")
    assert case.variants[case.variants.index("auto") + 1 :][:2] == case.posted
    equal = {event.variant: event for event in found if isinstance(event, Equal)}
    assert all(event.equal == (name != "wrong") for name, event in equal.items())
    assert "page 65535, byte 0: base has word" in equal["wrong"].detail
    timed = {event.variant for event in found if isinstance(event, Sample)}
    assert {"base", "control", "auto", "good"} <= timed
    assert "wrong" not in timed
    shown = {
        event.variant
        for event in newest.events(program, "--show-unequal")
        if isinstance(event, Sample)
    }
    assert shown - timed == {"wrong"}
    (only,) = (
        event for event in newest.events(program, "--only-posted") if isinstance(event, Case)
    )
    names = [name for name in only.variants if ":" not in name]
    assert names == ["base", "control", "good", "wrong"]
    for number, good in enumerate((True, False)):
        found = events(program, "--check=97", f"--posted={number}")
        (checked,) = (event for event in found if isinstance(event, Check))
        assert checked.good == good
        assert "method posted" in checked.text or good


@pytest.mark.parametrize(
    ("series", "speedup", "file", "function", "wrong", "case"),
    [
        (
            *("7.2", "vmap", "mm/vmalloc.c", "__vmap_pages_range_noflush"),
            "prot.pgprot ^= _PAGE_PCD;",
            ("vmap-@-scattered", "--items", "2048"),
        ),
        (
            *("7.2", "clear_pages", "mm/memory.c", "folio_zero_user"),
            "*(char *)folio_address(folio) = 1;",
            ("4K-cold",),
        ),
        (
            *("6.12", "folio_copy", "mm/util.c", "folio_copy"),
            "*(char *)folio_address(src) ^= 1;",
            ("64K-cold-cold",),
        ),
    ],
)
def test_other_files_of_older_kernels(
    newest: Measured,
    series: str,
    speedup: str,
    file: str,
    function: str,
    wrong: str,
    case: tuple[str, ...],
) -> None:
    source = find_cached(series)
    if source is None:
        pytest.skip(f"Linux {series} is not in the cache, where make test puts it first")
    mine = replace(newest, source=source, speedup=speedup, case=case)
    code = mine.read(file)
    # What clears a folio at its end would not show before.
    insert = at_the_end_of if speedup == "clear_pages" else at_the_start_of
    program = mine.patched(
        good={file: insert(code, function, NOP)},
        wrong={file: insert(code, function, wrong)},
        dies={file: at_the_start_of(code, function, "BUG_ON(jiffies);")},
    )
    assert [list(side.compiled) for side in program.sides] == [[file.replace(".c", ".o")]] * 3
    found = mine.events(program)
    differ = {event.variant for event in found if isinstance(event, Equal) and not event.equal}
    assert differ == {"wrong"}
    if speedup != "folio_copy":  # its check copies 1 GiB, which takes long
        explain = functools.partial(run.explain, program)
        tables = functools.partial(run.tables, program)
        right, other, died = (
            check.check_program(program.path, 211, explain, posted=n, tables=tables)
            for n in range(3)
        )
        assert (right.good, other.good, died.good) == (True, False, False)
        assert died.combinations == right.combinations  # an input that kills it ends no check
        assert re.match(rf"BUG\(\) in \w+\(\) \({file}:\d+: BUG_ON", died.text)
    if speedup == "vmap":
        request = Request((), 2048, 2, 1, None, (), cached_bytes=0)
        reached = run.reaching(program, request).cases
        assert {"vmap-8M-order9", "vmalloc-1M"} < {*reached}
        assert not any(name.startswith("ioremap") for name in reached)


def test_struct_pages_of_an_array_are_those_of_its_case(newest: Measured) -> None:
    mine, file = replace(newest, speedup="vmap"), "mm/vmalloc.c"
    order = "if (count > 1 && compound_order(compound_head(pages[1]))"
    lines = {f"order{n}": f"{order} != {n}) prot.pgprot ^= _PAGE_PCD;" for n in (4, 9)}
    lines["trusts"] = f"{order}) pages[1] = pages[0] + 1;"
    program = mine.patched(
        **{n: {file: at_the_start_of(mine.read(file), "vmap", line)} for n, line in lines.items()}
    )
    names = ("scattered", "order4", "order9")
    words = [word for name in names for word in ("--case", f"vmap-8M-{name}")]
    found = events(program, *words, "--items", "2048", "--check-only")
    equal = {(e.case[8:], e.variant) for e in found if isinstance(e, Equal) and e.equal}
    right = {("order4", "order4"), ("order9", "order9"), *((name, "trusts") for name in names)}
    assert {each for each in equal if each[1] in lines} == right
    checked = check.check_program(program.path, 97, posted=[*lines].index("trusts"))
    assert not checked.good and "of page 1" in checked.text


def test_a_series_of_three_that_adds_an_object(newest: Measured, code: str) -> None:
    top = newest.source.path
    declared = "void toys_touch(void);\n"
    first = {FILE: at_the_end_of(code, FUNCTION, NOP)}
    comment = {FILE: f"/* toys */\n{first[FILE]}"}
    calling = {FILE: declared + at_the_end_of(comment[FILE], FUNCTION, "toys_touch();")}
    added = {
        "mm/toys.c": f"{declared}static int toys;\nvoid toys_touch(void)\n{{\n\ttoys++;\n}}\n",
        "mm/absent.c": "int absent;\n",
        "mm/Makefile": newest.read("mm/Makefile")
        + "obj-y += toys.o\nobj-$(CONFIG_NO_TOYS) += absent.o\n",
    }
    series = [diff(top, first), diff(top, comment, first), diff(top, calling | added, comment)]
    mails = [mail(f"[PATCH {n}/3] toys: more", text) for n, text in enumerate(series, 1)]
    program = newest.program({"v2": "".join(mails)}, each=True)
    assert [(side.label, sorted(side.compiled)) for side in program.sides] == [
        ("v2 1/3", ["mm/mm_init.o"]),
        ("v2 3/3", ["mm/mm_init.o", "mm/toys.o"]),
    ]
    assert all(event.equal for event in newest.events(program) if isinstance(event, Equal))


def test_our_exported_series_is_our_code(newest: Measured, git_name: None) -> None:
    out = newest.folder / "series"
    options = ["--until", "all", "--kernel", newest.source.series, "-o", str(out)]
    assert cli.main(["export", "zone_device", *options]) == 0
    found = posted.from_files(newest.source, "ours", [out / "zone_device"])
    program = newest.build(found, {})
    (side,) = program.sides
    names = ("mm_init", "zone_device_method", "zone_device_wide")
    assert sorted(side.compiled) == [f"mm/{name}.o" for name in names]
    for name, path in side.compiled.items():
        mine = program.path.parent / f"patched-{Path(name).name}"
        output = [
            process.run(["objdump", "-s", "-r", "-j", ".text", object_file], action="read").stdout
            for object_file in (mine, path)
        ]
        code = [dump.partition("Contents of section")[2] for dump in output]
        assert code[0] == code[1] != ""
    assert all(event.equal for event in newest.events(program) if isinstance(event, Equal))


def test_what_can_not_be_measured(newest: Measured, code: str) -> None:
    comment = f"/* toys */\n{code}"
    elsewhere = {"fs/namei.c": newest.read("fs/namei.c") + "/* toys */\n"}
    for contents in ({FILE: comment}, elsewhere):
        with pytest.raises(MmbatchError) as caught:
            newest.patched(mine=contents)
        assert caught.value.code == ExitCode.NOT_APPLICABLE
        assert f"it changes {next(iter(contents))}, and none of the code" in caught.value.problem
    with pytest.raises(MmbatchError) as caught:
        newest.patched(mine={FILE: code.replace(f"{FUNCTION}(", "toys_init(")})
    assert f"call {FUNCTION}() of 'mine'" in caught.value.action
    assert f"--entry {FUNCTION}=NEWNAME" in caught.value.hint
    text = diff(newest.source.path, {FILE: code.replace(f"{FUNCTION}(", "toys_init(")})
    renamed = newest.program({"mine": text}, {FUNCTION: "toys_init"})
    assert all(event.equal for event in newest.events(renamed) if isinstance(event, Equal))
    with pytest.raises(MmbatchError) as caught:
        newest.patched(mine={FILE: at_the_end_of(code, FUNCTION, "no_such_variable++;")})
    assert "compile mm/mm_init.o with mine" in caught.value.action
    assert "no_such_variable" in caught.value.problem
    calling = f"void no_such_call(void);\n{at_the_start_of(code, FUNCTION, 'no_such_call();')}"
    program = newest.patched(mine={FILE: calling})
    told = check.check_program(program.path, 997, functools.partial(run.explain, program), posted=0)
    called = r": no_such_call\(\);\) touched 'no_such_call', which is not defined"
    assert re.match(rf"{FUNCTION}\(\) \({FILE}:\d+{called}", told.text)


def test_an_object_that_nothing_calls_has_no_effect(newest: Measured) -> None:
    """Most of a series for another function looks so from here."""
    makefile = {"mm/Makefile": newest.read("mm/Makefile") + "obj-y += toys.o\n"}
    with pytest.raises(NoEffectError, match="none of the code"):
        newest.patched(mine={"mm/toys.c": "int toys_unused;\n", **makefile})
    weak = "void mem_init(void);\nvoid mem_init(void)\n{\n}\n"  # that of mm_init.c is weak
    (side,) = newest.patched(mine={"mm/toys.c": weak, **makefile}).sides
    assert sorted(side.compiled) == ["mm/toys.o"]


def test_a_series_none_of_whose_steps_changes_anything(newest: Measured, code: str) -> None:
    comments = [{FILE: f"{'/* toys */' * count}{code}"} for count in (1, 2)]
    texts = [diff(newest.source.path, comments[0]), diff(newest.source.path, *comments[::-1])]
    mails = [mail(f"[PATCH {n}/2] toys: more", text) for n, text in enumerate(texts, 1)]
    with pytest.raises(NoEffectError, match="measure 'v2 2/2'"):
        newest.program({"v2": "".join(mails)}, each=True)


@pytest.mark.parametrize("name", [m.speedup for m in session.hosted((), harnesses=True)])
def test_no_source_that_is_linked_includes_another(newest: Measured, name: str) -> None:
    """Otherwise a changed file could change an object that it is not named like."""
    program = Program(newest.source, manifest.load_with_needs(paths.SPEEDUPS, name))
    for linked in program.linked:
        files = sources_of(program.objects, linked)
        sources = [file for file in files if file.endswith((".c", ".S"))]
        assert all(Path(file).with_suffix(".o") == Path(linked) for file in sources)


def test_other_parameters_are_refused(newest: Measured, code: str) -> None:
    header = "include/linux/mmzone.h"
    more = {
        name: newest.read(name).replace(f"{FUNCTION}(", f"{FUNCTION}(int toys, ", 1)
        for name in (FILE, header)
    }
    with pytest.raises(MmbatchError) as caught:
        newest.patched(mine=more)
    assert caught.value.code == ExitCode.NOT_APPLICABLE
    assert f"call {FUNCTION}() of 'mine'" in caught.value.action
    before, after = re.findall(rf"'void {FUNCTION} \((.*?)\)'", caught.value.problem)
    assert after == f"int, {before}"
    assert f"keep a function {FUNCTION}()" in caught.value.hint
    new = {name: text.replace(f"{FUNCTION}(", "toys_init(") for name, text in more.items()}
    with pytest.raises(MmbatchError, match="call toys_init"):
        newest.program({"mine": diff(newest.source.path, new)}, {FUNCTION: "toys_init"})
