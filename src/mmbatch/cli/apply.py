# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch apply`: a branch of a kernel tree with the speed-ups in it, or their diffs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from mmbatch.cli import options
from mmbatch.cli.options import Names, argument, flag, value
from mmbatch.cli.usage import Misuse
from mmbatch.core import log, paths
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel.sources import check_tree
from mmbatch.splice import apply
from mmbatch.splice.manifest import CORE, Manifest, cut, known


def _first(_: click.Context, __: click.Parameter, tree: Path) -> Path:
    if str(tree) in known(paths.SPEEDUPS) and not tree.exists():
        hint = f"write it as in mmbatch apply TREE {tree}"
        raise Misuse(f"{tree} is a speed-up, and the kernel tree comes first", hint)
    return tree


@options.verb("apply")
def command(
    tree: Path = argument(type=options.PATH, callback=_first),
    speedups: Names = options.speedups,
    name: str | None = value("--branch NAME", "Name the branch so, by default mmbatch/SPEEDUP"),
    until: str = options.until(CORE),
    sign_off: bool = options.sign_off,
    dry_run: bool = flag("-n, --dry-run", "Print the diff of each step and write nothing"),
) -> int:
    """Put SPEEDUPs, by default all that support its kernel, into the kernel TREE.

    They become a branch of its git on top of HEAD, one commit for each step; what is checked out
    stays as it is. A tree without git takes what -n prints: mmbatch apply -n TREE | patch -p1
    """
    tree = tree.absolute().resolve()
    series, release = check_tree(tree)
    every = apply.choose(paths.SPEEDUPS, speedups, series, release)
    manifests = cut(every, until)
    name = name or apply.branch_name(manifests)
    if (tree / ".git").exists():
        done = apply.make_branch(
            tree, series, release, manifests, name, sign_off=sign_off, dry_run=dry_run
        )
    elif dry_run:
        contents = apply.contents_in(tree, apply.named_files(series, manifests))
        steps = apply.plan(manifests, series, release, contents)
        done = apply.Branch(steps, "", already="" if steps else str(tree))
    else:
        place = shlex.quote(str(tree))
        hint = f"use what -n prints: mmbatch apply -n {place} | patch -d {place} -p1"
        raise MmbatchError(f"make a branch in {tree}", "it has no git", hint, ExitCode.USAGE)
    if done.already:
        names = ", ".join(held.speedup for held in manifests)
        log.result(f"Already applied: {done.already} has {names}.")
    elif dry_run:
        _print_diffs(done.steps)
    else:
        log.result(f"{name}: {len(done.steps)} commits on {done.base}")
        rows = [(s.subject, str(s.changed), str(s.diff.count("\nnew file "))) for s in done.steps]
        log.table([("subject", "lines changed", "new files"), *rows])
        git = ["git"] if Path.cwd().is_relative_to(tree) else ["git", "-C", str(tree)]
        log.result(f"Author: {done.author}")
        log.result(f"To use them: {shlex.join([*git, 'switch', name])}")
    note = left_out(every, manifests, series)
    if note:
        log.say(note)
    return ExitCode.GOOD


def left_out(every: Sequence[Manifest], manifests: Sequence[Manifest], series: str) -> str:
    """Return a line that says how many steps of some speed-ups were left out, if any were."""
    total, taken = (
        sum(series in step.kernels for held in some for step in held.steps)
        for some in (every, manifests)
    )
    words = f"these are the core, {taken} of {total} patches: --until all adds {total - taken}"
    return words if taken < total else ""


def _print_diffs(steps: Sequence[apply.Applied]) -> None:
    """Print the steps as they are, bytes and tabs included."""
    for number, step in enumerate(steps, 1):
        lines = apply.wrap(step.body).split("\n")
        body = "\n".join(f"    {line}".rstrip() for line in lines)
        head = f"[{number}/{len(steps)}] {step.subject}\n\n{body}\n\n"
        click.echo((head + step.diff).encode(errors="surrogateescape"))
