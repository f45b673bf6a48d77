# SPDX-License-Identifier: GPL-2.0-only
"""Read a posted series as people save it; git reads the mails, and this knows what a series is."""

from __future__ import annotations

import contextlib
import email
import email.policy
import hashlib
import io
import re
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from email.message import Message
from pathlib import Path

from mmbatch.core import log, process
from mmbatch.core.errors import ExitCode, MmbatchError

DIFF = re.compile(rb"^(?:diff --git |--- \S.*\n\+\+\+ )", re.MULTILINE)
_PACKED = {b"\x1f\x8b": "gzip", b"\xfd7zXZ": "xz", b"(\xb5/\xfd": "zstd", b"BZh": "bzip2"}
_REPLY = re.compile(r"^(?:re|aw|sv|fwd?):\s*", re.IGNORECASE)
_TAGS = re.compile(r"(?:\[[^\]]*\]\s*)+")
_LEFT_BEHIND = re.compile(r"\..*|.*(?:~|\.orig|\.rej|\.bak|\.sw.)")
_MAILINFO = "exec git mailinfo --scissors -k --encoding=UTF-8 --quoted-cr=strip log patch <mail"


@dataclass(frozen=True)
class Patch:
    """One patch: `text` is its diff and whatever stands around it, the rest is of its mail.

    `strip` is how many directories its names have in front, if somebody said so.
    """

    text: bytes
    subject: str = ""
    message_id: str = ""
    is_reply: bool = False
    version: int = 1
    number: int | None = None
    total: int = 0
    strip: int | None = None


@dataclass(frozen=True)
class Series:
    """The patches of some files, never none, in the order in which they apply.

    `sha256` is of the bytes of all files, and `total` is how many patches the series has if only
    the first ones of it are here.
    """

    patches: Sequence[Patch]
    sha256: str
    total: int | None = None


def read(paths: Sequence[Path], work: Path) -> Series:
    """Read a posted series.

    What is left out is named: cover letters, replies to patches, older versions, copies of a
    mail, and files without a patch.

    Args:
        paths: its files and directories, in order.
        work: an empty directory of ours.
    """
    sums: list[str] = []
    parts = [_Reader(path, work, sums).read() for path in paths]
    if len(parts) > 1 and all(len(part) == 1 for part in parts):
        parts = [[patch for part in parts for patch in part]]  # each patch in a file of its own
    found: list[Patch] = []
    total = None
    for part, path in zip(parts, paths, strict=False):
        patches, total = _in_order(part, f"read the patches in {path}")
        found += patches
    joined = hashlib.sha256("".join(sums).encode()).hexdigest()
    return Series(found, sums[0] if len(sums) == 1 else joined, total)


class _Reader:
    """Reads one file or directory."""

    def __init__(self, path: Path, work: Path, sums: list[str]) -> None:
        self._path = path
        self._work = work
        self._sums = sums

    def read(self) -> list[Patch]:
        """Return the patches of its files, in the order of those."""
        action, hint = f"read the patches in {self._path}", "give a patch, an mbox or a directory"
        if not (self._path.is_file() or self._path.is_dir()):
            raise MmbatchError(action, "it is no file or directory", hint, ExitCode.USAGE)
        files = self._files()
        names = sorted(files, key=lambda name: [int(n) if n.isdigit() else n for n in _split(name)])
        strips: dict[str, int | None] = {}
        if "series" in files:  # of quilt
            lines = [line.split("#")[0].split() for line in files["series"].decode().splitlines()]
            for name, *options in filter(None, lines):
                levels = [int(option[2:]) for option in options if re.fullmatch(r"-p\d", option)]
                strips[name] = levels[0] if levels else None
            if lost := [name for name in strips if name not in files]:
                raise MmbatchError(action, f"series names {lost[0]}, which is not there", hint)
            names = [*strips, *(name for name in names if name not in strips)]
        found: list[Patch] = []
        for name in names:
            patches = [] if _LEFT_BEHIND.fullmatch(name) else list(self._patches(files[name]))
            if patches and name in (strips or files):
                found += [replace(patch, strip=strips.get(name)) for patch in patches]
            elif name != "series" and len(names) > 1:
                why = "is not in its series" if patches else "has no patch or is a backup"
                log.say(f"leaving out {name}, which {why}")
        if not found:
            raise MmbatchError(action, "it has no patch", hint, ExitCode.USAGE)
        return found

    def _files(self) -> dict[str, bytes]:
        """Return name to content, unpacked."""
        path = self._path
        if path.is_dir():
            places = [path / "cur", path / "new"] if (path / "cur").is_dir() else [path]
            paths = [file for place in places for file in sorted(place.glob("*"))]
        else:
            paths = [path]
        total, files = hashlib.sha256(), {}
        for file in filter(Path.is_file, paths):
            content = file.read_bytes()
            total.update(content)
            for magic, program in _PACKED.items():
                if content.startswith(magic):
                    content = _run([program, "-dc", file.absolute()], self._work)
            files[file.name] = content
        self._sums.append(total.hexdigest())
        if not path.is_dir() and files[path.name][257:262] == b"ustar":
            with tarfile.open(fileobj=io.BytesIO(files.pop(path.name))) as tar:
                for member in filter(tarfile.TarInfo.isfile, tar):
                    files[Path(member.name).name] = tar.extractfile(member).read()  # type: ignore[union-attr]
        return files

    def _patches(self, content: bytes) -> Iterator[Patch]:
        """Yield the patches of a file: a bare diff, one mail, or several of an mbox."""
        if content.startswith((b"\xff\xfe", b"\xfe\xff")):
            content = content.decode("utf-16", errors="replace").encode()
        content = content.removeprefix(b"\xef\xbb\xbf")
        is_mail = email.message_from_bytes(content)["Subject"] is not None
        if not is_mail and not content.startswith(b"From "):
            if DIFF.search(content):
                yield Patch(content.replace(b"\r\n", b"\n"))
            return
        place = Path(tempfile.mkdtemp(dir=self._work))
        (place / "mbox").write_bytes(content)
        _run(["git", "mailsplit", "-b", "-o.", "mbox"], place)
        for file in sorted(place.glob("[0-9]*")):
            yield from self._mail(file.read_bytes())

    def _mail(self, content: bytes) -> Iterator[Patch]:
        """Yield the patch of a mail, or those that are attached to it."""
        mail = email.message_from_bytes(content)
        subject = str(email.message_from_bytes(content, policy=email.policy.default)["Subject"])
        subject = " ".join(subject.split())
        headed = _tagged(Patch(b"", subject, mail["Message-ID"] or ""))
        if mail.is_multipart():
            for part in _leaves(mail):
                for patch in self._patches(part):
                    yield patch if patch.subject else replace(headed, text=patch.text)
            return
        (self._work / "mail").write_bytes(content)
        info = _run(["sh", "-c", _MAILINFO], self._work).decode(errors="replace")
        text = (self._work / "patch").read_bytes()
        if not DIFF.search(text):  # its header may promise parts that it has no more
            text = content.partition(b"\n\n")[2]
        if DIFF.search(text):
            own = re.search(r"^Subject: (.*)", info, re.MULTILINE)
            subject = own[1] if own and headed.is_reply else subject
            yield replace(headed, text=_utf8(text, mail), subject=subject)


