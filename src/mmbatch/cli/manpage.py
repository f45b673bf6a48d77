# SPDX-License-Identifier: GPL-2.0-only
"""The manual page, in man(7), from what the parser knows."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

_EXIT = {
    0: "Good.",
    1: "Something failed, the memory left behind differs, or the code is slower than base.",
    2: "Wrong usage.",
    3: "A splice did not match exactly.",
    4: "Too noisy to tell.",
    77: "Not applicable here.",
    130: "Interrupted by Ctrl-C; 143 by SIGTERM, 129 by SIGHUP, 141 when nobody reads on.",
}
_ENVIRONMENT = {
    "MMBATCH_CACHE": "The folder where kernels, objects and runs are kept.",
    "XDG_CACHE_HOME": "That folder is mmbatch in this one, by default in ~/.cache.",
    "MMBATCH_NO_VENV": "When 1, take this Python where it has all that is needed.",
    "NO_COLOR": "When set, no colours.",
}
_EXAMPLES = (
    "mmbatch bench zone_device --quick",
    "mmbatch report -o report.html",
    "mmbatch apply -n ~/src/linux zone_device",
    "mmbatch export zone_device --kernel 7.3 --check -o series/",
)


def page(context: click.Context, version: str) -> str:
    """Return the page of a group of verbs.

    Args:
        context: of the group; `info_name` is the program's name.
        version: of the program.
    """
    return "\n".join(_lines(context, version)) + "\n"


def _lines(context: click.Context, version: str) -> Iterator[str]:
    group = context.command
    assert isinstance(group, click.Group)
    name = context.info_name or "mmbatch"
    yield r".\" SPDX-License-Identifier: GPL-2.0-only"
    yield f'.TH {name.upper()} 1 "" "{name} {version}" "User Commands"'
    yield ".SH NAME"
    summary, *rest = _paragraphs(group.help or "")
    yield f"{name} \\- {_text(summary.rstrip('.'))}"
    yield ".SH SYNOPSIS"
    yield f".B {name}"
    yield r".RI [ OPTION ]... \ VERB \ [ ARGUMENT ]..."
    yield ".SH DESCRIPTION"
    yield _text(f"{name} splices speed-ups into Linux's memory management, shows that the faster")
    yield _text("code leaves the same memory behind, and measures it on this machine.")
    for paragraph in rest:
        if not paragraph.startswith("Exit codes"):
            yield ".PP"
            yield _text(paragraph)
    yield ".SH OPTIONS"
    yield from _options(context)
    yield ".SH VERBS"
    yield from _verbs(group, context)
    yield ".SH EXIT STATUS"
    for code, meaning in _EXIT.items():
        yield from _item(rf"\fB{code}\fR", meaning)
    yield ".SH ENVIRONMENT"
    for variable, meaning in _ENVIRONMENT.items():
        yield from _item(rf"\fB{variable}\fR", meaning)
    yield ".SH EXAMPLES"
    yield ".EX"
    yield from map(_text, _EXAMPLES)
    yield ".EE"
    yield ".SH SEE ALSO"
    yield r".BR git\-am (1),"
    yield r".BR spatch (1),"
    yield r".BR qemu\-system\-x86_64 (1)"


def _verbs(group: click.Group, above: click.Context) -> Iterator[str]:
    """Yield the part of each verb, and of each verb of a verb."""
    for name in group.list_commands(above):
        verb = group.get_command(above, name)
        if verb is None or verb.hidden:
            continue
        context = click.Context(verb, info_name=name, parent=above)
        usage = " ".join(verb.collect_usage_pieces(context))
        yield f".SS {_text(context.command_path)} {_text(usage)}"
        for number, paragraph in enumerate(_paragraphs(verb.help or "")):
            if number:
                yield ".PP"
            yield _text(paragraph)
        yield from _options(context)
        if isinstance(verb, click.Group):
            yield from _verbs(verb, context)


def _options(context: click.Context) -> Iterator[str]:
    """Yield the options, less --help, which every verb has."""
    top = context.parent is None
    for parameter in context.command.get_params(context):
        if isinstance(parameter, click.Argument) or ("--help" in parameter.opts and not top):
            continue
        record = parameter.get_help_record(context)
        if record is not None:
            words, meaning = record
            yield from _item(_marked(words), meaning)


def _marked(words: str) -> str:
    """Return an option's names in bold and what it takes in italics."""
    names = re.compile(r"(?<![\w-])(--?[\w-]+)")
    return "".join(
        rf"\fB{_text(part)}\fR" if names.fullmatch(part) else _in_italics(part)
        for part in names.split(words)
    )


def _in_italics(part: str) -> str:
    return re.sub(r"[^\s,]+", lambda found: rf"\fI{_text(found[0])}\fR", part)


def _item(tag: str, meaning: str) -> Iterator[str]:
    yield ".TP"
    yield tag
    yield _text(meaning) or r"\&"


def _paragraphs(text: str) -> list[str]:
    """Split a docstring, and take the ends of its lines away."""
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip()) if part.strip()]


def _text(text: str) -> str:
    """Return text so that roff prints it as it is."""
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("`", r"\(ga")
    text = text.replace("'", r"\(aq").replace("~", r"\(ti").replace("^", r"\(ha")
    return rf"\&{text}" if text.startswith(".") else text
