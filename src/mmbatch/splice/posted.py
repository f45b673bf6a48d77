# SPDX-License-Identifier: GPL-2.0-only
"""Put posted patches into a copy of a kernel tree, to be measured beside ours.

Only the files that the patches name are copied. All others are hard links to the tree's.
"""

from __future__ import annotations

import contextlib
import email
import email.policy
import filecmp
import hashlib
import io
import os
import re
import shlex
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from email.message import Message
from pathlib import Path

from mmbatch.core import cache, log, process
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel import sources as kernels
from mmbatch.kernel.git import GitTree
from mmbatch.kernel.sources import Source
from mmbatch.splice.apply import contents_in, copy_tree, named_files, plan, write
from mmbatch.splice.manifest import ALL, Manifest, cut

READ_PARTS = ("arch/x86/", "include/", "kernel/", "lib/", "mm/")
"""What is read of a tree when the objects of a hosted program are compiled."""

_COMMENT = re.compile(rb'/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*")', re.DOTALL)
_SOURCE = re.compile(r"(?!.*\.mod\.c).*\.[chS]|Makefile|Kbuild")
_GENERATED = re.compile(r"(^|/)include/(generated|config)/")
_BROKEN = re.compile(r"^error: (No valid patches in input|corrupt patch .*?)(?: \(|$)")
_NAME = re.compile(
    rb"^(?:--- |\+\+\+ |rename from |rename to |copy from |diff --git \S+ )([^\t\n\r]+)", re.M
)


@dataclass(frozen=True)
class Posted:
    """Posted code: the row that it has, where it is from for people, and what it is.

    `sha256` is of what it was read from, `patches` are subjects, and `contents` has each file that
    it changes, None for one that it removes. A `step` of a series may well change nothing that is
    measured.
    """

    label: str
    source: str
    sha256: str
    patches: tuple[str, ...]
    contents: Mapping[str, bytes | None]
    step: bool = False


@dataclass(frozen=True)
class PostedTree:
    """A tree with posted code in it, of which it has only what is compiled."""

    posted: Posted
    path: Path
    ident: str


def make_tree(source: Source, posted: Posted) -> PostedTree:
    """Return a copy of a tree with posted code in it, from the cache if it is there."""
    key = repr((source.state, sorted(posted.contents.items()))).encode()
    ident = f"posted-{source.ident}-{hashlib.sha256(key).hexdigest()[:12]}"

    def fill(work: Path) -> None:
        copy_tree(source, work, posted.contents, READ_PARTS)

    final = cache.provide(cache.splices() / ident, fill, f"copies {source.release}")
    return PostedTree(posted, final, ident)


def from_steps(source: Source, manifests: Sequence[Manifest], last: str = ALL) -> list[Posted]:
    """Return the code after every step of a speed-up of ours, the last of those that it needs."""
    manifests = cut(manifests, last)
    base = contents_in(source.path, named_files(source.series, manifests))
    contents: dict[str, bytes | None] = {}
    found: list[Posted] = []
    for step in plan(manifests, source.series, source.release, base):
        contents |= step.contents
        if step.speedup == manifests[-1].speedup:
            label = f"{len(found) + 1} {step.name}"
            subjects = (*(found[-1].patches if found else ()), step.subject)
            origin = f"step '{step.name}' of {step.speedup}"
            posted = Posted(label, origin, digest(contents), subjects, dict(contents), step=True)
            found.append(posted)
    return found


def from_tree(source: Source, label: str, tree: Path) -> Posted:
    """Return what another tree of the same release has in the place of this one's files."""
    _, release = kernels.check_tree(tree)
    if release != source.release:
        raise MmbatchError(
            f"measure {tree} against {source.origin}",
            f"it is Linux {release}, and that is {source.release}",
            "give the release without the changes with --tree",
            ExitCode.USAGE,
        )
    contents: dict[str, bytes | None] = {}
    for name in sorted({*_sources_in(source.path), *_sources_in(tree)}):
        own_file, other = source.path / name, tree / name
        in_both = own_file.is_file() and other.is_file()
        if not in_both or not filecmp.cmp(own_file, other, shallow=False):
            contents[name] = other.read_bytes() if other.is_file() else None
    return Posted(label, f"tree {tree}", digest(contents), (), contents)


