# SPDX-License-Identifier: GPL-2.0-only
"""Lets `python -m mmbatch` run the command line."""

import os
import shutil
import sys


def _is_of_bytecode(error: BaseException) -> bool:
    """Return whether Python met bytecode that it can't read, as after a power failure."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code.co_name == "_compile_bytecode"


def _run() -> int:
    """Run the command line; once more without the cache's bytecode if that is damaged."""
    try:
        from mmbatch.cli.main import main

        return main()
    except KeyboardInterrupt:
        return 130
    except (EOFError, ImportError, TypeError, ValueError) as error:
        place = sys.pycache_prefix
        if place is None or not _is_of_bytecode(error):
            raise
        shutil.rmtree(place, ignore_errors=True)
        if os.path.exists(place):  # noqa: PTH110 (pathlib's bytecode may be damaged, too)
            sys.stderr.write(
                f"error: cannot start: Python's bytecode in {place} is damaged\n"
                "hint: remove that directory\n"
            )
            return 1
        sys.stderr.write(f"Python's bytecode in {place} was damaged: starting again without it\n")
        sys.stderr.flush()
        os.execv(sys.executable, sys.orig_argv)


if __name__ == "__main__":
    sys.exit(_run())
