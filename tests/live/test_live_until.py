# SPDX-License-Identifier: GPL-2.0-only
"""Livepatches that end at a step of their speed-up."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from mmbatch.cli import main as cli
from mmbatch.cli.live import _require_all_steps
from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.interval import SERIES
from mmbatch.live import build, kernel, manifest
from mmbatch.splice.manifest import ALL, CORE
from mmbatch.splice.manifest import load as load_splice

LIVES = manifest.known(paths.SPEEDUPS)


def _ends(speedup: str) -> list[str]:
    """Return the steps that a livepatch of a speed-up may end at."""
    names = load_splice(paths.SPEEDUPS / speedup).step_names
    live = manifest.load(paths.SPEEDUPS, speedup)
    names = names[names.index(live.first) if live.first else 0 :]
    return [name for name in names if name not in live.without]


ENDS = [(speedup, step) for speedup in LIVES for step in _ends(speedup)]


@pytest.mark.parametrize("speedup", LIVES)
def test_without_a_step_it_has_all(speedup: str) -> None:
    live = manifest.load(paths.SPEEDUPS, speedup)
    assert live.until == ALL
    names = load_splice(paths.SPEEDUPS / speedup).step_names
    assert live.steps == tuple(name for name in names if name not in live.without)
    assert not [function.name for function in live.calls if function.by or function.step]


@pytest.mark.parametrize(("speedup", "step"), ENDS)
def test_it_ends_at_the_step(speedup: str, step: str) -> None:
    whole = manifest.load(paths.SPEEDUPS, speedup)
    live = manifest.load(paths.SPEEDUPS, speedup, until=step)
    names = list(whole.steps)

    assert list(live.steps) == names[: names.index(step) + 1]
    assert set(live.objects) <= set(whole.objects)
    left_out = {each for each in whole.replaces if each.step and each.step not in live.steps}
    assert set(live.replaces) == set(whole.replaces) - left_out
    assert live.replaces
    assert set(live.symbols) == set(whole.symbols) - {each.name for each in left_out}
    for series in live.series:
        staged = set(manifest.staged(live, series))
        for name in live.objects:
            assert {name.removesuffix("o") + "c", name.removesuffix("o") + "S"} & staged
        assert staged <= set(manifest.staged(whole, series))
    assert build._kbuild(live).count(" -DLIVE_STEP_") == len(live.steps)
    assert f" -DLIVE_STEP_{step.upper()}" in build._kbuild(live)


def test_edits_of_steps_that_are_left_out_are_not_made() -> None:
    """Of some speed-up, a file differs at its first step from what later steps make of it."""
    changed = []
    for speedup in LIVES:
        whole = manifest.contents(manifest.load(paths.SPEEDUPS, speedup), SERIES[0])
        early = manifest.load(paths.SPEEDUPS, speedup, until=_ends(speedup)[0])
        contents = manifest.contents(early, SERIES[0])
        changed += [name for name, text in contents.items() if text != whole[name]]
    assert changed


def test_the_core_is_that_of_the_speedup() -> None:
    for speedup in LIVES:
        core = load_splice(paths.SPEEDUPS / speedup).core
        live = manifest.load(paths.SPEEDUPS, speedup, until=CORE)
        assert live.steps[-1] == (core or manifest.load(paths.SPEEDUPS, speedup).steps[-1])


def _late(speedup: str) -> list[str]:
    names = load_splice(paths.SPEEDUPS / speedup).step_names
    return names[: names.index(_ends(speedup)[0])]


@pytest.mark.parametrize("speedup", [name for name in LIVES if _late(name)])
def test_steps_before_any_code_are_refused(speedup: str) -> None:
    with pytest.raises(MmbatchError) as caught:
        manifest.load(paths.SPEEDUPS, speedup, until=_late(speedup)[-1])
    assert caught.value.code == ExitCode.USAGE
    assert f"name '{_ends(speedup)[0]}' or a later step" in caught.value.hint


WITHOUT = [
    (speedup, step) for speedup in LIVES for step in manifest.load(paths.SPEEDUPS, speedup).without
]


@pytest.mark.parametrize(("speedup", "step"), WITHOUT)
def test_a_step_that_a_livepatch_leaves_out(speedup: str, step: str) -> None:
    """Nothing of it is in the module, and the module can't end there."""
    with pytest.raises(MmbatchError, match="has nothing of this step") as caught:
        manifest.load(paths.SPEEDUPS, speedup, until=step)
    assert caught.value.code == ExitCode.USAGE
    live = manifest.load(paths.SPEEDUPS, speedup)
    named = {each.name: each for each in load_splice(paths.SPEEDUPS / speedup).steps}
    assert not {file.target for file in named[step].files} & set(
        manifest.staged(live, live.series[0])
    )
    assert not set(named[step].edits) & set(live.edits)