def from_range(source: Source, label: str, tree: Path, text: str, *, each: bool) -> list[Posted]:
    """Return what the commits "A..B" of a git tree change, of whose checkout the kernel is a copy.

    With `each`, return the code after every commit. Only the commits of the tree are read.
    """
    git = GitTree(tree)
    first, _, last = text.partition("..")
    base, commits = git.commits(first, last)
    subjects = tuple(map(git.describe, commits))
    step = each and len(commits) > 1
    found = []
    numbered = list(enumerate(commits, 1))
    for number, commit in numbered if each else numbered[-1:]:
        names = git.names_changed(base, commit)
        before, after = git.read(base, names), git.read(commit, names)
        here = contents_in(source.path, names)
        if other := next((name for name in names if here.get(name) != before.get(name)), None):
            where = shlex.quote(os.fspath(tree))
            raise MmbatchError(
                f"measure {text}",
                f"{other} in {tree} is not that of {base[:12]}, from which the range starts",
                f"run git -C {where} worktree add --detach DIR {base[:12]}, then use --tree DIR",
                ExitCode.SPLICE,
            )
        contents = {name: after.get(name) for name in names}
        name = f"{label} {number}/{len(commits)}" if step else label
        origin = f"commits {text} of {tree}"
        found.append(Posted(name, origin, digest(contents), subjects[:number], contents, step))
    return found


def _sources_in(tree: Path) -> Iterator[str]:
    """Yield the files of a tree that a hosted program may be compiled from."""
    for path in (path for part in READ_PARTS for path in (tree / part).rglob("*")):
        name = os.path.relpath(path, tree)
        if _SOURCE.fullmatch(path.name) and not _GENERATED.search(name):
            yield name


def digest(contents: Mapping[str, bytes | None]) -> str:
    """Return the SHA-256 of files, their names and their contents without comments (hex)."""
    total = hashlib.sha256()
    for name, content in sorted(contents.items()):
        total.update(os.fsencode(name) + b"\0")
        total.update(b"-" if content is None else hashlib.sha256(_code(name, content)).digest())
    return total.hexdigest()


def _code(name: str, content: bytes) -> bytes:
    """Return what the compiler sees of a C file, and any other file as it is."""
    if not name.endswith((".c", ".h")):
        return content
    bare = _COMMENT.sub(lambda match: match[1] or b" ", content)
    return b" ".join(bare.split())


def from_files(
    source: Source, label: str, paths: Sequence[Path], *, each: bool = False
) -> list[Posted]:
    """Apply a posted series to a kernel, in a directory with nothing but the files it names.

    With `each`, return the code after every patch. If only the first patches of a series are
    there, the label says so.
    """
    with cache.temporary_dir("mails") as work:
        patches, sha256, part_of = _read_series(paths, work)
    names = sorted({name for patch in patches for _, name in _named(patch.text)})
    before = contents_in(source.path, names)
    origin = ", ".join(map(os.fspath, paths))
    total = part_of or len(patches)
    found = []
    with cache.temporary_dir("posted") as work:
        for name, content in before.items():
            write(work / name, content)
        for number, patch in enumerate(patches, 1):
            which = f"'{patch.subject}'" if patch.subject else label
            if len(patches) > 1:
                which += f" (patch {number} of {len(patches)} of {label})"
            if note := _apply(work, source, patch, which):
                log.say(f"{which}: {note}")
                origin += f" (patch {number}: {note})"
            if each or number == len(patches):
                numbered = total > 1 and (each or part_of is not None)
                row = f"{label} {number}/{total}" if numbered else label
                after = contents_in(work, names)
                changed = {n: after.get(n) for n in names if after.get(n) != before.get(n)}
                subjects = tuple(patch.subject for patch in patches[:number])
                step = each and total > 1
                found.append(Posted(row, origin, sha256, subjects, changed, step))
    return found


def _named(text: bytes) -> Iterator[tuple[int, str]]:
    """Yield the paths that a diff may name, without their first directories, and how many."""
    for match in _NAME.finditer(text):
        name = match[1].decode(errors="surrogateescape").strip().strip('"')
        for strip in range(4):
            if name and not name.startswith("/") and ".." not in name.split("/"):
                yield strip, name
            name = name.partition("/")[2]


