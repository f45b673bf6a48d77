# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch export`: series that git am takes, and that give what apply gives."""

from __future__ import annotations

import dataclasses
import email
import email.policy
import os
import re
from collections.abc import Sequence
from email.message import EmailMessage
from pathlib import Path

import pytest

from fake_run import case_events, mixed, record_of, run_events
from fake_tree import NEEDS_APPLY, STEPS, fingerprint, git, left_over
from mmbatch.bench import record
from mmbatch.cli import main as cli
from mmbatch.core import paths as checkout
from mmbatch.core.errors import ExitCode
from mmbatch.kernel import sources
from mmbatch.report import text
from mmbatch.report.words import compared, who_benefits
from mmbatch.splice import posted
from mmbatch.splice.manifest import load_with_needs

pytestmark = NEEDS_APPLY


def _export(tree: Path, out: Path, *more: object) -> int:
    options = ["--until", "all", "--tree", str(tree), "-o", str(out), *map(str, more)]
    return cli.main(["export", "zone_device", *options])


def _mails(directory: Path) -> list[EmailMessage]:
    policy = email.policy.default.clone(max_line_length=None)
    paths = sorted(directory.glob("*.patch"))
    return [email.message_from_bytes(path.read_bytes(), policy=policy) for path in paths]


def _body(mail: EmailMessage) -> str:
    return str(mail.get_content())


def _tree_after_am(tree: Path, mails: Sequence[Path]) -> str:
    git(tree, "checkout", "-q", "-B", "posted", "main")
    git(tree, "am", "--quiet", "--empty=drop", *map(str, mails))
    return git(tree, "rev-parse", "posted^{tree}")


def test_git_am_gives_what_apply_gives(tree: Path, tmp_path: Path) -> None:
    before = fingerprint(tree)
    out = tmp_path / "my out"
    assert _export(tree, out) == ExitCode.GOOD
    assert fingerprint(tree) == before
    assert cli.main(["apply", str(tree), "zone_device"]) == 0
    after = _tree_after_am(tree, sorted((out / "zone_device").glob("*.patch")))
    assert after == git(tree, "rev-parse", "mmbatch/zone_device^{tree}")
    for field in ("%s", "%b", "%an <%ae>", "%T"):
        posted, applied = (
            git(tree, "log", f"--format={field}", f"main..{branch}")
            for branch in ("posted", "mmbatch/zone_device")
        )
        assert posted == applied, field
    assert left_over(tmp_path) == []


def test_mails_are_numbered_and_named(tree: Path, tmp_path: Path) -> None:
    assert _export(tree, tmp_path / "out", "--prefix", "RFC PATCH mm", "--reroll", 2, "-s") == 0
    mails = _mails(tmp_path / "out/zone_device")
    total = len(STEPS)
    words = ["zone_device: the memmap", *(step.subject for step in STEPS)]
    for number, (mail, start) in enumerate(zip(mails, words, strict=True)):
        subject = " ".join(mail["subject"].split())
        assert subject.startswith(f"[RFC PATCH mm v2 {number:02}/{total}] {start}")
    for mail in mails[1:]:
        assert "\nSigned-off-by: Some User <user@example.org>\n---\n" in _body(mail)
        assert mail["from"] == "Some User <user@example.org>"


