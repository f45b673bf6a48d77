# SPDX-License-Identifier: GPL-2.0-only
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def gpg_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A key of our own, to sign made-up archives with."""
    home = tmp_path_factory.mktemp("g")
    home.chmod(0o700)
    make = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--passphrase", ""]
    subprocess.run(
        [*make, "--quick-generate-key", "Test <t@mirror.example>", "ed25519", "sign", "never"],
        check=True,
        capture_output=True,
    )
    yield home
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False)
