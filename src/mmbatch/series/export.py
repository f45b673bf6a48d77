# SPDX-License-Identifier: GPL-2.0-only
"""Make a series that `git am` takes: the steps of `apply` as mails, with a cover letter."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.bench import machine, table
from mmbatch.bench.record import Record
from mmbatch.bench.statistics import Verdict, verdict
from mmbatch.core import cache, log, paths, process
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.hosted.events import BASE
from mmbatch.kernel import sources
from mmbatch.kernel.git import GitTree
from mmbatch.kernel.sources import Source
from mmbatch.report import text as mail
from mmbatch.report.markdown import compared, who_benefits
from mmbatch.splice.apply import Applied, change, choose, contents_in, named_files, plan
from mmbatch.splice.apply import write as write_file
from mmbatch.splice.manifest import CORE, Manifest, cut, known
from mmbatch.splice.posted import digest

_OWN = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
_SUBJECT = "*** SUBJECT HERE ***"
_BLURB = "*** BLURB HERE ***"
_SIGNATURE = "\n-- \n"


@dataclass(frozen=True)
class Series:
    """What a series is made of: files of the tree that it is for, and what its patches do."""

    base: Mapping[str, bytes]
    steps: Sequence[Applied]


def plan_series(source: Source, manifests: Sequence[Manifest]) -> Series:
    """Return the patches for a tree without the speed-ups, which is only read."""
    base = contents_in(source.path, named_files(source.series, manifests))
    steps = plan(manifests, source.series, source.release, base)
    if not any(step.speedup == manifests[-1].speedup for step in steps):
        problem, hint = f"it has {manifests[-1].speedup} in it already", "give a tree without it"
        raise MmbatchError(f"make a series for {source.origin}", problem, hint, ExitCode.USAGE)
    return Series(base, steps)


def write(
    series: Series,
    directory: Path,
    figures: Sequence[str],
    user: str,
    ending: str = "",
    prefix: str = "PATCH",
    reroll: int | None = None,
) -> list[Path]:
    """Write the mails into a directory, and return their paths, the cover letter first.

    The commits are made in a repository of our own with nothing but the named files. `figures`
    say what each patch gains, as text for its message; empty if that is not known. The `ending`
    comes after it.
    """
    changes = [
        change(step, f"\n\n{text}{ending}" if text else ending)
        for step, text in zip(series.steps, figures, strict=True)
    ]
    with cache.temporary_dir("export") as work:
        git, base = repository(work / "git", series.base, user)
        tip = git.write(base, changes)
        words = ["format-patch", "--quiet", "--numbered", "--cover-letter", "--zero-commit"]
        words += ["--signature=mmbatch", "--no-renames", f"--subject-prefix={prefix}"]
        words += [f"--reroll-count={reroll}"] if reroll else []
        words += ["--output-directory", os.path.relpath(directory, git.path), f"{base}..{tip}"]
        run_git(git.path, "-c", "core.abbrev=12", *words)
    return sorted(directory.glob("*.patch"))


def fill_cover(cover: Path, subject: str, text: str, commit: str = "") -> None:
    """Put subject, text and the commit on which the series is based into a cover letter."""
    old = cover.read_text(encoding="utf-8")
    assert old.count(_SUBJECT) == old.count(_BLURB) == 1
    new = old.replace(_SUBJECT, subject).replace(_BLURB, text.strip())
    if commit:
        new = f"\nbase-commit: {commit}{_SIGNATURE}".join(new.rsplit(_SIGNATURE, 1))
    cover.write_text(new, encoding="utf-8")


def note_unmeasured(
    series: Series, patches: Sequence[Path], figures: Sequence[str], kernel: str
) -> None:
    """Say in each mail, where git am leaves it out, that no record got as far as its step."""
    for number, (step, patch) in enumerate(zip(series.steps, patches, strict=True)):
        # A step before one that was measured changes nothing that is measured.
        later = zip(series.steps[number:], figures[number:], strict=True)
        is_known = any(text and each.speedup == step.speedup for each, text in later)
        if not is_known and not step.name.startswith("kunit"):
            words = (
                "No figures for this patch by itself. This measures each patch that changes what "
                f"runs on x86-64: ./mmbatch bench {step.speedup} --kernel {kernel} --each"
            )
            lines = "\n".join(mail.paragraph(words, ""))
            old = patch.read_bytes()
            patch.write_bytes(old.replace(b"\n---\n", f"\n---\n{lines}\n\n".encode(), 1))


def base_commit(tree: Path, series: Series) -> str:
    """Return the commit on which a series for a git tree is based, if its files are as there."""
    git = GitTree(tree)
    head = git.head()
    names = [name for step in series.steps for name in step.contents]
    return head if git.read(head, {*names, *series.base}) == series.base else ""


def repository(place: Path, contents: Mapping[str, bytes], signer: str) -> tuple[GitTree, str]:
    """Make a git repository with one commit that has some files; return it and the commit."""
    for name, content in contents.items():
        write_file(place / name, content)
    place.mkdir(exist_ok=True)
    run_git(place, "init", "--quiet", "--initial-branch=base")
    name, _, address = signer.rstrip(">").partition(" <")
    run_git(place, "config", "user.name", name)
    run_git(place, "config", "user.email", address)
    run_git(place, "add", "--all", "--force")
    run_git(place, "commit", "--quiet", "--allow-empty", "-m", "the files that the series touches")
    return GitTree(place), run_git(place, "rev-parse", "HEAD")


def run_git(place: Path, *words: str) -> str:
    """Run git in a repository of ours, whatever the user's settings are; return what it printed."""
    action = f"run git {words[0]} in a copy of ours"
    return process.run(["git", "-C", place, *words], action=action, env=_OWN).stdout.strip()


