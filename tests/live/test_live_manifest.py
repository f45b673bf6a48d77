# SPDX-License-Identifier: GPL-2.0-only
"""live.toml: what a module needs of its kernel, and livepatches that end at a step."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from expect import fails, printed
from fake_btf import kernel as fake_types
from fake_live import GET, SET, live
from mmbatch.core import paths
from mmbatch.core.errors import ExitCode, MmbatchError
from mmbatch.core.load import SERIES, Interval
from mmbatch.live import build, convert, kernel, manifest
from mmbatch.live.btf import Btf
from mmbatch.live.manifest import Layout
from mmbatch.splice.manifest import CORE
from mmbatch.splice.manifest import load as load_splice

LIVES = manifest.known(paths.SPEEDUPS)


def refused(config: dict[str, str], series: str = "6.12", **changes: Any) -> str:
    return manifest.problem(live(**changes), series, config)


def test_a_kernel_that_fits() -> None:
    assert refused({"CONFIG_A": "y"}) == ""


def test_series_that_are_not_supported() -> None:
    every = Interval(">=6.11,<7.4")
    for series in ("6.11", "6.13", "7.1", "7.4"):
        problem = refused({"CONFIG_A": "y"}, series, kernels=every)
        assert problem == "'it' supports only Linux 6.12, 7.2, 7.3"


def test_what_is_another_in_each_series() -> None:
    old, new = Interval("<7.0"), Interval(">=7.0")
    put = dataclasses.replace(SET, name="put_it", kernels=old)
    have = dataclasses.replace(GET, name="have_it", kernels=new)
    both = live(
        calls=(GET, have),
        replaces=(SET, put),
        variables=("a_variable",),
        layouts=(
            Layout(Interval(), {"page": ("flags",)}),
            Layout(old, {"page": ("pgmap",), "zone": ("node",)}),
            Layout(new, {"folio": ("pgmap",)}),
        ),
    )

    then, now = both.symbols("6.12"), both.symbols("7.3")

    assert then.names == ["set_it", "put_it", "get_it", "a_variable"]
    assert now.names == ["set_it", "get_it", "have_it", "a_variable"]
    assert then.structs == {"page": ("flags", "pgmap"), "zone": ("node",)}
    assert now.structs == {"page": ("flags",), "folio": ("pgmap",)}


@pytest.mark.parametrize("speedup", LIVES)
def test_options_that_a_real_module_needs_and_refuses(speedup: str) -> None:
    real = manifest.load(speedup)
    assert {"CONFIG_LIVEPATCH", "CONFIG_DEBUG_INFO_BTF", "CONFIG_MODULES"} < set(real.needs)
    assert {"CONFIG_CFI", "CONFIG_CFI_CLANG", "CONFIG_KASAN", "CONFIG_KMSAN"} <= set(real.refuses)
    config = dict.fromkeys(real.needs, "y")
    assert manifest.problem(real, "6.12", config) == ""
    for option in real.needs:
        less = {name: value for name, value in config.items() if name != option}
        assert f"lacks {option}" in manifest.problem(real, "6.12", less)
    for option in real.refuses:
        assert f"has {option}" in manifest.problem(real, "6.12", {**config, option: "y"})


def test_the_module_is_told_what_the_kernel_says() -> None:
    text = "\n".join(convert.tables(live().symbols("6.12"), Btf(fake_types(page_bytes=80))))

    assert 'static_assert(sizeof(struct page) == 80, "layout of struct page");' in text
    assert "offsetof(struct page, _refcount) == 52" in text
    assert '{ "set_it", "void", { "struct page *", "8" } },' in text
    assert '{ .old_name = "set_it", .new_func = live_set_it },' in text
    assert '{ "set_it", set_it, LIVE_ENTRY_BYTES },' in text
    local = live(replaces=(dataclasses.replace(SET, local=True),))
    lines = list(convert.tables(local.symbols("6.12"), Btf(fake_types())))
    assert '\t{ "set_it", set_it, 0 },' in lines


def _ends(speedup: str) -> list[str]:
    """Return the steps that a livepatch of a speed-up may end at."""
    names = load_splice(paths.SPEEDUPS / speedup).step_names
    live = manifest.load(speedup)
    names = names[names.index(live.first) if live.first else 0 :]
    return [name for name in names if name not in live.without]


ENDS = [(speedup, step) for speedup in LIVES for step in _ends(speedup)]


@pytest.mark.parametrize(("speedup", "step"), ENDS)
def test_it_ends_at_the_step(speedup: str, step: str) -> None:
    whole = manifest.load(speedup)
    live = manifest.load(speedup, until=step)
    names = list(whole.steps)

    assert list(live.steps) == names[: names.index(step) + 1]
    assert set(live.objects) <= set(whole.objects)
    left_out = {each for each in whole.replaces if each.step and each.step not in live.steps}
    assert set(live.replaces) == set(whole.replaces) - left_out
    assert live.replaces
    for series in live.series:
        found = set(manifest.contents(live, series))
        for name in live.objects:
            assert {name.removesuffix("o") + "c", name.removesuffix("o") + "S"} & found
        assert found <= set(manifest.contents(whole, series))
    kbuild = build.generated(live, SERIES[0])["Kbuild"].decode()
    assert kbuild.count(" -DLIVE_STEP_") == len(live.steps)
    assert f" -DLIVE_STEP_{step.upper()}" in kbuild


def test_edits_of_steps_that_are_left_out_are_not_made() -> None:
    """Of some speed-up, a file differs at its first step from what later steps make of it."""
    changed = []
    for speedup in LIVES:
        whole = manifest.contents(manifest.load(speedup), SERIES[0])
        early = manifest.load(speedup, until=_ends(speedup)[0])
        contents = manifest.contents(early, SERIES[0])
        changed += [name for name, text in contents.items() if text != whole[name]]
    assert changed


def test_the_core_is_that_of_the_speedup() -> None:
    for speedup in LIVES:
        core = load_splice(paths.SPEEDUPS / speedup).core
        whole = manifest.load(speedup)
        if core and whole.first in whole.steps[whole.steps.index(core) + 1 :]:
            with pytest.raises(MmbatchError, match=f"needs the step '{whole.first}'"):
                manifest.load(speedup, until=CORE)
            continue
        live = manifest.load(speedup, until=CORE)
        assert live.steps[-1] == (core or whole.steps[-1])


WITHOUT = [(speedup, step) for speedup in LIVES for step in manifest.load(speedup).without]


@pytest.mark.parametrize(("speedup", "step"), WITHOUT)
def test_a_step_that_a_livepatch_leaves_out(speedup: str, step: str) -> None:
    """Nothing of it is in the module, and the module can't end there."""
    with fails("has nothing of this step", code=ExitCode.USAGE):
        manifest.load(speedup, until=step)
    live = manifest.load(speedup)
    named = {each.name: each for each in load_splice(paths.SPEEDUPS / speedup).steps}
    assert not {file.target for file in named[step].files} & set(
        manifest.contents(live, live.series[0])
    )
    assert not set(named[step].edits) & set(live.edits)


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
    live = manifest.load(speedup, until=step)
    made = build.build_all([live], kernel.choose(series))[0]
    output = printed("readelf", "-W", "-r", made)
    tables = output[output.index("'.rela.data'") :].split("Relocation section")[0]
    for function in manifest.load(speedup).replaced(series):
        replaced = not function.step or function.step in live.steps
        assert (f" {function.by} + 0" in tables) == replaced
