# SPDX-License-Identifier: GPL-2.0-only
"""`tree.splice` with the parameters of before, for whoever does not call that itself yet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mmbatch.core.cache import Cache
from mmbatch.kernel.sources import Source
from mmbatch.splice import tree
from mmbatch.splice.manifest import Manifest
from mmbatch.splice.tree import Spliced

__all__ = ["Spliced", "splice"]


def splice(
    _: Cache, source: Source, manifests: list[Manifest], __: Path, ___: Callable[[str], None]
) -> Spliced:
    """See `tree.splice`."""
    return tree.splice(source, manifests)
