# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch apply`: a branch or a copy of a kernel tree with the speed-ups in it."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from mmbatch.cli import options as params
from mmbatch.core import paths as checkout
from mmbatch.core.cache import Cache
from mmbatch.core.console import Console, output_options
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel.sources import check_tree
from mmbatch.report import matrix as support
from mmbatch.splice import apply, plan
from mmbatch.splice import copy as applycopy


def _print_matrix(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(support.page(checkout.SPEEDUPS), nl=False)
        context.exit()


@click.command("apply", short_help="Put the speed-ups into a kernel tree, as a branch.")
@click.argument("tree", type=click.Path(path_type=Path))
@params.speedups
@click.option("--branch", metavar="NAME", help="Name of the branch; by default mmbatch/SPEEDUP.")
@click.option("-s", "--signoff", "sign_off", is_flag=True, help="Add your Signed-off-by line.")
@click.option("-n", "--dry-run", is_flag=True, help="Print the diff of each step, write nothing.")
@click.option("--undo", is_flag=True, help="Delete the branch, if it still is as it was made.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where to write a copy, for a tree without git.",
)
@click.option(
    "--matrix", is_flag=True, is_eager=True, expose_value=False, hidden=True, callback=_print_matrix
)
@output_options
def command(
    console: Console,
    *,
    tree: Path,
    speedups: tuple[str, ...],
    branch: str | None,
    sign_off: bool,
    dry_run: bool,
    undo: bool,
    output: Path | None,
) -> int:
    """Put SPEEDUPs, by default all that suit its kernel, into the kernel TREE.

    In a git tree they become a branch on top of HEAD, one commit for each step; what is checked
    out stays as it is. A tree without git stays as it is too, and a copy is written.
    """
    if undo and dry_run:
        raise click.UsageError("--undo and -n exclude each other.")
    tree = tree.absolute().resolve()
    series, release = check_tree(tree)
    manifests = plan.choose(checkout.SPEEDUPS, speedups, series, release)
    target = plan.Target(tree, series, release, manifests, checkout.MACROS)
    branch_wanted = branch or apply.branch_name(manifests)
    _check_options(
        tree,
        has_git=(tree / ".git").exists(),
        output=output,
        for_git=bool(branch or sign_off or undo),
    )
    if undo:
        commit = apply.take_back(tree, branch_wanted)
        console.result(f"Deleted {branch_wanted}, which ended at {commit}.")
        return ExitCode.GOOD
    cache = Cache.open()
    if (tree / ".git").exists():
        result = apply.to_branch(
            cache, target, branch_wanted, console.say, sign_off=sign_off, dry_run=dry_run
        )
    else:
        result = applycopy.to_copy(cache, target, output, console.say, dry_run=dry_run)
    if result.already is not None:
        names = ", ".join(manifest.speedup for manifest in manifests)
        console.result(f"Already applied: {result.already} has {names}.")
    elif dry_run:
        _print_diffs(result)
    elif result.base is not None:
        _print_branch(console, tree, branch_wanted, result)
    else:
        _print_steps(console, result)
        console.result(
            f"{output} is linux {release} with {_count(len(result.steps), 'step')} on top."
        )
    return ExitCode.GOOD


def _check_options(tree: Path, *, has_git: bool, output: Path | None, for_git: bool) -> None:
    """Raise MmbatchError for options that suit the other kind of tree."""
    if has_git and output is not None:
        problem, hint = "-o DIR, and it has git, where a branch is made", "leave out -o"
    elif not has_git and for_git:
        problem = "--branch, --signoff or --undo, and it has no git"
        hint = "leave them out, and name a folder for a copy with -o DIR"
    else:
        return
    raise MmbatchError(f"apply to {tree}", problem, hint, ExitCode.USAGE)


def _print_diffs(result: plan.Result) -> None:
    """Print the steps as they are, bytes and tabs included."""
    for number, step in enumerate(result.steps, 1):
        body = "\n".join(
            f"    {line}".rstrip() for line in apply.wrap(step.applied.body).split("\n")
        )
        head = f"[{number}/{len(result.steps)}] {step.applied.subject}\n\n{body}\n\n"
        click.echo((head + step.applied.diff).encode(errors="surrogateescape"))


def _print_steps(console: Console, result: plan.Result) -> None:
    for step in result.steps:
        new = step.applied.diff.count("\nnew file mode ")
        parts = [_count(step.applied.changed, "line") + " changed"] if step.applied.changed else []
        parts += [_count(new, "new file")] if new else []
        console.result(f"  {step.applied.subject} ({', '.join(parts)})")


def _print_branch(console: Console, tree: Path, branch: str, result: plan.Result) -> None:
    console.result(f"{branch}: {_count(len(result.steps), 'commit')} on {result.base}")
    _print_steps(console, result)
    git = ["git"] if Path.cwd().is_relative_to(tree) else ["git", "-C", str(tree)]
    console.result(f"To use them: {shlex.join([*git, 'switch', branch])}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
