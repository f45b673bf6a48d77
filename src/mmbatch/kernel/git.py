# SPDX-License-Identifier: GPL-2.0-only
"""Read and write commits of the user's git repository without its index or working tree."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import cache, process
from mmbatch.core.errors import ExitCode, MmbatchError

_REGULAR = ("100644", "100755")
# The settings would let git write beside the index that it is given, or start a daemon.
_FLAGS = (
    "--no-optional-locks",
    *("-c", "core.splitIndex=false"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.untrackedCache=false"),
    *("-c", "log.showSignature=false"),
)


Change = tuple[str, Mapping[str, bytes]]
"""A commit: its message, and the contents by path of the files that it adds or replaces."""


@dataclass(frozen=True)
class GitTree:
    """A git repository of the user's."""

    path: Path

    def head(self) -> str:
        """Return the commit that is checked out."""
        done = self._try("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        if done.rc != 0:
            if done.stderr.strip():
                raise self._failed(done, "find HEAD")
            action, hint = f"find what is checked out in {self.path}", "commit the kernel first"
            raise MmbatchError(action, "there is no commit yet", hint, ExitCode.USAGE)
        return done.stdout.strip()

    def describe(self, commit: str) -> str:
        """Return a commit as people write it: short name and subject."""
        return self._git("log", "-1", '--format=%h ("%s")', commit).strip()

    def dirty_files(self) -> list[str]:
        """Return the tracked files that differ from HEAD, in the index or the working tree."""
        status = self._git("status", "--porcelain", "-z", "--no-renames", "--untracked-files=no")
        return [entry[3:] for entry in status.split("\0") if entry]

    def identity(self) -> str:
        """Return the user as git would sign a commit: "Name <mail>"."""
        # Or git makes an address of the names of the user and of the machine.
        done = self._try("-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT")
        if done.rc != 0:
            action, problem = "find whose name the commits get", "git knows no name and address"
            hint = "set them: git config --global user.name NAME, and user.email likewise"
            raise MmbatchError(action, problem, hint, ExitCode.USAGE)
        return done.stdout.strip().rpartition(">")[0] + ">"

    def tip(self, branch: str) -> str | None:
        """Return the last commit of a branch, None when there is no such branch."""
        done = self._try("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}^{{commit}}")
        if done.rc != 0 and done.stderr.strip():  # git says nothing if there is none
            raise self._failed(done, f"find the branch {branch}")
        return done.stdout.strip() if done.rc == 0 else None

    def read(self, commit: str, names: Iterable[str]) -> dict[str, bytes]:
        """Return the contents of those of the files that a commit has, which must be regular."""
        return {
            name: self._git("cat-file", "blob", blob).encode(errors="surrogateescape")
            for name, (_, blob) in self._entries(commit, names).items()
        }

    def commits(self, first: str, last: str) -> tuple[str, list[str]]:
        """Return where the range "first..last" of commits starts, and its commits in order."""
        action = f"find the commits {first}..{last} in {self.path}"
        for name in (first, last):
            done = self._try("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
            if done.rc != 0:
                if "dubious ownership" in done.stderr:
                    raise self._failed(done, action)
                path = shlex.quote(os.fspath(self.path))
                hint = f"see what there is: git -C {path} log --oneline"
                raise MmbatchError(action, f"git knows no commit {name}", hint, ExitCode.USAGE)
        base = self._try("merge-base", first, last).stdout.strip()
        if not base:
            problem = "git knows no commit that both descend from, as in a shallow clone"
            raise MmbatchError(action, problem, "get the history: git fetch --unshallow")
        found = self._git("rev-list", "--reverse", "--first-parent", f"{base}..{last}", "--")
        if not found:
            problem = f"{last} has no commit that {first} lacks"
            raise MmbatchError(action, problem, "give the older one first", ExitCode.USAGE)
        return base, found.split()

    def names_changed(self, old: str, new: str) -> list[str]:
        """Return the files that differ between two commits."""
        names = self._git("diff-tree", "-r", "-z", "--no-renames", "--name-only", old, new)
        return [name for name in names.split("\0") if name]

    def are_alike(self, base: str, tip: str, other: str) -> bool:
        """Return whether two branches from a base differ in who made them at most, and when."""
        words = ("log", "--left-right", "--format=%m%T %s")
        first, second = (self._git(*words, f"{base}...{end}", "--") for end in (tip, other))
        return first == second

    def write(self, base: str, changes: Sequence[Change]) -> str:
        """Write commits on a base, of which no branch knows yet, and return the last one."""
        with cache.temporary_dir("git") as work:
            index = {"GIT_INDEX_FILE": os.fspath(work / "index")}
            self._git("read-tree", base, env=index)
            for message, contents in changes:
                old = self._entries(base, contents)
                lines = []
                for path, content in contents.items():
                    text = content.decode(errors="surrogateescape")
                    blob = self._git("hash-object", "-w", "--stdin", stdin=text).strip()
                    mode = old[path][0] if path in old else _REGULAR[0]
                    lines.append(f"{mode} {blob}\t{path}\0")
                self._git("update-index", "-z", "--index-info", stdin="".join(lines), env=index)
                tree = self._git("write-tree", env=index).strip()
                base = self._git("commit-tree", tree, "-p", base, stdin=message).strip()
        return base

    def create_branch(self, branch: str, tip: str, reason: str) -> None:
        """Make a branch that must not be there yet, noting in its log why."""
        arguments = ("update-ref", "--create-reflog", "-m", reason, f"refs/heads/{branch}")
        done = self._try(*arguments, tip, "0" * len(tip))
        if done.rc != 0:
            hint = "choose another name with --branch"
            raise MmbatchError(f"make the branch {branch}", _reason(done), hint, ExitCode.USAGE)

    def _entries(self, commit: str, names: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Return (mode, blob) of those of the files that a commit has."""
        listing = self._git("ls-tree", "-z", "--full-tree", commit, "--", *sorted(names))
        entries = {}
        for line in filter(None, listing.split("\0")):
            meta, _, name = line.partition("\t")
            mode, _, blob = meta.split()
            if mode not in _REGULAR:
                action, problem = f"read {name} of {self.path}", "it is not a regular file there"
                hint = "the tree differs from the kernels this was made for"
                raise MmbatchError(action, problem, hint, ExitCode.SPLICE)
            entries[name] = (mode, blob)
        return entries

    def _git(self, *arguments: str, stdin: str = "", env: Mapping[str, str] | None = None) -> str:
        done = self._try(*arguments, stdin=stdin, env=env)
        if done.rc != 0:
            raise self._failed(done, f"run git {arguments[0]} in {self.path}")
        return done.stdout

    def _try(
        self, *arguments: str, stdin: str = "", env: Mapping[str, str] | None = None
    ) -> process.Result:
        argv: list[str | Path] = ["git", *_FLAGS, "-C", self.path, *arguments]
        return process.run(argv, action="use git", stdin=stdin, env=env, check=False)

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
