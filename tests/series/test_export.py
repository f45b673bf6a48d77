# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch export`: series that git am takes, and that give what apply gives."""

from __future__ import annotations

import dataclasses
import email
import email.policy
import re
from collections.abc import Sequence
from email.message import EmailMessage
from pathlib import Path

import pytest

from fake_archive import source_of
from fake_run import case_events, mixed, record_of, run_events
from fake_tree import NEEDS_APPLY, STEPS, fingerprint, git, left_over
from mmbatch.bench import record
from mmbatch.bench.record import Code, Record
from mmbatch.cli import main as cli
from mmbatch.core import cache
from mmbatch.core import paths as checkout
from mmbatch.core.errors import ExitCode
from mmbatch.report import text
from mmbatch.report.markdown import compared, who_benefits
from mmbatch.series import export
from mmbatch.splice import posted
from mmbatch.splice.apply import Applied
from mmbatch.splice.manifest import load_with_needs

pytestmark = NEEDS_APPLY


def _export(tree: Path, out: Path, *more: object) -> int:
    options = ["--until", "all", "--tree", str(tree), "-o", str(out), *map(str, more)]
    return cli.main(["export", "zone_device", *options])


def _mails(directory: Path) -> list[EmailMessage]:
    policy = email.policy.default.clone(max_line_length=None)
    paths = sorted((directory / "zone_device").glob("*.patch"))
    return [email.message_from_bytes(path.read_bytes(), policy=policy) for path in paths]


def _body(mail: EmailMessage) -> str:
    return str(mail.get_content())


def _words(mail: EmailMessage) -> str:
    return " ".join(_body(mail).split())


