# SPDX-License-Identifier: GPL-2.0-only
"""Read a posted series: a patch, an mbox, a Maildir, or a directory of patches or mails."""

from __future__ import annotations

import contextlib
import email
import email.policy
import gzip
import hashlib
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core import process
from mmbatch.core.disk import error_from_os, temporary_dir
from mmbatch.core.errors import ExitCode, MmbatchError

_DIFF = re.compile(rb"^(?:diff --git |--- \S+\n\+\+\+ )", re.MULTILINE)
_TAG = re.compile(r"\[[^\]]*?(\d+)/(\d+)\]")
_REPLY = re.compile(r"^(?:re|aw|fwd?):", re.IGNORECASE)
_HINT = "give a patch, an mbox, or a directory of patches or mails"


@dataclass(frozen=True)
class Patch:
    """One patch of a series.

    Attributes:
        subject: of its mail; empty for a bare diff.
        text: its diff, and whatever stands around it.
    """

    subject: str
    text: bytes


@dataclass(frozen=True)
class Series:
    """The patches of some files, in the order in which they apply.

    Attributes:
        patches: never empty.
        sha256: of the bytes of all files, joined in the order of their names (hex).
    """

    patches: Sequence[Patch]
    sha256: str


def read(path: Path, work: Path) -> Series:
    """Read a posted series.

    Cover letters, and replies to patches, are left out. Patches that are numbered in their
    subjects are sorted by that, because an mbox may have them in any order.

    Args:
        path: a file, which may be compressed by gzip, or a directory.
        work: a directory of the cache, for temporary files.

    Raises:
        MmbatchError: exit code 2; it can't be read, or has no patch or two versions of one.
    """
    action = f"read the patches in {path}"
    total = hashlib.sha256()
    found: list[Patch] = []
    if path.exists() and not (path.is_file() or path.is_dir()):
        # A pipe could keep us waiting, and a device may never end.
        hint = "save the patches to a file, and give that"
        raise MmbatchError(action, "it is not a regular file", hint, ExitCode.USAGE)
    try:
        for file in _files(path):
            content = file.read_bytes()
            total.update(content)
            if content.startswith(b"\x1f\x8b"):
                content = gzip.decompress(content)
            found += _patches(content, work)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise MmbatchError(action, str(error), _HINT, ExitCode.USAGE) from None
    except OSError as error:
        problem = error.strerror or str(error)
        raise MmbatchError(action, problem, _HINT, ExitCode.USAGE) from error
    if not found:
        raise MmbatchError(action, "it has no patch", _HINT, ExitCode.USAGE)
    return Series(_in_order(found, action), total.hexdigest())


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for directory in [path / "cur", path / "new"] if (path / "cur").is_dir() else [path]:
        if directory.is_dir():
            files = sorted(file for file in directory.iterdir() if not file.name.startswith("."))
            yield from (file for file in files if file.is_file())


def _patches(content: bytes, work: Path) -> Iterator[Patch]:
    """Yield the patches of a file: a bare diff, one mail, or several of an mbox."""
    if not content.startswith(b"From "):
        yield from _patch(content)
        return
    with temporary_dir(work, "mails") as directory:
        try:
            (directory / "mbox").write_bytes(content)
            split: list[str | Path] = ["git", "mailsplit", f"-o{directory}", directory / "mbox"]
            process.run(split, action="split an mbox into mails")
            for file in sorted(directory.glob("[0-9]*")):
                yield from _patch(file.read_bytes())
        except OSError as error:
            raise error_from_os(error, "split an mbox into mails") from error


def _patch(content: bytes) -> Iterator[Patch]:
    """Yield the patch of a mail, if it has one."""
    mail = email.message_from_bytes(content, policy=email.policy.compat32)
    if mail["Subject"] is None:
        if _DIFF.search(content):
            yield Patch("", content)
        return
    decoded = email.message_from_bytes(content, policy=email.policy.default)
    subject = " ".join(str(decoded["Subject"]).split())
    text = b"".join(_text(part) for part in mail.walk() if part.get_content_maintype() == "text")
    if _DIFF.search(text) and not _REPLY.match(subject):
        yield Patch(subject, text)


def _text(part: email.message.Message) -> bytes:
    """Return a part's text in UTF-8, with the line ends that a kernel's files have."""
    payload = part.get_payload(decode=True)
    assert isinstance(payload, bytes)
    charset = str(part.get_content_charset() or "utf-8")
    if charset.lower() not in ("utf-8", "us-ascii"):
        # If not, it stays as it came, in which the diff itself is most likely plain ASCII.
        with contextlib.suppress(LookupError, ValueError):
            payload = payload.decode(charset).encode()
    lines = payload.split(b"\n")
    if all(line.endswith(b"\r") for line in lines[:-1]):
        lines = [line.removesuffix(b"\r") for line in lines]
    return b"\n".join(lines)


def _in_order(patches: list[Patch], action: str) -> list[Patch]:
    """Return patches by the numbers in their subjects, if all of them have one."""
    tags = [_TAG.search(patch.subject) for patch in patches]
    numbers = [int(tag[1]) for tag in tags if tag]
    if len(numbers) < len(patches):
        return patches
    if len(set(numbers)) < len(numbers):
        twice = next(number for number in numbers if numbers.count(number) > 1)
        raise MmbatchError(
            action,
            f"two of its mails are patch {twice}, as if of two versions",
            "save the mails of one version by themselves",
            ExitCode.USAGE,
        )
    return [patch for _, patch in sorted(zip(numbers, patches, strict=True), key=lambda p: p[0])]
