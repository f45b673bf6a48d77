# SPDX-License-Identifier: GPL-2.0-only
import pytest
from click.testing import CliRunner, Result

from mmbatch.cli import doctor as cli
from mmbatch.core.errors import MmbatchError
from mmbatch.kernel import apt

pytestmark = pytest.mark.usefixtures("own_cache")


def doctor(*arguments: str) -> Result:
    return CliRunner().invoke(cli.command, arguments, standalone_mode=False)


def lack(monkeypatch: pytest.MonkeyPatch, *programs: str) -> None:
    """Let some programs seem to be missing."""
    find = apt.find_program
    monkeypatch.setattr(apt, "find_program", lambda name: None if name in programs else find(name))


def test_everything_is_looked_at() -> None:
    done = doctor()
    for name in (*cli.PROGRAMS, "sparse", "qemu-system-x86_64", "cache", "kernels"):
        assert name in done.output
    assert ("nothing is missing" in done.output) == (done.return_value == 0)


def test_what_is_missing_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    lack(monkeypatch, "spatch", "objcopy")
    monkeypatch.setattr(apt, "missing", list)
    done = doctor()
    assert done.return_value == 1
    assert "missing: spatch, objcopy, libc6-dev, libelf-dev" in done.output
    assert "binutils coccinelle libc6-dev libelf-dev" in done.output
    with pytest.raises(MmbatchError, match=r"give --install, or run: .*coccinelle"):
        cli.ensure(install=False)


def test_what_is_missing_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    lack(monkeypatch, "flex")
    installed: list[str] = []
    monkeypatch.setattr(apt, "install", installed.extend)
    with pytest.raises(MmbatchError, match=r"there is no flex; run: .* flex"):
        cli.ensure(install=True)
    assert installed == ["flex"]
