# SPDX-License-Identifier: GPL-2.0-only
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import mmbatch
from expect import printed
from fake_run import losing, mixed, save_run
from fake_tree import Call, commit, make_tree
from mmbatch.cli import main as cli
from mmbatch.core import cache, log

_IDENTITY = [f"GIT_{role}_{part}" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")]

# A shell's background jobs, and what nohup starts, ignore signals; programs that tests end
# would inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# So that a Python which tests start finds the tool.
os.environ["PYTHONPATH"] = str(Path(mmbatch.__file__).parents[1])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that build real kernel code, so that no worker waits for them."""
    long = {item.path for item in items if item.get_closest_marker("kernel")}
    items.sort(key=lambda item: item.path not in long)


@pytest.fixture(scope="session")
def _nobody(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = tmp_path_factory.mktemp("git") / "config"
    config.write_text('[include]\n\tpath = ~/.gitconfig\n[user]\n\tname = ""\n\temail = ""\n')
    return config


@pytest.fixture(autouse=True)
def no_git_user(_nobody: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git knows no name and address, as on a new machine, unless a test asks for some."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(_nobody))
    for name in ("EMAIL", *_IDENTITY):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def git_name(no_git_user: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name and address for commits, from the environment."""
    for name in _IDENTITY:
        monkeypatch.setenv(name, "user@example.org" if name.endswith("EMAIL") else "Some User")


@pytest.fixture(scope="session")
def gpg_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A key of our own, to sign made-up archives with."""
    home = tmp_path_factory.mktemp("g")
    home.chmod(0o700)
    make = ["gpg", "--homedir", home, "--batch", "--quiet", "--passphrase", ""]
    make += ["--quick-generate-key", "Test <t@mirror.example>", "ed25519", "sign", "never"]
    printed(*make)
    yield home
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False)


@pytest.fixture
def git_user(no_git_user: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with a name, whose other settings try to get into the way."""
    config = tmp_path / "gitconfig"
    config.write_text(
        "[user]\n\tname = Some User\n\temail = user@example.org\n"
        "[core]\n\tsplitIndex = true\n\tautocrlf = true\n\tsafecrlf = false\n"
        "[color]\n\tui = always\n[log]\n\tshowSignature = true\n[status]\n\tshort = true\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("MMBATCH_CACHE", str(tmp_path / "cache"))
    return config


@pytest.fixture
def call(git_user: Path, capfd: pytest.CaptureFixture[str]) -> Call:
    """Run `mmbatch apply` and return its exit code and what it printed."""
    assert git_user.exists()

    def run(*arguments: object) -> tuple[int, str, str]:
        code = cli.main(["apply", *map(str, arguments)])
        output = capfd.readouterr()
        assert "Traceback" not in output.err
        return code, output.out, output.err

    return run


@pytest.fixture
def tree(tmp_path: Path, git_user: Path) -> Path:
    """A made-up kernel in git, in a directory with a space in its name."""
    assert git_user.exists()
    return commit(make_tree(tmp_path / "my linux"))


@pytest.fixture
def two_runs(tmp_path: Path) -> list[Path]:
    """Runs of two machines: the first wins, the second loses a case."""
    return [
        save_run(tmp_path / "one.json", mixed(), "2026-01-02T03:04:05+00:00"),
        save_run(
            tmp_path / "two.json", losing(), "2026-02-03T04:05:06+00:00", "Other <b>CPU</b> & Co"
        ),
    ]


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of this test's own."""
    monkeypatch.setenv("MMBATCH_CACHE", str(tmp_path / "cache"))
    return cache.root()


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The phase lines that are printed."""
    lines: list[str] = []
    monkeypatch.setattr(log, "say", lines.append)
    return lines
