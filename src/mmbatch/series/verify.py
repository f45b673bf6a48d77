# SPDX-License-Identifier: GPL-2.0-only
"""Verify a series before it is posted: with git am, builds, checks and checkpatch."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mmbatch.core import cache, paths, process
from mmbatch.core.errors import MmbatchError
from mmbatch.hosted import check
from mmbatch.hosted.program import Program
from mmbatch.kernel import kbuild
from mmbatch.kernel.sources import Source
from mmbatch.series.export import Series, repository, run_git
from mmbatch.splice.apply import Spliced, copy_tree, write
from mmbatch.splice.manifest import Manifest, load

_TIMEOUT_S = 1800
_NOBODY = "mmbatch <mmbatch@localhost>"
_PLACE = re.compile(r"^(?:\S*?/)?((?:arch|include|init|kernel|lib|mm)/[^\s:]+):[\d:]* ")
_OWN_HEADER = re.compile(r"(?:include|lib|mm|arch/x86)/(?!.*_kunit).*\.h")
# sparse 0.6.4 does not know a word that kernels from 7.2 on use, whose build goes without it then,
# nor that the length of a literal is constant, which each module of theirs asserts.
_SPARSE = "CHECK=sparse -D__typeof_unqual__=__typeof__ '-D__builtin_strlen(x)=(sizeof(x) - 1)'"
_OBJECTION = re.compile(r"^(?:.*?:\d+: )?(ERROR|WARNING|CHECK):([A-Z0-9_]+): (.*)$")
_ANY_SERIES = {
    "FILE_PATH_CHANGES": "which MAINTAINERS entry the new files belong to is for the maintainer "
    "to say who takes them",
}
Found = tuple[str, list[str]]
"""What was checked, and what is wrong with it."""


def applies(series: Series, mails: Sequence[Path]) -> list[str]:
    """Apply the mails with git am to the files that they touch; return what is wrong after that.

    The rest of the tree can't differ: a mail that touches another file does not apply.
    """
    with cache.temporary_dir("am") as work:
        git, _ = repository(work / "git", series.base, _NOBODY)
        try:
            names = [os.fspath(mail.absolute()) for mail in mails]
            run_git(git.path, "am", "--quiet", "--empty=drop", *names)
        except MmbatchError as error:
            return [error.problem.strip().splitlines()[0]]
        wanted = dict(series.base)
        for step in series.steps:
            wanted |= step.contents
        found = git.read("HEAD", run_git(git.path, "ls-files").splitlines())
        names = sorted(wanted.keys() | found.keys())
        differ = [name for name in names if wanted.get(name) != found.get(name)]
        return [f"{name} is not what apply makes of it" for name in differ]


def built(
    series: Series, source: Source, manifests: Sequence[Manifest], jobs: int
) -> Iterator[Found]:
    """Build and check the tree after each patch; yield what each brought that is wrong."""
    with cache.temporary_dir("bisect") as work:
        tree = work / "tree"
        for path in (tree, work / "out"):
            path.mkdir()
        copy_tree(source, tree, {})
        touched = {name for step in series.steps for name in step.contents}
        goals = {"kernel/softirq.o"} | _objects(series, touched & series.base.keys())
        goals |= {name for each in manifests if each.hosted for name in each.hosted.objects}
        seen = set(_complaints(source, work, goals, jobs))
        total = hashlib.sha256()
        for step in series.steps:
            total.update(step.diff.encode(errors="surrogateescape"))
            for name, content in step.contents.items():
                write(tree / name, content)
            goals |= _objects(series, step.contents)
            try:
                complaints = _complaints(source, work, goals, jobs)
            except MmbatchError as error:
                complaints = [" ".join(error.problem.split())]
            yield f"build and sparse, {step.subject}", [c for c in complaints if c not in seen]
            seen |= set(complaints)
            own = [manifest for manifest in manifests if manifest.speedup == step.speedup]
            if own and is_checkable(tree, own[0], source.series):
                spliced = Spliced(tree, f"{source.ident}-{total.hexdigest()[:12]}", ())
                tally = check.Tally()
                check.run(Program(source, own, jobs=jobs, tree=spliced), tally, ["equality"])
                yield f"bytes, {step.subject}", tally.failed


def _objects(series: Series, names: Iterable[str]) -> set[str]:
    """Return what C files are compiled to, but those that others of the series include."""
    code = b"".join(text for step in series.steps for text in step.contents.values()).decode()
    sources = (Path(name) for name in names if name.endswith(".c"))
    return {str(c.with_suffix(".o")) for c in sources if f'#include "{c.name}"' not in code}


def is_checkable(tree: Path, manifest: Manifest, series: str) -> bool:
    """Return whether a tree of a kernel series has what a speed-up's checks run, on x86.

    These are its objects, with the functions and variables that the checks use, and the headers
    of all its steps but those of tests and of other architectures.
    """
    if manifest.hosted is None:
        return False
    files = [file for step in load(manifest.directory).steps_on(series) for file in step.files]
    headers = [tree / file.place for file in files if _OWN_HEADER.fullmatch(file.place)]
    names = (*manifest.hosted.objects, *manifest.hosted.added)
    sources = [path for name in names for path in tree.glob(name.removesuffix("o") + "[cS]")]
    code = "".join(path.read_text(encoding="utf-8") for path in sources)
    is_all = len(sources) == len(names) and all(path.exists() for path in headers)
    return is_all and all(re.search(rf"\b{name}\b", code) for name in manifest.hosted.extras)


def _complaints(source: Source, work: Path, goals: Iterable[str], jobs: int) -> list[str]:
    """Build objects of work/tree with W=1 and sparse; return the warnings, without line numbers.

    Objects that nothing has changed for are not rebuilt, because their warnings are known.
    """
    tree, out = work / "tree", work / "out"
    log = cache.logs() / f"bisect-{source.ident}.log"
    config = (paths.HOSTED / "kernel.config").read_text(encoding="utf-8") + "CONFIG_KUNIT=y\n"
    for path in sorted((*tree.glob("mm/*.kunitconfig"), *tree.glob("lib/*.kunitconfig"))):
        if not (source.path / path.relative_to(tree)).exists():
            config += path.read_text(encoding="utf-8")
    make: list[str | Path] = ["make", "-s", "-C", tree, f"O={out}", f"-j{jobs}"]
    if any(name.startswith("arch/arm64/") for name in goals):
        make += ["ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-"]
    kbuild.allnoconfig(make, out, config, source.release, log)
    action = f"build Linux {source.release}"
    process.run([*make, "prepare"], action=action, log=log, timeout_s=_TIMEOUT_S)
    output = ""
    for group in kbuild.groups(sorted(goals)):
        words = [*make, "-k", "W=1", "C=1", _SPARSE, *group]
        run = process.run(words, action=action, check=False, timeout_s=_TIMEOUT_S)
        output += run.stdout + run.stderr
        if run.rc != 0 and "error:" not in output:
            last = "".join(output.strip().splitlines()[-1:])
            raise MmbatchError(action, f"make ended with {run.rc}: {last}", "build it by hand")
    if "specified, but sparse is not available" in output:
        raise MmbatchError(action, "the kernel's build refuses this sparse", "get another")
    lines = (_PLACE.sub(r"\1: ", line.strip()) for line in output.splitlines())
    return [line for line in lines if "warning:" in line or "error:" in line]


class Objection(NamedTuple):
    """A complaint of checkpatch.pl; its level is ERROR, WARNING or CHECK."""

    level: str
    type: str
    words: str


def explanations(manifests: Iterable[Manifest]) -> dict[str, str]:
    """Return type of complaint to why it stays, of all series and of some speed-ups."""
    own = {each.type: each.why for manifest in manifests for each in manifest.checkpatch}
    return _ANY_SERIES | own


def checkpatch(tree: Path, patches: Sequence[Path], *, signed_off: bool) -> list[list[Objection]]:
    """Return what a tree's own checkpatch.pl --strict reports about each of some patches."""
    root = tree.absolute()
    argv: list[str | Path] = ["perl", root / "scripts/checkpatch.pl", f"--root={root}", "--strict"]
    argv += ["--terse", "--show-types", "--no-summary", "--color=never"]
    argv += [] if signed_off else ["--no-signoff"]
    reported = []
    # It writes the CamelCase names of a tree into its working directory, and so not into the tree.
    with tempfile.TemporaryDirectory(prefix="mmbatch-") as directory:
        for patch in patches:
            action, words = f"run checkpatch.pl on {patch.name}", [*argv, patch.absolute()]
            done = process.run(words, action=action, cwd=Path(directory), check=False)
            matches = filter(None, map(_OBJECTION.match, done.stdout.splitlines()))
            found = [Objection(*match.groups()) for match in matches]
            if done.rc != 0 and not found:
                found = [Objection("ERROR", "CHECKPATCH", done.stderr.strip() or "it failed")]
            reported.append(found)
    return reported


def unexplained(found: Sequence[Objection], why: Iterable[str]) -> list[Objection]:
    """Return what no explanation covers; an error can't be explained away."""
    known = set(why)
    return [each for each in found if each.level == "ERROR" or each.type not in known]


def explained(found: Iterable[Objection], why: dict[str, str]) -> list[str]:
    """Return a sentence for each type that was met and is explained, for the cover letter."""
    counts = Counter(objection.type for objection in found if objection.type in why)
    return [f"{count} x {name}: {why[name]}." for name, count in counts.items()]
