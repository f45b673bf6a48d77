# SPDX-License-Identifier: GPL-2.0-only
"""Wrong usage, told as every other failure is: an `error:` and a `hint:` line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from mmbatch.core.errors import suggestion


class Misuse(click.UsageError):
    """Arguments that make no sense, and what to do instead.

    Args:
        message: what is wrong, as a clause.
        hint: what to do, as an imperative.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Group(click.Group):
    """A group that suggests the verb which was probably meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb that the first argument names.

        Raises:
            Misuse: there is none.
        """
        verb, known = args[0], self.list_commands(ctx)
        if verb not in known and not verb.startswith("-") and not ctx.resilient_parsing:
            raise Misuse(f"there is no verb '{verb}'", suggestion(verb, known, "verbs"))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; a usage error without a context gets the verb's, for the hint."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            verb = ctx.invoked_subcommand
            command = self.get_command(ctx, verb) if verb else None
            if error.ctx is None and command is not None:
                error.ctx = click.Context(command, ctx, verb)
            raise


def message(error: click.ClickException) -> str:
    """Return what a person reads of click's error: `error:` and `hint:` lines, or all help."""
    if type(error).__name__ == "NoArgsIsHelpError":  # which older versions of click don't have
        return error.format_message()
    text = error.message if isinstance(error, click.NoSuchOption) else error.format_message()
    text = " ".join(text.split()).rstrip(".")
    return f"error: {text[:1].lower()}{text[1:]}\nhint: {_hint(error)}"


def _hint(error: click.ClickException) -> str:
    if isinstance(error, Misuse):
        return error.hint
    close: Sequence[str] | None = getattr(error, "possibilities", None)
    if close:
        return f"did you mean '{close[0]}'?"
    context = getattr(error, "ctx", None)
    verb = context.command_path if context is not None else "mmbatch"
    return f"run '{verb} --help' to see how it is called"