def test_git_am_gives_what_apply_gives(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = fingerprint(tree)
    out = tmp_path / "my out"
    assert _export(tree, out) == ExitCode.GOOD
    assert fingerprint(tree) == before
    assert "Author: Some User <user@example.org> (you, as git" in capsys.readouterr().out
    assert cli.main(["apply", str(tree), "zone_device", "--until", "all"]) == 0
    git(tree, "checkout", "-q", "-B", "posted", "main")
    paths = map(str, sorted((out / "zone_device").glob("*.patch")))
    git(tree, "am", "--quiet", "--empty=drop", *paths)
    for field in ("%s", "%b", "%an <%ae>", "%T"):
        found, applied = (
            git(tree, "log", f"--format={field}", f"main..{branch}")
            for branch in ("posted", "mmbatch/zone_device")
        )
        assert found == applied, field
    assert left_over(tmp_path) == []


def test_mails_have_numbers_names_and_trailers(tree: Path, tmp_path: Path) -> None:
    words = ["--prefix", "RFC PATCH mm", "--reroll", 2, "-s"]
    assert _export(tree, tmp_path / "out", *words) == 0
    mails = _mails(tmp_path / "out")
    starts = ["zone_device: the memmap", *(step.subject for step in STEPS)]
    for number, (mail, start) in enumerate(zip(mails, starts, strict=True)):
        subject = " ".join(mail["subject"].split())
        assert subject.startswith(f"[RFC PATCH mm v2 {number:02}/{len(STEPS)}] {start}")
    for mail in mails[1:]:
        assert mail["from"] == "Some User <user@example.org>"
        assert "\n\nSigned-off-by: Some User <user@example.org>\n---\n" in _body(mail)


def test_the_cover_of_a_core_that_was_not_measured(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["export", "zone_device", "--tree", str(tree), "-o", f"{tmp_path}/out"]) == 0
    printed = capsys.readouterr()
    assert "not measured yet on 7.3.4" in printed.out
    assert f"of {len(STEPS)} patches: --until all adds " in printed.err
    mail, *patches = _mails(tmp_path / "out")
    cover, words = _body(mail), _words(mail)
    assert len(patches) < len(STEPS)
    assert "***" not in cover
    assert "Not measured by the sender." in cover
    assert "$ ./mmbatch bench zone_device --kernel 7.3\n" in cover
    assert "The first patches are streaming_copy, which it needs." in cover
    directory = checkout.SPEEDUPS / "zone_device"
    assert all(part in words for part in who_benefits(directory))
    assert all(part in words for part in compared(directory))
    assert "|" not in cover.partition("Made for")[0]
    own = cover.split("\n---\n")[0].split("Some User (")[0]
    assert max(map(len, own.splitlines())) <= text.COVER
    head = git(tree, "rev-parse", "HEAD")
    assert f"\n\nbase-commit: {head}\n-- \nmmbatch\n" in cover


def test_a_tree_that_was_changed_has_no_base_commit(tree: Path, tmp_path: Path) -> None:
    with (tree / "mm/Kconfig").open("a") as file:
        file.write("# changed\n")
    assert _export(tree, tmp_path / "dirty") == 0
    assert "base-commit" not in _body(_mails(tmp_path / "dirty")[0])


@pytest.fixture
def steps(tree: Path) -> Sequence[Applied]:
    """The patches of the whole series."""
    manifests = load_with_needs(checkout.SPEEDUPS, "zone_device")
    return export.plan_series(source_of(tree), manifests).steps


def _each_run(tree: Path, *, large: float = 100e6) -> Record:
    """Return a run that has measured each step of zone_device, of which two are shown.

    The last of them takes some time in the first of two cases, `large`, in ns.
    """
    found = posted.from_steps(source_of(tree), load_with_needs(checkout.SPEEDUPS, "zone_device"))
    shown = [code for code in found if code.label in ("2 zone_device", "4 small")]
    times = {"base": 200e6, "control": 200e6, "2 zone_device": 150e6, "4 small": large}
    small = {**times, "4 small": 150e6}
    events = run_events(case_events("large", times), case_events("small", small))
    info = dataclasses.replace(record_of(events).kernel, release="7.3.4")
    code = tuple(record.Posted(p.label, p.source, p.sha256, p.patches, ()) for p in shown)
    return dataclasses.replace(record_of(events), kernel=info, posted=code)


def test_patches_have_their_own_figures(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record.write(cache.runs() / "each.json", _each_run(tree))
    assert _export(tree, tmp_path / "out", "-s") == 0
    assert "2 of 11 patches have their own figures" in capsys.readouterr().out
    mails = _mails(tmp_path / "out")
    (copied,) = (_body(mail) for mail in mails if "of large device memory" in mail["subject"])
    (streamed,) = (_body(mail) for mail in mails if "of small device memory" in mail["subject"])
    message = " ".join(copied.split("\n---\n")[0].split())
    assert "before and after this patch (" in message
    assert re.search(r"^  large +\d+\.\d ms +1\d+\.\d ms +1\.3\d +1\.\d+ to 1\.\d+$", copied, re.M)
    assert re.search(r"^  large +1\d+\.\d ms +\d+\.\d+ ms +1\.[45]\d +1\.", streamed, re.M)
    assert "\nNo difference is shown in: small.\n\nSigned-off-by:" in streamed
    assert sum("before and after this patch" in _words(mail) for mail in mails) == 2
    cover = _words(mails[0])
    assert "before and after this series up to its step small (" in cover
    assert re.search(r" large 20\d\.\d ms 10\d\.\d ms [12]\.\d+ ", cover)
    unmeasured = [mail["subject"] for mail in mails if "No figures for this" in _body(mail)]
    # streaming_copy's two, and the optional steps, before which the run ended: all but the tests
    assert len(unmeasured) == 5
    assert not any("KUnit" in subject for subject in unmeasured)


def test_figures_of_other_code_are_never_shown(tree: Path, steps: Sequence[Applied]) -> None:
    run = _each_run(tree)
    first, second = run.posted
    other = dataclasses.replace(second, sha256="0" * 64)
    whole, gains = export.figures_of(steps, [dataclasses.replace(run, posted=(first, other))])
    assert "up to its step zone_device (" in " ".join(whole.split())
    assert "100." not in whole
    assert sum(map(bool, gains)) == 1
    nothing = dataclasses.replace(run, posted=(dataclasses.replace(first, sha256="0" * 64), other))
    assert export.figures_of(steps, [nothing]) == ("", [""] * len(steps))
    assert export.figures_of(steps, [record_of(mixed())])[0] == ""


def test_the_cover_shows_a_run_of_the_very_code(tree: Path, steps: Sequence[Applied]) -> None:
    contents = {name: content for step in steps for name, content in step.contents.items()}
    mine = dataclasses.replace(record_of(mixed()), code=Code(spliced=posted.digest(contents)))
    whole, gains = export.figures_of(steps, [mine])
    assert whole == text.report(mine, cover=True).rstrip()
    assert not any(gains)
    assert export.figures_of(steps[:-1], [mine])[0] == ""


def test_steps_that_show_no_difference_say_so(tree: Path, steps: Sequence[Applied]) -> None:
    _, gains = export.figures_of(steps, [_each_run(tree, large=150e6)])
    (_, streamed) = filter(None, gains)
    words = "Before and after this patch, no difference is shown in: large, small ("
    assert words in " ".join(streamed.split())
    assert "95 % interval" not in streamed


def test_nothing_is_overwritten_and_nothing_left(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    assert _export(tree, tmp_path / "out") == ExitCode.USAGE
    assert "name another directory with -o" in capsys.readouterr().err.lower()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]
    path = tree / "mm/mm_init.c"
    path.write_text(path.read_text().replace("memmap_init_zone_device", "memmap_init_other"))
    git(tree, "commit", "-qam", "toys: renamed")
    assert _export(tree, tmp_path / "new") == ExitCode.SPLICE
    assert not (tmp_path / "new").exists()
    assert left_over(tmp_path) == []


def test_a_tree_that_has_it_already(tree: Path, tmp_path: Path) -> None:
    assert cli.main(["apply", str(tree), "zone_device", "--until", "all"]) == 0
    git(tree, "-c", "core.autocrlf=false", "checkout", "-q", "mmbatch/zone_device")
    assert _export(tree, tmp_path / "out") == ExitCode.USAGE
    assert not (tmp_path / "out").exists()
