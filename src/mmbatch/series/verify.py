# SPDX-License-Identifier: GPL-2.0-only
"""Verify a series before it is posted.

It applies with git am, builds and passes its checks patch by patch, and checkpatch reports nothing
that the speed-up does not explain.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mmbatch.core import cache, paths, process
from mmbatch.core.cache import temporary_dir
from mmbatch.core.errors import MmbatchError
from mmbatch.hosted import check
from mmbatch.hosted.program import Program
from mmbatch.kernel import kbuild
from mmbatch.kernel.sources import Source
from mmbatch.series import export
from mmbatch.series.export import Series
from mmbatch.splice.apply import Applied, write
from mmbatch.splice.manifest import Manifest, load
from mmbatch.splice.tree import Spliced

_TIMEOUT_S = 1800
_NOBODY = "mmbatch <mmbatch@localhost>"
_PLACE = re.compile(r"^(?:\S*?/)?((?:arch|include|init|kernel|lib|mm)/[^\s:]+):[\d:]* ")
_SOURCES = (".c", ".S")
_OWN_HEADER = re.compile(r"(?:include|lib|mm|arch/x86)/(?!.*_kunit).*\.h")
_ALWAYS = ("kernel/softirq.o",)
_KUNIT = "CONFIG_KUNIT=y\n"
# sparse 0.6.4 does not know a word that kernels from 7.2 on use, whose build goes without it then,
# nor that the length of a literal is constant, which each module of theirs asserts.
_SPARSE = "CHECK=sparse -D__typeof_unqual__=__typeof__ '-D__builtin_strlen(x)=(sizeof(x) - 1)'"
_NO_SPARSE = "specified, but sparse is not available"
_OBJECTION = re.compile(r"^(?:.*?:\d+: )?(ERROR|WARNING|CHECK):([A-Z0-9_]+): (.*)$")
_ANY_SERIES = {
    "FILE_PATH_CHANGES": "which MAINTAINERS entry the new files belong to is for the maintainer "
    "to say who takes them",
}


@dataclass
class Report:
    """How the checks went: one line for each that failed, and how many were good."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)

    def judge(self, title: str, problems: Sequence[str], say: Callable[[str], None]) -> None:
        """Count a check, and print how it ended."""
        if problems:
            self.failed += [f"{title}: {problem}" for problem in problems]
            say(f"FAIL  {title}: {problems[0]}")
        else:
            self.passed += 1
            say(f"ok    {title}")


def applies(series: Series, mails: Sequence[Path]) -> list[str]:
    """Apply the mails with git am to the files that they touch; return what is wrong after that.

    The rest of the tree can't differ: a mail that touches another file does not apply.
    """
    with temporary_dir("am") as work:
        git, base = export.repository(work / "git", series.base, _NOBODY)
        export.run_git(git.path, "reset", "--quiet", "--hard", base)
        try:
            names = [os.fspath(mail.absolute()) for mail in mails]
            export.run_git(git.path, "am", "--quiet", "--empty=drop", *names)
        except MmbatchError as error:
            return [error.problem.strip().splitlines()[0]]
        wanted = dict(series.base)
        for step in series.steps:
            wanted |= step.contents
        found = {
            os.fspath(path.relative_to(git.path)): path.read_bytes()
            for path in git.path.rglob("*")
            if path.is_file() and ".git" not in path.relative_to(git.path).parts
        }
        names = sorted(wanted.keys() | found.keys())
        return [
            f"{name} is not what apply makes of it"
            for name in names
            if wanted.get(name) != found.get(name)
        ]


@dataclass(frozen=True)
class Built:
    """What one patch brought, on top of those before it.

    Attributes:
        step: the patch.
        complaints: what compiler (W=1) and sparse say that they did not say before it.
        checks: what the plain checks of its speed-up found wrong; None where these have nothing
            to run yet, since a later patch adds the objects.
    """

    step: Applied
    complaints: list[str]
    checks: list[str] | None