def test_the_cover_says_that_nothing_was_measured(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _export(tree, tmp_path / "out") == 0
    cover = _body(_mails(tmp_path / "out/zone_device")[0])
    assert "***" not in cover
    assert "Not measured by the sender." in cover
    assert "$ ./mmbatch bench zone_device --kernel 7.3\n" in cover
    assert "The first patches are streaming_copy, which it needs." in cover
    for words in who_benefits(checkout.SPEEDUPS / "zone_device", for_mail=True):
        assert words in " ".join(cover.split())
    own = cover.split("\n---\n")[0].split("Some User (")[0]
    assert max(map(len, own.splitlines())) <= text.COVER
    assert "not measured yet on 7.3.4" in capsys.readouterr().out


def test_the_cover_shows_a_run_of_this_kernel_only(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = record_of(mixed())
    info = dataclasses.replace(other.kernel, release="7.3.4")
    of_this_kernel = dataclasses.replace(other, kernel=info)
    record.write(tmp_path / "other.json", other)
    record.write(tmp_path / "mine.json", of_this_kernel)
    assert _export(tree, tmp_path / "out", "--run", tmp_path / "mine.json") == 0
    cover = _body(_mails(tmp_path / "out/zone_device")[0])
    assert text.report(of_this_kernel, cover=True) in cover
    assert "Not measured" not in cover
    assert "The run has all steps." not in cover
    core = ["--until", "core", "--run", tmp_path / "mine.json"]
    assert _export(tree, tmp_path / "core", *core) == 0
    cover = _body(_mails(tmp_path / "core/zone_device")[0])
    assert "These are not in the series: methods, kunit, wide, cpus." in " ".join(cover.split())
    assert _export(tree, tmp_path / "out2", "--run", tmp_path / "other.json") == ExitCode.USAGE
    assert "it is of Linux 7.3.1" in capsys.readouterr().err
    assert not (tmp_path / "out2").exists()
    place = Path(os.environ["MMBATCH_CACHE"]) / "runs"
    for name, measured in (("2026-01", of_this_kernel), ("2026-02", other)):
        place.mkdir(parents=True, exist_ok=True)
        record.write(place / f"{name}.json", measured)
    part = dataclasses.replace(of_this_kernel, command="./mmbatch bench zone_device --case fsdax")
    record.write(place / "2026-03.json", part)
    assert _export(tree, tmp_path / "out3") == 0
    assert text.report(of_this_kernel, cover=True) in _body(
        _mails(tmp_path / "out3/zone_device")[0]
    )


def test_the_cover_has_no_sentences_about_this_tool(tree: Path, tmp_path: Path) -> None:
    assert _export(tree, tmp_path / "out") == 0
    cover = " ".join(_body(_mails(tmp_path / "out/zone_device")[0]).split())
    assert "Nothing is faster once the device is bound." in cover
    assert "our results" not in cover
    assert "live plan" not in cover


def test_sentences_that_stay_out_of_a_mail(tmp_path: Path) -> None:
    text = (
        "# toys\n\n## Who benefits\n\nToys do. The machines in our "
        "[results](../../results/README.md)\ngain 4 to 18 %. `toys_paint()` of the "
        "[RFC](#compared-with-the-rfc)\nis one. See "
        "[lore](https://lore.example/toys).\n\n`./mmbatch live plan` measures it.\n\n"
        "## Compared with the RFC\n\nIt is [here](toys.md). It has one row.\n\n"
        "| RFC | here | why |\n| --- | --- | --- |\n| a | b | c |\n"
    )
    (tmp_path / "README.md").write_text(text)
    (left,) = who_benefits(tmp_path, for_mail=True)
    assert left == "Toys do. toys_paint() of the RFC is one. See lore."
    assert len(who_benefits(tmp_path)) == 2
    assert list(compared(tmp_path)) == ["It has one row.", "- Posted: a. Here: b. Why: c."]


def test_the_cover_says_how_it_differs_from_the_posted_series(tree: Path, tmp_path: Path) -> None:
    assert _export(tree, tmp_path / "out") == 0
    cover = " ".join(_body(_mails(tmp_path / "out/zone_device")[0]).split())
    assert 'Li Zhe posted "mm: speed up ZONE_DEVICE memmap initialization"' in cover
    assert "- Posted: v11 has no drain at all. Here: one, at the end. Why: a range" in cover
    assert "|" not in cover.partition("Made for")[0]


def test_the_base_commit_is_that_of_the_tree_or_the_one_that_is_named(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def cover(name: str) -> str:
        return next((tmp_path / name / "zone_device").glob("*cover*")).read_text()

    assert _export(tree, tmp_path / "out") == 0
    head = git(tree, "rev-parse", "HEAD")
    assert f"\n\nbase-commit: {head}\n-- \nmmbatch\n" in cover("out")
    named = "ab" * 20
    assert _export(tree, tmp_path / "named", "--base", named) == 0
    assert f"\nbase-commit: {named}\n-- \n" in cover("named")
    with (tree / "mm/Kconfig").open("a") as file:
        file.write("# changed\n")
    capsys.readouterr()
    assert _export(tree, tmp_path / "dirty") == 0
    assert "base-commit" not in cover("dirty")
    assert "no base-commit: --base names one" in capsys.readouterr().out
    assert _export(tree, tmp_path / "wrong", "--base", "v7.3") == ExitCode.USAGE


def test_author_and_trailers(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _export(tree, tmp_path / "mine") == 0
    assert "Author: Some User <user@example.org> (you, as git" in capsys.readouterr().out
    words = ["--author", "A U Thor <a@example.org>", "-s"]
    words += ["--trailer", "Co-developed-by: B <b@example.org>"]
    words += ["--trailer", "Signed-off-by: B <b@example.org>"]
    assert _export(tree, tmp_path / "out", *words) == 0
    assert "Author: A U Thor <a@example.org>\n" in capsys.readouterr().out
    trailers = (
        "\n\nCo-developed-by: B <b@example.org>\nSigned-off-by: B <b@example.org>\n"
        "Signed-off-by: Some User <user@example.org>\n---\n"
    )
    for mail in _mails(tmp_path / "out/zone_device")[1:]:
        assert mail["from"] == "A U Thor <a@example.org>"
        assert trailers in _body(mail)
    git(tree, "checkout", "-q", "-B", "posted", "main")
    paths = map(str, sorted((tmp_path / "out/zone_device").glob("*.patch")))
    git(tree, "am", "--quiet", "--empty=drop", *paths)
    assert (
        git(tree, "log", "-1", "--format=%an <%ae>, %cn") == "A U Thor <a@example.org>, Some User"
    )


@pytest.mark.parametrize(
    "words",
    [
        ("--author", "Nobody"),
        ("--author", "A <a b>"),
        ("--trailer", "Fixes"),
        ("--trailer", "x: y"),
    ],
)
def test_names_that_git_would_misread_are_refused(
    tree: Path, tmp_path: Path, words: tuple[str, str]
) -> None:
    assert _export(tree, tmp_path / "out", *words) == ExitCode.USAGE
    assert not (tmp_path / "out").exists()


def _each_run(tree: Path, *, large: float = 100e6) -> record.Record:
    """Return a run that has measured each step of zone_device, of which two are shown.

    Args:
        tree: the kernel.
        large: how long the last step takes in the first of two cases, in ns.
    """
    source = sources.Source("7.3", "7.3.4", tree, "here", "toys", "state")
    manifests = load_with_needs(checkout.SPEEDUPS, "zone_device")
    found = posted.from_steps(source, manifests)
    shown = [code for code in found if code.label in ("3 zone_device", "4 stream")]
    times = {"base": 200e6, "control": 200e6, "3 zone_device": 150e6, "4 stream": large}
    small = {**times, "4 stream": 150e6}
    events = run_events(list(case_events("large", times)), list(case_events("small", small)))
    info = dataclasses.replace(record_of(events).kernel, release="7.3.4")
    code = tuple(record.Posted(p.label, p.source, p.sha256, p.patches, ()) for p in shown)
    return dataclasses.replace(record_of(events), kernel=info, posted=code)


def test_patches_have_their_own_figures(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = _each_run(tree)
    record.write(tmp_path / "each.json", run)
    assert _export(tree, tmp_path / "out", "--run", tmp_path / "each.json", "-s") == 0
    assert "2 of 11 patches have figures of their own" in capsys.readouterr().out
    bodies = {
        str(mail["subject"]).partition("] ")[2]: _body(mail)
        for mail in _mails(tmp_path / "out/zone_device")
    }
    (copied,) = (
        text for subject, text in bodies.items() if "device memory from templates" in subject
    )
    (streamed,) = (text for subject, text in bodies.items() if "stream the memmap" in subject)
    assert "before and after this patch (Zen 3 (25/1/1)" in " ".join(
        copied.split("\n---\n")[0].split()
    )
    assert re.search(r"^  large +\d+\.\d ms +1\d+\.\d ms +1\.3\d  1\.\d+ to 1\.\d+$", copied, re.M)
    assert re.search(r"^  large +1\d+\.\d ms +\d+\.\d+ ms +1\.[45]\d  1\.", streamed, re.MULTILINE)
    assert "\nNo difference is shown in: small.\n\nSigned-off-by:" in streamed
    others = [text for text in bodies.values() if text not in (copied, streamed)]
    assert not any("before and after this patch" in text for text in others)
    cover = " ".join(_body(_mails(tmp_path / "out/zone_device")[0]).split())
    assert "before and after this series up to its step stream (Zen 3 (25/1/1)" in cover
    assert re.search(r" large 20\d\.\d ms 10\d\.\d ms [12]\.\d+ ", cover)
    assert "is 2." not in cover  # no sentence for each case
    unmeasured = [subject for subject, text in bodies.items() if "No figures for this" in text]
    # streaming_copy's two, and the optional steps, before which the run ended: all but the tests
    assert len(unmeasured) == 5
    assert not any("KUnit" in subject for subject in unmeasured)
    assert any("wide method" in subject for subject in unmeasured)


def test_figures_of_other_code_are_not_shown(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = _each_run(tree)
    other = tuple(dataclasses.replace(code, sha256="0" * 64) for code in run.posted)
    record.write(tmp_path / "each.json", dataclasses.replace(run, posted=other))
    assert _export(tree, tmp_path / "out", "--run", tmp_path / "each.json") == 0
    assert "this code is not measured yet on 7.3.4" in capsys.readouterr().out
    cover, *patches = _mails(tmp_path / "out/zone_device")
    assert "before and after" not in _body(cover)
    assert "3 zone_device" not in _body(cover)
    assert "Not measured by the sender." in _body(cover)
    for mail in patches:
        message, _, rest = _body(mail).partition("\n---\n")
        assert "before and after" not in message
        assert "KUnit" in mail["subject"] or rest.startswith("No figures for this patch by itself.")


def test_a_last_step_of_other_code_is_not_shown(tree: Path, tmp_path: Path) -> None:
    run = _each_run(tree)
    changed = dataclasses.replace(run.posted[1], sha256="0" * 64)
    record.write(tmp_path / "each.json", dataclasses.replace(run, posted=(run.posted[0], changed)))
    assert _export(tree, tmp_path / "out", "--run", tmp_path / "each.json") == 0
    cover, *patches = _mails(tmp_path / "out/zone_device")
    assert "Not measured by the sender." in _body(cover)
    assert "before and after" not in _body(cover)
    (copied,) = (mail for mail in patches if "memory from templates" in mail["subject"])
    assert "before and after this patch" in " ".join(_body(copied).split())


def test_steps_that_show_no_difference_say_so(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = _each_run(tree, large=150e6)
    record.write(tmp_path / "each.json", run)
    assert _export(tree, tmp_path / "out", "--run", tmp_path / "each.json") == 0
    assert "2 of 11 patches have figures of their own" in capsys.readouterr().out
    (streamed,) = (
        _body(mail)
        for mail in _mails(tmp_path / "out/zone_device")
        if "stream the memmap" in mail["subject"]
    )
    message, _, rest = streamed.partition("\n---\n")
    words = "In 2 cases that were measured before and after this patch, no difference is shown (Zen"
    assert words in " ".join(message.split())
    assert "95 % interval" not in message
    assert "No figures for this patch" not in rest


def test_the_cover_of_a_core_prefers_a_run_that_has_a_row_of_it(tree: Path, tmp_path: Path) -> None:
    each = _each_run(tree)
    times = {"base": 200e6, "control": 200e6, "auto": 80e6, "core": 100e6}
    core = dataclasses.replace(
        record_of(run_events(list(case_events("large", times)))),
        kernel=each.kernel,
        posted=(dataclasses.replace(each.posted[1], label="core"),),
    )
    whole = dataclasses.replace(record_of(mixed()), kernel=core.kernel)
    for name, run in (("core", core), ("whole", whole)):
        record.write(tmp_path / f"{name}.json", run)
    runs = ["--run", tmp_path / "core.json", "--run", tmp_path / "whole.json"]
    assert _export(tree, tmp_path / "core", "--until", "core", *runs) == 0
    cover = " ".join(_body(_mails(tmp_path / "core/zone_device")[0]).split())
    assert "before and after this series (Zen 3 (25/1/1)" in cover
    assert re.search(r" large 20\d\.\d ms 10\d\.\d ms ", cover)
    assert (
        "auto" not in cover.partition("before and after this series")[2].partition("Some User")[0]
    )
    assert _export(tree, tmp_path / "whole", "--until", "core", *runs[2:]) == 0
    assert "These are not in the series" in _body(_mails(tmp_path / "whole/zone_device")[0])


def test_all_that_suit_the_kernel_get_a_directory(tree: Path, tmp_path: Path) -> None:
    assert cli.main(["export", "--tree", str(tree), "-o", str(tmp_path / "out")]) == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"zone_device", "streaming_copy"} <= names


@pytest.mark.parametrize("kind", ["full", "file"])
def test_nothing_is_overwritten(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    out = tmp_path / "out"
    if kind == "file":
        out.touch()
    else:
        out.mkdir()
        (out / "mine").touch()
    before = fingerprint(tmp_path)
    assert _export(tree, out) == ExitCode.USAGE
    assert "name another directory with -o" in capsys.readouterr().err.lower()
    assert fingerprint(tmp_path) == before


def test_a_hook_that_does_not_match_leaves_nothing(tree: Path, tmp_path: Path) -> None:
    path = tree / "mm/mm_init.c"
    path.write_text(path.read_text().replace("memmap_init_zone_device", "memmap_init_other"))
    git(tree, "commit", "-qam", "toys: renamed")
    assert _export(tree, tmp_path / "out") == ExitCode.SPLICE
    assert not (tmp_path / "out").exists()
    assert left_over(tmp_path) == []


def test_a_tree_that_has_it_already(tree: Path, tmp_path: Path) -> None:
    assert cli.main(["apply", str(tree), "zone_device"]) == 0
    git(tree, "-c", "core.autocrlf=false", "checkout", "-q", "mmbatch/zone_device")
    assert _export(tree, tmp_path / "out") == ExitCode.USAGE
    assert not (tmp_path / "out").exists()