def _apply(work: Path, source: Source, patch: Patch, name: str) -> str:
    """Apply one patch in a directory; return how it was, if not exactly as git has it."""
    file = work / ".mmbatch.patch"
    file.write_bytes(patch.text)
    there = Counter[int]()
    for level, path in _named(patch.text):  # a new file's first directory has to do
        top, _, below = path.partition("/")
        is_placed = bool(below) and (source.path / top).is_dir()
        there[level] += 1000 * (work / path).is_file() + is_placed
    likely = max((1, 0, 2, 3), key=lambda level: there[level])
    strip = likely if patch.strip is None else patch.strip

    def run(*arguments: str | Path) -> process.Result:
        # Without the ceiling, git leaves out what lies above the directory in a repository.
        ceiling = {"GIT_CEILING_DIRECTORIES": os.fspath(work.parent.resolve())}
        return process.run(arguments, action=f"apply {name}", cwd=work, env=ceiling, check=False)

    def git(*arguments: str) -> process.Result:
        words = ("-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", f"-p{strip}")
        return run("git", *words, *arguments, file)

    def fuzzily(*arguments: str) -> process.Result:
        options = ("--force", "--no-backup-if-mismatch", "--reject-file=-", f"-p{strip}")
        return run("patch", *options, *arguments, "-i", file)

    done = git()
    if done.rc == 0:
        return ""
    hint = "give the kernel that it was made for with --tree or --kernel"
    spaces = "\u00a0".encode() in patch.text or git("--check", "--ignore-whitespace").rc == 0
    broken = _BROKEN.search(done.stderr)
    if git("--check", "--reverse").rc == 0 or fuzzily("--dry-run", "--reverse").rc == 0:
        problem, hint = f"Linux {source.release} has it already", "leave it out"
    elif broken or spaces:
        what = "its tabs or spaces are others" if spaces else broken[1] if broken else ""
        problem = f"the mail was damaged on its way: {what}"
        hint = "get it as it was sent, for example from an archive of the list"
    else:
        found = fuzzily("--forward")
        fuzz = set(re.findall(r"with fuzz \d", found.stdout))
        if found.rc == 0 and "binary patch" not in done.stderr:  # of which patch(1) does the rest
            return f"applied by patch(1) only, {' and '.join(sorted(fuzz)) or 'with an offset'}"
        failed = re.search(r"^error: (patch failed: )?(.*)", done.stderr, re.M)
        problem = failed[2] if failed else "git does not say why"
        if failed and failed[1]:
            problem += f" does not fit Linux {source.release}"
    raise MmbatchError(f"apply {name}", problem, hint, ExitCode.SPLICE)


DIFF = re.compile(rb"^(?:diff --git |--- \S.*\n\+\+\+ )", re.MULTILINE)
_PACKED = {b"\x1f\x8b": "gzip", b"\xfd7zXZ": "xz", b"(\xb5/\xfd": "zstd", b"BZh": "bzip2"}
_SUBJECT = re.compile(r"((?:(?:re|aw|sv|fwd?):\s*)*)((?:\[[^\]]*\]\s*)*)", re.IGNORECASE)
_LEFT_BEHIND = re.compile(r"\..*|.*(?:~|\.orig|\.rej|\.bak|\.sw.)")
_MAILINFO = ("git", "mailinfo", "--scissors", "-k", "--encoding=UTF-8", "--quoted-cr=strip")


@dataclass(frozen=True)
class Patch:
    """One patch: `text` is its diff and whatever stands around it, the rest is of its mail.

    `tags` are those of its subject, "[PATCH v2 1/3]", and `strip` is how many directories its
    names have in front, if somebody said so.
    """

    text: bytes
    subject: str = ""
    message_id: str = ""
    is_reply: bool = False
    tags: str = ""
    strip: int | None = None

    @property
    def version(self) -> int:
        """The version of the series, 1 if it is not named."""
        found = re.search(r"\bv(\d+)\b", self.tags, re.IGNORECASE)
        return int(found[1]) if found else 1

    @property
    def count(self) -> tuple[int, int] | None:
        """Its number, and that of all patches."""
        found = re.search(r"(\d+)/(\d+)", self.tags)
        return (int(found[1]), int(found[2])) if found else None

    @property
    def changes(self) -> list[bytes]:
        """The lines by which it changes files."""
        found = DIFF.search(self.text)
        lines = self.text[found.start() if found else 0 :].split(b"\n")
        return [line for line in lines if line[:1] in (b"+", b"-", b"@") and line[:3] != b"-- "]


