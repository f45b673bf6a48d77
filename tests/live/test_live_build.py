# SPDX-License-Identifier: GPL-2.0-only
"""The real module for a real kernel of Debian's, whose headers are fetched."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from pathlib import Path

import pytest

from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.errors import MmbatchError
from mmbatch.core.interval import SERIES
from mmbatch.debian import foreign
from mmbatch.debian.foreign import Compiler
from mmbatch.live import btf, build, kernel, manifest, payload, refused
from mmbatch.live.build import Module
from mmbatch.live.kernel import Headers

pytestmark = pytest.mark.kernel

FIRST = manifest.load_all(())[0]
MOVED = next((struct, members[0]) for struct, members in FIRST.structs.items())
"""A member whose offset its code assumes."""


@pytest.fixture(scope="module", params=SERIES)
def headers(request: pytest.FixtureRequest) -> Headers:
    cache = Cache.open()
    release = kernel.choose(cache, None, request.param, lambda _: None)
    return kernel.find(cache, release, lambda _: None)


def compilers(chosen: Headers) -> Compiler:
    return foreign.find_compiler(Cache.open(), chosen, lambda _: None)


@pytest.fixture(scope="module", params=manifest.known(paths.SPEEDUPS))
def module(
    request: pytest.FixtureRequest, headers: Headers, tmp_path_factory: pytest.TempPathFactory
) -> Module:
    return built(headers, tmp_path_factory.mktemp("live"), request.param)


def built(headers: Headers, directory: Path, speedup: str) -> Module:
    live = manifest.load(paths.SPEEDUPS, speedup)
    return build.build(make_cache(directory), live, paths.LIVE, headers, compilers, lambda _: None)


def make_cache(directory: Path) -> Cache:
    return Cache.open({"XDG_CACHE_HOME": str(directory)})


def test_the_module_says_what_it_is(module: Module) -> None:
    output = subprocess.run(
        ["readelf", "-W", "-S", "-s", module.path], check=True, capture_output=True, text=True
    ).stdout

    assert ".klp.rela.vmlinux..text" in output
    for function in manifest.load(paths.SPEEDUPS, module.speedup).replaces:
        assert f".klp.sym.vmlinux.{function.name},0" in output
        assert f" UND {function.name}\n" not in output
    assert ".debug" not in output
    assert ".cold" not in output  # where nobody would look for it on a stack
    content = module.path.read_bytes()
    assert b"\0livepatch=Y\0" in content
    assert f"vermagic={module.release} ".encode() in content


def test_it_is_built_once(headers: Headers, module: Module) -> None:
    again = built(headers, module.path.parents[3], module.speedup)

    assert module.built
    assert not again.built
    assert again.path == module.path


def test_another_checkout_does_not_replace_it(headers: Headers, tmp_path: Path) -> None:
    engine = tmp_path / "engine"
    shutil.copytree(paths.LIVE, engine)
    (engine / "live.h").write_text((engine / "live.h").read_text() + "/* of that checkout */\n")
    own = built(headers, tmp_path, FIRST.speedup)
    other = build.build(make_cache(tmp_path), FIRST, engine, headers, compilers, lambda _: None)

    assert other.built
    assert other.path != own.path
    assert own.path.exists()
    assert not built(headers, tmp_path, FIRST.speedup).built


def test_each_unfit_module_differs_from_the_fit_one(module: Module) -> None:
    misfits = refused.load_misfits(paths.SPEEDUPS, module.speedup)
    unfit = refused.variants(misfits, module.path)

    assert set(unfit) >= {misfit.name for misfit in misfits if misfit.kind != "version"}
    assert len({content for content, _ in unfit.values()} | {module.path.read_bytes()}) == (
        len(unfit) + 1
    )


class Elsewhere(Headers):
    """Headers of a kernel whose BTF describes another layout than they do."""

    def types(self) -> btf.Btf:
        real = super().types()

        class Moved(btf.Btf):
            def __init__(self) -> None:
                self.__dict__ = real.__dict__

            def place(self, struct_name: str, member: str) -> btf.Place | None:
                found = super().place(struct_name, member)
                if (struct_name, member) == MOVED and found is not None:
                    return dataclasses.replace(found, offset=found.offset + 8)
                return found

        return Moved()


def test_headers_that_are_not_those_of_the_kernel(headers: Headers, tmp_path: Path) -> None:
    other = Elsewhere(headers.release, headers.series, headers.path, headers.config)

    with pytest.raises(MmbatchError) as caught:
        built(other, tmp_path, FIRST.speedup)

    assert caught.value.code == 77
    assert f"layout of struct {MOVED[0]}: {MOVED[1]}" in caught.value.problem


@pytest.mark.parametrize("speedup", manifest.known(paths.SPEEDUPS))
def test_a_replacement_that_would_be_missed_on_a_stack(
    headers: Headers, tmp_path: Path, speedup: str
) -> None:
    engine = tmp_path / "engine"
    shutil.copytree(paths.LIVE, engine)
    header = (engine / "live.h").read_text()
    assert "live_stay()\tbarrier()" in header
    (engine / "live.h").write_text(
        header.replace("live_stay()\tbarrier()", "live_stay() ((void)0)")
    )
    live = manifest.load(paths.SPEEDUPS, speedup)
    cache = make_cache(tmp_path)

    with pytest.raises(MmbatchError) as caught:
        build.build(cache, live, engine, headers, compilers, lambda _: None)

    assert "() leaves by a jump to " in caught.value.problem
    assert not list(cache.live.iterdir())


def test_a_signature_is_one_that_tools_see(
    headers: Headers, module: Module, tmp_path: Path
) -> None:
    signed = tmp_path / module.path.name
    signed.write_bytes(payload.sign(Cache(tmp_path / "cache"), headers, module.path))

    assert signed.read_bytes().startswith(module.path.read_bytes())
    assert signed.read_bytes().endswith(b"~Module signature appended~\n")
    assert payload.SUBJECT.removeprefix("/CN=").encode() in signed.read_bytes()
    assert not list((tmp_path / "cache/downloads").glob("*"))
