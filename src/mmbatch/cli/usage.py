# SPDX-License-Identifier: GPL-2.0-only
"""Usage errors, as the two lines that all errors are."""

from __future__ import annotations

import click

from mmbatch.core.errors import suggestion


class Misuse(click.UsageError):
    """Arguments that make no sense: what is wrong, as a clause, and what to do instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Group(click.Group):
    """A group that suggests the verb which was probably meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        verb, known = args[0], self.list_commands(ctx)
        if verb not in known and not verb.startswith("-"):
            raise Misuse(f"there is no command '{verb}'", suggestion(verb, known, "commands"))
        return super().resolve_command(ctx, args)


def message(error: click.ClickException, words: list[str]) -> str:
    """Return what a person reads of click's error: `error:` and `hint:` lines, or all help."""
    if type(error).__name__ == "NoArgsIsHelpError":  # which older versions of click don't have
        return error.format_message()
    text = error.format_message()
    if isinstance(error, click.NoSuchOption):  # whose text versions of click quote differently
        text = f"no such option '{error.option_name}'"
    text = " ".join(text.split()).rstrip(".")
    context = getattr(error, "ctx", None)
    verb = context.command_path if context else f"mmbatch {words[0]}"
    hint = f"see '{verb} --help'"
    if close := getattr(error, "possibilities", None):
        hint = f"did you mean '{close[0]}'?"
    if text[1:2].islower():  # not the name of a file, as in README.md
        text = text[0].lower() + text[1:]
    return f"error: {text}\nhint: {getattr(error, 'hint', hint)}"
