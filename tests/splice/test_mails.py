# SPDX-License-Identifier: GPL-2.0-only
"""Posted series in the forms in which people save them."""

import base64
import gzip
import io
import re
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from fake_archive import source_of
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.kernel.sources import Source
from mmbatch.splice import posted
from mmbatch.splice.posted import Posted
from posted_series import diff, mail

TOYS = "".join(f"\ttoy {number}\n" for number in range(40))
CARS = [f"\tcar {number}" for number in (3, 4, 5)]


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    monkeypatch.setenv("MMBATCH_CACHE", str(tmp_path / "cache"))
    tree = tmp_path / "my linux"
    (tree / "mm").mkdir(parents=True)
    (tree / "mm" / "toys.c").write_text(TOYS)
    (tree / "mm" / "run").write_text("#!/bin/sh\n")
    return source_of(tree)


@pytest.fixture
def diffs(source: Source) -> list[str]:
    """Three patches, each changing the lines of the one before too."""
    found, content = [], TOYS
    for number in (3, 4, 5):
        changed = content.replace(f"toy {number}\n", f"car {number}\n")
        if number > 3:
            changed = changed.replace(f"toy {number + 20}\n", "bus\n").replace("old\n", "")
        changed = changed.replace("\ttoy 30\n", f"\ttoy 30\n\tlorry {number}\n")
        found.append(diff(source.path, {"mm/toys.c": changed}, {"mm/toys.c": content}))
        content = changed
    return found


@pytest.fixture
def mails(diffs: list[str]) -> list[str]:
    return [numbered(number, text) for number, text in enumerate(diffs, 1)]


def numbered(number: int, text: str, tags: str = "PATCH v2 {}/3", more: str = "") -> str:
    subject = f"[{tags.format(number)}] toys: step {number}"
    head = f"\nMessage-ID: <{tags}.{number}@example.org>\n{more}Subject: "
    return mail(subject, text).replace("\nSubject: ", head, 1)


def saved(
    tmp_path: Path, source: Source, content: str | bytes | Mapping[str, str], **more: bool
) -> list[Posted]:
    """Apply what is saved as a file, or as a directory of files."""
    place = tmp_path / "saved"
    if isinstance(content, Mapping):
        for name, text in content.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
    else:
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    return posted.from_files(source, "mine", [place], **more)


def cars(found: list[Posted]) -> list[str]:
    content = found[-1].contents["mm/toys.c"]
    assert content is not None
    return [line for line in content.decode().splitlines() if line.startswith("\tcar")]


def refused(tmp_path: Path, source: Source, content: str | bytes | Mapping[str, str]) -> str:
    with pytest.raises(MmbatchError) as caught:
        saved(tmp_path, source, content)
    assert caught.value.code == ExitCode.USAGE
    return caught.value.problem


def parts(*texts: tuple[str, str]) -> str:
    """Return a mail with attachments of some types."""
    out = "From: A <a@example.org>\nSubject: [PATCH] toys: all\nMIME-Version: 1.0\n"
    out += 'Content-Type: multipart/mixed; boundary="=-x"\n\nIn parts.\n'
    for kind, text in texts:
        out += f"--=-x\nContent-Type: {kind}\nContent-Transfer-Encoding: base64\n\n"
        out += base64.encodebytes(text.encode()).decode()
    return out + "--=-x--\n"


def quilted(text: str) -> str:
    """Return a diff as `diff -u` and quilt write it: time stamps, and no line of git's."""
    stamp = "\t2026-09-07 10:11:12.131415161 +0200"
    text = re.sub(r"^(diff --git|index) .*\n", "", text, flags=re.M)
    text = re.sub(r"^--- a/(.*)$", rf"--- linux.orig/\1{stamp}", text, flags=re.M)
    return re.sub(r"^\+\+\+ b/(.*)$", rf"+++ linux/\1{stamp}", text, flags=re.M)


Form = Callable[[list[str], list[str]], "str | bytes | dict[str, str]"]