def codes_of(steps: Sequence[Applied]) -> list[str]:
    """Return the hash of all files that were written up to each step, by which records know it."""
    contents: dict[str, bytes | None] = {}
    return [digest(contents := {**contents, **step.contents}) for step in steps]


def figures_of(steps: Sequence[Applied], records: Sequence[Record]) -> tuple[str, list[str]]:
    """Return what a series gains, and each of its patches, as text, empty without a record.

    `records` are those of the kernel that it is for, oldest first. Only those of the very code
    count, which is known by the hash of all files that the steps wrote up to there.
    """
    codes = codes_of(steps)
    before: dict[str, list[str]] = {}
    of_steps: list[str] = []
    whole = ""
    for step, code in zip(steps, codes, strict=True):
        own = before.setdefault(step.speedup, [])
        own.append(code)
        text = ""
        for record in records:
            labels = {posted.sha256: posted.label for posted in record.posted}
            if record.speedup == step.speedup and code in labels:
                measured = [BASE, *(labels[held] for held in own if held in labels)]
                text = "\n".join(_lines(record, measured, "patch"))
                if step.speedup == steps[-1].speedup:
                    what = "series" if step is steps[-1] else f"series up to its step {step.name}"
                    lines = [*mail.command(record.command), ""]
                    whole = "\n".join([*lines, *_lines(record, [BASE, labels[code]], what)])
        of_steps.append(text)
    for record in records:
        if record.code.spliced == codes[-1] and not record.posted and not of_steps[-1]:
            whole = mail.report(record, cover=True).rstrip("\n")
    return whole, of_steps


def _lines(record: Record, labels: Sequence[str], what: str) -> Iterator[str]:
    """Yield the lines of what the last of some labels gains over the one before it."""
    rows: list[list[str]] = []
    alike = []
    for case, found in table.tables(record).items():
        named = {row.name: row for row in found.rows}
        measured = [named[label] for label in labels if label in named]
        if len(measured) < 2 or measured[-1].name != labels[-1]:
            continue
        before, after = measured[-2:]
        ratio, band = table.paired(before.samples, after.samples), found.band
        if ratio is None:
            continue
        is_alike = verdict(ratio, band) == Verdict.NO_DIFFERENCE
        if is_alike or (ratio.interval and ratio.lo <= 1 <= ratio.hi):
            alike.append(case)
            continue
        old, new = (mail.duration(each.median, found.case.unit) for each in (before, after))
        rows.append([case, old, new, f"{ratio.median:.2f}", mail.between(ratio)])
    where = f"{machine.line(record.machine)}; Linux {record.kernel.release}"
    if rows:
        words = (
            "Median times of the kernel's objects, linked into a process, before and after this "
            f"{what} ({where}):"
        )
        yield from mail.paragraph(words, "")
        yield ""
        head = ["case", "before", "after", "ratio", "95 % interval"]
        yield from (f"  {line}" for line in mail.columns([head, *rows]))
    if rows and alike:
        yield ""
        yield from mail.paragraph(f"No difference is shown in: {', '.join(alike)}.", "")
    elif alike:
        words = f"Before and after this {what}, no difference is shown in: {', '.join(alike)}"
        yield from mail.paragraph(f"{words} ({where}).", "")