def _read_series(paths: Sequence[Path], work: Path) -> tuple[list[Patch], str, int | None]:
    """Read a posted series; return its patches, never none, in the order in which they apply.

    What is left out is named: cover letters, replies to patches, older versions, copies of a
    mail, and files without a patch. `work` is an empty directory of ours. The SHA-256 that is
    returned is of the bytes of all files, and the last value is how many patches the series has
    if only the first ones of it are here.
    """
    parts, sums = map(list, zip(*(_read(path, work) for path in paths), strict=True))
    if len(parts) > 1 and all(len(part) == 1 for part in parts):
        parts = [[patch for part in parts for patch in part]]  # each patch in a file of its own
    found: list[Patch] = []
    total = None
    for part, path in zip(parts, paths, strict=False):
        patches, total = _in_order(part, f"read the patches in {path}")
        found += patches
    joined = hashlib.sha256("".join(sums).encode()).hexdigest()
    return found, sums[0] if len(sums) == 1 else joined, total


def _read(path: Path, work: Path) -> tuple[list[Patch], str]:
    """Return the patches of a file or directory, in the order of files, and its SHA-256."""
    action, hint = f"read the patches in {path}", "give a patch, an mbox or a directory"
    files, total = _files(path, work)
    order = [*files]
    strips: dict[str, int | None] = {}
    if "series" in files:  # of quilt
        lines = [line.split("#")[0].split() for line in files["series"].decode().splitlines()]
        for name, *options in filter(None, lines):
            levels = [int(option[2:]) for option in options if re.fullmatch(r"-p\d", option)]
            strips[name] = levels[0] if levels else None
        if lost := [name for name in strips if name not in files]:
            raise MmbatchError(action, f"series names {lost[0]}, which is not there", hint)
        order = [*strips, *(name for name in order if name not in strips)]
    found: list[Patch] = []
    for name in order:
        patches = [] if _LEFT_BEHIND.fullmatch(name) else list(_patches(files[name], work))
        if patches and name in (strips or files):
            for patch in patches:  # a series says the order, which mails of several have not
                tags = "" if strips else patch.tags
                found.append(replace(patch, strip=strips.get(name), tags=tags))
        elif name != "series" and len(order) > 1:
            why = "is not in its series" if patches else "has no patch or is a backup"
            log.say(f"leaving out {name}, which {why}")
    if not found:
        raise MmbatchError(action, "it has no patch", hint, ExitCode.USAGE)
    return found, total


def _files(path: Path, work: Path) -> tuple[dict[str, bytes], str]:
    """Return name to content, unpacked, 2 before 10, and the SHA-256 of all as they are."""
    places = [path / "cur", path / "new"] if (path / "cur").is_dir() else [path]
    every = [path] if path.is_file() else [each for at in places for each in sorted(at.glob("*"))]
    total, files = hashlib.sha256(), dict[str, bytes]()
    for file in every:
        if not file.is_file():
            log.say(f"leaving out {file.name}, which is no file")
            continue
        content = file.read_bytes()
        total.update(content)
        for magic, program in _PACKED.items():
            if content.startswith(magic):
                content = _run([program, "-dc", file.absolute()], work)
        files[file.name] = content
    if path.is_file() and files[path.name][257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(files.pop(path.name))) as tar:
            for member in filter(tarfile.TarInfo.isfile, tar):
                files[Path(member.name).name] = tar.extractfile(member).read()  # type: ignore[union-attr]
    numbered = {name: re.sub(r"\d+", lambda digits: digits[0].zfill(20), name) for name in files}
    return {
        name: files[name] for name in sorted(files, key=numbered.__getitem__)
    }, total.hexdigest()


def _patches(content: bytes, work: Path) -> Iterator[Patch]:
    """Yield the patches of a file: a bare diff, one mail, or several of an mbox."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        content = content.decode("utf-16", errors="replace").encode()
    content = content.removeprefix(b"\xef\xbb\xbf").lstrip()
    is_mail = email.message_from_bytes(content)["Subject"] is not None
    if not is_mail and not content.startswith(b"From "):
        subjects = re.findall(rb"^Subject: (.*)", content, re.M)
        subject = subjects[0].decode(errors="replace").strip() if len(subjects) == 1 else ""
        if DIFF.search(content):  # beside a subject, where a mail was pasted
            yield replace(_headed(subject), text=content.replace(b"\r\n", b"\n"))
        return
    place = Path(tempfile.mkdtemp(dir=work))
    _run(["git", "mailsplit", "-b", "-o."], place, content)
    for file in sorted(place.glob("[0-9]*")):
        yield from _mail(file.read_bytes(), work)


def _mail(content: bytes, work: Path) -> Iterator[Patch]:
    """Yield the patch of a mail, or those that are attached to it."""
    mail = email.message_from_bytes(content)
    subject = str(email.message_from_bytes(content, policy=email.policy.default)["Subject"])
    headed = _headed(" ".join(subject.split()), mail["Message-ID"] or "")
    if mail.is_multipart():
        for part in _leaves(mail):
            for patch in _patches(part, work):
                yield patch if patch.subject else replace(headed, text=patch.text)
        return
    info = _run([*_MAILINFO, "log", "patch"], work, content).decode(errors="replace")
    text = (work / "patch").read_bytes()
    if not DIFF.search(text):  # its header may promise parts that it has no more
        text = content.partition(b"\n\n")[2]
    if DIFF.search(text):
        own = re.search(r"^Subject: (.*)", info, re.MULTILINE)
        subject = own[1] if own and headed.is_reply else headed.subject
        yield replace(headed, text=_utf8(text, mail), subject=subject)


def _headed(subject: str, message_id: str = "") -> Patch:
    """Return a patch of which only the mail's head is known."""
    reply, tags = _SUBJECT.match(subject).groups()  # type: ignore[union-attr]
    return Patch(b"", subject, message_id, reply != "", tags)


