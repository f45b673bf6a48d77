# SPDX-License-Identifier: GPL-2.0-only
"""Make a series that `git am` takes: the steps of `apply` as mails, with a cover letter."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mmbatch.bench.record import Record
from mmbatch.core import process
from mmbatch.core.cache import temporary_dir
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel.git import Change, GitTree
from mmbatch.kernel.sources import Source
from mmbatch.report import text as mail
from mmbatch.report.words import compared, who_benefits
from mmbatch.series.figures import of_series
from mmbatch.splice import branch
from mmbatch.splice.apply import Applied, contents_in, named_files, plan
from mmbatch.splice.branch import Credit
from mmbatch.splice.manifest import Manifest, load

_OWN = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
_SUBJECT = "*** SUBJECT HERE ***"
_BLURB = "*** BLURB HERE ***"
_SIGNATURE = "\n-- \n"
_COVER = re.compile(r"(v\d+-)?0000-cover-letter\.patch")


@dataclass(frozen=True)
class Letter:
    """How the mails look.

    Attributes:
        prefix: what stands in the subject's brackets before the number.
        reroll: the version of the series; None for the first.
        credit: whose the patches are.
    """

    prefix: str = "PATCH"
    reroll: int | None = None
    credit: Credit = field(default_factory=Credit)

    def author(self) -> str:
        """Return whose the patches are, "Name <mail>".

        Raises:
            MmbatchError: the letter does not say, and git knows no name.
        """
        return self.credit.author or GitTree(Path.cwd()).identity()


@dataclass(frozen=True)
class Series:
    """What a series is made of.

    Attributes:
        base: path to content of those of the named files that the tree has.
        steps: what its patches do.
    """

    base: Mapping[str, bytes]
    steps: Sequence[Applied]


def plan_series(source: Source, manifests: Sequence[Manifest]) -> Series:
    """Find out what the patches for a tree without the speed-ups are; it is only read.

    Raises:
        MmbatchError: exit code 3; a hook does not match exactly. 2; the tree has it already.
    """
    base = contents_in(source.path, named_files(source.series, manifests))
    steps = plan(manifests, source.series, source.release, base)
    if not any(step.speedup == manifests[-1].speedup for step in steps):
        raise MmbatchError(
            f"make a series for {source.origin}",
            f"it has {manifests[-1].speedup} in it already",
            "give a tree without it",
            ExitCode.USAGE,
        )
    return Series(base, steps)


def write(
    series: Series, letter: Letter, directory: Path, figures: Sequence[str] = ()
) -> list[Path]:
    """Write the mails into a directory, which must exist.

    The commits are made in a repository of our own with nothing but the named files: the
    patches are the same as those of a branch on the whole tree.

    Args:
        series: the patches.
        letter: how the mails look.
        directory: where they go.
        figures: what each patch gains, as text for its message.

    Returns:
        Their paths in order, the cover letter first, which `fill_cover` must complete.

    Raises:
        MmbatchError: git knows no name to send them in, or failed.
    """
    author = letter.author()
    user = GitTree(Path.cwd()).identity() if letter.credit.sign_off else author
    ending = letter.credit.text(user)
    texts = [f"\n\n{text}" if text else "" for text in figures] or [""] * len(series.steps)
    changes = [
        branch.change(step, text + ending) for step, text in zip(series.steps, texts, strict=True)
    ]
    with temporary_dir("export") as work:
        git, base = repository(work / "git", series.base, user)
        (work / "index").mkdir()
        tip = git.write(base, changes, work / "index", author)
        words = ["format-patch", "--quiet", "--numbered", "--cover-letter", "--zero-commit"]
        words += ["--signature=mmbatch", "--no-renames", f"--subject-prefix={letter.prefix}"]
        words += [f"--reroll-count={letter.reroll}"] if letter.reroll is not None else []
        words += ["--output-directory", os.path.relpath(directory, git.path), f"{base}..{tip}"]
        run_git(git.path, "-c", "core.abbrev=12", *words)
    paths = sorted(directory.glob("*.patch"))
    cover = next(path for path in paths if _COVER.fullmatch(path.name))
    return [cover, *(path for path in paths if path != cover)]


def fill_cover(cover: Path, subject: str, text: str, commit: str = "") -> None:
    """Put subject and text into a cover letter that `write` left without.

    Args:
        cover: the letter.
        subject: the subject.
        text: the text.
        commit: on which the series is based; empty if it is not known.
    """
    old = cover.read_text(encoding="utf-8")
    assert old.count(_SUBJECT) == old.count(_BLURB) == 1
    new = old.replace(_SUBJECT, subject).replace(_BLURB, text.strip())
    if commit:
        new = f"\nbase-commit: {commit}{_SIGNATURE}".join(new.rsplit(_SIGNATURE, 1))
    cover.write_text(new, encoding="utf-8")


def add_note(patch: Path, text: str) -> None:
    """Put a paragraph into a patch's mail where git am leaves it out, before the diffstat."""
    lines = "\n".join(mail.paragraph(text, ""))
    old = patch.read_text(encoding="utf-8", errors="surrogateescape")
    new = old.replace("\n---\n", f"\n---\n{lines}\n\n", 1)
    patch.write_text(new, encoding="utf-8", errors="surrogateescape")


