# SPDX-License-Identifier: GPL-2.0-only
"""A made-up livepatch, which replaces set_it() of `fake_btf`."""

from __future__ import annotations

from typing import Any

from mmbatch.core.load import Interval
from mmbatch.live.manifest import Function, Layout, LiveManifest

GET = Function("get_it", ("4", "8"))
SET = Function("set_it", ("void", "struct page *", "8"), "live_set_it")


def live(**changes: Any) -> LiveManifest:
    fields: dict[str, Any] = {
        "speedup": "it",
        "title": "a test",
        "kernels": Interval(">=6.12,<6.13"),
        "objects": ("mm/it.o",),
        "includes": ("linux/mm.h",),
        "needs": {"CONFIG_A": "no A"},
        "refuses": {"CONFIG_B": "too much B"},
        "calls": (GET,),
        "replaces": (SET,),
        "layouts": (Layout(Interval(), {"page": ("flags", "_refcount")}),),
        **changes,
    }
    return LiveManifest(**fields)
