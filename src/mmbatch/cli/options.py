# SPDX-License-Identifier: GPL-2.0-only
"""Options that several verbs have, and how a verb is made of a function.

The default of a parameter declares its option, so a verb says each only once:

    def command(until: str | None = value("--until STEP", "Stop after this step")) -> int: ...
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from mmbatch.cli.usage import Misuse
from mmbatch.core import cache, log, paths
from mmbatch.core.errors import suggestion
from mmbatch.core.process import cpus
from mmbatch.hosted.events import CaseOutcome
from mmbatch.kernel import sources
from mmbatch.splice import manifest
from mmbatch.splice.manifest import ALL, CORE

Body = Callable[..., Any]
Names = tuple[str, ...]

PATH = click.Path(path_type=Path)
DIRECTORY = click.Path(file_okay=False, path_type=Path)

_SERIES = ", ".join(sources.SERIES)


def verb(name: str, group: click.Group | None = None) -> Callable[[Body], click.Command]:
    """Make a function a command, of a group if it is in one, with its options and -q and -v."""

    def make(function: Body) -> click.Command:
        @click.option("-q", "--quiet", is_flag=True, help="Print results only")
        @click.option("-v", "--verbose", is_flag=True, help="Print details too")
        @functools.wraps(function)
        def body(*, quiet: bool, verbose: bool, **words: Any) -> Any:
            to_stderr = cache.STDOUT in click.get_current_context().params.values()
            log.start(verbose - quiet, results_to_stderr=to_stderr)
            return function(**words)

        for parameter in reversed(list(inspect.signature(function).parameters.values())):
            body = parameter.default(parameter.name)(body)
        command = click.command(name)(body)
        if group is not None:
            group.add_command(command)
        return command

    return make


def argument(**given: Any) -> Any:
    """Declare an argument."""
    return lambda parameter: click.argument(parameter, **given)


def value(names: str, help_text: str, check: Body | None = None, **given: Any) -> Any:
    """Declare an option with a value, such as "-o, --output DIR"."""
    flags = re.findall(r"(?:^| )(-[\w-]+)", names)
    metavar = names.removeprefix(", ".join(flags)).strip() or None
    given |= {"metavar": metavar, "callback": check, "help": help_text}
    return lambda parameter: click.option(*flags, parameter, **given)


values = functools.partial(value, multiple=True)
flag = functools.partial(value, is_flag=True)


def packed(kind: Body, **declared: Any) -> Any:
    """Declare a parameter that is made of several options, by their names."""

    def declare(parameter: str) -> Callable[[Body], Body]:
        def decorate(body: Body) -> Body:
            @functools.wraps(body)
            def with_packed(**words: Any) -> Any:
                parts = {name: words.pop(name) for name in declared}
                return body(**{parameter: kind(**parts)}, **words)

            for name in reversed(declared):
                with_packed = declared[name](name)(with_packed)
            return with_packed

        return decorate

    return declare


def _writable(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
    """Return a file to write; "-" is standard output, and results go to standard error then."""
    if path is None or path == Path("-"):
        return path and cache.STDOUT
    place = path.absolute().parent
    if not (place.is_dir() and os.access(place, os.W_OK)):  # now, not after an hour of work
        problem = "takes no files" if place.is_dir() else "is no directory"
        raise Misuse(f"{place} {problem}", "name another place")
    return path


def file(names: str, help_text: str) -> Any:
    """Declare an option that names a file to write, - for standard output."""
    kind = click.Path(dir_okay=False, path_type=Path)
    return value(f"{names} FILE", help_text, _writable, type=kind)


json_file = file("--json", "Write the result as JSON to FILE, - for standard output")
ktap = file("--ktap", "Write how each test ended as KTAP to FILE")
junit = file("--junit", "Write how each test ended as JUnit XML to FILE")


def write_page(path: Path, content: str, kind: str) -> None:
    """Write a file that a person will open, and say where it is."""
    cache.atomic_write(path, content)
    if path != cache.STDOUT:
        log.say(f"the {kind} is {path}")


def write_answer(file: Path | None, verb: str, answer: Mapping[str, Any]) -> None:
    """Write the answer of a verb as JSON, if that was asked for."""
    if file is not None:
        content = {"schema": 1, "command": verb, **answer}
        cache.atomic_write(file, json.dumps(content, indent=1) + "\n")


def write_outcomes(found: Sequence[CaseOutcome], ktap: Path | None, junit: Path | None) -> None:
    """Write how tests ended into the files that --ktap and --junit name."""
    from mmbatch.report import ktap as writers

    for path, text in ((ktap, writers.ktap), (junit, writers.junit)):
        if path is not None:
            cache.atomic_write(path, text(found))


def speedups_of(known: Callable[[Path], Iterable[str]], *, required: bool = False) -> Any:
    """Declare an argument of any number of the known speed-ups, by names or directories."""

    def check(ctx: click.Context, _: click.Parameter, values: Names) -> Names:
        names = list(known(paths.SPEEDUPS)) if values or required else []
        if required and not values:
            hint = f"name some of: {' '.join(names)}"
            raise Misuse(f"no speed-up is named to {ctx.info_name}", hint)
        chosen = tuple(Path(value).name if Path(value).is_dir() else value for value in values)
        for value in chosen:
            if value not in names:
                hint = suggestion(value, names, "speed-ups")
                hint = f"use it as --patch {value}" if Path(value).is_file() else hint
                raise Misuse(f"there is no speed-up '{value}' here", hint)
        return tuple(dict.fromkeys(chosen))

    return argument(nargs=-1, metavar="[SPEEDUP]...", callback=check)


speedups = speedups_of(manifest.known)
measured = speedups_of(manifest.measured)


def until(default: str) -> Any:
    """Declare the option that leaves out the last steps of speed-ups."""
    words = {ALL: "all of them", CORE: "the core"}[default]
    text = f"Use the steps up to this one, 'core' or 'all'; by default {words}"
    return value("--until STEP", text, default=default)


def like(pattern: str, form: str, example: str) -> Body:
    """Return what refuses values that are not of a form."""

    def check(_: click.Context, option: click.Parameter, value: Any) -> Any:
        for text in value if option.multiple else [value] * bool(value):
            if not re.fullmatch(pattern, text):
                name = option.opts[0]
                raise Misuse(f"{name} {text} is not {form}", f"write it as in {name} {example}")
        return value

    return check


_known = like(
    rf"({'|'.join(map(re.escape, sources.SERIES))})(\..+)?", f"one of {_SERIES}", sources.SERIES[0]
)
kernel = value(
    "--kernel SERIES", f"Use this kernel: a series ({_SERIES}), or a release in the cache", _known
)
kernels = values("--kernel SERIES", f"Use this kernel only, by default all: {_SERIES}", _known)
live_kernel = value(
    "--kernel KERNEL",
    f"Use Debian's newest kernel of this series ({_SERIES}), or the one with this release, as "
    "printed by uname -r",
)
tree = value("--tree DIRECTORY", "Read the kernel from this tree instead", type=DIRECTORY)


def number(
    names: str, help_text: str, least: int = 1, most: int | None = None, **given: Any
) -> Any:
    """Declare an option that takes a whole number."""
    return value(names, help_text, type=click.IntRange(least, most), **given)


settings = values(
    "-K CONFIG_X=y",
    "Set this option in the kernel's configuration",
    like(r"CONFIG_[A-Z0-9_]+=\S+", "CONFIG_NAME=value", "CONFIG_KASAN=y"),
)
jobs = number("-j, --jobs N", "Run N compilers at a time", default=cpus)
install = flag("--install", "Install what is missing, with apt")
sign_off = flag("-s, --signoff", "Add your Signed-off-by line")


def size(text: str) -> int:
    """Return the bytes of a size with one of the binary units K, M, G and T, such as 10T."""
    match = re.fullmatch(r"0*([1-9]\d*)([KMGT]?)(?:i?B)?", text, re.ASCII | re.IGNORECASE)
    if match is None:
        raise click.BadParameter(f"{text!r} is not a size such as 512M, 100G or 10T")
    return int(match[1]) << 10 * " KMGT".index(match[2].upper() or " ")
