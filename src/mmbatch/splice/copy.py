# SPDX-License-Identifier: GPL-2.0-only
"""Put speed-ups into a copy of a kernel tree that has no git."""

from __future__ import annotations

from pathlib import Path

from mmbatch.core import process
from mmbatch.core.cache import Cache
from mmbatch.core.disk import atomic_dir, error_from_os, sweep
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.splice.plan import Result, Say, Target, plan
from mmbatch.splice.steps import named_files


def to_copy(
    cache: Cache, target: Target, output: Path | None, say: Say, *, dry_run: bool
) -> Result:
    """Write a copy of a tree without git, with the speed-ups in it.

    Args:
        cache: for temporary files.
        target: the tree and the speed-ups.
        output: where the copy goes; it appears when it is complete.
        say: told of each phase.
        dry_run: only return what would be done.

    Raises:
        MmbatchError: exit code 3 where a hook does not match exactly; 2 where there is no
            place for the copy.
    """
    if not dry_run:
        output = _checked_output(target.tree, output)
    contents = {}
    for name in named_files(target.series, target.manifests):
        if (target.tree / name).is_file():
            contents[name] = (target.tree / name).read_bytes()
    steps = plan(cache, target, contents, say)
    if output is None or dry_run or not steps:
        return Result(steps, already=None if steps else str(target.tree))
    say(f"copying linux {target.release} to {output}")
    if output.parent.is_dir():
        sweep(output.parent, output.name)
    with atomic_dir(output) as work:
        process.run(["cp", "-a", f"{target.tree}/.", work], action=f"copy {target.tree}")
        for step in steps:
            for name, content in step.contents.items():
                replace(work / name, content)
    return Result(steps)


def _checked_output(tree: Path, output: Path | None) -> Path:
    """Return where a copy goes, resolved."""
    action = f"apply to {tree}"
    if output is None:
        raise MmbatchError(
            action,
            "it has no git to make a branch in",
            "name a folder for a copy with -o DIR",
            ExitCode.USAGE,
        )
    output = output.resolve()
    if output.is_relative_to(tree):
        problem = f"{output} lies in the tree itself"
    elif output.is_dir() and any(output.iterdir()):
        problem = f"{output} is not empty"
    elif output.exists() and not output.is_dir():
        problem = f"{output} is no folder"
    else:
        return output
    raise MmbatchError(action, problem, "name another folder with -o DIR", ExitCode.USAGE)


def replace(path: Path, content: bytes) -> None:
    """Put a file into a copy of a tree, which may be a link to another tree's."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        path.chmod(mode)
    except OSError as error:
        raise error_from_os(error, f"write {path.name}") from error
