# SPDX-License-Identifier: GPL-2.0-only
"""Options that several verbs have, so that each is spelled, completed and refused one way."""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from mmbatch.cli.usage import Misuse
from mmbatch.core import cache, log, paths
from mmbatch.core.errors import CaseOutcome, suggestion
from mmbatch.core.process import cpus
from mmbatch.kernel import sources
from mmbatch.splice import manifest
from mmbatch.splice.manifest import ALL, CORE

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
Names = tuple[str, ...]

WriteOutcomes = Callable[[Sequence[CaseOutcome]], None]
"""Writes how tests ended into the files that --ktap and --junit name."""

_RESULTS_TO_STDERR = "mmbatch.results_to_stderr"
"""Key of click's `Context.meta`: a file that was asked for is standard output."""

PFN_BYTES = 4096
"""Of device memory, for each page frame number: what a PFN is on the kernels measured here."""
_SERIES = ", ".join(sources.SERIES)


def joined(*declared: Decorator) -> Decorator:
    """Declare several options at once, which the help shows in this order."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        return functools.reduce(lambda body, one: one(body), reversed(declared), function)

    return declare


def verb(
    name: str, *declared: Decorator, group: click.Group | None = None
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a function a command, of a group if it is in one, with its options and -q and -v."""

    def make(function: Callable[..., Any]) -> click.Command:
        command = click.command(name)(joined(*declared)(output(function)))
        if group is not None:
            group.add_command(command)
        return command

    return make


