# SPDX-License-Identifier: GPL-2.0-only
"""Make the package that loads modules at each boot, before the drivers that need them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mmbatch import VERSION
from mmbatch.core.cache import Cache
from mmbatch.core.disk import temporary_dir
from mmbatch.debian import deb
from mmbatch.live import dkms
from mmbatch.live.manifest import LiveManifest

NAME = "mmbatch-boot"

SOFTDEP = "usr/lib/modprobe.d/mmbatch.conf"

_LOADED = "usr/lib/modules-load.d/mmbatch.conf"
_HOOK = "etc/kernel/header_postinst.d/mmbatch"
_FILES = {
    SOFTDEP: """\
# SPDX-License-Identifier: GPL-2.0-only
# Load livepatches before the drivers that bind devices. modprobe follows only the first
# softdep of a driver, so each driver has one line.
{softdeps}
""",
    _LOADED: """\
# SPDX-License-Identifier: GPL-2.0-only
# Load all of them at boot, whether a driver needs them or not.
{lines}
""",
    "usr/share/initramfs-tools/hooks/mmbatch": """\
#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Put the livepatches into an initramfs, because drivers may bind devices there. A kernel
# for which there are none gets none.
[ "$1" != prereqs ] || exit 0
. /usr/share/initramfs-tools/hook-functions
for module in {early}; do
	if [ -n "$(find "/lib/modules/$version/updates" -name "$module.ko*" 2>/dev/null)" ]; then
		manual_add_modules "$module"
	fi
done
""",
    _HOOK: """\
#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The headers of kernel $1 were installed, and DKMS has just built modules for it. An
# initramfs that was made before lacks them.
set -e
image=/boot/initrd.img-$1
if [ -e "$image" ] && command -v update-initramfs >/dev/null &&
	[ -n "$(find "/lib/modules/$1/updates" -name 'mmbatch_*.ko*' -newer "$image" 2>/dev/null)" ]
then
	update-initramfs -u -k "$1"
fi
""",
}
_UPDATE = """\
	command -v update-initramfs >/dev/null || exit 0
	for directory in /lib/modules/*/updates; do
		release=$(basename "$(dirname "$directory")")
		[ -e "/boot/initrd.img-$release" ] || continue
		[ -n "$(find "$directory" -name 'mmbatch_*.ko*')" ] || continue
		update-initramfs -u -k "$release"
	done
"""
_SCRIPT = """\
#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
set -e
if [ "$1" = {word} ]; then
{update}fi
"""
_CONTROL = """\
Package: {name}
Version: {version}
Architecture: all
Maintainer: mmbatch <mmbatch@localhost>
Depends: {packages}
Section: kernel
Priority: optional
Description: livepatches of the kernel's memory management, loaded at boot
 Loads {modules} at each boot,
 before the drivers that bind devices.
"""


def package(cache: Cache, lives: Sequence[LiveManifest], directory: Path) -> Path:
    """Write the package for some speed-ups into a directory and return its path."""
    files = contents(lives)
    scripts = {}
    if _HOOK in files:
        scripts = {
            "postinst": _SCRIPT.format(word="configure", update=_UPDATE),
            "postrm": _SCRIPT.format(word="remove", update=_UPDATE),
            "conffiles": f"/{_HOOK}\n",
        }
    control = _CONTROL.format(
        name=NAME,
        version=VERSION,
        packages=", ".join(dkms.package_name(live.speedup) for live in lives),
        modules=", ".join(live.module for live in lives),
    )
    with temporary_dir(cache.downloads, "boot") as place:
        for name, text in files.items():
            path = place / "root" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755 if text.startswith("#!") else 0o644)
        return deb.build(place / "root", directory / f"{NAME}_{VERSION}_all.deb", control, scripts)


def contents(lives: Sequence[LiveManifest]) -> dict[str, str]:
    """Return the files of the package, by their paths below /."""
    before = drivers(lives)
    words = {
        "softdeps": "\n".join(
            f"softdep {driver} pre: {' '.join(modules)}" for driver, modules in before.items()
        ),
        "lines": "\n".join(live.module for live in lives),
        "early": " ".join(live.module for live in lives if live.drivers),
    }
    # Without a driver that must find them, the initramfs needs nothing.
    needed = _FILES if before else [_LOADED]
    return {name: _FILES[name].format(**words) for name in needed}


def drivers(lives: Sequence[LiveManifest]) -> dict[str, list[str]]:
    """Return the drivers that must find modules loaded, each with these modules."""
    found: dict[str, list[str]] = {}
    for live in lives:
        for driver in live.drivers:
            found.setdefault(driver, []).append(live.module)
    return found