def _run(argv: Sequence[str | Path], work: Path, content: bytes = b"") -> bytes:
    text = content.decode(errors="surrogateescape")
    done = process.run(argv, action=f"read mails by {argv[0]}", cwd=work, stdin=text)
    return done.stdout.encode(errors="surrogateescape")


def _leaves(part: Message) -> Iterator[bytes]:
    """Yield what is attached to a mail, and its own text, as UTF-8."""
    if part.get_content_type() == "message/rfc822":
        yield part.get_payload(0).as_bytes()  # type: ignore[union-attr]
    elif part.is_multipart():
        for inner in part.get_payload():
            yield from _leaves(inner)  # type: ignore[arg-type]
    elif part.get_content_type() != "text/html":
        yield _utf8(part.get_payload(decode=True), part)  # type: ignore[arg-type]


def _utf8(text: bytes, part: Message) -> bytes:
    """Return the text of a part in UTF-8, or as it came if nobody knows its charset."""
    with contextlib.suppress(LookupError, ValueError):
        return text.decode(str(part.get_content_charset() or "utf-8")).encode()
    return text


def _in_order(patches: list[Patch], action: str) -> tuple[list[Patch], int | None]:
    """Return the patches of one version in order, and the total if only the first are there."""

    alone = "save the mails of one version by themselves"

    def refuse(problem: str, hint: str = alone) -> MmbatchError:
        return MmbatchError(action, problem, hint, ExitCode.USAGE)

    def without(kind: str, left_out: Callable[[Patch], bool]) -> list[Patch]:
        kept = [patch for patch in found if not left_out(patch)]
        if len(kept) < len(found):
            log.say(f"leaving out {kind}: {len(found) - len(kept)}")
        return kept

    found = list({(p.message_id or id(p), p.subject): p for p in patches}.values())
    found = without("cover letters", lambda patch: patch.count is not None and not patch.count[0])
    if not found:
        raise refuse("it has a cover letter only", "save the mails of the patches too")
    if not all(patch.is_reply for patch in found):
        found = without("replies", lambda patch: patch.is_reply)
    versions = sorted({patch.version for patch in found})
    newest = versions[-1]
    older = f"mails of versions before v{newest}"
    found = without(older, lambda patch: patch.subject != "" and patch.version < newest)
    by_number: dict[int, Patch] = {}
    totals = set()
    for patch in found:
        if patch.count:
            number, total = patch.count
            totals.add(total)
            if by_number.setdefault(number, patch).changes != patch.changes:
                raise refuse(f"two of its mails are patch {number}, and they differ")
    if not by_number:
        return found, None
    if len(totals) > 1:
        raise refuse(f"its mails are of series of {' and '.join(map(str, sorted(totals)))} patches")
    numbers = sorted(by_number)
    if len(versions) > 1 and len(numbers) < total:
        few = ", ".join(f"{number}/{total}" for number in numbers)
        every = ", ".join(f"v{version}" for version in versions)
        raise refuse(f"its mails are of {every}, and v{newest} has {few} only")
    lacking = [str(number) for number in range(1, numbers[-1]) if number not in by_number]
    if lacking:
        hint = "save that mail too, or give the diffs of the others without their mails"
        raise refuse(f"patch {', '.join(lacking)} of {total} is missing", hint)
    # Those without a number stay where they are.
    found = [p for p in found if not p.count or p is by_number[p.count[0]]]
    ordered = (by_number[number] for number in numbers)
    found = [next(ordered) if patch.count else patch for patch in found]
    return found, total if numbers[-1] < total else None