class Bisection:
    """Builds and checks every patch of some series, each on top of those before it."""

    def __init__(self, source: Source, jobs: int) -> None:
        """Know of nothing that was built."""
        self._source = source
        self._jobs = jobs
        self._known: dict[tuple[str, ...], Built] = {}

    def steps(self, series: Series, manifests: Sequence[Manifest]) -> Iterator[Built]:
        """Yield what each patch brought.

        Patches that begin another series, and were built for that, are not built again.
        """
        diffs = tuple(step.diff for step in series.steps)
        if all(diffs[: n + 1] in self._known for n in range(len(diffs))):
            yield from (self._known[diffs[: n + 1]] for n in range(len(diffs)))
            return
        with temporary_dir("bisect") as work:
            tree = work / "tree"
            process.run(["cp", "-al", self._source.path, tree], action="copy the tree")
            build = _Build(self._source, work, self._jobs)
            goals = _first_goals(series, manifests)
            seen = set(build.complaints(sorted(goals)))
            for number, step in enumerate(series.steps):
                for name, content in step.contents.items():
                    write(tree / name, content)
                    goals |= {_object(name)} if name.endswith(".c") else set()
                at = diffs[: number + 1]
                if at not in self._known:
                    try:
                        complaints = build.complaints(sorted(goals))
                        new = [line for line in complaints if line not in seen]
                        seen |= set(complaints)
                    except MmbatchError as error:
                        new = [" ".join(error.problem.split())]
                    checks = self._checks(tree, at, step, manifests)
                    self._known[at] = Built(step, new, checks)
                yield self._known[at]

    def _checks(
        self, tree: Path, diffs: tuple[str, ...], step: Applied, manifests: Sequence[Manifest]
    ) -> list[str] | None:
        """Run the plain checks of a patch's speed-up in a tree, where there is what they need."""
        own = [manifest for manifest in manifests if manifest.speedup == step.speedup]
        if not own or not is_checkable(tree, own[0], self._source.series):
            return None
        digest = hashlib.sha256("".join(diffs).encode(errors="surrogateescape")).hexdigest()[:12]
        spliced = Spliced(tree, f"{self._source.ident}-{digest}", ())
        tally = check.Tally()
        program = Program(self._source, own, jobs=self._jobs, tree=spliced)
        check.run(program, tally, ["equality"])
        return tally.failed


def is_checkable(tree: Path, manifest: Manifest, series: str) -> bool:
    """Return whether a tree of a kernel series has what a speed-up's checks run, on x86.

    These are the objects that it adds, with the functions and variables that the checks use, and
    its headers of all steps, for all architectures or for x86, but not those of tests: the checks
    ask for each method there by its name, and expect what it does when all steps are there.
    """
    if manifest.hosted is None:
        return False
    sources = [tree / name for name in manifest.hosted.added]
    files = [file for step in load(manifest.directory).steps for file in step.files]
    places = {file.place for file in files if series in file.kernels}
    headers = [tree / name for name in places if _OWN_HEADER.fullmatch(name)]
    found = [
        [place for end in _SOURCES if (place := path.with_suffix(end)).exists()] for path in sources
    ]
    if not all(path.exists() for path in headers) or not all(found):
        return False
    code = "".join(path.read_text(encoding="utf-8") for places in found for path in places)
    return all(re.search(rf"\b{name}\b", code) for name in manifest.hosted.extras)


def _first_goals(series: Series, manifests: Sequence[Manifest]) -> set[str]:
    """Return the objects that are built before the first patch: those of all files it touches."""
    hosted = {name for m in manifests if m.hosted for name in m.hosted.objects}
    later = {name for step in series.steps for name in step.contents}
    touched = {_object(name) for name in later if name.endswith(".c") and name in series.base}
    return {*_ALWAYS, *hosted, *touched}


