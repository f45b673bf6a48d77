# SPDX-License-Identifier: GPL-2.0-only
from pathlib import Path

import pytest

from fake_btf import kernel
from mmbatch.live import btf
from mmbatch.live.btf import Btf


def test_members_are_found_also_in_nameless_unions_and_structs() -> None:
    types = Btf(kernel())

    assert types.size_of("page") == 64
    assert types.place("page", "flags") == (0, 8)
    assert types.place("page", "lru") == (8, 8)
    assert types.place("page", "private") == (16, 8)
    assert types.place("page", "_refcount") == (52, 4)
    assert types.place("page", "nothing") is None
    assert types.place("folio", "flags") is None
    assert types.size_of("folio") is None


def test_signatures_are_spelled_as_in_a_manifest() -> None:
    types = Btf(kernel())

    assert types.signatures("set_it") == [("void", "struct page *", "8")]
    assert types.signatures("get_it") == [("4", "8")]
    assert types.signatures("nothing") == []


def test_a_kernel_that_does_not_describe_its_types(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="do not begin with the magic number of BTF"):
        Btf(bytes(40))
    path = tmp_path / "vmlinux"
    with pytest.raises(ValueError, match="its headers have no vmlinux"):
        btf.read(path)
    path.write_bytes(Path("/bin/true").read_bytes())
    with pytest.raises(ValueError, match="CONFIG_DEBUG_INFO_BTF"):
        btf.read(path)
    path.write_bytes(kernel())
    assert btf.read(path).size_of("page") == 64
