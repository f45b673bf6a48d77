# SPDX-License-Identifier: GPL-2.0-only
"""The command line: verbs, and how their failures end."""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
from collections.abc import Sequence
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
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"mmbatch.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


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
        with cli.make_context("mmbatch", words) as context:
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
    except (BrokenPipeError, SystemExit):  # nobody reads what we write; rich exits then
        code = _BROKEN_PIPE
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM):
            raise
        place = error.filename or "the output or the cache"
        hint = "free some space, make it writable, or set MMBATCH_CACHE to another directory"
        failure = f"error: cannot write {place}: {error.strerror}\nhint: {hint}"
        code = int(ExitCode.FAILED)
    if code == _BROKEN_PIPE:  # or the interpreter complains when it closes stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    else:
        print(failure, file=sys.stderr)
    return code