def cover_text(
    manifests: Sequence[Manifest], source: Source, figures: str, explained: Sequence[str]
) -> str:
    """Write the body of the cover letter, which is about the last of the speed-ups.

    The `figures` may be empty, and `explained` is what checkpatch reports and why it stays.
    """

    def wrapped(words: str, indent: str = "") -> str:
        return "\n".join(mail.paragraph(words, indent))

    manifest = manifests[-1]
    needed = ", ".join(other.speedup for other in manifests[:-1])
    parts = [wrapped(each) for each in who_benefits(manifest.directory)]
    others = list(compared(manifest.directory))
    parts += [wrapped(each) for each in others if not each.startswith("- ")]
    parts.append("\n".join(wrapped(each, "  ") for each in others if each.startswith("- ")))
    if needed:
        parts.append(wrapped(f"The first patches are {needed}, which it needs."))
    parts.append(wrapped(f"Made for Linux {source.release} ({source.origin})."))
    command = mail.command(f"{manifest.measured_by} --kernel {source.series}")
    known = "Not measured by the sender" if manifest.hosted else "Counted in a guest, not timed"
    unknown = "\n".join([f"{known}. To measure it:", "", *command])
    parts.append(figures or unknown)
    if explained:
        reports = [line for sentence in explained for line in mail.paragraph(f"- {sentence}")]
        head = "What checkpatch.pl --strict reports about the series:"
        parts.append("\n".join([head, "", *reports]))
    return "\n\n".join(filter(None, parts)) + "\n"


LINES_PAGE = paths.ROOT / "docs/series.md"
_COMMENT = re.compile(r"\s*(/\*|\*[ /]|\*$|//|$)")
_HEAD = """\
<!-- SPDX-License-Identifier: GPL-2.0-only -->
<!-- Written by `PYTHONPATH=src python3 -m mmbatch.series.export`. -->
# How long each series is

Lines that the patches add to Linux {series}. *Code* is neither a test, a comment
nor empty. [`export`](export.md) writes the core by default. What a speed-up
needs from another one comes first in its series, and counts.

| series | step | part | lines | code | tests |
| --- | --- | --- | ---: | ---: | ---: |
"""


def lines_of_step(name: str, diff: str) -> Counter[str]:
    """Return the lines that a step adds, those of code, and those of tests."""
    found: Counter[str] = Counter()
    path = ""
    for line in diff.splitlines():
        if line.startswith("+++ "):
            path = line
        elif line.startswith("+"):
            is_test = name.startswith(("kunit", "bench")) or "kunit" in path
            is_code = not is_test and not _COMMENT.match(line[1:])
            found.update(lines=1, tests=is_test, code=is_code)
    return found


def lines_page(source: Source) -> Iterator[str]:
    """Yield the lines of docs/series.md for a kernel."""

    def row(step: str, part: str, found: Counter[str]) -> str:
        cells = (f"{found[key]:,}" for key in ("lines", "code", "tests"))
        return f"| {' | '.join((name, step, part, *cells))} |\n"

    yield _HEAD.format(series=source.series)
    for name in known(paths.SPEEDUPS):
        every = choose(paths.SPEEDUPS, [name], source.series, source.release)
        core = {(held.speedup, step.name) for held in cut(every, CORE) for step in held.steps}
        sums: dict[str, Counter[str]] = {"core": Counter(), "optional": Counter()}
        for step in plan_series(source, every).steps:
            found = lines_of_step(step.name, step.diff)
            part = "core" if (step.speedup, step.name) in core else "optional"
            sums[part] += found
            yield row(f"`{step.speedup}`: `{step.name}`", part, found)
        yield row("**all**", "core", sums["core"])
        yield row("**all**", "both", sums["core"] + sums["optional"])


if __name__ == "__main__":
    cache.atomic_write(LINES_PAGE, "".join(lines_page(sources.get())))
    log.say(f"wrote {LINES_PAGE}")
