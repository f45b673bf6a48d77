# SPDX-License-Identifier: GPL-2.0-only
"""Make a DKMS package that builds a speed-up's module for every installed kernel."""

from __future__ import annotations

import modulefinder
import os
import re
import shutil
from pathlib import Path

from mmbatch import VERSION
from mmbatch.core import paths
from mmbatch.core.cache import Cache
from mmbatch.core.disk import temporary_dir
from mmbatch.debian import deb
from mmbatch.live import manifest
from mmbatch.live.manifest import LiveManifest
from mmbatch.splice import manifest as splice_manifest

_MAKE = "mmbatch.live.build"
"""The Python module that DKMS runs."""

_PARTS = ("compat", "live", "speedup.toml", "splice", "tree")
"""The directories of a speed-up that it reads."""

_TESTS = ("guest", "guest.toml", "refused.toml", "*.sh")
"""What only `mmbatch live test` reads."""

_BUILD = """\
#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# build RELEASE HEADERS: called by DKMS in a copy of this directory.
PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1 exec python3 -m {make} {speedup} "$1" "$2" .
"""
_CONF = """\
# SPDX-License-Identifier: GPL-2.0-only
PACKAGE_NAME="{name}"
PACKAGE_VERSION="{version}"
AUTOINSTALL="yes"
BUILT_MODULE_NAME[0]="{module}"
BUILT_MODULE_LOCATION[0]="."
DEST_MODULE_LOCATION[0]="/updates/dkms"
# The kernel resolves symbols by names that a strip would remove.
STRIP[0]="no"
MAKE[0]="./build $kernelver $kernel_source_dir"
CLEAN="rm -rf build-{speedup} {module}.ko"
# DKMS skips all other kernels.
BUILD_EXCLUSIVE_KERNEL="{kernels}"
BUILD_EXCLUSIVE_ARCH="x86_64"
BUILD_EXCLUSIVE_CONFIG="{options}"
# It also skips a kernel whose compiler is not installed.
config=$kernel_source_dir/.config
compiler=$([[ ! -e $config ]] || sed -n 's/^CONFIG_CC_VERSION_TEXT="*//p' "$config")
compiler=${{compiler%% *}}
if [[ -n $compiler && $kernelver =~ $BUILD_EXCLUSIVE_KERNEL ]] &&
	! command -v "$compiler" "${{compiler#x86_64-linux-gnu-}}" >/dev/null; then
	echo "{name}: no module for $kernelver: it was built with $compiler, which is not installed" >&2
	BUILD_EXCLUSIVE_KERNEL="^$"
fi
"""
_CONTROL = """\
Package: {name}-dkms
Version: {version}
Architecture: all
Maintainer: mmbatch <mmbatch@localhost>
Depends: dkms (>= 3), python3 (>= 3.11), make, binutils
Section: kernel
Priority: optional
Description: livepatch of the kernel's memory management (DKMS)
 Builds {module}.ko for every installed kernel that it supports:
 {title}.
 The package does not load the module.
"""
_POSTINST = """\
#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
set -e
if [ "$1" = configure ]; then
	dkms status -m {name} -v {version} | grep -q . || dkms add -m {name} -v {version}
	for headers in /lib/modules/*/build; do
		[ -e "$headers" ] || continue
		release=$(basename "$(dirname "$headers")")
		dkms autoinstall -k "$release" || echo "{name}: no module for $release"
	done
fi
"""
_PRERM = """\
#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
set -e
if [ "$1" = remove ] || [ "$1" = upgrade ] || [ "$1" = deconfigure ]; then
	if dkms status -m {name} -v {version} | grep -q .; then
		dkms remove -m {name} -v {version} --all
	fi
fi
"""


def package(cache: Cache, speedup: str, directory: Path) -> Path:
    """Write a Debian package into a directory and return its path."""
    live = manifest.load(paths.SPEEDUPS, speedup)
    words = _words(live)
    scripts = {"postinst": _POSTINST, "prerm": _PRERM}
    with temporary_dir(cache.downloads, "dkms") as place:
        root = place / "root"
        write_source(live, root / "usr/src" / f"{words['name']}-{VERSION}")
        return deb.build(
            root,
            directory / f"{package_name(speedup)}_{VERSION}_all.deb",
            _CONTROL.format_map(words),
            {name: text.format_map(words) for name, text in scripts.items()},
        )


def package_name(speedup: str) -> str:
    """Return the name of a speed-up's package."""
    return f"mmbatch-{speedup.replace('_', '-')}-dkms"


def write_source(live: LiveManifest, directory: Path) -> None:
    """Write the files from which DKMS builds a speed-up's module into a new directory."""
    words = _words(live)
    _write(directory / "dkms.conf", _conf(live, words), 0o644)
    _write(directory / "build", _BUILD.format_map(words), 0o755)
    for name in _imported():
        _copy(paths.ROOT, name, directory)
    _copy(paths.ROOT, "live", directory)
    _copy(paths.ROOT, "speedups/common", directory)
    for needed in splice_manifest.load_with_needs(paths.SPEEDUPS, live.speedup):
        for part in _PARTS:
            _copy(paths.ROOT, f"speedups/{needed.speedup}/{part}", directory)


def _words(live: LiveManifest) -> dict[str, str]:
    return {
        "name": f"mmbatch-{live.speedup.replace('_', '-')}",
        "version": VERSION,
        "make": _MAKE,
        "speedup": live.speedup,
        "module": live.module,
        "title": live.title,
    }


def _imported() -> list[str]:
    """Return the files of this project that `_MAKE` imports, as paths in the repository."""
    finder = modulefinder.ModuleFinder(path=[os.fspath(paths.ROOT / "src")])
    finder.import_hook(_MAKE)
    files = [vars(module)["__file__"] for module in finder.modules.values()]
    return sorted(os.path.relpath(file, paths.ROOT) for file in files if file)


def _conf(live: LiveManifest, words: dict[str, str]) -> str:
    options = [*live.needs, *(f"!{option}" for option in live.refuses)]
    kernels = "|".join(re.escape(series) for series in live.series)
    return _CONF.format_map(
        {**words, "options": " ".join(options), "kernels": rf"^({kernels})(\.|-(.+-)?amd64$)"}
    )


def _copy(root: Path, name: str, directory: Path) -> None:
    source, target = root / name, directory / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns(*_TESTS))
    elif source.exists():
        shutil.copyfile(source, target)


def _write(path: Path, text: str, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
