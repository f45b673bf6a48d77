# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch apply`: a branch or a copy of a kernel tree with the speed-ups in it."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from mmbatch.cli import answers, options
from mmbatch.cli.usage import Misuse
from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.console import Console, output_options
from mmbatch.core.disk import real_path
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel.sources import check_tree
from mmbatch.splice import apply, plan
from mmbatch.splice.manifest import ALL, cut


@click.command("apply")
@click.argument("tree", type=click.Path(path_type=Path))
@options.speedups
@click.option(
    "--branch", metavar="NAME", help="Give the branch this name, by default mmbatch/SPEEDUP"
)
@options.until(ALL)
@options.credit
@click.option("-n", "--dry-run", is_flag=True, help="Print the diff of each step and write nothing")
@click.option("--undo", is_flag=True, help="Delete the branch if it is still as apply left it")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write a copy to DIR, for a tree without git",
)
@options.json_file
@output_options
def command(
    console: Console,
    *,
    tree: Path,
    speedups: tuple[str, ...],
    branch: str | None,
    until: str,
    credit: apply.Credit,
    dry_run: bool,
    undo: bool,
    output: Path | None,
    json_file: Path | None,
) -> int:
    """Put SPEEDUPs, by default all that support its kernel, into the kernel TREE.

    In a git tree they become a branch on top of HEAD, one commit for each step; what is checked
    out stays as it is. A tree without git stays as it is too, and a copy is written.
    """
    if undo and dry_run:
        raise Misuse("--undo and -n exclude each other", "leave out one of them")
    options.require_one(until, speedups)
    options.require_writable(("--json", json_file))
    tree = real_path(tree, f"use {tree} as a kernel tree")
    series, release = check_tree(tree)
    manifests = cut(plan.choose(paths.SPEEDUPS, speedups, series, release), until)
    target = plan.Target(tree, series, release, manifests, paths.MACROS)
    branch_wanted = branch or apply.branch_name(manifests)
    has_git = (tree / ".git").exists()
    _check_options(
        tree,
        has_git=has_git,
        output=output,
        for_git=bool(branch or undo or credit != apply.Credit()),
    )
    names = [manifest.speedup for manifest in manifests]
    if undo:
        commit = apply.take_back(tree, branch_wanted)
        console.result(f"Deleted {branch_wanted}, which ended at {commit}.")
        undone = answers.Apply(release, names, branch_wanted, undone=commit)
        options.write_answer(json_file, "apply", undone)
        return ExitCode.GOOD
    cache = Cache.open()
    if has_git:
        result = apply.to_branch(cache, target, branch_wanted, console.say, credit, dry_run=dry_run)
    else:
        result = apply.to_copy(cache, target, output, console.say, dry_run=dry_run)
    if result.already is not None:
        console.result(f"Already applied: {result.already} has {', '.join(names)}.")
    elif dry_run:
        _print_diffs(console, result)
    elif result.base is not None:
        _print_branch(console, tree, branch_wanted, result)
    else:
        _print_steps(console, result)
        console.result(
            f"{output} is linux {release} with {_count(len(result.steps), 'step')} on top."
        )
    answer = answers.Apply(
        release,
        names,
        branch_wanted if has_git else None,
        result.base,
        None if output is None else str(output),
        dry_run,
        result.already,
        steps=[_step(step, with_diff=dry_run) for step in result.steps],
    )
    options.write_answer(json_file, "apply", answer)
    return ExitCode.GOOD


def _check_options(tree: Path, *, has_git: bool, output: Path | None, for_git: bool) -> None:
    """Raise MmbatchError for options that suit the other kind of tree."""
    if has_git and output is not None:
        problem, hint = "-o DIR, and it has git, where a branch is made", "leave out -o"
    elif not has_git and for_git:
        problem = "--branch, --author, --trailer, --signoff or --undo, and it has no git"
        hint = "leave them out, and name a directory for a copy with -o DIR"
    else:
        return
    raise MmbatchError(f"apply to {tree}", problem, hint, ExitCode.USAGE)


def _step(step: plan.Planned, *, with_diff: bool) -> answers.Step:
    applied = step.applied
    diff = applied.diff.encode(errors="surrogateescape").decode(errors="replace")
    new = applied.diff.count("\nnew file mode ")
    return answers.Step(applied.subject, applied.changed, new, diff if with_diff else "")


def _print_diffs(console: Console, result: plan.Result) -> None:
    """Print the steps as they are, bytes and tabs included."""
    for number, step in enumerate(result.steps, 1):
        body = "\n".join(
            f"    {line}".rstrip() for line in apply.wrap(step.applied.body).split("\n")
        )
        head = f"[{number}/{len(result.steps)}] {step.applied.subject}\n\n{body}\n\n"
        text = (head + step.applied.diff).encode(errors="surrogateescape")
        click.echo(text, err=console.to_stderr)


def _print_steps(console: Console, result: plan.Result) -> None:
    rows = []
    for step in (_step(step, with_diff=False) for step in result.steps):
        parts = [_count(step.changed, "line") + " changed"] if step.changed else []
        parts += [_count(step.new_files, "new file")] if step.new_files else []
        rows.append((f"  {step.subject}", ", ".join(parts)))
    console.table(rows)


def _print_branch(console: Console, tree: Path, branch: str, result: plan.Result) -> None:
    console.result(f"{branch}: {_count(len(result.steps), 'commit')} on {result.base}")
    _print_steps(console, result)
    git = ["git"] if Path.cwd().is_relative_to(tree) else ["git", "-C", str(tree)]
    console.result(f"Author: {result.author}")
    console.result(f"To use them: {shlex.join([*git, 'switch', branch])}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