def output(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb -q and -v, by which its log begins."""

    @click.option("-q", "--quiet", is_flag=True, help="Print results only")
    @click.option("-v", "--verbose", is_flag=True, help="Print details too")
    @functools.wraps(function)
    def verb(*args: Any, quiet: bool, verbose: bool, **kwargs: Any) -> Any:
        if quiet and verbose:
            raise Misuse("-q and -v exclude each other", "leave out one of them")
        to_stderr = click.get_current_context().meta.get(_RESULTS_TO_STDERR, False)
        log.start(verbose - quiet, results_to_stderr=to_stderr)
        return function(*args, **kwargs)

    return verb


class _File(click.Path):
    """A file to write; "-" is standard output, and the results go to standard error then."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if value == "-" and ctx is not None:
            if ctx.meta.get(_RESULTS_TO_STDERR):
                raise Misuse("two files can't both be standard output", "give '-' only once")
            ctx.meta[_RESULTS_TO_STDERR] = True
            return cache.STDOUT
        place = path.absolute().parent
        if not (place.is_dir() and os.access(place, os.W_OK)):  # now, not after an hour of work
            problem = "takes no files" if place.is_dir() else "is no directory"
            raise Misuse(f"{place} {problem}", "name another place")
        return path


def output_file(*names: str, help_text: str) -> Decorator:
    """Declare an option that names a file to write, - for standard output."""
    return click.option(*names, type=_File(), metavar="FILE", help=help_text)


json_file = output_file(
    "--json", "json_file", help_text="Write the result as JSON to FILE, - for standard output"
)


def write_answer(file: Path | None, verb: str, answer: Mapping[str, Any]) -> None:
    """Write the answer of a verb as JSON, if that was asked for."""
    if file is not None:
        content = {"schema": 1, "command": verb, **answer}
        cache.atomic_write(file, json.dumps(content, indent=1) + "\n")


def outcome_files(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --ktap and --junit; it gets what they name as `write_outcomes`."""

    @output_file("--ktap", help_text="Write how each test ended as KTAP to FILE")
    @output_file("--junit", help_text="Write how each test ended as JUnit XML to FILE")
    @functools.wraps(command)
    def with_files(*args: Any, ktap: Path | None, junit: Path | None, **words: Any) -> Any:
        def write_outcomes(found: Sequence[CaseOutcome]) -> None:
            from mmbatch.report import ktap as writers

            for file, text in ((ktap, writers.ktap), (junit, writers.junit)):
                if file is not None:
                    cache.atomic_write(file, text(found))

        return command(*args, write_outcomes=write_outcomes, **words)

    return with_files


def speedups_of(known: Callable[[Path], Iterable[str]], *, required: bool = False) -> Decorator:
    """Declare an argument of any number of the known speed-ups, by names or directories."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
        return [name for name in known(paths.SPEEDUPS) if name.startswith(incomplete)]

    def check(ctx: click.Context, _: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
        names = list(known(paths.SPEEDUPS)) if values or required else []
        if required and not values:
            hint = f"name those that you want of: {' '.join(names)}"
            raise Misuse(f"no speed-up is named to {ctx.info_name}", hint)
        chosen = tuple(Path(value).name if Path(value).is_dir() else value for value in values)
        for value in chosen:
            if Path(value).is_file():
                raise Misuse(f"{value} is a file and no speed-up", f"use it as --patch {value}")
            if value not in names:
                hint = suggestion(value, names, "speed-ups")
                raise Misuse(f"there is no speed-up '{value}' here", hint)
        return chosen

    return click.argument(
        "speedups", nargs=-1, metavar="[SPEEDUP]...", callback=check, shell_complete=complete
    )


speedups = speedups_of(manifest.known)
measured = speedups_of(manifest.measured)


def until(default: str) -> Decorator:
    """Declare the option that leaves out the last steps of speed-ups."""
    words = {ALL: "all of them", CORE: "the core"}
    return click.option(
        "--until",
        metavar="STEP",
        default=default,
        help=f"Use the steps up to this one, 'core' or 'all'; by default {words[default]}",
    )


def require_one(last: str, names: Sequence[str]) -> None:
    """Raise Misuse if a step is named, and not the one speed-up that it is of."""
    if last not in (ALL, CORE) and len(names) != 1:
        raise Misuse(f"--until {last} names a step of one speed-up", "name that speed-up as well")


def _kernel(*names: str, help_text: str, several: bool = False) -> Decorator:
    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
        return [series for series in sources.SERIES if series.startswith(incomplete)]

    def check(_: click.Context, __: click.Parameter, value: Any) -> Any:
        for name in value if several else [value] * bool(value):
            if ".".join(name.split(".")[:2]) not in sources.SERIES:
                raise Misuse(f"--kernel {name} is of no known series", f"known: {_SERIES}")
        return value

    return click.option(
        "--kernel",
        *names,
        multiple=several,
        metavar="SERIES",
        callback=check,
        shell_complete=complete,
        help=help_text,
    )


kernel = _kernel(help_text=f"Use this kernel: a series ({_SERIES}), or a release in the cache")
several_kernels = _kernel(
    "series", several=True, help_text=f"Use this kernel only, by default all: {_SERIES}"
)


stock_kernel = joined(
    click.option(
        "--kernel-release",
        "release",
        metavar="R",
        help="Use the kernel with this release, as printed by uname -r, or cloud-amd64",
    ),
    _kernel("series", help_text="Use Debian's newest kernel of this series"),
)
tree = click.option(
    "--tree",
    type=click.Path(file_okay=False, path_type=Path),
    help="Read the kernel from this tree instead",
)


def like(pattern: str, form: str, example: str) -> Callable[..., Any]:
    """Return what refuses values that are not of a form."""

    def check(_: click.Context, option: click.Parameter, value: Any) -> Any:
        for text in value if option.multiple else [value] * bool(value):
            if not re.fullmatch(pattern, text):
                name = option.opts[0]
                raise Misuse(f"{name} {text} is not {form}", f"write it as in {name} {example}")
        return value

    return check


def repeated(
    name: str, parameter: str, metavar: str, help_text: str, check: Callable[..., Any] | None = None
) -> Decorator:
    """Declare an option that may be given several times, each with a value that is checked."""
    return click.option(
        name, parameter, multiple=True, metavar=metavar, callback=check, help=help_text
    )


config = repeated(
    "-K",
    "settings",
    "CONFIG_X=y",
    "Set this option in the kernel's configuration",
    like(r"CONFIG_[A-Z0-9_]+=\S+", "CONFIG_NAME=value", "CONFIG_KASAN=y"),
)
jobs = click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    default=cpus,
    help="Run N compilers at a time",
)
install = click.option("--install", is_flag=True, help="Install what is missing, with apt")


def number(name: str, default: int, help_text: str, at_least: int = 1) -> Decorator:
    """Declare an option that takes a whole number, N."""
    kind = click.IntRange(min=at_least)
    return click.option(
        name, type=kind, metavar="N", default=default, show_default=True, help=help_text
    )


def read_size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Return the bytes of a size with one of the binary units K, M, G and T, such as 10T."""
    if value is None:
        return None
    match = re.fullmatch(r"(\d+)([KMGT]?)(?:i?B)?", value, re.ASCII | re.IGNORECASE)
    if match is None:
        raise click.BadParameter(f"{value!r} is not a size such as 512M, 100G or 10T", ctx, param)
    return int(match[1]) << 10 * " KMGT".index(match[2].upper() or " ")


credit = joined(
    click.option(
        "--author",
        metavar="NAME <ADDRESS>",
        default="",
        callback=like(
            r"[^<>\s][^<>\n]* <[^<>@\s]+@[^<>@\s]+>",
            "NAME <ADDRESS>",
            "'A. Hacker <hacker@example.org>'",
        ),
        help="Make this the author of the commits, by default you, as git knows you",
    ),
    repeated(
        "--trailer",
        "trailers",
        "TOKEN: VALUE",
        "End each message with this line, such as Co-developed-by or Link",
        like(
            r"[A-Z][A-Za-z]*(-[a-z]+)*: \S[^\n]*",
            "TOKEN: VALUE",
            "'Link: https://example.org'",
        ),
    ),
    click.option("-s", "--signoff", "sign_off", is_flag=True, help="Add your Signed-off-by line"),
)
"""Whose the commits are: the fields of `mmbatch.splice.apply.Credit`."""
