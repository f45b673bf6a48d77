# SPDX-License-Identifier: GPL-2.0-only
"""Kernels that a livepatch module is not made for, and what is said of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from fake_btf import kernel
from fake_speedup import make_speedup
from mmbatch.core import paths
from mmbatch.core.errors import MmbatchError
from mmbatch.core.interval import SERIES, Interval
from mmbatch.live import manifest
from mmbatch.live.btf import Btf
from mmbatch.live.manifest import Function, Layout, LiveManifest

GET = Function("get_it", ("4", "8"))
SET = Function("set_it", ("void", "struct page *", "8"), "live_set_it")


def live(**changes: Any) -> LiveManifest:
    fields: dict[str, Any] = {
        "speedup": "it",
        "title": "a test",
        "kernels": Interval.parse(">=6.12,<6.13"),
        "objects": ("mm/it.o",),
        "files": (),
        "includes": ("linux/mm.h",),
        "needs": {"CONFIG_A": "no A"},
        "refuses": {"CONFIG_B": "too much B"},
        "calls": (GET,),
        "replaces": (SET,),
        "layouts": (Layout(Interval(), {"page": ("flags", "_refcount")}),),
        **changes,
    }
    return LiveManifest(**fields)


def refused(call: Any, *arguments: Any) -> str:
    with pytest.raises(MmbatchError) as caught:
        call(*arguments)
    assert caught.value.code == 77
    assert "6.12.1" in caught.value.action
    return caught.value.problem


def test_a_kernel_that_fits() -> None:
    assert manifest.of_series(live(), "6.12", "6.12.1") == live()
    manifest.require_config(live(), {"CONFIG_A": "y"}, "6.12.1")
    manifest.require_types(live(), Btf(kernel()), "6.12.1")


def test_another_series() -> None:
    assert "'it' supports only Linux 6.12" in refused(manifest.of_series, live(), "6.1", "6.12.1")


@pytest.mark.parametrize("series", ["6.11", "6.13", "7.1", "7.4"])
def test_series_between_those_that_are_supported(series: str) -> None:
    both = live(kernels=Interval.parse(">=6.11,<7.4"))

    assert both.series == ("6.12", "7.2", "7.3")
    assert "supports only Linux 6.12, 7.2, 7.3" in refused(
        manifest.of_series, both, series, "6.12.1"
    )


def test_what_is_another_in_each_series() -> None:
    old, new = Interval.parse("<7.0"), Interval.parse(">=7.0")
    put = dataclasses.replace(SET, name="put_it", kernels=old)
    have = dataclasses.replace(GET, name="have_it", kernels=new)
    both = live(
        kernels=Interval.parse(">=6.12,<7.4"),
        calls=(GET, have),
        replaces=(SET, put),
        layouts=(
            Layout(Interval(), {"page": ("flags",)}),
            Layout(old, {"page": ("pgmap",), "zone": ("node",)}),
            Layout(new, {"folio": ("pgmap",)}),
        ),
    )

    then, now = (manifest.of_series(both, series, "6.12.1") for series in ("6.12", "7.3"))

    assert then.symbols == ["set_it", "put_it", "get_it"]
    assert now.symbols == ["set_it", "get_it", "have_it"]
    assert then.structs == {"page": ("flags", "pgmap"), "zone": ("node",)}
    assert now.structs == {"page": ("flags",), "folio": ("pgmap",)}


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "lacks CONFIG_A: no A"),
        ({"CONFIG_A": "y", "CONFIG_B": "y"}, "has CONFIG_B: too much B"),
    ],
)
def test_another_configuration(config: dict[str, str], words: str) -> None:
    assert words in refused(manifest.require_config, live(), config, "6.12.1")


LIVES = manifest.known(paths.SPEEDUPS)


@pytest.mark.parametrize("speedup", LIVES)
def test_options_that_a_real_module_needs(speedup: str) -> None:
    real = manifest.load(paths.SPEEDUPS, speedup)
    needed = list(real.needs)
    assert {"CONFIG_LIVEPATCH", "CONFIG_DEBUG_INFO_BTF", "CONFIG_MODULES"} < set(needed)
    config = dict.fromkeys(needed, "y")
    manifest.require_config(real, config, "6.12.1")
    for option in needed:
        less = {name: value for name, value in config.items() if name != option}
        assert f"lacks {option}" in refused(manifest.require_config, real, less, "6.12.1")


@pytest.mark.parametrize("speedup", LIVES)
def test_options_that_a_real_module_refuses(speedup: str) -> None:
    real = manifest.load(paths.SPEEDUPS, speedup)
    unwanted = list(real.refuses)
    assert {"CONFIG_CFI", "CONFIG_CFI_CLANG", "CONFIG_KASAN", "CONFIG_KMSAN"} <= set(unwanted)
    needed = dict.fromkeys(list(real.needs), "y")
    for option in unwanted:
        more = {**needed, option: "y"}
        assert f"has {option}" in refused(manifest.require_config, real, more, "6.12.1")


@pytest.mark.parametrize(
    ("types", "changes", "words"),
    [
        ({}, {"replaces": (Function("gone", ("void",), "x"),)}, "no gone(), or inlines it"),
        ({"twice": True}, {}, "get_it() more than once"),
        ({"params": 1}, {}, "set_it() is void(struct page *) there, not void(struct page *, 8)"),
        ({"member": "_count"}, {}, "struct page has no member _refcount"),
        ({}, {"layouts": (Layout(Interval(), {"folio": ("flags",)}),)}, "no struct folio"),
    ],
)
def test_other_types(types: dict[str, Any], changes: dict[str, Any], words: str) -> None:
    found = Btf(kernel(**types))
    assert words in refused(manifest.require_types, live(**changes), found, "6.12.1")


def test_the_module_is_told_what_the_kernel_says() -> None:
    text = manifest.live_tables(live(), Btf(kernel(page_bytes=80)))

    assert 'static_assert(sizeof(struct page) == 80, "layout of struct page");' in text
    assert "offsetof(struct page, _refcount) == 52" in text
    assert '{ "set_it", "void", { "struct page *", "8" } },' in text
    assert '{ .old_name = "set_it", .new_func = live_set_it },' in text
    assert '{ "set_it", set_it, LIVE_ENTRY_BYTES },' in text
    assert live().symbols == ["set_it", "get_it"]


def test_a_function_of_one_file_begins_with_the_place_for_the_tracer() -> None:
    local = dataclasses.replace(SET, local=True)
    text = manifest.live_tables(live(replaces=(local,)), Btf(kernel()))

    assert '{ "set_it", set_it, 0 },' in text


def test_variables_are_found_like_functions() -> None:
    assert live(calls=(), variables=("a_variable",)).symbols == ["set_it", "a_variable"]


@pytest.mark.parametrize("series", SERIES)
@pytest.mark.parametrize("speedup", LIVES)
def test_all_sources_of_a_real_module_are_there(speedup: str, series: str) -> None:
    real = manifest.load(paths.SPEEDUPS, speedup)
    staged = manifest.staged(real, series)

    assert series in real.series
    for name in real.objects:
        assert {name.removesuffix("o") + "c", name.removesuffix("o") + "S"} & set(staged)
    assert set(manifest.contents(real, series)) == set(staged)


def test_an_error_lists_the_speedups_that_have_a_livepatch() -> None:
    with pytest.raises(MmbatchError) as caught:
        manifest.load(paths.SPEEDUPS, "nothing")

    assert caught.value.code == 2
    assert caught.value.action == "find the speed-up 'nothing'"
    assert ", ".join(LIVES) in caught.value.hint


def test_a_speedup_without_a_livepatch(tmp_path: Path) -> None:
    make_speedup(tmp_path)
    with pytest.raises(MmbatchError, match="cannot unload 'toy': it has no livepatch") as caught:
        manifest.load(tmp_path, "toy", "unload")

    assert caught.value.code == 2
