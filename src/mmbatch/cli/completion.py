# SPDX-License-Identifier: GPL-2.0-only
"""`mmbatch completion`: click's script that lets a shell complete mmbatch's words."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from mmbatch.core.errors import ExitCode

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print a script that completes mmbatch's words in a shell.

    For this shell only: `source <(./mmbatch completion bash)`, the same with zsh, or
    `./mmbatch completion fish | source`. In zsh and fish, mmbatch must be on the PATH.
    """
    completion = get_completion_class(shell)
    assert completion is not None
    cli = context.find_root().command
    click.echo(completion(cli, {}, "mmbatch", "_MMBATCH_COMPLETE").source())
    return ExitCode.GOOD
