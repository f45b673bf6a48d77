# SPDX-License-Identifier: GPL-2.0-only
import ast
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import mmbatch
from mmbatch.cli import launcher
from mmbatch.core.cache import Cache
from mmbatch.core.disk import remove_unused, use, write_mark
from mmbatch.core.errors import MmbatchError
from mmbatch.debian import packages

ROOT = Path(mmbatch.__file__).parents[2]


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose project needs no package, in a path with a space."""
    root = tmp_path / "a checkout"
    shutil.copytree(ROOT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "mmbatch", root / "mmbatch")
    (root / "pyproject.toml").write_text('[project]\nname = "x"\ndependencies = []\n')
    (root / "constraints.txt").touch()
    (root / "src" / "mmbatch" / "__main__.py").write_text(
        "import sys\nprint(sys.prefix, sys.argv[1:])\n"
    )
    return root


def start(
    checkout: Path, cache: Cache, *arguments: str, **env: str
) -> "subprocess.CompletedProcess[str]":
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MMBATCH_")}
    return subprocess.run(
        [sys.executable, checkout / "mmbatch", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env=dict(clean, MMBATCH_CACHE=str(cache.root), **env),
    )


def test_the_first_file_parses_on_old_pythons() -> None:
    ast.parse((ROOT / "mmbatch").read_text(), feature_version=(3, 4))


def test_an_old_python_is_told() -> None:
    text = (ROOT / "mmbatch").read_text().replace("import sys\n", OLD, 1)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    error, hint = done.stderr.splitlines()
    assert error.startswith("error: cannot start: Python 3.9 ")
    assert hint.startswith("hint: ")


OLD = "import sys\nsys.version_info = (3, 9, 2)\n"


def test_only_the_standard_library_is_imported() -> None:
    code = (
        "import sys\nimport mmbatch.cli.launcher\n"
        "sys.exit(','.join(n for n in ('click', 'rich', 'numpy') if n in sys.modules) or 0)"
    )
    env = dict(os.environ, PYTHONPATH=str(ROOT / "src"))
    done = subprocess.run([sys.executable, "-c", code], check=False, env=env, capture_output=True)
    assert done.stderr == b""
    assert done.returncode == 0


def test_an_environment_is_made_once(checkout: Path, cache: Cache) -> None:
    first = start(checkout, cache, "one", "two words")
    assert first.returncode == 0, first.stderr
    venv = next(cache.root.glob("venv-*"))
    assert first.stdout == f"{venv} ['one', 'two words']\n"
    assert "setting up" in first.stderr
    again = start(checkout, cache, "verb")
    assert (again.stdout, again.stderr) == (f"{venv} ['verb']\n", "")
    assert not list(checkout.rglob("__pycache__"))


def test_a_damaged_environment_is_made_again(checkout: Path, cache: Cache) -> None:
    name = "bin/pip"
    start(checkout, cache, "verb")
    venv = next(cache.root.glob("venv-*"))
    (venv / name).unlink()
    (venv / name).touch()
    assert str(venv) not in start(checkout, cache, "--help").stdout
    done = start(checkout, cache, "verb")
    assert done.stdout == f"{venv} ['verb']\n"
    assert f"{name} is missing or damaged" in done.stderr
    assert start(checkout, cache, "verb").stderr == ""


def test_other_dependencies_get_another_environment(checkout: Path, cache: Cache) -> None:
    start(checkout, cache, "verb")
    with (checkout / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    start(checkout, cache, "verb")
    assert len(list(cache.root.glob("venv-*"))) == 2


def test_the_oldest_environments_go_when_nobody_uses_them(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "build", lambda _, venv, __: fill_venv(venv))
    old = [cache.root / f"venv-{number:012x}" for number in range(6)]
    for number, path in enumerate(old):
        path.mkdir()
        os.utime(path, (number, number))
    handle = use(old[0])
    python = launcher.find_python(cache)
    os.close(handle)
    assert python.exists()
    assert [path.exists() for path in old] == [True, False, False, True, True, True]


def test_a_running_command_keeps_its_environment(checkout: Path, cache: Cache) -> None:
    """It does after it has become another program."""
    main = checkout / "src" / "mmbatch" / "__main__.py"
    main.write_text("import sys\nprint('ready', flush=True)\nsys.stdin.read()\n")
    env = {"PATH": os.environ["PATH"], "MMBATCH_CACHE": str(cache.root)}
    code = "from mmbatch.cli import launcher; print(launcher._place_of_venv(launcher.Path()))"
    name = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**env, "PYTHONPATH": str(checkout / "src")},
    ).stdout.strip()
    venv = cache.root / name
    fill_venv(venv)
    for word, is_touched in (("--help", False), ("verb", True)):
        os.utime(venv, (0, 0))
        with subprocess.Popen(
            [sys.executable, checkout / "mmbatch", word],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            assert not remove_unused(venv)
            process.communicate("")
        assert (venv.stat().st_mtime > 0) is is_touched
    assert remove_unused(venv)


def fill_venv(venv: Path) -> None:
    """Make a directory that looks like a whole environment."""
    python = venv / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    write_mark(venv)


def test_packages_that_pip_can_not_get(checkout: Path, cache: Cache) -> None:
    (checkout / "pyproject.toml").write_text(
        '[project]\nname = "x"\ndependencies = ["mmbatch-no-such-package>=1"]\n'
    )
    done = start(checkout, cache, "verb", PIP_NO_INDEX="1")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-2].startswith("error: cannot install mmbatch-no-such")
    assert "No matching distribution" in done.stderr or "Could not find" in done.stderr
    log = next(cache.logs.glob("venv-*.log"))
    assert str(log) in done.stderr
    assert not list(cache.root.glob("venv-*"))
    assert "Traceback" not in done.stderr


def test_quiet_is_quiet(checkout: Path, cache: Cache) -> None:
    assert start(checkout, cache, "-q").stderr == ""


def test_no_venv_takes_this_python(checkout: Path, cache: Cache) -> None:
    done = start(checkout, cache, "verb", MMBATCH_NO_VENV="1")
    assert done.stdout == f"{sys.prefix} ['verb']\n"
    assert not list(cache.root.glob("venv-*"))


BARE = """
import runpy, sys
sys.path = [path for path in sys.path if not path.endswith("-packages")]
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


