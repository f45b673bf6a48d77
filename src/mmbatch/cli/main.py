# SPDX-License-Identifier: GPL-2.0-only
"""The command line: verbs, and how their failures end."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import signal
import sys
from collections.abc import Generator, Sequence
from typing import Any, NoReturn

import click

from mmbatch import VERSION
from mmbatch.cli import usage
from mmbatch.core.errors import ExitCode, MmbatchError, message

VERBS = {
    "apply": "Put speed-ups into a kernel tree, as a branch",
    "bench": "Measure speed-ups on this machine against the real kernel",
    "check": "Compare patched kernel code with its oracle, byte for byte",
    "doctor": "Check that this machine has what mmbatch needs",
    "export": "Write speed-ups as series of mails for git am",
    "guest": "Boot real kernels with the speed-ups under QEMU",
    "live": "Put speed-ups into the running kernel of a distribution",
    "report": "Show runs side by side, as text and as an HTML page",
}
"""Every verb and its line of help; each lives in mmbatch.cli.<verb> as `command`."""

_BROKEN_PIPE = 141


class _Verbs(usage.Group):
    """A group that imports a verb's module only when the verb is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"mmbatch.cli.{cmd_name}").command
        command.short_help = VERBS[cmd_name]
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(VERBS.items()))


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=None, version=VERSION, prog_name="mmbatch")
def cli() -> None:
    """Batch slow per-page loops of Linux mm, check that memory is identical, measure the gain.

    Exit codes: 0 good, 1 failed, 2 wrong usage, 3 a splice did not match exactly,
    4 too noisy to tell, 5 slower, 77 not applicable here, 130 interrupted.
    """


def _end(number: int, _: Any) -> NoReturn:
    """Clean up as for Ctrl-C when somebody sends SIGTERM or SIGHUP."""
    raise KeyboardInterrupt(number)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line, by default with the process's own arguments; return the exit code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # not under nohup
            signal.signal(number, _end)
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        if "_MMBATCH_COMPLETE" in os.environ:
            cli.main(prog_name="mmbatch")
        with _no_exit_of_rich(), cli.make_context("mmbatch", words) as context:
            code = cli.invoke(context)
        sys.stdout.flush()
        return int(code or 0)
    except click.exceptions.Exit as ended:  # after --help
        return int(ended.exit_code)
    except click.ClickException as error:
        failure, code = usage.message(error, words), int(ExitCode.USAGE)
    except MmbatchError as error:
        failure, code = message(error), int(error.code)
    except KeyboardInterrupt as ended:
        failure = "mmbatch: interrupted; nothing was left half-written"
        code = 128 + int((ended.args or (signal.SIGINT,))[0])
    except OSError as error:
        failure, code = _what_failed(error)
    if code == _BROKEN_PIPE:  # or the interpreter complains when it closes stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    else:
        print(failure, file=sys.stderr)
    return code


@contextlib.contextmanager
def _no_exit_of_rich() -> Generator[None, None, None]:
    """Raise BrokenPipeError where rich would end the process with 1."""
    try:
        yield
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):
            raise error.__context__ from None
        raise


def _what_failed(error: OSError) -> tuple[str, int]:
    """Return what a person reads about an error of the system, which is no bug of ours."""
    if error.errno == errno.EPIPE:  # nobody reads what we write, as after `| head`
        return "", _BROKEN_PIPE
    if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM):
        raise error
    place = error.filename or "the output or the cache"
    hint = "make room there, or make it writable; MMBATCH_CACHE puts the cache elsewhere"
    return f"error: cannot write {place}: {error.strerror}\nhint: {hint}", int(ExitCode.FAILED)
