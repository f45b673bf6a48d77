# SPDX-License-Identifier: GPL-2.0-only
"""Keep the lists of options in docs/reference.md the same as --help prints them.

Run `PYTHONPATH=src python3 -m mmbatch.cli.reference` in a checkout after an option was changed.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator

import click

from mmbatch.cli import answers
from mmbatch.cli import main as cli
from mmbatch.core import paths
from mmbatch.core.disk import atomic_write

PAGE = paths.ROOT / "docs/reference.md"
BEGIN = "<!-- options -->"
END = "<!-- /options -->"

BEGIN_JSON = "<!-- json -->"
END_JSON = "<!-- /json -->"

_EVERYWHERE = {"-h, --help", "-q, --quiet", "-v, --verbose"}


def page(old: str) -> str:
    """Return docs/reference.md with the options that the parser has now, and what --json writes.

    Args:
        old: what the file holds; all outside of the marks is kept.
    """
    context = click.Context(cli.cli, info_name="mmbatch", **cli.cli.context_settings)
    text = _between(old, BEGIN, END, _verbs(cli.cli, context))
    return _between(text, BEGIN_JSON, END_JSON, _answers())


def _between(old: str, begin: str, end: str, lines: Iterable[str]) -> str:
    head, mark, after = old.partition(begin)
    _, _, tail = after.partition(end)
    return "\n".join([f"{head}{begin}", *lines, f"{end}{tail}"]) if mark else old


def _answers() -> Iterator[str]:
    """Yield a table for each kind of JSON object, from the docstrings of its dataclass."""
    for kind in answers.ALL:
        title, _, fields = inspect.cleandoc(kind.__doc__ or "").partition("\n\nAttributes:\n")
        yield f"\n### {kind.__name__}\n"
        yield f"{title}\n"
        yield "| field | meaning |"
        yield "| --- | --- |"
        for name, meaning in re.findall(r"^    (\w+): ((?:.|\n {8})*)", fields, re.M):
            yield f"| `{name}` | {_cell(meaning).rstrip('.')} |"
    yield ""


def _verbs(group: click.Group, above: click.Context) -> Iterator[str]:
    """Yield a section for each verb, and for each verb of a verb."""
    for name in group.list_commands(above):
        verb = group.get_command(above, name)
        if verb is None or verb.hidden:
            continue
        context = click.Context(verb, info_name=name, parent=above)
        if isinstance(verb, click.Group):
            yield from _verbs(verb, context)
            continue
        usage = " ".join([context.command_path, *verb.collect_usage_pieces(context)])
        yield f"\n### `{context.command_path}`\n"
        yield f"    {usage}\n"
        yield f"{verb.get_short_help_str(limit=200).rstrip('.')}.\n"
        yield from _options(context)


def _options(context: click.Context) -> Iterator[str]:
    options = [param for param in context.command.params if isinstance(param, click.Option)]
    records = [option.get_help_record(context) for option in options]
    rows = [record for record in records if record is not None and record[0] not in _EVERYWHERE]
    if rows:
        yield "| option | meaning |"
        yield "| --- | --- |"
    for words, meaning in rows:
        yield f"| `{_cell(words)}` | {_cell(meaning)} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def main() -> None:
    """Write docs/reference.md when it differs."""
    old = PAGE.read_text(encoding="utf-8")
    if page(old) != old:
        atomic_write(PAGE, page(old))
        print(f"wrote {PAGE.relative_to(paths.ROOT)}")


if __name__ == "__main__":
    main()
