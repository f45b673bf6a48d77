# SPDX-License-Identifier: GPL-2.0-only
"""Sign a module as its owner would, with a key made for that."""

from __future__ import annotations

from pathlib import Path

from mmbatch.core.cache import Cache, temporary_dir
from mmbatch.core.errors import MmbatchError
from mmbatch.core.process import run
from mmbatch.live.kernel import Headers

SUBJECT = "/CN=mmbatch, a key for one test"
"""Of the certificate, in which tools see who signed."""


def signed(cache: Cache, headers: Headers, module: Path) -> bytes:
    """Return a module with a signature that no kernel trusts.

    Args:
        cache: for what is made on the way; the key is gone afterwards.
        headers: those of the module's kernel, which have the program that signs.
        module: the file, which stays as it is.

    Raises:
        MmbatchError: it can't be signed.
    """
    action = f"sign {module.name}"
    program = headers.path / "scripts/sign-file"
    if not program.exists():
        raise MmbatchError(action, f"there is no {program}", "install the package linux-kbuild")
    with temporary_dir(cache.downloads, "key") as folder:
        key, certificate, made = folder / "key.priv", folder / "key.der", folder / module.name
        argv = ["openssl", "req", "-new", "-x509", "-newkey", "rsa:2048", "-nodes", "-sha256"]
        argv += ["-days", "2", "-subj", SUBJECT, "-outform", "DER"]
        run([*argv, "-keyout", key, "-out", certificate], action=action)
        run([program, "sha256", key, certificate, module, made], action=action)
        return made.read_bytes()
