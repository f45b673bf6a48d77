# SPDX-License-Identifier: GPL-2.0-only
"""The manual page tells of every verb and option, and roff has nothing to say against it."""

import importlib
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from mmbatch.cli import main as cli
from mmbatch.cli import manpage


@pytest.fixture
def page(capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.main(["--man"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("verb", cli.VERBS)
def test_every_verb_and_option_is_there(page: str, verb: str) -> None:
    plain = page.replace("\\-", "-").replace("\\(aq", "'")
    command: click.Command = importlib.import_module(f"mmbatch.cli.{verb}").command
    verbs = command.commands.values() if isinstance(command, click.Group) else [command]
    path = f"mmbatch {verb}" + (" " if isinstance(command, click.Group) else "")
    assert f"\n.SS {path}" in plain
    if isinstance(command, click.Group):
        about = " ".join((command.help or "").split("\n\n")[0].split())
        assert f"\n.SS mmbatch {verb} [OPTIONS] COMMAND [ARGS]...\n{about}\n" in plain
    for one in verbs:
        for option in one.params:
            if isinstance(option, click.Option) and not option.hidden:
                assert all(f"\\fB{name}\\fR" in plain for name in option.opts)
                assert option.help


def test_words_that_roff_would_take_for_its_own() -> None:
    group = click.Group("toys", help="Toys.\n\nPaint 'em ~/red \\ `blue`.\n\n.SH no section")
    page = manpage.page(click.Context(group, info_name="toys"), "1")
    assert r"Paint \(aqem \(ti/red \e \(gablue\(ga." in page
    assert "\n\\&.SH no section\n" in page


@pytest.mark.parametrize(
    "words",
    [
        ("groff", "-ww", "-man", "-Tutf8", "-z"),
        ("man", "--warnings", "-E", "UTF-8", "-l"),
        ("mandoc", "-Tlint", "-Werror"),
    ],
    ids=lambda words: words[0],
)
def test_roff_has_no_complaint(page: str, words: tuple[str, ...], tmp_path: Path) -> None:
    if shutil.which(words[0]) is None:
        pytest.skip(f"no {words[0]}")

    def complaints(text: str) -> str:
        path = tmp_path / "mmbatch.1"
        path.write_text(text)
        done = subprocess.run([*words, path], capture_output=True, text=True, check=False)
        return done.stderr + (done.stdout if words[0] == "mandoc" else "")

    assert complaints(page) == ""
    assert complaints(page.replace(".SH NAME", ".SH NAME\n.XYZZY", 1)) != ""
