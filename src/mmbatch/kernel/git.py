# SPDX-License-Identifier: GPL-2.0-only
"""Read and write commits of the user's git repository without its index or working tree."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import process
from mmbatch.core.errors import ExitCode, MmbatchError

_REGULAR = ("100644", "100755")
# These would let git write beside the index that it is given, or start a daemon.
_SETTINGS = (
    "core.splitIndex=false",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "log.showSignature=false",
)
_NO_GUESS = ("-c", "user.useConfigOnly=true")
"""Or git makes an address of the names of the user and of the machine."""


@dataclass(frozen=True)
class Change:
    """What one commit does."""

    subject: str
    body: str
    contents: Mapping[str, bytes]  # by path, of each file that it adds or replaces


class GitTree:
    """A git repository of the user's."""

    def __init__(self, path: Path) -> None:
        """Do nothing yet."""
        self.path = path

    def head(self) -> str:
        """Return the commit that is checked out."""
        done = self._try("rev-parse", "--verify", "--quiet", "HEAD^{commit}", action="find HEAD")
        if done.rc != 0:
            if done.stderr.strip():
                raise self._failed(done, "find HEAD")
            raise MmbatchError(
                f"find what is checked out in {self.path}",
                "there is no commit yet",
                "commit the kernel first",
                ExitCode.USAGE,
            )
        return done.stdout.strip()

    def describe(self, commit: str) -> str:
        """Return a commit as people write it: short name and subject."""
        return self._git("log", "-1", '--format=%h ("%s")', commit).strip()

    def short(self, commit: str) -> str:
        """Return a commit's short name."""
        return self._git("rev-parse", "--short", commit).strip()

    def dirty_files(self) -> list[str]:
        """Return the tracked files that differ from HEAD, in the index or the working tree."""
        status = self._git("status", "--porcelain", "-z", "--no-renames", "--untracked-files=no")
        return [entry[3:] for entry in status.split("\0") if entry]

    def identity(self) -> str:
        """Return the user as git would sign a commit: "Name <mail>".

        Raises:
            MmbatchError: git does not know who that is.
        """
        for role in ("AUTHOR", "COMMITTER"):
            done = self._try(
                *_NO_GUESS, "var", f"GIT_{role}_IDENT", action="find the committer's name"
            )
            if done.rc != 0:
                raise MmbatchError(
                    "find whose name the commits get",
                    "git knows no name and address",
                    "set them: git config --global user.name NAME, and user.email likewise",
                    ExitCode.USAGE,
                )
        return done.stdout.strip().rpartition(">")[0] + ">"

    def check_branch_name(self, branch: str) -> None:
        """Raise MmbatchError unless git takes a name for a branch."""
        action = f"name a branch '{branch}'"
        if self._try("check-ref-format", "--branch", branch, action=action).rc != 0:
            raise MmbatchError(
                action, "git takes no such name", "choose another with --branch", ExitCode.USAGE
            )

    def tip(self, branch: str) -> str | None:
        """Return the last commit of a branch, None when there is no such branch."""
        done = self._try("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}^{{commit}}")
        if done.rc != 0 and done.stderr.strip():  # git says nothing if there is none
            raise self._failed(done, f"find the branch {branch}")
        return done.stdout.strip() if done.rc == 0 else None

    def read(self, commit: str, names: Iterable[str]) -> dict[str, bytes]:
        """Return the contents of those of the files that a commit has.

        Raises:
            MmbatchError: exit code 3; one is not a regular file there.
        """
        entries = self._entries(commit, names)
        if not entries:
            return {}
        request = "".join(f"{blob}\n" for _, blob in entries.values())
        blobs = self._git("cat-file", "--batch", stdin=request, errors="surrogateescape")
        data = blobs.encode(errors="surrogateescape")
        contents = {}
        for name in entries:
            header, _, data = data.partition(b"\n")
            if b" blob " not in header:  # a partial clone has some of them only
                problem = f"git says '{header.decode(errors='replace')}'"
                hint = "fetch all of the repository, or check it with git fsck"
                raise MmbatchError(f"read {name} of {self.path}", problem, hint)
            size = int(header.split()[2])
            contents[name], data = data[:size], data[size + 1 :]
        return contents

    def commits(self, first: str, last: str) -> tuple[str, list[str]]:
        """Return where the range "first..last" of commits starts, and its commits in order.

        Raises:
            MmbatchError: exit code 2; git knows no such commit, or there is none between them.
        """
        action = f"find the commits {first}..{last} in {self.path}"
        names = []
        for name in (first, last):
            done = self._try("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
            if done.rc != 0 and "dubious ownership" in done.stderr:
                raise self._failed(done, action)
            if done.rc != 0:
                hint = (
                    f"see what there is: git -C {shlex.quote(os.fspath(self.path))} log --oneline"
                )
                raise MmbatchError(action, f"git knows no commit {name}", hint, ExitCode.USAGE)
            names.append(done.stdout.strip())
        base = self._try("merge-base", *names).stdout.strip()
        if not base:
            problem = "git knows no commit that both descend from, as in a shallow clone"
            raise MmbatchError(action, problem, "get the history: git fetch --unshallow")
        words = ("rev-list", "--reverse", "--first-parent", f"{base}..{names[1]}", "--")
        found = self._git(*words).split()
        if not found:
            problem = f"{last} has no commit that {first} lacks"
            raise MmbatchError(action, problem, "give the older one first", ExitCode.USAGE)
        return base, found

    def names_changed(self, old: str, new: str) -> list[str]:
        """Return the files that differ between two commits."""
        names = self._git("diff-tree", "-r", "-z", "--no-renames", "--name-only", old, new)
        return [name for name in names.split("\0") if name]

    def holds(self, base: str, tip: str, changes: Sequence[Change]) -> bool:
        """Return whether a branch consists of exactly these commits on a base."""
        commits = self._git("rev-list", "--reverse", "--parents", f"{base}..{tip}", "--")
        rows = [line.split() for line in commits.splitlines()]
        if len(rows) != len(changes):
            return False
        parent = base
        for (commit, *parents), change in zip(rows, changes, strict=True):
            if (
                parents != [parent]
                or self._git("log", "-1", "--format=%s", commit).strip() != change.subject
                or set(self.names_changed(parent, commit)) != set(change.contents)
                or self.read(commit, change.contents) != change.contents
            ):
                return False
            parent = commit
        return True

    def write(self, base: str, changes: Sequence[Change], work: Path, author: str) -> str:
        """Write commits on a base, and return the last one; no branch has them yet.

        The work directory is an empty one of ours; the author is a "Name <mail>".
        """
        name, _, mail = author.rstrip(">").partition(" <")
        by = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": mail}
        index = {"GIT_INDEX_FILE": os.fspath(work / "index")}
        self._git("read-tree", base, env=index)
        parent = base
        for number, change in enumerate(changes):
            blobs = self._write_blobs(change.contents, work / str(number))
            old = self._entries(parent, change.contents)
            lines = [
                f"{old[name][0] if name in old else _REGULAR[0]} {blob}\t{name}\0"
                for name, blob in blobs.items()
            ]
            self._git("update-index", "-z", "--index-info", stdin="".join(lines), env=index)
            tree = self._git("write-tree", env=index).strip()
            message = f"{change.subject}\n\n{change.body}\n"
            parent = self._git("commit-tree", tree, "-p", parent, stdin=message, env=by).strip()
        return parent

    def create_branch(self, branch: str, tip: str, reason: str) -> None:
        """Make a branch that must not be there yet, noting in its log why."""
        arguments = ("update-ref", "--create-reflog", "-m", reason, f"refs/heads/{branch}")
        done = self._try(*arguments, tip, "0" * len(tip))
        if done.rc != 0:
            raise MmbatchError(
                f"make the branch {branch}",
                _reason(done),
                "choose another name with --branch",
                ExitCode.USAGE,
            )

    def _entries(self, commit: str, names: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Return (mode, blob) of those of the files that a commit has."""
        listing = self._git("ls-tree", "-z", "--full-tree", commit, "--", *sorted(names))
        entries = {}
        for line in filter(None, listing.split("\0")):
            meta, _, name = line.partition("\t")
            mode, _, blob = meta.split()
            if mode not in _REGULAR:
                raise MmbatchError(
                    f"read {name} of {self.path}",
                    "it is not a regular file there",
                    "the tree differs from the kernels this was made for",
                    ExitCode.SPLICE,
                )
            entries[name] = (mode, blob)
        return entries

    def _write_blobs(self, contents: Mapping[str, bytes], directory: Path) -> dict[str, str]:
        directory.mkdir()
        paths = []
        for number, content in enumerate(contents.values()):
            paths.append(directory / str(number))
            paths[-1].write_bytes(content)
        request = "".join(f"{path}\n" for path in paths)
        hashes = self._git("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=request)
        return dict(zip(contents, hashes.split(), strict=True))

    def _git(
        self,
        *arguments: str,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        errors: str = "replace",
    ) -> str:
        done = self._try(*arguments, stdin=stdin, env=env, errors=errors)
        if done.rc != 0:
            raise self._failed(done, f"run git {arguments[0]} in {self.path}")
        return done.stdout

    def _try(
        self,
        *arguments: str,
        action: str = "use git",
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        errors: str = "replace",
    ) -> process.Result:
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        return process.run(
            ["git", "--no-optional-locks", *settings, "-C", self.path, *arguments],
            action=action,
            stdin=stdin,
            env=env,
            errors=errors,
            check=False,
        )

    def _failed(self, done: process.Result, action: str) -> MmbatchError:
        path = shlex.quote(os.fspath(self.path.absolute()))
        hint = f"see what this says: git -C {path} status"
        if "dubious ownership" in done.stderr:
            trust = f"git config --global --add safe.directory {path}"
            hint = f"it belongs to another user; if you trust its settings and hooks, run: {trust}"
        return MmbatchError(action, _reason(done), hint)


def _reason(done: process.Result) -> str:
    """Return git's own word on why it failed."""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    chosen = [line for line in lines if line.startswith(("fatal: ", "error: "))] or lines
    return re.sub(r"^(fatal|error): ", "", chosen[0]) if chosen else f"git ended with {done.rc}"