def tarball(diffs: list[str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for number, text in zip((1, 2, 10), diffs, strict=True):
            info = tarfile.TarInfo(f"series/{number}.patch")
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    return packed.getvalue()


COVER = mail("[PATCH v2 0/3] toys: faster", "")
FORMS: dict[str, Form] = {
    "an mbox in any order": lambda m, d: COVER + m[2] + m[0] + m[1],
    "an mbox after an empty line": lambda m, d: "\n" + m[2] + m[0] + m[1],
    "packed": lambda m, d: gzip.compress("".join(m).encode()),
    "a tarball": lambda m, d: tarball(d),
    "UTF-16": lambda m, d: "".join(m).encode("utf-16"),
    "a byte order mark and CRLF": lambda m, d: (
        b"\xef\xbb\xbf" + "".join(m).replace("\n", "\r\n").encode()
    ),
    "a directory": lambda m, d: {f"000{n}.patch": text for n, text in enumerate(m, 1)},
    "a Maildir": lambda m, d: {f"cur/{9 - n}:2,S": text for n, text in enumerate(m)},
    "Apple's files": lambda m, d: {
        f"{9 - n}.emlx": f"{len(text)}  \n{text.partition(chr(10))[2]}<?xml version='1.0'?>\n"
        for n, text in enumerate(m)
    },
    "a series of mails of several series": lambda m, d: {
        **{"zyx"[n - 1]: numbered(n, d[n - 1], f"PATCH v{n} 1/{n}") for n in (1, 2, 3)},
        "series": "z\ny\nx\n",
    },
    "numbered": lambda m, d: dict(zip(("1.diff", "2.diff", "10.diff"), d, strict=True)),
    "quilt's directory": lambda m, d: {
        **dict(zip(("z.patch", "y.patch", "x.patch"), map(quilted, d), strict=True)),
        "series": "# in this order\nz.patch -p1\ny.patch\nx.patch\n",
        "w.patch": d[0],
    },
    "worked in": lambda m, d: {
        **{f"v2-000{n}.patch": text for n, text in enumerate(m, 1)},
        "v2-0001.patch~": m[0],
        "v2-0002.patch.orig": m[1],
        "toys.c.rej": d[1],
        "README": "none",
        "deeper/v2-0003.patch": d[0],
    },
    "attached": lambda m, d: parts(
        ("text/plain", "Hi"), *(("application/octet-stream", text) for text in m)
    ),
    "a diff beside HTML": lambda m, d: parts(
        ("text/plain", "".join(d)), ("text/html", "<pre>" + "".join(d))
    ),
    "two versions": lambda m, d: (
        "".join(m) + "".join(numbered(n, text, "PATCH v3 {}/3") for n, text in enumerate(d, 1))
    ),
    "sent again": lambda m, d: "".join(
        numbered(n, text, "PATCH v2 {}/3 RESEND") for n, text in reversed(list(enumerate(d, 1)))
    ),
    "by two lists": lambda m, d: "".join(m) + m[1].replace("-- \n2", "a footer\n-- \n2"),
    "a cover letter with a diff": lambda m, d: (
        mail("[PATCH v2 0/3] toys", "Against v1:\n" + d[2]) + "".join(m)
    ),
    "replies": lambda m, d: "".join(m) + mail("Re: [PATCH v2 2/3] toys: step 2", d[0]),
    "other prefixes": lambda m, d: re.sub(r"\b[ab]/mm/", "mm/", "".join(d)),
    "a header that promises parts": lambda m, d: (
        'Subject: toys\nContent-Type: multipart/signed; boundary="gone"\n\n' + "".join(d)
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_series_is_read(
    tmp_path: Path, source: Source, mails: list[str], diffs: list[str], form: str
) -> None:
    found = saved(tmp_path, source, FORMS[form](mails, diffs))
    assert cars(found) == CARS
    assert found[0].label == "mine"


def test_the_rows_of_each_patch(tmp_path: Path, source: Source, mails: list[str]) -> None:
    found = saved(tmp_path, source, "".join(reversed(mails)), each=True)
    assert [part.label for part in found] == ["mine 1/3", "mine 2/3", "mine 3/3"]
    assert [subject[-6:] for subject in found[1].patches] == ["step 1", "step 2"]
    assert [part.step for part in found] == [True] * 3


def test_the_first_patches_of_a_series_do_not_look_like_all_of_it(
    tmp_path: Path, source: Source, mails: list[str]
) -> None:
    (found,) = saved(tmp_path, source, mails[0] + mails[1])
    assert (found.label, cars([found])) == ("mine 2/3", CARS[:2])


def test_a_series_with_a_hole_or_of_two_versions_is_refused(
    tmp_path: Path, source: Source, mails: list[str], diffs: list[str]
) -> None:
    assert refused(tmp_path, source, mails[0] + mails[2]) == "patch 2 of 3 is missing"
    again = numbered(2, diffs[1], "PATCH v3 {}/3")
    problem = refused(tmp_path, source, "".join(mails) + again)
    assert problem == "its mails are of v2, v3, and v3 has 2/3 only"
    other = numbered(2, diffs[0], "PATCH v2 {}/3", "X-Other: 1\n").replace("<PATCH", "<other")
    assert "two of its mails are patch 2" in refused(tmp_path, source, "".join(mails) + other)
    fix = mail("[PATCH v2] toys: fix", diffs[1])
    assert refused(tmp_path, source, mails[0] + mails[2] + fix) == "patch 2 of 3 is missing"
    two = "".join(numbered(n, diffs[n - 1], "PATCH v2 {}/2") for n in (1, 2))
    assert refused(tmp_path, source, two + mails[2]) == "its mails are of series of 2 and 3 patches"
    cover = mail("[PATCH v2 0/3] toys", "Against v1:\n" + diffs[2])
    assert refused(tmp_path, source, cover) == "it has a cover letter only"


@pytest.mark.parametrize("subject", ["Re: takes a second", "Fwd: [PATCH] toys: faster"])
def test_a_reply_is_taken_when_nothing_else_has_a_diff(
    tmp_path: Path, source: Source, diffs: list[str], subject: str
) -> None:
    body = "Like this:\n\n-- >8 --\nSubject: [PATCH] toys: mine\n\nWhy.\n---\n\n" + diffs[0]
    text = f"From: A <a@example.org>\nDate: Mon, 7 Sep 2026 10:00:00 +0000\nSubject: {subject}\n"
    (found,) = saved(tmp_path, source, f"{text}\n> Could it go away?\n\n{body}")
    assert (cars([found]), found.patches) == (CARS[:1], ("[PATCH] toys: mine",))


def test_a_patch_of_modes_only(tmp_path: Path, source: Source, diffs: list[str]) -> None:
    mode = "diff --git a/mm/run b/mm/run\nold mode 100644\nnew mode 100755\n"
    text = numbered(1, diffs[0], "PATCH {}/2") + numbered(2, mode, "PATCH {}/2")
    found = saved(tmp_path, source, text)
    assert (cars(found), found[0].label) == (CARS[:1], "mine")


def test_a_mail_of_the_mm_maintainer_s_commits(
    tmp_path: Path, source: Source, diffs: list[str]
) -> None:
    quilt = re.sub(r"^(diff --git|index) .*\n", "", diffs[0], flags=re.M)
    quilt = quilt.replace("a/mm/toys.c", "a/mm/toys.c~toys-faster").replace("+++ b/", "+++ a/")
    body = f"The patch titled\n     Subject: toys: faster\nwas added.\n\n{'-' * 54}\n"
    body += f"From: A <a@example.org>\nSubject: toys: faster\n\nWhy.\n---\n\n{quilt}_\n\nPatches"
    subject = "+ toys-faster.patch added to a branch"
    assert cars(saved(tmp_path, source, f"From: A <a@example.org>\nSubject: {subject}\n\n{body}"))


def test_a_binary_file_without_its_content_is_refused(
    tmp_path: Path, source: Source, diffs: list[str]
) -> None:
    binary = "diff --git a/mm/b b/mm/b\nnew file mode 100644\nindex 0000000..1234567\n"
    binary += "Binary files /dev/null and b/mm/b differ\n"
    with pytest.raises(MmbatchError, match="cannot apply binary patch"):
        saved(tmp_path, source, diffs[0] + binary)


def test_charsets_and_encodings(tmp_path: Path, source: Source, diffs: list[str]) -> None:
    head = "From: A <a@example.org>\nSubject: =?utf-8?q?=5BPATCH=5D_toys=3A_caf=C3=A9?=\n"
    head += "MIME-Version: 1.0\nContent-Type: text/plain; charset=%s\n"
    encoded = base64.encodebytes(diffs[0].replace("\n", "\r\n").encode()).decode()
    text = head % "utf-8" + f"Content-Transfer-Encoding: base64\n\n{encoded}"
    (found,) = saved(tmp_path, source, text)
    assert (found.patches, cars([found])) == (("[PATCH] toys: café",), CARS[:1])
    latin = head % "iso-8859-1" + "\n" + diffs[0].replace("car 3", "car à 3")
    assert cars(saved(tmp_path, source, latin.encode("iso-8859-1"))) == ["\tcar à 3"]


@pytest.mark.parametrize("content", [b"", b"no patch\n", b"\x1f\x8bbroken", b"\xff\xfe\x00"])
def test_a_file_without_a_patch(tmp_path: Path, source: Source, content: bytes) -> None:
    with pytest.raises(MmbatchError):
        saved(tmp_path, source, content)


@pytest.mark.parametrize(("front", "back"), [("", ""), ("a/", "b/"), ("linux.orig/", "linux/")])
def test_new_files_alone_land_in_their_directory(
    tmp_path: Path, source: Source, front: str, back: str
) -> None:
    head = "" if front == "linux.orig/" else f"diff --git {front}mm/x/n.c {back}mm/x/n.c\n"
    head += "new file mode 100644\n" if head else ""
    text = f"{head}--- /dev/null\n+++ {back}mm/x/n.c\n@@ -0,0 +1 @@\n+int n;\n"
    assert saved(tmp_path, source, text)[-1].contents == {"mm/x/n.c": b"int n;\n"}