WITHOUT_CACHE = [{"XDG_CACHE_HOME": "relative"}, {"MMBATCH_CACHE": "/proc/x"}]


@pytest.mark.parametrize("packages", ["none", "environment", "python"])
def test_questions_need_no_cache(checkout: Path, cache: Cache, packages: str) -> None:
    """Nor do they write anything: every file of the user's is as it was."""
    places = [*WITHOUT_CACHE, {"MMBATCH_CACHE": str(cache.root)}]
    if packages == "environment":
        start(checkout, cache, "verb")
        places = places[-1:]
    options = [] if packages == "python" else ["-I", "-c", BARE]
    before = sorted(checkout.parent.rglob("*"))
    for env in places:
        script = [["completion", "bash"]] if packages != "none" else []  # click makes it
        for words in ([], ["--help"], ["bench", "-h"], ["--version"], *script):
            done = subprocess.run(
                [sys.executable, *options, checkout / "mmbatch", *words],
                capture_output=True,
                text=True,
                check=False,
                cwd="/",
                env={"PATH": os.environ["PATH"], **env},
            )
            assert (done.returncode, done.stderr) == (0, "")
            if words == ["--version"]:
                assert done.stdout == "mmbatch, version 0.1.0\n"
            elif packages == "none":
                assert done.stdout.startswith("Usage: mmbatch COMMAND")
            else:
                python = next(cache.root.glob("venv-*"), sys.prefix)
                assert done.stdout == f"{python} {words}\n"
    assert sorted(checkout.parent.rglob("*")) == before


def test_a_deleted_working_directory(checkout: Path, cache: Cache) -> None:
    gone = checkout.parent / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", 'rmdir ../gone; exec "$@"', "sh", sys.executable, checkout / "mmbatch", "x"],
        capture_output=True,
        text=True,
        check=False,
        cwd=gone,
        env={"PATH": os.environ["PATH"], "MMBATCH_CACHE": str(cache.root)},
    )
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "error: cannot start: the working directory was deleted",
        "hint: change to another directory",
    ]


