# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch completion`: the script that lets a shell complete mmbatch's words."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources

import click
from click.shell_completion import CompletionItem, ShellComplete

from mmbatch.core.errors import ExitCode

SHELLS = ("bash", "zsh", "fish")
_SCRIPTS = resources.files("mmbatch.cli") / "completion_scripts"


@click.command(
    "completion",
    short_help="Print what lets a shell complete mmbatch's words.",
    context_settings={"ignore_unknown_options": True},
)
@click.option("--of", is_flag=True, hidden=True, help="Complete the last of some words.")
@click.argument("words", nargs=-1, metavar="bash|zsh|fish", type=click.UNPROCESSED)
@click.pass_context
def command(context: click.Context, of: bool, words: tuple[str, ...]) -> int:
    """Print the script that lets a shell complete verbs, options and names.

    For this shell only: `source <(./mmbatch completion bash)`, the same with zsh, or
    `./mmbatch completion fish | source`.
    """
    if of:
        for item in _complete(context.find_root().command, list(words)):
            help_text = (item.help or "").replace("\n", " ")
            click.echo(f"{item.type}\t{item.value}\t{help_text}")
        return ExitCode.GOOD
    if len(words) != 1 or words[0] not in SHELLS:
        raise click.UsageError(f"Name one shell: {', '.join(SHELLS)}.")
    click.echo((_SCRIPTS / words[0]).read_text(encoding="utf-8"), nl=False)
    return ExitCode.GOOD


def _complete(cli: click.Command, words: list[str]) -> Iterator[CompletionItem]:
    """Yield what the last of some words, without the program's name, can become."""
    *before, last = words or [""]
    yield from ShellComplete(cli, {}, "mmbatch", "").get_completions(before, last)