class _Build:
    """An output directory in which one tree is built again and again."""

    def __init__(self, source: Source, work: Path, jobs: int) -> None:
        self._source = source
        self._work = work
        self._jobs = jobs
        self._log = cache.logs() / f"bisect-{source.ident}.log"
        (work / "out").mkdir()

    def complaints(self, goals: Sequence[str]) -> list[str]:
        """Build objects with W=1 and sparse; return the warnings, without line numbers.

        Objects that nothing has changed for are not rebuilt, because their warnings are known.
        """
        tree, out = self._work / "tree", self._work / "out"
        config = (paths.HOSTED / "kernel.config").read_text(encoding="utf-8") + _KUNIT
        for path in sorted((*tree.glob("mm/*.kunitconfig"), *tree.glob("lib/*.kunitconfig"))):
            if not (self._source.path / path.relative_to(tree)).exists():
                config += path.read_text(encoding="utf-8")
        make: list[str | Path] = ["make", "-s", "-C", tree, f"O={out}", f"-j{self._jobs}"]
        kbuild.allnoconfig(make, out, config, self._source.release, self._log)
        action = f"build Linux {self._source.release}"
        run = process.run([*make, "prepare"], action=action, log=self._log, timeout_s=_TIMEOUT_S)
        output = ""
        for group in kbuild.groups(goals):
            run = process.run(
                [*make, "-k", "W=1", "C=1", _SPARSE, *group],
                action=action,
                check=False,
                timeout_s=_TIMEOUT_S,
            )
            output += run.stdout + run.stderr
            if run.rc != 0 and "error:" not in output:
                found = [f"make ended with {run.rc}", *output.strip().splitlines()[-1:]]
                raise MmbatchError(action, ": ".join(found), "build it by hand")
        if _NO_SPARSE in output:
            raise MmbatchError(action, "the kernel's build refuses this sparse", "get another")
        lines = (_PLACE.sub(r"\1: ", line.strip()) for line in output.splitlines())
        return [line for line in lines if "warning:" in line or "error:" in line]


def _object(name: str) -> str:
    return name.removesuffix(".c") + ".o"


@dataclass(frozen=True)
class Objection:
    """One complaint: ERROR, WARNING or CHECK, its type, and its words."""

    level: str
    type: str
    words: str


def explanations(manifests: Iterable[Manifest]) -> dict[str, str]:
    """Return type of complaint to why it stays, of all series and of some speed-ups."""
    own = {each.type: each.why for manifest in manifests for each in manifest.checkpatch}
    return _ANY_SERIES | own


def checkpatch(tree: Path, patches: Sequence[Path], *, signed_off: bool) -> list[list[Objection]]:
    """Return what a tree's own checkpatch.pl --strict reports about each of some patches.

    The script writes the CamelCase names of a tree into its working directory, and so not into
    the tree.
    """
    if not (tree / "scripts" / "checkpatch.pl").exists():
        absent = Objection("ERROR", "CHECKPATCH", "the tree has no scripts/checkpatch.pl")
        return [[absent] for _ in patches]
    options = [] if signed_off else ["--no-signoff"]
    options.append(f"--root={tree.absolute()}")
    with tempfile.TemporaryDirectory(prefix="mmbatch-") as directory:
        return [_checkpatch(tree, patch, options, Path(directory)) for patch in patches]


def _checkpatch(
    tree: Path, patch: Path, options: Sequence[str], directory: Path
) -> list[Objection]:
    words = ["--strict", "--terse", "--show-types", "--no-summary", "--color=never"]
    script = tree.absolute() / "scripts/checkpatch.pl"
    done = process.run(
        ["perl", script, *words, *options, patch.absolute()],
        action=f"run checkpatch.pl on {patch.name}",
        cwd=directory,
        check=False,
    )
    found = [match for line in done.stdout.splitlines() if (match := _OBJECTION.match(line))]
    if done.rc != 0 and not found:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        return [Objection("ERROR", "CHECKPATCH", *(last or [f"it ended with {done.rc}"]))]
    return [Objection(*match.groups()) for match in found]


def unexplained(found: Sequence[Objection], why: Iterable[str]) -> list[Objection]:
    """Return what no explanation covers; an error can't be explained away."""
    known = set(why)
    return [each for each in found if each.level == "ERROR" or each.type not in known]


def explained(found: Iterable[Objection], why: dict[str, str]) -> list[str]:
    """Return a sentence for each type that was met and is explained, for the cover letter."""
    counts: dict[str, int] = {}
    for objection in found:
        if objection.type in why:
            counts[objection.type] = counts.get(objection.type, 0) + 1
    return [f"{count} x {name}: {why[name]}." for name, count in counts.items()]