def test_arguments_of_another_program_are_no_question(checkout: Path, cache: Cache) -> None:
    done = start(checkout, cache, "check", "--", "--help", MMBATCH_NO_VENV="1")
    assert done.stdout.endswith("['check', '--', '--help']\n")
    assert list(cache.root.iterdir())


@pytest.mark.parametrize(
    ("names", "expected"),
    [(["click>=8.1", "pytest"], True), (["click", "mmbatch-no-such-package>=1"], False)],
)
def test_importable(names: list[str], expected: bool) -> None:
    assert launcher.importable(names) is expected


def test_requirements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MMBATCH_DEV", raising=False)
    plain = launcher.requirements()
    assert any(name.startswith("click") for name in plain)
    assert not any(name.startswith("pytest") for name in plain)
    monkeypatch.setenv("MMBATCH_DEV", "1")
    assert any(name.startswith("pytest") for name in launcher.requirements())


def test_every_requirement_is_pinned_within_its_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MMBATCH_DEV", "1")
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.partition(" ")[0].split("==") for line in lines if not line.startswith("#"))
    for requirement in map(Requirement, launcher.requirements()):
        assert pins[requirement.name] in requirement.specifier


def test_other_pins_are_installed(checkout: Path, cache: Cache) -> None:
    """pip takes no version that constraints.txt does not have."""
    (checkout / "pyproject.toml").write_text(
        '[project]\nname = "x"\ndependencies = ["mmbatch-no-such-package>=1"]\n'
    )
    (checkout / "constraints.txt").write_text("mmbatch-no-such-package==0.5\n")
    done = start(checkout, cache, "verb", PIP_NO_INDEX="1")
    assert done.returncode == 1
    assert "conflicting dependencies" in done.stderr


def test_no_home() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "mmbatch", "doctor"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"]},
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 2
    assert "XDG_CACHE_HOME" in done.stderr


def no_venv_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "ensurepip" else name
    )


def test_without_venv_module_the_command_is_named(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_venv_module(monkeypatch)
    monkeypatch.delenv("MMBATCH_INSTALL", raising=False)
    monkeypatch.setattr(sys, "argv", ["mmbatch", "doctor"])
    with pytest.raises(MmbatchError, match=r"apt-get install .*-venv"):
        launcher.make_sure_of_venv(cache)


@pytest.mark.parametrize("how", ["--install", "MMBATCH_INSTALL"])
def test_venv_module_is_installed_when_allowed(
    cache: Cache, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    asked: list[list[str]] = []

    def install(names: list[str], say: object, log: object) -> None:
        asked.append(names)
        monkeypatch.undo()

    no_venv_module(monkeypatch)
    monkeypatch.setattr(packages, "install", install)
    monkeypatch.setattr(sys, "argv", ["mmbatch", "doctor", *([how] if how[0] == "-" else [])])
    monkeypatch.setenv("MMBATCH_INSTALL", "0" if how[0] == "-" else "1")
    launcher.make_sure_of_venv(cache)
    assert len(asked) == 1
    assert asked[0][0].endswith("-venv")


@pytest.mark.parametrize("target", ["", "help"])
def test_make_help_names_every_target(target: str) -> None:
    if shutil.which("make") is None:
        pytest.skip("no make")
    output = subprocess.run(
        ["make", "-s", "-C", ROOT, *([target] if target else [])],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for word in ("make bench", "make test", "make lint", "ARGS", "XDG_CACHE_HOME"):
        assert word in output


@pytest.mark.skipif(shutil.which("make") is None, reason="lacks make")
@pytest.mark.parametrize("target", ["bench", "report"])
@pytest.mark.parametrize(("code", "good"), [(0, True), (1, False), (3, False), (4, True)])
def test_noise_is_no_error_of_make(tmp_path: Path, target: str, code: int, good: bool) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path / "Makefile")
    (tmp_path / "mmbatch").write_text(f"#!/bin/sh\nexit {code}\n")
    (tmp_path / "mmbatch").chmod(0o755)
    done = subprocess.run(["make", target], cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode == 0) is good
