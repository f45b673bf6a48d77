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
from types import FrameType
from typing import Any, cast

import click
from click.shell_completion import CompletionItem

from mmbatch import VERSION
from mmbatch.cli import usage
from mmbatch.core.disk import error_from_os
from mmbatch.core.errors import ExitCode, MmbatchError, message

VERBS = {
    "apply": "Put speed-ups into a kernel tree, as a branch or as a copy",
    "bench": "Measure speed-ups on this machine against the real kernel",
    "check": "Compare patched kernel code with its oracle, byte for byte",
    "completion": "Print a script that completes mmbatch's words in a shell",
    "doctor": "Check that this machine has what mmbatch needs",
    "export": "Write speed-ups as series of mails for git am",
    "guest": "Boot real kernels with the speed-ups under QEMU",
    "live": "Put speed-ups into the running kernel of a distribution",
    "report": "Show runs side by side, as text and as an HTML page",
}
"""Every verb and its line of help; each lives in mmbatch.cli.<verb> as `command`."""

_INTERRUPTED = 130
_BROKEN_PIPE = 141
_WRITE_ERRORS = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM),
    *(errno.EFBIG, errno.EIO, errno.EMFILE),
)
"""What can fail without the name of a file and is not a bug in mmbatch."""


class _NobodyReadsError(Exception):
    """What we write to is closed, as by head: the end, and no failure to speak of."""


@contextlib.contextmanager
def _for_a_reader() -> Generator[None, None, None]:
    """Raise _NobodyReadsError on a closed pipe; click and rich would end with 1 of their own."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise _NobodyReadsError from error
        raise
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):
            raise _NobodyReadsError from error
        raise


class LazyGroup(usage.Group):
    """A group that imports a verb's module only when the verb is called."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a verb or an option, without importing any verb."""
        verbs = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=VERBS[name]) for name in verbs), *options]

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Read the arguments, which may print a help text."""
        with _for_a_reader():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Do what a verb does."""
        with _for_a_reader():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs' names."""
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one verb; None when there is no such verb."""
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"mmbatch.cli.{cmd_name}")
        command = cast("click.Command", module.command)
        command.short_help = VERBS[cmd_name]
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, VERBS[name]) for name in self.list_commands(ctx)])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=None, version=VERSION, prog_name="mmbatch")
def cli() -> None:
    """Batch slow per-page loops of Linux mm, check that memory is identical, measure the gain.

    Exit codes: 0 good, 1 failed or slower, 2 wrong usage, 3 a splice did not match exactly,
    4 too noisy to tell, 77 not applicable here, 130 interrupted.
    """


_ENDING = (signal.SIGTERM, signal.SIGHUP)


class _Ended(KeyboardInterrupt):
    """Someone sent us SIGTERM or SIGHUP: clean up as for Ctrl-C.

    Args:
        number: the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def _on_signal(number: int, frame: FrameType | None) -> None:
    raise _Ended(number)


def _tell(text: str) -> None:
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except OSError:
        pass


def _run(argv: Sequence[str] | None) -> int:
    """Run a verb; every failure that a user can cause becomes an exit code here."""
    try:
        result = cli.main(
            args=None if argv is None else list(argv), prog_name="mmbatch", standalone_mode=False
        )
        sys.stdout.flush()
    except (KeyboardInterrupt, click.exceptions.Abort) as error:
        if isinstance(error.__context__, EOFError):  # damaged bytecode, which click takes for ^D
            raise error.__context__ from None
        return _interrupted(error)
    except click.ClickException as error:
        _tell(usage.message(error))
        return int(ExitCode.USAGE)
    except _NobodyReadsError:
        return _BROKEN_PIPE
    except OSError as error:
        return _failed_os(error)
    except MmbatchError as error:
        return _failed(error)
    return result if isinstance(result, int) else 0


def _failed_os(error: OSError) -> int:
    if error.errno == errno.EPIPE:
        return _BROKEN_PIPE
    if error.filename is None and error.errno not in _WRITE_ERRORS:
        raise error
    is_output = error.filename is None and error.errno != errno.EMFILE
    action = "write the output" if is_output else "access a file"
    return _failed(error_from_os(error, action))


def _failed(error: MmbatchError) -> int:
    _tell(message(error))
    return int(error.code)


def _interrupted(error: BaseException) -> int:
    _tell("mmbatch: interrupted; nothing was left half-written")
    ended = error if isinstance(error, _Ended) else error.__context__  # click makes it an Abort
    return 128 + ended.number if isinstance(ended, _Ended) else _INTERRUPTED


def _open_closed_streams() -> None:
    """Put nothing in the place of standard streams that we were started without."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", closefd=False))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: arguments without the program's name; by default the process's own.

    Returns:
        The exit code; nothing a user can cause leaves as a traceback.
    """
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    numbers = [ending for ending in _ENDING if signal.getsignal(ending) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, _on_signal)
    code = _run(argv)
    for number in numbers:
        signal.signal(number, signal.SIG_DFL)
    if code == _BROKEN_PIPE:  # or the interpreter complains when it closes stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
