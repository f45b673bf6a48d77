# SPDX-License-Identifier: GPL-2.0-only
"""What `live build` refuses before it compiles anything, with the codes of docs/live.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from expect import fails
from fake_btf import kernel as fake_types
from fake_live import live
from mmbatch.core.errors import MmbatchError
from mmbatch.core.load import Interval
from mmbatch.kernel import foreign
from mmbatch.live import build, kernel, manifest
from mmbatch.live.kernel import Headers
from mmbatch.live.manifest import Function, Layout

pytestmark = pytest.mark.usefixtures("own_cache")

FITS = {"CONFIG_A": "y"}
GONE = {"replaces": (Function("gone", ("void",), "x"),)}
FOLIO = {"layouts": (Layout(Interval(), {"folio": ("flags",)}),)}
PARAMS = "set_it() is void(struct page *) there, not void(struct page *, 8)"


@pytest.mark.parametrize(
    ("config", "types", "changes", "words"),
    [
        ({}, None, {}, "it lacks CONFIG_A: no A"),
        ({**FITS, "CONFIG_B": "y"}, None, {}, "it has CONFIG_B: too much B"),
        (FITS, None, {}, "its headers have no vmlinux"),
        (FITS, {}, GONE, "it has no gone(), or inlines it"),
        (FITS, {"twice": True}, {}, "it has get_it() more than once"),
        (FITS, {"params": 1}, {}, PARAMS),
        (FITS, {"member": "_count"}, {}, "its struct page has no member _refcount"),
        (FITS, {}, FOLIO, "it has no struct folio"),
    ],
)
def test_a_kernel_that_does_not_fit(
    tmp_path: Path,
    config: dict[str, str],
    types: dict[str, Any] | None,
    changes: dict[str, Any],
    words: str,
) -> None:
    if types is not None:
        (tmp_path / "vmlinux").write_bytes(fake_types(**types))
    with fails(words, code=77):
        build.build(live(**changes), Headers("6.12.1-amd64", "6.12", tmp_path, config))


def test_nothing_is_fetched_for_another_series(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "find", None)
    with fails("supports only Linux 6.12, 7.2, 7.3", code=77):
        build.build_all(manifest.load_all(["vmap"]), "6.18.1-amd64")


def test_headers_and_compilers_that_nobody_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: str) -> None:
        raise MmbatchError("find gcc-99", "no suite there carries it", "")

    monkeypatch.setattr("mmbatch.kernel.apt.find", lambda _: [])
    monkeypatch.setattr("mmbatch.kernel.apt.need", refuse)
    with fails("no package on the Debian mirror has them", code=77):
        kernel.fetch("7.3.9-nobody")
    with fails("has no .config and no Module.symvers", code=1):
        kernel.at(tmp_path, "7.3.9-amd64")
    compiler = {"CONFIG_CC_VERSION_TEXT": '"gcc-99 (Debian 99.1.0-1) 99.1.0"'}
    failed = "it was built with gcc-99, and that is not installed here, and fetching it failed: no "
    with fails(failed, "; install it: apt-get install gcc-99", code=1):
        foreign.find_compiler("7.3.9-amd64", compiler)
