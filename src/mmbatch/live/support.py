# SPDX-License-Identifier: GPL-2.0-only
"""Whether the running kernel can take a speed-up as a livepatch, told without building it."""

from __future__ import annotations

import functools
import gzip
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mmbatch.core.errors import MmbatchError
from mmbatch.live import kernel as kernels
from mmbatch.live import manifest
from mmbatch.live.btf import Btf
from mmbatch.live.load import Kernel
from mmbatch.live.manifest import LiveManifest

_OPTION = re.compile(r"^(CONFIG_\w+)=(.*)$", re.M)


@dataclass(frozen=True)
class Support:
    """Whether a kernel can take a speed-up.

    Attributes:
        speedup: its name.
        supported: whether it can, as far as can be told without building the module.
        problem: why not, as a clause; empty if it can.
        remedy: what would make it so, as an imperative; empty if it can.
    """

    speedup: str
    supported: bool
    problem: str = ""
    remedy: str = ""


def check(live: LiveManifest, kernel: Kernel, boot: Path = Path("/boot")) -> Support:
    """Return whether the running kernel can take a speed-up.

    Args:
        live: the speed-up.
        kernel: the running kernel.
        boot: where the configurations of kernels are installed.
    """
    try:
        chosen = manifest.of_series(live, kernels.series_of(kernel.release), kernel.release)
    except MmbatchError:
        series = ", ".join(live.series)
        return Support(
            live.speedup,
            False,
            f"it supports only Linux {series}",
            "boot Debian's kernel of one of these series, or build one with the speed-up in it "
            "(mmbatch apply)",
        )
    try:
        config = configuration(kernel, boot)
        if config is not None:
            manifest.require_config(chosen, config, kernel.release)
        if not kernel.patches.is_dir():
            remedy = "boot a kernel that does, such as Debian's"
            problem = "the kernel does not support livepatches (CONFIG_LIVEPATCH)"
            return Support(live.speedup, False, problem, remedy)
        manifest.require_types(chosen, _types(kernel), kernel.release)
    except MmbatchError as error:
        return Support(live.speedup, False, error.problem, error.hint)
    except ValueError as error:
        return Support(live.speedup, False, str(error), "boot a kernel that does, such as Debian's")
    return Support(live.speedup, True)


@functools.cache
def _types(kernel: Kernel) -> Btf:
    return kernel.types()


def configuration(kernel: Kernel, boot: Path) -> Mapping[str, str] | None:
    """Return the options of the running kernel that are set; None if nothing tells them."""
    try:
        text = (boot / f"config-{kernel.release}").read_text(encoding="utf-8")
    except OSError:
        try:
            text = gzip.decompress((kernel.proc / "config.gz").read_bytes()).decode()
        except OSError:
            return None
    return dict(_OPTION.findall(text))
