# SPDX-License-Identifier: GPL-2.0-only
"""Headers and kernels of an archive that looks like Debian's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fake_archive import FakeArchive, libraries, needs_archive, wanting
from mmbatch.core import cache
from mmbatch.kernel import foreign
from mmbatch.live import kernel

RELEASE = "7.3.4+deb13-cloud-amd64"
VERSION = "7.3.4-1~bpo13+1"
SUITE = "trixie-backports"
KBUILD = "linux-kbuild-7.3.4+deb13"

pytestmark = needs_archive


@pytest.fixture
def archive(tmp_path: Path, gpg_home: Path, monkeypatch: pytest.MonkeyPatch) -> FakeArchive:
    fake = FakeArchive(tmp_path / "archive", gpg_home)
    program = shutil.which("cat")
    assert program is not None
    config, makefile = tmp_path / "config", tmp_path / "makefile"
    config.write_text("CONFIG_A=y\n")
    makefile.write_text("include /usr/src/linux-headers-7.3.4+deb13-common/Makefile\n")
    wants = wanting(Path(program), tmp_path / "wants")
    directory = f"usr/src/linux-headers-{RELEASE}"
    fake.add("trixie", "libc6", "2.41-12", libraries(program))
    fake.add(
        SUITE,
        KBUILD,
        VERSION,
        {f"usr/lib/{KBUILD}/old": Path(program), f"usr/lib/{KBUILD}/new": wants},
        "pahole, libc6 (>= 2.38)",
    )
    fake.add(
        SUITE,
        f"linux-headers-{RELEASE}",
        VERSION,
        {f"{directory}/{name}": config for name in (".config", "Module.symvers")}
        | {f"{directory}/Makefile": makefile},
        f"gcc-14-for-host, {KBUILD}",
    )
    library = f"usr/lib/modules/{RELEASE}"
    for part, name in (("base", "config"), ("binary", "vmlinuz"), ("modules", "modules.builtin")):
        fake.add(SUITE, f"linux-{part}-{RELEASE}", VERSION, {f"{library}/{name}": config})
    parts = [f"linux-{part}-{RELEASE} (= {VERSION})" for part in ("base", "binary", "modules")]
    fake.add(SUITE, f"linux-image-{RELEASE}", VERSION, {}, "kmod | busybox", *parts)
    fake.add("trixie", "pahole", "1-1", {})
    fake.follow(monkeypatch, fake.sources)
    monkeypatch.setenv("MMBATCH_CACHE", str(tmp_path / "cache"))
    return fake


def test_headers_whose_programs_want_newer_libraries(archive: FakeArchive) -> None:
    assert archive.root.is_dir()
    headers = kernel.fetch(RELEASE)

    place = cache.live() / f"headers-{RELEASE}"
    assert headers.path == (place / f"usr/src/linux-headers-{RELEASE}").resolve()
    assert "include $(dir " in (headers.path / "Makefile").read_text()
    assert (place / f"usr/lib/{KBUILD}/new").read_text().startswith("#!/bin/sh\n")
    assert (place / f"usr/lib/{KBUILD}/old").read_bytes()[:4] == b"\x7fELF"
    assert (place / f"usr/lib/{foreign.TUPLE}/libc.so.6").is_file()
    archive.root.rename(archive.root.with_name("gone"))
    assert kernel.fetch(RELEASE) == headers


def test_a_kernel_that_comes_in_parts(archive: FakeArchive) -> None:
    assert archive.root.is_dir()
    directory = kernel.fetch_image(RELEASE) / f"usr/lib/modules/{RELEASE}"
    assert {path.name for path in directory.iterdir()} == {"config", "vmlinuz", "modules.builtin"}