def base_commit(tree: Path, series: Series) -> str:
    """Return the commit on which a series for a git tree is based, or nothing.

    There is none where a file that the series touches differs from what is checked out.
    """
    git = GitTree(tree)
    head = git.head()
    names = [name for step in series.steps for name in step.contents]
    return head if git.read(head, {*names, *series.base}) == series.base else ""


def repository(place: Path, contents: Mapping[str, bytes], signer: str) -> tuple[GitTree, str]:
    """Make a git repository with one commit that has some files; return it and the commit."""
    place.mkdir()
    run_git(place, "init", "--quiet", "--initial-branch=base")
    name, _, mail = signer.rstrip(">").partition(" <")
    run_git(place, "config", "user.name", name)
    run_git(place, "config", "user.email", mail)
    empty = run_git(place, "hash-object", "-t", "tree", "-w", "--stdin")
    root = run_git(place, "commit-tree", empty, "-m", "empty")
    git = GitTree(place)
    work = place / ".git" / "mmbatch"
    work.mkdir()
    change = Change("base", "the files that the series touches", contents)
    base = git.write(root, [change], work, signer)
    return git, base


def run_git(place: Path, *words: str) -> str:
    """Run git in a repository of ours, whatever the user's settings are; return what it printed."""
    done = process.run(
        ["git", "-C", place, *words], action=f"run git {words[0]} in a copy of ours", env=_OWN
    )
    return done.stdout.strip()


def cover_text(
    manifests: Sequence[Manifest],
    source: Source,
    steps: Sequence[Applied],
    measured: Record | None,
    explained: Sequence[str] = (),
) -> str:
    """Write the body of the cover letter.

    Args:
        manifests: the speed-ups of the series, the one that it is about last.
        source: the kernel that it is made for.
        steps: what its patches do.
        measured: a run of that one on this kernel; None where there is none.
        explained: what checkpatch reports and why it stays.

    Returns:
        ASCII of at most 72 columns, but for words that are longer.
    """
    return "\n".join(_cover_lines(manifests, source, steps, measured, explained)) + "\n"


def _cover_lines(
    manifests: Sequence[Manifest],
    source: Source,
    steps: Sequence[Applied],
    measured: Record | None,
    explained: Sequence[str],
) -> Iterator[str]:
    manifest = manifests[-1]
    for paragraph in who_benefits(manifest.directory, for_mail=True):
        yield from mail.paragraph(paragraph, "")
        yield ""
    differences = list(compared(manifest.directory))
    for paragraph in differences:
        yield from mail.paragraph(paragraph, "  " if paragraph.startswith("- ") else "")
        if not paragraph.startswith("- ") or paragraph is differences[-1]:
            yield ""
    others = [other.speedup for other in manifests[:-1]]
    if others:
        yield from mail.paragraph(f"The first patches are {', '.join(others)}, which it needs.", "")
        yield ""
    yield from mail.paragraph(f"Made for Linux {source.release} ({source.origin}).", "")
    yield ""
    if measured is None:
        yield from mail.paragraph("Not measured by the sender. To measure it:", "")
        yield ""
        yield from mail.command(f"./mmbatch bench {manifest.speedup} --kernel {source.series}")
    elif figures := of_series(steps, measured):
        yield from mail.command(measured.command)
        yield ""
        yield from figures.split("\n")
    else:
        yield from mail.paragraph(
            "Measured with the kernel's own objects, base and patched, linked into one process, "
            "after both had produced identical memory. The first line repeats it.",
            "",
        )
        left_out = load(manifest.directory).step_names[len(manifest.step_names) :]
        if left_out:
            yield ""
            yield from mail.paragraph(
                f"The run has all steps. These are not in the series: {', '.join(left_out)}. Rows "
                "of methods that they add are for comparison, and auto may use these methods.",
                "",
            )
        yield ""
        yield from mail.report(measured, cover=True).rstrip("\n").split("\n")
    if explained:
        yield ""
        yield from mail.paragraph("What checkpatch.pl --strict reports about the series:", "")
        for sentence in explained:
            yield from mail.paragraph(f"- {sentence}")