def test_an_unknown_step_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(MmbatchError, match="it has no step of this name") as caught:
        manifest.load(paths.SPEEDUPS, LIVES[0], until="nothing")
    assert caught.value.code == ExitCode.USAGE
    assert ENDS[0][1] in caught.value.hint


@pytest.mark.parametrize("verb", ["build", "load"])
def test_a_step_without_its_speedup_is_refused(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["live", verb, "--until", ENDS[0][1]]) == ExitCode.USAGE
    assert "name that speed-up as well" in capsys.readouterr().err


def test_a_module_of_yours_has_the_steps_that_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["live", "load", LIVES[0], "--module", "x.ko", "--until", CORE]
    assert cli.main(argv) == ExitCode.USAGE
    assert "--module and --until exclude each other" in capsys.readouterr().err


def test_what_is_loaded_already_may_have_other_steps() -> None:
    _require_all_steps(manifest.load(paths.SPEEDUPS, LIVES[0]))
    with pytest.raises(MmbatchError, match="it is loaded already") as caught:
        _require_all_steps(manifest.load(paths.SPEEDUPS, LIVES[0], until=CORE))
    assert f"live unload {LIVES[0]}" in caught.value.hint


@pytest.mark.parametrize("key", ["first", "step", "without"])
def test_a_step_that_is_none_is_an_error_of_the_file(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    speedups = tmp_path / "speedups"
    speedups.mkdir()
    for path in paths.SPEEDUPS.iterdir():
        (speedups / path.name).symlink_to(path)
    speedup = next(name for name in LIVES if _late(name))
    (speedups / speedup).unlink()
    (speedups / speedup / "live").mkdir(parents=True)
    for path in (paths.SPEEDUPS / speedup).iterdir():
        if path.name != "live":
            (speedups / speedup / path.name).symlink_to(path)
    for path in (paths.SPEEDUPS / speedup / "live").iterdir():
        (speedups / speedup / "live" / path.name).symlink_to(path)
    toml = speedups / speedup / "live/live.toml"
    text = toml.read_text()
    toml.unlink()
    if key == "first":
        text, changed = re.subn(r'^first = ".*"$', 'first = "gone"', text, flags=re.M)
    elif key == "without":
        text, changed = re.subn(r"^(first = .*)$", r'\1\nwithout = ["gone"]', text, flags=re.M)
        text = re.sub(r'^without = \["(?!gone).*\n', "", text, flags=re.M)
    else:
        text, changed = re.subn(r'^(by = ".*")$', r'\1\nstep = "gone"', text, count=1, flags=re.M)
    toml.write_text(text)
    assert changed
    with pytest.raises(MmbatchError, match="has no step 'gone'"):
        manifest.load(speedups, speedup)


def _builds() -> list[tuple[str, str, str]]:
    """Return the core and all steps on each kernel, the other steps on one of them in turn."""
    builds = []
    for turn, (speedup, step) in enumerate(ENDS):
        splice = load_splice(paths.SPEEDUPS / speedup)
        usual = step in (splice.core, splice.step_names[-1])
        chosen = SERIES if usual else SERIES[turn % len(SERIES) :][:1]
        builds += [(speedup, step, series) for series in chosen]
    return builds


@pytest.mark.kernel
@pytest.mark.parametrize(("speedup", "step", "series"), _builds())
def test_it_builds_and_replaces_what_its_steps_replace(
    speedup: str, step: str, series: str
) -> None:
    cache = Cache.open()
    release = kernel.choose(cache, None, series, lambda _: None)
    live = manifest.load(paths.SPEEDUPS, speedup, until=step)
    made = build.build_all(cache, [live], release, lambda _: None)[0]
    output = subprocess.run(
        ["readelf", "-W", "-r", made.path], check=True, capture_output=True, text=True
    ).stdout
    tables = output[output.index("'.rela.data'") :].split("Relocation section")[0]
    for function in manifest.load(paths.SPEEDUPS, speedup).of(series).replaces:
        replaced = not function.step or function.step in live.steps
        assert (f" {function.by} + 0" in tables) == replaced
