# SPDX-License-Identifier: GPL-2.0-only
"""Options that several verbs have, so that each is spelled, completed and refused one way."""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mmbatch.cli.usage import Misuse
from mmbatch.core import disk, log, paths
from mmbatch.core.console import RESULTS_TO_STDERR
from mmbatch.core.errors import CaseOutcome, ExitCode, MmbatchError, suggestion
from mmbatch.core.process import cpus
from mmbatch.kernel import sources
from mmbatch.splice import manifest
from mmbatch.splice.branch import Credit
from mmbatch.splice.manifest import ALL, CORE

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

PFN_BYTES = 4096
"""Of device memory, for each page frame number: what a PFN is on the kernels measured here."""

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

WriteOutcomes = Callable[[Sequence[CaseOutcome]], None]
"""Writes how tests ended into the files that --ktap and --junit name."""


def output(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb -q and -v, by which its log begins."""

    @click.option("-q", "--quiet", is_flag=True, help="Print results only")
    @click.option("-v", "--verbose", is_flag=True, help="Print details too")
    @functools.wraps(function)
    def verb(*args: Any, quiet: bool, verbose: bool, **kwargs: Any) -> Any:
        to_stderr = click.get_current_context().meta.get(RESULTS_TO_STDERR, False)
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
            if ctx.meta.get(RESULTS_TO_STDERR):
                raise Misuse("two files can't both be standard output", "give '-' only once")
            ctx.meta[RESULTS_TO_STDERR] = True
            return disk.STDOUT
        if not path.absolute().parent.is_dir():  # now, not after an hour of work
            raise Misuse(f"there is no directory {path.absolute().parent}", "name another place")
        return path


def output_file(*names: str, help_text: str) -> Decorator:
    """Declare an option that names a file to write, - for standard output."""
    return click.option(*names, type=_File(), metavar="FILE", help=help_text)


json_file = output_file(
    "--json", "json_file", help_text="Write the result as JSON to FILE, - for standard output"
)
seen_file = json_file


def write_answer(
    file: Path | None, verb: str, answer: DataclassInstance | Mapping[str, Any]
) -> None:
    """Write the answer of a verb as JSON, if that was asked for."""
    if file is not None:
        fields = answer if isinstance(answer, Mapping) else asdict(answer)
        content = {"schema": 1, "command": verb, **fields}
        disk.atomic_write(file, json.dumps(content, indent=1) + "\n")


def outcome_files(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --ktap and --junit; it gets what they name as `write_outcomes`."""

    @functools.wraps(command)
    def with_files(*args: Any, ktap: Path | None, junit: Path | None, **words: Any) -> Any:
        def write_outcomes(found: Sequence[CaseOutcome]) -> None:
            from mmbatch.report import ktap as writers

            for file, text in ((ktap, writers.ktap), (junit, writers.junit)):
                if file is not None:
                    disk.atomic_write(file, text(found))

        return command(*args, write_outcomes=write_outcomes, **words)

    decorated: Callable[..., Any] = with_files
    for name, reader in (("junit", "JUnit XML"), ("ktap", "KTAP")):
        help_text = f"Write how each test ended as {reader} to FILE, - for standard output"
        decorated = output_file(f"--{name}", help_text=help_text)(decorated)
    return decorated


def _speedups(known: Callable[[Path], Iterable[str]]) -> Decorator:
    """Declare an argument of any number of speed-ups, by their names or directories.

    Args:
        known: returns all names.
    """

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
        return [name for name in known(paths.SPEEDUPS) if name.startswith(incomplete)]

    def check(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
        names = list(known(paths.SPEEDUPS)) if values else []
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


def _known_live(place: Path) -> list[str]:
    from mmbatch.live.manifest import known  # only then: `apply` needs nothing of live

    return known(place)


speedups = _speedups(manifest.known)
measured = _speedups(manifest.measured)
live_speedups = _speedups(_known_live)


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


def _series(context: click.Context, option: click.Parameter, incomplete: str) -> list[str]:
    return [series for series in sources.SERIES if series.startswith(incomplete)]


def _kernel(*names: str, help_text: str, several: bool = False) -> Decorator:
    def check(_: click.Context, __: click.Parameter, value: Any) -> Any:
        for name in value if several else [value] * bool(value):
            if ".".join(name.split(".")[:2]) not in sources.SERIES:
                hint = f"the series are {', '.join(sources.SERIES)}"
                raise Misuse(f"--kernel {name} is of no series that is supported", hint)
        return value

    return click.option(
        "--kernel",
        *names,
        multiple=several,
        metavar="SERIES",
        callback=check,
        shell_complete=_series,
        help=help_text,
    )


_ALL_SERIES = ", ".join(sources.SERIES)
kernel = _kernel(help_text=f"Use this kernel: a series ({_ALL_SERIES}), or a release in the cache")
several_kernels = _kernel(
    "series", several=True, help_text=f"Use this kernel only, by default all: {_ALL_SERIES}"
)
tree = click.option(
    "--tree",
    type=click.Path(file_okay=False, path_type=Path),
    help="Read the kernel from this tree instead",
)


def stock_kernel(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that name a distribution's kernel."""
    release = click.option(
        "--kernel-release",
        "release",
        metavar="R",
        help="Use the kernel with this release, as printed by uname -r, or cloud-amd64",
    )
    series = click.option(
        "--kernel", "series", metavar="SERIES", help="Use Debian's newest kernel of this series"
    )
    return release(series(command))


def _read_settings(
    _: click.Context, __: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    for value in values:
        if not re.fullmatch(r"CONFIG_[A-Z0-9_]+=\S+", value):
            hint = "write it as in -K CONFIG_KASAN=y"
            raise Misuse(f"-K {value} is not CONFIG_NAME=value", hint)
    return values


config = click.option(
    "-K",
    "settings",
    multiple=True,
    metavar="CONFIG_X=y",
    callback=_read_settings,
    help="Set this option in the kernel's configuration",
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
    """Declare an option that takes a whole number."""
    return click.option(
        name,
        type=click.IntRange(min=at_least),
        metavar="N",
        default=default,
        show_default=True,
        help=help_text,
    )


def read_size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Return the bytes of a size with one of the binary units K, M, G and T, such as 10T."""
    if value is None:
        return None
    match = re.fullmatch(r"(\d+)([KMGT]?)(?:i?B)?", value, re.ASCII | re.IGNORECASE)
    if match is None:
        raise click.BadParameter(f"{value!r} is not a size such as 512M, 100G or 10T", ctx, param)
    return int(match[1]) << 10 * " KMGT".index(match[2].upper() or " ")


limit = click.option(
    "--limit",
    "limit_s",
    type=click.IntRange(1, 86400),
    metavar="SECONDS",
    default=60,
    show_default=True,
    help="Wait no longer than this for all tasks to switch",
)

sysfs = click.option(
    "--sysfs",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    metavar="DIR",
    default="/sys",
    show_default=True,
    help="Read sysfs from this directory",
)


def _read_author(_: click.Context, __: click.Parameter, value: str | None) -> str:
    if value and not re.fullmatch(r"[^<>\s][^<>\n]* <[^<>@\s]+@[^<>@\s]+>", value):
        raise Misuse(f"--author {value!r} is not 'NAME <ADDRESS>'", "write it as git does")
    return value or ""


def _read_trailers(
    _: click.Context, __: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    for value in values:
        if not re.fullmatch(r"[A-Z][A-Za-z]*(-[a-z]+)*: \S[^\n]*", value):
            hint = "write it as in --trailer 'Co-developed-by: NAME <ADDRESS>'"
            raise Misuse(f"--trailer {value!r} is not 'TOKEN: VALUE'", hint)
    return values


_CREDIT = (
    click.option(
        "--author",
        metavar="NAME <ADDRESS>",
        callback=_read_author,
        help="Make this the author of the commits, by default you, as git knows you",
    ),
    click.option(
        "--trailer",
        "trailers",
        multiple=True,
        metavar="TOKEN: VALUE",
        callback=_read_trailers,
        help="End each message with this line, such as Co-developed-by or Link",
    ),
    click.option("-s", "--signoff", "sign_off", is_flag=True, help="Add your Signed-off-by line"),
)


def credit(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say whose its commits are; it gets them as `credit`."""

    @functools.wraps(command)
    def with_credit(
        *args: Any, author: str, trailers: tuple[str, ...], sign_off: bool, **words: Any
    ) -> Any:
        return command(*args, credit=Credit(author, trailers, sign_off), **words)

    decorated: Callable[..., Any] = with_credit
    for option in reversed(_CREDIT):
        decorated = option(decorated)
    return decorated


def require_writable(*files: tuple[str, Path | None]) -> None:
    """Raise MmbatchError unless files can be written: now, not after an hour of work.

    Args:
        files: the option by which each was chosen, and the file.
    """
    for option, file in files:
        if file is not None:
            disk.require_file(file, option)


def require_utf8(tree: Path) -> None:
    """Raise MmbatchError unless a record can name a tree by its path."""
    try:
        os.fspath(tree.absolute()).encode()
    except UnicodeEncodeError:
        raise MmbatchError(
            f"measure the tree {os.fsencode(tree).decode(errors='replace')}",
            "its path is not UTF-8, so no record can hold it",
            "rename it",
            ExitCode.USAGE,
        ) from None


def require_new(directory: Path) -> None:
    """Raise MmbatchError unless a directory that -o names is missing or empty."""
    if directory.exists() and not (directory.is_dir() and not any(directory.iterdir())):
        raise MmbatchError(
            f"write into {directory}",
            "it is there and not empty" if directory.is_dir() else "it is not a directory",
            "name another directory with -o DIR",
            ExitCode.USAGE,
        )