def _split(name: str) -> list[str]:
    return re.split(r"(\d+)", name)


def _run(argv: Sequence[str | Path], work: Path) -> bytes:
    done = process.run(argv, action=f"read mails by {argv[0]}", cwd=work, errors="surrogateescape")
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


def _tagged(patch: Patch) -> Patch:
    """Return a patch with what the tags of its subject say: "[PATCH v2 1/3]"."""
    subject = patch.subject
    while reply := _REPLY.match(subject):
        subject = subject[reply.end() :]
    tags = _TAGS.match(subject)
    text = tags[0] if tags else ""
    version, count = re.search(r"\bv(\d+)\b", text, re.I), re.search(r"(\d+)/(\d+)", text)
    return replace(
        patch,
        is_reply=subject != patch.subject,
        version=int(version[1]) if version else 1,
        number=int(count[1]) if count else None,
        total=int(count[2]) if count else 0,
    )


def _in_order(patches: list[Patch], action: str) -> tuple[list[Patch], int | None]:
    """Return the patches of one version in order, and the total if only the first are there."""

    def refuse(problem: str, hint: str) -> MmbatchError:
        return MmbatchError(action, problem, hint, ExitCode.USAGE)

    alone = "save the mails of one version by themselves"

    def without(kind: str, left_out: Callable[[Patch], bool]) -> list[Patch]:
        kept = [patch for patch in found if not left_out(patch)] or found
        if len(kept) < len(found):
            log.say(f"leaving out {len(found) - len(kept)} {kind}")
        return kept

    found = list({(p.message_id or id(p), p.subject): p for p in patches}.values())
    found = without("cover letters", lambda patch: patch.number == 0)
    found = without("replies", lambda patch: patch.is_reply)
    newest = max(patch.version for patch in found)
    versions = ", ".join(f"v{number}" for number in sorted({p.version for p in found}))
    found = without(
        f"mails of versions before v{newest}", lambda p: p.subject != "" and p.version < newest
    )
    if "," in versions and not _is_whole(found):
        few = ", ".join(f"{patch.number}/{patch.total}" for patch in found)
        raise refuse(f"its mails are of {versions}, and v{newest} has {few} only", alone)
    if any(patch.number is None for patch in found):
        return found, None
    by_number: dict[int, Patch] = {}
    for patch in found:
        number = patch.number or 0
        if number in by_number and _lines(patch) != _lines(by_number[number]):
            raise refuse(f"two of its mails are patch {number}, and they differ", alone)
        by_number[number] = patch
    total = max(patch.total for patch in found)
    numbers = sorted(by_number)
    lacking = [str(number) for number in range(1, numbers[-1]) if number not in by_number]
    if lacking:
        raise refuse(
            f"patch {', '.join(lacking)} of {total} is missing",
            "save that mail too, or give the diffs of the others without their mails",
        )
    return [by_number[number] for number in numbers], total if numbers[-1] < total else None


def _is_whole(patches: Sequence[Patch]) -> bool:
    numbers = {patch.number for patch in patches}
    return None in numbers or numbers >= set(range(1, patches[0].total + 1))


def _lines(patch: Patch) -> list[bytes]:
    """Return what a patch changes."""
    lines = patch.text[DIFF.search(patch.text).start() :].split(b"\n")  # type: ignore[union-attr]
    return [line for line in lines if line[:1] in (b"+", b"-", b"@") and line[:3] != b"-- "]
